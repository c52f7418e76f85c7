// search_text finds what ripgrep finds: generated queries on a generated tree, without the index, with it, and while
// files change. FW_LONG=1: 500 queries (or FW_QUERIES) on 12,000 files; FW_SEED and FW_CASE repeat one query.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { check, root, same, scratch, test } from './lib/cli.mjs';
import { awaitIndex, end, isLong, serve, useState } from './lib/code.mjs';
import { change, changeMore, restore } from './lib/changes.mjs';
import { makeQuery, makeTree, random } from './lib/corpus.mjs';

const seed = Number(process.env.FW_SEED ?? 7);
const queries = Number(process.env.FW_QUERIES ?? (isLong ? 500 : 60));
const most = 10000;

const excluded = ['.git', '.hg', '.svn', '.bzr', '.jj', 'node_modules', '__pycache__', '.mypy_cache', '.pytest_cache', '.ruff_cache', '.tox', '.venv', '.idea', '.faultwire'];
const flags = ['--no-config', '--hidden', '--no-require-git', '--no-ignore-global', '--no-messages', '--crlf', '--line-number', '--with-filename',
	'--null', '--color=never', '--max-columns=1', ...excluded.flatMap((name) => ['--glob', `!${name}`])];

const files = ['--files', '--no-config', '--hidden', '--no-require-git', '--no-ignore-global', '--no-ignore-parent', '--no-messages', ...excluded.flatMap((name) => ['--glob', `!${name}`])];

const globs = {
	'*.c': /\.c$/, '*.{h,py}': /\.(h|py)$/, 'src/**': /^src\//, '**/deep1*/*': /(^|\/)deep1[^/]*\/[^/]+$/, '!*.md': /^(?!.*\.md$)/,
};

// "path:line" of every matching line, in the order of the paths.
function ripgrep(dir, query) {
	// ripgrep 13 does not apply rules such as /src/core/ of the root to "src" if that is named.
	if (query.isShown) return ripgrep(dir, { ...query, folder: undefined, isShown: false }).filter(([path]) => path.startsWith(`${query.folder}/`));
	// The rules of the folders above a folder apply to it, but not those of the folders above the tree.
	const args = [...flags, ...(query.folder ? [] : ['--no-ignore-parent']), query.regex ? '--regexp' : '--fixed-strings', ...(query.regex ? [] : ['--regexp']), query.query, ...(query.case_sensitive ? [] : ['--ignore-case']), '--', query.folder ?? '.'];
	const { status, stdout, stderr } = spawnSync('rg', args, { cwd: dir, maxBuffer: 1 << 30 });
	// 2 and no message: there is a file that cannot be read.
	check(status === 0 || status === 1 || (status === 2 && !stderr.length), `rg ${args.join(' ')}: ${stderr}`);
	const found = stdout.toString().split('\n').filter((line) => line.includes('\0')).map((line) => {
		const [path, rest] = line.split('\0');
		return [path.replace(/^\.\//, ''), Number(rest.split(':')[0])];
	});
	// It may report lines of a binary file that it read before it saw the NUL; we never do.
	return found.filter(([path]) => !/(^|\/)binary\//.test(path));
}

const order = (a, b) => Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])) || a[1] - b[1];

async function ours(server, query) {
	const paths = [query.folder, query.glob].filter(Boolean);
	const { query: text, regex, case_sensitive } = query;
	const result = await server.call('search_text', { query: text, regex, case_sensitive, max_results: most, ...(paths.length && { paths }) });
	const found = result.matches.map((match) => [match.path, match.line]);
	for (let i = 1; i < found.length; i++) check(order(found[i - 1], found[i]) < 0, `order: ${found[i - 1]} ${found[i]}`);
	if (result.total <= most) same([result.truncated, found.length], [false, result.total]);
	for (const match of result.matches) check([...match.preview].length <= 200 && match.column >= 1);
	return [found, result.total];
}

// `times` searches find what ripgrep finds. Undefined: the query is refused.
async function compare(server, dir, query, number, times = 1) {
	const expected = ripgrep(dir, query).sort(order);
	let hits;
	for (let i = 0; i < times; i++) {
		hits = await compareOne(server, query, expected, `FW_SEED=${seed} FW_CASE=${number} search ${i} ${JSON.stringify(query)}`);
		if (hits === undefined) return;
	}
	return hits;
}

