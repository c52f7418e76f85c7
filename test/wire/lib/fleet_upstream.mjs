// A server behind a gateway, by stdio: it announces changes on request, and has a call that
// goes on step by step, as far as a file allows.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const done = (id, text) => write({ id, result: { content: [{ type: 'text', text }] } });
const kinds = { tools: 'notifications/tools/list_changed', prompts: 'notifications/prompts/list_changed', resources: 'notifications/resources/list_changed', resource: 'notifications/resources/updated' };
const object = { type: 'object' };
const tools = [
	{ name: 'announce', inputSchema: object },
	{ name: 'steps', inputSchema: object, annotations: { readOnlyHint: true } },
	{ name: 'refuse', inputSchema: object, annotations: { readOnlyHint: true } },
	{ name: 'echo', inputSchema: object, annotations: { readOnlyHint: true } },
];

// As many lines as the file has, up to `count`; an empty line in it is the end.
async function steps(id, { file, count }, token) {
	for (let i = 1; i <= count; ) {
		const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
		if (lines < i) {
			await new Promise((next) => setTimeout(next, 10));
			continue;
		}
		write({ method: 'notifications/progress', params: { progressToken: token, progress: i, total: count, message: `step ${i}` } });
		i++;
	}
	done(id, `${count} steps`);
}

const methods = {
	initialize: (id, { protocolVersion }) => write({ id, result: { protocolVersion, capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true } }, serverInfo: { name: 'steps', version: '1' } } }),
	'tools/list': (id) => write({ id, result: { tools } }),
	'prompts/list': (id) => write({ id, result: { prompts: [{ name: 'hello' }] } }),
	'resources/list': (id) => write({ id, result: { resources: [{ uri: 'test://a', name: 'a' }] } }),
	'resources/templates/list': (id) => write({ id, result: { resourceTemplates: [] } }),
	'tools/call': (id, { name, arguments: args = {}, _meta }) => {
		if (args.log) appendFileSync(args.log, `${args.text}\n`);
		if (name === 'refuse') return write({ id, result: { isError: true, content: [{ type: 'text', text: 'ENOENT: no such file or directory, open notes.txt' }] } });
		if (name === 'steps') return void steps(id, args, _meta?.progressToken);
		if (name === 'announce') write({ method: kinds[args.kind], ...(args.uri ? { params: { uri: args.uri } } : {}) });
		return done(id, args.text ?? 'done');
	},
};

createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	if (id === undefined) return;
	if (methods[method]) methods[method](id, params);
	else write({ id, result: {} });
});
