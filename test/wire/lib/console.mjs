// The console blocks of a page of docs/: lines with "$ " are commands, lines with "> " right
// after them continue the command, the rest is what it prints ("..." is anything). All
// commands of a page run in one shell, one after the other.

import { spawnSync } from 'node:child_process';

const MARK = '=== the next command ===';

export function steps(page) {
	const list = [];
	for (const [, block] of page.matchAll(/^```console\n([^]*?)^```$/gm))
		for (const line of block.trimEnd().split('\n')) {
			if (line.startsWith('$ ')) list.push({ command: line.slice(2), expected: [] });
			else if (line.startsWith('> ') && list.at(-1).expected.length === 0) list.at(-1).command += `\n${line.slice(2)}`;
			else list.at(-1).expected.push(line);
		}
	return list;
}

// What each command prints, standard error included.
export function runAll(list, options) {
	const script = list.map(({ command }) => `${command}\necho '${MARK}'`).join('\n');
	const run = spawnSync('bash', ['-c', `exec 2>&1\n${script}\nkill %1 2>/dev/null`], { encoding: 'utf8', timeout: 60000, ...options });
	return run.stdout.split(`${MARK}\n`);
}

export function matches(expected, found) {
	const pattern = expected
		.map((line) => (line === '...' ? '[^]*?' : line.split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')))
		.join('\n');
	return new RegExp(`^${pattern}$`).test(found.trimEnd());
}
