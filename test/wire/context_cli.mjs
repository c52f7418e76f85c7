// faultwire context: exit statuses, what goes where, and builds that are the
// same everywhere.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, has, match, run, same, shell, skip, test } from './lib/cli.mjs';
import { cacheRoot, cli, end, errorText, place, sources, statuses, stdio } from './lib/context.mjs';

const { dir, root, docs } = cacheRoot();
const resolve = (...args) => run(['context', 'resolve', ...args]);
const ask = ['--query', 'guide', '--budget', '100'];

function assertFails(result, code, what) {
	same([result.status, result.out, result.err], [statuses[code], '', errorText(code)], what);
}

for (const [code, what, args] of [
	['invalid_query', 'no query', ['--cache', docs, '--budget', '1']],
	['invalid_query', 'a query that is not UTF-8', null],
	['invalid_query', 'a query beyond the limit', ['--cache', docs, '--budget', '1', '--query', 'x'.repeat(16385)]],
	['invalid_budget', 'no budget', ['--cache', docs, '--query', 'a']],
	['invalid_budget', 'a negative budget', ['--cache', docs, '--query', 'a', '--budget', '-1']],
	['invalid_budget', 'a fraction', ['--cache', docs, '--query', 'a', '--budget', '1.5']],
	['invalid_budget', 'a word', ['--cache', docs, '--query', 'a', '--budget', 'many']],
	['invalid_budget', 'an empty budget', ['--cache', docs, '--query', 'a', '--budget', '']],
	['invalid_budget', 'a budget beyond 2^63', ['--cache', docs, '--query', 'a', '--budget', '9223372036854775808']],
	['cache_missing', 'no such directory', ['--cache', join(root, 'nothing'), ...ask]],
	['cache_missing', 'a file', ['--cache', join(docs, 'index.json'), ...ask]],
	['cache_missing', 'a name with a separator', ['--cache-root', root, '--cache', 'docs/', ...ask]],
	['cache_missing', 'a name that leads out', ['--cache-root', root, '--cache', '..', ...ask]],
	['cache_missing', 'no such root', ['--cache-root', join(root, 'nothing'), '--cache', 'docs', ...ask]],
	['cache_invalid', 'a directory without a manifest', ['--cache', root, ...ask]],
])
	test(`${statuses[code]}, ${code}: ${what}`, () => {
		assertFails(args ? resolve(...args) : shell(`faultwire context resolve --cache '${docs}' --budget 1 --query $'\\xff'`), code, what);
	});

test('0 and one line; a query may be empty, a budget 0', () => {
	for (const args of [ask, ['--query', '', '--budget', '0'], ['--query', 'a', '--budget', '4e3'], ['--query', 'a', '--budget', '9223372036854775807']]) {
		const { status, out, err } = resolve('--cache', docs, ...args);
		same([status, err], [0, '']);
		match(out, /^\{"documents":\[[^\n]*\],"selection":\{"query":[^\n]*\}\}\n$/);
		same(out.split('\n').length, 2);
	}
});

test('1: a command line that is not understood, reported in words', () => {
	for (const args of [[], ['nothing'], ['resolve', 'more'], ['resolve', '--bogus'], ['resolve', ...ask], ['build'], ['build', '--sources', 'x'], ['build', '--cache', 'x'],
		['inspect'], ['verify'], ['list'], ['verify', '--cache', docs, '--threads', '0'], ['build', '--sources', 'a', '--cache', 'b', '--cache-root', 'c']]) {
		const { status, out, err } = run(['context', ...args]);
		same([status, out], [1, ''], args.join(' '));
		match(err, /^faultwire: /);
	}
});

