/*
 * The workspace of the wire tests, with a server that is called through the official
 * clients over stdio and HTTP.
 */
import { spawn } from 'node:child_process';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Server as AnyServer, program, serveArgs } from '../wire/lib/workspace.mjs';

export { FIELDS, Place, UUID, program, sha256 } from '../wire/lib/workspace.mjs';

const identity = { name: 'judge', version: '1' };

/** Ways to connect to a server. */
export const ways = {
	async stdio(place, how) {
		const client = new Client1(identity, { capabilities: {} });
		const transport = new Stdio1({
			command: how.command?.[0] ?? how.program ?? program,
			args: [...(how.command?.slice(1) ?? []), ...serveArgs(place, how)], env: { ...place.env, ...how.env }, stderr: 'pipe',
		});
		let said = '';
		transport.stderr?.on('data', (bytes) => (said += bytes));
		await client.connect(transport);
		return { client, pid: transport.pid, said: () => said, close: () => client.close() };
	},
	async http(place, how) {
		const command = how.command ?? [how.program ?? program];
		const child = spawn(command[0], [...command.slice(1), ...serveArgs(place, how), '--http', '127.0.0.1:0'],
			{ env: { ...place.env, ...how.env }, stdio: ['ignore', 'ignore', 'pipe'] });
		let said = '';
		const url = await new Promise((found, lost) => {
			child.stderr.on('data', (bytes) => {
				said += bytes;
				const match = said.match(/http:\/\/\S+/);
				if (match) found(new URL(match[0]));
			});
			child.on('exit', () => lost(new Error(`no server: ${said}`)));
		});
		const client = new Client2(identity, { capabilities: {}, versionNegotiation: { mode: { pin: '2026-07-28' } } });
		await client.connect(new Http2(url));
		return {
			client, pid: child.pid, said: () => said,
			async close() {
				await client.close();
				child.kill();
				await new Promise((done) => (child.exitCode !== null || child.signalCode ? done() : child.on('exit', done)));
			},
		};
	},
};

export class Server extends AnyServer {
	static ways = ways;
}
