// What the system refuses is io_error, and what the cache breaks is
// cache_invalid: permissions for real, as a user who is not root; a disk that is
// full; a disk that cannot be read.

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, has, same, skip, test } from './lib/cli.mjs';
import { assertError, assertText, cacheRoot, end, errorText, place, statuses, stdio } from './lib/context.mjs';

const nobody = 65534;
const { dir, root, docs, sources } = cacheRoot();
const here = place();
const program = join(here, 'faultwire');

chmodSync(dir, 0o755);
chmodSync(here, 0o755);
copyFileSync(bin, program);
chmodSync(program, 0o755);

const isRoot = process.getuid() === 0;
const can = isRoot && has('setpriv');
const drop = ['--reuid', `${nobody}`, '--regid', `${nobody}`, '--clear-groups', '--no-new-privs'];
// As nobody where we are root; as ourselves where we are not, which is the same.
function as(args) {
	if (!can && isRoot) skip('root, and no setpriv to be somebody else with');
	const [command, list] = can ? ['setpriv', [...drop, program, ...args]] : [program, args];
	const result = spawnSync(command, list, { env, cwd: here });
	return { status: result.status, out: result.stdout.toString(), err: result.stderr.toString() };
}
const resolve = (cache) => as(['context', 'resolve', '--cache', cache, '--query', 'guide', '--budget', '100']);
const fails = (result, code, what) => same([result.status, result.out, result.err], [statuses[code], '', errorText(code)], what);

test('every file and folder of a cache, taken away from the reader, is io_error', () => {
	same(resolve(docs).status, 0);
	const files = ['.', 'manifest.json', 'index.json', 'documents', ...readdirSync(join(docs, 'documents')).map((name) => join('documents', name))];
	for (const file of files) {
		const path = join(docs, file);
		const { mode } = statSync(path);
		for (const less of statSync(path).isDirectory() ? [0, 0o444, 0o111] : [0]) {
			chmodSync(path, less);
			const result = resolve(docs);
			chmodSync(path, mode);
			fails(result, 'io_error', `${file} ${less.toString(8)}`);
		}
	}
	chmodSync(root, 0);
	const result = resolve(docs);
	chmodSync(root, 0o755);
	fails(result, 'io_error', 'the root');
	same(resolve(docs).status, 0);
});

test('a missing cache stays cache_invalid or cache_missing for every client', () => {
	cpSync(docs, join(root, 'less'), { recursive: true });
	spawnSync('rm', [join(root, 'less', 'index.json')]);
	fails(resolve(join(root, 'less')), 'cache_invalid');
	fails(resolve(join(root, 'nothing')), 'cache_missing');
});

test('a server notices that a cache was taken away and given back', async () => {
	if (!can && isRoot) skip('root, and no setpriv to be somebody else with');
	const launcher = join(here, 'launch');
	writeFileSync(launcher, `#!/bin/sh\nHOME=${here} exec ${can ? `setpriv ${drop.join(' ')}` : ''} ${program} "$@"\n`, { mode: 0o755 });
	mkdirSync(join(here, '.local'));
	chownSync(join(here, '.local'), can ? nobody : process.getuid(), can ? nobody : process.getgid());
	const server = await stdio(root, { program: launcher });
	const args = { cache: 'docs', query: 'guide', budget: 100 };
	const good = assertText(await server.call('context.resolve', args), 'before');
	for (const path of [join(docs, 'manifest.json'), join(docs, 'documents'), join(docs, 'documents', readdirSync(join(docs, 'documents'))[0]), docs, root]) {
		const { mode } = statSync(path);
		chmodSync(path, 0);
		const resolved = await server.call('context.resolve', args);
		const inspected = await server.call('context.inspect_cache', { cache: 'docs' });
		const listed = path === root || path === docs ? await server.call('context.list_caches', {}) : undefined;
		chmodSync(path, mode);
		assertError(resolved, 'io_error', path);
		assertError(inspected, 'io_error', path);
		if (listed) assertError(listed, 'io_error', path);
		same(assertText(await server.call('context.resolve', args), path), good);
	}
	await server.end();
});

test('build: sources that cannot be read, a place that cannot be written: io_error, nothing left', () => {
	const mine = place();
	chmodSync(mine, 0o755);
	cpSync(sources, join(mine, 's'), { recursive: true });
	const build = () => as(['context', 'build', '--json', '--sources', join(mine, 's'), '--cache', join(mine, 'out', 'c')]);
	mkdirSync(join(mine, 'out'));
	if (!can) chmodSync(join(mine, 'out'), 0o555);
	fails(build(), 'io_error', 'no place');
	chmodSync(join(mine, 'out'), 0o777);
	for (const path of [join(mine, 's', 'long.md'), join(mine, 's', 'guides'), join(mine, 's')]) {
		const { mode } = statSync(path);
		chmodSync(path, 0);
		const result = build();
		chmodSync(path, mode);
		fails(result, 'io_error', path);
		same(readdirSync(join(mine, 'out')), []);
	}
	same(build().status, 0);
});

// Mounts of our own, in a name space that ends with the command.
function mounted(script) {
	const result = spawnSync('unshare', ['-m', 'sh', '-ec', script], { env, cwd: here });
	return { status: result.status, out: result.stdout.toString(), err: result.stderr.toString() };
}
const canMount = isRoot && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', here]).status === 0;

test('build: a disk that is full is io_error, and nothing is left', () => {
	if (!canMount) skip('mounting is not allowed here');
	mkdirSync(join(here, 'small'));
	const result = mounted(`mount -t tmpfs -o size=32k none small; status=0
		${program} context build --json --sources '${sources}' --cache small/c 2>err || status=$?
		cat err >&2; ls -A small; exit $status`);
	same([result.status, result.out, result.err], [6, '', errorText('io_error')]);
});

test('a read that fails with EIO is io_error', () => {
	if (!canMount) skip('mounting is not allowed here');
	for (const file of ['manifest.json', 'index.json', `documents/${readdirSync(join(docs, 'documents'))[0]}`]) {
		// A regular file, of which no byte can be read.
		const result = mounted(`mount --bind /proc/self/mem '${join(docs, file)}'; exec ${program} context resolve --cache '${docs}' --query guide --budget 100`);
		check(/./.test(result.err), 'something is reported');
		fails(result, 'io_error', file);
	}
});

await end();