async function compareOne(server, query, expected, name) {
	let found, total;
	try {
		[found, total] = await ours(server, query);
	} catch (error) {
		// On very long lines a.*b.*c takes too many steps.
		if (query.regex && /within the step limit/.test(error.message)) return;
		throw new Error(`${name}: ${error.message}`);
	}
	if (query.glob) expected = expected.filter(([path]) => globs[query.glob].test(path));
	const lines = expected.length;
	// Where one list is cut, the two are compared as far as both go.
	if (total > most || expected.length > most) {
		expected = expected.slice(0, most);
		const last = [found.at(-1), expected.at(-1)].sort(order)[0];
		[expected, found] = [expected, found].map((list) => list.filter((one) => order(one, last) < 0));
	}
	if (query.isLoose) [expected, found] = [expected, found].map((list) => list.filter(([path]) => !/(^|\/)crlf\//.test(path)));
	const a = new Set(found.map(String)), b = new Set(expected.map(String));
	same([[...a].filter((one) => !b.has(one)).slice(0, 5), [...b].filter((one) => !a.has(one)).slice(0, 5)], [[], []], `${name}: [only ours, only ripgrep's]`);
	if (!query.isLoose) same(total, lines, name);
	return found.length > 0;
}

async function compareAll(dir, count, make, index, before) {
	useState();
	const server = await serve(dir, '--search-index', index, '--search-timeout', '60000');
	if (index === 'on') await awaitIndex();
	const only = process.env.FW_CASE;
	let hits = 0, refused = 0;
	for (let i = 0; i < count; i++) {
		const query = make(random(seed * 1000 + i));
		server.wire.raw.length = 0;
		if (before) await before(query, server, i);
		if (only !== undefined && Number(only) !== i) continue;
		const found = await compare(server, dir, query, i);
		hits += Boolean(found);
		refused += found === undefined;
	}
	check(refused <= count / 20, `${refused} queries are refused`);
	await server.end();
	return hits;
}

const dir = mkdtempSync(join(scratch(), 'tree-'));
makeTree(dir, isLong ? 12000 : 400, random(seed));

for (const index of ['off', 'on'])
	test(`${queries} generated queries on a generated tree, index ${index}: the lines that ripgrep finds`, async () => {
		const hits = await compareAll(dir, queries, makeQuery, index);
		if (process.env.FW_CASE === undefined) check(hits > queries / 2, `only ${hits} queries have results`);
	});

test('queries after each change of files, with the index: the lines that ripgrep finds', async () => {
	const next = random(seed + 1);
	const hits = await compareAll(dir, queries, makeQuery, 'on', (query) => {
		change(dir, next);
		if (query.folder && !existsSync(join(dir, query.folder))) delete query.folder;
	});
	if (process.env.FW_CASE === undefined) check(hits > queries / 4, `only ${hits} queries have results`);
});

// Permissions are changed too, if they apply to who runs this.
test('queries after rarer changes of all kinds, right after them and when the index is ready: the lines that ripgrep finds', async () => {
	const next = random(seed + 2), later = random(seed + 3);
	const own = mkdtempSync(join(scratch(), 'tree-'));
	makeTree(own, 400, random(seed));
	const adapt = (query) => {
		query.isShown = spawnSync('rg', [...files, '.'], { cwd: own, maxBuffer: 1 << 28 }).stdout.toString().includes(`./${query.folder}/`);
		if (!query.isShown) delete query.folder;
		return query;
	};
	// After some hundred changes no folder is left.
	await compareAll(own, Math.min(queries, 100), makeQuery, 'on', async (query, server, i) => {
		changeMore(own, next);
		if (next(3) === 0) return adapt(query); // once, before the next change
		await compare(server, own, adapt(makeQuery(later)), i);
		await awaitIndex();
		await compare(server, own, adapt(makeQuery(later)), i, 3);
		adapt(query);
	}).finally(() => restore(own));
});

for (const index of ['off', 'on'])
	test(`queries on this repository, index ${index}: the lines that ripgrep finds`, async () => {
		const own = mkdtempSync(join(scratch(), 'own-'));
		execFileSync('sh', ['-c', `cp -r src include docs registry test/wire ${own}`], { cwd: root });
		const list = ['fw_error', 'struct fw_\\w+ \\{', '^#include', 'FW_TRY\\(', '[A-Z]{12,}', 'todo|fixme|because', '\\bint\\b.*;$', 'is_\\w+\\(', '"[^"]{60,}"', '(?i)sqlite', 'zzz_no_match', 'e', '^\\s*$', 'a.*b.*c.*d.*e'];
		let i = 0;
		await compareAll(own, list.length * 2, () => ({ query: list[i >> 1], regex: true, case_sensitive: i++ % 2 === 0 }), index);
	});

await end();
