// Idempotency-Key: a repeated request gets the answer of the first one, its tool runs
// once; also over restarts and when the server is killed in the middle.
// reaches: resource.conflict

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { Place as Governed, api, until } from './lib/govern.mjs';
import { Place, program, serveArgs, sha256 } from './lib/workspace.mjs';
import { originOf } from './lib/served.mjs';

const rounds = process.env.FW_LONG ? 200 : 6;

async function start(place, ...options) {
	const child = spawn(program, serveArgs(place, { options: ['--http', '127.0.0.1:0', '--log', 'off', ...options] }), {
		cwd: place.root, env: place.env, stdio: ['ignore', 'ignore', 'pipe'],
	});
	const ended = new Promise((done) => child.on('exit', (code, signal) => done(signal ?? code)));
	const url = await originOf(child);
	const server = { child, url, ended };
	server.stop = async (signal = 'SIGTERM') => {
		child.kill(signal);
		return ended;
	};
	server.call = async (name, args, key) => {
		const reply = await fetch(`${url}/api/v1/tools/${name}`, {
			method: 'POST',
			headers: { 'Content-Type': 'application/json', ...(key === undefined ? {} : { 'Idempotency-Key': key }) },
			body: JSON.stringify(args),
		});
		const text = await reply.text();
		return { status: reply.status, headers: reply.headers, text, json: JSON.parse(text), isReplayed: reply.headers.get('idempotency-replayed') === 'true' };
	};
	const begun = await server.call('begin_session', { workspace_root: place.root });
	assert.equal(begun.status, 200, begun.text);
	return server;
}

async function serving(run, ...options) {
	const place = new Place();
	const plan = place.plan('src/**');
	const server = await start(place, ...options);
	try {
		await run(server, place, plan);
	} finally {
		await server.stop('SIGKILL');
		place.drop();
	}
}

const create = (plan, path, content = 'new\n') => ({ plan, intent: 'Create it.', phase_id: 'P1', path, content, create: true });
const changes = (place, path) => place.audit().filter((line) => line.event === 'change' && JSON.stringify(line).includes(path)).length;

test('the same answer again, over a restart too', async () => {
	const place = new Place();
	const plan = place.plan('src/**');
	let server = await start(place);
	try {
		const first = await server.call('write_file', create(plan, 'src/b.txt'), 'key-1');
		assert.equal(first.status, 200, first.text);
		assert.equal(first.isReplayed, false);
		const again = await server.call('write_file', create(plan, 'src/b.txt'), 'key-1');
		assert.deepEqual([again.status, again.text, again.isReplayed], [200, first.text, true]);
		assert.equal(await server.stop(), 0);
		server = await start(place);
		const later = await server.call('write_file', create(plan, 'src/b.txt'), 'key-1');
		assert.deepEqual([later.status, later.text, later.isReplayed], [200, first.text, true]);
		assert.equal(changes(place, 'src/b.txt'), 1);
		// Without the key the tool runs, and finds the file.
		assert.equal((await server.call('write_file', create(plan, 'src/b.txt'))).status >= 400, true);
	} finally {
		await server.stop('SIGKILL');
		place.drop();
	}
});

test('another body is refused; another key, tool or caller is another request', () => serving(async (server, place, plan) => {
	assert.equal((await server.call('write_file', create(plan, 'src/b.txt'), 'k')).status, 200);
	const other = await server.call('write_file', create(plan, 'src/c.txt'), 'k');
	assert.deepEqual([other.status, other.json.code], [400, 'input.invalid_value']);
	assert.equal(place.exists('src/c.txt'), false);
	assert.equal((await server.call('write_file', create(plan, 'src/c.txt'), 'k2')).status, 200);
	for (const key of ['', 'a b', 'x'.repeat(256)]) {
		const reply = await server.call('write_file', create(plan, 'src/d.txt'), key);
		assert.equal(reply.status, 400, key);
		assert.equal(reply.json.code, 'input.invalid_format');
	}
	assert.equal((await server.call('write_file', create(plan, 'src/d.txt'), 'x'.repeat(255))).status, 200);
}));

test('a failure of the tool is kept; a refusal before it runs is not', () => serving(async (server, place, plan) => {
	const broken = { plan: 'f'.repeat(64), intent: 'No plan.', phase_id: 'P1', path: 'src/b.txt', content: 'x', create: true };
	const failed = await server.call('write_file', broken, 'f');
	assert.ok(failed.status >= 400);
	const again = await server.call('write_file', broken, 'f');
	assert.deepEqual([again.status, again.isReplayed], [failed.status, true]);
	assert.equal(again.json.incident_id, failed.json.incident_id);
	const refused = await server.call('write_file', {}, 'g');
	assert.equal(refused.json.code, 'input.missing_field');
	const fixed = await server.call('write_file', create(plan, 'src/b.txt'), 'g');
	assert.deepEqual([fixed.status, fixed.isReplayed], [200, false]);
}));

test('of many at once one runs; the others get its answer, or 409', () => serving(async (server, place, plan) => {
	const replies = await Promise.all(Array.from({ length: 20 }, () => server.call('write_file', create(plan, 'src/b.txt'), 'same')));
	assert.equal(replies.filter((reply) => reply.status === 200 && !reply.isReplayed).length, 1);
	for (const reply of replies)
		if (reply.status !== 200) {
			assert.deepEqual([reply.status, reply.json.code], [409, 'resource.conflict']);
			assert.ok(Number(reply.headers.get('retry-after')) >= 1);
		}
	assert.equal(changes(place, 'src/b.txt'), 1);
}));

