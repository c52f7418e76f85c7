// The official TypeScript SDK, v1: node sdk-v1.mjs --stdio | --http PORT
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { serveSessions } from './sessions.mjs';

function makeServer() {
	const server = new McpServer({ name: 'sdk-v1', version: '1.0.0' });

	server.registerTool(
		'echo',
		{ description: 'Says the text again', inputSchema: { text: z.string() } },
		async ({ text }) => ({ content: [{ type: 'text', text }] }),
	);
	server.registerTool(
		'fail',
		{ description: 'Always fails', inputSchema: { text: z.string() } },
		async ({ text }) => {
			throw new Error(text);
		},
	);
	return server;
}

if (process.argv[2] === '--stdio') {
	await makeServer().connect(new StdioServerTransport());
} else {
	serveSessions(Number(process.argv[3]), async (options) => {
		const transport = new StreamableHTTPServerTransport(options);
		await makeServer().connect(transport);
		return transport;
	});
}
