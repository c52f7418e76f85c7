// Servers on HTTP that print their URL on standard error.

import { spawn } from 'node:child_process';

export async function served(program, args, options = {}) {
	const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options });
	const server = { child, err: '' };
	server.url = await new Promise((done, fail) => {
		child.stderr.on('data', (bytes) => {
			server.err += bytes;
			const found = server.err.match(/http:\/\/127[^\s"]+/);
			if (found) done(found[0]);
		});
		child.on('exit', () => fail(new Error(server.err)));
	});
	server.stop = () => new Promise((done) => (child.on('exit', (status) => done(status)), child.kill()));
	return server;
}

// The origin of a server whose standard error is a pipe, once it listens at /mcp.
export const originOf = (child) => new Promise((found, lost) => {
	let said = '';
	child.stderr.on('data', (bytes) => {
		said += bytes;
		const match = said.match(/http:\/\/\S+?(?=\/mcp)/);
		if (match) found(match[0]);
	});
	child.on('exit', () => lost(new Error(said)));
});