test('--contract tells an error another way, in words where people ask', () => {
	const { err, status } = run(['--contract', 'toolerror', 'context', 'resolve', '--cache', root, ...ask]);
	same([status, JSON.parse(err).type], [5, 'CONFLICT']);
	const words = run(['context', 'inspect', '--cache', root]);
	same(words.status, 5);
	match(words.err, /^faultwire: Cache exists but is invalid\n  because: manifest.json is missing/);
	assertFails(run(['context', 'inspect', '--cache', root, '--json']), 'cache_invalid');
});

test('6, io_error: no descriptors left, at every number of them', () => {
	const seen = new Set();
	for (let files = 4; files < 16; files++) {
		const result = shell(`ulimit -n ${files}; exec faultwire context resolve --cache '${docs}' --threads 1 --query guide --budget 100`);
		seen.add(result.status);
		if (result.status !== 127 && result.status !== 0) assertFails(result, 'io_error', `${files} descriptors`);
	}
	check(seen.has(6) && seen.has(0), `${[...seen]}`);
});

test('6, io_error: a document larger than the limit is not read into memory', () => {
	const large = join(root, 'large');
	run(['context', 'build', '--sources', join(dir, 'sources'), '--cache', large]);
	const file = join(large, 'documents', readdirSync(join(large, 'documents'))[0]);
	spawnSync('truncate', ['-s', '1G', file]);
	assertFails(shell(`ulimit -v 300000; exec faultwire context resolve --cache '${large}' --query guide --budget 100`), 'io_error');
	rmSync(large, { recursive: true });
});

test('7, internal_error: no memory', () => {
	const heavy = place();
	sources(join(heavy, 's'), { 'a.md': 'word '.repeat(3e6) });
	same(run(['context', 'build', '--sources', join(heavy, 's'), '--cache', join(heavy, 'c')]).status, 0);
	assertFails(shell(`ulimit -v 60000; exec faultwire context resolve --cache '${heavy}/c' --threads 1 --query guide --budget 100`), 'internal_error');
});

// --- the same bytes ------------------------------------------------------------

test('the same in every locale and time zone', () => {
	const expected = cli(root, 'docs', 'ÄPFEL οδυσσευς, I İ guide', 4000).out;
	const locales = spawnSync('locale', ['-a']).stdout.toString().trim().split('\n');
	for (const LC_ALL of [...new Set(['C', 'POSIX', 'C.UTF-8', 'tr_TR.UTF-8', 'de_DE.UTF-8', 'nowhere', ...locales])])
		for (const TZ of ['UTC', 'Asia/Tokyo', 'America/St_Johns'])
			same(cli(root, 'docs', 'ÄPFEL οδυσσευς, I İ guide', 4000, { env: { LC_ALL, LANG: LC_ALL, TZ } }).out, expected, `${LC_ALL} ${TZ}`);
});

test('the same with any number of threads', () => {
	const expected = cli(root, 'docs', 'guide end', 4000).out;
	for (const n of [1, 2, 8, 64]) same(cli(root, 'docs', 'guide end', 4000, { args: ['--threads', n] }).out, expected);
});

