// The PostgreSQL server of a store is stopped, killed, paused and started again while a
// server answers calls: no call waits for it, every incident that a client got is
// in the store afterwards, once and in order, and no budget is overspent.
// 3 rounds of kill -9; 100 with FW_LONG=1.

import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { Place, ask, canonical, inTime, isFine, mcp, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const ROUNDS = process.env.FW_LONG ? 100 : 3;
const place = new Place('store-away');
const postgres = new Postgres();
let server;

const start = (...more) => place.start('serve', '--tools', 'diag', '--run', 'inline', '--sandbox', 'off', '--store', postgres.url(), '--log', 'json', ...more);
const stored = () => postgres.sql('SELECT id FROM faultwire.incident ORDER BY n').split('\n').filter(Boolean);
const folder = () => {
	try {
		return readdirSync(place.file('faultwire/incidents-waiting'));
	} catch {
		return [];
	}
};
// Without the mirrors of what is in memory, which a running server has all the time.
const waiting = () => folder().filter((name) => /-[0-9a-f]{16}\.waiting$/.test(name));

// The ids of incidents, in the order in which they happened.
async function fail(count) {
	const ids = [];

	for (let i = 0; i < count; i++) {
		const error = canonical(await mcp(server, 'no_such_tool', {}));
		ids.push(error.incident_id);
	}
	assert.ok(ids.every(Boolean));
	return ids;
}

const told = async (ids) => {
	await until(() => stored().length >= ids.length, 'all incidents are stored');
	assert.deepEqual(stored(), ids);
};

before(async () => {
	await postgres.start();
	place.faultwire('store', 'migrate', postgres.url());
	server = await start();
});
after(async () => {
	place.end();
	await postgres.end();
});

test('incidents wait on the disk while the engine is down, and are caught up', async () => {
	let ids = await fail(20);

	await told(ids);
	await postgres.stop();
	ids = ids.concat(await fail(60));
	await until(async () => /faultwire_incidents_waiting [1-9]/.test((await ask(server, '/metrics')).text), 'the metric counts them');
	assert.match((await ask(server, '/readyz')).text, /incidents: the store is away, \d+ wait on the disk/);
	assert.match(server.said, /incidents_down/);
	await postgres.start();
	ids = ids.concat(await fail(20));
	await told(ids);
	await until(async () => /faultwire_incidents_waiting 0/.test((await ask(server, '/metrics')).text), 'none waits');
	await until(() => /incidents_restored/.test(server.said), 'the log says so');
});

test('a paused engine delays no call', async () => {
	let ids = stored();

	postgres.signal('SIGSTOP');
	// They are answered before the engine goes on.
	ids = ids.concat(await inTime(place, 0, () => fail(3)), await fail(27));
	await until(() => waiting().length > 0, 'incidents are on the disk');
	ids = ids.concat(await fail(30));
	postgres.signal('SIGCONT');
	await told(ids);
});

test('a server that is killed meanwhile leaves its incidents to the next one', async () => {
	let ids = stored();

	await postgres.stop('SIGKILL');
	ids = ids.concat(await fail(40));
	await until(async () => Number((await ask(server, '/metrics')).text.match(/faultwire_incidents_waiting (\d+)/)[1]) === 40, 'all of them are on the disk');
	server.child.kill('SIGKILL');
	await server.ended;
	server = await start();
	ids = ids.concat(await fail(10));
	await postgres.start();
	await told(ids);
	await until(() => waiting().length <= 1, 'the file of the killed server is gone');
	assert.equal(await server.stop(), 0);
	assert.deepEqual(folder(), []);
});

test(`the engine is killed ${ROUNDS} times, and the budget holds`, async () => {
	const BUDGET = ROUNDS * 60;
	const token = place.faultwire('token', 'new', 'spender', '--scope', 'admin', '--governance', postgres.url()).trim();
	let passed = 0, closed = 0, used = 0;

	writeFileSync(place.file('policy.json'), JSON.stringify({ version: 1, clients: { spender: { budget_per_day: BUDGET } } }));
	server = await start('--tokens', '--clients', place.file('policy.json'));
	const call = async () => {
		const reply = await mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token });
		if (isFine(reply)) passed++;
		else if (canonical(reply).code === 'governance.budget_exceeded') used++;
		else {
			// Fail closed: without the store nothing new is handed out.
			assert.equal(canonical(reply).code, 'dependency.unavailable', JSON.stringify(reply.json));
			closed++;
		}
	};
	// A budget is needed, and the engine says nothing: refused in time.
	postgres.signal('SIGSTOP');
	try {
		await inTime(place, 2000, () => Promise.all(Array.from({ length: 4 }, call)));
	} finally {
		postgres.signal('SIGCONT');
	}
	assert.deepEqual([closed, passed], [4, 0]);
	for (let i = 0; i < ROUNDS; i++) {
		const calls = Array.from({ length: 60 + (i % 20) }, call);
		await Promise.race(calls.slice(i % 10));
		await postgres.stop('SIGKILL');
		await Promise.all(calls);
		await Promise.all(Array.from({ length: 30 }, call));
		if (i % 3 === 2) {
			server.child.kill('SIGKILL');
			await server.ended;
		}
		await postgres.start();
		if (i % 3 === 2) server = await start('--tokens', '--clients', place.file('policy.json'));
		assert.ok(passed <= BUDGET, `${passed} of ${BUDGET}`);
	}
	await until(async () => (await call(), used > 0), 'the budget is used up', 60000);
	assert.ok(passed <= BUDGET, `${passed} of ${BUDGET}`);
	assert.ok(passed > 0);
	assert.equal(await server.stop(), 0);
});

test('a confined server reaches the engine by TCP, also after a restart', async () => {
	const port = await new Promise((done) => {
		const probe = createServer().listen(0, '127.0.0.1', () => {
			const { port } = probe.address();
			probe.close(() => done(port));
		});
	});
	const tcp = ['-c', 'listen_addresses=127.0.0.1', '-c', `port=${port}`];
	let ids = stored();

	await postgres.stop();
	await postgres.start(...tcp);
	server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--store', `postgresql://faultwire@127.0.0.1:${port}/postgres`, '--log', 'json');
	ids = ids.concat(await fail(5));
	await told(ids);
	await postgres.stop();
	ids = ids.concat(await fail(5));
	await until(() => waiting().length > 0, 'incidents are on the disk');
	await postgres.start(...tcp);
	await told(ids);
	assert.equal(await server.stop(), 0);
});
