// A small legacy MCP server for tests of the gateway whose list of tools changes: node lister.mjs NAME [FILE]. Its tools are those that
// FILE names, one per line (by default: first), `change` and `die`. FILE is read for each list. `change` announces that the list has changed;
// with the line "fails" in FILE, lists are an error.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [name, file] = process.argv.slice(2);
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const lines = () => (file ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : ['first']);
// "first: text" gives the tool a description.
const tool = (line) => ({ name: line.split(':')[0], description: line.split(':')[1] ?? '', inputSchema: { type: 'object' } });

const methods = {
	initialize: (id) => send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo: { name, version: '1' } } }),
	'tools/list': (id) => {
		if (lines().includes('fails')) send({ id, error: { code: -32603, message: 'database is locked' } });
		else send({ id, result: { tools: [...lines(), 'change', 'die'].map(tool) } });
	},
	'tools/call': (id, params) => {
		if (params.name === 'die') process.exit(3);
		if (params.name === 'change') send({ method: 'notifications/tools/list_changed' });
		send({ id, result: { content: [{ type: 'text', text: `${name} ran ${params.name}` }] } });
	},
};

createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	if (id === undefined) return;
	if (methods[method]) methods[method](id, params);
	else send({ id, error: { code: -32601, message: `no method ${method}` } });
});
