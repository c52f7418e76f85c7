// Clients that behave well get an answer while others take connections and memory:
// slow heads and half heads that fill all connections, and large bodies that are
// almost complete. Counts are asserted, times are not: the machine may be busy.
// FW_LONG=1 takes longer and sends as many bodies as the server has connections.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { call, codeOf, pause, serve, Wire } from './lib/http.mjs';
import { codeOf as errorOf } from './lib/raw.mjs';

const isLong = Boolean(process.env.FW_LONG);
const status = (server) => readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
const rss = (server) => Number(status(server).match(/VmRSS:\s+(\d+)/)[1]) / 1024;
// A sanitizer keeps freed memory, so the figures say nothing there.
const isSanitized = (server) => Number(status(server).match(/VmSize:\s+(\d+)/)[1]) > 1e9;
const echo = call('echo', { text: 'hello' });
const tally = (list) => list.reduce((sum, word) => ({ ...sum, [word]: (sum[word] ?? 0) + 1 }), {});

// One request on a new connection, sent `ms` after it was opened, as over a network:
// the status of its answer, or how it failed.
async function attempt(server, ms = 0) {
	const wire = new Wire(server.port);
	try {
		if (ms) await pause(ms);
		const reply = await wire.send(echo).response();
		if (reply.status === 200) return reply.json?.result?.content[0].text === 'hello' ? '200' : 'another answer';
		return codeOf(reply) ? String(reply.status) : `${reply.status} without a canonical error`;
	} catch {
		if (!wire.ended) return 'no answer in time';
		return wire.text.length ? 'a part of an answer' : 'closed without a byte';
	} finally {
		wire.close();
	}
}

test('no healthy connection is closed without a byte while 520 slow heads and 60 half heads per second come', { timeout: 120000 }, async (t) => {
	const server = await serve();
	const slow = [];
	const half = [];
	const healthy = [];
	const tenths = isLong ? 300 : 80;

	// Slow heads: a byte every second, and a new connection for each that was closed.
	const open = () => new Wire(server.port).send('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: y');
	for (let i = 0; i < 520; i++) slow.push(open());
	for (let tenth = 0; tenth < tenths; tenth++) {
		for (let i = tenth % 10; i < slow.length; i += 10) {
			if (slow[i].ended) slow[i] = open();
			else slow[i].send('y');
		}
		for (let i = 0; i < 6; i++) half.push(new Wire(server.port).send('POST /mcp HTTP/1.1\r\nHost: loc'));
		for (const ms of [0, 100, 400]) healthy.push(attempt(server, ms));
		await pause(100);
	}
	const found = tally(await Promise.all(healthy));
	for (const wire of [...slow, ...half]) wire.close();
	t.diagnostic(`${healthy.length} healthy connections: ${JSON.stringify(found)}; peak ${rss(server).toFixed(0)} MB`);
	assert.equal(await server.stop(), 0);
	assert.equal(found['closed without a byte'] ?? 0, 0);
	assert.equal(healthy.length - (found['200'] ?? 0) - (found['503'] ?? 0), 0, JSON.stringify(found));
	assert.ok((found['200'] ?? 0) >= healthy.length * 0.75, `most are served: ${JSON.stringify(found)}`);
});

const most = 300; // MB
const bodies = isLong ? 500 : 200;

test(`${bodies} bodies of 4 MiB - 1 take less than ${most} MB, and those beyond the limit get an error`, { timeout: 180000 }, async (t) => {
	const server = await serve('--limit', 'http_body_ms=120000');
	const json = echo.subarray(echo.indexOf('\r\n\r\n') + 4);
	const size = 4 * 1024 * 1024 - 1;
	const head = echo.toString('latin1', 0, echo.indexOf('\r\n\r\n') + 4).replace(/Content-Length: \d+/, `Content-Length: ${size}`);
	const blanks = Buffer.alloc(size - json.length, ' ');
	const sanitized = isSanitized(server);
	let peak = 0;
	const timer = setInterval(() => (peak = Math.max(peak, rss(server))), 20);

	// All but the last byte: no body is complete. A client stops sending when it is
	// answered before that, as clients do.
	const list = Array.from({ length: bodies }, () => new Wire(server.port));
	const whole = Buffer.concat([Buffer.from(head, 'latin1'), blanks, json]);
	const taken = await Promise.all(list.map(async (wire) => {
		for (let at = 0; at < whole.length - 1; at += 1 << 18) {
			if (wire.ended || wire.text.length) return false;
			// The callback comes with an error if the connection is lost.
			await new Promise((done) => wire.socket.write(whole.subarray(at, Math.min(at + (1 << 18), whole.length - 1)), done));
		}
		return true;
	}));
	t.diagnostic(`${taken.filter(Boolean).length} bodies were taken but for the last byte`);
	const held = rss(server);
	assert.equal(await attempt(server), '200', 'a small request is served meanwhile');
	for (const [i, wire] of list.entries()) taken[i] && !wire.ended && wire.send(json.subarray(-1));
	const replies = await Promise.all(list.map((wire) => wire.response().catch((error) => ({ status: wire.ended ? 'closed without an answer' : 'no answer in time', error }))));
	clearInterval(timer);
	const found = tally(replies.map(({ status }) => status));
	const refused = replies.filter((reply) => reply.status === 503);
	for (const wire of list) wire.close();
	t.diagnostic(`${JSON.stringify(found)}; peak ${peak.toFixed(0)} MB, ${held.toFixed(0)} MB while all were held`);
	assert.equal(await attempt(server), '200');
	assert.equal(await server.stop(), 0);
	assert.equal((found[200] ?? 0) + (found[503] ?? 0), bodies, JSON.stringify(found));
	assert.ok((found[200] ?? 0) >= 10, 'several large bodies at once are served');
	assert.ok(refused.length > 0 && refused.every((reply) => errorOf(reply) === 'server.overloaded' && Number(reply.headers['retry-after']) >= 1), 'each of the others is reported so, and when to retry');
	assert.ok(sanitized || peak < most, `${peak.toFixed(0)} MB`);
});
