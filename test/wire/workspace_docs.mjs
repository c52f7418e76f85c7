// The walk-through of docs/workspace.md, run in one shell: each console block
// holds commands and what they print; "..." is anything.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, env, finish, has, root, scratch, skip, test } from './lib/cli.mjs';

const page = readFileSync(join(root, 'docs/workspace.md'), 'utf8');
const list = [];

for (const [, block] of page.matchAll(/^```console\n([^]*?)^```$/gm))
	for (const line of block.trimEnd().split('\n')) {
		if (line.startsWith('$ ')) list.push({ command: line.slice(2), expected: [] });
		else list.at(-1).expected.push(line);
	}

const MARK = '=== the next command ===';
const able = has('jq') && has('curl');
let parts = [];

if (able) {
	const script = list.map(({ command }) => `${command}\necho '${MARK}'`).join('\n');
	const run = spawnSync('bash', ['-c', `exec 2>&1; ${script}; kill %1 2>/dev/null`], {
		cwd: scratch(), encoding: 'utf8', timeout: 60000, env: { ...env, HOME: scratch() },
	});
	parts = run.stdout.split(`${MARK}\n`);
}

list.forEach(({ command, expected }, index) => {
	test(`docs/workspace.md: ${command.slice(0, 70)}`, () => {
		if (!able) skip('jq and curl are not both there');
		const found = (parts[index] ?? '').trimEnd();
		const pattern = expected
			.map((line) => (line === '...' ? '[^]*?' : line.split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')))
			.join('\n');
		check(new RegExp(`^${pattern}$`).test(found), `it prints\n${found}\nand the page says\n${expected.join('\n')}`);
	});
});

test('docs/workspace.md names every code of the contract', () => {
	const codes = JSON.parse(readFileSync(join(root, 'docs/registry.json'), 'utf8'));
	const rows = Array.isArray(codes) ? codes : codes.codes;
	for (const code of new Set(rows.map((row) => row.kaiza))) check(page.includes(`| \`${code}\` |`), code);
});

await finish();
