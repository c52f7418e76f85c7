// Repositories and arguments that are made to do harm: each is an error that says what it is, or simply not shown; nothing is
// run, nothing outside is read, and the server answers afterwards. FW_LONG=1: a million files, and larger bombs.

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, match, same, scratch, test } from './lib/cli.mjs';
import { awaitIndex, end, isLong, repository, serve, useState, write } from './lib/code.mjs';
import { git } from './lib/history.mjs';
import { modern } from './lib/mcp.mjs';

const secret = repository({ 'secret.txt': 'the-secret-line\n', 'below/more.txt': 'the-secret-line\n' });
const modes = [['off'], ['on']];

// With the index and without it.
async function both(dir, judge, ...args) {
	for (const [index] of modes) {
		useState();
		const server = await serve(dir, '--search-index', index, ...args);
		if (index === 'on') await awaitIndex((facts) => ['ready', 'unwatched'].includes(facts.state)); // a tree that is too deep has none
		await judge(server);
		same((await server.call('list_paths', { max_results: 1 })).items.length, 1, 'the server answers');
		await server.end();
	}
}
const found = async (server, query, more = {}) => (await server.call('search_text', { query, ...more })).matches.map((one) => one.path);

test('links out of the repository, loops, pipes and sockets', async () => {
	const dir = repository({ 'a.txt': 'inside\n' });
	symlinkSync(join(secret, 'secret.txt'), join(dir, 'file-out'));
	symlinkSync(secret, join(dir, 'folder-out'));
	symlinkSync('../'.repeat(30) + join(secret, 'secret.txt').slice(1), join(dir, 'relative-out'));
	symlinkSync('/proc/self/environ', join(dir, 'environment'));
	symlinkSync('/proc/self/root', join(dir, 'root'));
	symlinkSync('loop', join(dir, 'loop'));
	execFileSync('mkfifo', [join(dir, 'pipe')]);
	await both(dir, async (server) => {
		for (const path of ['file-out', 'relative-out', 'environment', 'folder-out/secret.txt', 'root/etc/passwd']) {
			const { error } = await server.fail('open_file', { path }, 'forbidden', 403);
			check(!error.includes(secret) && !error.includes('secret-line'), error);
		}
		for (const path of ['loop', 'pipe']) match((await server.wire.call('open_file', { path }, modern)).result.structuredContent.problem.code, /invalid|forbidden|path|file-operation-failed/);
		same(await found(server, 'secret-line'), []);
		same(await found(server, 'inside'), ['a.txt']);
		same((await server.call('list_paths')).items.map((item) => item.path), ['a.txt']);
		for (const paths of [['folder-out'], ['root/etc']]) await server.fail('search_text', { query: 'secret-line', paths }, 'forbidden', 403);
		await server.fail('list_paths', { path: 'folder-out' }, 'forbidden', 403);
	});
});

test('path tricks', async () => {
	const dir = repository({ 'a.txt': 'x\n' });
	await both(dir, async (server) => {
		for (const path of ['../a.txt', 'x/../../a', '/etc/passwd', '//etc/passwd', `${dir}/../x`, './../x']) await server.fail('open_file', { path }, 'forbidden', 403);
		for (const path of ['a\nb', 'a\u0001', 'x/'.repeat(3000), '\u007f']) await server.fail('open_file', { path }, 'invalid-parameter', 400);
		for (const path of ['a.txt/b', '~/x', '$HOME', 'C:\\x', '%2e%2e/x', '..%2fx', '．．/x']) await server.fail('open_file', { path }, 'file-not-found', 404);
		await server.fail('open_file', { path: '.' }, 'file-operation-failed', 400);
		await server.fail('open_file', { path: '' }, 'invalid-parameter', 400);
	});
});

test('names with newlines, invalid UTF-8 and control characters are not shown and do no harm', async () => {
	const dir = repository({ 'good.txt': 'needle\n' });
	execFileSync('bash', ['-c', String.raw`for n in $'new\nline' $'bad\xff\xfe' $'esc\x1b[31m' $'tab\t' '"quote"' 'back\slash' '-rf' ' '; do echo needle >"./$n"; done; mkdir $'d\xff'; echo needle >$'d\xff/x'`], { cwd: dir });
	await both(dir, async (server) => {
		same(await found(server, 'needle'), [' ', '"quote"', '-rf', 'back\\slash', 'good.txt']);
		same((await server.call('list_paths')).items.map((item) => item.path), [' ', '"quote"', '-rf', 'back\\slash', 'good.txt']);
		same((await server.call('open_file', { path: '"quote"' })).content, 'needle\n');
	});
});