// Two gateways with one store, whose upstream does what `mode` says: 'work', 'fail' (the connection is closed), 'hold'.
async function behindGate(run) {
	const place = new Governed('once');
	const at = { place, mode: 'work', held: [] };
	const upstream = createServer((request, response) => {
		let text = '';
		request.on('data', (bytes) => (text += bytes));
		request.on('end', () => {
			const { id, method } = text ? JSON.parse(text) : {};
			const reply = (result) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, result }));
			const work = () => reply({ content: [{ type: 'text', text: 'done' }] });
			if (request.method !== 'POST') response.writeHead(405).end();
			else if (id === undefined) response.writeHead(202).end();
			else if (method === 'initialize') reply({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
			else if (method === 'tools/list') reply({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] });
			else if (at.mode === 'fail') request.socket.destroy();
			else if (at.mode === 'hold') at.held.push(work);
			else work();
		});
	});
	try {
		await new Promise((done) => upstream.listen(0, '127.0.0.1', done));
		const url = `http://127.0.0.1:${upstream.address().port}/mcp`;
		writeFileSync(place.file('gate.json'), JSON.stringify({ mcpServers: { x: { url, faultwire: { breaker: { failures: 2, pause: 2 }, retry: 0 } } } }));
		const start = () => place.start('gate', '--era', 'legacy', '--config', place.file('gate.json'), '--log', 'off');
		const gate = await start(), other = await start();
		at.call = (key, server = gate) => api(server, 'work', {}, { headers: { 'Idempotency-Key': key } });
		at.callElsewhere = (key) => at.call(key, other);
		await run(at);
	} finally {
		upstream.closeAllConnections();
		upstream.close();
		await place.end();
	}
}

test('a call that was not sent to its server is not refused for a day', () => behindGate(async (at) => {
	at.mode = 'fail';
	for (let i = 0; i < 2; i++) await at.call(`sent-${i}`);
	const refused = await at.call('not-sent');
	assert.equal(refused.json.code, 'upstream.suspended', refused.text);
	const kept = await at.call('sent-0');
	assert.equal(kept.headers.get('idempotency-replayed'), 'true', 'one that was sent is kept');
	at.mode = 'work';
	await until(async () => (await at.call('not-sent')).status === 200, 'it runs when its server is back');
}));

test('a call whose answer could not be kept is not said to be running', () => behindGate(async (at) => {
	assert.equal((await at.call('first')).status, 200);
	const find = (folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)).filter((name) => /store\.db(-\w+)?$/.test(name));
	const files = find(at.place.state);
	assert.ok(files.length, 'the files of the store');
	at.mode = 'hold';
	const call = at.call('cut-off');
	await until(() => at.held.length, 'the call');
	for (const call of [at.call, at.callElsewhere]) {
		const early = await call('cut-off');
		assert.deepEqual([early.status, early.headers.get('retry-after')], [409, '1'], 'it is running');
	}
	// The store is lost between the beginning and the end of the call.
	const away = at.place.file('away');
	mkdirSync(away);
	for (const name of files) renameSync(name, join(away, basename(name)));
	at.held[0]();
	assert.equal((await call).status, 200);
	for (const name of find(at.place.state)) if (!name.startsWith(away)) rmSync(name);
	for (const name of files) renameSync(join(away, basename(name)), name);
	const again = await at.call('cut-off');
	assert.equal(again.status, 409, again.text);
	assert.deepEqual([again.headers.get('retry-after'), again.json.retryable], [null, false], 'there is nothing to wait for');
	assert.equal(at.held.length, 1, 'it ran once');
}));

test('without a store a key is refused, not ignored', () => serving(async (server, place, plan) => {
	const reply = await server.call('write_file', create(plan, 'src/b.txt'), 'k');
	assert.deepEqual([reply.status, reply.json.code], [501, 'internal.unsupported']);
	assert.equal(place.exists('src/b.txt'), false);
}, '--store', 'off'));

test(`killed ${rounds} times in the middle: no effect twice, no answer lost`, async () => {
	const place = new Place();
	const plan = place.plan('src/**');
	let server = await start(place);
	try {
		for (let round = 0; round < rounds; round++) {
			const path = `src/k${round}.txt`, key = `kill-${round}`;
			const first = server.call('write_file', create(plan, path, sha256(path)), key).catch(() => null);
			await new Promise((done) => setTimeout(done, (round * 7) % 40));
			await server.stop('SIGKILL');
			const seen = await first;
			server = await start(place);
			const again = await server.call('write_file', create(plan, path, sha256(path)), key);
			if (seen) assert.deepEqual([again.status, again.text], [seen.status, seen.text], 'the answer that was seen');
			else assert.ok(again.status === 200 || again.status === 409, again.text);
			if (again.status === 200) assert.equal(place.read(path), sha256(path));
			assert.ok(changes(place, path) <= 1);
		}
	} finally {
		await server.stop('SIGKILL');
		place.drop();
	}
});
