// Streamable HTTP with a transport for each session, as the SDKs' own examples
// do it, on plain node:http: less than a framework would cost.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

export function serveSessions(port, makeTransport) {
	const sessions = new Map();

	createServer(async (request, response) => {
		let transport = sessions.get(request.headers['mcp-session-id']);

		transport ??= await makeTransport({
			sessionIdGenerator: () => randomUUID(),
			onsessioninitialized: (id) => sessions.set(id, transport),
		});
		await transport.handleRequest(request, response);
	}).listen(port, '127.0.0.1');
}
