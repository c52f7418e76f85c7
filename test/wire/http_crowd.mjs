// Strangers that take what others need: connections and memory. Healthy clients
// with connections of their own are served meanwhile.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Wire, call, codeOf, pause, post, serve } from './lib/http.mjs';

const echo = call('echo', { text: 'hello' });
const half = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-1: y';

// One new connection, one call: how it went.
async function visit(server) {
	const wire = new Wire(server.port);
	const begun = performance.now();
	const reply = await wire.send(echo).response().catch(() => undefined);
	const how = !reply ? (wire.text.length ? 'cut' : 'closed without a byte') : reply.status === 200 ? 'served' : `${reply.status}`;
	wire.close();
	return { how, ms: performance.now() - begun };
}

test('520 slow heads and 60 half heads a second close no healthy connection without a byte', { timeout: 60000 }, async (t) => {
	const server = await serve();
	const slow = [];
	const open = (list) => list.push(new Wire(server.port).send(half));
	for (let i = 0; i < 520; i++) {
		open(slow);
		if (i % 40 === 39) await pause(20);
	}
	// Slow ones go on slowly, and come again when they are turned out.
	const dribble = setInterval(() => slow.forEach((wire, i) => {
		if (wire.ended) slow[i] = new Wire(server.port).send(half);
		else wire.send('y');
	}), 500);
	const halves = [];
	const flood = setInterval(() => open(halves), 1000 / 60);
	const seen = {};
	let worst = 0;
	await pause(1500);
	for (const end = Date.now() + 6000; Date.now() < end; ) {
		const { how, ms } = await visit(server);
		seen[how] = (seen[how] ?? 0) + 1;
		worst = Math.max(worst, ms);
		await pause(25);
	}
	clearInterval(dribble);
	clearInterval(flood);
	for (const wire of [...slow, ...halves]) wire.close();
	t.diagnostic(`${JSON.stringify(seen)}, worst ${worst.toFixed(0)} ms`);
	assert.deepEqual(Object.keys(seen), ['served']);
	// Those that were turned out were told so.
	const told = halves.filter((wire) => wire.text.includes('server.overloaded')).length;
	assert.equal(halves.filter((wire) => wire.ended && !wire.text.length).length, 0);
	t.diagnostic(`${told} of ${halves.length} half heads were told 503`);
	assert.equal(await server.stop(), 0);
});

test('500 bodies of 4 MiB - 1 that do not end take no 2 GB', { timeout: 120000 }, async (t) => {
	const server = await serve('--limit', 'http_body_ms=60000');
	const memory = () => Number(readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * 1024;
	const isSanitized = Number(readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmSize:\s+(\d+)/)[1]) > 1e9;
	const size = (4 << 20) - 1;
	const body = Buffer.concat([post(Buffer.alloc(size, ' ')).subarray(0, -1)]);
	const before = memory();
	let peak = 0;
	const wires = [];
	for (let i = 0; i < 500; i++) {
		const wire = new Wire(server.port);
		wires.push(wire);
		await new Promise((done) => {
			wire.socket.write(body, done);
			wire.socket.once('close', done);
		});
		peak = Math.max(peak, memory());
	}
	t.diagnostic(`${((peak - before) / 1e6).toFixed(0)} MB at most`);
	assert.ok(isSanitized || peak - before < 300e6, `${peak - before} bytes`);
	assert.equal((await visit(server)).how, 'served');
	await pause(200);
	const told = wires.filter((wire) => wire.text.includes('server.overloaded') && wire.text.includes('Retry-After: 1'));
	assert.ok(told.length > 400, `${told.length} were told 503`);
	// Whoever is left can end its body, and is answered.
	const left = wires.filter((wire) => !wire.ended && !wire.text.length).at(-1);
	assert.equal(codeOf(await left.send(' ').response()), 'protocol.parse_error');
	for (const wire of wires) wire.close();
	assert.equal(await server.stop(), 0);
});
