// Codes that other tests do not reach: each by its condition.
//
// reaches: cli.usage, contract.malformed, contract.not_json, registry.code_unregistered
// reaches: registry.invalid_row, io.failed, io.no_space, io.too_many_files
// reaches: server.sandbox_unavailable, protocol.path_not_found, runtime.cancelled, internal.unsupported

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { spawnSync } from 'node:child_process';
import { bin, env, file, finish, lines, root, run, same, scratch, shell, skip, start, test } from './lib/cli.mjs';
import { serve } from './lib/http.mjs';

// The code of the last error that the program reports.
const told = (err) => JSON.parse(lines(err).at(-1)).code;
const convert = (input) => told(run(['--contract', 'canonical', 'convert', '--from', 'kaiza', '--to', 'canonical'], { input }).err);

test('cli.usage: an option that a command needs is missing', () => {
	same(told(run(['--contract', 'canonical', 'convert']).err), 'cli.usage');
});

test('contract.not_json, contract.malformed and registry.code_unregistered: what cannot be read', () => {
	same(convert('{"error_code":'), 'contract.not_json');
	same(convert('{"error_code":5}'), 'contract.malformed');
	same(convert('{"error_code":"NO_SUCH_CODE","human_message":"m"}'), 'registry.code_unregistered');
});

test('registry.invalid_row: a registry of one’s own with a row that lacks everything', () => {
	same(told(run(['--contract', 'canonical', 'registry', '--registry', file('rows.json', '[{"code":"acme.x"}]')]).err), 'registry.invalid_row');
});

test('io.failed: a read that the system fails', () => {
	if (!existsSync('/proc/self/mem')) skip('there is no /proc');
	same(told(run(['--contract', 'canonical', 'convert', '--to', 'kaiza', '/proc/self/mem']).err), 'io.failed');
});

test('io.no_space: the output is a full device', () => {
	if (!existsSync('/dev/full')) skip('there is no /dev/full');
	same(told(shell('faultwire --contract canonical registry >/dev/full').err), 'io.no_space');
});

test('io.too_many_files: a tree deeper than there are descriptors', () => {
	const deep = join(scratch(), 'deep', ...Array.from({ length: 40 }, (_, i) => `d${i}`));
	mkdirSync(deep, { recursive: true });
	writeFileSync(join(deep, 'a.md'), '# a\n');
	same(told(shell('ulimit -n 12; faultwire --contract canonical context build -s deep -c out').err), 'io.too_many_files');
});

test('server.sandbox_unavailable: a sandbox is required, and the kernel has none', () => {
	const without = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'no_landlock');
	const { status, stderr } = spawnSync(without, [bin, '--contract', 'kaiza', 'serve', '--sandbox', 'required', '--log', 'off'], { env: { ...env }, encoding: 'utf8' });
	const envelope = JSON.parse(lines(stderr).at(-1));
	same([status, envelope.error_code, envelope.cause.code], [1, 'BOOTSTRAP_FAILURE', 'server.sandbox_unavailable']);
});

test('internal.unsupported: a connection that this build does not have', () => {
	const { err } = run(['--contract', 'kaiza', 'serve', '--log', 'off', '--http', '127.0.0.1:0', '--limits-store', 'rediss://nowhere/0']);
	same(JSON.parse(lines(err).at(-1)).cause.code, 'internal.unsupported');
});

test('runtime.cancelled: an interrupt ends a build, which leaves nothing behind', async () => {
	mkdirSync(join(scratch(), 'many'));
	for (let i = 0; i < 3000; i++) writeFileSync(join(scratch(), 'many', `${i}.md`), `# ${i}\n`);
	// It is interrupted once its directory is there; on a fast disk it may be done before.
	for (let attempt = 0; attempt < 10; attempt++) {
		const name = `cancelled${attempt}`;
		const child = start(['--contract', 'canonical', 'context', 'build', '-s', join(scratch(), 'many'), '-c', join(scratch(), name)]);
		const exit = new Promise((done) => child.on('close', (status) => done(status)));
		let err = '';
		child.stderr.on('data', (bytes) => (err += bytes));
		while (child.exitCode === null && !readdirSync(scratch()).some((one) => one.startsWith(`.${name}.building`))) await new Promise((done) => setTimeout(done, 1));
		child.kill('SIGINT');
		if ((await exit) === 0) continue;
		same([told(err), readdirSync(scratch()).filter((one) => one.includes(name))], ['runtime.cancelled', []]);
		return;
	}
	skip('each build was done before the interrupt');
});

test('protocol.path_not_found: a request for a page that does not exist', async () => {
	const server = await serve();
	const answer = await fetch(`http://127.0.0.1:${server.port}/nope`);
	same([answer.status, (await answer.json()).code], [404, 'protocol.path_not_found']);
	await server.stop();
});

await finish();
