// An HTTP server for tests of the gateway: a legacy MCP server that answers tools/call as its test says.

import { createServer } from 'node:http';

const headers = { 'content-type': 'application/json' };
export const json = (res, id, result, status = 200, more = {}) => res.writeHead(status, { ...headers, ...more }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
export const words = (res, id, text) => json(res, id, { content: [{ type: 'text', text }] });

// `call` gets each tools/call; `first` sees each request before, and returns true if it has answered.
export async function web(call, first = () => false) {
	const seen = [];
	const server = createServer((req, res) => {
		let body = '';
		req.on('data', (bytes) => (body += bytes));
		req.on('end', () => {
			const message = body ? JSON.parse(body) : {};
			seen.push({ method: req.method, url: req.url, headers: req.headers, message });
			if (first(req, res, message)) return;
			if (message.method === 'initialize') json(res, message.id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } });
			else if (message.method === 'tools/call') call(req, res, message);
			else if (message.method === 'tools/list') json(res, message.id, { tools: [] });
			else if (message.id !== undefined) res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } }));
			else res.writeHead(req.method === 'POST' ? 202 : 405).end();
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	const { port } = server.address();
	return { seen, port, url: `http://127.0.0.1:${port}/mcp`, calls: () => seen.filter(({ message }) => message.method === 'tools/call').length, stop: () => (server.closeAllConnections(), new Promise((done) => server.close(done))) };
}
