// The pages for the five kinds of users, and the pages of reference that begin with an example:
// every command in their console blocks is run, and prints what the page says. A block of C
// whose first line names a file ("/* shop.c - ...") is that file.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { bin, check, env, finish, root, same, scratch, test } from './lib/cli.mjs';
import { matches, runAll, steps } from './lib/console.mjs';

const PAGES = ['start-clients', 'start-server', 'operations', 'start-workspace', 'start-errors'];
const REFERENCE = ['server', 'governance', 'gateway', 'isolation', 'limits', 'audit', 'alerts', 'observability', 'incidents'];
const build = join(bin, '..');

// As if the library were installed.
writeFileSync(join(scratch(), 'faultwire.pc'), `Name: faultwire\nDescription: of this build\nVersion: 0\nCflags: -I${root}/include -I${build}/include\nLibs: -L${build} -lfaultwire\n`);

for (const name of [...PAGES, ...REFERENCE]) {
	const page = readFileSync(join(root, `docs/${name}.md`), 'utf8');
	const home = join(scratch(), name);
	mkdirSync(join(home, 'work'), { recursive: true });
	cpSync(join(root, 'examples'), join(home, 'work/examples'), { recursive: true });
	for (const [, text, file] of page.matchAll(/^```c\n(\/\* ([\w.-]+) - [^]*?)^```$/gm)) writeFileSync(join(home, 'work', file), text);
	const list = steps(page);
	test(`docs/${name}.md begins with a result, before its first section`, () => {
		check(list.length >= (PAGES.includes(name) ? 3 : 2), `${list.length} commands`);
		check(page.indexOf('```console') < page.indexOf('\n## ') || !page.includes('\n## '), 'the first block is under the title');
	});
	if (PAGES.includes(name)) test(`docs/${name}.md has no block of commands that is not run`, () => {
		for (const [, language] of page.matchAll(/^```(\w*)\n[^]*?^```$/gm)) check(['console', 'c', 'json', 'ini', 'text'].includes(language), `a block of "${language}"`);
	});
	const parts = runAll(list, {
		cwd: join(home, 'work'), timeout: 100000,
		env: {
			...env, HOME: home, XDG_STATE_HOME: join(home, 'state'), XDG_CONFIG_HOME: join(home, 'config'),
			PATH: [build, env.PATH ?? process.env.PATH].join(delimiter), PKG_CONFIG_PATH: scratch(), LD_LIBRARY_PATH: build,
		},
	});
	list.forEach(({ command, expected }, index) => {
		test(`docs/${name}.md: ${command.split('\n')[0].slice(0, 70)}`, () => {
			const found = parts[index] ?? '(it did not run)';
			check(matches(expected, found), `it prints\n${found}\nand the page says\n${expected.join('\n')}`);
		});
	});
}

test('README.md and docs/README.md lead to all five', () => {
	for (const file of ['README.md', 'docs/README.md']) {
		const text = readFileSync(join(root, file), 'utf8');
		same(PAGES.filter((name) => !text.includes(`${name}.md`)), [], file);
	}
});

await finish();
