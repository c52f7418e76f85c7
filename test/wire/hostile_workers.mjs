// Hostile peers, and tools that run in processes: over HTTP by raw
// bytes and over stdio, in both eras. Whatever they do, no worker stays busy for
// a client that is gone, the server stays small, and others get their answers.
// FW_HOSTILE=full tries ten times as hard.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { canonical, modern as claim, Wire as Stdio } from './lib/mcp.mjs';
import { ask, call, legacyCall, pause, post, request, serveProgram, session, Wire } from './lib/http.mjs';
import { descendants, descriptors, hazard, isAlive, rss, until } from './lib/worker.mjs';

const times = process.env.FW_HOSTILE === 'full' ? 10 : 1;
const isSanitized = process.env.FW_SANITIZED === '1';
const echo = call('echo', { text: 'hello' });
const isEcho = (reply) => reply.json?.result?.content[0].text === 'hello';
const many = (count, make) => [...Array(count).keys()].map(make);
const errorOf = (reply) => reply.json?.result?._meta?.['dev.faultwire/error'] ?? reply.json?.error?.data?.['dev.faultwire/error'];
const remove = (headers) => request('DELETE', headers);
const zombies = (pid) => descendants(pid).filter(({ state }) => state === 'Z');

let server, first;

async function page() {
	return (await ask(server, request('GET', {}, undefined, '/readyz'))).body;
}
const underWay = async () => Number((await page()).match(/calls: (\d+)/)[1]);

before(async () => {
	server = await serveProgram(hazard, '--workers', '2', '--most', '8', '--breaker', '1000000');
	server.said = '';
	server.child.stderr.on('data', (bytes) => (server.said += bytes));
	for (let i = 0; i < 20; i++) assert.ok(isEcho(await ask(server, echo)));
	// One large result: what is kept for the next is no leak.
	await ask(server, call('large', { mib: 7 }));
	first = { rss: rss(server.child.pid), descriptors: server.descriptors() };
});
after(async () => {
	const below = descendants(server.child.pid);
	assert.equal(await server.stop(), 0);
	await until(() => !below.some(({ pid }) => isAlive(pid)), 'its processes end with it');
});

// Calls one after another, each of which must succeed, until `over` is.
async function behave(over) {
	const took = [];
	let isOver = false;

	over.finally(() => (isOver = true)).catch(() => {});
	while (!isOver) {
		const begun = performance.now();
		const reply = await ask(server, echo);
		assert.ok(isEcho(reply), `the well-behaved client got ${reply.status} ${reply.body}`);
		took.push(performance.now() - begun);
		await pause(5);
	}
	await over;
	took.sort((a, b) => a - b);
	return `${took.length} calls of the well-behaved client, p50 ${took[took.length >> 1].toFixed(1)} ms, worst ${took.at(-1).toFixed(1)} ms`;
}

// Nothing of what they asked for goes on, and nothing of it is left.
async function settled(workers) {
	const { pid } = server.child;
	for (let i = 0; i < 200 && (await underWay()); i++) await pause(50);
	assert.equal(await underWay(), 0);
	await until(() => server.descriptors() <= first.descriptors + 4, `descriptors: ${server.descriptors()}, ${first.descriptors} before`);
	await until(() => !zombies(pid).length, 'no zombies');
	// As many as are to be ready, and none of them busy: they answer at once.
	const running = () => descendants(pid).filter(({ name }) => name === 'fw-worker');
	await until(() => running().length <= workers, 'no worker too many', 30000).catch((error) => {
		throw new Error(`${error.message}: ${JSON.stringify(running())}`);
	});
	const replies = await Promise.all(many(2, () => ask(server, call('slow', { ms: 20 }))));
	for (const reply of replies) assert.ok(reply.json?.result?.content, reply.body);
	assert.ok(isSanitized || rss(pid) < first.rss + 64 * 1024, `${rss(pid)} KiB, ${first.rss} before`);
}

let most = 0;

function hostile(name, body) {
	test(name, { timeout: 120000 }, async (t) => {
		// One may be missing now, because it is being replaced.
		most = Math.max(most, descendants(server.child.pid).filter(({ name: what }) => what === 'fw-worker').length);
		let peak = 0;
		const timer = setInterval(() => (peak = Math.max(peak, rss(server.child.pid))), 50);
		try {
			t.diagnostic(await behave(body(t)));
		} finally {
			clearInterval(timer);
		}
		await settled(most);
		t.diagnostic(`peak ${(peak / 1024).toFixed(1)} MiB, then ${(rss(server.child.pid) / 1024).toFixed(1)} MiB`);
	});
}

