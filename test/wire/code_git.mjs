// blame_range and file_history: equal to git's own answers on a generated history with renames,
// merges and a mailmap (FW_LONG=1: 200 files); every kind of repository; and repositories whose
// configuration would run programs.
// reaches: git.operation_failed

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, match, same, scratch, test } from './lib/cli.mjs';
import { end, isLong, repository, serve, write } from './lib/code.mjs';
import { blameOf, clean, git, history, logOf } from './lib/history.mjs';

const { dir, paths } = history(isLong ? 200 : 20, isLong ? 400 : 40);
const server = await serve(dir);
const { call, fail } = server;

test(`blame_range equals git blame, file_history equals git log --follow: ${paths.length} files with renames and merges`, async () => {
	let renamed = 0;
	for (const path of [...paths, 'only-main.txt', 'long.txt', '.mailmap']) {
		const { blame } = await call('blame_range', { path, start_line: 1, end_line: 1000 });
		same(blame.map((row) => [row.line, row.commit, row.author, Date.parse(row.date), row.message]), blameOf(dir, path, 1, 1000), path);
		const { commits } = await call('file_history', { path });
		same(commits.map((row) => [row.sha, row.full_sha, row.author, row.email, row.date, row.message]), logOf(dir, path, 50), path);
		renamed += path.startsWith('moved/') && commits.length > 1;
	}
	check(renamed > 2, `${renamed} renamed files`);
	same((await call('blame_range', { path: paths[0], start_line: 2, end_line: 3 })).blame.map((row) => row.line), [2, 3]);
	same((await call('file_history', { path: 'only-main.txt', limit: 2 })).commits.length, 2);
});

test('dates are those of %aI; the mailmap applies', async () => {
	const { commits } = await call('file_history', { path: '.mailmap' });
	const { blame } = await call('blame_range', { path: '.mailmap', start_line: 1, end_line: 1 });
	same(blame[0].date.replace('Z', '+00:00'), git(dir, 'log', '-1', '--format=%aI', '--', '.mailmap').trim().replace('Z', '+00:00'));
	same(commits[0].full_sha, blame[0].commit);
	check(JSON.stringify(await call('file_history', { path: paths[0] })).includes('Ada Lovelace') || paths.length < 2 ||
		JSON.stringify(await call('file_history', { path: 'only-main.txt' })).includes('Ada Lovelace'));
});

test('a file that a merge created has that merge as its history', async () => {
	const own = repository({ 'a.txt': 'a\n' });
	git(own, 'init', '-q', '-b', 'main', '.');
	git(own, 'add', '-A');
	git(own, 'commit', '-qm', 'first');
	git(own, 'checkout', '-qb', 'side');
	git(own, 'commit', '-q', '--allow-empty', '-m', 'beside');
	git(own, 'checkout', '-q', 'main');
	git(own, 'commit', '-q', '--allow-empty', '-m', 'ahead');
	git(own, 'merge', '-q', '--no-ff', '--no-commit', 'side');
	write(own, { 'made.txt': 'by the merge\n' });
	git(own, 'add', '-A');
	git(own, 'commit', '-qm', 'merge');
	same(logOf(own, 'made.txt', 50), [], 'git log --follow lists no merges');
	const other = await serve(own);
	const { commits } = await other.call('file_history', { path: 'made.txt' });
	same(commits.map((row) => [row.full_sha, row.message]), [[git(own, 'rev-parse', 'HEAD').trim(), 'merge']]);
	await other.end();
});

test('ranges that are none', async () => {
	const range = (start_line, end_line, error) => fail('blame_range', { path: paths[0], start_line, end_line }, 'invalid-parameter', 400, error);
	same((await range(0, 3, 'start_line must be a positive integer')).problem.extensions, { path: paths[0], start_line: 0, end_line: 3 });
	await range(1, 0, 'end_line must be a positive integer');
	await range(4, 3, 'start_line must be less than or equal to end_line');
	await range(1, 5001, 'a range has at most 5000 lines');
	match((await range(1000, 1001)).error, /^start_line is beyond the end: the file has only \d+ lines?$/);
	await fail('blame_range', { path: paths[0] }, 'invalid-parameter', 400);
	await fail('file_history', { path: paths[0], limit: 0 }, 'invalid-parameter', 400, 'limit must be a positive integer');
});

test('paths: missing, never committed, outside, and names that look like options or patterns', async () => {
	write(dir, { 'new.txt': 'x\n' });
	for (const [tool, args] of [['blame_range', { start_line: 1, end_line: 1 }], ['file_history', {}]]) {
		await fail(tool, { path: 'missing.txt', ...args }, 'file-not-found', 404, 'File not found: missing.txt');
		same((await fail(tool, { path: 'new.txt', ...args }, 'git-operation-error', 500, 'git failed: the path has no commits')).problem.extensions,
			{ path: 'new.txt', git_command: tool === 'blame_range' ? 'blame' : 'log' });
		await fail(tool, { path: '../x', ...args }, 'forbidden', 403);
		await fail(tool, { path: '/etc/passwd', ...args }, 'forbidden', 403);
		for (const path of ['--output=/tmp/x', ':(top)*', '*', 'HEAD']) await fail(tool, { path, ...args }, 'file-not-found', 404);
	}
	// A file that was deleted has a history.
	rmSync(join(dir, 'new.txt'));
	git(dir, 'rm', '-q', 'long.txt');
	git(dir, 'commit', '-qm', 'remove');
	same((await call('file_history', { path: 'long.txt' })).commits[0].message, 'remove');
});

