// open_file and list_paths: what they return, what they refuse, and what is left out.
//
// reaches: input.invalid_line_range, file.operation_failed

import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, match, run, same, scratch, test } from './lib/cli.mjs';
import { end, repository, serve, write } from './lib/code.mjs';

const dir = repository({
	'src/main.py': 'def main():\n    pass',
	'src/lines.txt': 'one\ntwo\nthree\n',
	'src/crlf.txt': 'one\r\ntwo\r\n',
	'src/ünï.txt': 'grüße\n',
	'empty.txt': '',
	'logo.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
	'latin1.txt': Buffer.from('gr\xfc\xdfe\n', 'latin1'),
	'.github/workflow.yml': 'on: push\n',
	'node_modules/x/index.js': 'x\n',
	'src/__pycache__/m.pyc': 'x',
});
execFileSync('mkfifo', [join(dir, 'pipe')]);
symlinkSync('/etc/passwd', join(dir, 'link-out'));
symlinkSync('src/main.py', join(dir, 'link-in'));
writeFileSync(join(scratch(), 'secret.txt'), 'secret\n');

const server = await serve(dir);
const { call, fail } = server;
const paths = async (args) => (await call('list_paths', args)).items.map((item) => item.path);

test('open_file returns a whole file, as in the example of the contract', async () => {
	same(await call('open_file', { path: 'src/main.py' }), { path: 'src/main.py', content: 'def main():\n    pass', lines: 2, size: 20 });
	same(await call('open_file', { path: 'empty.txt' }), { path: 'empty.txt', content: '', lines: 0, size: 0 });
	same(await call('open_file', { path: './src//ünï.txt' }), { path: 'src/ünï.txt', content: 'grüße\n', lines: 1, size: 8 });
	same((await call('open_file', { path: 'link-in' })).lines, 2);
});

test('open_file returns a range of lines, both ends included, with their line ends', async () => {
	const lines = async (start_line, end_line) => (await call('open_file', { path: 'src/lines.txt', start_line, end_line })).content;
	same(await lines(2, 2), 'two\n');
	same(await lines(2, null), 'two\nthree\n');
	same(await lines(null, 2), 'one\ntwo\n');
	same(await lines(1, 99), 'one\ntwo\nthree\n');
	same(await call('open_file', { path: 'src/lines.txt', start_line: 9 }), { path: 'src/lines.txt', content: '', lines: 0, size: 0 });
	same((await call('open_file', { path: 'src/crlf.txt', start_line: 2, end_line: 2 })).content, 'two\r\n');
});

test('open_file reads lines of a file that is larger than it returns whole', async () => {
	const line = 'x'.repeat(99) + '\n';
	write(dir, { 'large.txt': line.repeat(50000) });
	const found = await call('open_file', { path: 'large.txt', start_line: 49999, end_line: 50000 });
	same([found.lines, found.size], [2, 200]);
	await fail('open_file', { path: 'large.txt' }, 'file-too-large', 413);
	// A terabyte, of which a disk has nothing: only what is asked for is read.
	writeFileSync(join(dir, 'sparse.txt'), 'first\nsecond\n' + 'y'.repeat(100000) + '\n');
	truncateSync(join(dir, 'sparse.txt'), 2 ** 40);
	same((await call('open_file', { path: 'sparse.txt', start_line: 1, end_line: 1 })).content, 'first\n');
	await fail('open_file', { path: 'sparse.txt' }, 'unsupported-encoding', 415);
	execFileSync('rm', [join(dir, 'large.txt'), join(dir, 'sparse.txt')]);
});

test('open_file: a character may be split between two pieces that are read', async () => {
	write(dir, { 'wide.txt': 'a' + 'ü'.repeat(100000) });
	same((await call('open_file', { path: 'wide.txt' })).size, 200001);
	write(dir, { 'wide.txt': Buffer.concat([Buffer.from('a' + 'ü'.repeat(100000)), Buffer.from([0xc3])]) });
	await fail('open_file', { path: 'wide.txt' }, 'unsupported-encoding', 415);
	execFileSync('rm', [join(dir, 'wide.txt')]);
});

test('open_file: what does not exist', async () => {
	const envelope = await fail('open_file', { path: 'src/missing.py' }, 'file-not-found', 404, 'File not found: src/missing.py');
	same(envelope.problem.title, 'File Not Found');
	same(envelope.problem.extensions, { path: 'src/missing.py' });
	await fail('open_file', { path: 'no/such/folder/x' }, 'file-not-found', 404, 'File not found: no/such/folder/x');
	await fail('open_file', { path: 'src/main.py/x' }, 'file-not-found', 404);
});

