// A small MCP server of the legacy era for tests of the gateway: tools with an outputSchema, whose results keep to it or not.

import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const outputSchema = { type: 'object', properties: { total: { type: 'integer' }, password: { type: 'integer' } }, required: ['total'] };
const content = [{ type: 'text', text: 'x' }];
let runs = 0;

const tools = {
	good: () => ({ content, structuredContent: { total: 3 } }),
	wrong_type: () => ({ content, structuredContent: { total: 'three' } }),
	missing_member: () => ({ content, structuredContent: {} }),
	no_structure: () => ({ content }),
	secret: () => ({ content, structuredContent: { total: 1, password: 'hunter2secret' } }),
	failed: () => ({ content: [{ type: 'text', text: 'Error: not found' }], isError: true }),
	no_schema: () => ({ content, structuredContent: { total: 'three' } }),
	unusable: () => ({ content, structuredContent: { total: 'three' } }),
	runs: () => ({ content: [{ type: 'text', text: String(runs) }], structuredContent: { total: runs } }),
	no_image: () => ({ content: [{ type: 'image', mimeType: 'image/png' }] }),
	no_resource: () => ({ content: [{ type: 'resource', resource: 'x' }] }),
	no_link: () => ({ content: [{ type: 'resource_link', name: 'x' }] }),
	array: () => ({ content, structuredContent: [1] }),
	future: () => ({ content: [{ type: 'hologram', data: 1 }] }),
	large: () => ({ content: [{ type: 'text', text: 'x'.repeat(2000000) }], structuredContent: { total: 3 } }),
};
const schemas = { no_schema: undefined, unusable: { $ref: '#/nowhere' }, array: undefined, no_image: undefined, no_resource: undefined, no_link: undefined, future: undefined };

createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'typed', version: '1' } } });
	else if (method === 'tools/list')
		send({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' }, outputSchema: name in schemas ? schemas[name] : outputSchema, annotations: { readOnlyHint: true } })) } });
	else if (method === 'tools/call') {
		runs++;
		send({ id, result: tools[params.name]() });
	} else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
});
