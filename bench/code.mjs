// See bench/code. A search over MCP is timed from the request to the reply on a running server; ripgrep and
// git grep are timed as an agent would run them, including the start of the process, which is also printed on its own.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaitIndex, serve, useState } from '../test/wire/lib/code.mjs';
import { modern } from '../test/wire/lib/mcp.mjs';
import { makeTree, random } from '../test/wire/lib/corpus.mjs';
import { bin, root } from '../test/wire/lib/cli.mjs';
import { workers } from '../test/wire/lib/worker.mjs';
import { Raw } from './code_raw.mjs';

const rounds = Number(process.env.FW_BENCH_ROUNDS ?? 7);
let tree = process.env.FW_BENCH_TREE;
const own = !tree;
if (own) {
	tree = mkdtempSync(join(tmpdir(), 'fw-bench-code-'));
	makeTree(tree, 10000, random(1));
}
const repository = mkdtempSync(join(tmpdir(), 'fw-bench-git-'));
process.on('exit', () => {
	if (own) rmSync(tree, { recursive: true, force: true });
	rmSync(repository, { recursive: true, force: true });
});

const env = { ...process.env, LC_ALL: 'C.UTF-8' };
const time = (run) => {
	const start = performance.now();
	run();
	return performance.now() - start;
};
const best = (list) => Math.min(...list);
// Milliseconds to read the files of a list, and nothing else.
const reader = join(process.env.FW_BUILD ?? join(root, 'build'), 'bench_code_read');
const readAll = (list) => Number(execFileSync(reader, [list, '1'], { cwd: tree, encoding: 'utf8' }).split(' ')[0]);
const program = (name, args) => time(() => spawnSync(name, args, { cwd: tree, env, maxBuffer: 1 << 30 }));

// name, query, is an expression, ignores case
const queries = own
	? [['literal, rare', 'f4321.', false], ['ignoring case', 'F4321.', false, true], ['regex, rare', 'f43[0-9]1\\.\\w+', true], ['no match', 'zzz_no_match', false],
		['literal', 'config_get', false], ['regex', '[A-Z]+_RESUME', true], ['regex, no literal', '[0-9]{7}[a-f]{2}', true], ['many', 'alpha', false]]
	: [['literal, rare', 'prepare_revision_walk', false], ['ignoring case', 'Prepare_Revision_Walk', false, true], ['regex, rare', '[A-Z]+_SUSPEND', true], ['no match', 'zzz_no_match', false],
		['regex, long', '\\w+_lock\\s*\\(&\\w+->\\w+', true], ['regex, no literal', '[0-9]{7,}[a-f]{2}', true], ['many', 'struct', false]];
if (own) // a name that few files contain
	for (const i of [1234, 4321, 4341, 9876]) execFileSync('sh', ['-c', `echo "see f${i}.c" >> src/f${i}.note`], { cwd: tree });

const verdict = (isMet) => (isMet ? 'PASS' : 'MISS');
const cell = (number, width, digits = 1) => number.toFixed(digits).padStart(width);
const files = Number(execFileSync('sh', ['-c', `find ${JSON.stringify(tree)} -type f -not -path '*/.git/*' | wc -l`], { encoding: 'utf8' }));
const start = best(Array.from({ length: rounds }, () => program('rg', ['--version'])));
console.log(`search_text on ${own ? 'a generated tree' : tree}, ${files} files; best of ${rounds} rounds, from the page cache`);
console.log(`start of a process: ${start.toFixed(1)} ms (part of the times of rg and git grep); first: the first search of a server that has just started`);

// The first search of a server, without the index.
async function first(query, regex, ignores) {
	useState();
	const cold = await serve(tree, '--search-index', 'off');
	await cold.wire.call('open_file', { path: 'missing' }, modern);
	const begun = performance.now();
	await cold.call('search_text', { query, regex, case_sensitive: !ignores, max_results: 50 });
	const took = performance.now() - begun;
	await cold.end();
	return took;
}

