// Streams that are resumed at another replica, and changes that reach the clients of all
// replicas, through a real engine. The official clients do the same in test/judge.

import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from './lib/cli.mjs';
import { Place, ask, until } from './lib/govern.mjs';
import { Engine, isAway, isUp } from './lib/fleet.mjs';
import { modern } from './lib/mcp.mjs';

const place = new Place('streams');
const engine = new Engine(place);
const upstream = join(root, 'test/wire/lib/fleet_upstream.mjs');
let replicas;
let id = 100;

const headers = (session) => ({
	Accept: 'application/json, text/event-stream',
	'Content-Type': 'application/json',
	'MCP-Protocol-Version': '2025-11-25',
	...(session ? { 'Mcp-Session-Id': session } : {}),
});
const legacy = (server, session, method, params) => ask(server, '/mcp', { headers: headers(session), body: { jsonrpc: '2.0', id: ++id, method, params } });
const announce = async (server, session, kind, uri) => {
	const reply = await legacy(server, session, 'tools/call', { name: 'announce', arguments: { kind, uri } });
	assert.equal(reply.status, 200, reply.text);
};
async function begin(server) {
	const reply = await legacy(server, undefined, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
	assert.equal(reply.status, 200, reply.text);
	const session = reply.headers.get('mcp-session-id');
	assert.equal((await ask(server, '/mcp', { headers: headers(session), body: { jsonrpc: '2.0', method: 'notifications/initialized' } })).status, 202);
	return session;
}

// A stream of events: what has come, with its ids.
async function listen(server, { session, last, body, extra = {} }) {
	const stop = new AbortController();
	const reply = await fetch(`${server.url}/mcp`, {
		method: body ? 'POST' : 'GET',
		body: body && JSON.stringify(body),
		headers: { ...headers(session), ...(body ? {} : { Accept: 'text/event-stream' }), ...(last ? { 'Last-Event-ID': last } : {}), ...extra },
		signal: stop.signal,
	});
	const stream = { status: reply.status, events: [], isOver: false, last, close: () => stop.abort() };
	if (reply.status !== 200) {
		stream.text = await reply.text();
		return stream;
	}
	(async () => {
		let text = '';
		const decoder = new TextDecoder();
		for await (const bytes of reply.body) {
			text += decoder.decode(bytes, { stream: true });
			const parts = text.split('\n\n');
			text = parts.pop();
			for (const part of parts) {
				const fields = Object.fromEntries(part.split('\n').map((line) => line.match(/^(\w*): ?(.*)$/)?.slice(1) ?? []));
				if (fields.id) stream.last = fields.id;
				if (fields.data) stream.events.push({ ...JSON.parse(fields.data), at: fields.id });
			}
		}
	})()
		.catch(() => {})
		.finally(() => (stream.isOver = true));
	return stream;
}
const uris = (stream) => stream.events.filter((event) => event.method === 'notifications/resources/updated').map((event) => event.params.uri);
const steps = (stream) => stream.events.filter((event) => event.method === 'notifications/progress').map((event) => event.params.progress);
const answers = (stream) => stream.events.filter((event) => event.result || event.error);

const startGate = (url = engine.url()) => place.start('gate', '--limits-store', url, '--fleet', 'streams', '--limits-wait', '20000', '--log', 'json', '--', process.execPath, upstream);
before(async () => {
	await engine.start();
	replicas = await Promise.all([1, 2, 3].map(() => startGate()));
	for (const server of replicas) await until(() => isUp(server, 3), 'three replicas');
	// The servers behind them have started.
	for (const server of replicas) assert.equal((await legacy(server, await begin(server), 'tools/list')).json.result.tools.length, 4);
});
after(async () => {
	await engine.stop();
	await place.end();
});

test('a change at one replica is announced to the clients of the others, of both eras', async () => {
	const session = await begin(replicas[0]);
	const stream = await listen(replicas[1], { session });
	const listener = await listen(replicas[2], {
		extra: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' },
		body: { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['test://b'] }, _meta: modern } },
	});
	await until(() => listener.events.length, 'the acknowledgement');
	assert.equal((await legacy(replicas[2], session, 'resources/subscribe', { uri: 'test://b' })).status, 200);
	await announce(replicas[0], session, 'tools');
	await announce(replicas[0], session, 'prompts');
	await announce(replicas[0], session, 'resource', 'test://other');
	await announce(replicas[0], session, 'resource', 'test://b');
	for (const one of [stream, listener]) {
		await until(() => uris(one).length, 'the change of the resource');
		const methods = one.events.map((event) => event.method);
		assert.equal(methods.filter((method) => method === 'notifications/tools/list_changed').length, 1, methods.join());
		assert.equal(methods.filter((method) => method === 'notifications/prompts/list_changed').length, 1, methods.join());
		assert.deepEqual(uris(one), ['test://b']);
		one.close();
	}
});

