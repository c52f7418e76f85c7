// Hostile peers over HTTP, by raw bytes. All along, a well-behaved
// client makes calls, each of which must succeed; and at the end the server's
// descriptors and calls in progress are where they were, and its memory is near.
// FW_HOSTILE=full tries ten times as hard.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ask, call, codeOf, legacyCall, pause, post, program, request, serve, serveProgram, session, Wire } from './lib/http.mjs';

const times = process.env.FW_HOSTILE === 'full' ? 10 : 1;
const limits = { message_bytes: 8 << 20, result_bytes: 16 << 20, http_drain_bytes: 16 << 20, http_head_ms: 500, http_body_ms: 500, http_read_ms: 500, http_idle_ms: 20000, http_connections: 256, http_spare_ms: 200 };
const options = Object.entries(limits).flatMap(([name, value]) => ['--limit', `${name}=${value}`]);

const echo = call('echo', { text: 'hello' });
const isEcho = (reply) => reply.json?.result?.content[0].text === 'hello';
const rss = () => Number(readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * 1024;
// A sanitizer keeps what is freed, so that memory says nothing there.
const isSanitized = () => Number(readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmSize:\s+(\d+)/)[1]) > 1e9;
const underWay = async () => Number((await ask(server, request('GET', {}, undefined, '/readyz'))).body.match(/calls: (\d+)/)[1]);

let server, first;

before(async () => {
	server = await serve(...options);
	for (let i = 0; i < 20; i++) assert.ok(isEcho(await ask(server, echo)));
	first = { rss: rss(), descriptors: server.descriptors() };
});
after(async () => {
	assert.equal(await server.stop(), 0);
});

// Calls without a pause, on a connection that is kept, until `over` is. A kept
// connection that was closed between calls is what HTTP clients live with.
async function behave(over) {
	const took = [];
	let wire = new Wire(server.port);
	let isOver = false;

	over.finally(() => (isOver = true)).catch(() => {});
	while (!isOver) {
		const begun = performance.now();
		let reply = await wire.send(echo).response().catch(() => undefined);
		if (!reply) {
			wire.close();
			wire = new Wire(server.port);
			reply = await wire.send(echo).response();
		}
		assert.ok(isEcho(reply), `the well-behaved client got ${reply.status} ${reply.body}`);
		took.push(performance.now() - begun);
		await pause(5);
	}
	wire.close();
	await over;
	took.sort((a, b) => a - b);
	return `${took.length} calls of the well-behaved client, p50 ${took[took.length >> 1].toFixed(1)} ms, worst ${took.at(-1).toFixed(1)} ms`;
}

// A test whose body is what the hostile ones do.
function hostile(name, body) {
	test(name, { timeout: 120000 }, async (t) => {
		const peak = { rss: 0, descriptors: 0 };
		const timer = setInterval(() => {
			peak.rss = Math.max(peak.rss, rss());
			peak.descriptors = Math.max(peak.descriptors, server.descriptors());
		}, 50);
		try {
			t.diagnostic(await behave(body(t)));
		} finally {
			clearInterval(timer);
		}
		for (let i = 0; i < 100 && server.descriptors() > first.descriptors + 2; i++) await pause(50);
		assert.ok(server.descriptors() <= first.descriptors + 2, `${server.descriptors()} descriptors, ${first.descriptors} before`);
		assert.equal(await underWay(), 0);
		assert.ok(isSanitized() || rss() < first.rss + 64e6, `${rss()} bytes, ${first.rss} before`);
		t.diagnostic(`peak: ${(peak.rss / 1e6).toFixed(1)} MB, ${peak.descriptors} descriptors; after: ${(rss() / 1e6).toFixed(1)} MB, ${server.descriptors()}`);
	});
}

const many = (count, make) => [...Array(count).keys()].map(make);
const wires = (count) => many(count, () => new Wire(server.port));
const statuses = (list) => list.map((wire) => wire.text.toString('latin1').split(' ')[1] ?? 'closed');
const count = (list) => list.reduce((sum, word) => ({ ...sum, [word]: (sum[word] ?? 0) + 1 }), {});
const all = (list, what) => Promise.all(list.map(what));

// A byte now and then, until the server has enough.
async function dribble(list, bytes) {
	const timer = setInterval(() => list.forEach((wire) => wire.ended || wire.send(bytes)), 100);
	await all(list, (wire) => wire.end(20000));
	clearInterval(timer);
}

hostile('heads that never end are answered so, and cut off', async (t) => {
	const list = wires(200);
	for (const wire of list) wire.send('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-1: y');
	await dribble(list, 'y');
	assert.deepEqual(count(statuses(list)), { 408: 200 });
	assert.ok(list[0].text.includes('protocol.request_timeout'));
	t.diagnostic(JSON.stringify(count(statuses(list))));
});

hostile('first lines that never end are, too', async () => {
	const list = wires(50);
	for (const wire of list) wire.send('POST /m');
	await dribble(list, 'c');
	assert.deepEqual(count(statuses(list)), { 408: 50 });
});

hostile('bodies that never end are, too', async () => {
	const list = wires(200);
	for (const wire of list) wire.send(request('POST', { 'Content-Length': 1000 }, '{'));
	await dribble(list, ' ');
	assert.deepEqual(count(statuses(list)), { 408: 200 });
});

