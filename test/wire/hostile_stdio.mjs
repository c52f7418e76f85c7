// Hostile peers over stdio: each has a server of its own, which must
// stay small, answer what can be answered, and end when its peer does.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonical, modern, Wire } from './lib/mcp.mjs';
import { pause } from './lib/http.mjs';

const rss = (wire) => Number(readFileSync(`/proc/${wire.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * 1024;
// A sanitizer keeps what is freed, so that memory says nothing there.
const isSanitized = (wire) => Number(readFileSync(`/proc/${wire.child.pid}/status`, 'utf8').match(/VmSize:\s+(\d+)/)[1]) > 1e9;
const descriptors = (wire) => readdirSync(`/proc/${wire.child.pid}/fd`).length;

async function peer(body, args = []) {
	const wire = new Wire(['--stdio', ...args]);
	wire.run = (name, args, meta) => wire.request('tools/call', { name, arguments: args ?? {}, _meta: { ...modern, ...meta } });
	try {
		assert.ok((await wire.run('echo', { text: 'x' })).result);
		await body(wire, { rss: rss(wire), descriptors: descriptors(wire) });
	} finally {
		if (!wire.gone) wire.child.kill('SIGKILL');
		await wire.exit;
		for (const wait of wire.waiting) clearTimeout(wait.timer);
	}
}

async function sound(wire, before) {
	assert.ok((await wire.run('echo', { text: 'x' })).result);
	assert.ok(isSanitized(wire) || rss(wire) < before.rss + 32e6, `${rss(wire)} bytes, ${before.rss} before`);
	assert.equal(descriptors(wire), before.descriptors);
	assert.equal((await wire.end()).status, 0);
}

// All of it, as fast as the server takes it.
async function pour(wire, bytes, times) {
	for (let i = 0; i < times; i++)
		if (!wire.child.stdin.write(bytes)) await new Promise((done) => wire.child.stdin.once('drain', done));
}

test('a line that never ends is refused once, and takes no memory', () => peer(async (wire, before) => {
	await pour(wire, Buffer.alloc(1 << 20, 'x'), 64);
	assert.equal(canonical(await wire.next()).code, 'input.too_large');
	assert.ok(isSanitized(wire) || rss(wire) < before.rss + 32e6);
	wire.send('\n');
	await sound(wire, before);
	assert.equal(wire.messages.length, 0);
}));

test('garbage, line by line', () => peer(async (wire, before) => {
	const bytes = Buffer.alloc(100000);
	for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2654435761) >>> 13;
	const lines = bytes.toString('latin1').split('\n').filter((line) => line.replace(/[ \t\r]/g, '')).length;
	wire.send(bytes);
	wire.send('\n');
	for (let i = 0; i < lines; i++) assert.ok(canonical(await wire.next()).code);
	await sound(wire, before);
}));

test('deep JSON', () => peer(async (wire, before) => {
	for (const text of ['['.repeat(1e6), '{"a":'.repeat(1e5), `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(500)}${']'.repeat(500)}}}`]) {
		wire.send(`${text}\n`);
		assert.match(canonical(await wire.next()).code, /too_deep/);
	}
	await sound(wire, before);
}));

test('five thousand calls at once, answered each', () => peer(async (wire, before) => {
	const replies = [];
	for (let i = 0; i < 5000; i++) replies.push(wire.run('echo', { text: `${i}` }));
	for (const [i, reply] of (await Promise.all(replies)).entries()) assert.equal(reply.result.content[0].text, `${i}`);
	await sound(wire, before);
}));

test('a flood of slow calls: each is answered, by its result or by when to come back', () => peer(async (wire, before) => {
	const replies = await Promise.all([...Array(600).keys()].map(() => wire.run('slow', { ms: 1 })));
	for (const reply of replies) {
		const error = canonical(reply);
		if (error) assert.deepEqual([error.code, error.retry_after > 0], ['server.overloaded', true]);
	}
	assert.ok(replies.some((reply) => !canonical(reply)));
	await sound(wire, before);
}));

test('a peer that sends and does not read is not read from', () => peer(async (wire, before) => {
	wire.child.stdout.pause();
	const replies = [...Array(1000).keys()].map(() => wire.run('echo', { text: 'x'.repeat(8000) }));
	await pause(300);
	assert.ok(isSanitized(wire) || rss(wire) < before.rss + 32e6, `${rss(wire)} bytes`);
	wire.child.stdout.resume();
	for (const reply of await Promise.all(replies)) assert.ok(reply.result);
	await sound(wire, before);
}));

test('half a message, and the end', () => peer(async (wire) => {
	wire.send('{"jsonrpc":"2.0","id":1,');
	assert.equal((await wire.end()).status, 0);
	assert.equal(canonical(wire.messages[0]).code, 'protocol.parse_error');
}));

// Most of the time they wait: all at once.
const ways = [];
for (const era of ['modern', 'legacy'])
	for (const [name, args] of [['later', { ms: 60000 }], ['slow', { ms: 3000 }], ['chatter', { count: 1e9 }], ['echo', { text: 'x' }]])
		for (const how of ['ends its input', 'closes both ends', 'does not read, and closes'])
			ways.push({ era, name, args, how });

const vanish = ({ era, name, args, how }) => peer(async (wire) => {
	if (era === 'legacy') await wire.initialize();
	const params = { name, arguments: args, _meta: { ...(era === 'modern' && modern), progressToken: 1 } };
	wire.send({ jsonrpc: '2.0', id: 99, method: 'tools/call', params });
	if (how !== 'ends its input') wire.child.stdout[how.startsWith('does') ? 'pause' : 'destroy']();
	await pause(20);
	wire.child.stdin.end();
	if (how.startsWith('does')) setTimeout(() => wire.child.stdout.destroy(), 50);
	const late = setTimeout(() => wire.child.kill('SIGKILL'), 10000);
	assert.deepEqual(await wire.exit, { status: 0, signal: null });
	clearTimeout(late);
});

let results;
for (const [i, { era, name, how }] of ways.entries())
	test(`a ${era} peer that ${how} in the middle of ${name}: the server ends`, async () => {
		results ??= ways.map((way) => vanish(way).then(() => undefined, (error) => error));
		const error = await results[i];
		if (error) throw error;
	});
