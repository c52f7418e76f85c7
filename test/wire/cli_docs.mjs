// docs/cli.md, run: each console block holds commands and what they print.
// FW_UPDATE=1 writes what they print now into the page instead.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, finish, root, same, shell, test } from './lib/cli.mjs';

const path = join(root, 'docs/cli.md');
const page = readFileSync(path, 'utf8');
const blocks = [...page.matchAll(/^```console\n([^]*?)^```$/gm)].map((m) => m[1]);

// The commands of a block, each with the lines that follow it.
function commands(block) {
	const list = [];
	for (const line of block.trimEnd().split('\n')) {
		if (line.startsWith('$ ')) list.push({ command: line.slice(2), expected: [] });
		else list.at(-1).expected.push(line);
	}
	return list;
}

function output(command) {
	const { out, err } = shell(command);
	return (out + err).trimEnd();
}

function agree(found, expected) {
	const pattern = expected
		.map((line) => (line === '...' ? '[^]*?' : line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
		.join('\n');
	return new RegExp(`^${pattern}$`).test(found);
}

if (process.env.FW_UPDATE) {
	let updated = page;
	for (const block of blocks) {
		const text = commands(block)
			.map(({ command, expected }) => {
				const found = output(command);
				return `$ ${command}\n${agree(found, expected) ? expected.join('\n') : found}`.trimEnd();
			})
			.join('\n');
		updated = updated.replace(block, () => `${text}\n`);
	}
	writeFileSync(path, updated);
	process.exit(0);
}

for (const block of blocks)
	for (const { command, expected } of commands(block))
		test(`docs/cli.md: ${command.slice(0, 100)}`, () => {
			const found = output(command);
			check(agree(found, expected), `it prints\n${found}\nand the page says\n${expected.join('\n')}`);
		});

test('docs/cli.md shows every command', () => {
	same(blocks.length > 8, true);
});

await finish();
