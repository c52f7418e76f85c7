// What a tool in a process writes to its standard output and error, where there is
// a log: it becomes events of the log and nothing else, without secrets, and in
// bounds; and the operator finds the end of it with the crash.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { check, finish, root, run, same, test } from './lib/cli.mjs';
import { canonical, text, Wire } from './lib/mcp.mjs';
import { rss, until } from './lib/worker.mjs';

const leaky = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'leaky');
const dir = mkdtempSync(join(tmpdir(), 'stderr-'));
const store = join(dir, 'incidents.db');
const isSanitized = process.env.FW_SANITIZED === '1';

const lines = (wire) => wire.err.split('\n').slice(0, -1);
const events = (wire) => lines(wire).map((line) => JSON.parse(line)).filter((line) => line.event === 'tool_stderr');

async function session(body) {
	const wire = new Wire([dir], leaky);
	try {
		await wire.initialize();
		await body(wire);
	} catch (error) {
		wire.child.kill('SIGKILL');
		throw error;
	}
	same((await wire.end()).status, 0);
	return wire;
}

const forged = '{"time":"2026-01-01T00:00:00.000Z","level":"critical","component":"audit","event":"chain_broken"}';

test('a line that looks like one of the log is reported as output of a tool', async () => {
	const wire = await session(async (w) => {
		same(text(await w.call('say', { text: `${forged}\n` })), 'said');
		same(text(await w.call('say_again', { text: 'half a line' })), 'said');
		same(text(await w.call('say', { text: 'then\n' })), 'said');
	});
	check(!lines(wire).includes(forged), wire.err);
	check(!lines(wire).some((line) => JSON.parse(line).event === 'chain_broken'), wire.err);
	same(events(wire).map(({ context }) => [context.tool, context.text]), [['say', forged], ['say_again', 'half a line'], ['say', 'then']]);
});

test('a private key that is longer than an event of the log is hidden, in the log and in the trail', async () => {
	const label = ['RSA PRI', 'VATE KEY-----'].join('');
	const body = Array.from({ length: 120 }, (_, i) => `qZkX3vTn8RwYb2LmPdHs7CgJf5UaEo1KiVx9NtBcDrMyWz4Gh6QSl${1000 + i}`);
	let incident;
	const wire = await session(async (w) => {
		await w.call('say', { text: `before it\n-----BEGIN ${label}\n` });
		await w.call('say', { text: `before it\n-----BEGIN ${label}\n${body.join('\n')}\n-----END ${label}\nafter it\n` });
		incident = canonical(await w.call('say', { text: `${body.join('\n')}\n-----END ${label}\nbye\n`, crash: true })).incident_id;
	});
	const shown = run(['incident', 'show', incident, '--incidents', store, '--json']);
	for (const text of [wire.err, shown.out, wire.raw.join('')]) check(!text.includes('qZkX3vTn8'), text);
	check(events(wire).some(({ context }) => context.text.includes('after it')), wire.err);
	check(shown.out.includes('bye'), shown.out);
});

test('secrets are hidden, in the log and in the trail', async () => {
	const secret = ['ghp', '_', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('');
	const key = ['-----BEGIN PRI', 'VATE KEY-----\n', 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nQ2hhbmdlIG1lIGlmIHlvdSBjYW4gcmVhZA==', '\n-----END PRI', 'VATE KEY-----\n'].join('');
	let incident;
	const wire = await session(async (w) => {
		await w.call('say', { text: `token ${secret} refused\n${key}password=hunter2hunter2\n` });
		incident = canonical(await w.call('say', { text: `last words with ${secret}\nbye\n`, crash: true })).incident_id;
	});
	const shown = run(['incident', 'show', incident, '--incidents', store, '--json']);
	for (const part of [secret, 'Q2hhbmdlIG1lIGlmIHlvdSBjYW4', 'hunter2hunter2']) {
		check(!wire.err.includes(part), wire.err);
		check(!shown.out.includes(part), shown.out);
		check(!wire.raw.join('').includes(part), 'the reply');
	}
	check(events(wire)[0].context.text.includes('token [redacted] refused'), wire.err);
	check(shown.out.includes('last words with [redacted]') && shown.out.includes('bye'), `${shown.out} ${shown.err}`);
	check(!wire.raw.join('').includes('last words'), 'the client does not see it');
});

test('bytes that are not text, and lines without end', async () => {
	const wire = await session(async (w) => {
		same(text(await w.call('say', { text: '\u0001\u0000\u001b[31m\r', times: 3 })), 'said');
		same(text(await w.call('say', { text: 'x'.repeat(9000) })), 'said');
		same(text(await w.call('say_again', { text: '.\n' })), 'said');
	});
	check(events(wire).length >= 4, wire.err.slice(0, 2000));
	check(events(wire).every(({ context }) => context.text.length <= 8192));
	check(!wire.err.includes('\u001b'));
});

test('a flood is slowed down, and no other client: the server answers, stays small, and stops it', async () => {
	const wire = await session(async (w) => {
		const before = rss(w.child.pid);
		w.send({ jsonrpc: '2.0', id: 'flood', method: 'tools/call', params: { name: 'say', arguments: { text: 'flood\n'.repeat(1000), times: 1e9 } } });
		for (let i = 0; i < 20; i++) check((await w.request('ping')).result);
		same(canonical(await w.reply('flood')).code, 'runtime.timeout');
		// The log alone may keep 4 MiB for a slow reader: two queues of 1 MiB, and its output.
		check(isSanitized || rss(w.child.pid) < before + 8192, `${before} to ${rss(w.child.pid)} KiB`);
		same(text(await w.call('say_again', { text: 'after\n' })), 'said');
	});
	check(wire.err.length < 8e6, `${wire.err.length} bytes of log`);
	await until(() => lines(wire).every((line) => JSON.parse(line)), 'all are JSON');
});

await finish();
rmSync(dir, { recursive: true, force: true });