useState();
const plain = await serve(tree, '--search-index', 'off');
useState();
const begunBuild = performance.now();
const indexed = await serve(tree, '--search-index', 'on');
const facts = await awaitIndex();
console.log(`index: ${((performance.now() - begunBuild) / 1000).toFixed(2)} s with the start of the server, ${(facts.bytes / 1e6).toFixed(0)} MB of files, ${(facts.indexBytes / 1e6).toFixed(1)} MB (${((100 * facts.indexBytes) / facts.bytes).toFixed(1)} %)`);
console.log('query                lines  files   first  without   index      rg  git grep   read  rg/first  rg/index  rg/read  goals: 1, 10');
for (const [name, query, regex, ignores] of queries) {
	const times = { first: [], plain: [], indexed: [], rg: [], git: [], read: [] };
	const rg = (...how) => ['--no-config', '--hidden', '-g', '!.git', '--no-require-git', '--crlf', ...how, regex ? '-e' : '-Fe', query, ...(ignores ? ['-i'] : []), '.'];
	const matching = spawnSync('rg', rg('--count', '--null'), { cwd: tree, env, maxBuffer: 1 << 30 }).stdout.toString().split('\n').filter(Boolean).map((line) => line.split('\0'));
	const lines = matching.reduce((sum, [, count]) => sum + Number(count), 0);
	const list = join(repository, 'matching');
	writeFileSync(list, matching.map(([path]) => `${path}\0`).join(''));
	const totals = [];
	for (let i = 0; i < rounds; i++) {
		for (const [which, server] of [['plain', plain], ['indexed', indexed]]) {
			const begun = performance.now();
			totals.push((await server.call('search_text', { query, regex, case_sensitive: !ignores, max_results: 50 })).total);
			times[which].push(performance.now() - begun);
		}
		times.first.push(await first(query, regex, ignores));
		times.rg.push(program('rg', rg('-n')));
		times.read.push(readAll(list));
		times.git.push(program('git', ['grep', '--no-index', '--exclude-standard', '-nI', regex ? '-P' : '-F', ...(ignores ? ['-i'] : []), '-e', query]));
	}
	if (totals.some((total) => total !== lines)) throw new Error(`${name}: the totals differ: ${totals}; rg finds ${lines}`);
	const [cold, ours, index, peer, git, read] = [times.first, times.plain, times.indexed, times.rg, times.git, times.read].map(best);
	console.log(`${name.padEnd(18)} ${String(lines).padStart(7)} ${String(matching.length).padStart(6)} ${cell(cold, 7)} ${cell(ours, 8)} ${cell(index, 7, 2)} ${cell(peer, 7)} ${cell(git, 9)} ${cell(read, 6)} ${cell(peer / cold, 9, 2)} ${cell(peer / index, 9)} ${cell(peer / read, 8)}  ${verdict(peer / cold >= 1)}, ${verdict(peer / index >= 10)}`);
}
await plain.end();

// What the workers that have searched take: for themselves, and of the page cache.
const searched = workers(indexed.wire.child.pid).filter(({ pid }) => readFileSync(`/proc/${pid}/maps`, 'utf8').includes(` ${tree}/`));
const memory = (which) => searched.map(({ pid }) => (Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(`${which}:\\s+(\\d+)`)[1]) / 1000).toFixed(1)).join(' and ');
console.log(`memory of the workers that have searched: ${memory('RssAnon')} MB of their own, ${memory('RssFile')} MB of mapped files, which the kernel can take back`);
await indexed.end();

// What the index takes in a real tree: generated files are tiny, so its share of them says nothing.
let real = facts;
if (own) {
	useState();
	const keeper = await serve(root, '--search-index', 'on', '--semantic-index', 'off');
	real = await awaitIndex();
	await keeper.end();
}
const share = (100 * real.indexBytes) / real.bytes;
console.log(`index of ${own ? 'this repository' : tree}: ${real.files} files, ${cell(real.bytes / 1e6, 0)} MB, ${cell(real.indexBytes / 1e6, 0)} MB, ${cell(share, 0)} % (goal 15: ${verdict(share <= 15)})`);

