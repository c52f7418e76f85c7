// What is kept to make blame_range and file_history fast: the answers stay those of git, whatever happens to the
// repository, and the repository itself is never written to. FW_LONG=1: this repository too, 200 files.

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, root, same, scratch, test } from './lib/cli.mjs';
import { end, isLong, repository, serve, useState, write } from './lib/code.mjs';
import { blameOf, git, history, logOf } from './lib/history.mjs';

const state = useState();
const { dir, paths } = history(isLong ? 100 : 12, isLong ? 200 : 24);
const server = await serve(dir);

// The folder of the repository in the state directory.
const keptIn = (at) => join(at, 'faultwire/code', readdirSync(join(at, 'faultwire/code'))[0]);
const kept = () => keptIn(state);
const graphs = (at = kept()) => (existsSync(join(at, 'git/ready')) ? readFileSync(join(at, 'git/ready'), 'utf8') : '');
async function awaitGraph(head, at = kept()) {
	for (let i = 0; i < 600 && !graphs(at).endsWith(head); i++) await new Promise((resolve) => setTimeout(resolve, 50));
	check(graphs(at).endsWith(head), `no graph of ${head}: ${graphs(at)}`);
}
const files = (at) => execFileSync('sh', ['-c', 'find . -type f -exec sha256sum {} + | sort'], { cwd: at, encoding: 'utf8' });

async function compare(at, path, own = server) {
	const expected = blameOf(at, path, 1, 1000);
	const { blame } = await own.call('blame_range', { path, start_line: 1, end_line: 1000 });
	same(blame.map((row) => [row.line, row.commit, row.author, Date.parse(row.date), row.message]), expected, path);
	const part = await own.call('blame_range', { path, start_line: 2, end_line: 3 });
	same(part.blame, blame.slice(1, 3), path);
	const { commits } = await own.call('file_history', { path });
	same(commits.map((row) => [row.sha, row.full_sha, row.author, row.email, row.date, row.message]), logOf(at, path, 50), path);
}

test('with a commit graph the answers are the same, and the repository is untouched', async () => {
	const before = files(join(dir, '.git'));
	for (const path of paths) await compare(dir, path);
	await awaitGraph(git(dir, 'rev-parse', 'HEAD').trim());
	check(readdirSync(join(kept(), 'git/objects/info/commit-graphs')).some((name) => name.endsWith('.graph')), 'a graph was written');
	rmSync(join(kept(), 'blame'), { recursive: true });
	execFileSync('mkdir', [join(kept(), 'blame')]);
	for (const path of paths) await compare(dir, path);
	same(files(join(dir, '.git')), before, 'files in .git');
});

test('after commits, a revert, an amended commit, a merge, a reset, and a new mailmap', async () => {
	const path = paths[0], other = paths[1];
	const old = readFileSync(join(dir, path), 'utf8');
	const commit = (message, ...more) => (git(dir, 'add', '-A'), git(dir, 'commit', '-qm', message, ...more));
	const all = async () => {
		await compare(dir, path);
		await compare(dir, other);
	};
	write(dir, { [other]: 'another\nfile\nchanged\n' });
	commit('another file');
	await all();
	write(dir, { [path]: `new first line\n${old}` });
	commit('change');
	await all();
	write(dir, { [path]: old });
	commit('back to what it was');
	await all();
	git(dir, 'commit', '-q', '--amend', '-m', 'amended');
	await all();
	git(dir, 'checkout', '-qb', 'side', 'HEAD~2');
	write(dir, { [path]: `${old}side\n` });
	commit('side');
	await all();
	git(dir, 'checkout', '-q', 'main');
	git(dir, 'merge', '-q', '-m', 'merge', 'side', '-X', 'theirs');
	await all();
	git(dir, 'reset', '-q', '--hard', 'HEAD~3');
	await all();
	write(dir, { '.mailmap': 'Someone Else <else@example.org> <1@example.org>\n' });
	await all();
	git(dir, 'gc', '-q', '--prune=now');
	await all();
});

test('in a bare repository the mailmap of the newest commit counts', async () => {
	const from = repository({ 'a.txt': 'one\ntwo\nthree\n' });
	const push = (name) => {
		write(from, { '.mailmap': [0, 1, 2].map((i) => `${name} <x@example.org> <${i}@example.org>\n`).join('') });
		git(from, 'add', '-A');
		git(from, 'commit', '-qm', name);
		git(from, 'push', '-q', bare, 'main');
	};
	const bare = mkdtempSync(join(scratch(), 'bare-'));
	git(bare, 'init', '-q', '--bare');
	git(from, 'init', '-q');
	push('First');
	const ownState = useState();
	const own = await serve(bare);
	for (const name of ['Second', 'Third']) {
		await compare(bare, 'a.txt', own);
		// With the graph, and then with an older one.
		await awaitGraph(git(bare, 'rev-parse', 'HEAD').trim(), keptIn(ownState));
		await compare(bare, 'a.txt', own);
		push(name);
		await compare(bare, 'a.txt', own);
		same((await own.call('file_history', { path: 'a.txt' })).commits.map((row) => row.author), [name]);
	}
	await own.end();
});

