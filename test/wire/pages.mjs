// Pages beside the endpoint, over HTTP, served by examples/pages: methods, parameters,
// bodies, callers, answers that come later, streams of events, files.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { program, request, serveProgram, Wire } from './lib/http.mjs';

const pages = join(program, '../pages');
let server, guarded;

before(async () => {
	server = await serveProgram(pages);
	guarded = await serveProgram(pages, '--token', 'secret-1');
});
after(async () => {
	server.child.kill('SIGKILL');
	guarded.child.kill('SIGKILL');
});

async function ask(method, path, body, headers = {}, to = server) {
	const wire = new Wire(to.port);
	try {
		wire.send(request(method, { Accept: null, ...headers }, body, path));
		const head = await wire.head();
		const bytes = method === 'HEAD' ? '' : await wire.take(Number(head.headers['content-length'] ?? 0));
		return { ...head, body: bytes.toString() };
	} finally {
		wire.close();
	}
}

function problem(reply, status, code) {
	assert.equal(reply.status, status);
	assert.equal(reply.headers['content-type'], 'application/problem+json');
	const found = JSON.parse(reply.body);
	assert.equal(found.code, code);
	assert.match(found.incident_id, /^inc_/);
	return found;
}

async function open(count) {
	for (let i = 0; i < 500; i++) {
		const { body } = await ask('GET', '/open');
		if (Number(body) === count) return;
		await new Promise((done) => setTimeout(done, 20));
	}
	assert.fail(`not ${count} pages open`);
}

test('a note is written, read and deleted', async () => {
	const written = await ask('POST', '/notes/a%20b', 'text');
	assert.deepEqual([written.status, written.body], [201, 'kept for anonymous\n']);
	assert.equal(written.headers.location, '/notes/a b');
	assert.equal((await ask('GET', '/notes/a%20b')).body, 'text');
	assert.equal((await ask('PUT', '/notes/a%20b', '')).status, 201);
	assert.equal((await ask('GET', '/notes/a%20b')).body, '');
	const head = await ask('HEAD', '/notes/a%20b');
	assert.equal(head.status, 200);
	const gone = await ask('DELETE', '/notes/a%20b');
	assert.equal(gone.status, 204);
	assert.equal(gone.headers['content-length'], undefined);
	problem(await ask('GET', '/notes/a%20b'), 404, 'resource.not_found');
});

