// outline finds what universal-ctags finds: at least 95 % of the functions, classes and types in real files of several languages. The
// figures of more languages are in docs/codeintel.md, by bench/outline.

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { check, root, skip, test } from './lib/cli.mjs';
import { end, serve, useState } from './lib/code.mjs';
import { hasCtags, judgeOutline } from './lib/outline.mjs';

useState();
const every = (list, count) => list.filter((_, i) => i % Math.ceil(list.length / count) === 0);
const perl = readdirSync('/usr/share/perl', { withFileTypes: true }).find((entry) => entry.isDirectory() && /^5\.\d+\.\d+$/.test(entry.name))?.name;
const ours = (...patterns) => execFileSync('git', ['ls-files', ...patterns], { cwd: root, encoding: 'utf8' }).trim().split('\n');
// tree, how many files, languages
const trees = [
	[root, 250, ['C', 'JavaScript'], () => ours('*.c', '*.h', '*.mjs')],
	[root, 250, ['Sh'], () => ours('scripts', 'test/checks', 'test/run', 'bench').filter((path) => !path.includes('.'))],
	[`/usr/share/perl/${perl}`, 80, ['Perl'], (tree) => readdirSync(tree, { recursive: true }).filter((path) => path.endsWith('.pm')).sort()],
];

for (const [tree, count, languages, list] of trees)
	test(`outline of files of ${tree === root ? 'this repository' : 'Perl'}: ${languages.join(', ')}`, async () => {
		if (!hasCtags()) skip('universal-ctags with JSON is not installed');
		const server = await serve(tree, '--semantic-index', 'off', '--search-index', 'off');
		const results = await judgeOutline(tree, every(list(tree), count), async (path) => (await server.call('outline', { path })).symbols);
		for (const language of languages) {
			const { total, found, missing } = results[language] ?? { total: 0, found: 0, missing: [] };
			console.log(`# ${language}: ${found} of ${total} definitions`);
			check(total >= 10 && found >= 0.95 * total, `${language}: ${found} of ${total}; missing: ${missing.slice(0, 20).join(', ')}`);
		}
		await server.end();
	});

await end();