hostile('more slow ones than there are connections: the slowest make room', async (t) => {
	const list = [];
	for (let i = 0; i < 600; i++) {
		list.push(new Wire(server.port).send('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-1: y'));
		if (i % 50 === 0) await pause(50);
	}
	await dribble(list, 'y');
	t.diagnostic(JSON.stringify(count(statuses(list))));
});

hostile('readers of large results that do not read are cut off', async () => {
	const large = call('echo', { text: 'x'.repeat(8000000) });
	const list = wires(8);
	for (const wire of list) {
		wire.socket.pause();
		wire.send(large);
	}
	await pause(300);
	for (let i = 0; i < 600 && server.descriptors() > first.descriptors + 2; i++) await pause(50);
	assert.ok(server.descriptors() <= first.descriptors + 2, 'they were cut off');
	for (const wire of list) wire.close();
});

hostile('half-open sockets', async () => {
	const list = wires(200);
	await all(list, (wire, i) => {
		if (i % 2) wire.send('POST /mcp HTTP/1.1\r\nHost: l');
		wire.socket.end();
		return wire.end();
	});
	// After a whole request: it may be answered, or not, but it ends.
	const others = many(20, () => new Wire(server.port).send(call('later', { ms: 200 })));
	for (const wire of others) wire.socket.end();
	await all(others, (wire) => wire.end());
});

hostile('a thousand idle connections', async (t) => {
	const list = wires(1000);
	await pause(700);
	assert.ok(server.descriptors() < first.descriptors + limits.http_connections + 4 * 64);
	assert.ok(isEcho(await ask(server, echo)));
	t.diagnostic(`${list.filter((wire) => !wire.ended).length} of 1000 are still open`);
	for (const wire of list) wire.close();
});

test('idle connections that take all descriptors do not block other clients', async () => {
	const few = await serveProgram('sh', '-c', 'ulimit -n 48; exec "$0" "$@"', program);
	const list = Array.from({ length: 100 }, () => new Wire(few.port));
	await pause(300);
	assert.ok(isEcho(await ask(few, echo)));
	for (const wire of list) wire.close();
	assert.equal(await few.stop(), 0);
});

hostile(`${1000 * times} connections one after another`, async (t) => {
	const begun = performance.now();
	for (let i = 0; i < 1000 * times; i++) assert.ok(isEcho(await ask(server, echo)));
	t.diagnostic(`${Math.round((1000 * times * 1000) / (performance.now() - begun))} a second`);
});

hostile(`${2000 * Math.min(times, 2)} pipelined requests that nobody reads at first`, async () => {
	const wire = new Wire(server.port);
	wire.socket.pause();
	for (let i = 0; i < 2000 * Math.min(times, 2); i++) wire.send(echo);
	await pause(300);
	wire.socket.resume();
	for (let i = 0; i < 2000 * Math.min(times, 2); i++) assert.ok(isEcho(await wire.response()));
	wire.close();
});

hostile('everything oversized is refused, and says why', async () => {
	const expect = async (bytes, status, code) => {
		const wire = new Wire(server.port);
		const { status: found, ...reply } = await wire.send(bytes).response();
		assert.equal(found, status);
		if (code) assert.equal(codeOf(reply), code);
		wire.close();
	};
	const chunks = (length) => Buffer.concat([
		request('POST', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }),
		Buffer.from(`${length.toString(16)}\r\n`), Buffer.alloc(length, ' '), Buffer.from('\r\n0\r\n\r\n')]);
	const nine = 9 << 20;

	for (let i = 0; i < 2 * times; i++) {
		await expect(request('POST', {}, Buffer.alloc(nine, ' ')), 413, 'input.too_large');
		await expect(chunks(nine), 413, 'input.too_large');
		await expect(request('POST', { 'Content-Length': 1e15 }, '{}'), 413, 'input.too_large');
		await expect(request('POST', Object.fromEntries(many(140, (n) => [`X-${n}`, 'y'])), '{}'), 400, 'protocol.invalid_request');
		await expect(post(`${'['.repeat(1e6)}`), 400, 'input.too_deep');
		await expect(post(`{"a":${'{"a":'.repeat(200)}1${'}'.repeat(201)}`), 400, 'input.too_deep');
		await expect(request('POST', { Host: null }, '{}'), 400, 'protocol.invalid_request');
		await expect(request('POST', { X: 'y'.repeat(1e6) }, '{}'), 431, 'input.too_large');
		await expect(request('POST', {}, '{}', `/mcp?${'x'.repeat(1e5)}`), 414, 'input.too_large');
	}
});

for (const [kind, name, args] of [
	['that runs later', 'later', { ms: 150 }],
	['on a thread', 'slow', { ms: 150 }],
	['that talks on the way', 'chatter', { count: 2000 }],
])
	hostile(`clients that vanish in the middle of a call ${kind}, in both eras`, async () => {
		const headers = await session(server);
		const talk = { progressToken: 1, 'io.modelcontextprotocol/logLevel': 'debug' };
		for (let round = 0; round < 3 * times; round++) {
			const list = many(30, (i) =>
				new Wire(server.port).send(i % 2 ? call(name, args, talk, i) : legacyCall(headers, name, args, { progressToken: i }, `${round}.${i}`)));
			await pause(30);
			// Half of them properly, half by a reset.
			list.forEach((wire, i) => (i % 4 < 2 ? wire.close() : wire.socket.resetAndDestroy()));
		}
		for (let i = 0; i < 100 && (await underWay()); i++) await pause(50);
	});
