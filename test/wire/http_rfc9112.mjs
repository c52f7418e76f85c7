// What RFC 9110 and RFC 9112 require of an HTTP/1.1 origin server, one test for each
// requirement that can be seen from outside. There is no public conformance suite for
// HTTP/1.1 servers that can be installed by name (docs/internals.md says what there
// is), so this table is made from the documents: each row cites its section.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from './lib/http.mjs';
import { serveTwo } from './lib/two_servers.mjs';
import { codeOf, readResponses, talk } from './lib/raw.mjs';

const { server, guarded } = await serveTwo();

const echo = (text = 'hello', id = 1) => call('echo', { text }, {}, id).toString('latin1');
const get = (target = '/healthz', ...lines) => [`GET ${target} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n');
const edit = (text, from, to) => {
	assert.ok(text.includes(from));
	return text.replace(from, () => to);
};
const withLine = (line, text = echo()) => edit(text, '\r\n\r\n', `\r\n${line}\r\n\r\n`);
const chunked = (tail = '', extension = '', text = echo()) => {
	const [head, body] = text.split('\r\n\r\n');
	return `${head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')}\r\n\r\n${body.length.toString(16)}${extension}\r\n${body}\r\n0\r\n${tail}\r\n`;
};

// Sends `text` and reads `count` responses, or all until the connection closes.
async function exchange(text, count = undefined, { heads = [], to = server } = {}) {
	const found = await talk(to.port, Buffer.from(text, 'latin1'), { done: count && ((bytes) => readResponses(bytes, heads).list.length >= count) });
	const read = readResponses(found.bytes, heads);
	assert.equal(read.fault, undefined);
	assert.ok(!found.isLate, `the connection stays open, ${read.list.length} responses`);
	return { ...read, hasEnded: found.hasEnded };
}

async function refused(text, ...statuses) {
	const { list, rest } = await exchange(text);
	assert.equal(list.length, 1);
	assert.ok(statuses.includes(list[0].status), `status ${list[0].status}`);
	assert.ok(codeOf(list[0]), `an error of ours: ${list[0].body.slice(0, 200)}`);
	assert.equal(list[0].headers.connection?.toLowerCase(), 'close');
	assert.equal(rest.length, 0);
}

// Answered like a plain echo, and so is the request behind it.
async function accepted(text, first = 'hello') {
	const { list } = await exchange(text + echo('second', 2), 2);
	assert.deepEqual(list.map(({ status, json }) => [status, json?.result?.content[0].text]), [[200, first], [200, 'second']]);
	return list[0];
}

const rows = [
	// ---- RFC 9112, message format
	['9112 2.2', 'an empty line before the request line is ignored', () => accepted(`\r\n${echo()}`)],
	['9112 2.2', 'whitespace between the request line and the first header is refused', () => refused(edit(echo(), '\r\nHost', '\r\n Host'), 400)],
	['9112 2.2', 'a bare CR is not taken for a line end', () => refused(withLine('X: a\rb'), 400)],
	['9112 2.3', 'the version is case-sensitive', () => refused(edit(echo(), 'HTTP/1.1', 'http/1.1'), 400, 505)],
	['9110 2.5', 'a major version that is not supported is refused', () => refused(edit(echo(), 'HTTP/1.1', 'HTTP/3.0'), 400, 505)],
	['9110 2.5', 'the response to HTTP/1.0 is of version 1.1 and ends the connection', async () => {
		const { list } = await exchange(edit(echo(), 'HTTP/1.1', 'HTTP/1.0'));
		assert.equal(list[0].status, 200);
	}],
	['9112 3', 'a request line that is not valid is answered by 400', () => refused('GET  /healthz  HTTP/1.1\r\nHost: localhost\r\n\r\n', 400)],
	['9112 3', 'a target longer than the server parses is answered by 414', () => refused(get(`/${'x'.repeat(20000)}`), 414)],
	['9112 3', 'a method longer than any is refused', () => refused(edit(get(), 'GET', 'X'.repeat(100)), 400, 405, 501)],
	['9112 3.2', 'HTTP/1.1 without Host is answered by 400', () => refused(edit(echo(), 'Host: localhost\r\n', ''), 400)],
	['9112 3.2', 'and so is a page without Host', () => refused('GET /healthz HTTP/1.1\r\n\r\n', 400)],
	['9112 3.2', 'two Hosts are answered by 400', () => refused(withLine('Host: localhost'), 400)],
	['9112 3.2', 'a Host that is not valid is refused', async () => {
		for (const host of ['a b', 'a/b', 'a, b', 'a@b', '[::1']) {
			const { list } = await exchange(edit(echo(), 'localhost', host), 1);
			assert.ok([400, 403].includes(list[0].status), `${host}: ${list[0].status}`);
		}
	}],
	['9112 3.2.2', 'the absolute form is accepted', () => accepted(edit(echo(), '/mcp', 'http://localhost/mcp'))],
	['9112 3.2.2', 'its host counts, and not the Host header', async () => {
		const { list } = await exchange(edit(echo(), '/mcp', 'http://evil.example/mcp'), 1);
		assert.ok([400, 403, 404, 421].includes(list[0].status), `status ${list[0].status}`);
	}],
	['9112 3.2.4', 'OPTIONS * is answered', async () => {
		const { list } = await exchange('OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n', 1);
		assert.ok([200, 204, 404, 405].includes(list[0].status), `status ${list[0].status}`);
	}],
	['9112 5.1', 'whitespace before the colon is answered by 400', () => refused(withLine('X : y'), 400)],
	['9112 5.1', 'and so is a tab', () => refused(withLine('X\t: y'), 400)],
	['9110 5.5', 'whitespace around a value is no part of it', () => accepted(edit(echo(), 'Mcp-Name: echo', 'Mcp-Name: \t echo \t '))],
	['9110 5.1', 'names are case-insensitive', () => accepted(edit(edit(echo(), 'Content-Length', 'cONTENT-lENGTH'), 'Host', 'HOST'))],
	['9112 5.2', 'a folded value is refused', () => refused(withLine('X: a\r\n b'), 400)],
	['9110 5.4', 'headers larger than the server takes are answered by 4xx', () => refused(withLine(`X: ${'y'.repeat(20000)}`), 431)],
	['9110 5.5', 'CR, LF and NUL in a value are refused', async () => {
		for (const byte of ['\0', '\r', '\n']) await refused(withLine(`X: a${byte}b`), 400);
	}],
	['9110 5.6.2', 'a name that is no token is refused', () => refused(withLine('X(y): z'), 400)],

	// ---- RFC 9112, bodies
	['9112 6.1', 'a transfer coding that is not understood is answered by 501 or 400', () => refused(edit(chunked(), 'chunked', 'gzip, chunked'), 400, 501)],
	['9112 6.1', 'chunked is applied once', () => refused(edit(chunked(), 'chunked', 'chunked, chunked'), 400, 501)],
	['9112 6.1', 'Transfer-Encoding in HTTP/1.0 ends the connection', async () => {
		const { list } = await exchange(edit(edit(chunked(), 'HTTP/1.1', 'HTTP/1.0'), '\r\n\r\n', '\r\nConnection: keep-alive\r\n\r\n') + echo());
		assert.equal(list.length, 1);
	}],
	['9112 6.1', 'a response to HTTP/1.0 has no Transfer-Encoding', async () => {
		const { list } = await exchange(edit(get('/readyz'), 'HTTP/1.1', 'HTTP/1.0'));
		assert.deepEqual([list[0].status, list[0].headers['transfer-encoding']], [200, undefined]);
	}],
	['9112 6.3', 'a length beside a coding is refused', () => refused(withLine('Content-Length: 4', chunked()), 400)],
	['9112 6.3', 'a coding that does not end with chunked is answered by 400', () => refused(edit(chunked(), 'chunked', 'chunked, gzip'), 400, 501)],
	['9112 6.3', 'a length that is not valid is answered by 400 and ends the connection', async () => {
		for (const length of ['x', '-1', '+1', '1.0', '1,2', '']) await refused(echo().replace(/Content-Length: \d+/, `Content-Length: ${length}`), 400);
	}],
	['9112 6.3', 'a request with neither length nor coding has no body', async () => {
		const { list } = await exchange(get() + get(), 2);
		assert.deepEqual(list.map(({ status }) => status), [200, 200]);
	}],
	['9110 9.3.1', 'the body of a GET does not become a request', async () => {
		const { list } = await exchange(`${get('/healthz', 'Content-Length: 18')}GET / HTTP/1.1\r\n\r\n${get()}`, 2);
		assert.deepEqual(list.map(({ status }) => status), [200, 200]);
	}],
	['9112 7.1', 'a body in chunks is read', () => accepted(chunked())],
	['9112 7.1', 'sizes are hexadecimal in either case', () => accepted(chunked().replace(/\r\n([0-9a-f]+)\r\n/, (line) => line.toUpperCase()))],
	['9112 7.1', 'a size that does not fit is refused', () => refused(chunked().replace(/\r\n[0-9a-f]+\r\n/, '\r\nfffffffffffffffff\r\n'), 400, 413)],
	['9112 7.1.1', 'chunk extensions are ignored', () => accepted(chunked('', ';a;b=c;d="e f"'))],
	['9110 6.5.1', 'trailers are not merged into the headers', () => accepted(chunked('Content-Type: text/plain\r\nMcp-Name: other\r\n'))],

	// ---- RFC 9112, connections
	['9112 8', 'an incomplete request is not executed', async () => {
		const found = await talk(server.port, Buffer.from(echo().slice(0, -5), 'latin1'), { fin: true });
		assert.ok(readResponses(found.bytes).list.every(({ status }) => status >= 400));
	}],
	['9112 8', 'nor is one whose last chunk is missing', async () => {
		const found = await talk(server.port, Buffer.from(chunked().slice(0, -5), 'latin1'), { fin: true });
		assert.ok(readResponses(found.bytes).list.every(({ status }) => status >= 400));
	}],
	['9112 9.3', 'HTTP/1.1 connections persist', async () => assert.equal((await accepted(echo())).headers.connection, undefined)],
	['9112 9.3', 'HTTP/1.0 connections persist if both say so', async () => {
		const { list, hasEnded } = await exchange(withLine('Connection: keep-alive', edit(echo(), 'HTTP/1.1', 'HTTP/1.0')), 1);
		assert.ok(hasEnded || list[0].headers.connection?.toLowerCase() === 'keep-alive' || list[0].headers.connection?.toLowerCase() === 'close');
	}],
	['9112 9.3.2', 'pipelined requests are answered in their order', async () => {
		const ids = [...Array(20).keys()];
		const { list } = await exchange(ids.map((id) => echo(`text ${id}`, id)).join(''), ids.length);
		assert.deepEqual(list.map(({ json }) => json.id), ids);
	}],
	['9112 9.6', 'after Connection: close nothing else is answered', async () => {
		const { list, rest } = await exchange(withLine('Connection: close') + echo('second', 2));
		assert.deepEqual([list.length, list[0].headers.connection?.toLowerCase(), rest.length], [1, 'close', 0]);
	}],
	['9112 9.6', 'a client that closes its half still gets its answer', async () => {
		const found = await talk(server.port, Buffer.from(echo(), 'latin1'), { fin: true });
		assert.deepEqual(readResponses(found.bytes).list.map(({ status }) => status), [200]);
	}],
	['9112 9.6', 'a refusal is not lost in a reset while the client still sends', async () => {
		const found = await talk(server.port, [Buffer.from('GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n'), ...Array.from({ length: 20 }, () => Buffer.alloc(5000, 'x'))]);
		const { list } = readResponses(found.bytes);
		assert.ok(list.length === 1 && [400, 505].includes(list[0].status), `${list.length} responses`);
	}],

	// ---- RFC 9110
	['9110 6.6.1', 'answers have a Date, as an IMF-fixdate (5.6.7)', async () => {
		for (const text of [echo(), get(), get('/nothing'), withLine('X : y'), edit(get(), 'HTTP/1.1', 'HTTP/7.7')]) {
			const { list } = await exchange(text, 1);
			const { date } = list[0].headers;
			assert.match(date ?? 'none', /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/);
			assert.ok(Math.abs(Date.parse(date) - Date.now()) < 60000 && new Date(date).toUTCString() === date, date);
		}
	}],
	['9110 7.8', 'an Upgrade that is not supported is ignored', async () => {
		const { list } = await exchange(get('/healthz', 'Connection: Upgrade', 'Upgrade: h2c'), 1);
		assert.equal(list[0].status, 200);
	}],
	['9110 7.8', 'and the connection goes on after it', () => accepted(withLine('Connection: Upgrade\r\nUpgrade: websocket'))],
	['9110 8.6', '204 and 1xx have no Content-Length (checked on every response)', async () => {
		const { interim } = await exchange(withLine('Expect: 100-continue'), 1);
		assert.ok(interim <= 1);
	}],
	['9110 9.1', 'GET and HEAD are supported', async () => {
		const { list } = await exchange(get() + edit(get(), 'GET', 'HEAD') + get(), 3, { heads: [false, true, false] });
		assert.deepEqual(list.map(({ status, body }) => [status, body]), [[200, 'ok\n'], [200, ''], [200, 'ok\n']]);
	}],
	['9110 9.3.2', 'HEAD has the headers of GET and no content', async () => {
		const { list } = await exchange(get() + edit(get(), 'GET', 'HEAD'), 2, { heads: [false, true] });
		const [a, b] = list.map(({ headers }) => ({ ...headers, date: 0 }));
		assert.deepEqual(a, b);
	}],
	['9110 9.3.2', 'an error for HEAD has no content either', async () => {
		for (const target of ['/nothing', '/mcp']) {
			const { list } = await exchange(edit(get(target), 'GET', 'HEAD') + get(), 2, { heads: [true] });
			assert.deepEqual(list.map(({ status }) => status >= 400), [true, false], target);
		}
	}],
	['9110 9.3.2', 'nor has the refusal of a HEAD that is malformed', async () => {
		for (const text of [edit(edit(get(), 'GET', 'HEAD'), 'HTTP/1.1', 'HTTP/2.0'), edit(get('/healthz', 'X : y'), 'GET', 'HEAD'), edit(get('/healthz', 'Host: b'), 'GET', 'HEAD')]) {
			const { list, rest } = await exchange(text, undefined, { heads: [true] });
			assert.deepEqual([list.length, list[0].status >= 400, rest.length], [1, true, 0]);
		}
	}],
	['9110 9.1', 'methods are case-sensitive', async () => {
		const { list } = await exchange(edit(get(), 'GET', 'get'), 1);
		assert.ok([400, 405, 501].includes(list[0].status));
	}],
	['9110 10.1.1', 'Expect: 100-continue is answered before the body comes', async () => {
		const [head, body] = withLine('Expect: 100-continue').split(/(?<=\r\n\r\n)/);
		const found = await talk(server.port, Buffer.from(head, 'latin1'), { done: (bytes) => bytes.includes('\r\n\r\n') });
		assert.ok(body && found.bytes.toString('latin1').startsWith('HTTP/1.1 100 '));
	}],
	['9110 10.1.1', 'or by a refusal', async () => {
		const [head] = withLine('Expect: 100-continue', edit(echo(), 'Content-Type: application/json', 'Content-Type: text/plain')).split(/(?<=\r\n\r\n)/);
		const { list, interim } = await exchange(head, 1);
		assert.deepEqual([interim, list[0].status], [0, 415]);
	}],
	['9110 15.2', 'an HTTP/1.0 client gets no 1xx', async () => {
		const { interim, list } = await exchange(edit(withLine('Expect: 100-continue'), 'HTTP/1.1', 'HTTP/1.0'));
		assert.deepEqual([interim, list.length, list[0].status], [0, 1, 200]);
	}],
	['9110 10.2.1', '405 says what is allowed', async () => {
		for (const [target, method] of [['/mcp', 'PUT'], ['/healthz', 'DELETE']]) {
			const { list } = await exchange(edit(get(target), 'GET', method), 1);
			assert.deepEqual([list[0].status, /GET/.test(list[0].headers.allow)], [405, true]);
		}
	}],
	['9110 11.6.1', '401 has a challenge', async () => {
		const { list } = await exchange(echo(), 1, { to: guarded });
		assert.equal(list[0].status, 401);
		assert.match(list[0].headers['www-authenticate'], /^Bearer/);
	}],
	['9110 11.6.2', 'the scheme of Authorization is case-insensitive', async () => {
		const { list } = await exchange(withLine('Authorization: BEARER open-sesame'), 1, { to: guarded });
		assert.equal(list[0].status, 200);
	}],
	['9110 15.5.14', 'a body beyond the limit is answered by 413', async () => {
		const { list } = await exchange(echo().replace(/Content-Length: \d+/, 'Content-Length: 999999999'), 1);
		assert.equal(list[0].status, 413);
	}],
];

for (const [section, what, check] of rows) test(`RFC ${section}: ${what}`, { timeout: 30000 }, check);
