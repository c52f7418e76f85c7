// What several servers share in PostgreSQL besides incidents and budgets: answers to requests
// with an Idempotency-Key, reservations, tokens; by serve and by gate, and while the database
// says nothing.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bin } from './lib/cli.mjs';
import { Place, api, ask, canonical, inTime, isFine, mcp, pause, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const place = new Place('store-shared');
const postgres = new Postgres();
const owner = postgres.url();
const runtime = postgres.url('runtime');
const quiet = ['--sandbox', 'off', '--log', 'json', '--store', runtime];

before(async () => {
	await postgres.start();
	postgres.sql('CREATE ROLE runtime LOGIN');
	place.faultwire('store', 'migrate', owner, '--runtime-role', 'runtime');
});
after(async () => {
	await place.end();
	await postgres.end();
});

// ---- gate, and Idempotency-Key ----

const gates = [];
const effects = (n) => {
	try {
		return readFileSync(place.file(`upstream-${n}.effects`), 'utf8').split('\n').filter(Boolean);
	} catch {
		return [];
	}
};
const allEffects = () => [...effects(0), ...effects(1)];
const count = (gate, key) => ask(gate, '/api/v1/tools/count', { body: { key }, headers: { 'Idempotency-Key': `key-${key}` } });

test('two gateways run a call with one Idempotency-Key once, in any order', async () => {
	for (const n of [0, 1]) {
		writeFileSync(place.file(`upstream-${n}.effects`), '');
		gates.push(await place.start('gate', ...quiet, '--audit', place.file(`gate-${n}.jsonl`), '--', join(bin, '../flaky'), place.file(`upstream-${n}`)));
	}
	const first = await count(gates[0], 'one');
	assert.equal(first.status, 200, first.text);
	const again = await count(gates[1], 'one');
	assert.deepEqual([again.status, again.text, again.headers.get('idempotency-replayed')], [200, first.text, 'true']);
	assert.equal(allEffects().length, 1);
	// Many at once, of both: one of them runs it, the others get its answer or a conflict.
	const keys = Array.from({ length: 5 }, (_, i) => `many-${i}`);
	const replies = await Promise.all(keys.flatMap((key) => Array.from({ length: 12 }, (_, i) => count(gates[i % 2], key))));
	for (const reply of replies) assert.ok(reply.status === 200 || reply.json.code === 'resource.conflict', reply.text);
	assert.ok(replies.filter((reply) => reply.status === 200).length >= keys.length);
	assert.equal(allEffects().length, 1 + keys.length);
	assert.equal(postgres.sql("SELECT count(*) FROM faultwire.store_row WHERE kind='idempotency'"), String(1 + keys.length));
});

test('the incidents of both gateways are in one list', async () => {
	const ids = [];
	for (const gate of gates) ids.push(canonical(await mcp(gate, 'count', { key: 'lost', before: '0' })).incident_id);
	for (const gate of gates) await until(async () => {
		const { incidents } = (await ask(gate, '/api/v1/incidents?limit=100')).json;
		return ids.every((id) => incidents.some((incident) => incident.id === id));
	}, 'each of them sees both');
	for (const gate of gates) assert.equal(await gate.stop(), 0);
});

// ---- reservations ----

let servers;
const reserve = (server, agent, pattern) => api(server, 'reserve_files', { agent_id: agent, patterns: [pattern], reason: 'a test' });
// On a busy machine an answer of the database may come too late: then the call is repeated.
async function decided(server, agent, pattern) {
	let reply;

	await until(async () => (reply = await reserve(server, agent, pattern)).json.code !== 'dependency.unavailable', 'a decision');
	return reply;
}

test('of many agents at two servers exactly one gets a file', async () => {
	const start = (n) => place.start('serve', '--tools', 'diag,reserve', '--run', 'inline', ...quiet, '--audit', place.file(`serve-${n}.jsonl`));
	servers = [await start(0), await start(1)];
	const held = await decided(servers[0], 'agent-1', 'src/*.c');
	assert.equal(held.status, 200, held.text);
	const refused = await decided(servers[1], 'agent-2', 'src/a.c');
	assert.equal(refused.json.code, 'reservation.conflict', refused.text);
	for (const pattern of ['docs/a.md', 'docs/b.md', 'docs/c.md']) {
		const replies = await Promise.all(Array.from({ length: 10 }, (_, i) => decided(servers[i % 2], `agent-${i}`, pattern)));
		assert.equal(replies.filter((reply) => reply.status === 200).length, 1, pattern);
		for (const reply of replies) assert.ok(reply.status === 200 || reply.json.code === 'reservation.conflict', reply.text);
	}
	assert.match(place.faultwire('reserve', 'list', '--store', runtime), /docs\/b\.md/);
});

test('a database that says nothing fails such calls in time, all of them', async () => {
	const keyed = (server, i) => api(server, 'reserve_files', { agent_id: 'k', patterns: [`keyed-${i}.c`], reason: 'a test' }, { headers: { 'Idempotency-Key': `silent-${i}` } });
	// Connections that wait idly for the next call, in all of them.
	for (const server of servers) await Promise.all([keyed(server, `warm-${server.url.slice(-5)}`), reserve(server, 'x', `warm-${server.url.slice(-5)}.c`)]);
	postgres.signal('SIGSTOP');
	let replies;
	try {
		replies = await inTime(place, 2000, () => Promise.all(servers.flatMap((server) => Array.from({ length: 8 }, (_, i) => [keyed(server, i), reserve(server, `y${i}`, `silent-${i}.c`), mcp(server, 'explain_error_code', { code: 'file.not_found' })]).flat())));
	} finally {
		postgres.signal('SIGCONT');
	}
	for (const [i, reply] of replies.entries()) {
		if (i % 3 === 2) assert.ok(isFine(reply), 'a call that needs no store');
		else assert.equal(reply.json.code, 'dependency.unavailable', reply.text);
	}
	await until(async () => (await reserve(servers[1], 'y', 'after.c')).status === 200, 'reservations are made again');
	for (const server of servers) assert.match((await ask(server, '/metrics')).text, /faultwire_errors_total\{[^}]*dependency\.unavailable[^}]*\} [1-9]/);
	for (const server of servers) assert.equal(await server.stop(), 0);
});

