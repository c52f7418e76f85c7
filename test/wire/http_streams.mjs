// Streams of events over HTTP, sessions, and clients that go away.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Wire, ask, call, codeOf, events, legacyCall, listen, pause, post, request, serve, session } from './lib/http.mjs';

let server;
before(async () => {
	server = await serve();
});
after(async () => assert.equal(await server.stop(), 0));

const get = (headers) => request('GET', { Accept: 'text/event-stream', ...headers });
const ping = (headers) => post({ jsonrpc: '2.0', id: 9, method: 'ping' }, headers);

test('an answer is a stream when something comes before it', async () => {
	const headers = await session(server);
	const wire = new Wire(server.port);
	const plain = await wire.send(legacyCall(headers, 'test_tool_with_progress')).response();
	assert.equal(plain.headers['content-type'], 'application/json');

	for (const bytes of [
		legacyCall(headers, 'test_tool_with_progress', {}, { progressToken: 'p' }),
		call('test_tool_with_progress', {}, { progressToken: 'p' }),
	]) {
		const reply = await wire.send(bytes).response();
		assert.equal(reply.status, 200);
		assert.equal(reply.headers['content-type'], 'text/event-stream');
		assert.match(reply.headers['cache-control'], /no-cache/);
		const all = events(reply.body).filter((event) => event.json);
		assert.deepEqual(all.slice(0, -1).map((event) => event.json.params.progress), [0, 50, 100]);
		assert.equal(all.at(-1).json.id, 1);
		assert.ok(all.at(-1).json.result);
		assert.ok(all.every((event) => event.event === 'message'));
	}
	wire.close();
});

test('events come when they happen, not at the end', async () => {
	const wire = new Wire(server.port);
	const begun = Date.now();

	wire.send(call('test_tool_with_progress', {}, { progressToken: 1 }));
	assert.equal((await wire.head()).status, 200);
	assert.equal((await wire.event()).json.params.progress, 0);
	assert.ok(Date.now() - begun < 90);
	while (await wire.event());
	assert.ok(Date.now() - begun >= 95);
	wire.close();
});

test('a stream of a session: opens at once, tells, is replaced by the next', async () => {
	const headers = await session(server);
	const first = new Wire(server.port);
	const head = await first.send(get(headers)).head();
	assert.equal(head.status, 200);
	assert.equal(head.headers['content-type'], 'text/event-stream');
	assert.equal(head.headers['mcp-session-id'], headers['Mcp-Session-Id']);
	await ask(server, legacyCall(headers, 'test_trigger_tool_change'));
	assert.equal((await first.event()).json.method, 'notifications/tools/list_changed');

	const second = new Wire(server.port);
	assert.equal((await second.send(get(headers)).head()).status, 200);
	assert.equal(await first.event(), undefined);
	await ask(server, legacyCall(headers, 'test_trigger_prompt_change'));
	assert.equal((await second.event()).json.method, 'notifications/prompts/list_changed');
	first.close();
	second.close();
});

test('a stream of a session continues after the last event that was seen', async () => {
	const headers = await session(server);
	const first = new Wire(server.port);
	await first.send(get(headers)).head();
	await ask(server, legacyCall(headers, 'test_trigger_tool_change'));
	const seen = await first.event();
	assert.ok(seen.id);
	first.close();
	await pause(50);
	await ask(server, legacyCall(headers, 'test_trigger_prompt_change'));
	const second = new Wire(server.port);
	await second.send(get({ ...headers, 'Last-Event-ID': seen.id })).head();
	assert.equal((await second.event()).json.method, 'notifications/prompts/list_changed');
	second.close();
});

test('the stream of a call continues after it was closed on purpose', async () => {
	const headers = await session(server);
	const wire = new Wire(server.port);
	const broken = await wire.send(legacyCall(headers, 'test_reconnection')).response();
	const [prime] = events(broken.body);
	assert.ok(prime.id);
	assert.equal(prime.data, '');
	assert.equal(broken.body.includes('"result"'), false);
	await wire.send(get({ ...headers, 'Last-Event-ID': prime.id })).head();
	const answer = await wire.event();
	assert.equal(answer.json.id, 1);
	assert.match(answer.json.result.content[0].text, /Reconnection test completed/);
	assert.equal(await wire.event(), undefined);
	wire.close();
});