test('expressions that explode', async () => {
	const dir = repository({ 'a.txt': `${'a'.repeat(60)}!\n${'ab'.repeat(5000)}\n`, 'b.txt': 'x'.repeat(100000) });
	const bombs = ['(a+)+$', '(a|a)*b$', '(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*)*\\1z', '(?:a?){60}a{60}z', '(((((a*)*)*)*)*)*b', '(?<x>a(?&x)?)+z', '(?R)?a(?R)?z', 'x*x*x*x*x*x*x*y'];
	const invalid = ['(((a{1000}){1000}){1000}){1000}', '('.repeat(4000), '(?<=a+)b', '(?(?=a)b|c|d)', '[', '\\p{Nonsense}', '(*NO_SUCH)', '(?P<n>a)(?P<n>b)', '\\k<none>', 'a{99999}'];
	useState();
	const server = await serve(dir, '--search-index', 'on');
	for (const query of bombs) {
		const { result } = await server.wire.call('search_text', { query, regex: true }, modern);
		if (result.isError) match(JSON.stringify([result.structuredContent.problem.code, result.structuredContent.problem.status]), /invalid-parameter",400|vector-search-error",503/, query);
	}
	for (const query of invalid) await server.fail('search_text', { query, regex: true }, 'invalid-parameter', 400);
	await server.fail('search_text', { query: 'x'.repeat(5000) }, 'input-too-large', 413);
	same((await server.call('search_text', { query: 'ab' })).total, 1);
	await server.end();
});

test('ignore rules that explode', async () => {
	const dir = repository({ 'a.txt': 'needle\n' });
	const pattern = `${'*a'.repeat(60)}b`;
	write(dir, { '.gitignore': `${pattern}\n**/**/**/**/**/**/**/x\n[${'a-'.repeat(1000)}\n${'{a,'.repeat(500)}\n${'!'.repeat(100)}\n`.repeat(20), [`${'a'.repeat(200)}.txt`]: 'needle\n' });
	await both(dir, async (server) => same((await found(server, 'needle')).length, 2));
	const server = await serve(dir);
	same((await server.call('list_paths', { include_globs: [`${'*a'.repeat(40)}*b`] })).total, 0);
	await server.end();
});

test('huge files, long lines, deep folders', async () => {
	const dir = repository({ 'a.txt': 'needle\n' });
	writeFileSync(join(dir, 'sparse.txt'), 'needle\n');
	truncateSync(join(dir, 'sparse.txt'), isLong ? 8 * 2 ** 30 : 64 * 2 ** 20);
	writeFileSync(join(dir, 'line.txt'), `${'x'.repeat(6 * 2 ** 20)}needle`);
	let deep = '';
	for (let i = 0; i < 300; i++) deep += 'd/';
	execFileSync('bash', ['-c', 'for i in $(seq 300); do mkdir d && cd d; done; echo needle >deep.txt'], { cwd: dir });
	await both(dir, async (server) => {
		const result = await server.call('search_text', { query: 'needle' });
		same(result.matches.map((one) => [one.path, one.column]), [['a.txt', 1], ['line.txt', 6 * 2 ** 20 + 1]]);
		check([...result.matches[1].preview].length <= 200);
		await server.fail('open_file', { path: 'line.txt' }, 'file-too-large', 413);
		await server.fail('open_file', { path: 'sparse.txt', start_line: 2, end_line: 3 }, 'unsupported-encoding', 415);
		same((await server.call('list_paths')).truncated, true, 'the depth has a limit');
		same((await server.call('list_paths')).items.every((item) => !item.path.includes(deep)), true);
	});
});

