// The disk of PostgreSQL is full, really: first statements fail, then the whole server gives
// up, as PostgreSQL does when its log cannot be written. Calls go on, what a client saw is
// stored afterwards, once and in order.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Place, api, ask, canonical, isFine, mcp, until } from './lib/govern.mjs';
import { Postgres, noDisk } from './lib/postgres.mjs';

const skip = noDisk() ?? false;
const small = ['-c', 'max_wal_size=32MB', '-c', 'min_wal_size=32MB'];
const place = new Place('store-full');
let postgres, server, token;
const ids = [];

const metric = async (name) => Number((await ask(server, '/metrics', { token })).text.match(new RegExp(`^${name} (\\d+)`, 'm'))[1]);
const stored = () => postgres.sql('SELECT id FROM faultwire.incident WHERE tool=\'raise_error\' ORDER BY n').split('\n').filter(Boolean);

// Failures until `isEnough`, and the longest time that an answer took.
async function fail(isEnough) {
	let longest = 0;

	do {
		for (let i = 0; i < 20; i++) {
			const began = performance.now();
			const error = canonical(await mcp(server, 'raise_error', { code: 'file.not_found', detail: 'x'.repeat(2000) }, { token }));
			longest = Math.max(longest, performance.now() - began);
			assert.ok(error.incident_id, JSON.stringify(error));
			ids.push(error.incident_id);
		}
	} while (!(await isEnough()));
	return longest;
}

async function caughtUp() {
	await until(async () => (await metric('faultwire_incidents_waiting')) === 0 && stored().length >= ids.length, 'all incidents are stored', 60000);
	assert.equal(stored().join(), ids.join());
	assert.equal(await metric('faultwire_incidents_down'), 0);
	assert.equal(await metric('faultwire_incidents_lost_total'), 0);
}

before(async () => {
	if (skip) return;
	postgres = await Postgres.onDisk('64m');
	await postgres.start(...small);
	place.faultwire('store', 'migrate', postgres.url());
	token = place.faultwire('token', 'new', 'operator', '--scope', 'admin', '--governance', postgres.url()).trim();
	writeFileSync(place.file('policy.json'), JSON.stringify({ version: 1, clients: { operator: { budget_per_day: 1000000 } } }));
	server = await place.start('serve', '--tools', 'diag,reserve', '--run', 'inline', '--sandbox', 'off', '--tokens', '--clients', place.file('policy.json'), '--store', postgres.url(), '--log', 'json');
});
after(async () => {
	await place.end();
	await postgres?.end();
});

test('a full disk: incidents wait on the disk of the server, and calls go on', { skip }, async (t) => {
	await fail(() => true);
	await caughtUp();
	postgres.fillDisk();
	const longest = await fail(async () => (await metric('faultwire_incidents_waiting')) > 0);
	t.diagnostic(`longest answer ${longest.toFixed(0)} ms`);
	assert.match(server.said, /incidents_down[^\n]*No space left on device|incidents_down[^\n]*could not extend/);
	assert.match((await ask(server, '/readyz')).text, /incidents: the store is away, \d+ wait on the disk/);
	assert.equal((await ask(server, '/readyz')).status, 200);
	// Reading works: nothing must be written for it.
	assert.equal((await ask(server, '/api/v1/incidents?limit=5', { token })).json.incidents.length, 5);
	postgres.freeDisk();
	await fail(() => true);
	await caughtUp();
	assert.match(server.said, /incidents_restored/);
});

test('a reservation on a full disk is made or refused, never half', { skip }, async () => {
	const reserve = (i) => api(server, 'reserve_files', { patterns: Array.from({ length: 20 }, (_, k) => `src/${i}-${k}-${'y'.repeat(150)}.c`), reason: 'full' }, { token });
	let refused, made = 0;
	for (; made < 3; made++) assert.equal((await reserve(made)).status, 200);
	postgres.fillDisk();
	for (let i = made; i < 400 && !refused; i++) {
		const reply = await reserve(i);
		if (reply.status === 200) made++;
		else refused = reply;
	}
	assert.equal(refused?.json.code, 'dependency.unavailable', refused?.text);
	// All twenty patterns of a reservation, or none.
	assert.equal(Number(postgres.sql("SELECT count(*) FROM faultwire.store_row WHERE value LIKE '%-yyy%'")), 20 * made);
	postgres.freeDisk();
	await until(async () => (await api(server, 'reserve_files', { patterns: ['after.c'], reason: 'free' }, { token })).status === 200, 'reservations are made again');
});

test('PostgreSQL gives up on its full disk, and everything is caught up when it is back', { skip }, async (t) => {
	postgres.fillDisk();
	// Its log cannot be continued: PANIC, and no recovery without room.
	assert.throws(() => {
		for (;;) postgres.sql('SELECT pg_switch_wal(); CREATE TABLE more(x text); DROP TABLE more');
	});
	await postgres.ended;
	assert.match(postgres.said, /No space left on device/);
	const longest = await fail(async () => (await metric('faultwire_incidents_waiting')) >= 60);
	t.diagnostic(`longest answer ${longest.toFixed(0)} ms`);
	await until(() => /governance_store_lost/.test(server.said), 'the log says so');
	assert.match((await ask(server, '/readyz')).text, /governance: the store is away for \d+ s, known tokens are accepted for \d+ s more/);
	assert.equal(await metric('faultwire_governance_store_up'), 0);
	assert.ok((await metric('faultwire_governance_store_failures_total')) > 0);
	postgres.freeDisk();
	await postgres.start(...small);
	await fail(() => true);
	await caughtUp();
	await until(async () => (await metric('faultwire_governance_store_up')) === 1, 'the tokens are read again');
	assert.ok(isFine(await mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token })));
	assert.equal(await server.stop(), 0);
});