const small = (...init) => {
	const at = repository({ 'a.txt': 'one\ntwo\n' });
	git(at, 'init', '-q', ...init);
	git(at, 'add', '-A');
	git(at, 'commit', '-qm', 'first');
	return at;
};
async function both(at, path = 'a.txt', ...args) {
	const own = await serve(at, ...args);
	const { blame } = await own.call('blame_range', { path, start_line: 1, end_line: 2 });
	const { commits } = await own.call('file_history', { path });
	same([blame.length, commits[0].full_sha], [2, blame[0].commit]);
	await own.end();
	return commits;
}

test('ordinary, bare, worktree, submodule, shallow and sha256 repositories', async () => {
	const plain = small();
	await both(plain);
	const bare = mkdtempSync(join(scratch(), 'bare-'));
	git(bare, 'clone', '-q', '--bare', plain, '.');
	await both(bare);
	const tree = join(scratch(), 'worktree');
	git(plain, 'worktree', 'add', '-q', tree);
	await both(tree);
	const outer = small();
	git(outer, 'submodule', 'add', '-q', plain, 'sub');
	await both(join(outer, 'sub'));
	git(plain, 'commit', '-q', '--allow-empty', '-m', 'second');
	const shallow = mkdtempSync(join(scratch(), 'shallow-'));
	git(shallow, 'clone', '-q', '--depth', '1', `file://${plain}`, '.');
	same((await both(shallow)).length, 1);
	same((await both(small('--object-format=sha256')))[0].full_sha.length, 64);
	await both([`x=${plain}`, `y=${bare}`], 'y/a.txt');
	await both(plain, 'a.txt', '--run', 'thread');
});

const broken = async (at, reason, ...args) => {
	const own = await serve(at, ...args);
	for (const [tool, more, command] of [['blame_range', { start_line: 1, end_line: 1 }, 'blame'], ['file_history', {}, 'log']]) {
		const { error, problem } = await own.fail(tool, { path: 'a.txt', ...more }, 'git-operation-error', 500);
		match(error, reason);
		same(problem.extensions, { path: 'a.txt', git_command: command });
		check(!JSON.stringify(problem).includes(scratch()), 'no absolute path');
	}
	await own.end();
};

test('no repository, a repository above, an unborn branch, damaged objects', async () => {
	await broken(repository({ 'a.txt': 'x\n' }), /not a git repository/);
	const outer = small();
	write(outer, { 'below/a.txt': 'x\n' });
	await broken(join(outer, 'below'), /not a git repository/);
	const unborn = repository({ 'a.txt': 'x\n' });
	git(unborn, 'init', '-q');
	await broken(unborn, /the branch has no commits/);
	const damaged = small();
	for (const folder of readdirSync(join(damaged, '.git/objects')).filter((name) => name.length === 2))
		for (const name of readdirSync(join(damaged, '.git/objects', folder))) {
			chmodSync(join(damaged, '.git/objects', folder, name), 0o644);
			writeFileSync(join(damaged, '.git/objects', folder, name), 'garbage');
		}
	await broken(damaged, /^git failed: /);
	const nonsense = small();
	writeFileSync(join(nonsense, '.git/config'), '[core\nnonsense');
	await broken(nonsense, /^git failed: /);
});

test('a damaged object of a worktree or a submodule: the error does not say where the repository is', async () => {
	const main = small();
	const tree = join(scratch(), 'damaged-worktree');
	git(main, 'worktree', 'add', '-q', tree);
	const outer = small();
	git(outer, 'submodule', 'add', '-q', main, 'sub');
	for (const [at, objects] of [[tree, join(main, '.git/objects')], [join(outer, 'sub'), join(outer, '.git/modules/sub/objects')]]) {
		const head = git(at, 'rev-parse', 'HEAD').trim();
		const file = join(objects, head.slice(0, 2), head.slice(2));
		chmodSync(file, 0o644);
		writeFileSync(file, '');
		await broken(at, /^git failed: /);
	}
});

test('git is missing', async () => {
	const saved = process.env.PATH;
	process.env.PATH = '/nonexistent';
	try {
		await broken(small(), /the git program cannot be started/);
	} finally {
		process.env.PATH = saved;
	}
});

