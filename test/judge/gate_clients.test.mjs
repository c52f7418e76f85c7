/*
 * The official clients, v1 and v2, through the gateway to examples/everything: the four
 * pairings of transports. What they see is what they see without it.
 */
import { after, before as first } from 'node:test';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { clients, judgeClient } from './clients_lib.mjs';
import { before, env, everything, faultwire, quiet, serve } from './gate_lib.mjs';

let server;
const gates = {};

first(async () => {
	server = await serve(everything, ['--http', '127.0.0.1:0']);
	for (const upstream of ['stdio', 'http'])
		gates[upstream] = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, ...before(upstream, server.url)]);
});
after(() => {
	for (const gate of Object.values(gates)) gate.stop();
	server?.stop();
});

for (const [name, make] of Object.entries(clients))
	for (const upstream of ['stdio', 'http']) {
		judgeClient(`${name}, stdio > ${upstream}`, make, () =>
			new (name === 'v1' ? Stdio1 : Stdio2)({ command: faultwire, args: ['gate', '--stdio', ...quiet, ...before(upstream, server.url)], env, stderr: 'ignore' }));
		judgeClient(`${name}, http > ${upstream}`, make, () => new (name === 'v1' ? Http1 : Http2)(gates[upstream].url));
	}
