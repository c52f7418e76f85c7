// search_text: results, limits and errors. That it finds the right lines is judged by ripgrep in
// code_search_rg.mjs.

import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, match, same, scratch, test } from './lib/cli.mjs';
import { end, isLong, repository, serve, write } from './lib/code.mjs';
import { modern } from './lib/mcp.mjs';

const dir = repository({
	'src/main.py': 'def main():\n    return "grüße"  # Main\n',
	'src/long.js': `${'x'.repeat(1000)} needle ${'y'.repeat(1000)}\n`,
	'src/wide.txt': `${'ü'.repeat(300)} needle ${'ü'.repeat(300)}\n`,
	'src/many.txt': 'hit\n'.repeat(500),
	'lib/many.txt': 'hit hit\n'.repeat(30),
	'bin.dat': Buffer.from('needle\n\0needle\n'),
	'latin1.txt': Buffer.from('needle gr\xfc\xdfe\n', 'latin1'),
	'slow.txt': `${'a'.repeat(40)}b\n`,
	'odd/[x].txt': 'brackets\n',
});
writeFileSync(join(scratch(), 'outside.txt'), 'outsider\n');
symlinkSync('../outside.txt', join(dir, 'link.txt'));
symlinkSync(scratch(), join(dir, 'linkdir'));
const server = await serve(dir);
const { call, fail } = server;
const places = async (args) => (await call('search_text', args)).matches.map(({ path, line, column }) => `${path}:${line}:${column}`);

test('a match has path, line, column in characters, and a preview', async () => {
	same(await call('search_text', { query: 'main' }), {
		matches: [
			{ path: 'src/main.py', line: 1, column: 5, preview: 'def main():' },
			{ path: 'src/main.py', line: 2, column: 23, preview: '    return "grüße"  # Main' },
		], total: 2, truncated: false,
	});
	same(await places({ query: 'main', case_sensitive: true }), ['src/main.py:1:5']);
	same(await places({ query: 'GRÜSSE' }), []);
	same(await places({ query: 'GRÜßE' }), ['src/main.py:2:13']);
	same(await places({ query: 'def\\s+(\\w+)\\(', regex: true }), ['src/main.py:1:1']);
	same(await call('search_text', { query: 'no such text' }), { matches: [], total: 0, truncated: false });
});

test('a preview has at most 200 characters, and the match is in it', async () => {
	const { matches } = await call('search_text', { query: 'needle' });
	same(matches.map(({ path }) => path), ['latin1.txt', 'src/long.js', 'src/wide.txt'], 'bin.dat is binary');
	for (const { preview } of matches) check([...preview].length <= 200 && preview.includes('needle'), preview);
	same(matches[0].preview, 'needle gr\ufffd\ufffde');
	same(matches[2].column, 302);
});

test('max_results is exact over all files, total counts all lines', async () => {
	for (const max_results of [1, 29, 30, 31, 529, 530, 531, 5000]) {
		const { matches, total, truncated } = await call('search_text', { query: 'hit', max_results });
		same([matches.length, total, truncated], [Math.min(max_results, 530), 530, max_results < 530]);
		same(matches[0].path, 'lib/many.txt');
		if (max_results > 30) same([matches[30].path, matches[30].line], ['src/many.txt', 1]);
	}
	same((await call('search_text', { query: 'hit' })).matches.length, 50);
	await fail('search_text', { query: 'hit', max_results: 0 }, 'invalid-parameter', 400, 'max_results must be a positive integer');
	await fail('search_text', { query: 'hit', max_results: -1 }, 'invalid-parameter', 400);
});