// open_file of the files of this repository, or of FW_BENCH_TREE, one call at a time; beside it a line of the same length
// through cat, which does nothing: what that takes is the scheduling of this machine.
const percentile = (list, part) => list.sort((a, b) => a - b)[Math.floor(list.length * part)];
const shown = own ? root : tree;
const folder = mkdtempSync(join(tmpdir(), 'fw-bench-open-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
useState();
const opener = new Raw(folder, bin, ['serve', '--tools', 'code', '--log', 'off', '--audit', 'off', '--incidents', 'off', '--search-index', 'off', '--semantic-index', 'off', '--repo', shown]);
const echo = new Raw(folder, 'cat', []);
const message = (name, given) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given, _meta: modern } });
opener.time(message('list_paths', { max_results: 4000 }));
const paths = opener.reply().result.structuredContent.items.filter(({ size }) => size <= 100000);
const opened = [], echoed = [];
for (const isCounted of [false, true]) // first into the page cache
	for (const { path, size } of paths) {
		const line = message('open_file', { path });
		const took = opener.time(line);
		if (!isCounted) {
			const { result } = opener.reply();
			if (!result.isError && result.structuredContent.size !== size) throw new Error(`${path}: ${result.structuredContent.size} bytes of ${size}`);
			continue;
		}
		opened.push(took);
		echoed.push(echo.time(line));
	}
await opener.end();
await echo.end();
console.log(`open_file: ${opened.length} files up to 100 kB, ${cell(paths.reduce((sum, { size }) => sum + size, 0) / paths.length / 1000, 0)} kB on average: p50 ${cell(percentile(opened, 0.5), 0, 2)} ms, p99 ${cell(percentile(opened, 0.99), 0, 2)} ms (goal 1: ${verdict(percentile(opened, 0.99) < 1)}); a line through cat: p50 ${cell(percentile(echoed, 0.5), 0, 2)} ms, p99 ${cell(percentile(echoed, 0.99), 0, 2)} ms`);


// FW_BENCH_TREE: its own history; else a generated one.
let [where, path] = [repository, 'a.txt'];
if (!own && statSync(join(tree, '.git'), { throwIfNoEntry: false })) {
	where = tree;
	path = execFileSync('sh', ['-c', 'git ls-files "*.c" "*.py" "*.go" "*.js" | xargs -d "\\n" wc -l | sort -n | tail -40 | head -1 | sed "s/^ *[0-9]* //"'], { cwd: tree, encoding: 'utf8' }).trim();
} else {
	execFileSync('sh', ['-c', 'git init -q . && for i in $(seq 200); do seq $i $((i + 100)) >a.txt; git add a.txt; git -c user.name=x -c user.email=x@y commit -qm $i; done'], { cwd: repository, env });
}
useState();
const git = await serve(where);
const blamed = [], spawned = [];
for (let i = 0; i <= rounds; i++) {
	const begun = performance.now();
	await git.call('blame_range', { path, start_line: 1 + i, end_line: 50 + i });
	blamed.push(performance.now() - begun);
	spawned.push(time(() => spawnSync('git', ['blame', '--porcelain', '-L', `${1 + i},${50 + i}`, 'HEAD', '--', path], { cwd: where, env })));
}
console.log(`blame_range of ${path}: first ${blamed[0].toFixed(1)} ms (the whole file), then ${best(blamed.slice(1)).toFixed(1)} ms (goal 10: ${verdict(best(blamed.slice(1)) < 10)}); git blame of the range: ${best(spawned).toFixed(1)} ms; ratio ${(best(spawned) / best(blamed.slice(1))).toFixed(1)}`);
await git.end();
process.exit(0);
