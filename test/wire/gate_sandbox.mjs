// Programs behind the gateway in a sandbox: they read and write what they are given, and nothing else.

import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin as faultwire, run, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const place = mkdtempSync(join(scratch(), 'sandbox-'));
const node = process.execPath;
for (const name of ['read', 'write', 'secret']) {
	mkdirSync(join(place, name));
	writeFileSync(join(place, name, 'file'), name);
}
const program = join(place, 'read', 'server.cjs');
writeFileSync(
	program,
	`const fs = require('fs');
	const { execFileSync } = require('child_process');
	const tools = {
		read: ({ path }) => fs.readFileSync(path, 'utf8'),
		write: ({ path }) => fs.writeFileSync(path, 'new') ?? 'written',
		child: ({ path }) => execFileSync('/bin/cat', [path], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
		fetch: async ({ url }) => (await fetch(url)).status + '',
	};
	require('readline').createInterface({ input: process.stdin }).on('line', async (line) => {
		const { id, method, params } = JSON.parse(line);
		const send = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
		if (method === 'initialize') return send({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
		if (method !== 'tools/call') return;
		try { send({ content: [{ type: 'text', text: await tools[params.name](params.arguments) }] }); }
		catch (error) { send({ isError: true, content: [{ type: 'text', text: String(error.code ?? error.cause?.code ?? error) }] }); }
	});`,
);

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', ...args, '--', node, program], faultwire);
	await wire.initialize();
	return wire;
}

const given = ['--sandbox-read', join(place, 'read'), '--sandbox-write', join(place, 'write'), '--sandbox-read', dirname(node)];
// Does the kernel have Landlock, and does it restrict TCP?
const probe = run(['gate', ...quiet, '--sandbox', 'required', '--', '/bin/true'], { input: '' });
const has = !/sandbox_unavailable|Landlock/.test(probe.err);

test('a program reads and writes what is named, and its children do not get further', { skip: !has && 'the kernel has no Landlock' }, async () => {
	const wire = await started('--sandbox', 'required', ...given);
	const call = async (name, args) => (await wire.call(name, args)).result;
	const ok = async (name, args) => {
		const { isError, content } = await call(name, args);
		assert.ok(!isError, content[0].text);
		return content[0].text;
	};
	assert.equal(await ok('read', { path: join(place, 'read/file') }), 'read');
	assert.equal(await ok('write', { path: join(place, 'write/file') }), 'written');
	assert.equal(readFileSync(join(place, 'write/file'), 'utf8'), 'new');
	assert.equal(await ok('child', { path: join(place, 'read/file') }), 'read');
	for (const [tool, path] of [
		['read', 'secret/file'],
		['write', 'secret/file'],
		['write', 'read/file'],
		['write', 'read/new'],
	]) {
		const { isError, content } = await call(tool, { path: join(place, path) });
		assert.ok(isError, path);
		assert.equal(content[0].text, 'EACCES', path);
	}
	assert.ok((await call('child', { path: join(place, 'secret/file') })).isError);
	assert.equal(readFileSync(join(place, 'secret/file'), 'utf8'), 'secret');
	await wire.end();
	// Without it nothing is restricted.
	const free = await started();
	assert.equal(text(await free.call('read', { path: join(place, 'secret/file') })), 'secret');
	await free.end();
});

test('TCP is allowed, unless it is offline', { skip: !has && 'the kernel has no Landlock' }, async () => {
	const server = await web((req, res, { id }) => words(res, id, 'x'));
	const online = await started('--sandbox', 'best-effort', ...given);
	assert.equal(text(await online.call('fetch', { url: server.url })), '405');
	await online.end();
	const offline = await started('--sandbox', 'best-effort', '--sandbox-offline', ...given);
	const { isError, content } = (await offline.call('fetch', { url: server.url })).result;
	// Kernels before Landlock 4 cannot refuse it.
	if (isError) assert.equal(content[0].text, 'EACCES');
	else assert.equal(content[0].text, '405');
	await offline.end();
	await server.stop();
});

test('a program outside of what is named does not start, and says why', { skip: !has && 'the kernel has no Landlock' }, async () => {
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--sandbox', 'required', '--', node, join(place, 'secret', 'none.cjs')], faultwire);
	await wire.initialize();
	const { code, delivery } = canonical(await wire.call('x'));
	assert.deepEqual([code, delivery], ['upstream.start_failed', 'not_sent']);
	await wire.end();
});

test('a program whose files the sandbox refuses is not called broken: the hint names the option', { skip: !has && 'the kernel has no Landlock' }, async () => {
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--sandbox', 'required', '--', node, join(place, 'secret', 'file')], faultwire);
	await wire.initialize();
	const error = canonical(await wire.call('read', {}));
	assert.equal(error.code, 'upstream.start_failed');
	assert.match(error.hint, /permit it with --sandbox-read/);
	await wire.end();
});

test('options that cannot be used are refused at start', () => {
	assert.equal(run(['gate', '--sandbox-read', place, '--', 'true']).status, 2);
	assert.equal(run(['gate', '--sandbox', 'maybe', '--', 'true']).status, 2);
	if (has) {
		const { status, err } = run(['--contract', 'canonical', 'gate', ...quiet, '--sandbox', 'required', '--sandbox-read', join(place, 'nowhere'), '--', 'true']);
		assert.equal(status, 1);
		assert.match(JSON.parse(err).message, /nowhere/);
	} else {
		assert.equal(JSON.parse(run(['--contract', 'canonical', 'gate', ...quiet, '--sandbox', 'required', '--', 'true']).err).code, 'server.sandbox_unavailable');
	}
});