test('a session whose replica is killed gets the changes that it missed, each once', async () => {
	const session = await begin(replicas[1]);
	const wanted = ['test://1', 'test://2', 'test://3', 'test://4', 'test://5'];
	for (const uri of wanted) await legacy(replicas[1], session, 'resources/subscribe', { uri });
	const doomed = await startGate();
	await until(() => isUp(doomed), 'a fourth replica');
	const stream = await listen(doomed, { session });
	assert.match(await until(() => stream.last, 'the first event'), /^0_\d+$/);
	await announce(replicas[0], session, 'resource', wanted[0]);
	await until(() => uris(stream).length === 1, 'the first change');
	doomed.child.kill('SIGKILL');
	await doomed.ended;
	await until(() => stream.isOver, 'the end of the stream');
	await announce(replicas[0], session, 'resource', wanted[1]);
	await announce(replicas[1], session, 'resource', wanted[2]);
	const second = await listen(replicas[2], { session, last: stream.last });
	await until(() => uris(second).length === 2, 'the changes that were missed');
	await announce(replicas[1], session, 'resource', wanted[3]);
	await until(() => uris(second).length === 3, 'a new one');
	second.close();
	await announce(replicas[0], session, 'resource', wanted[4]);
	const third = await listen(replicas[0], { session, last: second.last });
	await until(() => uris(third).length, 'the last');
	assert.deepEqual([...uris(stream), ...uris(second), ...uris(third)], wanted);
	third.close();
});

const call = (file, count) => ({ jsonrpc: '2.0', id: `call-${++id}`, method: 'tools/call', params: { name: 'steps', arguments: { file, count }, _meta: { progressToken: 't' } } });

test('the response of a call continues at another replica, and is answered once', async () => {
	const file = place.file('steps-1');
	const session = await begin(replicas[0]);
	writeFileSync(file, '1\n2\n');
	const body = call(file, 6);
	const first = await listen(replicas[0], { session, body });
	await until(() => steps(first).length === 2, 'two steps');
	first.close();
	appendFileSync(file, '3\n4\n');
	const second = await listen(replicas[1], { session, last: first.last });
	assert.equal(second.status, 200, second.text);
	await until(() => steps(second).length === 2, 'two more');
	second.close();
	appendFileSync(file, '5\n6\n');
	const third = await listen(replicas[2], { session, last: second.last });
	await until(() => third.isOver, 'the end');
	assert.deepEqual([first, second, third].flatMap(steps), [1, 2, 3, 4, 5, 6]);
	const [answer, ...more] = [first, second, third].flatMap(answers);
	assert.equal(answer.at, third.last);
	assert.equal(answer.id, body.id);
	assert.match(JSON.stringify(answer), /6 steps/);
	assert.equal(more.length, 0);
	// Nothing is left of it, so nobody asks again.
	for (const server of replicas) assert.equal((await listen(server, { session, last: third.last })).status, 405);
	// From an earlier event on, it is all there again, here and at its own replica.
	for (const server of replicas) {
		const again = await listen(server, { session, last: second.last });
		await until(() => again.isOver, 'the end, again');
		assert.deepEqual(steps(again), [5, 6]);
		assert.equal(answers(again).length, 1);
	}
});

test('a call whose replica is killed is answered by another one, with an error', async () => {
	const file = place.file('steps-2');
	const doomed = await startGate();
	await until(() => isUp(doomed), 'a fourth replica');
	const session = await begin(doomed);
	writeFileSync(file, '1\n2\n');
	const body = call(file, 6);
	const first = await listen(doomed, { session, body });
	await until(() => steps(first).length === 2, 'two steps');
	// The client has one of them only.
	const one = first.events[0].at;
	doomed.child.kill('SIGKILL');
	await doomed.ended;
	const second = await listen(replicas[1], { session, last: one });
	assert.equal(second.status, 200, second.text);
	const third = await listen(replicas[2], { session, last: first.last });
	for (const stream of [second, third]) await until(() => stream.isOver, 'the answer');
	assert.deepEqual(steps(second), [2]);
	assert.deepEqual(steps(third), []);
	const raw = [second, third].flatMap(answers);
	assert.equal(raw.length, 2);
	// One answer, which both have read.
	assert.deepEqual(raw[0].error, raw[1].error);
	assert.equal(raw[0].id, body.id);
	const error = raw[0].error.data['dev.faultwire/error'];
	assert.equal(error.code, 'transport.connection_reset');
	assert.equal(error.recoverable, true);
	let answered = 0;
	for (const server of replicas) answered += Number((await ask(server, '/metrics')).text.match(/fleet_events_total\{what="answered"\} (\d+)/)[1]);
	assert.equal(answered, 1);
});

