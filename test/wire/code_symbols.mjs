// find_symbol, outline and find_references: definitions of each language, ranks, empty results,
// errors; find_references finds the lines that git grep -w finds.

import { execFileSync } from 'node:child_process';
import { check, root, same, test } from './lib/cli.mjs';
import { awaitIndex, end, repository, serve, useState, write } from './lib/code.mjs';

useState();
const files = {
	'a.c': `#ifndef GUARD_H\n#define GUARD_H\n#define LIMIT 10\n\nstruct buf {\n\tchar *text;\n};\n\nstatic int helper(int a,\n\t\t  int b)\n{\n\tif (a > b)\n\t\tgoto out;\n#ifdef X\n\ta = b;\n#endif\nout:\n\treturn a;\n}\n\nint declared(void);\n\nenum color { RED };\n\nstruct buf *make_buf(void)\n{\n\treturn helper(1, 2) ? 0 : 0; /* helper */\n}\n#endif\n`,
	'b.py': `import os\n\n\nclass Store(Base):\n    def get(self, key):\n        return helper(key)\n\n    async def put(self, key):\n        pass\n\n\ndef helper(key):\n    def inner():\n        pass\n    return inner\n`,
	'c.ts': `export interface Shape {\n  area(): number;\n}\nexport class Circle implements Shape {\n  constructor(private r: number) {\n  }\n  area(): number {\n    if (this.r) {\n      return 1;\n    }\n    return 0;\n  }\n}\nexport const double = (x: number) => x * 2;\nexport async function load() {\n}\ntype Id = string;\n`,
	'd.go': `package d\n\ntype Queue struct {\n\tjobs []int\n}\n\nfunc (q *Queue) Push(job int) {\n\tq.jobs = append(q.jobs, job)\n}\n\nfunc New() *Queue {\n\treturn &Queue{}\n}\n`,
	'e.rs': `pub struct Point {\n    x: i32,\n}\n\nimpl Point {\n    pub fn new() -> Self {\n        Point { x: 0 }\n    }\n}\n\npub(crate) fn free_function() {}\n\npub trait Draw {\n    fn draw(&self);\n}\n`,
	'f.java': `package f;\n\npublic class Account {\n    private int balance;\n\n    public int getBalance() {\n        return balance;\n    }\n\n    enum Kind { A, B }\n}\n`,
	'g.rb': `module Shop\n  class Cart\n    def total?\n      1\n    end\n  end\nend\n`,
	'h.sh': `#!/bin/sh\nsetup() {\n\techo hi\n}\nfunction teardown {\n\ttrue\n}\n`,
	'i.md': `# Title\n\ntext\n\n## Part one\n\n\`\`\`\n# not a heading\n\`\`\`\n\n## Part two\n`,
	'j.php': `<?php\nfinal class Page {\n    public static function render($x) {\n        return $x;\n    }\n}\n`,
	'k.cpp': `typedef unsigned long number;\ntypedef int (*compare)(const void *,\n\t\t       const void *);\ntypedef struct {\n\tint x;\n} spot, *spot_ptr;\n\nclass EXPORTED Shape : public Base {\n  bool operator==(const Shape &other) const {\n    return true;\n  }\n};\n\nstatic void set(int a,\n\t\tenum color color)\n{\n}\n`,
	'l.js': `exports.show = function (x) {\n};\nrun()\n\nconst table = {\n\tlist(a) {\n\t},\n};\napp.use(function handle (req) {\n});\n`,
	'Makefile': `all: build\n\techo\n\nbuild:\n\tcc x\n`,
	'data.bin': Buffer.from([1, 0, 2]),
	'helper.txt': 'a helper is helpers or helper.\nnothing\n',
};
const dir = repository(files);
const { call, fail, end: stop } = await serve(dir, '--semantic-index', 'off');

const expected = {
	'a.c': ['3-3 macro LIMIT', '5-7 struct buf', '9-19 function helper', '23-23 enum color', '25-28 function make_buf'],
	'b.py': ['4-9 class Store', '5-6 method get (Store)', '8-9 method put (Store)', '12-15 function helper', '13-14 function inner (helper)'],
	'c.ts': ['1-3 interface Shape', '2-2 method area (Shape)', '4-13 class Circle', '5-6 method constructor (Circle)', '7-12 method area (Circle)', '14-14 function double', '15-16 function load', '17-17 type Id'],
	'd.go': ['3-5 type Queue', '7-9 method Push', '11-13 function New'],
	'e.rs': ['1-3 struct Point', '5-9 class Point', '6-8 method new (Point)', '11-11 function free_function', '13-15 interface Draw', '14-14 method draw (Draw)'],
	'f.java': ['3-11 class Account', '6-8 method getBalance (Account)', '10-10 enum Kind (Account)'],
	'g.rb': ['1-7 module Shop', '2-6 class Cart (Shop)', '3-5 method total? (Cart)'],
	'h.sh': ['2-4 function setup', '5-7 function teardown'],
	'i.md': ['1-11 heading Title', '5-9 heading Part one (Title)', '11-11 heading Part two (Title)'],
	'j.php': ['2-6 class Page', '3-5 method render (Page)'],
	'k.cpp': ['1-1 type number', '2-3 type compare', '6-6 type spot', '8-12 class Shape', '9-11 method operator== (Shape)', '14-17 function set'],
	'l.js': ['1-2 function show', '6-7 function list', '9-10 function handle'],
	'Makefile': ['1-2 function all', '4-5 function build'],
};
for (const [path, wanted] of Object.entries(expected))
	test(`outline of ${path}`, async () => {
		const result = await call('outline', { path });
		same(result.symbols.map((s) => `${s.start_line}-${s.end_line} ${s.kind} ${s.name}${s.container && ` (${s.container})`}`), wanted);
		same([result.path, result.lines, result.method], [path, files[path].split('\n').length - 1, 'outline']);
	});

