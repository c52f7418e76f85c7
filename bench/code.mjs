// See bench/code. A search over MCP is timed from the request to the reply on a running server; ripgrep and
// git grep are timed as an agent would run them, with the start of the process, which is told separately.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../test/wire/lib/code.mjs';
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
const server = await serve(tree);

const queries = own
	? [['literal', 'config_get', false], ['ignoring case', 'config_GET', false, true], ['no match', 'zzz_no_match', false], ['regex', '[A-Z]+_RESUME', true],
		['regex, no literal', '[0-9]{7}[a-f]{2}', true], ['many', 'alpha', false]]
	: [['literal', 'prepare_revision_walk', false], ['ignoring case', 'Prepare_Revision_Walk', false, true], ['no match', 'zzz_no_match', false], ['regex', '[A-Z]+_SUSPEND', true],
		['regex, long', '\\w+_lock\\s*\\(&\\w+->\\w+', true], ['regex, no literal', '[0-9]{7,}[a-f]{2}', true], ['many', 'struct', false]];

const start = best(Array.from({ length: rounds }, () => program('rg', ['--version'])));
console.log(`start of a process: ${start.toFixed(1)} ms (part of the times of rg and git grep)`);
console.log('query                 lines   ours ms   rg ms  git grep ms   rg/ours');
for (const [name, query, regex, ignores] of queries) {
	const times = { ours: [], rg: [], git: [] };
	let total = 0;
	for (let i = 0; i < rounds; i++) {
		const begun = performance.now();
		total = (await server.call('search_text', { query, regex, case_sensitive: !ignores, max_results: 50 })).total;
		times.ours.push(performance.now() - begun);
		times.rg.push(program('rg', ['--no-config', '--hidden', '-g', '!.git', '--no-require-git', '--crlf', '-n', regex ? '-e' : '-Fe', query, ...(ignores ? ['-i'] : []), '.']));
		times.git.push(program('git', ['grep', '--no-index', '--exclude-standard', '-nI', regex ? '-P' : '-F', ...(ignores ? ['-i'] : []), '-e', query]));
	}
	const [ours, rg, git] = [times.ours, times.rg, times.git].map(best);
	console.log(`${name.padEnd(18)} ${String(total).padStart(8)} ${ours.toFixed(1).padStart(9)} ${rg.toFixed(1).padStart(7)} ${git.toFixed(1).padStart(12)} ${(rg / ours).toFixed(2).padStart(9)}`);
}

const { items } = await server.call('list_paths', { max_results: 1000 });
const opened = [];
for (const { path, size } of items) {
	if (size > 100000) continue;
	const begun = performance.now();
	await server.wire.call('open_file', { path }, modern);
	opened.push(performance.now() - begun);
}
opened.sort((a, b) => a - b);
console.log(`open_file: ${opened.length} files, p50 ${opened[opened.length >> 1].toFixed(2)} ms, p99 ${opened[Math.floor(opened.length * 0.99)].toFixed(2)} ms`);
await server.end();

execFileSync('sh', ['-c', 'git init -q . && for i in $(seq 200); do seq $i $((i + 100)) >a.txt; git add a.txt; git -c user.name=x -c user.email=x@y commit -qm $i; done'], { cwd: repository, env });
const git = await serve(repository);
const blamed = [], plain = [];
for (let i = 0; i < rounds; i++) {
	const begun = performance.now();
	await git.call('blame_range', { path: 'a.txt', start_line: 1, end_line: 50 });
	blamed.push(performance.now() - begun);
	plain.push(time(() => spawnSync('git', ['blame', '--porcelain', '-L', '1,50', 'HEAD', '--', 'a.txt'], { cwd: repository, env })));
}
console.log(`blame_range, 200 commits: ${best(blamed).toFixed(1)} ms; git blame: ${best(plain).toFixed(1)} ms`);
await git.end();