test('paths: folders, files, globs and their opposite; what overlaps is searched once', async () => {
	const total = async (...paths) => (await call('search_text', { query: 'hit', paths })).total;
	same(await total('src'), 500);
	same(await total('src', 'lib', 'src/many.txt', 'src', '.'), 530);
	same(await total('lib/many.txt'), 30);
	same(await total('lib', '*.py'), 0);
	same(await total('**/many.*', '!src/**'), 30);
	same(await total('{src,lib}/*.txt'), 530);
	same(await total(), 530);
	await fail('search_text', { query: 'hit', paths: ['nowhere'] }, 'file-not-found', 404, 'File not found: nowhere');
	await fail('search_text', { query: 'hit', paths: ['../'] }, 'forbidden', 403);
	await fail('search_text', { query: 'hit', paths: ['/etc'] }, 'forbidden', 403);
	await fail('search_text', { query: 'root', paths: ['linkdir'] }, 'forbidden', 403);
	await fail('search_text', { query: 'hit', paths: ['[x'] }, 'invalid-parameter', 400);
	await fail('search_text', { query: 'hit', paths: 'src' }, 'invalid-parameter', 400);
});

test('links are not followed, so nothing outside is found', async () => {
	same(await places({ query: 'outsider' }), []);
	await fail('search_text', { query: 'outsider', paths: ['link.txt'] }, 'forbidden', 403);
});

test('a link to a file of the repository is searched if it is named', async () => {
	symlinkSync('src/main.py', join(dir, 'inside.py'));
	same(await places({ query: 'def', paths: ['inside.py'] }), ['inside.py:1:1']);
	same(await places({ query: 'def' }), ['src/main.py:1:1']);
});

test('a path with brackets that exists is no glob', async () => {
	same(await places({ query: 'brackets', paths: ['odd/[x].txt'] }), ['odd/[x].txt:1:1']);
	same(await places({ query: 'brackets', paths: ['odd/[[]x].txt'] }), ['odd/[x].txt:1:1']);
	same(await places({ query: 'brackets', paths: ['odd/[y].txt'] }), []);
});

test('a path that is neither a file nor a folder is not said to be missing', async () => {
	execFileSync('mkfifo', [join(dir, 'pipe')]);
	await fail('search_text', { query: 'hit', paths: ['pipe'] }, 'file-operation-failed', 400, 'path is not a folder: pipe');
	await fail('search_text', { query: 'hit', paths: ['src/main.py/x'] }, 'file-not-found', 404, 'File not found: src/main.py/x');
	execFileSync('rm', [join(dir, 'pipe')]);
});

test('several repositories: globs are compared with paths that begin with their names', async () => {
	const own = await serve([`first=${repository({ 'src/a.txt': 'hit\n' })}`, `second=${repository({ 'src/a.txt': 'hit\n', 'b.txt': 'hit\n' })}`]);
	const found = async (...paths) => (await own.call('search_text', { query: 'hit', paths })).matches.map((hit) => hit.path);
	same(await found('second/src/*.txt'), ['second/src/a.txt']);
	same(await found('!first/**'), ['second/b.txt', 'second/src/a.txt']);
	same(await found('*.txt'), ['first/src/a.txt', 'second/b.txt', 'second/src/a.txt']);
	await own.end();
});