test('settings and replaced commits count at once', async () => {
	const path = paths[2];
	await compare(dir, path);
	const last = git(dir, 'log', '-1', '--format=%H', '--', path).trim();
	write(dir, { 'ignored-revisions': `${last}\n` });
	git(dir, 'config', 'blame.ignoreRevsFile', 'ignored-revisions');
	await compare(dir, path);
	git(dir, 'config', '--unset', 'blame.ignoreRevsFile');
	execFileSync('sed', ['-i', '/^\\[blame\\]/d', join(dir, '.git/config')]);
	await compare(dir, path);
	git(dir, 'replace', '--graft', last);
	await compare(dir, path);
	git(dir, 'replace', '-d', last);
	rmSync(join(dir, '.git/refs/replace'), { recursive: true, force: true });
	await compare(dir, path);
});

test('a replaced commit whose reference is packed counts', async () => {
	const path = paths[2];
	const last = git(dir, 'log', '-1', '--format=%H', '--', path).trim();
	git(dir, 'commit', '-q', '--allow-empty', '-m', 'nothing');
	await compare(dir, path);
	await awaitGraph(git(dir, 'rev-parse', 'HEAD').trim());
	git(dir, 'replace', '--graft', last);
	git(dir, 'pack-refs', '--all', '--prune');
	rmSync(join(dir, '.git/refs/replace'), { recursive: true, force: true });
	rmSync(join(kept(), 'blame'), { recursive: true });
	execFileSync('mkdir', [join(kept(), 'blame')]);
	await compare(dir, path);
	git(dir, 'replace', '-d', last);
});

test('a mailmap that HEAD has and the work tree has not is not used, with the graph as without', async () => {
	const own = useState();
	const at = repository({ 'a.txt': 'one\ntwo\nthree\n', '.mailmap': 'Someone Else <else@example.org> <1@example.org>\n' });
	git(at, 'init', '-q');
	git(at, 'add', '-A');
	git(at, '-c', 'user.email=1@example.org', 'commit', '-q', '--author', 'One <1@example.org>', '-m', 'first');
	rmSync(join(at, '.mailmap'));
	const other = await serve(at);
	await compare(at, 'a.txt', other);
	const place = join(own, 'faultwire/code', readdirSync(join(own, 'faultwire/code'))[0]);
	for (let i = 0; i < 600 && !existsSync(join(place, 'git/ready')); i++) await new Promise((resolve) => setTimeout(resolve, 50));
	rmSync(join(place, 'blame'), { recursive: true });
	execFileSync('mkdir', [join(place, 'blame')]);
	await compare(at, 'a.txt', other);
	await other.end();
});

test('a cache and a graph that are damaged are not used', async () => {
	await compare(dir, paths[3]);
	for (const name of readdirSync(join(kept(), 'blame'))) {
		const at = join(kept(), 'blame', name);
		const bytes = readFileSync(at);
		bytes[bytes.length - 30] ^= 0x55;
		writeFileSync(at, bytes);
	}
	await compare(dir, paths[3]);
	for (const name of readdirSync(join(kept(), 'blame'))) truncateSync(join(kept(), 'blame', name), 20);
	await compare(dir, paths[3]);
	const folder = join(kept(), 'git/objects/info/commit-graphs');
	for (const name of readdirSync(folder)) {
		chmodSync(join(folder, name), 0o600);
		writeFileSync(join(folder, name), 'garbage');
	}
	rmSync(join(kept(), 'blame'), { recursive: true });
	for (const path of paths.slice(3, 6)) await compare(dir, path);
});

test('a second server uses what is kept, a bare and a sha256 repository have a graph too', async () => {
	const second = await serve(dir);
	await compare(dir, paths[4], second);
	await second.end();
	for (const [bare, format] of [[true, 'sha1'], [false, 'sha256']]) {
		const own = useState();
		const from = repository({ 'a.txt': 'one\ntwo\nthree\n' });
		git(from, 'init', '-q', `--object-format=${format}`);
		git(from, 'add', '-A');
		git(from, 'commit', '-qm', 'first');
		let at = from;
		if (bare) git(at = mkdtempSync(join(scratch(), 'bare-')), 'clone', '-q', '--bare', from, '.');
		const other = await serve(at);
		await compare(at, 'a.txt', other);
		const ready = join(own, 'faultwire/code', readdirSync(join(own, 'faultwire/code'))[0], 'git/ready');
		for (let i = 0; i < 600 && !existsSync(ready); i++) await new Promise((resolve) => setTimeout(resolve, 50));
		check(existsSync(ready), 'no graph');
		await compare(at, 'a.txt', other);
		await other.end();
	}
});

if (isLong)
	test('200 files of this repository', async () => {
		const own = await serve(root);
		const all = git(root, 'ls-files', '*.c', '*.h', '*.md', '*.mjs').split('\n').filter(Boolean);
		for (let i = 0; i < 200; i++) {
			const path = all[Math.floor((i * all.length) / 200)];
			const [{ blame }, { commits }] = [await own.call('blame_range', { path, start_line: 1, end_line: 1000 }), await own.call('file_history', { path })];
			same(blame.map((row) => [row.line, row.commit]), blameOf(root, path, 1, 1000).map((row) => row.slice(0, 2)), path);
			const followed = logOf(root, path, 50).map((row) => row[1]);
			// A file that a merge created is in no other commit.
			same(commits.map((row) => row.full_sha), followed.length ? followed : git(root, 'log', '-50', '--format=%H', '--', path).trim().split('\n'), path);
		}
		await own.end();
	});

test('the server ends', () => server.end());

await end();