// ---- tokens ----

test('known tokens are accepted while the database is away, until they are too old', async () => {
	const token = (name) => place.faultwire('token', 'new', name, '--scope', 'admin', '--governance', owner).trim();
	const [good, revoked] = [token('good'), token('revoked')];
	const start = (age) => place.start('serve', '--tools', 'diag', '--run', 'inline', ...quiet, '--tokens', ...age, '--audit', 'off');
	const strict = await start(['--tokens-age', '1']), patient = await start([]);
	const call = (server, bearer) => mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token: bearer });
	for (const server of [strict, patient]) for (const bearer of [good, revoked]) assert.ok(isFine(await call(server, bearer)));
	await postgres.stop('SIGKILL');
	await until(async () => !isFine(await call(strict, good)), 'the token is too old');
	const refused = await call(strict, good);
	assert.equal(refused.status, 503, refused.text);
	assert.match(refused.text, /dependency\.unavailable/);
	assert.match((await ask(strict, '/readyz')).text, /governance: the store is away for \d+ s, tokens are refused/);
	// Sixty seconds have not passed.
	assert.ok(isFine(await call(patient, good)));
	await until(async () => /known tokens are accepted for \d\d s more/.test((await ask(patient, '/readyz')).text), 'it says for how long');
	// A token that nobody has made is wrong, not unavailable.
	assert.equal((await call(strict, good.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')))).status, 401);
	await postgres.start();
	place.faultwire('token', 'revoke', '--governance', owner, 'revoked');
	await until(async () => isFine(await call(strict, good)), 'the token is accepted again');
	for (const server of [strict, patient]) {
		await until(async () => (await call(server, revoked)).status === 401, 'the revocation is noticed');
		assert.equal(await server.stop(), 0);
	}
});

// The use of a token is recorded with each look for changes, and recording it fails here.
test('tokens of a database that can be read but not written to are not refused', async () => {
	const tokens = Array.from({ length: 24 }, (_, i) => place.faultwire('token', 'new', `reader-${i}`, '--scope', 'admin', '--governance', owner).trim());
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', ...quiet, '--tokens', '--tokens-age', '4', '--audit', 'off');
	postgres.sql('REVOKE INSERT,UPDATE ON faultwire.store_row FROM runtime');
	try {
		for (const token of tokens) {
			const reply = await mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token });
			assert.ok(isFine(reply), reply.text);
			await pause(250);
		}
		place.faultwire('token', 'revoke', '--governance', owner, 'reader-0');
		await until(async () => (await mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token: tokens[0] })).status === 401, 'the revocation is noticed');
		assert.match(server.said, /governance_store_lost/);
	} finally {
		postgres.sql('GRANT INSERT,UPDATE ON faultwire.store_row TO runtime');
	}
	assert.equal(await server.stop(), 0);
});

