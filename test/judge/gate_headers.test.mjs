/*
 * Arguments that a modern HTTP server wants as headers (Mcp-Param-*), through the gateway. Judges
 * are a server of the official SDK, which refuses calls without them, and the scenarios of
 * the official suite in which it is the server.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Wire, modern } from '../wire/lib/mcp.mjs';
import { faultwire, quiet, serve } from './gate_lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`);
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const given = { region: 'Zürich, 世界', zone: -7, spare: false, at: { street: ' 1 Main ' } };
let server;
let url;
let gate;

before(async () => {
	server = spawn(process.execPath, [join(here, 'dual_server.mjs'), 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
	url = `http://127.0.0.1:${await new Promise((known) => server.stdout.once('data', (port) => known(`${port}`.trim())))}/mcp`;
	gate = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, '--url', url]);
});
after(() => {
	gate?.stop();
	server?.kill();
});

const params = (args) => ({ name: 'place', arguments: args, _meta: modern });

async function post(place, args, headers = {}) {
	const response = await fetch(place, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'place', ...headers },
		body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: params(args) }),
	});
	const text = await response.text();

	return { status: response.status, reply: JSON.parse(text.replace(/^[^{]*data: /s, '')) };
}

test('the server refuses a call without the headers', async () => {
	const { status, reply } = await post(url, given);

	assert.equal(status, 400);
	assert.equal(reply.error.code, -32020);
});

test('a call over stdio reaches it with the headers, also if the tools were not listed', { timeout: 30000 }, async () => {
	const wire = new Wire(['gate', '--stdio', ...quiet, '--url', url], faultwire);

	for (const args of [given, { region: '' }, { region: 'plain', at: {} }, {}]) {
		const reply = await wire.request('tools/call', params(args));
		assert.deepEqual(JSON.parse(reply.result.content[0].text), args);
	}
	wire.child.stdin.end();
	assert.equal((await wire.exit).status, 0);
});

test('the official client calls it through the gateway', { timeout: 30000 }, async () => {
	const client = new Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode: 'auto' } });

	await client.connect(new StreamableHTTPClientTransport(gate.url));
	assert.ok((await client.listTools()).tools.some(({ name }) => name === 'place'));
	assert.deepEqual(JSON.parse((await client.callTool({ name: 'place', arguments: given })).content[0].text), given);
	await client.close();
});

test('the gateway itself refuses headers that differ from the arguments', { timeout: 30000 }, async () => {
	const { status, reply } = await post(gate.url, { region: 'north' }, { 'Mcp-Param-Region': 'south' });

	assert.equal(status, 400);
	assert.equal(reply.error.code, -32020);
	assert.equal((await post(gate.url, { region: 'north' })).reply.error.code, -32020);
	assert.equal((await post(gate.url, { region: 'north' }, { 'Mcp-Param-Region': 'north' })).reply.result.content[0].text, '{"region":"north"}');
});

for (const name of ['http-standard-headers', 'http-custom-headers', 'http-invalid-tool-headers'])
	test(`conformance: a client behind the gateway, ${name}`, { timeout: 60000 }, async () => {
		const child = spawn(node, [suite, 'client', '--command', `${process.execPath} ${join(here, 'gate_client.mjs')}`, '--scenario', name, '--spec-version', '2026-07-28'], { stdio: ['ignore', 'pipe', 'pipe'] });
		let said = '';

		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => (said += bytes));
		assert.equal(await new Promise((done) => child.on('exit', done)), 0, said.slice(-3000));
		assert.match(said, /OVERALL: PASSED/);
	});