test('a body may come in chunks and in pieces', async () => {
	const wire = new Wire(server.port);
	wire.send('PUT /notes/piece HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
	wire.send('2\r\nde\r\n0\r\n\r\n');
	assert.equal((await wire.response()).status, 201);
	wire.send('PUT /notes/piece HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n');
	assert.equal((await wire.head()).status, 100);
	wire.send('wxyz');
	assert.equal((await wire.response()).status, 201);
	wire.send(request('GET', {}, undefined, '/notes/piece'));
	assert.equal((await wire.response()).body, 'wxyz');
	wire.close();
});

test('a body beyond the limit of its route is refused', async () => {
	const found = problem(await ask('POST', '/notes/big', 'x'.repeat(1025)), 413, 'input.too_large');
	assert.equal(found.status, 413);
	const wire = new Wire(server.port);
	wire.send(`POST /notes/big HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n500\r\n${'x'.repeat(0x500)}\r\n0\r\n\r\n`);
	assert.equal((await wire.response()).status, 413);
	wire.send(request('GET', {}, undefined, '/healthz'));
	assert.equal((await wire.response()).body, 'ok\n', 'the connection is kept');
	wire.close();
	assert.equal((await ask('POST', '/notes/big', 'x'.repeat(1024))).status, 201);
});

test('a method that a path does not take is 405 with those that it does', async () => {
	const reply = await ask('PATCH', '/notes/x', '{}');
	problem(reply, 405, 'protocol.http_method_not_allowed');
	assert.equal(reply.headers.allow, 'GET, HEAD, POST, PUT, DELETE');
	assert.equal((await ask('POST', '/later', '{}')).headers.allow, 'GET, HEAD');
	problem(await ask('GET', '/notes/'), 404, 'protocol.path_not_found');
	problem(await ask('GET', '/notes/a/b'), 404, 'protocol.path_not_found');
});

test('the token says who is calling; without it a page is refused', async () => {
	const reply = await ask('POST', '/notes/x', 'text', {}, guarded);
	problem(reply, 401, 'auth.unauthorized');
	assert.match(reply.headers['www-authenticate'], /^Bearer/);
	const known = await ask('POST', '/notes/x', 'text', { Authorization: 'Bearer secret-1' }, guarded);
	assert.deepEqual([known.status, known.body], [201, 'kept for token\n']);
	assert.equal((await ask('GET', '/open', undefined, {}, guarded)).status, 200);
});

test('a page of another site is refused before its body is read', async () => {
	problem(await ask('POST', '/notes/x', 'text', { Origin: 'https://evil.example' }), 403, 'auth.origin_not_allowed');
	problem(await ask('POST', '/notes/x', 'text', { Host: 'evil.example' }), 403, 'auth.origin_not_allowed');
});

test('an answer comes later, from another thread, also in a pipeline', async () => {
	const wire = new Wire(server.port);
	const later = request('GET', {}, undefined, '/later');
	wire.send(later + later + request('GET', {}, undefined, '/healthz'));
	assert.equal((await wire.response()).body, 'later\n');
	assert.equal((await wire.response()).body, 'later\n');
	assert.equal((await wire.response()).body, 'ok\n');
	wire.close();
	const broken = await ask('GET', '/broken');
	problem(broken, 503, 'dependency.unavailable');
});

test('a page that never answers is too late', async () => {
	problem(await ask('GET', '/never'), 504, 'runtime.timeout');
	await open(0);
});

test('a page learns that its client has gone', async () => {
	const wires = [];
	for (const path of ['/waiting', '/ticks', '/ticks']) {
		const wire = new Wire(server.port);
		wire.send(request('GET', {}, undefined, path));
		wires.push(wire);
	}
	await wires[1].head();
	await open(3);
	for (const wire of wires) wire.close();
	await open(0);
});

test('a stream has its events, its end and the headers of a page', async () => {
	const wire = new Wire(server.port);
	wire.send(request('POST', {}, '3', '/ticks'));
	const { status, headers } = await wire.head();
	assert.equal(status, 200);
	assert.equal(headers['content-type'], 'text/event-stream');
	assert.equal(headers['x-content-type-options'], 'nosniff');
	for (let n = 1; n <= 3; n++) {
		const event = await wire.event();
		assert.deepEqual([event.event, event.json.n], ['tick', n]);
	}
	assert.equal(await wire.event(), undefined);
	wire.send(request('GET', {}, undefined, '/healthz'));
	assert.equal((await wire.response()).body, 'ok\n', 'the connection is kept');
	wire.close();
});

test('a client that does not read loses its stream, and others do not notice', async () => {
	const small = await serveProgram(pages);
	const wire = new Wire(small.port);
	wire.socket.pause();
	wire.send(request('GET', {}, undefined, '/flood'));
	const wait = async (count) => {
		for (let i = 0; i < 1000; i++) {
			if (Number((await ask('GET', '/open', undefined, {}, small)).body) === count) return;
			await new Promise((done) => setTimeout(done, 10));
		}
		assert.fail(`not ${count} open`);
	};
	await wait(1);
	await wait(0);
	wire.close();
	small.child.kill('SIGTERM');
	assert.equal(await small.ended, 0);
});

test('a stop ends streams and waits for answers', async () => {
	const one = await serveProgram(pages);
	const stream = new Wire(one.port), later = new Wire(one.port), waiting = new Wire(one.port);
	stream.send(request('GET', {}, undefined, '/ticks'));
	await stream.head();
	assert.equal((await stream.event()).event, 'tick');
	waiting.send(request('GET', {}, undefined, '/waiting'));
	later.send(request('GET', {}, undefined, '/later'));
	for (;;) if (Number((await ask('GET', '/open', undefined, {}, one)).body) >= 2) break;
	one.child.kill('SIGTERM');
	const reply = await waiting.response();
	assert.equal(reply.status, 503);
	assert.match(reply.body, /server\.shutting_down/);
	assert.equal((await later.response()).body, 'later\n');
	while (await stream.event());
	assert.equal(await one.ended, 0);
});

test('a file has an entity tag, and a strict policy', async () => {
	const first = await ask('GET', '/assets/page.css');
	assert.equal(first.status, 200);
	assert.equal(first.headers['content-type'], 'text/css; charset=utf-8');
	assert.equal(first.headers['cache-control'], 'public, no-cache');
	assert.match(first.headers['content-security-policy'], /^default-src 'none';/);
	assert.doesNotMatch(first.headers['content-security-policy'], /unsafe/);
	const again = await ask('GET', '/assets/page.css', undefined, { 'If-None-Match': first.headers.etag });
	assert.deepEqual([again.status, again.body, again.headers['content-length']], [304, '', undefined]);
	assert.equal(again.headers.etag, first.headers.etag);
	const page = await ask('GET', '/problems/file-not-found', undefined, { Accept: 'text/html' });
	assert.match(page.body, /<link rel="stylesheet" href="\/assets\/page.css">/);
	assert.doesNotMatch(page.body, /<style|<script| style=/);
	assert.equal(page.headers['cache-control'], 'no-store');
});
