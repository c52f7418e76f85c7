// What a server says and does where the kernel lacks a part of the sandbox: with
// Landlock taken away from it for real.

import { spawn, spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { bin, check, finish, match, root, same, skip, test } from './lib/cli.mjs';

const build = resolve(process.env.FW_BUILD ?? join(root, 'build'));
const without = join(build, 'no_landlock');
const missing = 'no rules for files (Landlock, Linux 5.13)';
const run = (command, ...args) => spawnSync(command, args, { input: '', encoding: 'utf8' });
const filters = spawnSync(without, ['true']).status === 0;

// Ready or not: what an HTTP server says at its start, and on /readyz.
async function readiness(command, ...args) {
	const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
	const ended = new Promise((done) => child.on('exit', done));
	let err = '';

	try {
		const url = await new Promise((found, lost) => {
			child.stderr.on('data', (bytes) => {
				err += bytes;
				const here = err.match(/http:\/\/[^/\s]+/);
				if (here) found(here[0]);
			});
			child.on('exit', () => lost(new Error(err)));
		});
		const reply = await fetch(`${url}/readyz`);
		return { err, status: reply.status, text: await reply.text() };
	} finally {
		child.kill('SIGTERM');
		await ended;
	}
}

test('required: the server does not start, and says what is missing', () => {
	if (!filters) skip('no filter of system calls');
	const { status, stderr } = run(without, bin, 'serve', '--sandbox', 'required');

	same(status !== 0, true, 'it fails');
	match(stderr, /sandbox is required and this system lacks a part of it: no rules for files \(Landlock, Linux 5\.13\)/);
	match(stderr, /hint: /);
});

test('best effort: it starts, and says so at once and on /readyz', async () => {
	if (!filters) skip('no filter of system calls');
	const { err, status, text } = await readiness(without, bin, 'serve', '--http', '127.0.0.1:0', '--sandbox', 'best-effort');

	check(err.includes(`sandbox: ${missing}`), err);
	same(status, 200);
	check(text.includes(`sandbox: ${missing}`), text);
	check(text.includes(`sandbox: server: ${missing}`), text);
});

test('off: nothing is missing', async () => {
	if (!filters) skip('no filter of system calls');
	const { err, text } = await readiness(without, bin, 'serve', '--http', '127.0.0.1:0', '--sandbox', 'off');

	check(!err.includes(missing) && !text.includes(missing), err + text);
});

test('a path that is not there keeps a server from starting, with its name', () => {
	const { status, stderr } = run(join(build, 'escape'), '--stdio', '--sandbox', 'best-effort', '--read', '/nowhere/at/all', '--write', '/tmp');

	same([status, stderr], [1, 'escape: cannot open a path that workers may read: File not found: /nowhere/at/all\n']);
});

await finish();
