/*
 * The official clients, v1 and v2, over stdio and HTTP, and tools that crash and
 * hang: what their users see, and that their connection is as good as before.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { listening } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const hazard = join(process.env.FW_BUILD ?? join(here, '../../build'), 'hazard');
const identity = { name: 'judge', version: '1' };
const dir = mkdtempSync(join(tmpdir(), 'fw-workers-'));
let server, url;

before(async () => {
	server = spawn(hazard, ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
	url = await listening(server);
});
after(() => {
	server.kill();
	rmSync(dir, { recursive: true });
});

const stdio = { command: hazard, args: [], stderr: 'ignore' };
const v2 = (mode) => () => new Client2(identity, { versionNegotiation: { mode } });
const ways = [
	['v1, stdio', () => new Client1(identity), () => new Stdio1(stdio)],
	['v1, http', () => new Client1(identity), () => new Http1(url)],
	['v2 legacy, stdio', v2('legacy'), () => new Stdio2(stdio)],
	['v2 modern, stdio', v2({ pin: '2026-07-28' }), () => new Stdio2(stdio)],
	['v2 modern, http', v2({ pin: '2026-07-28' }), () => new Http2(url)],
];
const hazards = [
	['segv', {}, 'tool.crashed', { signal: 'SIGSEGV' }],
	['overflow', {}, 'tool.crashed', { signal: 'SIGSEGV' }],
	['abort', {}, 'tool.crashed', { signal: 'SIGABRT' }],
	['exit', { status: 7 }, 'tool.exited', { exit_status: 7 }],
	['garbage', {}, 'tool.garbled', {}],
	['sleep', {}, 'runtime.timeout', { timeout_ms: 300 }],
	['nothing', {}, 'tool.no_result', {}],
	['not_text', {}, 'tool.result_not_text', {}],
];

for (const [name, make, transport] of ways)
	test(`${name}: tools that crash and hang fail, and nothing else does`, async () => {
		const client = make();
		await client.connect(transport());
		try {
			for (const [tool, args, code, context] of hazards) {
				const result = await client.callTool({ name: tool, arguments: args });
				const error = result._meta['dev.faultwire/error'];
				assert.equal(result.isError, true);
				assert.equal(error.code, code);
				assert.equal(error.origin, 'tool');
				for (const [key, value] of Object.entries(context)) assert.equal(error.context[key], value);
				assert.equal(typeof JSON.parse(result.content[0].text).type, 'string');
			}
			const all = await Promise.all([...Array(20).keys()].map((i) => client.callTool(i % 4 ? { name: 'echo', arguments: { text: String(i) } } : { name: 'segv', arguments: {} })));
			all.forEach((result, i) => assert.equal(i % 4 ? result.content[0].text : result._meta['dev.faultwire/error'].code, i % 4 ? String(i) : 'tool.crashed'));
			let told = 0;
			const until = join(dir, name);
			const onprogress = () => ++told === 2 && writeFileSync(until, '');
			const tell = await client.callTool({ name: 'tell', arguments: { until } }, ...(name.startsWith('v1') ? [undefined] : []), { onprogress });
			assert.equal(tell.content[0].text, 'before');
			assert.equal(told, 2);
		} finally {
			await client.close();
		}
	});
