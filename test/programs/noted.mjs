// A small MCP server for tests of the gateway that notes each message that it gets in a file, with the number of its process:
// `node noted.mjs legacy|modern FILE`. Its resources change, its tools change, and it crashes, as its caller wants.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [era, file] = process.argv.slice(2);
const run = existsSync(file) ? new Set(readFileSync(file, 'utf8').trim().split('\n').map((line) => line.split(' ')[0])).size + 1 : 1;
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const complete = (result) => ({ ...result, ...(era === 'modern' && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }) });
const text = (id, words) => send({ id, result: complete({ content: [{ type: 'text', text: words }] }) });
const capabilities = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} };
let word = 'adds';

const methods = {
	initialize: (id) => era === 'legacy' && send({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'noted', version: '1' } } }),
	'server/discover': (id) => era === 'modern' && send({ id, result: complete({ supportedVersions: ['2026-07-28'], capabilities }) }),
	'subscriptions/listen': (id, { notifications }) => send({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } } }),
	'tools/list': (id) => send({ id, result: complete({ tools: [{ name: 'sum', description: `${word} two numbers`, inputSchema: { type: 'object' } }, { name: 'other', inputSchema: { type: 'object' } }] }) }),
	'resources/read': (id, { uri }) => {
		// The first process dies of it.
		if (run === 1) process.exit(9);
		send({ id, result: complete({ contents: [{ uri, text: `read by ${run}` }] }) });
	},
	'tools/call': (id, { name, arguments: { to } = {} }) => {
		if (name === 'crash') process.exit(7);
		if (name === 'change') word = to;
		if (name === 'touch') send({ method: 'notifications/resources/updated', params: { uri: 'x:///a' } });
		text(id, `${name} ${run}`);
	},
};

createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	appendFileSync(file, `${run} ${line}\n`);
	if (methods[method]?.(id, params) === false || (!methods[method] && id !== undefined)) send(method?.includes('ubscribe') || method === 'logging/setLevel' ? { id, result: {} } : { id, error: { code: -32601, message: 'Method not found' } });
});
