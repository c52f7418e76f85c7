// HTTP requests that are refused, and how: status, body, and what becomes of the
// connection.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wire, ask, call, codeOf, legacyCall, pause, post, request, serve, session } from './lib/http.mjs';
import { serveTwo } from './lib/two_servers.mjs';

const { server, guarded } = await serveTwo();

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const echo = call('echo', { text: 'hello' });

async function echoes(wire) {
	const reply = await wire.send(echo).response();

	assert.equal(reply.status, 200);
	assert.equal(reply.json.result.content[0].text, 'hello');
}

// Each of these is refused by its headers, gets an error as JSON-RPC, and leaves a
// connection that can be used again.
for (const [what, bytes, status, code] of [
	['Accept without text/event-stream', request('POST', { Accept: 'application/json' }, ping), 406, 'protocol.not_acceptable'],
	['Accept without application/json', request('POST', { Accept: 'text/event-stream' }, ping), 406, 'protocol.not_acceptable'],
	['Accept with a weight of nought', request('POST', { Accept: 'application/json, text/event-stream;q=0' }, ping), 406, 'protocol.not_acceptable'],
	['GET that takes no events', request('GET', { Accept: 'application/json' }), 406, 'protocol.not_acceptable'],
	['another Content-Type', request('POST', { 'Content-Type': 'text/plain' }, ping), 415, 'protocol.unsupported_media_type'],
	['no Content-Type', request('POST', { 'Content-Type': null }, ping), 415, 'protocol.unsupported_media_type'],
	['another charset', request('POST', { 'Content-Type': 'application/json; charset=utf-16' }, ping), 415, 'protocol.unsupported_media_type'],
	['PUT', request('PUT', {}, ping), 405, 'protocol.http_method_not_allowed'],
	['PATCH', request('PATCH', {}, ping), 405, 'protocol.http_method_not_allowed'],
	['OPTIONS', request('OPTIONS', {}), 405, 'protocol.http_method_not_allowed'],
	['a Host that is not of this machine', request('POST', { Host: 'evil.example' }, ping), 403, 'auth.origin_not_allowed'],
	['a Host that begins like one', request('POST', { Host: 'localhost.evil.example' }, ping), 403, 'auth.origin_not_allowed'],
	['a Host with a user in it', request('POST', { Host: 'localhost@evil.example' }, ping), 403, 'auth.origin_not_allowed'],
	['an Origin that is not of this machine', request('POST', { Origin: 'https://evil.example' }, ping), 403, 'auth.origin_not_allowed'],
	['an Origin of null', request('POST', { Origin: 'null' }, ping), 403, 'auth.origin_not_allowed'],
	['two Origins', request('POST', { Origin: ['http://localhost', 'http://evil.example'] }, ping), 403, 'auth.origin_not_allowed'],
	['a GET from elsewhere', request('GET', { Origin: 'https://evil.example' }), 403, 'auth.origin_not_allowed'],
	['a body beyond the limit', request('POST', {}, 'x'.repeat(4 * 1024 * 1024 + 1)), 413, 'input.too_large'],
])
	test(`refused: ${what}`, async () => {
		const wire = new Wire(server.port);
		const reply = await wire.send(bytes).response();

		assert.equal(reply.status, status);
		assert.equal(reply.headers['content-type'], 'application/json');
		assert.equal(codeOf(reply), code);
		assert.equal('id' in reply.json, false);
		if (status === 405) assert.equal(reply.headers.allow, 'GET, POST, DELETE');
		await echoes(wire);
		wire.close();
	});

// Two readers might not see the same request: the connection ends.
for (const [what, headers] of [
	['two Hosts', { Host: ['localhost', 'evil.example'] }],
	['two lengths', { 'Content-Length': [ping.length, 5] }],
	['a length and a coding', { 'Transfer-Encoding': 'chunked' }],
	['no Host', { Host: null }],
	['a blank before the colon', { 'X-Test ': 'a' }],
])
	test(`ambiguous: ${what}`, async () => {
		const wire = new Wire(server.port);
		const { status } = await wire.send(request('POST', headers, ping)).head();

		assert.equal(status, 400);
		await wire.end();
	});

test('loopback names are right, with any port and in any case', async () => {
	for (const host of ['127.0.0.1', '127.0.0.1:1', 'LOCALHOST', 'localhost:65535', '[::1]', '[::1]:80'])
		for (const origin of [null, 'http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:5173']) {
			const reply = await ask(server, request('POST', { Host: host, Origin: origin }, '{}'));
			assert.notEqual(reply.status, 403, `${host} ${origin}`);
		}
});

test('the endpoint is one path', async () => {
	for (const path of ['/mcp/', '/MCP', '/mcpx', '/other'])
		assert.equal((await ask(server, request('POST', {}, ping, path))).status, 404, path);
});

test('health and readiness need no token; health needs no name, /readyz checks Host', async () => {
	for (const which of [server, guarded]) {
		const health = await ask(which, request('GET', { Host: '10.1.2.3', Accept: null }, undefined, '/healthz'));
		assert.deepEqual([health.status, health.body], [200, 'ok\n']);
		const ready = await ask(which, request('GET', { Accept: null }, undefined, '/readyz'));
		assert.deepEqual([ready.status, ready.body.split('\n')[0]], [200, 'ready']);
		const elsewhere = await ask(which, request('GET', { Host: 'rebound.example', Accept: null }, undefined, '/readyz'));
		assert.equal(elsewhere.status, 403);
	}
});

