// A store that several servers share, on a real PostgreSQL: the command that makes it, two
// servers on it, its role, its password.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { bin } from './lib/cli.mjs';
import { Place, canonical, isFine, mcp, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const place = new Place('store-pg');
const postgres = new Postgres();
const owner = postgres.url();
const runtime = postgres.url('runtime');
const faultwire = (...args) => spawnSync(bin, args, { env: place.env, encoding: 'utf8' });

before(async () => {
	await postgres.start();
	postgres.sql('CREATE ROLE runtime LOGIN');
});
after(async () => {
	place.end();
	await postgres.end();
});

test('a store without tables is refused, and the refusal says what to do', () => {
	const found = faultwire('store', 'check', runtime);

	assert.equal(found.status, 1);
	assert.match(found.stderr, /faultwire store migrate/);
});

test('tables are made once, and a second migration has nothing to do', () => {
	let done = faultwire('store', 'migrate', owner, '--runtime-role', 'runtime', '--json');
	assert.equal(done.status, 0, done.stderr);
	assert.deepEqual([JSON.parse(done.stdout).from, JSON.parse(done.stdout).to], [0, 1]);
	done = faultwire('store', 'migrate', owner);
	assert.equal(done.status, 0, done.stderr);
	assert.match(done.stdout, /version 1, nothing to do/);
});

test('check reports what a server would find', () => {
	const found = faultwire('store', 'check', runtime, '--json');
	const report = JSON.parse(found.stdout);

	assert.equal(found.status, 0, found.stderr);
	assert.equal(report.role, 'runtime');
	assert.equal(report.schema, 1);
	assert.equal(report.may_write, true);
	assert.equal(report.may_change_tables, false);
	assert.match(faultwire('store', 'check', runtime).stdout, /^may_write +true$/m);
});

test('a role without privileges is found out', () => {
	postgres.sql('CREATE ROLE stranger LOGIN');
	const found = faultwire('store', 'check', postgres.url('stranger'));

	assert.equal(found.status, 1);
	assert.match(found.stderr, /docs\/store\.md|permission denied/);
});

test('usage errors exit with 2', () => {
	for (const args of [[], ['drop'], ['migrate'], ['copy', 'a.db'], ['check', 'a.db', '--runtime-role', 'x']]) assert.equal(faultwire('store', ...args).status, 2);
	assert.equal(faultwire('store', 'check', 'mysql://x').status, 1);
});

test('the password of a URL is in no output', () => {
	for (const url of [`postgresql://u:hunter2@/postgres?host=${postgres.directory}`, 'postgresql://u:hunter2@[/x', 'postgresql://u:hunter2@127.0.0.1:1/x']) {
		for (const args of [['store', 'check', url], ['store', 'migrate', url], ['store', 'copy', url, url], ['incident', 'list', '--incidents', url], ['token', 'list', '--governance', url], ['reserve', 'list', '--store', url], ['serve', '--http', '127.0.0.1:0', '--tokens', '--store', url, '--tools', 'diag', '--sandbox', 'off']]) {
			const found = faultwire(...args);

			assert.notEqual(found.status, 0, args.join(' '));
			assert.doesNotMatch(found.stdout + found.stderr, /hunter2/, args.join(' '));
		}
	}
});

test('a confined server has no Unix sockets, and says so at the start', () => {
	const found = faultwire('serve', '--http', '127.0.0.1:0', '--store', runtime, '--tools', 'diag');

	assert.equal(found.status, 2);
	assert.match(found.stderr, /Unix sockets.*--sandbox off/);
});

test('two servers share tokens, a budget and incidents', async () => {
	const made = faultwire('token', 'new', 'spender', '--scope', 'admin', '--governance', runtime);
	assert.equal(made.status, 0, made.stderr);
	const token = made.stdout.trim();
	writeFileSync(place.file('policy.json'), JSON.stringify({ version: 1, clients: { spender: { budget_per_day: 150 } } }));
	const start = () => place.start('serve', '--tools', 'diag,reserve', '--sandbox', 'off', '--tokens', '--clients', place.file('policy.json'), '--store', runtime, '--log', 'json');
	const servers = [await start(), await start()];
	const call = (server) => mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token });
	let passed = 0, refused = 0;

	for (let round = 0; round < 10 && !refused; round++) {
		for (const reply of await Promise.all(Array.from({ length: 40 }, (_, i) => call(servers[i % 2])))) {
			if (isFine(reply)) passed++;
			else {
				assert.equal(canonical(reply).code, 'governance.budget_exceeded', JSON.stringify(reply.json));
				refused++;
			}
		}
	}
	assert.ok(refused > 0);
	assert.ok(passed <= 150, `${passed} of 150`);
	const failed = await call(servers[1]);
	const id = canonical(failed).incident_id ?? canonical(failed).incidentId ?? canonical(failed).incident;
	// The other server, and the command, find the incident of this one.
	await until(() => faultwire('incident', 'show', id, '--incidents', runtime, '--json').status === 0, 'the incident is stored');
	for (const server of servers) assert.equal(await server.stop(), 0);
	assert.equal(postgres.sql("SELECT count(*) FROM faultwire.store_row WHERE kind='budget'"), '1');
	assert.equal(Number(postgres.sql('SELECT count(*) FROM pg_inherits WHERE inhparent=\'faultwire.incident\'::regclass')), 1);
});
