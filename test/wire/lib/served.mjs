// A server on HTTP that prints its URL on standard error.

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
