// HTTP that two readers could read differently, by raw bytes: each is one request
// or is refused, in our own words, with one head, and the connection is closed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wire, ask, call, codeOf, pause, post, request } from './lib/http.mjs';
import { serveTwo } from './lib/two_servers.mjs';

const { server, guarded } = await serveTwo();

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const usual = `Host: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n`;
const line = 'POST /mcp HTTP/1.1\r\n';
const length = `Content-Length: ${ping.length}\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';
const second = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

// All that comes until the connection ends.
async function exchange(port, bytes, { half = false } = {}) {
	const wire = new Wire(port);
	wire.send(Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes, 'latin1'));
	if (half) wire.socket.end();
	await wire.end();
	return wire.text.toString('latin1');
}

const heads = (text) => (text.match(/HTTP\/1\.1 \d{3} /g) ?? []).length;

const refused = [
	['Content-Length is folded', `${line}${usual}Content-Length:\r\n ${second.length}\r\n\r\n${second}`, 400],
	['a value is folded', `${line}${usual}X: a\r\n b\r\n${length}\r\n${ping}`, 400],
	['a fold comes before the first header', `${line} X: a\r\n${usual}${length}\r\n${ping}`, 400],
	['the first line ends in LF', `POST /mcp HTTP/1.1\n${usual}${length}\r\n${ping}`, 400],
	['a header ends in LF', `${line}X: a\n${usual}${length}\r\n${ping}`, 400],
	['the head ends in LF LF', `POST /mcp HTTP/1.1\nHost: localhost\n\n`, 400],
	['a CR is in a value', `${line}X: a\rb\r\n${usual}${length}\r\n${ping}`, 400],
	['a NUL is in a value', `${line}X: a\0b\r\n${usual}${length}\r\n${ping}`, 400],
	['a control byte is in a value', `${line}X: a\x01b\r\n${usual}${length}\r\n${ping}`, 400],
	['DEL is in a value', `${line}X: a\x7fb\r\n${usual}${length}\r\n${ping}`, 400],
	['a NUL is in a name', `${line}X\0: a\r\n${usual}${length}\r\n${ping}`, 400],
	['a blank is before the colon', `${line}Host : localhost\r\n${usual}${length}\r\n${ping}`, 400],
	['a name is empty', `${line}: a\r\n${usual}${length}\r\n${ping}`, 400],
	['a header has no colon', `${line}X\r\n${usual}${length}\r\n${ping}`, 400],
	['there are two lengths, alike', `${line}${usual}${length}${length}\r\n${ping}`, 400],
	['there are two lengths in one', `${line}${usual}Content-Length: ${ping.length}, ${ping.length}\r\n\r\n${ping}`, 400],
	['the length has a sign', `${line}${usual}Content-Length: +${ping.length}\r\n\r\n${ping}`, 400],
	['the length is hexadecimal', `${line}${usual}Content-Length: 0x2d\r\n\r\n${ping}`, 400],
	['the length is beyond 64 bits', `${line}${usual}Content-Length: 99999999999999999999\r\n\r\n${ping}`, 400],
	['the length is empty', `${line}${usual}Content-Length:\r\n\r\n${ping}`, 400],
	['there is a length and a coding', `${line}${usual}${length}${chunked}\r\n0\r\n\r\n${second}`, 400],
	['there is a coding and a length', `${line}${usual}${chunked}${length}\r\n0\r\n\r\n${second}`, 400],
	['there are two codings', `${line}${usual}${chunked}${chunked}\r\n0\r\n\r\n`, 400],
	['the coding is a list', `${line}${usual}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 400],
	['the coding is quoted', `${line}${usual}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`, 400],
	['the coding is not implemented', `${line}${usual}Transfer-Encoding: gzip\r\n\r\n${ping}`, 501],
	['HTTP/1.0 has a coding', `POST /mcp HTTP/1.0\r\n${usual}${chunked}\r\n0\r\n\r\n`, 400],
	['a chunk size is not a number', `${line}${usual}${chunked}\r\nxyz\r\n`, 400],
	['a chunk size is negative', `${line}${usual}${chunked}\r\n-1\r\n`, 400],
	['a chunk size is beyond 64 bits', `${line}${usual}${chunked}\r\nfffffffffffffffff\r\n`, 400],
	['a chunk size is beyond any body', `${line}${usual}${chunked}\r\nffffffffffffffff\r\n`, 413],
	['a chunk is longer than its size', `${line}${usual}${chunked}\r\n2\r\nabcd\r\n0\r\n\r\n`, 400],
	['a chunk size ends in LF', `${line}${usual}${chunked}\r\n2\nab\r\n0\r\n\r\n`, 400],
	['a trailer is folded', `${line}${usual}${chunked}\r\n0\r\nX: a\r\n b\r\n\r\n`, 400],
	['trailers do not end', `${line}${usual}${chunked}\r\n0\r\n${`X: ${'y'.repeat(1000)}\r\n`.repeat(20)}\r\n`, 400],
	['a chunk extension is too long', `${line}${usual}${chunked}\r\n2;${'x'.repeat(20000)}\r\nab\r\n0\r\n\r\n`, 400],
	['the target has two blanks', `POST  /mcp HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has a blank', `POST /m cp HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has a NUL', `POST /mcp%00x HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the query has a NUL', `GET /healthz?a=%00 HTTP/1.1\r\n${usual}\r\n`, 400],
	['the target has half an escape', `POST /mcp%2 HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has an invalid escape', `POST /mcp%zz HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has a newline', `POST /mcp%0a HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has a fragment', `POST /mcp#a HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target has bytes beyond ASCII', `POST /mcp\xe4 HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target names another host', `POST http://evil.example/mcp HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['the target is an authority', `POST localhost:80 HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 400],
	['a version is missing', `GET /healthz\r\n\r\n`, 400],
	['a version is of another protocol', `SOURCE /healthz ICE/1.0\r\nHost: localhost\r\n\r\n`, 400],
	['a version is too old', `GET /healthz HTTP/0.9\r\n${usual}\r\n`, 400],
	['a version is unknown', `GET /healthz HTTP/1.2\r\n${usual}\r\n`, 505],
	['a version is too new', `GET /healthz HTTP/2.0\r\n${usual}\r\n`, 505],
	['it is HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`, 505],
	['the method is unknown', `FROBNICATE /mcp HTTP/1.1\r\n${usual}\r\n`, 501],
	['it is TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
	['it is CONNECT', `CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n${second}`, 405],
	['there is no Host', `${line}${usual.replace(/^Host.*\r\n/, '')}${length}\r\n${ping}`, 400],
	['there are two Hosts', `${line}Host: localhost\r\n${usual}${length}\r\n${ping}`, 400],
	['there are two media types', `${line}Content-Type: text/plain\r\n${usual}${length}\r\n${ping}`, 400],
	['an expectation is unknown', `${line}Expect: more\r\n${usual}${length}\r\n${ping}`, 400],
	['a bare LF comes first', `\n${line}${usual}${length}\r\n${ping}`, 400],
	['a header is too long', `${line}X: ${'y'.repeat(100000)}\r\n${usual}${length}\r\n${ping}`, 431],
	['the target is too long', `POST /mcp?${'y'.repeat(100000)} HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 414],
	['the target is a little too long', `POST /mcp?${'y'.repeat(9000)} HTTP/1.1\r\n${usual}${length}\r\n${ping}`, 414],
];

for (const [what, bytes, status] of refused)
	test(`refused and closed: ${what}`, async () => {
		const text = await exchange(server.port, bytes);
		const [head, body] = text.split('\r\n\r\n');
		assert.equal(heads(text), 1, text);
		assert.equal(Number(head.split(' ')[1]), status, text);
		assert.match(head, /\r\nConnection: close\r\n/);
		assert.match(head, /\r\nContent-Type: application\/json\r\n/);
		const error = JSON.parse(body).error.data['dev.faultwire/error'];
		assert.ok(error.incident_id && error.code, body);
		assert.doesNotMatch(text, /<html/i);
	});

for (const [what, bytes] of [
	['empty lines come first', `\r\n\r\n${line}${usual}${length}\r\n${ping}`],
	['the length has leading zeros', `${line}${usual}Content-Length: 000${ping.length}\r\n\r\n${ping}`],
	['there are trailers and chunk extensions', `${line}${usual}${chunked}\r\n${ping.length.toString(16)};a=b;c="d"\r\n${ping}\r\n0\r\nX: y\r\n\r\n`],
	['the coding is in capitals', `${line}${usual}Transfer-Encoding: Chunked\r\n\r\n${ping.length.toString(16)}\r\n${ping}\r\n0\r\n\r\n`],
	['an upgrade is declined', `${line}Connection: Upgrade\r\nUpgrade: h2c\r\n${usual}${length}\r\n${ping}`],
	['the target is absolute', `POST http://LOCALHOST/mcp HTTP/1.1\r\n${usual}${length}\r\n${ping}`],
	['the target is escaped', `POST /%6dcp HTTP/1.1\r\n${usual}${length}\r\n${ping}`],
	['values have tabs and bytes beyond ASCII', `${line}X:\ta\tb\xe4\t\r\n${usual}${length}\r\n${ping}`],
])
	test(`one request, and then the next: ${what}`, async () => {
		const wire = new Wire(server.port);
		const reply = await wire.send(Buffer.from(`${bytes}${second}`, 'latin1')).response();
		// It is a ping without a session.
		assert.equal(codeOf(reply), 'session.missing', reply.body);
		assert.equal((await wire.response()).body, 'ok\n');
		assert.equal(wire.text.length, 0);
		wire.close();
	});

test('HTTP/1.0 is answered, and the connection closed', async () => {
	const text = await exchange(server.port, 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n');
	assert.equal(heads(text), 1);
	assert.match(text, /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*\r\n\r\nok\n$/);
});

test('Connection: close is kept to', async () => {
	const text = await exchange(server.port, `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: x, close\r\n\r\n${second}`);
	assert.equal(heads(text), 1);
});

test('two Authorization headers are refused, whichever is right', async () => {
	for (const two of [['Bearer open-sesame', 'Bearer wrong'], ['Bearer wrong', 'Bearer open-sesame'], ['Bearer open-sesame', 'Bearer open-sesame']]) {
		const reply = await ask(guarded, request('POST', { Authorization: two }, ping));
		assert.equal(reply.status, 400);
		assert.equal(codeOf(reply), 'protocol.invalid_request');
	}
});

test('each byte of a malformed head in a packet of its own is refused just the same', async () => {
	const wire = new Wire(server.port);
	for (const byte of `${line}${usual}Content-Length:\r\n 5\r\n\r\n`) {
		wire.send(byte);
		await pause(0);
	}
	await wire.end();
	assert.equal(heads(wire.text.toString('latin1')), 1);
	assert.match(wire.text.toString('latin1'), /^HTTP\/1\.1 400 /);
});

test('a half-closed request gets its answer', async () => {
	for (const [tool, args, found] of [['echo', { text: 'hello' }, 'hello'], ['later', { ms: 100 }, 'later'], ['later', { ms: 1800 }, 'later'], ['fail', {}, 'isError']]) {
		const text = await exchange(server.port, call(tool, args), { half: true });
		assert.equal(heads(text), 1);
		assert.ok(text.includes(found), text);
	}
	assert.match(await exchange(server.port, second.repeat(3), { half: true }), /(ok\n[^]*){3}/);
	assert.match(await exchange(server.port, post('{"jsonrpc"'), { half: true }), /^HTTP\/1\.1 400 /);
	assert.equal(await exchange(server.port, line, { half: true }), '');
});

test('a full close cancels a call of the modern era before it ends', async () => {
	const underWay = async () => Number((await ask(server, request('GET', {}, undefined, '/readyz'))).body.match(/calls: (\d+)/)[1]);
	for (const close of ['destroy', 'resetAndDestroy']) {
		const wire = new Wire(server.port);
		wire.send(call('later', { ms: 60000 }));
		for (let i = 0; i < 50 && (await underWay()) !== 1; i++) await pause(20);
		assert.equal(await underWay(), 1);
		wire.socket[close]();
		for (let i = 0; i < 100 && (await underWay()); i++) await pause(50);
		assert.equal(await underWay(), 0, close);
	}
});

test('a slow reader of a refusal sees it, although it has sent more than was read', async () => {
	const wire = new Wire(server.port);
	wire.socket.pause();
	wire.send(Buffer.concat([Buffer.from(`${line}${usual}Content-Length: 1000000000\r\n\r\n`), Buffer.alloc(3000000, 'x')]));
	await pause(300);
	wire.socket.resume();
	assert.equal((await wire.response()).status, 413);
	await wire.end();
});
