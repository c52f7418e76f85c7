// bench/api.mjs URL PID: the same tool by the HTTP API and by MCP, on one connection, one
// request at a time, in pairs of short rounds whose order alternates, so that both see the same
// machine. Prints microseconds per call (medians) and the median of the ratios of the pairs;
// exit status 1 if the API is slower. The noise is the same for MCP against itself: its rounds
// of the even pairs against those of the odd ones.

import { readFileSync } from 'node:fs';
import { Line, requests } from './api_line.mjs';

const ROUNDS = 201;
const CALLS = 200;
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
	const reply = Buffer.concat(await line.call(prepared[name])).toString();
	if (!reply.startsWith('HTTP/1.1 200') || !reply.includes('File Not Found')) throw new Error(`${name}: ${reply}`);
	await round(name);
}
const times = { api: [], mcp: [] };
for (let i = 0; i < ROUNDS; i++) {
	const order = i % 2 ? ['api', 'mcp'] : ['mcp', 'api'];
	for (const name of order) times[name].push(await round(name));
}
line.end();
const middle = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const ratio = (of) => middle(of.api.slice(-ROUNDS).map((time, i) => time / of.mcp.slice(-ROUNDS)[i]));
const half = (odd) => middle(times.mcp.filter((_, i) => i % 2 === odd));
const us = (list) => `${middle(list).toFixed(1)} us`;
const isFast = ratio(times) <= 1;
console.log(`CPU of the server: API ${us(used.api)}, MCP ${us(used.mcp)}, API/MCP ${ratio(used).toFixed(3)}   round trip: API ${us(times.api)}, MCP ${us(times.mcp)}, API/MCP ${ratio(times).toFixed(3)}   goal: at most 1.000   noise ${Math.abs(half(1) / half(0) - 1).toFixed(3)}   ${isFast ? 'PASS' : 'MISS'}`);
process.exit(isFast ? 0 : 1);