test('the same build in two places differs in created_at alone, and with SOURCE_DATE_EPOCH in nothing', () => {
	const build = (cache, options) => same(run(['context', 'build', '--sources', join(dir, 'sources'), '--cache', join(dir, cache)], options).status, 0);
	const manifest = (cache) => JSON.parse(readFileSync(join(dir, cache, 'manifest.json'), 'utf8'));
	build('one', { env: { TZ: 'Asia/Tokyo' } });
	build('two', { env: { LC_ALL: 'C' } });
	match(manifest('one').created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	same(spawnSync('diff', ['-r', '-x', 'manifest.json', join(dir, 'one'), join(dir, 'two')]).status, 0);
	same({ ...manifest('one'), created_at: '' }, { ...manifest('two'), created_at: '' });
	build('three', { env: { SOURCE_DATE_EPOCH: '1700000000', TZ: 'Asia/Tokyo' } });
	build('four', { env: { SOURCE_DATE_EPOCH: '1700000000' } });
	same(manifest('three').created_at, '2023-11-14T22:13:20.000Z');
	same(spawnSync('diff', ['-r', join(dir, 'three'), join(dir, 'four')]).status, 0);
});

test('the empty set has its known version', () => {
	mkdirSync(join(dir, 'none'));
	const { status, out } = run(['context', 'build', '--sources', join(dir, 'none'), '--cache', join(dir, 'empty'), '--json']);
	same([status, JSON.parse(out)], [0, { cache_version: 'sha256:a77ff76f65e3cd4cd0071b4af8f5294a77f67b6fe0c938a383db5e1271e913ee', document_count: 0, source_bytes: 0, links_left_out: 0 }]);
	same(resolve('--cache', join(dir, 'empty'), '--query', 'a', '--budget', '9').out,
		'{"documents":[],"selection":{"query":"a","budget":9,"tokens_used":0,"documents_considered":0,"documents_selected":0,"documents_excluded_by_budget":0}}\n');
	match(run(['context', 'verify', '--cache', join(dir, 'empty')]).out, /^valid: 0 documents, sha256:a77ff76f/);
});

// --- build ---------------------------------------------------------------------

test('build: an existing file is reported, and skipped links are counted', () => {
	const here = place();
	sources(join(here, 's'), { 'a.md': 'a' });
	symlinkSync('a.md', join(here, 's', 'b.md'));
	const built = run(['context', 'build', '--sources', join(here, 's'), '--cache', join(here, 'c')]);
	same(built.status, 0);
	match(built.err, /1 symbolic link was skipped/);
	match(built.out, /^built: 1 document, sha256:/);
	for (const [args, status, words] of [
		[['--sources', join(here, 's'), '--cache', join(here, 'c')], 6, /already exists[^]*--force/],
		[['--sources', join(here, 'no'), '--cache', join(here, 'd')], 6, /does not exist/],
		[['--sources', join(here, 's'), '--cache', join(here, 's'), '--force'], 6, /already exists[^]*not a cache/],
	]) {
		const result = run(['context', 'build', ...args]);
		same([result.status, result.out], [status, ''], args.join(' '));
		match(result.err, words);
	}
	writeFileSync(join(here, 's', 'z.md'), 'a');
	const alike = run(['context', 'build', '--sources', join(here, 's'), '--cache', join(here, 'd')]);
	same(alike.status, 5);
	match(alike.err, /a\.md and z\.md have the same content/);
	same(readdirSync(here).sort(), ['c', 's']);
});

test('build: SIGTERM and SIGINT leave nothing behind; SIGKILL leaves what the next build removes', async () => {
	const here = place();
	const files = {};
	for (let i = 0; i < 4000; i++) files[`d${i % 40}/${i}.md`] = `document ${i} `.repeat(50);
	sources(join(here, 's'), files);
	for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL']) {
		const child = spawn(bin, ['context', 'build', '--sources', join(here, 's'), '--cache', join(here, 'c'), '--threads', '1'], { env, stdio: 'ignore' });
		const gone = new Promise((done) => child.on('exit', (status, by) => done(by ?? status)));
		while (!readdirSync(here).some((name) => name.startsWith('.c.'))) await new Promise((done) => setTimeout(done, 2));
		child.kill(signal);
		const how = await gone;
		if (how === 0) {
			rmSync(join(here, 'c'), { recursive: true });
			continue; /* it was quicker */
		}
		same(existsSync(join(here, 'c')), false);
		if (signal !== 'SIGKILL') same([how, readdirSync(here)], [7, ['s']], signal);
	}
	same(run(['context', 'build', '--sources', join(here, 's'), '--cache', join(here, 'c')]).status, 0);
	same(readdirSync(here).sort(), ['c', 's']);
});

