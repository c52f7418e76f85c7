// Mixed calls, one in ten a failure, while files change, with the search index and the semantic index: memory and descriptors stay
// flat, every hit and every finding is text that is there, and no line is missed. FW_LONG=1: 1,000,000 calls; FW_CALLS=200000: as many.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { check, same, test } from './lib/cli.mjs';
import { awaitIndex, end, isLong, repository, serve, write } from './lib/code.mjs';
import { modern } from './lib/mcp.mjs';

const calls = Number(process.env.FW_CALLS ?? (isLong ? 1000000 : 2400));
const dir = repository();
const content = new Map();
function put(path, text) {
	content.set(path, text.split('\n'));
	write(dir, { [path]: text });
}
for (let i = 0; i < 60; i++) {
	put(`d${i % 6}/f${i}.txt`, `first ${i}\nneedle ${i}\nlast\n`);
	put(`s${i}.txt`, `stable ${i}\n`);
}
execFileSync('sh', ['-c', 'git init -q . && git add -A && git -c user.name=x -c user.email=x@y commit -qm all'], { cwd: dir });
const server = await serve(dir, '--search-index', 'on');
await awaitIndex();

// The server and everything below it: resident kilobytes and descriptors.
function usage() {
	const parents = new Map();
	for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
		try {
			parents.set(Number(pid), Number(readFileSync(`/proc/${pid}/stat`, 'utf8').match(/\) \S (\d+)/)[1]));
		} catch {
			// It has ended.
		}
	const isOurs = (pid) => pid === server.wire.child.pid || (parents.has(pid) && pid !== 0 && isOurs(parents.get(pid)));
	let memory = 0, descriptors = 0, processes = 0;
	for (const pid of [...parents.keys()].filter(isOurs))
		try {
			memory += Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)[1]);
			descriptors += readdirSync(`/proc/${pid}/fd`).length;
			processes++;
		} catch {
			// It has ended.
		}
	return { memory, descriptors, processes };
}

// Each hit is a line of its file, and there are as many as there are lines.
function checkHits({ matches, total }, pattern, isWanted = () => true) {
	for (const { path, line, preview } of matches) same(content.get(path)?.[line - 1], preview, `${path}:${line}`);
	let expected = 0;
	for (const [path, lines] of content) if (isWanted(path)) expected += lines.filter((line) => pattern.test(line)).length;
	same([matches.length, total], [expected, expected], String(pattern));
}

// Each finding shows lines of its file as they are.
const modes = {};
function checkFindings({ findings, mode, confidence }) {
	check(findings.length > 0 && confidence >= 0 && confidence <= 1, `${mode}, ${findings.length} findings`);
	for (const { path, start_line: start, end_line: last, preview } of findings) {
		const lines = content.get(path)?.slice(start - 1, last).join('\n');
		check(lines?.includes(preview.trimEnd()), `${path}:${start}-${last} has ${JSON.stringify(lines)}, not ${JSON.stringify(preview)}`);
	}
	modes[mode] = (modes[mode] ?? 0) + 1;
}

let failures = 0;
async function one(i) {
	const file = `d${i % 6}/f${i % 60}.txt`;
	const [name, args, judge] = [
		['open_file', { path: `s${i % 60}.txt` }], ['search_text', { query: 'needle', max_results: 200 }, (result) => checkHits(result, /needle/)], ['open_file', { path: file, start_line: 1, end_line: 2 }],
		['search_text', { query: `^needle ${i % 60}$`, regex: true }, (result) => checkHits(result, new RegExp(`^needle ${i % 60}$`))],
		i % 500 === 4 ? ['file_history', { path: file }] : ['list_paths', { path: `d${i % 6}`, include_globs: ['*.txt'] }], i % 50 === 5 ? ['blame_range', { path: file, start_line: 1, end_line: 2 }] : ['open_file', { path: `s${(i * 7) % 60}.txt` }],
		['search_text', { query: 'STABLE', paths: ['s1*.txt'] }, (result) => checkHits(result, /stable/, (path) => path.startsWith('s1'))], i % 20 === 7 ? ['semantic_search', { query: `needle ${i % 60}`, limit: 5 }, checkFindings] : ['list_paths', { max_results: 5 }],
		i % 100 === 8 ? ['find_references', { name: 'needle' }, ({ references }) => references.forEach(({ path, line, preview }) => same(content.get(path)?.[line - 1], preview, `${path}:${line}`))]
			: i % 100 === 18 ? ['outline', { path: file }] : ['open_file', { path: `s${(i * 3) % 60}.txt` }],
		[['open_file', { path: 'missing' }], ['search_text', { query: '(', regex: true }], ['open_file', { path: '../x' }], ['list_paths', { max_results: 0 }],
			['blame_range', { path: file, start_line: 9, end_line: 2 }], ['semantic_search', { query: '' }]][Math.floor(i / 10) % 6],
	][i % 10];
	const { result } = await server.wire.call(name, args, modern);
	same(Boolean(result.isError), i % 10 === 9, `${name} ${JSON.stringify(args)}: ${JSON.stringify(result).slice(0, 300)}`);
	failures += Boolean(result.isError);
	judge?.(result.structuredContent);
}

test(`${calls} calls`, async () => {
	const started = Date.now();
	let warm;
	for (let i = 0; i < calls; i += 8) {
		await Promise.all(Array.from({ length: 8 }, (_, j) => one(i + j)));
		const number = (i / 8) % 60;
		put(`d${number % 6}/f${number}.txt`, `${'filler\n'.repeat(i % 5)}needle ${number}\n`);
		server.wire.raw.length = 0;
		if (i === (calls >> 2) - ((calls >> 2) % 8)) warm = usage();
	}
	const after = usage();
	check(Object.values(modes).reduce((sum, count) => sum + count, 0) >= Math.floor(calls / 20), `semantic searches: ${JSON.stringify(modes)}`);
	console.log(`# ${JSON.stringify(modes)} semantic searches by mode; ${calls} calls in ${((Date.now() - started) / 1000).toFixed(0)} s, ${failures} failures; kB, descriptors and processes after a quarter and at the end: ${JSON.stringify([warm, after])}`);
	same(failures, calls / 10);
	check(after.memory < warm.memory * 1.3 + 8192, `memory: ${JSON.stringify([warm, after])}`);
	check(after.descriptors <= warm.descriptors + 8 + 16 * Math.max(0, after.processes - warm.processes), `descriptors: ${JSON.stringify([warm, after])}`);
});

test('the server ends', () => server.end());

await end();