test('a session ends, and is not found afterwards', async () => {
	const headers = await session(server);
	const stream = new Wire(server.port);
	await stream.send(get(headers)).head();
	assert.equal((await ask(server, ping(headers))).status, 200);
	const gone = await ask(server, request('DELETE', headers));
	assert.deepEqual([gone.status, gone.body], [200, '']);
	assert.equal(await stream.event(), undefined);
	for (const bytes of [ping(headers), get(headers), request('DELETE', headers)]) {
		const reply = await ask(server, bytes);
		assert.equal(reply.status, 404);
		assert.equal(codeOf(reply), 'session.unknown');
	}
	stream.close();
});

test('a session that is not named', async () => {
	for (const bytes of [ping({}), get({}), request('DELETE', {})]) {
		const reply = await ask(server, bytes);
		assert.equal(reply.status, 400);
		assert.equal(codeOf(reply), 'session.missing');
	}
});

test('notifications are taken without a body', async () => {
	const headers = await session(server);
	const reply = await ask(server, post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers));
	assert.deepEqual([reply.status, reply.headers['content-length'], reply.body], [202, '0', '']);
});

test('listeners are notified, each in its own stream', async () => {
	const wires = [...Array(5).keys()].map(() => new Wire(server.port));
	await Promise.all(wires.map(async (wire, i) => {
		await wire.send(listen({ toolsListChanged: true }, `s${i}`)).head();
		assert.equal((await wire.event()).json.method, 'notifications/subscriptions/acknowledged');
	}));
	await ask(server, call('test_trigger_tool_change'));
	for (const [i, wire] of wires.entries()) {
		const { json } = await wire.event();
		assert.equal(json.method, 'notifications/tools/list_changed');
		assert.equal(json.params._meta['io.modelcontextprotocol/subscriptionId'], `s${i}`);
		wire.close();
	}
});

test('a slow call becomes a stream that is kept alive', { timeout: 30000 }, async () => {
	const quick = await serve('--limit', 'http_patience_ms=200', '--limit', 'http_silence_ms=100');
	const wire = new Wire(quick.port);
	const reply = await wire.send(call('later', { ms: 700 })).response();

	assert.equal(reply.headers['content-type'], 'text/event-stream');
	assert.match(reply.body, /^: keepalive\n\n/);
	assert.equal(events(reply.body).at(-1).json.result.content[0].text, 'later');
	wire.close();
	assert.equal(await quick.stop(), 0);
});

test('a cancelled call of a session gets no answer, and its stream ends', async () => {
	const headers = await session(server);
	const wire = new Wire(server.port);

	wire.send(legacyCall(headers, 'slow', { ms: 5000 }, undefined, 'c1'));
	await pause(50);
	const taken = await ask(server, post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c1' } }, headers));
	assert.equal(taken.status, 202);
	const reply = await wire.response();
	assert.deepEqual([reply.status, reply.body], [202, '']);
	wire.close();
});

test('clients that vanish leave nothing behind', { timeout: 60000 }, async () => {
	const headers = await session(server);
	await pause(100);
	const before = server.descriptors();

	for (let round = 0; round < 10; round++) {
		const wires = [...Array(20).keys()].map((i) => {
			const wire = new Wire(server.port);
			if (i % 5 === 0) wire.send(call('slow', { ms: 300 }));
			else if (i % 5 === 1) wire.send(legacyCall(headers, 'later', { ms: 50 }, { progressToken: 1 }, `${round}-${i}`));
			else if (i % 5 === 2) wire.send(listen({ toolsListChanged: true }));
			else if (i % 5 === 3) wire.send(call('echo', { text: 'x'.repeat(100000) }).subarray(0, 50000));
			else wire.send('POST /mcp HT');
			return wire;
		});
		await pause(20);
		for (const [i, wire] of wires.entries())
			if (i % 2) wire.socket.resetAndDestroy();
			else wire.close();
	}
	for (let i = 0; i < 50 && server.descriptors() > before; i++) await pause(100);
	assert.ok(server.descriptors() <= before + 2, `${server.descriptors()} descriptors, ${before} before`);
	const reply = await ask(server, call('echo', { text: 'still here' }));
	assert.equal(reply.json.result.content[0].text, 'still here');
});

test('a client that does not read is not waited for', { timeout: 30000 }, async () => {
	const wire = new Wire(server.port);
	const text = 'x'.repeat(3 * 1024 * 1024);

	wire.socket.pause();
	for (let i = 0; i < 8; i++) wire.send(call('echo', { text }));
	const begun = Date.now();
	const reply = await ask(server, call('echo', { text: 'quick' }));
	assert.equal(reply.json.result.content[0].text, 'quick');
	assert.ok(Date.now() - begun < 2000);
	wire.socket.resume();
	for (let i = 0; i < 8; i++) assert.equal((await wire.response()).status, 200);
	wire.close();
});
