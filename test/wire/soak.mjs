// Fifty clients for a while, over HTTP and stdio, in both eras; one call in five
// crashes or hangs. Each call gets exactly one answer, the right one; memory,
// descriptors and zombies are counted all along. FW_SOAK_SECONDS=600 is the
// long version.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, legacyCall, modern, pause, request, ask, serveProgram, session, Wire as Http } from './lib/http.mjs';
import { modern as claim, canonical, Wire as Stdio } from './lib/mcp.mjs';
import { descendants, descriptors, hazard, rss } from './lib/worker.mjs';

const seconds = Number(process.env.FW_SOAK_SECONDS ?? 4);
const args = ['--workers', '4', '--most', '12'];

// What each tool answers: undefined is success.
const good = [['echo', { text: 'x' }], ['echo_thread', { text: 'x' }], ['echo_inline', { text: 'x' }], ['slow', { ms: 5 }]];
const bad = {
	segv: 'tool.crashed', abort: 'tool.crashed', kill_self: 'tool.crashed', exit: 'tool.exited', nothing: 'tool.no_result',
	garbage: 'tool.garbled', invalid: 'tool.invalid_result', sleep: 'runtime.timeout', spin: 'runtime.timeout', fail: undefined,
};

const counts = { calls: 0, answers: 0, ok: 0, overloaded: 0, codes: {} };
const took = [];
let seed = 1;
const random = (below) => Math.floor(((seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648) * below);

function pick() {
	counts.calls++;
	if (random(1000) >= 200) return good[random(good.length)];
	// Those that take all their time are rarer: the number of slots is limited.
	const names = Object.keys(bad).slice(0, random(4) ? 7 : undefined);
	return [names[random(names.length)], {}];
}

function judge(name, message, begun) {
	const error = canonical(message);
	counts.answers++;
	if (error?.code === 'server.overloaded') {
		assert.ok(error.retry_after > 0);
		counts.overloaded++;
		return;
	}
	if (!(name in bad)) {
		assert.equal(error, undefined, `${name}: ${JSON.stringify(message).slice(0, 500)}`);
		counts.ok++;
		took.push(performance.now() - begun);
		return;
	}
	counts.codes[error?.code] = (counts.codes[error?.code] ?? 0) + 1;
	assert.ok(error, `${name} succeeded`);
	if (bad[name]) assert.equal(error.code, bad[name], name);
}

async function httpClient(server, number, late) {
	const headers = number % 2 ? await session(server) : undefined;
	let wire = new Http(server.port);

	for (let id = 1; Date.now() < late; id++) {
		const [name, params] = pick();
		const begun = performance.now();
		const bytes = headers ? legacyCall(headers, name, params, undefined, id) : call(name, params, { 'io.modelcontextprotocol/clientInfo': { name: `c${number}`, version: '1' } }, id);
		const reply = await wire.send(bytes).response();
		const message = reply.json ?? JSON.parse(reply.body.split('\n').findLast((line) => line.startsWith('data: ')).slice(6));
		assert.equal(message.id, id);
		judge(name, message, begun);
		// Now and then a connection of its own.
		if (random(50) === 0) {
			wire.close();
			wire = new Http(server.port);
		}
	}
	await pause(50);
	assert.equal(wire.text.length, 0, 'nothing came that nobody asked for');
	wire.close();
}

async function stdioClient(wire, late) {
	while (Date.now() < late) {
		const [name, params] = pick();
		const begun = performance.now();
		judge(name, await wire.request('tools/call', { name, arguments: params, ...(wire.isModern && { _meta: claim }) }), begun);
	}
}

test(`a soak of ${seconds} s: every call gets exactly one answer`, { timeout: seconds * 1000 + 60000 }, async (t) => {
	const server = await serveProgram(hazard, ...args);
	const wires = [new Stdio(args, hazard), new Stdio(args, hazard)];
	wires[0].isModern = true;
	await wires[1].initialize();
	t.after(() => [server, ...wires].forEach(({ child }) => child.kill('SIGKILL')));
	const pids = [server.child.pid, ...wires.map((wire) => wire.child.pid)];
	await pause(300);
	const look = () => pids.map((pid) => ({ rss: rss(pid), descriptors: descriptors(pid), zombies: descendants(pid).filter((one) => one.state === 'Z').length }));
	const warm = Date.now() + seconds * 250;
	const late = Date.now() + seconds * 1000;
	const clients = [
		...[...Array(40).keys()].map((number) => httpClient(server, number, late)),
		...wires.flatMap((wire) => [...Array(5).keys()].map(() => stdioClient(wire, late))),
	];
	let first;
	const samples = [];
	const timer = setInterval(() => {
		const seen = look();
		if (Date.now() > warm) first ??= seen;
		samples.push(seen);
	}, Math.max(200, seconds * 10));

	try {
		await Promise.all(clients);
	} finally {
		clearInterval(timer);
	}
	await pause(300);
	const last = look();
	took.sort((a, b) => a - b);
	t.diagnostic(`${counts.calls} calls, ${counts.answers} answers: ${counts.ok} results, ${JSON.stringify(counts.codes)}, ${counts.overloaded} overloaded`);
	t.diagnostic(`honest calls: p50 ${took[took.length >> 1].toFixed(1)} ms, p99 ${took[Math.floor(took.length * 0.99)].toFixed(1)} ms`);
	for (const [i, name] of ['http', 'stdio modern', 'stdio legacy'].entries())
		t.diagnostic(`${name}: ${first[i].rss} kB after a quarter, ${last[i].rss} kB at the end, ${Math.max(...samples.map((seen) => seen[i].rss))} kB at most; ` +
			`descriptors ${last[i].descriptors}, at most ${Math.max(...samples.map((seen) => seen[i].descriptors))}; zombies at most ${Math.max(...samples.map((seen) => seen[i].zombies))}, ${last[i].zombies} at the end`);

	assert.equal(counts.answers, counts.calls);
	for (const wire of wires) assert.equal(wire.messages.length, 0, 'nothing came that nobody asked for');
	for (const [i, seen] of last.entries()) {
		assert.ok(seen.rss < first[i].rss + 8192, `${seen.rss} kB, ${first[i].rss} kB before`);
		assert.equal(seen.zombies, 0);
	}
	assert.match((await ask(server, request('GET', {}, undefined, '/readyz'))).body, /calls: 0 of/);
	assert.equal(await server.stop(), 0);
	for (const wire of wires) assert.equal((await wire.end()).status, 0);
});
