// The walk-through of docs/workspace.md, run in one shell: each console block
// holds commands and what they print; "..." is anything.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, env, finish, has, root, scratch, skip, test } from './lib/cli.mjs';
import { matches, runAll, steps } from './lib/console.mjs';

const page = readFileSync(join(root, 'docs/workspace.md'), 'utf8');
const list = steps(page);
const able = has('jq') && has('curl');
const parts = able ? runAll(list, { cwd: scratch(), env: { ...env, HOME: scratch() } }) : [];

list.forEach(({ command, expected }, index) => {
	test(`docs/workspace.md: ${command.slice(0, 70)}`, () => {
		if (!able) skip('jq and curl are not both there');
		const found = parts[index] ?? '';
		check(matches(expected, found), `it prints\n${found}\nand the page says\n${expected.join('\n')}`);
	});
});

test('docs/workspace.md names every code of the contract', () => {
	const codes = JSON.parse(readFileSync(join(root, 'docs/registry.json'), 'utf8'));
	const rows = Array.isArray(codes) ? codes : codes.codes;
	for (const code of new Set(rows.map((row) => row.kaiza))) check(page.includes(`| \`${code}\` |`), code);
});

await finish();
