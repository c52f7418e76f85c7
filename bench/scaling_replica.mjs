// bench/scaling_replica.mjs URL PID: what calls, failures and connections cost a server, in CPU
// time of all its threads and in memory. Prints "name figure" lines.

import { readFileSync, readdirSync } from 'node:fs';
import { Line, requests } from './api_line.mjs';

const url = new URL(process.argv[2]);
const pid = process.argv[3];
const CALLS = 4000;

function cpu() {
	let ns = 0;
	for (const task of readdirSync(`/proc/${pid}/task`)) ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
	return ns;
}
const resident = () => Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

const line = await Line.open(url);
async function cost(text, count) {
	for (let i = 0; i < count / 10; i++) await line.call(text);
	const before = cpu();
	for (let i = 0; i < count; i++) await line.call(text);
	return (cpu() - before) / 1000 / count;
}
const { mcp } = requests(url);
console.log(`call_cpu_us ${(await cost(mcp, CALLS)).toFixed(2)}`);
// The tool fails: audited, stored and answered.
const failing = mcp.replace('"code":"file.not_found"', '"cod_":"file.not_found"');
console.log(`failure_cpu_us ${(await cost(failing, CALLS / 4)).toFixed(2)}`);
console.log(`idle_mb ${(resident() / 1024).toFixed(1)}`);
const before = resident();
const lines = [];
for (let i = 0; i < 400; i++) {
	lines.push(await Line.open(url));
	await lines.at(-1).call(mcp);
}
console.log(`connection_kb ${((resident() - before) / lines.length).toFixed(1)}`);
for (const one of [line, ...lines]) one.end();
