// Legacy sessions that any replica continues, through a real engine and a real haproxy; and
// a replica that is killed under load.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Place, ask, canonical, isFine, mcp, pause, until } from './lib/govern.mjs';
import { Engine, isAway, isLong, isUp, parallel, startHaproxy } from './lib/fleet.mjs';

const place = new Place('sessions');
const engine = new Engine(place);
const token = {};
let replicas, proxy;
let id = 0;

const headers = (session) => ({
	Accept: 'application/json, text/event-stream',
	'MCP-Protocol-Version': '2025-11-25',
	...(session ? { 'Mcp-Session-Id': session } : {}),
});
const legacy = (server, session, method, params, who = 'ada') => ask(server, '/mcp', { token: token[who], headers: headers(session), body: { jsonrpc: '2.0', id: ++id, method, params } });
const explain = (server, session, who) => legacy(server, session, 'tools/call', { name: 'explain_error_code', arguments: { code: 'file.not_found' } }, who);
async function begin(server, who = 'ada') {
	const reply = await legacy(server, undefined, 'initialize', { protocolVersion: '2025-11-25', capabilities: { experimental: { 'dev.faultwire/contract': 'kaiza' } }, clientInfo: { name: 'test', version: '1' } }, who);
	assert.equal(reply.status, 200, reply.text);
	const session = reply.headers.get('mcp-session-id');
	const ready = await ask(server, '/mcp', { token: token[who], headers: headers(session), body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
	assert.equal(ready.status, 202, ready.text);
	return session;
}
const keys = async () => [...(await engine.command('KEYS', '*:session:*')).matchAll(/^faultwire:\S+/gm)].map((match) => match[0]);

before(async () => {
	for (const name of ['ada', 'eve']) token[name] = place.token(name, 'admin');
	writeFileSync(place.file('policy.json'), '{"version":1}');
	await engine.start();
	replicas = await Promise.all(
		[1, 2, 3].map(() => place.start('serve', '--tools', 'diag', '--tokens', '--limits-store', engine.url(), '--fleet', 'sessions', '--limits-wait', '20000', '--log', 'json', '--limit', 'client_in_flight=2000')),
	);
	for (const server of replicas) await until(() => isUp(server, 3), 'three replicas');
	proxy = await startHaproxy(place, replicas);
});
after(async () => {
	engine.signal('SIGCONT');
	await engine.stop();
	await place.end();
});

test('a session that one replica has begun is continued by the others', async () => {
	const session = await begin(replicas[0]);
	for (const server of [replicas[1], replicas[2], replicas[0]]) {
		assert.ok(isFine(await explain(server, session)));
		// Its contract goes with it.
		const failed = await legacy(server, session, 'tools/call', { name: 'raise_error', arguments: { code: 'file.not_found' } });
		assert.match(failed.text, /error_code/, failed.text);
	}
	const [key] = await keys();
	assert.match(key, /^faultwire:sessions:session:[0-9a-f]{32}$/);
	assert.ok(!key.includes(session));
	assert.match(await engine.command('PTTL', key), /^:[1-9]/);
	// A change at one replica is that of all.
	assert.ok(isFine(await legacy(replicas[1], session, 'logging/setLevel', { level: 'error' })));
	await until(async () => /"level":4/.test(await engine.command('GET', key)), 'the level');
	assert.ok(isFine(await legacy(replicas[2], session, 'ping')));
	assert.match(await engine.command('GET', key), /"level":4/);
});

test('a session is that of its client at every replica', async () => {
	const session = await begin(replicas[0]);
	for (const server of replicas) {
		const refused = await explain(server, session, 'eve');
		assert.equal(refused.status, 404);
		assert.equal(canonical(refused).code, 'session.unknown');
	}
	assert.ok(isFine(await explain(replicas[1], session)));
});

test('a session that is deleted at one replica is over at all', async () => {
	const session = await begin(replicas[0]);
	for (const server of replicas) assert.ok(isFine(await explain(server, session)));
	const deleted = await ask(replicas[1], '/mcp', { method: 'DELETE', token: token.ada, headers: headers(session) });
	assert.equal(deleted.status, 200, deleted.text);
	for (const server of replicas) await until(async () => (await explain(server, session)).status === 404, 'the end of the session');
});

test('after FLUSHALL a replica that knows a session shares it again', async () => {
	const session = await begin(replicas[0]);
	await engine.command('FLUSHALL');
	assert.equal((await explain(replicas[1], session)).status, 404);
	assert.ok(isFine(await explain(replicas[0], session)));
	await until(async () => isFine(await explain(replicas[1], session)), 'the session is shared again');
});

test('values in the engine that are no session are not believed', async () => {
	const session = await begin(replicas[0]);
	const key = `faultwire:sessions:session:${createHash('sha256').update(session).digest('hex').slice(0, 32)}`;
	const lines = (await engine.command('GET', key)).split('\r\n');
	const good = JSON.parse(lines[1]);
	for (const [name, value] of [
		['not JSON', 'garbage'],
		['an array', '[]'],
		['another client', JSON.stringify({ ...good, principal: 'eve' })],
		['another proof', JSON.stringify({ ...good, proof: 0 })],
		['a version', JSON.stringify({ ...good, version: '2026-07-28' })],
		['no version', JSON.stringify({ ...good, version: 'x' })],
		['capabilities', JSON.stringify({ ...good, capabilities: 5 })],
		['a NUL', JSON.stringify({ ...good, client: 'a\0b' })],
		['nesting', '{"capabilities":' + '['.repeat(5000) + ']'.repeat(5000) + '}'],
		['a long client', JSON.stringify({ ...good, client: 'x'.repeat(70000) })],
	]) {
		await engine.command('SET', key, value);
		const refused = await explain(replicas[2], session);
		assert.equal(refused.status, 404, `${name}: ${refused.text}`);
	}
	await engine.command('SET', key, JSON.stringify(good));
	assert.ok(isFine(await explain(replicas[2], session)));
	for (const bad of [{ level: 99 }, { level: 'x' }, { subscriptions: 'x' }, { subscriptions: [5] }, { initialized: 1 }]) {
		await engine.command('SET', key, JSON.stringify({ ...good, ...bad }));
		assert.ok(isFine(await explain(replicas[0], session)), JSON.stringify(bad));
	}
});

test('a large request is held back, too, and a stream is opened at another replica', async () => {
	const session = await begin(replicas[0]);
	const large = await legacy(replicas[1], session, 'tools/call', { name: 'explain_error_code', arguments: { code: 'x'.repeat(300000) } });
	assert.equal(large.status, 200);
	const stop = new AbortController();
	const stream = await fetch(`${replicas[2].url}/mcp`, { headers: { ...headers(session), Accept: 'text/event-stream', Authorization: `Bearer ${token.ada}`, 'Last-Event-ID': '0_7' }, signal: stop.signal });
	assert.equal(stream.status, 200);
	stop.abort();
});

test('a replica killed under load: clients of both eras go on, without a new initialize', async () => {
	const sessions = [];
	for (let i = 0; i < 6; i++) sessions.push(await begin(proxy));
	const count = isLong ? 6000 : 600;
	let lost = 0;
	let done = 0;
	const replies = await parallel(count, 24, async (i) => {
		if (++done === Math.floor(count / 3)) replicas[0].child.kill('SIGKILL');
		// What was on its way to the killed replica has no answer: the client, or its
		// agent, sends it again, in the same session.
		for (let attempt = 0; attempt < 200; attempt++) {
			const asked = i % 2 ? explain(proxy, sessions[i % 6]) : mcp(proxy, 'explain_error_code', { code: 'file.not_found' }, { token: token.ada });
			const reply = await asked.catch((error) => ({ status: 502, text: String(error) }));
			if (reply.status !== 502 && reply.status !== 503) return { ...reply, era: i % 2 };
			lost++;
			await pause(20);
		}
		throw new Error('no replica answers');
	});
	await replicas[0].ended;
	for (const reply of replies) assert.ok(isFine(reply), `${reply.status} ${reply.text}`);
	// No request is answered twice: all ids of an era are different.
	for (const era of [0, 1]) assert.equal(new Set(replies.filter((reply) => reply.era === era).map((reply) => reply.json.id)).size, count / 2);
	console.log(`# ${lost} requests had no answer and were sent again`);
	for (const session of sessions) for (const server of replicas.slice(1)) assert.ok(isFine(await explain(server, session)));
});

test('without the engine a session continues where it is known', async () => {
	const session = await begin(replicas[1]);
	await engine.stop();
	for (const server of replicas.slice(1)) await until(() => isAway(server), 'the engine is away');
	assert.ok(isFine(await explain(replicas[1], session)));
	const other = await begin(replicas[2]);
	assert.ok(isFine(await explain(replicas[2], other)));
	assert.equal((await explain(replicas[1], other)).status, 404);
	await engine.start();
	for (const server of replicas.slice(1)) await until(() => isUp(server), 'it is back');
	assert.ok(isFine(await explain(replicas[2], other)));
	await until(async () => isFine(await explain(replicas[1], other)), 'the session is shared');
	for (const server of replicas.slice(1)) assert.equal(await server.stop(), 0, server.said);
});