test('open_file: what is not text', async () => {
	for (const path of ['logo.png', 'latin1.txt']) {
		const { reason, ...known } = (await fail('open_file', { path }, 'unsupported-encoding', 415)).problem.extensions;
		same(known, { path, encoding: 'utf-8' });
		check(/^(invalid start byte|invalid continuation byte|unexpected end of data|NUL byte) at position \d+$/.test(reason), reason);
	}
	// The encoding is checked before the numbers of the lines.
	await fail('open_file', { path: 'logo.png', start_line: 0 }, 'unsupported-encoding', 415);
});

test('open_file: ranges that are none, each with its numbers', async () => {
	const range = (start_line, end_line, error) => fail('open_file', { path: 'src/main.py', start_line, end_line }, 'invalid-parameter', 400, error);
	same((await range(0, 10, 'start_line must be a positive integer')).problem,
		{
			type: 'https://kgfoundry.dev/problems/invalid-parameter', title: 'Invalid Parameter', status: 400,
			detail: 'start_line must be a positive integer', instance: 'urn:codeintel:files:open_file', code: 'invalid-parameter',
			extensions: { path: 'src/main.py', start_line: 0, end_line: 10 },
		});
	same((await range(1, -5, 'end_line must be a positive integer')).problem.extensions, { path: 'src/main.py', start_line: 1, end_line: -5 });
	await range(-1, -5, 'start_line must be a positive integer');
	await range(5, 4, 'start_line must be less than or equal to end_line');
	same((await range(undefined, 0, 'end_line must be a positive integer')).problem.extensions, { path: 'src/main.py', end_line: 0 });
	// A file that does not exist is reported first.
	await fail('open_file', { path: 'missing', start_line: 0 }, 'file-not-found', 404);
});

test('open_file: folders, pipes, and arguments of the wrong type', async () => {
	for (const [path, reason] of [['src', 'a folder'], ['.', 'a folder'], ['pipe', 'not an ordinary file']])
		await fail('open_file', { path }, 'file-operation-failed', 400, `path is ${reason}: ${path}`);
	await fail('open_file', {}, 'invalid-parameter', 400);
	await fail('open_file', { path: 5 }, 'invalid-parameter', 400);
	await fail('open_file', { path: 'src/main.py', start_line: 'one' }, 'invalid-parameter', 400);
	await fail('open_file', { path: 'src/main.py', lines: 1 }, 'invalid-parameter', 400);
});

test('nothing outside of the repository is read, by any path', async () => {
	const outside = ['../secret.txt', 'src/../../secret.txt', '/etc/passwd', join(scratch(), 'secret.txt'), 'link-out', '..\\secret.txt'];
	for (const path of outside) {
		const envelope = await fail('open_file', { path }, 'forbidden', 403);
		check(!JSON.stringify(envelope).includes(dir), 'no absolute path of the server');
	}
	for (const path of ['a\0b', 'a\nb', '', 'x'.repeat(5000), 'a/' + 'y'.repeat(300)])
		await fail('open_file', { path }, 'invalid-parameter', 400);
	for (const path of ['/proc/self/environ', '/dev/stdin', '//etc/passwd']) await fail('open_file', { path }, 'forbidden', 403);
	await fail('open_file', { path: '%2e%2e/secret.txt' }, 'file-not-found', 404);
	same((await call('open_file', { path: join(dir, 'src/main.py') })).path, 'src/main.py');
	await fail('list_paths', { path: '../' }, 'forbidden', 403);
	await fail('list_paths', { path: 'link-out' }, 'forbidden', 403);
});