test('outline: no symbols, and its errors', async () => {
	same((await call('outline', { path: 'helper.txt' })).symbols, []);
	await fail('outline', { path: 'missing.c' }, 'file-not-found', 404, 'File not found: missing.c');
	await fail('outline', { path: 'data.bin' }, 'unsupported-encoding', 415);
	await fail('outline', { path: '../x' }, 'forbidden', 403);
	await fail('outline', { path: '.' }, 'file-operation-failed', 400);
	await fail('outline', {}, 'invalid-parameter', 400);
});

test('find_symbol: exact names first, then beginnings, then parts; kinds; limits', async () => {
	const found = await call('find_symbol', { name: 'helper' });
	same(found.symbols.map((s) => [s.path, s.name, s.kind, s.start_line]), [['a.c', 'helper', 'function', 9], ['b.py', 'helper', 'function', 12]]);
	same([found.total, found.truncated], [2, false]);
	same((await call('find_symbol', { name: 'point' })).symbols.map((s) => s.kind), ['struct', 'class']);
	same((await call('find_symbol', { name: 'buf' })).symbols.map((s) => s.name), ['buf', 'make_buf']);
	same((await call('find_symbol', { name: 'buf', kind: 'function' })).symbols.map((s) => s.name), ['make_buf']);
	const one = await call('find_symbol', { name: 'e', limit: 1 });
	same([one.symbols.length, one.truncated], [1, true]);
	check(one.total > 5);
	same(await call('find_symbol', { name: 'no_such_name' }), { symbols: [], total: 0, truncated: false, method: 'outline' });
	await fail('find_symbol', { name: '' }, 'invalid-parameter', 400);
	await fail('find_symbol', { name: 'two words' }, 'invalid-parameter', 400);
	await fail('find_symbol', { name: 'x', kind: 'cheese' }, 'invalid-parameter', 400);
	await fail('find_symbol', { name: 'x'.repeat(201) }, 'input-too-large', 413);
});

test('find_references: definitions, calls, uses, mentions; marked as lexical', async () => {
	const found = await call('find_references', { name: 'helper' });
	same(found.references.map((r) => `${r.kind} ${r.path}:${r.line}:${r.column} ${r.symbol}`),
		['definition a.c:9:12 helper', 'definition b.py:12:5 helper', 'call a.c:27:9 make_buf', 'call b.py:6:16 get', 'use helper.txt:1:3 ']);
	same([found.total, found.truncated, found.method], [5, false, 'lexical']);
	same((await call('find_references', { name: 'Helper' })).total, 0);
	same((await call('find_references', { name: 'helper', limit: 2 })).truncated, true);
	await fail('find_references', { name: '' }, 'invalid-parameter', 400);
	write(dir, { 'new.c': 'helper\n' });
	same((await call('find_references', { name: 'helper' })).total, 6, 'at once');
});

test('find_references and find_symbol see what is behind the first megabyte of a file', async () => {
	const own = await serve(repository({ 'large.c': `${'int filler;\n'.repeat(200000)}int far_away(void)\n{\n\treturn 0;\n}\n` }), '--semantic-index', 'off');
	same((await own.call('find_references', { name: 'far_away' })).references.map((r) => [r.line, r.kind]), [[200001, 'definition']]);
	same((await own.call('find_symbol', { name: 'FAR_AWAY' })).symbols.map((s) => [s.name, s.start_line]), [['far_away', 200001]]);
	await own.end();
});

test('find_references and find_symbol with the search index: the same, also after changes', async () => {
	useState();
	const tree = repository({ ...files, 'new.c': 'helper\n' });
	const own = await serve(tree, '--semantic-index', 'off', '--search-index', 'on');
	await awaitIndex();
	for (const [tool, name] of [['find_references', 'helper'], ['find_symbol', 'Point'], ['find_symbol', 'e'], ['find_symbol', 'STORE'], ['find_references', 'none_of_it']]) {
		const [with_index, without] = [await own.call(tool, { name }), await call(tool, { name })];
		same(with_index, without, `${tool} ${name}`);
	}
	write(tree, { 'sub/later.c': 'int later(void)\n{\n\treturn helper(2);\n}\n', 'a.c': 'int nothing;\n' });
	same((await own.call('find_references', { name: 'helper' })).references.map((r) => r.path), ['b.py', 'b.py', 'sub/later.c', 'helper.txt', 'new.c']);
	same((await own.call('find_symbol', { name: 'Later' })).symbols.map((s) => s.path), ['sub/later.c']);
	await own.end();
});

