// Mixed calls, one in ten a failure, while files change: memory and descriptors stay flat, and no hit
// names a line that is not there. FW_LONG=1: 1,000,000 calls.

import { readdirSync, readFileSync } from 'node:fs';
import { check, same, test } from './lib/cli.mjs';
import { end, isLong, repository, serve, write } from './lib/code.mjs';
import { modern } from './lib/mcp.mjs';

const calls = isLong ? 1000000 : 2400;
const dir = repository();
for (let i = 0; i < 60; i++) write(dir, { [`d${i % 6}/f${i}.txt`]: `first ${i}\nneedle ${i}\nlast\n`, [`s${i}.txt`]: `stable ${i}\n` });
const server = await serve(dir);

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

let failures = 0;
async function one(i) {
	const file = `d${i % 6}/f${i % 60}.txt`;
	const [name, args] = [
		['open_file', { path: `s${i % 60}.txt` }], ['search_text', { query: 'needle', max_results: 200 }], ['open_file', { path: file, start_line: 1, end_line: 2 }],
		['search_text', { query: `^needle ${i % 60}$`, regex: true }], ['list_paths', { path: `d${i % 6}`, include_globs: ['*.txt'] }], ['open_file', { path: `s${(i * 7) % 60}.txt` }],
		['search_text', { query: 'STABLE', paths: ['s1*.txt'] }], ['list_paths', { max_results: 5 }], ['open_file', { path: `s${(i * 3) % 60}.txt` }],
		[['open_file', { path: 'missing' }], ['search_text', { query: '(', regex: true }], ['open_file', { path: '../x' }], ['list_paths', { max_results: 0 }]][Math.floor(i / 10) % 4],
	][i % 10];
	const { result } = await server.wire.call(name, args, modern);
	same(Boolean(result.isError), i % 10 === 9, `${name} ${JSON.stringify(args)}: ${JSON.stringify(result).slice(0, 300)}`);
	failures += Boolean(result.isError);
	if (name === 'search_text' && !result.isError)
		for (const { preview } of result.structuredContent.matches) check(/needle|stable/.test(preview), preview);
}

test(`${calls} calls`, async () => {
	let warm;
	for (let i = 0; i < calls; i += 8) {
		await Promise.all(Array.from({ length: 8 }, (_, j) => one(i + j)));
		const number = (i / 8) % 60;
		write(dir, { [`d${number % 6}/f${number}.txt`]: `${'filler\n'.repeat(i % 5)}needle ${number}\n` });
		server.wire.raw.length = 0;
		if (i === (calls >> 2) - ((calls >> 2) % 8)) warm = usage();
	}
	const after = usage();
	same(failures, calls / 10);
	check(after.memory < warm.memory * 1.3 + 8192, `memory: ${JSON.stringify([warm, after])}`);
	check(after.descriptors <= warm.descriptors + 8 + 16 * Math.max(0, after.processes - warm.processes), `descriptors: ${JSON.stringify([warm, after])}`);
});

test('the server ends', () => server.end());

await end();