test('build: a bar on a terminal, and none elsewhere', () => {
	if (!has('script')) skip('there is no script(1)');
	const here = place();
	const files = {};
	for (let i = 0; i < 3000; i++) files[`${i}.md`] = `document ${i} `.repeat(200);
	sources(join(here, 's'), files);
	const shown = shell(`script -qec "faultwire context build --sources '${here}/s' --cache '${here}/c' --threads 1" /dev/null`);
	if (!/documents\/s/.test(shown.out)) skip('it was over before a bar was due');
	match(shown.out, /building \[#*\.*\] +\d+ %  \d+ documents  \d+ documents\/s/);
	same(run(['context', 'build', '--sources', join(here, 's'), '--cache', join(here, 'd')]).err, '');
});

// --- verify, inspect, list ---------------------------------------------------------

test('verify: 0 and a line, or 5 and a line for each violation', () => {
	const cache = join(dir, 'damaged');
	same(run(['context', 'build', '--sources', join(dir, 'sources'), '--cache', cache]).status, 0);
	const good = run(['context', 'verify', '--cache', cache]);
	same([good.status, good.err], [0, '']);
	match(good.out, /^valid: 5 documents, sha256:[0-9a-f]{64}\n$/);
	same(JSON.parse(run(['context', 'verify', '--cache', cache, '--json']).out).valid, true);
	const [first] = readdirSync(join(cache, 'documents')).sort();
	unlinkSync(join(cache, 'documents', first));
	writeFileSync(join(cache, 'documents', 'x\u001b[31m'), '');
	const bad = run(['context', 'verify', '--cache', cache]);
	same([bad.status, bad.err], [5, '']);
	match(bad.out, /^x\?\[31m: file is not listed in the manifest \[consistency, orphan_file\]\n.*: file of the document is missing, or is not a regular file \[presence, document_missing\]\ninvalid: 2 violations\n$/);
	const told = JSON.parse(run(['context', 'verify', '--cache', cache, '--json']).out);
	same(told.violations.map(({ invariant, rule }) => [invariant, rule]), [['consistency', 'orphan_file'], ['presence', 'document_missing']]);
	same(told.valid, false);
	same(run(['context', 'verify', '--cache', join(dir, 'nothing')]).status, 4);
	same(run(['context', 'inspect', '--cache', cache]).out.includes('valid      no'), true);
});

test('list: names in order, from the option or the environment', () => {
	mkdirSync(join(root, 'a-folder'));
	const { status, out } = run(['context', 'list', '--cache-root', root]);
	same([status, out], [0, 'a-folder  (no manifest)\ndocs\n']);
	same(run(['context', 'list'], { env: { CONTEXT_CACHE_ROOT: root } }).out, out);
	same(run(['context', 'list', '--json'], { env: { CONTEXT_CACHE_ROOT: root } }).out, '{"caches":[{"path":"a-folder","has_manifest":false},{"path":"docs","has_manifest":true}]}\n');
	same(run(['context', 'list', '--cache-root', join(root, 'no')]).status, 4);
});

// --- serve -------------------------------------------------------------------------

test('serve: the toolset needs a root, by option or environment', async () => {
	const refused = run(['serve', '--tools', 'context']);
	same(refused.status, 2);
	match(refused.err, /--cache-root/);
	const listing = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n';
	const names = (options) => JSON.parse(run(['serve'], { input: listing, ...options }).out).result.tools.map((tool) => tool.name);
	check(!names({}).includes('context.resolve'), 'not without a root');
	check(names({ env: { CONTEXT_CACHE_ROOT: root } }).includes('context.resolve'), 'with one');
});

test('a message that is not UTF-8 is an invalid query to who speaks the contract', async () => {
	const server = await stdio(root, { args: ['--contract', 'context-v0'] });
	server.wire.send(Buffer.from('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"context.resolve","arguments":{"cache":"docs","query":"\xff","budget":1}}}\n', 'latin1'));
	const reply = await server.wire.next((message) => 'error' in message);
	same(reply.error.data.error, JSON.parse(errorText('invalid_query')));
	await server.end();
});

await end();