// Answers as git 1.7 and git 2.0 do to options that they do not know.
for (const [version, answer, status] of [['1.7', 'Unknown option: --literal-pathspecs\nusage: git [--version] [--exec-path[=<path>]]', 129], ['2.0', 'fatal: unrecognized argument: --no-such-option', 128]])
	test(`git is too old: ${version}`, async () => {
		const dir = repository();
		writeFileSync(join(dir, 'git'), `#!/bin/sh\nprintf '%s\\n' '${answer.replace('\n', "' '")}' >&2\nexit ${status}\n`, { mode: 0o755 });
		const saved = process.env.PATH;
		const at = small();
		process.env.PATH = `${dir}:${saved}`;
		try {
			await broken(at, /the git program is too old: (Unknown option: --literal-pathspecs|unrecognized argument)/, '--sandbox', 'off'); // which would not let this one be run
		} finally {
			process.env.PATH = saved;
		}
	});

test('a hostile repository is only data: nothing that its configuration names is run', async () => {
	const at = small();
	const sign = join(at, 'pwned');
	const run = join(at, 'run.sh');
	writeFileSync(run, `#!/bin/sh\necho "$0 $*" >>${sign}\ncat\n`);
	chmodSync(run, 0o755);
	for (const hook of ['post-index-change', 'reference-transaction', 'fsmonitor-watchman', 'post-checkout', 'pre-auto-gc']) writeFileSync(join(at, '.git/hooks', hook), `#!/bin/sh\n${run}\n`, { mode: 0o755 });
	writeFileSync(join(at, '.git/info/attributes'), '* diff=evil filter=evil merge=evil\n');
	write(at, { '.gitattributes': '* diff=evil filter=evil\n' });
	writeFileSync(join(at, '.git/config'), `[core]
	repositoryformatversion = 0
	fsmonitor = ${run}
	pager = ${run}
	hooksPath = ${join(at, '.git/hooks')}
	sshCommand = ${run}
	editor = ${run}
	gitProxy = ${run}
	alternateRefsCommand = ${run}
	askPass = ${run}
[alias]
	blame = !${run}
	log = !${run}
[diff]
	external = ${run}
[diff "evil"]
	command = ${run}
	textconv = ${run}
[filter "evil"]
	clean = ${run}
	smudge = ${run}
	process = ${run}
	required = true
[log]
	showSignature = true
[gpg]
	program = ${run}
[blame]
	ignoreRevsFile = ${run}
[extensions]
	partialClone = origin
[remote "origin"]
	url = ext::${run}
	promisor = true
	uploadpack = ${run}
	partialclonefilter = blob:none
[include]
	path = ${run}
[credential]
	helper = !${run}
[trace2]
	eventTarget = ${sign}
`);
	const own = await serve(at);
	for (const [tool, args] of [['blame_range', { start_line: 1, end_line: 2 }], ['file_history', {}]]) {
		const { result } = await own.wire.call(tool, { path: 'a.txt', ...args }, { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' } });
		// The included file is not configuration, and no list of commits: git refuses it, and no more.
		check(!result.isError || result.structuredContent.problem.code === 'git-operation-error', JSON.stringify(result).slice(0, 300));
	}
	check(!existsSync(sign), 'something was run');
	// The same without these two, which must succeed.
	execFileSync('sed', ['-i', '/^\\[include\\]/,+1d; /^\\[blame\\]/,+1d', join(at, '.git/config')]);
	same((await own.call('blame_range', { path: 'a.txt', start_line: 1, end_line: 2 })).blame.length, 2);
	same((await own.call('file_history', { path: 'a.txt' })).commits.length, 1);
	check(!existsSync(sign), 'something was run');
	// Plain git would have run it: the trap works.
	spawnSync('git', ['log', '-1', '-p', '--ext-diff', '--', 'a.txt'], { cwd: at, env: clean });
	spawnSync('git', ['status'], { cwd: at, env: clean });
	check(existsSync(sign), 'the trap does not work');
	await own.end();
});

test('a missing object of a partial clone is not fetched', async () => {
	const from = small();
	git(from, 'config', 'uploadpack.allowFilter', 'true');
	const at = mkdtempSync(join(scratch(), 'partial-'));
	git(at, 'clone', '-q', '--filter=blob:none', '--no-checkout', `file://${from}`, '.');
	const before = execFileSync('sh', ['-c', 'find .git/objects -type f | sort'], { cwd: at, encoding: 'utf8' });
	const own = await serve(at);
	match((await own.fail('blame_range', { path: 'a.txt', start_line: 1, end_line: 1 }, 'git-operation-error', 500)).error, /partial clone/);
	same(execFileSync('sh', ['-c', 'find .git/objects -type f | sort'], { cwd: at, encoding: 'utf8' }), before);
	await own.end();
});

test('a .git file cannot point to the commits of another repository', async () => {
	const secret = small();
	const at = repository({ 'a.txt': 'x\n' });
	writeFileSync(join(at, '.git'), `gitdir: ${join(secret, '.git')}\n`);
	await broken(at, /^git failed: /);
	rmSync(join(at, '.git'));
	symlinkSync(join(secret, '.git'), join(at, '.git'));
	await broken(at, /^git failed: /);
	const borrower = small();
	writeFileSync(join(borrower, '.git/objects/info/alternates'), `${join(secret, '.git/objects')}\n`);
	await both(borrower);
});

test('the server ends', () => server.end());

await end();
