/*
 * Changes of several files in one call, moving, deleting, new directories, listing and
 * searching: each under the same checks as write_file.
 */
import assert from 'node:assert/strict';
import { chmodSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { test } from 'node:test';
import { Place, Server, code, sha256 } from './lib/workspace.mjs';

async function serving({ options = [], role, setup = (place) => place.plan('src/**') }, run) {
	const place = new Place();
	const plan = setup(place);
	const server = await Server.start(place, 'stdio', { options, role });
	try {
		await server.begin();
		await run(server, place, plan);
	} finally {
		await server.close();
		place.drop();
	}
}
const A = 'one\ntwo\nthree\n';

test('write_files changes, patches, creates and deletes files together', () => serving({}, async (server, place, plan) => {
	place.write('src/old.txt', 'old\n');
	const { files } = await server.ok('write_files', {
		plan, intent: 'All kinds at once.', phase_id: 'P1', make_directories: true,
		files: [
			{ path: 'src/a.txt', patch: '--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n', previousHash: sha256(A) },
			{ path: 'src/new/deep/b.txt', content: 'b\n', create: true },
			{ path: 'src/old.txt', delete: true },
		],
	});
	assert.deepEqual(files.map(({ path, outcome }) => [path, outcome]),
		[['src/a.txt', 'replaced'], ['src/new/deep/b.txt', 'created'], ['src/old.txt', 'deleted']]);
	assert.equal(place.read('src/a.txt'), 'one\n2\nthree\n');
	assert.equal(place.read('src/new/deep/b.txt'), 'b\n');
	assert.equal(place.exists('src/old.txt'), false);
	assert.equal(files[0].previousHash, sha256(A));
	const line = place.audit().find((one) => one.tool_name === 'write_files');
	assert.equal(line.event, 'change');
	assert.equal(line.plan_hash, plan);
	assert.equal(line.phase_id, 'P1');
}));

test('write_files changes nothing if one file is refused, for any reason', () => serving({
	setup(place) {
		place.write('src/b.txt', 'b\n');
		place.write('other.txt', 'x\n');
		place.write('src/hard', 'x');
		linkSync(place.path('src/hard'), place.path('src/hard2'));
		return place.plan('src/**');
	},
}, async (server, place, plan) => {
	const good = { path: 'src/a.txt', content: 'new\n' };
	const cases = [
		['PLAN_SCOPE_VIOLATION', { path: 'other.txt', content: 'y\n' }],
		['PLAN_SCOPE_VIOLATION', { path: 'src/.git/config', content: 'y\n', create: true }, true],
		['PLAN_SCOPE_VIOLATION', { path: 'src/x/refs/heads', content: 'y\n', create: true }, true],
		['HASH_MISMATCH', { path: 'src/b.txt', content: 'y\n', previousHash: sha256('other') }],
		['FILE_NOT_FOUND', { path: 'src/none.txt', content: 'y\n' }],
		['FILE_ALREADY_EXISTS', { path: 'src/b.txt', content: 'y\n', create: true }],
		['PATH_NOT_FOUND', { path: 'src/none/c.txt', content: 'y\n', create: true }],
		['PATCH_APPLY_FAILED', { path: 'src/b.txt', patch: '--- a/src/b.txt\n+++ b/src/b.txt\n@@ -1 +1 @@\n-c\n+d\n' }],
		['PATCH_INVALID', { path: 'src/b.txt', patch: 'nonsense' }],
		['POLICY_VIOLATION', { path: 'src/c.c', content: '/* TODO */\n', create: true }],
		['PATH_TRAVERSAL_BLOCKED', { path: '../outside/secret.txt', content: 'y\n' }],
		['OUTSIDE_WORKSPACE', { path: 'src/hard', content: 'y\n' }],
		['INVALID_INPUT_VALUE', { path: './src//a.txt', content: 'y\n' }],
		['INVALID_INPUT_VALUE', { path: 'src/b.txt', content: 'y\n', patch: 'x' }],
		['MISSING_REQUIRED_FIELD', { path: 'src/b.txt' }],
		['UNAUTHORIZED_ACTION', { path: 'docs/reports/r.md', content: 'y\n', create: true }, true],
	];
	for (const [expected, bad, make_directories = false] of cases) {
		assert.equal(await code(server, 'write_files', { plan, make_directories, files: [good, bad] }), expected, JSON.stringify(bad));
		assert.equal(place.read('src/a.txt'), A);
		assert.equal(place.read('src/b.txt'), 'b\n');
		assert.deepEqual(readdirSync(place.path('src')).sort(), ['a.txt', 'b.txt', 'hard', 'hard2'], JSON.stringify(bad));
		assert.equal(place.audit().at(-1).error_code, expected);
	}
	assert.equal(await code(server, 'write_files', { files: [good] }), 'MISSING_REQUIRED_FIELD');
	assert.equal(await code(server, 'write_files', { plan, files: [] }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'write_files', { plan, files: Array(101).fill(good) }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'write_files', { plan: place.plan('**', { approve: false }), files: [good] }), 'PLAN_NOT_APPROVED');
	assert.equal(place.exists('.faultwire/journal') ? readdirSync(place.path('.faultwire/journal')).length : 0, 0);
}));

test('the preflight command runs once for all files, and a failure restores all of them', () => serving({
	options: ['--preflight', 'echo run >>src/runs; ! grep -rq bad src/*.txt src/new 2>/dev/null'],
	setup(place) {
		place.write('src/b.txt', 'b\n');
		return place.plan('src/**');
	},
}, async (server, place, plan) => {
	const files = (text) => [{ path: 'src/a.txt', content: 'fine\n' }, { path: 'src/b.txt', delete: true },
		{ path: 'src/new/c.txt', content: text, create: true }];
	assert.equal(await code(server, 'write_files', { plan, make_directories: true, files: files('bad\n') }), 'PREFLIGHT_FAILED');
	assert.deepEqual(readdirSync(place.path('src')).sort(), ['a.txt', 'b.txt', 'runs']);
	assert.equal(place.read('src/a.txt'), A);
	assert.equal(place.read('src/runs'), 'run\n');
	for (const [name, args] of [['write_files', { make_directories: true, files: files('fine\n') }], ['move_file', { path: 'src/a.txt', to: 'src/z' }],
		['delete_file', { path: 'src/a.txt' }], ['make_directory', { path: 'src/d' }]])
		assert.equal(await code(server, name, { plan, ...args }), 'SESSION_LOCKED', name);
	for (const [name, args] of [['list_files', {}], ['search_files', { query: 'one' }]])
		assert.equal(await code(server, name, args), 'SESSION_LOCKED', name);
	await server.ok('write_file', { path: 'docs/reports/1.md', content: 'It was bad.\n' });
	await server.ok('write_files', { plan, make_directories: true, files: files('fine\n') });
	assert.equal(place.read('src/runs'), 'run\nrun\n');
	assert.equal(place.exists('src/b.txt'), false);
}));

test('a command that looks at FAULTWIRE_PATH runs for each file, one that reads FAULTWIRE_PATHS once', async () => {
	for (const [command, expected] of [
		['echo "$FAULTWIRE_PATH" >>src/log', 'src/a.txt\nsrc/b.txt\n'],
		['cat "$FAULTWIRE_PATHS" >>src/log; echo "-$FAULTWIRE_PATH" >>src/log', 'src/a.txt\nsrc/b.txt\n-\n'],
	])
		await serving({ options: ['--preflight', command] }, async (server, place, plan) => {
			await server.ok('write_files', { plan, files: [{ path: 'src/a.txt', content: 'x\n' }, { path: 'src/b.txt', content: 'x\n', create: true }] });
			assert.equal(place.read('src/log'), expected);
		});
});

test('move_file keeps content and mode, and needs both paths in the scope', () => serving({
	setup(place) {
		chmodSync(place.path('src/a.txt'), 0o755);
		place.write('other/x', 'x');
		place.write('src/there', 'x');
		return place.plan('src/**');
	},
}, async (server, place, plan) => {
	assert.equal(await code(server, 'move_file', { plan, path: 'src/a.txt', to: 'other/a.txt' }), 'PLAN_SCOPE_VIOLATION');
	assert.equal(await code(server, 'move_file', { plan, path: 'other/x', to: 'src/x' }), 'PLAN_SCOPE_VIOLATION');
	assert.equal(await code(server, 'move_file', { plan, path: 'src/a.txt', to: 'src/there' }), 'FILE_ALREADY_EXISTS');
	assert.equal(await code(server, 'move_file', { plan, path: 'src/none', to: 'src/x' }), 'FILE_NOT_FOUND');
	assert.equal(await code(server, 'move_file', { plan, path: 'src/a.txt', to: 'src/a.txt' }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'move_file', { plan, path: 'src/a.txt', to: 'src/x', previousHash: sha256('x') }), 'HASH_MISMATCH');
	assert.equal(await code(server, 'move_file', { plan, path: 'src', to: 'src2' }), 'FILE_READ_FAILED');
	await server.ok('move_file', { plan, path: 'src/a.txt', to: 'src/sub/b.txt', make_directories: true, previousHash: sha256(A) });
	assert.equal(place.read('src/sub/b.txt'), A);
	assert.equal(statSync(place.path('src/sub/b.txt')).mode & 0o777, 0o755);
	assert.equal(place.exists('src/a.txt'), false);
}));

test('delete_file deletes one file and no report', () => serving({}, async (server, place, plan) => {
	place.write('docs/reports/r.md', 'r\n');
	assert.equal(await code(server, 'delete_file', { plan: place.plan('**'), path: 'docs/reports/r.md' }), 'UNAUTHORIZED_ACTION');
	assert.equal(await code(server, 'delete_file', { plan, path: 'src/none' }), 'FILE_NOT_FOUND');
	assert.equal((await server.ok('delete_file', { plan, path: 'src/a.txt', previousHash: sha256(A) })).outcome, 'deleted');
	assert.equal(place.exists('src/a.txt'), false);
	assert.ok(place.exists('docs/reports/r.md'));
}));

test('make_directory creates directories in the scope, and none that make a repository', () => serving({}, async (server, place, plan) => {
	assert.equal((await server.ok('make_directory', { plan, path: 'src/x/y' })).path, 'src/x/y');
	assert.ok(statSync(place.path('src/x/y')).isDirectory());
	assert.equal(await code(server, 'make_directory', { plan, path: 'src/x' }), 'FILE_ALREADY_EXISTS');
	assert.equal(await code(server, 'make_directory', { plan, path: 'src/a.txt' }), 'FILE_ALREADY_EXISTS');
	for (const path of ['lib', 'src/.git', 'src/x/refs', 'src/x/REFS/heads', 'docs/plans/x', '.faultwire/x', 'docs/reports/x'])
		assert.equal(await code(server, 'make_directory', { plan: place.plan('src/**, lib/*, **'), path }), path === 'lib' ? 'ok' : 'PLAN_SCOPE_VIOLATION', path);
	assert.equal(await code(server, 'make_directory', { plan, path: '../out' }), 'PATH_TRAVERSAL_BLOCKED');
	mkdirSync(place.path('src/r/refs'), { recursive: true });
	assert.equal(await code(server, 'make_directory', { plan, path: 'src/r/objects' }), 'PLAN_SCOPE_VIOLATION');
	symlinkSync('../../outside', place.path('src/out'));
	assert.equal(await code(server, 'make_directory', { plan, path: 'src/out/x' }), 'OUTSIDE_WORKSPACE');
}));

test('the role that plans may read, list and search, and change nothing', () => serving({ role: 'planner' }, async (server, place, plan) => {
	await server.ok('list_files', {});
	await server.ok('search_files', { query: 'two' });
	for (const [name, args] of [['write_files', { files: [{ path: 'src/a.txt', content: 'x' }] }], ['move_file', { path: 'src/a.txt', to: 'src/b' }],
		['delete_file', { path: 'src/a.txt' }], ['make_directory', { path: 'src/d' }]])
		assert.equal(await code(server, name, { plan, ...args }), 'UNAUTHORIZED_ACTION', name);
	assert.equal((await server.fails('write_files', {})).role, 'ANTIGRAVITY');
}));

test('list_files shows what can be read, by glob and directory, within its limits', () => serving({
	setup(place) {
		place.write('.git/config', 'x');
		place.write('src/lib/b.c', 'int b;\n');
		place.write('src/lib/b.h', '');
		symlinkSync('../../outside', place.path('src/out'));
		for (let i = 0; i < 30; i++) place.write(`many/f${String(i).padStart(2, '0')}`, 'x');
		return place.plan();
	},
}, async (server, place) => {
	const paths = async (args) => (await server.ok('list_files', args)).files.map((file) => file.path);
	assert.deepEqual(await paths({ path: 'src' }), ['src/a.txt', 'src/lib/b.c', 'src/lib/b.h']);
	assert.deepEqual(await paths({ glob: '**/*.c' }), ['src/lib/b.c']);
	const all = await server.ok('list_files', {});
	assert.equal(all.complete, true);
	assert.ok(!all.files.some(({ path }) => /^\.git|^\.faultwire|secret/.test(path)));
	const few = await server.ok('list_files', { path: 'many', limit: 10 });
	assert.equal(few.files.length, 10);
	assert.equal(few.complete, false);
	assert.equal(await code(server, 'list_files', { path: 'src/out' }), 'OUTSIDE_WORKSPACE');
	assert.equal(await code(server, 'list_files', { path: 'none' }), 'PATH_NOT_FOUND');
	assert.equal(await code(server, 'list_files', { path: '..' }), 'PATH_TRAVERSAL_BLOCKED');
	assert.equal(await code(server, 'list_files', { glob: '[' }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'list_files', { limit: 0 }), 'INVALID_INPUT_VALUE');
}));

test('search_files finds text and regular expressions, in text files that can be read', () => serving({
	setup(place) {
		place.write('src/b.c', 'int main(void)\n{\n\treturn MAIN; /* a.b */\n}\n');
		place.write('src/binary', 'two\0');
		place.write('src/hard', 'two\n');
		linkSync(place.path('src/hard'), place.path('hard2'));
		symlinkSync('../../outside/secret.txt', place.path('src/secret'));
		return place.plan();
	},
}, async (server) => {
	const find = (args) => server.ok('search_files', args);
	assert.deepEqual((await find({ query: 'two' })).matches, [{ path: 'src/a.txt', line: 2, column: 1, text: 'two' }]);
	assert.equal((await find({ query: 'two' })).skipped, 1);
	assert.deepEqual((await find({ query: 'a.b' })).matches.map((one) => [one.line, one.column]), [[3, 18]]);
	assert.equal((await find({ query: 'main', ignore_case: true })).matches.length, 2);
	assert.deepEqual((await find({ query: '^t\\w+', regex: true })).matches.map((one) => one.text), ['two', 'three']);
	assert.deepEqual((await find({ query: 'secret' })).matches, []);
	assert.deepEqual((await find({ query: 'main', glob: '**/*.txt' })).matches, []);
	const cut = await find({ query: 'e', limit: 1 });
	assert.equal(cut.matches.length, 1);
	assert.equal(cut.complete, false);
	assert.equal(await code(server, 'search_files', { query: '(', regex: true }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'search_files', { query: '' }), 'INVALID_INPUT_VALUE');
	assert.equal(await code(server, 'search_files', {}), 'MISSING_REQUIRED_FIELD');
}));

test('a regular expression that backtracks without end is refused', () => serving({
	setup(place) {
		place.write('src/x', `${'a'.repeat(60)}b\n`);
		return place.plan();
	},
}, async (server) => {
	assert.equal(await code(server, 'search_files', { query: '^(a+)+$', regex: true }), 'INVALID_INPUT_VALUE');
}));

test('a model learns how to work: the instructions name only tools that its role has', async () => {
	for (const role of ['executor', 'planner'])
		await serving({ role }, async (server) => {
			const { instructions } = await server.client.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } });
			const { tools } = await server.client.listTools();
			const named = instructions?.match(/\b[a-z]+_[a-z_]+\b/g) ?? [];
			assert.ok(named.includes('begin_session'), instructions);
			const own = new Set(['error_code', 'human_message']);
			for (const word of tools.flatMap(({ name, inputSchema }) => [name, ...Object.keys(inputSchema.properties ?? {})])) own.add(word);
			assert.deepEqual(named.filter((word) => !own.has(word)), [], instructions);
		});
});

test('every tool takes a phase, which errors tell again', () => serving({}, async (server) => {
	const { tools } = await server.client.listTools();
	for (const tool of tools) assert.ok(tool.inputSchema.properties.phase_id, tool.name);
	for (const tool of tools.filter((one) => one.name !== 'begin_session'))
		assert.equal((await server.fails(tool.name, { phase_id: 'PHASE_7', nonsense: 1 })).phase_id, 'PHASE_7', tool.name);
}));