test('an invalid expression is reported with its offset', async () => {
	const { error, problem } = await fail('search_text', { query: 'foo(bar', regex: true }, 'invalid-parameter', 400);
	match(error, /^query must be a regular expression; at offset 7: missing closing parenthesis$/);
	same(problem.extensions.offset, 7);
	const { result: told } = await server.wire.call('search_text', { query: 'foo(bar', regex: true }, modern);
	match(told.content[1].text, /Write a backslash before a character that is meant as it is/);
	for (const query of ['[a', 'a{2,1}', '*a', '\\', '(?<n>a)(?<n>b)', '\\C', '(?P>x)']) await fail('search_text', { query, regex: true }, 'invalid-parameter', 400);
	for (const query of ['', 'two\nlines', 'x'.repeat(5000), 'a\0b']) {
		const { result } = await server.wire.call('search_text', { query }, { 'dev.faultwire/contract': 'codeintel', 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' } });
		check(result.isError && [400, 413].includes(result.structuredContent.problem.status));
	}
	await fail('search_text', {}, 'invalid-parameter', 400);
});

test('an expression with a line break is refused: it would find nothing', async () => {
	for (const query of ['main\\n', '\\)\\r\\n', 'a\\\\\\nb'])
		await fail('search_text', { query, regex: true }, 'invalid-parameter', 400, 'query must be a text without line breaks: lines are searched one by one');
	same(await places({ query: 'def[^\\n]*:', regex: true }), ['src/main.py:1:1']);
	same(await places({ query: 'hit\\\\n', regex: true }), []);
	same(await places({ query: '\\Q\\n\\E', regex: true }), []);
	same(await places({ query: '\\n' }), []);
});

test('an expression that takes too many steps by backtracking is matched as by ripgrep', async () => {
	const own = repository({ 'slow.txt': `${'a'.repeat(5000)}b\n`, 'packed.js': `${'function a(b,c){return b*c+d;}'.repeat(3000)}\nlast{e}\n` });
	execFileSync('sh', ['-c', 'printf "\\377%s\\303 %s\\n" "$(cat slow.txt)" "$(head -c 50000 packed.js)" >invalid.txt'], { cwd: own });
	const paths = ['invalid.txt', 'packed.js', 'slow.txt'];
	const server = await serve(own);
	for (const query of ['(a+)+$', '(a|a)*[cd]', '(a|aa)+$', '((a*)*)*[cd]', '(a+)+b', 'return.*b.*d.*zz|return.*b.*q.*x', 'function.*return.*\\*.*\\+.*e;', 'c.*b.*a.*\\}$', '(?i)RETURN.*B.*Q.*X|Last.e']) {
		const { stdout } = spawnSync('rg', ['--vimgrep', '--only-matching', '-e', query, ...paths], { cwd: own, maxBuffer: 1 << 30 });
		const first = new Map(stdout.toString().split('\n').filter(Boolean).reverse().map((line) => line.match(/^(.*?:\d+):(\d+):/)).map(([, line, column]) => [line, column]));
		const { matches } = await server.call('search_text', { query, regex: true, case_sensitive: true, paths });
		same(matches.map(({ path, line, column }) => `${path}:${line}:${column}`), [...first].map((one) => one.join(':')).sort(), query);
	}
	await server.end();
});

test('an expression that begins with .* finds a line with bytes that are not UTF-8', async () => {
	const own = repository();
	execFileSync('sh', ['-c', 'printf "\\377 dunlin 1\\nfine dunlin 2\\n\\303\\377 x\\n" >odd.txt'], { cwd: own });
	const server = await serve(own);
	const lines = async (query) => (await server.call('search_text', { query, regex: true })).matches.map(({ line }) => line);
	for (const query of ['.*dunlin', '(.*)dunlin', '(?s).*dunlin', '.*n [0-9]']) same(await lines(query), [1, 2], query);
	same([await lines('.*[0-9]$'), await lines('^.*n'), await lines('.*x')], [[1, 2], [2], [3]]);
	await server.end();
});

test('an expression that would never end ends in a clear error', async () => {
	for (const query of ['(a+)+\\1[cd]', '(a|a)*(?=[cd])', '(a|aa)+(?<=a)$', '((a*)*)*\\1[cd]'])
		match((await fail('search_text', { query, regex: true, paths: ['slow.txt'] }, 'invalid-parameter', 400)).error, /step limit/);
	match((await fail('search_text', { query: '('.repeat(1000) + ')'.repeat(1000), regex: true }, 'invalid-parameter', 400)).error, /too deeply nested/);
	same(await places({ query: 'brackets' }), ['odd/[x].txt:1:1']);
});

// reaches: search.timeout
test('a search that takes too long is "Search timeout", as in the example of the contract', async () => {
	const tree = repository();
	execFileSync('sh', ['-c', `cd ${tree} && for i in $(seq 40); do yes "some aaaaaaaaaaaaaaaaaaaaab text" | head -20000 >f$i.txt; done`]);
	const own = await serve(tree, '--search-timeout', '30');
	same((await own.fail('search_text', { query: '(a+)+c|def main', regex: true }, 'vector-search-error', 503, 'Search timeout')).problem, {
		type: 'https://kgfoundry.dev/problems/vector-search-error', title: 'Vector Search Error', status: 503, detail: 'Search timeout',
		instance: 'urn:codeintel:search:text', code: 'vector-search-error', extensions: { query: '(a+)+c|def main' },
	});
	// The worker is fine afterwards.
	same((await own.call('search_text', { query: 'text', paths: ['f1.txt'] })).total, 20000);
	await own.end();
});

test('a terabyte of nothing is recognized as binary, wherever it begins', async () => {
	const text = 'a line of text\n'.repeat(30000);
	const tree = repository({ 'a.txt': 'needle\n', 'huge.txt': 'needle\n', 'image': '', 'late.txt': `needle\n${text}` });
	for (const name of ['huge.txt', 'image', 'late.txt']) truncateSync(join(tree, name), 2 ** 40);
	const own = await serve(tree, '--search-timeout', '5000');
	same((await own.call('search_text', { query: 'needle' })).matches.map(({ path }) => path), ['a.txt']);
	same((await own.call('search_text', { query: 'absent' })).total, 0);
	same((await own.call('find_references', { name: 'needle' })).references.map(({ path }) => path), ['a.txt']);
	await own.end();
});

test('a line that is too long to be searched is an error that says what to do', async () => {
	const tree = repository({ 'a.txt': 'needle\n' });
	execFileSync('sh', ['-c', `head -c 270000000 /dev/zero | tr '\\0' a >${join(tree, 'line.txt')}`]);
	const own = await serve(tree);
	const { result } = await own.wire.call('search_text', { query: 'needle' }, modern);
	same([result.isError, result.structuredContent.problem.code, result.structuredContent.problem.extensions.path], [true, 'file-too-large', 'line.txt']);
	match(result.content[1].text, /too long to be searched. Leave the file out with a glob in paths/);
	same((await own.call('search_text', { query: 'needle', paths: ['!line.txt'] })).total, 1);
	await own.end();
});

test('long lines: one of 8 MiB, and pieces of a file that is larger than a buffer', async () => {
	const tree = repository({ 'one.txt': `${'ab '.repeat(2800000)}needle\nnext\n`, 'pieces.txt': 'some text of a line\n'.repeat(500000) + 'needle at last' });
	const own = await serve(tree);
	const { matches } = await own.call('search_text', { query: 'needle' });
	same(matches.map(({ path, line, column }) => [path, line, column]), [['one.txt', 1, 8400001], ['pieces.txt', 500001, 1]]);
	same((await own.call('search_text', { query: 'text of', max_results: 1 })).total, 500000);
	await own.end();
});

test('files that change under a search never make it fail', async () => {
	const tree = repository();
	for (let i = 0; i < 200; i++) write(tree, { [`d${i % 10}/f${i}.txt`]: `line ${i}\nneedle\n` });
	const own = await serve(tree);
	const rounds = isLong ? 2000 : 60;
	for (let i = 0; i < rounds; i++) {
		const answer = own.call('search_text', { query: 'needle', max_results: 1000 });
		write(tree, { [`d${i % 10}/f${i % 200}.txt`]: i % 3 ? 'other\n' : 'line\nneedle again\n'.repeat(1 + (i % 50)) });
		if (i % 7 === 0) execFileSync('rm', ['-rf', join(tree, `d${i % 10}`)]);
		const { matches, total } = await answer;
		check(matches.length === Math.min(total, 1000));
		for (const { preview } of matches) check(preview.includes('needle'));
	}
	await own.end();
});

test('the server ends', () => server.end());

await end();
