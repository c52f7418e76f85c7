/*
 * The official clients, v1 and v2, over stdio and HTTP: what their users see of
 * our successes, and above all of our errors.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { clients, judgeClient } from './clients_lib.mjs';
import { listening } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const everything = join(process.env.FW_BUILD ?? join(here, '../../build'), 'examples/everything');
let server, url;

before(async () => {
	server = spawn(everything, ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
	url = await listening(server);
});
after(() => server.kill());

const stdio = { command: everything, args: ['--stdio'], stderr: 'ignore' };

for (const [name, make] of Object.entries(clients)) {
	judgeClient(`${name}, stdio`, make, () => new (name === 'v1' ? Stdio1 : Stdio2)(stdio));
	judgeClient(`${name}, http`, make, () => new (name === 'v1' ? Http1 : Http2)(url));
}