test('a byte order mark is not part of the first line', async () => {
	const own = await serve(repository({ 'a.py': '\ufeffdef marked():\n    pass\n' }), '--semantic-index', 'off');
	same((await own.call('find_references', { name: 'marked' })).references.map((r) => [r.column, r.kind, r.preview]), [[5, 'definition', 'def marked():']]);
	same((await own.call('find_symbol', { name: 'marked' })).symbols.map((s) => s.start_line), [1]);
	same((await own.call('outline', { path: 'a.py' })).symbols.map((s) => s.name), ['marked']);
	await own.end();
});

test('find_references: a name beside a quotation mark or a letter beyond ASCII is found', async () => {
	const own = await serve(repository({ 'a.txt': '„spot“\nspot…\n见spot函数\nspotless\nécole\nlécole\n' }), '--semantic-index', 'off');
	same((await own.call('find_references', { name: 'spot' })).references.map((r) => r.line), [1, 2, 3]);
	same((await own.call('find_references', { name: 'école' })).references.map((r) => r.line), [5, 6]);
	same((await own.call('find_references', { name: 'cole' })).references.map((r) => r.line), [5, 6]);
	await own.end();
});

test('find_references: a file with very many definitions and uses takes no longer than its size', async () => {
	const own = await serve(repository({ 'a.h': Array.from({ length: 95000 }, (_, i) => `#define M${i} value\n`).join('') }), '--search-timeout', '3000');
	const { references, total } = await own.call('find_references', { name: 'value', limit: 1 });
	same([total, references[0].symbol], [95000, 'M0']);
	const found = await own.call('find_symbol', { name: 'M', limit: 1 });
	same([found.total, found.truncated], [95000, true]);
	await own.end();
});

test('find_references: a prototype in C is no call', async () => {
	const own = await serve(repository({
		'spot.h': 'NODISCARD struct error *spot(int a,\n\tint b);\nint (*hook)(void) = spot(1, 2);\n',
		'spot.c': 'struct error *spot(int a, int b)\n{\n\treturn a ? spot(b, 0) : 0;\n}\n',
		'use.py': 'spot(1, 2)\nvalue = spot(3, 4)\n',
	}));
	same((await own.call('find_references', { name: 'spot' })).references.map((r) => `${r.path}:${r.line} ${r.kind}`),
		['spot.c:1 definition', 'spot.c:3 call', 'spot.h:3 call', 'use.py:1 call', 'use.py:2 call', 'spot.h:1 use']);
	await own.end();
});

test('find_references: the preview of a long line has the name', async () => {
	const own = await serve(repository({ 'min.js': `${'é;'.repeat(3000)}spot();${'y'.repeat(500)}\n` }));
	const [{ column, preview }] = (await own.call('find_references', { name: 'spot' })).references;
	same(column, 6001);
	check(preview.includes('spot();') && preview.length <= 200 && !preview.includes('\ufffd'), preview);
	await own.end();
});

test('find_references: a line that begins with a star or two dashes may be code', async () => {
	const own = await serve(repository({ 'a.c': '/*\n * spot is explained\n */\nint f(int *spot)\n{\n\t*spot = 1;\n\t--spot;\n}\n', 'b.sql': '-- spot\n' }), '--semantic-index', 'off');
	same((await own.call('find_references', { name: 'spot' })).references.map((r) => `${r.path}:${r.line} ${r.kind}`),
		['a.c:4 use', 'a.c:6 use', 'a.c:7 use', 'a.c:2 mention', 'b.sql:1 mention']);
	await own.end();
});

test('find_references finds the lines of git grep -w in this repository', async () => {
	const own = await serve(root, '--semantic-index', 'off');
	for (const name of ['fw_buf_put', 'fw_walk_run', 'is_stopped', 'FW_TRY_NOT_THERE', 'fw_semantic_pack']) {
		const found = await own.call('find_references', { name, limit: 1000 });
		let wanted = [];
		try {
			wanted = execFileSync('git', ['grep', '-nwIF', '--untracked', name], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 }).trim().split('\n').map((line) => line.split(':').slice(0, 2).join(':'));
		} catch { /* none */ }
		same(found.references.map((r) => `${r.path}:${r.line}`).sort(), wanted.sort(), name);
	}
	await own.end();
});

test('a search that takes too long', async () => {
	const many = {};
	for (let i = 0; i < 3000; i++) many[`f${i}.c`] = 'int slow_name(void);\n'.repeat(200);
	const slow = await serve(repository(many), '--semantic-index', 'off', '--search-timeout', '1');
	for (const tool of ['find_symbol', 'find_references'])
		same((await slow.fail(tool, { name: 'slow_name' }, 'vector-search-error', 503, 'Search timeout')).problem.extensions, { query: 'slow_name' });
	await slow.end();
});

test('the end', () => stop());
await end();
