// A small MCP server of the legacy era for tests of the gateway: each tool misbehaves in its own way. Its argument is its name;
// variables of its environment are reported by the tool env.

import { createInterface } from 'node:readline';

const name = process.argv[2] ?? 'upstream';
const send = (message) => process.stdout.write((typeof message === 'string' ? message : JSON.stringify(message)) + '\n');
const text = (id, words, more) => send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: words }], ...more } });
let calls = 0;

const tools = {
	ok: (id) => text(id, `hello from ${name}`),
	echo: (id, params) => text(id, JSON.stringify(params.arguments)),
	env: (id) => text(id, JSON.stringify(process.env)),
	pid: (id) => text(id, String(process.pid)),
	args: (id) => text(id, JSON.stringify(process.argv.slice(2))),
	count: (id) => text(id, String(++calls)),
	large: (id) => text(id, 'x'.repeat(3 * 1024 * 1024)),
	flat: (id) => text(id, 'Error: rate limit exceeded, retry after 7 seconds', { isError: true }),
	envelope: (id) => text(id, '{"error":{"code":"cache_missing","message":"Cache does not exist"}}', { isError: true }),
	empty: (id) => send({ jsonrpc: '2.0', id, result: { content: [], isError: true } }),
	rpc: (id) => send({ jsonrpc: '2.0', id, error: { code: -32000, message: 'connect ECONNREFUSED 127.0.0.1:5432', data: { port: 5432 } } }),
	exit: () => {
		process.stderr.write('password=hunter2secret\nlast words\n', () => process.exit(42));
	},
	crash: () => process.kill(process.pid, 'SIGSEGV'),
	cut: (id) => send(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"te`),
	garbage: (id) => send(`{"jsonrpc":"2.0","id":${id},"result":{"content":[}}`),
	latin: (id) => {
		process.stdout.write(Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`), Buffer.from([0xe4]), Buffer.from('"}]}}\n')]));
	},
	wrong_id: (id) => send({ jsonrpc: '2.0', id: id + 1000, result: { content: [] } }),
	text_id: (id) => send({ jsonrpc: '2.0', id: String(id), result: { content: [] } }),
	neither: (id) => send({ jsonrpc: '2.0', id }),
	both: (id) => send({ jsonrpc: '2.0', id, result: { content: [] }, error: { code: 1, message: 'x' } }),
	no_object: (id) => send({ jsonrpc: '2.0', id, result: 'done' }),
	no_content: (id) => send({ jsonrpc: '2.0', id, result: {} }),
	batch: (id) => send([{ jsonrpc: '2.0', id, result: { content: [] } }]),
	trace: () => send('Traceback (most recent call last):'),
	silence: () => {},
	twice: (id) => {
		text(id, 'first');
		text(id, 'second');
	},
	banner: (id) => {
		send('Server listening on port 3000');
		send('{"level":"info","msg":"a log line"}');
		text(id, 'after the banner');
	},
	progress: (id, params) => {
		send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta?.progressToken, progress: 1, total: 2, extra: true } });
		text(id, 'done');
	},
	ask: (id) => {
		asking = id;
		send({ jsonrpc: '2.0', id: 'question', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } });
	},
};
let asking;

createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params, result, error } = JSON.parse(line);
	if (id === 'question') text(asking, JSON.stringify(result ?? error));
	else if (method === 'initialize')
		send({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {} }, serverInfo: { name, version: '1' }, instructions: `use ${name}` } });
	else if (method === 'tools/list')
		send({ jsonrpc: '2.0', id, result: { tools: Object.keys(tools).map((tool) => ({ name: tool, inputSchema: { type: 'object' }, annotations: { readOnlyHint: tool === 'count' } })) } });
	else if (method === 'resources/list') send({ jsonrpc: '2.0', id, result: { resources: [{ uri: `test://${name}`, name }] } });
	else if (method === 'resources/read') send({ jsonrpc: '2.0', id, result: { contents: [{ uri: params.uri, text: name }] } });
	else if (method === 'tools/call' && tools[params.name]) tools[params.name](id, params);
	else if (method === 'tools/call') send({ jsonrpc: '2.0', id, error: { code: -32602, message: `Unknown tool: ${params.name}` } });
	else if (method === 'own/method') send({ jsonrpc: '2.0', id, result: { params } });
	else if (id !== undefined && method) send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
});