for (const [name, args] of [['slow', { ms: 400 }], ['polite', {}], ['deaf', {}], ['segv', {}], ['large', { mib: 2 }], ['tell', { ms: 300 }]])
	hostile(`clients that vanish in the middle of ${name}, in both eras`, async () => {
		const headers = await session(server);
		for (let round = 0; round < 2 * times; round++) {
			const list = many(16, (i) =>
				new Wire(server.port).send(i % 2 ? call(name, args, { progressToken: 1 }, i) : legacyCall(headers, name, args, { progressToken: i }, `${round}.${i}`)));
			await pause(30);
			list.forEach((wire, i) => (i % 4 < 2 ? wire.close() : wire.socket.resetAndDestroy()));
		}
		await ask(server, remove(headers));
	});

hostile('a flood of calls from one client: each is answered, or told when to come back', async (t) => {
	const headers = await session(server);
	const replies = await Promise.all(many(300 * Math.min(times, 3), (i) => ask(server, legacyCall(headers, i % 3 ? 'slow' : 'segv', { ms: 2 }, undefined, i))));
	const codes = {};
	for (const reply of replies) {
		const error = errorOf(reply);
		const code = error?.code ?? 'ok';
		codes[code] = (codes[code] ?? 0) + 1;
		assert.ok(['ok', 'tool.crashed', 'server.overloaded'].includes(code), reply.body);
		if (code === 'server.overloaded') assert.ok(error.retry_after > 0);
	}
	assert.ok(codes.ok);
	t.diagnostic(JSON.stringify(codes));
	await ask(server, remove(headers));
});

hostile('slow readers of large results do not keep workers', async () => {
	const list = many(8, () => new Wire(server.port));
	for (const wire of list) {
		wire.socket.pause();
		wire.send(call('large', { mib: 4 }));
	}
	await pause(300);
	for (let i = 0; i < 5; i++) assert.ok(isEcho(await ask(server, echo)));
	for (const wire of list) wire.socket.resume();
	const replies = await Promise.all(list.map((wire) => wire.response()));
	for (const reply of replies) assert.ok(reply.status === 200 && (reply.body.length > 4 << 20 || errorOf(reply)), reply.body.slice(0, 200));
	for (const wire of list) wire.close();
});

hostile('a storm of cancellations: of what runs, what waits, what is over and what never was', async () => {
	const headers = await session(server);
	const cancel = (id) => ask(server, post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }, headers));
	for (let round = 0; round < 3 * times; round++) {
		const ids = many(24, (i) => `${round}.${i}`);
		const wires = ids.map((id, i) => new Wire(server.port).send(legacyCall(headers, ['polite', 'slow', 'deaf'][i % 3], { ms: 50 }, undefined, id)));
		await Promise.all([...ids, ...ids, 'never', 0].map(cancel));
		wires.forEach((wire) => wire.close());
	}
	await ask(server, remove(headers));
});

hostile('sessions that are deleted under their calls', async () => {
	for (let round = 0; round < 4 * times; round++) {
		const headers = await session(server);
		const wires = many(8, (i) => new Wire(server.port).send(legacyCall(headers, ['slow', 'polite', 'tell', 'ask_late'][i % 4], { ms: 60 }, { progressToken: i }, i)));
		await pause(20);
		await ask(server, remove(headers));
		wires.forEach((wire) => wire.close());
	}
	await pause(100);
});

// The handler's thread asks after its session has gone, whether its call was
// answered before that (by a deadline) or by it.
for (const name of ['ask_late', 'ask_too_late'])
	test(`${name}: what a handler asks of its client is its call's, not the session's`, async () => {
		const headers = await session(server, '2025-11-25', { elicitation: {} });
		const before = server.said.length;
		const wire = new Wire(server.port).send(legacyCall(headers, name, { ms: 250 }, { progressToken: 1 }));
		await pause(100);
		await ask(server, remove(headers));
		await until(() => server.said.slice(before).includes('asked late: 1 '), 'it learned what the client can do');
		wire.close();
		assert.ok(isEcho(await ask(server, echo)));
	});

// ---- stdio: each peer has a server of its own, which ends with it ------------------

