// bench/api.mjs URL PID: the same tool by the HTTP API and by MCP, on one connection each, one
// request at a time, in turns: rounds of one and of the other, so that both see the same
// machine. Prints microseconds per call (median of the rounds) and their ratio; exit status 1
// if the API is slower by more than the noise that two halves of the same surface show.

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

const ROUNDS = 41;
const CALLS = 250;
const url = new URL(process.argv[2]);
const pid = process.argv[3];

// CPU time of the server and all its threads so far, in nanoseconds.
const cpu = () => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]);

function request(path, body, headers) {
	const text = JSON.stringify(body);
	return `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
}

const args = { code: 'file.not_found' };
const meta = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
	'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};
const requests = {
	api: request('/api/v1/tools/explain_error_code', args, ''),
	mcp: request('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'explain_error_code', arguments: args, _meta: meta } },
		'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: explain_error_code\r\n'),
};

const socket = connect(Number(url.port), url.hostname);
socket.setNoDelay(true);
await new Promise((done) => socket.once('connect', done));
let seen = '';
let waiting;
socket.setEncoding('latin1');
socket.on('data', (bytes) => {
	seen += bytes;
	const end = seen.indexOf('\r\n\r\n');
	if (end < 0) return;
	const length = Number(/content-length: (\d+)/i.exec(seen)?.[1]);
	if (seen.length < end + 4 + length) return;
	const reply = seen;
	seen = '';
	waiting(reply);
});
const call = (text) => new Promise((done) => {
	waiting = done;
	socket.write(text);
});

const used = { api: [], mcp: [] };
async function round(name) {
	const before = cpu();
	const start = process.hrtime.bigint();
	for (let i = 0; i < CALLS; i++) await call(requests[name]);
	used[name].push((cpu() - before) / 1000 / CALLS);
	return Number(process.hrtime.bigint() - start) / 1000 / CALLS;
}

for (const name of ['api', 'mcp']) {
	const reply = await call(requests[name]);
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
socket.destroy();
const middle = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const spread = Math.abs(middle(times.mcp.filter((_, i) => i % 2)) / middle(times.mcp.filter((_, i) => !(i % 2))) - 1);
console.log(`CPU of the server: API ${middle(used.api).toFixed(1)} us, MCP ${middle(used.mcp).toFixed(1)} us   round trip: API ${middle(times.api).toFixed(1)} us, MCP ${middle(times.mcp).toFixed(1)} us   API/MCP ${middle(ratios).toFixed(3)}   noise ${spread.toFixed(3)}`);
process.exit(middle(ratios) > 1 + Math.max(spread, 0.02) ? 1 : 0);
