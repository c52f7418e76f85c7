// The engine fails over: a real pair (primary and replica), the primary is paused or killed,
// its replica is promoted, and the old one comes back as a replica. The limits store is a
// list of both addresses.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Place, ask, canonical, isFine, mcp, until } from './lib/govern.mjs';
import { Engine, isAway, isUp, parallel, ready } from './lib/fleet.mjs';

const place = new Place('failover');
const engines = [new Engine(place, { name: 'first' }), new Engine(place, { name: 'second' })];
const policy = { version: 1, clients: { steady: { calls_per_second: 0.000001, burst: 40 }, other: { calls_per_second: 0.000001, burst: 60 } } };
const token = {};
let servers;

const explain = (server, who = 'steady') => mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token: token[who] });
const follow = async (one, other) => {
	assert.match(await one.command('REPLICAOF', '127.0.0.1', other.port), /OK/);
	await until(async () => /master_link_status:up/.test(await one.command('INFO', 'replication')), 'the copy');
};
const metric = async (server, name) => Number((await ask(server, '/metrics', { token: token.steady })).text.match(new RegExp(`^${name} (\\S+)`, 'm'))[1]);
const url = () => `redis://127.0.0.1:${engines[0].port},127.0.0.1:${engines[1].port}/0`;

before(async () => {
	for (const name of Object.keys(policy.clients)) token[name] = place.token(name, 'admin');
	writeFileSync(place.file('policy.json'), JSON.stringify(policy));
	for (const engine of engines) await engine.start();
	await follow(engines[1], engines[0]);
	servers = await Promise.all([1, 2, 3].map(() => place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--limits-store', url(), '--fleet', 'failover', '--log', 'json', '--limits-wait', '1000')));
	for (const server of servers) await until(() => isUp(server, 3), 'three replicas');
});
after(async () => {
	for (const engine of engines) {
		engine.signal('SIGCONT');
		await engine.stop();
	}
	await place.end();
});

// The number of calls that pass, of many at all replicas.
async function pass() {
	const replies = await parallel(90, 30, (i) => explain(servers[i % 3]));
	for (const reply of replies.filter((reply) => !isFine(reply))) assert.equal(canonical(reply)?.code, 'governance.rate_limited', reply.text);
	return replies.filter(isFine).length;
}

test('the primary is killed and its replica promoted: replicas find it, and buckets go on', async () => {
	for (let i = 0; i < 10; i++) assert.ok(isFine(await explain(servers[i % 3])));
	// What was decided is in the copy.
	await until(async () => /bucket/.test(await engines[1].command('KEYS', '*bucket*')), 'the bucket is copied');
	await engines[0].stop();
	for (const server of servers) await until(() => isAway(server), 'the engine is away');
	assert.match(await ready(servers[0]), /away for \d+ s, limits are divided by 3/);
	// A replica of the engine is not used: it takes no writes.
	const failures = await metric(servers[0], 'faultwire_fleet_engine_failures_total');
	await until(async () => (await metric(servers[0], 'faultwire_fleet_engine_failures_total')) > failures + 2, 'more attempts');
	assert.ok(await isAway(servers[0]));
	assert.match(await engines[1].command('REPLICAOF', 'NO', 'ONE'), /OK/);
	for (const server of servers) await until(() => isUp(server, 3), 'the new primary');
	for (const server of servers) {
		assert.match(server.said, /fleet_engine_lost/);
		assert.match(server.said, /fleet_engine_found/);
		assert.equal(await metric(server, 'faultwire_fleet_engine_up'), 1);
	}
	// 10 of 40 were used before; nobody called while it was away.
	assert.equal(await pass(), 30);
});

test('the old primary comes back as a replica, and is not used', async () => {
	await engines[0].start();
	await follow(engines[0], engines[1]);
	for (const server of servers) assert.ok(await isUp(server, 3));
	assert.equal(await pass(), 0);
});

test('a primary that is demoted is left for the new one', async () => {
	assert.match(await engines[0].command('REPLICAOF', 'NO', 'ONE'), /OK/);
	await follow(engines[1], engines[0]);
	// The next report of each replica is refused as a write.
	for (const server of servers) await until(async () => (await isUp(server, 3)) && server.said.includes('not the primary any more'), 'the new primary');
	assert.equal(await pass(), 0);
});

test('a paused primary: no call waits for it longer than the limit, then the other is used', async () => {
	engines[0].signal('SIGSTOP');
	const start = Date.now();
	const replies = await parallel(6, 6, (i) => explain(servers[i % 3], 'other'));
	assert.equal(replies.filter(isFine).length, 6);
	console.log(`# answered after ${Date.now() - start} ms (limit 1000 ms)`);
	assert.match(await engines[1].command('REPLICAOF', 'NO', 'ONE'), /OK/);
	for (const server of servers) await until(() => isUp(server, 3), 'the new primary');
	engines[0].signal('SIGCONT');
	for (const server of servers) assert.equal(await server.stop(), 0, server.said);
});
