// FastMCP for TypeScript: node fastmcp.mjs --stdio | --http PORT
import { FastMCP, UserError } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'fastmcp', version: '1.0.0' });
const parameters = z.object({ text: z.string() });

server.addTool({
	name: 'echo',
	description: 'Says the text again',
	parameters,
	execute: async ({ text }) => text,
});
server.addTool({
	name: 'fail',
	description: 'Always fails',
	parameters,
	execute: async ({ text }) => {
		throw new UserError(text);
	},
});

await server.start(
	process.argv[2] === '--stdio'
		? { transportType: 'stdio' }
		: { transportType: 'httpStream', httpStream: { port: Number(process.argv[3]) } },
);