async function peer(body) {
	const wire = new Stdio(['--workers', '2', '--breaker', '1000000'], hazard);
	wire.run = (name, args, meta, id) => wire.request('tools/call', { name, arguments: args ?? {}, _meta: { ...claim, ...meta } }, id);
	try {
		assert.ok((await wire.run('echo', { text: 'x' })).result);
		await body(wire, { rss: rss(wire.child.pid), descriptors: descriptors(wire.child.pid) });
	} finally {
		if (!wire.gone) wire.child.kill('SIGKILL');
		await wire.exit;
		for (const wait of wire.waiting) clearTimeout(wait.timer);
	}
}

async function sound(wire, before) {
	const { pid } = wire.child;
	assert.ok((await wire.run('echo', { text: 'x' })).result);
	await until(() => !zombies(pid).length, 'no zombies');
	await until(() => descriptors(pid) === before.descriptors, `${descriptors(pid)} descriptors, ${before.descriptors} before`);
	assert.ok(isSanitized || rss(pid) < before.rss + 48 * 1024, `${rss(pid)} KiB, ${before.rss} before`);
	const below = descendants(pid);
	assert.equal((await wire.end()).status, 0);
	await until(() => !below.some((one) => isAlive(one.pid)), 'its processes end with it');
}

test('stdio: a flood of calls that crash and calls that do not', () => peer(async (wire, before) => {
	const replies = await Promise.all(many(300, (i) => wire.run(i % 4 ? 'echo' : 'segv', { text: `${i}` })));
	for (const [i, reply] of replies.entries()) {
		const code = canonical(reply)?.code;
		if (code !== 'server.overloaded') assert.deepEqual(code ?? reply.result.content[0].text, i % 4 ? `${i}` : 'tool.crashed');
	}
	await sound(wire, before);
}));

test('stdio: a peer that does not read large results', () => peer(async (wire, before) => {
	wire.child.stdout.pause();
	const replies = many(40, () => wire.run('large', { mib: 1 }));
	await pause(500);
	assert.ok(isSanitized || rss(wire.child.pid) < before.rss + 64 * 1024, `${rss(wire.child.pid)} KiB, ${before.rss} before`);
	wire.child.stdout.resume();
	for (const reply of await Promise.all(replies)) assert.ok(reply.result);
	await sound(wire, before);
}));

test('stdio: a storm of cancellations', () => peer(async (wire, before) => {
	for (let round = 0; round < 10 * times; round++) {
		for (let i = 0; i < 20; i++) {
			const id = `${round}.${i}`;
			wire.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: ['polite', 'slow', 'deaf'][i % 3], arguments: { ms: 20 }, _meta: claim } });
			wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, _meta: claim } });
		}
		assert.ok((await wire.run('echo', { text: 'x' })).result);
	}
	await sound(wire, before);
}));

const ways = [];
for (const era of ['modern', 'legacy'])
	for (const name of ['polite', 'deaf', 'large', 'segv'])
		for (const how of ['ends its input', 'closes both ends', 'does not read, and closes']) ways.push({ era, name, how });

const vanish = ({ era, name, how }) => peer(async (wire) => {
	if (era === 'legacy') await wire.initialize();
	const below = descendants(wire.child.pid);
	for (let id = 100; id < 104; id++)
		wire.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { mib: 4 }, _meta: era === 'modern' ? claim : {} } });
	if (how !== 'ends its input') wire.child.stdout[how.startsWith('does') ? 'pause' : 'destroy']();
	await pause(20);
	wire.child.stdin.end();
	if (how.startsWith('does')) setTimeout(() => wire.child.stdout.destroy(), 50);
	const late = setTimeout(() => wire.child.kill('SIGKILL'), 15000);
	assert.deepEqual(await wire.exit, { status: 0, signal: null });
	clearTimeout(late);
	await until(() => !below.some(({ pid }) => isAlive(pid)), 'its processes end with it');
});

let results;
for (const [i, { era, name, how }] of ways.entries())
	test(`stdio: a ${era} peer that ${how} in the middle of ${name}: the server ends, and its workers`, async () => {
		// A few at a time: each has several processes.
		results ??= (async () => {
			const found = [];
			for (let at = 0; at < ways.length; at += 12)
				found.push(...(await Promise.all(ways.slice(at, at + 12).map((way) => vanish(way).then(() => undefined, (error) => error)))));
			return found;
		})();
		const error = (await results)[i];
		if (error) throw error;
	});