test(`${isLong ? 'a million' : '5,000'} files in a folder`, async () => {
	const count = isLong ? 1000000 : 5000;
	const dir = repository({ 'z.txt': 'needle\n' });
	mkdirSync(join(dir, 'many'));
	execFileSync('bash', ['-c', `seq 1 ${count} | xargs touch`], { cwd: join(dir, 'many') });
	await both(dir, async (server) => {
		const { total, items, truncated } = await server.call('list_paths', { path: 'many' });
		same([total, items.length, truncated], [count, 1000, true]);
		same(items.slice(0, 2).map((item) => item.path), ['many/1', 'many/10'], 'in the order of the paths');
		same(await found(server, 'needle'), ['z.txt']);
	}, ...(isLong ? ['--search-timeout', '600000', '--deadline', '900'] : []));
	// The time limit holds inside of the folder, too.
	const hurried = await serve(dir, '--search-index', 'off', '--search-timeout', '1');
	if (isLong) await hurried.fail('search_text', { query: 'needle' }, 'vector-search-error', 503, 'Search timeout');
	await hurried.end();
});

test('a hostile repository: settings, objects that unpack to much, trees that repeat', async () => {
	const dir = repository({ 'a.txt': 'one\ntwo\n' });
	git(dir, 'init', '-q');
	writeFileSync(join(dir, 'bomb.txt'), Buffer.alloc((isLong ? 900 : 10) * 2 ** 20, 'a\n'));
	git(dir, 'add', '-A');
	git(dir, 'commit', '-qm', 'first');
	// Ten entries per level that are all the same tree: 10^n files in n objects.
	let tree = git(dir, 'rev-parse', 'HEAD^{tree}').trim();
	for (let i = 0; i < (isLong ? 9 : 3); i++)
		tree = execFileSync('git', ['mktree'], { cwd: dir, input: Array.from({ length: 10 }, (_, j) => `040000 tree ${tree}\td${j}\n`).join(''), encoding: 'utf8' }).trim();
	git(dir, 'update-ref', 'HEAD', git(dir, 'commit-tree', '-m', 'bomb', '-p', 'HEAD', tree).trim());
	const sign = join(dir, 'pwned');
	writeFileSync(join(dir, 'run.sh'), `#!/bin/sh\ntouch ${sign}\n`);
	chmodSync(join(dir, 'run.sh'), 0o755);
	execFileSync('sh', ['-c', `printf '[includeIf "gitdir:/"]\n\tpath = ${join(secret, 'secret.txt')}\n[core]\n\tworktree = ${secret}\n\tfsmonitor = ${join(dir, 'run.sh')}\n[alias]\n\tcat-file = !${join(dir, 'run.sh')}\n\tcommit-graph = !${join(dir, 'run.sh')}\n' >>.git/config`], { cwd: dir });
	const deep = `${'d0/'.repeat(isLong ? 9 : 3)}`;
	const server = await serve(dir);
	for (const [tool, args] of [['blame_range', { path: `${deep}a.txt`, start_line: 1, end_line: 2 }], ['file_history', { path: `${deep}a.txt` }], ['blame_range', { path: `${deep}bomb.txt`, start_line: 1, end_line: 2 }],
		['blame_range', { path: 'secret.txt', start_line: 1, end_line: 1 }], ['file_history', { path: 'secret.txt' }]]) {
		const { result } = await server.wire.call(tool, args, modern);
		if (result.isError) match(result.structuredContent.problem.code, /git-operation-error|file-not-found/);
		check(!JSON.stringify(result).includes('the-secret-line'), 'nothing outside is read');
	}
	check(!existsSync(sign), 'something was run');
	same((await server.call('open_file', { path: 'a.txt' })).lines, 2, 'the server answers');
	await server.end();
});

test('a file that changes while it is read, and a repository that disappears', async () => {
	const dir = mkdtempSync(join(scratch(), 'going-'));
	write(dir, Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}.txt`, `needle ${i}\n`.repeat(100)])));
	linkSync(join(dir, 'f1.txt'), join(dir, 'twin.txt'));
	const server = await serve(dir, '--search-index', 'on');
	const running = Array.from({ length: 20 }, () => server.wire.call('search_text', { query: 'needle' }, modern));
	for (let i = 0; i < 50; i++) truncateSync(join(dir, `f${i}.txt`), i);
	for (const { result } of await Promise.all(running)) check(!result.isError, JSON.stringify(result).slice(0, 200));
	execFileSync('rm', ['-rf', dir]);
	const { result } = await server.wire.call('search_text', { query: 'needle' }, modern);
	check(result.isError ? result.structuredContent.problem.status === 404 : result.structuredContent.total === 0, JSON.stringify(result).slice(0, 300));
	await server.end();
	same(readFileSync(join(secret, 'secret.txt'), 'utf8'), 'the-secret-line\n');
});

await end();
