// The way to PostgreSQL: TLS with certificates made here, and a list of hosts of which one is
// a real standby. A host that says nothing is left for the one that was promoted.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { bin } from './lib/cli.mjs';
import { freePort } from './lib/fleet.mjs';
import { Place, api, ask, canonical, inTime, mcp, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const place = new Place('store-hosts');
const clusters = [];
const faultwire = (...args) => spawnSync(bin, args, { env: place.env, encoding: 'utf8' });
const stored = (postgres) => postgres.sql('SELECT id FROM faultwire.incident WHERE code<>\'dependency.unavailable\' ORDER BY n').split('\n').filter(Boolean).join('\n');

// The ids of incidents, in the order in which they happened.
async function fail(server, count) {
	const ids = [];

	for (let i = 0; i < count; i++) ids.push(canonical(await mcp(server, 'no_such_tool', {})).incident_id);
	assert.ok(ids.every(Boolean));
	return ids;
}

after(async () => {
	await place.end();
	for (const postgres of clusters) await postgres.end();
});

// ---- TLS ----

let secure, port;
const at = (host, more) => `postgresql://faultwire@${host}:${port}/postgres?${more}`;

// A certificate authority, and a certificate of it for this address.
function certify(name) {
	const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
	const [ca, key, request, certificate, names] = ['ca.pem', 'ca.key', 'request', 'server.pem', 'names'].map((file) => place.file(`${name}-${file}`));
	const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

	openssl('req', '-x509', ...newKey, '-keyout', key, '-out', ca, '-subj', `/CN=${name}`, '-days', '2');
	openssl('req', ...newKey, '-keyout', place.file(`${name}-server.key`), '-out', request, '-subj', '/CN=database');
	writeFileSync(names, 'subjectAltName=IP:127.0.0.1\n');
	openssl('x509', '-req', '-in', request, '-CA', ca, '-CAkey', key, '-CAcreateserial', '-out', certificate, '-days', '2', '-extfile', names);
	return ca;
}

before(async () => {
	const postgres = (secure = new Postgres());
	clusters.push(postgres);
	port = await freePort();
	certify('right');
	certify('wrong');
	for (const file of ['server.pem', 'server.key']) {
		copyFileSync(place.file(`right-${file}`), `${postgres.directory}/${file}`);
		chmodSync(`${postgres.directory}/${file}`, 0o600);
		if (process.getuid() === 0) execFileSync('chown', ['postgres', `${postgres.directory}/${file}`]);
	}
	await postgres.start('-c', 'ssl=on', '-c', `ssl_cert_file=${postgres.directory}/server.pem`, '-c', `ssl_key_file=${postgres.directory}/server.key`, '-c', 'listen_addresses=127.0.0.1', '-c', `port=${port}`);
});

test('a database whose certificate is verified', () => {
	const url = at('127.0.0.1', `sslmode=verify-full&sslrootcert=${place.file('right-ca.pem')}`);
	let done = faultwire('store', 'migrate', url);

	assert.equal(done.status, 0, done.stderr);
	done = faultwire('store', 'check', url, '--json');
	assert.equal(done.status, 0, done.stderr);
	assert.equal(JSON.parse(done.stdout).tls, true);
});

test('a confined server verifies it too, and again after a restart of the database', async () => {
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--log', 'json', '--store', at('127.0.0.1', `sslmode=verify-full&sslrootcert=${place.file('right-ca.pem')}`));
	let ids = await fail(server, 5);

	await until(() => stored(secure) === ids.join('\n'), 'they are stored');
	assert.equal(secure.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name='faultwire'"), 't');
	secure.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='faultwire'");
	ids = ids.concat(await fail(server, 5));
	await until(() => stored(secure) === ids.join('\n'), 'they are stored');
	assert.equal(await server.stop(), 0);
});

const refusals = {
	'a certificate of somebody else': ['127.0.0.1', () => `sslmode=verify-full&sslrootcert=${place.file('wrong-ca.pem')}`, /certificate verify failed/],
	'a certificate for another name': ['localhost', () => `sslmode=verify-full&sslrootcert=${place.file('right-ca.pem')}`, /does not match host name/],
	'no file with the authority': ['127.0.0.1', () => `sslmode=verify-full&sslrootcert=${place.file('missing.pem')}`, /certificate file .* does not exist/],
};
for (const [what, [host, how, reason]] of Object.entries(refusals))
	test(`${what} is refused, and the error says why`, () => {
		const url = at(host, how());
		const args = { check: ['store', 'check', url], serve: ['serve', '--http', '127.0.0.1:0', '--tools', 'diag', '--tokens', '--store', url, '--log', 'off'] };
		for (const [name, list] of Object.entries(args)) {
			const done = faultwire(...list);
			assert.equal(done.status, 1, name);
			assert.match(done.stderr, /the store is unavailable/, name);
			assert.match(done.stderr, reason, name);
		}
	});

test('a server whose database has a wrong certificate answers, and its incidents wait', async () => {
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--log', 'json', '--store', at('127.0.0.1', `sslmode=verify-full&sslrootcert=${place.file('wrong-ca.pem')}`));

	await fail(server, 3);
	await until(() => /incidents_down[^\n]*certificate verify failed/.test(server.said), 'the log names the reason');
	await until(async () => /incidents: the store is away, 3 wait on the disk/.test((await ask(server, '/readyz')).text), 'three wait');
	server.child.kill('SIGKILL');
	await server.ended;
});

// ---- several hosts ----

test('a silent primary is left for the standby that was promoted, and nothing is lost', async () => {
	const primary = new Postgres();
	clusters.push(primary);
	await primary.start();
	place.faultwire('store', 'migrate', primary.url());
	const standby = Postgres.standbyOf(primary);
	clusters.push(standby);
	await standby.start();
	// A commit is confirmed when the standby has it, too.
	primary.sql("ALTER SYSTEM SET synchronous_standby_names='*'");
	primary.sql('SELECT pg_reload_conf()');
	// The standby is the first of the list: it is skipped while it can only be read.
	const url = `postgresql:///postgres?host=${standby.directory},${primary.directory}&user=faultwire`;
	const other = new Place('store-hosts-2');
	try {
		const server = await other.start('serve', '--tools', 'diag,reserve', '--run', 'inline', '--sandbox', 'off', '--log', 'json', '--store', url);
		const reserve = (i) => api(server, 'reserve_files', { agent_id: 'a', patterns: [`${i}.c`], reason: 'x' });
		let ids = await fail(server, 20);

		assert.equal((await reserve(0)).status, 200);
		await until(() => stored(primary) === ids.join('\n'), 'they are stored');
		primary.signal('SIGSTOP');
		const answers = await inTime(other, 2000, () => Promise.all(Array.from({ length: 6 }, (_, i) => reserve(1 + i))));
		for (const answer of answers) assert.equal(answer.json.code, 'dependency.unavailable', answer.text);
		ids = ids.concat(await fail(server, 20));
		assert.equal(standby.sql('SELECT pg_promote()'), 't');
		await until(async () => (await reserve(9)).status === 200, 'reservations are made by the new primary');
		ids = ids.concat(await fail(server, 20));
		await until(() => stored(standby) === ids.join('\n'), 'all of them are at the new primary, once and in order', 40000);
		// Those of the old one were carried over.
		assert.match(other.faultwire('reserve', 'list', '--store', url), /\b0\.c\b/);
		assert.equal(await server.stop(), 0);
	} finally {
		primary.signal('SIGCONT');
		await other.end();
	}
});
