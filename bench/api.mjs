// bench/api.mjs URL PID: the same tool by the HTTP API and by MCP, on one connection each, one
// request at a time, in turns: rounds of one and of the other, so that both see the same
// machine. Prints microseconds per call (median of the rounds) and their ratio; exit status 1
// if the API is slower by more than the noise that two halves of the same surface show.

import { readFileSync } from 'node:fs';
import { Line, requests } from './api_line.mjs';

const ROUNDS = 41;
const CALLS = 250;
const url = new URL(process.argv[2]);
const pid = process.argv[3];

// CPU time of the server and all its threads so far, in nanoseconds.
const cpu = () => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);

const prepared = requests(url);
const line = await Line.open(url);

const used = { api: [], mcp: [] };
async function round(name) {
	const before = cpu();
	const start = process.hrtime.bigint();
	for (let i = 0; i < CALLS; i++) await line.call(prepared[name]);
	used[name].push((cpu() - before) / 1000 / CALLS);
	return Number(process.hrtime.bigint() - start) / 1000 / CALLS;
}

for (const name of ['api', 'mcp']) {
	const reply = await line.call(prepared[name]);
	if (!reply.startsWith('HTTP/1.1 200') || !reply.includes('File Not Found')) throw new Error(`${name}: ${reply}`);
	await round(name);
}
const times = { api: [], mcp: [] };
const ratios = [];
for (let i = 0; i < ROUNDS; i++) {
	const order = i % 2 ? ['api', 'mcp'] : ['mcp', 'api'];
	for (const name of order) times[name].push(await round(name));
	ratios.push(times.api[i] / times.mcp[i]);
}
line.end();
const middle = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const spread = Math.abs(middle(times.mcp.filter((_, i) => i % 2)) / middle(times.mcp.filter((_, i) => !(i % 2))) - 1);
const isFast = middle(ratios) <= 1 + Math.max(spread, 0.02);
console.log(`CPU of the server: API ${middle(used.api).toFixed(1)} us, MCP ${middle(used.mcp).toFixed(1)} us   round trip: API ${middle(times.api).toFixed(1)} us, MCP ${middle(times.mcp).toFixed(1)} us   API/MCP ${middle(ratios).toFixed(3)}   noise ${spread.toFixed(3)}   ${isFast ? 'PASS' : 'MISS'}`);
process.exit(isFast ? 0 : 1);
