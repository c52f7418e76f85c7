// The official TypeScript SDK, v2: node sdk-v2.mjs --stdio | --http PORT
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { serveSessions } from './sessions.mjs';

function makeServer() {
	const server = new McpServer({ name: 'sdk-v2', version: '1.0.0' });

	server.registerTool(
		'echo',
		{ description: 'Says the text again', inputSchema: z.object({ text: z.string() }) },
		async ({ text }) => ({ content: [{ type: 'text', text }] }),
	);
	server.registerTool(
		'fail',
		{ description: 'Always fails', inputSchema: z.object({ text: z.string() }) },
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
		const transport = new NodeStreamableHTTPServerTransport(options);
		await makeServer().connect(transport);
		return transport;
	});
}