test('--tokens-age takes seconds, and needs tokens', () => {
	const refused = (...args) => assert.throws(() => place.faultwire('serve', '--http', '127.0.0.1:0', '--store', runtime, '--sandbox', 'off', ...args), ({ status }) => status === 2);
	refused('--tokens', '--tokens-age', 'x');
	refused('--tokens-age', '5');
});

// ---- alerts ----

test('the firing alerts of all replicas are in the store, also those that fired while it was away', async () => {
	const start = (name) => place.start('serve', '--tools', 'diag', '--run', 'inline', ...quiet, '--drill-alerts', '--replica', name, '--audit', 'off');
	const shown = () => JSON.parse(place.faultwire('alerts', '--json', '--store', runtime)).filter(({ replica }) => /^(east|west)$/.test(replica));
	const firing = () => Object.fromEntries(shown().map(({ replica, firing: list }) => [replica, list.map(({ code }) => code)]));
	const raise = (server, code) => mcp(server, 'raise_error', { code });
	const same = (wanted) => until(() => JSON.stringify(firing()) === JSON.stringify(wanted), JSON.stringify(wanted));
	const east = await start('east'), west = await start('west');

	await same({ east: [], west: [] });
	await raise(east, 'internal.unexpected');
	await same({ east: ['internal.unexpected'], west: [] });
	assert.match(place.faultwire('alerts', '--store', runtime), /internal\.unexpected .* east http:/);
	await postgres.stop('SIGKILL');
	await raise(west, 'internal.unexpected');
	await until(() => /alert_firing/.test(west.said), 'it is logged at once');
	await postgres.start();
	await same({ east: ['internal.unexpected'], west: ['internal.unexpected'] });
	// One that is stopped takes its row away; that of one that was killed expires.
	assert.equal(await west.stop(), 0);
	assert.deepEqual(Object.keys(firing()), ['east']);
	east.child.kill('SIGKILL');
	await east.ended;
	assert.deepEqual(Object.keys(firing()), ['east']);
	const left = Number(postgres.sql("SELECT expires FROM faultwire.store_row WHERE kind='alerts' AND owner='east'")) - Date.now();
	assert.ok(left > 0 && left <= 180000, `${left} ms`);
	postgres.sql("UPDATE faultwire.store_row SET expires=1 WHERE kind='alerts' AND owner='east'");
	assert.deepEqual(firing(), {});
});

// ---- the runtime role ----

test('servers ran with a role that can change no table; the owner can', () => {
	for (const statement of ['DROP TABLE faultwire.incident', 'ALTER TABLE faultwire.store_row ADD x int', 'TRUNCATE faultwire.store_row', 'DELETE FROM faultwire.anchor', 'UPDATE faultwire.incident SET code=code', 'CREATE TABLE faultwire.x(a int)', 'SELECT faultwire.drop_day(1)'])
		assert.throws(() => postgres.sql(statement, 'runtime'), /permission denied|must be owner/, statement);
	assert.equal(postgres.sql("SELECT count(*) FROM pg_tables WHERE schemaname='faultwire' AND tableowner='runtime'"), '0');
	assert.throws(() => place.faultwire('store', 'migrate', runtime), ({ status }) => status === 1);
	assert.match(place.faultwire('store', 'migrate', owner), /nothing to do/);
	const report = JSON.parse(place.faultwire('store', 'check', runtime, '--json'));
	assert.equal(report.may_change_tables, false);
	assert.match(report.oldest_day, /^\d{4}-\d\d-\d\d$/);
	assert.equal(report.incident_days, 1);
});
