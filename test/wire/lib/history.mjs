// Generated git histories, and what git itself says about them.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from './cli.mjs';
import { write } from './code.mjs';
import { random } from './corpus.mjs';

export const clean = { PATH: process.env.PATH, HOME: scratch(), GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C.UTF-8', TZ: 'UTC' };
let clock = 1700000000;
export function git(dir, ...args) {
	const who = ['Ada', 'Émile', 'O\'Neil "x"'][clock % 3];
	const zone = ['+0000', '+0130', '-0800'][clock % 3];
	clock += 61;
	const env = { ...clean, GIT_AUTHOR_NAME: who, GIT_AUTHOR_EMAIL: `${clock % 3}@example.org`, GIT_COMMITTER_NAME: 'c', GIT_COMMITTER_EMAIL: 'c@example.org',
		GIT_AUTHOR_DATE: `${clock} ${zone}`, GIT_COMMITTER_DATE: `${clock} ${zone}` };
	return execFileSync('git', ['-c', 'protocol.file.allow=always', '-c', 'init.defaultBranch=main', ...args], { cwd: dir, env, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
}

export function history(files, commits) {
	const dir = mkdtempSync(join(scratch(), 'git-'));
	const rand = random(5);
	const paths = Array.from({ length: files }, (_, i) => `d${i % 5}/file ${i}.txt`);
	const put = (path) => write(dir, { [path]: Array.from({ length: 5 + rand(20) }, (_, i) => `${path.length} line ${i} ${rand(4)}\n`).join('') });
	git(dir, 'init', '-q');
	paths.forEach(put);
	write(dir, { '.mailmap': 'Ada Lovelace <ada@example.org> <1@example.org>\n', 'long.txt': `${'x'.repeat(20000)}\nshort\n` });
	git(dir, 'add', '-A');
	git(dir, 'commit', '-qm', 'first: everything\n\nA body.');
	for (let i = 0; i < commits; i++) {
		if (i % 10 === 9) git(dir, 'checkout', '-qb', `topic${i}`);
		for (let j = 0; j < 4; j++) put(paths[rand(paths.length)]);
		if (i % 6 === 3) {
			const at = rand(paths.length);
			const to = `moved/${i}-${at}.txt`;
			mkdirSync(join(dir, 'moved'), { recursive: true });
			renameSync(join(dir, paths[at]), join(dir, to));
			paths[at] = to;
		}
		git(dir, 'add', '-A');
		git(dir, 'commit', '-qm', `change ${i}: „quotes“ \\ and\ttabs`);
		if (i % 10 === 9) {
			git(dir, 'checkout', '-q', 'main');
			put('only-main.txt');
			git(dir, 'add', '-A');
			git(dir, 'commit', '-qm', 'on main');
			git(dir, 'merge', '-q', '--no-ff', '-m', `merge ${i}`, `topic${i}`);
		}
	}
	return { dir, paths };
}

export function blameOf(dir, path, start, end) {
	const commits = {};
	let sha, line;
	const found = [];
	for (const text of git(dir, 'blame', '--porcelain', '-L', `${start},${end}`, 'HEAD', '--', path).split('\n')) {
		const head = text.match(/^([0-9a-f]{40,64}) \d+ (\d+)/);
		if (text.startsWith('\t')) found.push([Number(line), sha, commits[sha].author, Number(commits[sha]['author-time']) * 1000, commits[sha].summary]);
		else if (head) [, sha, line] = head, (commits[sha] ??= {});
		else if (text.includes(' ')) commits[sha][text.slice(0, text.indexOf(' '))] = text.slice(text.indexOf(' ') + 1);
	}
	return found;
}
export const logOf = (dir, path, limit) => git(dir, 'log', '--follow', `-${limit}`, '-z', '--format=%h%x01%H%x01%aN%x01%aE%x01%aI%x01%s', '--abbrev=8', '--', path).split('\0').filter(Boolean)
	.map((text) => text.split('\x01'));

