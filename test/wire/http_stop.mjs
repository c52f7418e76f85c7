// SIGTERM with requests in progress: each gets exactly one answer, and the server
// ends by itself, soon, with status 0.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Wire, call, legacyCall, listen, pause, request, serve, session } from './lib/http.mjs';

test('SIGTERM right after the URL was printed ends it in order', async () => {
	for (let round = 0; round < 20; round++) {
		const child = spawn(process.env.FAULTWIRE, ['serve', '--http', '127.0.0.1:0', '--tools', 'diag', '--audit', 'off', '--incidents', 'off'], { stdio: ['ignore', 'ignore', 'pipe'] });

		child.stderr.on('data', (text) => String(text).includes('listening') && child.kill('SIGTERM'));
		const [status, signal] = await once(child, 'exit');
		assert.deepEqual([status, signal], [0, null], `round ${round}`);
	}
});

test('idle connections do not keep it', async () => {
	const server = await serve();
	const wire = new Wire(server.port);
	const half = new Wire(server.port);

	await wire.send(call('echo', { text: 'a' })).response();
	half.send('POST /mcp HTTP/1.1\r\nHost:');
	await pause(50);
	const begun = Date.now();
	assert.equal(await server.stop(), 0);
	assert.ok(Date.now() - begun < 1000);
	await wire.end();
	await half.end();
});

test('a call in progress is finished', async () => {
	const server = await serve();
	const wires = ['slow', 'later'].map((tool) => new Wire(server.port).send(call(tool, { ms: 500 })));

	await pause(150);
	const ended = server.stop();
	for (const wire of wires) {
		const reply = await wire.response();
		assert.equal(reply.status, 200);
		assert.match(reply.json.result.content[0].text, /slept|later/);
		assert.equal(reply.headers.connection, 'close');
		await wire.end();
	}
	assert.equal(await ended, 0);
});

test('a call that takes too long is answered', { timeout: 30000 }, async () => {
	const server = await serve();
	const headers = await session(server);
	const wires = [call('slow', { ms: 20000 }), call('later', { ms: 20000 }), legacyCall(headers, 'slow', { ms: 20000 })]
		.map((bytes) => new Wire(server.port).send(bytes));

	await pause(150);
	const begun = Date.now();
	const ended = server.stop();
	for (const wire of wires) {
		const reply = await wire.response();
		assert.match(reply.body, /server\.shutting_down/);
		assert.equal(reply.json.id, 1);
	}
	assert.equal(await ended, 0);
	assert.ok(Date.now() - begun < 5000);
});

test('streams are ended, not torn', async () => {
	const server = await serve();
	const headers = await session(server);
	const stream = new Wire(server.port).send(request('GET', { Accept: 'text/event-stream', ...headers }));
	const listener = new Wire(server.port).send(listen({ toolsListChanged: true }));

	await stream.head();
	await listener.head();
	await listener.event();
	const ended = server.stop();
	assert.equal(await stream.event(), undefined);
	while (await listener.event());
	assert.equal(await ended, 0);
});

test('nothing new is taken in', async () => {
	const server = await serve();
	const busy = new Wire(server.port).send(call('slow', { ms: 700 }));
	const kept = new Wire(server.port);

	await kept.send(call('echo', { text: 'a' })).response();
	await pause(150);
	const ended = server.stop();
	await pause(100);
	const refused = new Wire(server.port);
	await refused.end(2000);
	assert.equal(refused.text.length, 0);
	const reply = await kept.send(call('echo', { text: 'b' })).response();
	assert.match(reply.body, /server\.shutting_down/);
	assert.equal((await busy.response()).status, 200);
	assert.equal(await ended, 0);
});

test('a client that does not read does not keep it', { timeout: 20000 }, async () => {
	const server = await serve();
	const wire = new Wire(server.port);

	wire.socket.pause();
	for (let i = 0; i < 6; i++) wire.send(call('echo', { text: 'x'.repeat(3 * 1024 * 1024) }));
	await pause(300);
	const begun = Date.now();
	assert.equal(await server.stop(), 0);
	assert.ok(Date.now() - begun < 5000);
	wire.close();
});
