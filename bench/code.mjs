// See bench/code. A search over MCP is timed from the request to the reply on a running server; ripgrep and
// git grep are timed as an agent would run them, including the start of the process, which is also printed on its own.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaitIndex, serve, useState } from '../test/wire/lib/code.mjs';
import { modern } from '../test/wire/lib/mcp.mjs';
import { makeTree, random } from '../test/wire/lib/corpus.mjs';

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
console.log(`index: ${((performance.now() - begunBuild) / 1000).toFixed(2)} s with the start of the server, ${(facts.bytes / 1e6).toFixed(0)} MB of files, ${(facts.indexBytes / 1e6).toFixed(1)} MB (${((100 * facts.indexBytes) / facts.bytes).toFixed(0)} %)`);
console.log('query                 lines    first  without    index      rg  git grep   rg/first  rg/without  rg/index  goals: level, 10');
for (const [name, query, regex, ignores] of queries) {
	const times = { first: [], plain: [], indexed: [], rg: [], git: [] };
	const totals = [];
	for (let i = 0; i < rounds; i++) {
		for (const [which, server] of [['plain', plain], ['indexed', indexed]]) {
			const begun = performance.now();
			totals.push((await server.call('search_text', { query, regex, case_sensitive: !ignores, max_results: 50 })).total);
			times[which].push(performance.now() - begun);
		}
		if (i < 3) times.first.push(await first(query, regex, ignores));
		times.rg.push(program('rg', ['--no-config', '--hidden', '-g', '!.git', '--no-require-git', '--crlf', '-n', regex ? '-e' : '-Fe', query, ...(ignores ? ['-i'] : []), '.']));
		times.git.push(program('git', ['grep', '--no-index', '--exclude-standard', '-nI', regex ? '-P' : '-F', ...(ignores ? ['-i'] : []), '-e', query]));
	}
	if (new Set(totals).size !== 1) throw new Error(`${name}: the totals differ: ${totals}`);
	const [cold, ours, index, rg, git] = [times.first, times.plain, times.indexed, times.rg, times.git].map(best);
	console.log(`${name.padEnd(18)} ${String(totals[0]).padStart(8)} ${cell(cold, 8)} ${cell(ours, 8)} ${cell(index, 8, 2)} ${cell(rg, 7)} ${cell(git, 9)} ${cell(rg / cold, 10, 2)} ${cell(rg / ours, 11, 2)} ${cell(rg / index, 9)}  ${verdict(rg / cold >= 0.9)}, ${verdict(rg / index >= 10)}`);
}
await plain.end();

const { items } = await indexed.call('list_paths', { max_results: 2000 });
const opened = [];
for (const { path, size } of items) {
	if (size > 100000) continue;
	const begun = performance.now();
	await indexed.wire.call('open_file', { path }, modern);
	opened.push(performance.now() - begun);
}
opened.sort((a, b) => a - b);
console.log(`open_file: ${opened.length} files, p50 ${opened[opened.length >> 1].toFixed(2)} ms, p99 ${opened[Math.floor(opened.length * 0.99)].toFixed(2)} ms (goal 1: ${verdict(opened[Math.floor(opened.length * 0.99)] < 1)})`);
await indexed.end();

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