test('an unknown stream is refused, also with numbers that no event has', async () => {
	const session = await begin(replicas[0]);
	for (const last of ['77_1', '77_x', 'x', '999999999999999999_1']) assert.equal((await listen(replicas[1], { session, last })).status, 405, last);
	// It does not hide what comes.
	const stream = await listen(replicas[1], { session, last: '0_999999999999999999' });
	assert.equal(stream.status, 200);
	await announce(replicas[0], session, 'tools');
	await until(() => stream.events.length, 'a change');
	stream.close();
});

test('events are bounded in the engine, and expire', async () => {
	const keys = [...(await engine.command('KEYS', '*')).matchAll(/^faultwire:\S+/gm)].map((match) => match[0]);
	for (const kind of ['events', 'stream', 'changes', 'notices', 'number', 'alive']) assert.ok(keys.some((key) => key.startsWith(`faultwire:streams:${kind}`)), `${kind}: ${keys.join(' ')}`);
	for (const key of keys) assert.match(await engine.command('PTTL', key), /^:[1-9]/, key);
	const file = place.file('steps-3');
	const session = await begin(replicas[0]);
	writeFileSync(file, 'x\n'.repeat(400));
	const stream = await listen(replicas[0], { session, body: { ...call(file, 400) } });
	await until(() => stream.isOver, 'all steps');
	const key = (await engine.command('KEYS', `*events:*:${stream.last.split('_')[0]}`)).match(/^faultwire:\S+/gm);
	for (const one of key) assert.ok(Number((await engine.command('XLEN', one)).slice(1)) <= 256);
});

// The address of the engine behind a slow link: what is sent to it arrives 100 ms later.
async function slowLink() {
	const server = createServer((near) => {
		const far = connect(engine.port, '127.0.0.1');
		near.on('data', (bytes) => setTimeout(() => far.write(bytes), 100));
		far.pipe(near);
		for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => {}).on('close', () => other.destroy());
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return { url: `redis://127.0.0.1:${server.address().port}/0`, close: () => server.close() };
}

test('subscriptions of one client at several replicas are all kept, also with a slow link to the engine', async (t) => {
	const link = await slowLink();
	t.after(() => link.close());
	const slow = await startGate(link.url);
	t.after(() => slow.child.kill('SIGKILL'));
	await until(() => isUp(slow), 'the slow replica');
	const session = await begin(slow);
	const wanted = ['kept://1', 'kept://2', 'kept://3', 'kept://4']; // no other session has them
	for (const [i, uri] of wanted.entries()) assert.equal((await legacy(i % 2 ? replicas[1] : slow, session, 'resources/subscribe', { uri })).status, 200);
	assert.equal((await legacy(slow, session, 'logging/setLevel', { level: 'error' })).status, 200);
	assert.equal((await legacy(replicas[1], session, 'resources/unsubscribe', { uri: wanted[0] })).status, 200);
	const states = [];
	for (const [key] of (await engine.command('KEYS', '*:session:*')).matchAll(/^faultwire:\S+/gm)) states.push(await engine.command('GET', key));
	const found = states.find((state) => wanted.slice(1).every((uri) => state.includes(uri)));
	assert.ok(found, states.join('\n'));
	assert.ok(!found.includes(wanted[0]) && found.includes('"initialized":true') && found.includes('"level":4'), found);
});

test('without the engine changes are those of one replica, and are announced afterwards', async () => {
	const session = await begin(replicas[0]);
	const near = await listen(replicas[0], { session });
	const far = await listen(replicas[1], { session: await begin(replicas[1]) });
	await engine.stop();
	for (const server of replicas) await until(() => isAway(server), 'the engine is away');
	await announce(replicas[0], session, 'prompts');
	const heard = (stream) => stream.events.filter((event) => event.method === 'notifications/prompts/list_changed').length;
	await until(() => heard(near) === 1, 'the change, here');
	assert.equal(heard(far), 0);
	await engine.start();
	await until(() => heard(far) === 1, 'the change, there');
	near.close();
	far.close();
	for (const server of replicas) assert.equal(await server.stop(), 0, server.said);
});