test('list_paths lists files in the order of their paths, without caches and links', async () => {
	same(await paths(), ['.github/workflow.yml', 'empty.txt', 'latin1.txt', 'logo.png', 'src/crlf.txt', 'src/lines.txt', 'src/main.py', 'src/ünï.txt']);
	const { items, total, truncated } = await call('list_paths', { path: 'src', max_results: 2 });
	same([items.map((item) => item.path), total, truncated], [['src/crlf.txt', 'src/lines.txt'], 4, true]);
	same(items[1].size, 14);
	match(items[1].modified, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	same((await call('list_paths', { path: 'src', max_results: 4 })).truncated, false);
	same(await paths({ path: 'src/main.py' }), ['src/main.py']);
	same(await paths({ path: 'node_modules' }), ['node_modules/x/index.js'], 'a folder that is named is listed');
	const { items: [link] } = await call('list_paths', { path: 'link-in' });
	same([link.path, link.size], ['link-in', 20], 'a link to a file of the repository, if it is named');
	await fail('list_paths', { path: 'pipe' }, 'file-operation-failed', 400, 'path is not a folder: pipe');
	await fail('list_paths', { path: 'src/main.py/x' }, 'file-not-found', 404, 'File not found: src/main.py/x');
});

test('list_paths: globs', async () => {
	same(await paths({ include_globs: ['*.py'] }), ['src/main.py']);
	same(await paths({ include_globs: ['src/*.{py,md}', 'empty.*'] }), ['empty.txt', 'src/main.py']);
	same(await paths({ include_globs: ['**/*.txt'], exclude_globs: ['src/**'] }), ['empty.txt', 'latin1.txt']);
	same(await paths({ include_globs: ['[l-m]*.[!t]*'] }), ['logo.png', 'src/main.py']);
	same(await paths({ include_globs: ['src/'] }), ['src/crlf.txt', 'src/lines.txt', 'src/main.py', 'src/ünï.txt']);
	same(await paths({ include_globs: ['*.none'] }), []);
	for (const glob of ['', '[a', '{a', '/abs', 'a/../b', 'x'.repeat(300), '{a,b}'.repeat(9)])
		await fail('list_paths', { include_globs: [glob] }, 'invalid-parameter', 400);
	await fail('list_paths', { include_globs: Array(65).fill('a') }, 'invalid-parameter', 400);
	await fail('list_paths', { include_globs: 'a' }, 'invalid-parameter', 400);
	await fail('list_paths', { max_results: 0 }, 'invalid-parameter', 400, 'max_results must be a positive integer');
	await fail('list_paths', { path: 'nowhere' }, 'file-not-found', 404, 'File not found: nowhere');
});

test('list_paths leaves out what git and ripgrep leave out', async () => {
	const tree = repository({
		'.gitignore': '# comment\n*.o\n/build\nlogs/\n!keep.o\n\\#odd\ndoc/*.txt\n**/deep/x\na[0-9].c\ntrail  \nspace\\ \nq**z\n',
		'.ignore': 'hidden.c\n!logs/\n',
		'x.o': '', 'keep.o': '', 'sub/y.o': '', 'build/z': '', 'sub/build/z': '', 'logs/l': '', 'sub/logs/l': '', '#odd': '',
		'doc/a.txt': '', 'doc/b/a.txt': '', 'p/deep/x': '', 'deep/x': '', 'deep/y': '', 'a1.c': '', 'ab.c': '', trail: '', 'space ': '', 'qabz': '',
		'hidden.c': '', 'sub/hidden.c': '', 'sub/.gitignore': '!y.o\nlocal\n', 'sub/local': '', local: '',
		'nested/.git/HEAD': 'x', 'nested/n.o': '', 'nested/.gitignore': 'only-here\n', 'nested/only-here': '',
		'brace{a}': '', excluded: '',
	});
	write(tree, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/info/exclude': 'excluded\n' });
	const own = await serve(tree);
	const listed = (await own.call('list_paths')).items.map((item) => item.path);
	await own.end();
	const bytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
	const by = execFileSync('rg', ['--files', '--hidden', '--no-config', '--no-require-git', '--no-ignore-global', '--no-ignore-parent', '--glob', '!.git'], { cwd: tree, encoding: 'utf8' });
	same(listed, by.trimEnd().split('\n').sort(bytes));
	for (const path of ['keep.o', 'sub/y.o', 'logs/l', 'ab.c', 'nested/n.o', 'doc/b/a.txt', 'brace{a}']) check(listed.includes(path), path);
	for (const path of ['x.o', 'build/z', 'hidden.c', 'sub/local', 'p/deep/x', 'nested/only-here', 'excluded', 'qabz']) check(!listed.includes(path), path);
});

test('classes with escapes and names, "?" beside a letter of two bytes, a rule of 300 bytes: ignored as git does', async () => {
	const long = `${'l'.repeat(150)}/${'m'.repeat(150)}`;
	const tree = repository({
		'.gitignore': `e[a\\-z]\nn[[:digit:][:upper:]]\nq?\nb[^x][^x]\nr[]x]\nu[\\]]\n/${long}\n*${'s'.repeat(260)}\nw[[:none:]]\n`,
		ea: '', eb: '', 'e-': '', ez: '', n1: '', nA: '', na: '', 'n:': '', qa: '', 'qé': '', 'bé': '', 'bxé': '', 'r]': '', rx: '', ry: '', 'u]': '', 'u\\': '', 'w:': '', [long]: '', [`t${'s'.repeat(200)}`]: '',
	});
	execFileSync('git', ['init', '-q'], { cwd: tree });
	const own = await serve(tree);
	const listed = (await own.call('list_paths')).items.map((item) => item.path);
	await own.end();
	const by = execFileSync('git', ['-c', 'core.excludesFile=/dev/null', 'ls-files', '-zco', '--exclude-standard'], { cwd: tree, encoding: 'utf8' });
	same(listed.sort(), by.split('\0').filter(Boolean).sort());
	for (const path of ['eb', 'na', 'qé', 'ry']) check(listed.includes(path), path);
	for (const path of ['ea', 'e-', 'ez', 'n1', 'nA', 'qa', 'bé', 'r]', long]) check(!listed.includes(path), path);
});

test('names that cannot be paths are left out: line breaks, bytes that are not UTF-8', async () => {
	const tree = repository({ 'good.txt': 'x' });
	writeFileSync(join(tree, 'two\nlines'), 'x');
	writeFileSync(Buffer.concat([Buffer.from(tree + '/'), Buffer.from([0xff, 0xfe])]), 'x');
	const own = await serve(tree);
	same((await own.call('list_paths')).items.map((item) => item.path), ['good.txt']);
	await own.end();
});

test('several repositories: names begin the paths', async () => {
	const one = repository({ 'a.txt': 'one' });
	const two = repository({ 'a.txt': 'two', 'b/c.txt': 'x' });
	const own = await serve([`first=${one}`, `second=${two}`]);
	same((await own.call('list_paths')).items.map((item) => item.path), ['first/a.txt', 'second/a.txt', 'second/b/c.txt']);
	same((await own.call('list_paths', { path: 'second/b' })).items.map((item) => item.path), ['second/b/c.txt']);
	same((await own.call('list_paths', { include_globs: ['second/**'], exclude_globs: ['second/b/*'] })).items.map((item) => item.path), ['second/a.txt']);
	same(await own.call('open_file', { path: 'second/a.txt' }), { path: 'second/a.txt', content: 'two', lines: 1, size: 3 });
	await own.fail('open_file', { path: 'a.txt' }, 'file-not-found', 404, 'File not found: a.txt');
	await own.fail('open_file', { path: 'second/../first/a.txt' }, 'forbidden', 403);
	same((await own.call('open_file', { path: join(one, 'a.txt') })).path, 'first/a.txt');
	await own.end();
});

test('hard links are read: a repository may have them', async () => {
	linkSync(join(dir, 'src/main.py'), join(dir, 'hard.py'));
	same((await call('open_file', { path: 'hard.py' })).lines, 2);
	execFileSync('rm', [join(dir, 'hard.py')]);
});

test('a folder of many files, and one that is very deep, have limits and no error', async () => {
	const tree = repository({});
	execFileSync('sh', ['-c', `cd ${tree} && mkdir many && cd many && seq -f f%06g 21000 | xargs touch`]);
	let deep = tree;
	for (let i = 0; i < 140; i++) mkdirSync((deep = join(deep, 'd')));
	writeFileSync(join(deep, 'bottom'), '');
	const own = await serve(tree);
	const { items, total, truncated } = await own.call('list_paths', { max_results: 1e9 });
	same([items.length, total, truncated], [20000, 21000, true]);
	await own.end();
});

test('the command line: what --repo must be', () => {
	for (const [args, pattern] of [
		[['--tools', 'code'], /toolset code needs --repo DIR/],
		[['--repo', dir, '--repo', dir], /several repositories need names/],
		[['--repo', `a=${dir}`, '--repo', `a=${dir}`], /two --repo have the same name/],
		[['--repo', `.a=${dir}`], /the name of a --repo has/],
		[['--repo', '/no/such/dir'], /does not exist/],
		[['--repo', join(dir, 'empty.txt')], /not a folder/],
		[['--repo', dir, '--search-timeout', '0'], /--search-timeout takes/],
	]) {
		const { status, err } = run(['serve', ...args]);
		check(status !== 0, args.join(' '));
		match(err, pattern, args.join(' '));
	}
});

test('open_file does not read a file to its end that is too large to be shown', async () => {
	const own = await serve(repository({ 'large.txt': Buffer.concat([Buffer.from('a line\n'.repeat(500000)), Buffer.from([0, 0xff])]) }));
	// Its last bytes are not text.
	await own.fail('open_file', { path: 'large.txt' }, 'file-too-large', 413);
	await own.fail('open_file', { path: 'large.txt', start_line: 3 }, 'file-too-large', 413);
	await own.fail('open_file', { path: 'large.txt', start_line: 499999 }, 'unsupported-encoding', 415);
	await own.end();
});

test('the server ends', () => server.end());

await end();