test('a token that is missing or wrong', async () => {
	for (const authorization of [null, 'Bearer', 'Bearer open-sesam', 'Bearer open-sesame2', 'Bearer Open-Sesame', 'Basic open-sesame', 'open-sesame']) {
		const reply = await ask(guarded, request('POST', { Authorization: authorization }, ping));
		assert.equal(reply.status, 401, authorization);
		assert.match(reply.headers['www-authenticate'], /^Bearer/);
		assert.equal(codeOf(reply), 'auth.unauthorized');
		assert.equal(reply.body.includes('open-sesame'), false);
	}
	for (const authorization of ['Bearer open-sesame', 'bearer  open-sesame '])
		assert.notEqual((await ask(guarded, request('POST', { Authorization: authorization }, ping))).status, 401);
	const early = await ask(guarded, request('GET', {}));
	assert.equal(early.status, 401);
});

test('a body that is not JSON, or not UTF-8', async () => {
	for (const body of ['', '{', 'hello', '{"a":1}{', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xe9"}', 'latin1')]) {
		const reply = await ask(server, post(body));
		assert.equal(reply.status, 400);
		assert.equal(reply.json.error.code, -32700);
		assert.equal('id' in reply.json, false);
	}
	const reply = await ask(server, post('{}'));
	assert.equal(reply.status, 400);
	assert.equal(reply.json.error.code, -32600);
});

test('a body in chunks, and one that comes byte by byte', async () => {
	const wire = new Wire(server.port);
	const text = echo.toString('latin1');
	const [head, body] = text.split('\r\n\r\n');

	wire.send(`${head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')}\r\n\r\n`);
	wire.send(`5\r\n${body.slice(0, 5)}\r\n`);
	await pause(20);
	wire.send(`${(body.length - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`);
	assert.equal((await wire.response()).status, 200);
	for (const byte of text) {
		wire.send(byte);
		if (Math.random() < 0.05) await pause(1);
	}
	assert.equal((await wire.response()).json.result.content[0].text, 'hello');
	wire.close();
});

test('a large body and a large answer', async () => {
	const text = 'ä€𝄞'.repeat(200000);
	const reply = await ask(server, call('echo', { text }));

	assert.equal(reply.status, 200);
	assert.equal(reply.json.result.content[0].text, text);
});

test('a body announced beyond reason is refused before it is sent', async () => {
	const wire = new Wire(server.port);
	const reply = await wire.send(request('POST', { 'Content-Length': 10 ** 12 }, '{}')).response();

	assert.equal(reply.status, 413);
	await wire.end();
});

test('a client that waits for leave to send gets it, or the refusal', async () => {
	const wire = new Wire(server.port);
	const [head, body] = echo.toString('latin1').split('\r\n\r\n');

	wire.send(`${head}\r\nExpect: 100-continue\r\n\r\n`);
	assert.equal((await wire.head()).status, 100);
	assert.equal((await wire.send(body).response()).status, 200);
	wire.send(request('POST', { Expect: '100-continue', 'Content-Type': 'text/plain', 'Content-Length': 9 }));
	assert.equal((await wire.response()).status, 415);
	await wire.end();
});

test('pipelined requests are answered in order', async () => {
	const wire = new Wire(server.port);
	const ids = [...Array(50).keys()];

	wire.send(Buffer.concat(ids.map((id) => call(id === 10 ? 'later' : 'echo', { text: 'a', ms: 30 }, {}, id))));
	for (const id of ids) assert.equal((await wire.response()).json.id, id);
	wire.close();
});

test('a kept connection serves both eras, and sessions of others', async () => {
	const [one, two] = [await session(server), await session(server, '2025-06-18')];
	const wire = new Wire(server.port);

	for (const bytes of [echo, legacyCall(one, 'echo', { text: 'hello' }), legacyCall(two, 'echo', { text: 'hello' }), echo]) {
		const reply = await wire.send(bytes).response();
		assert.equal(reply.json.result.content[0].text, 'hello');
	}
	wire.close();
});

test('too many headers, or too large ones', async () => {
	const many = Object.fromEntries([...Array(140).keys()].map((i) => [`X-${i}`, 'y']));
	assert.equal((await ask(server, request('POST', many, ping))).status, 400);
	const wire = new Wire(server.port);
	assert.equal((await wire.send(request('POST', { X: 'y'.repeat(100000) }, ping)).head()).status, 431);
	wire.close();
});

test('headers that do not come to an end are cut off', { timeout: 30000 }, async () => {
	const short = await serve('--limit', 'http_head_ms=1000');
	const wire = new Wire(short.port);
	const begun = Date.now();

	wire.send('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
	const timer = setInterval(() => wire.send('X: y\r\n'), 100);
	await wire.end(20000);
	clearInterval(timer);
	assert.ok(Date.now() - begun > 800);
	await echoes(new Wire(short.port));
	await short.stop();
});

test('five hundred and more connections', { timeout: 60000 }, async () => {
	const wires = [...Array(600).keys()].map(() => new Wire(server.port));
	const first = wires.slice(0, 500);

	await Promise.all(first.map(echoes));
	for (const wire of first) wire.close();
	// The others were let in later, or were closed; nobody is left waiting.
	await Promise.all(wires.slice(500).map((wire) => echoes(wire).catch(() => wire.end())));
	for (const wire of wires) wire.close();
	await echoes(new Wire(server.port));
});
