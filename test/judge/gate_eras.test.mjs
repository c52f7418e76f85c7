/*
 * A server of both eras (dual_server.mjs, official SDK v2) behind the gateway: clients of each
 * era are served in their own, without an option. Judges are the scenarios of the official
 * suite that ask the client something, and the official clients over stdio.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { run } from './conformance_lib.mjs';
import { env, faultwire, quiet, serve } from './gate_lib.mjs';

const program = fileURLToPath(new URL('dual_server.mjs', import.meta.url));
const upstream = ['--', process.execPath, program, 'stdio'];
/* FW_LONG=1: the others, too. */
const isLong = process.env.FW_LONG;
const scenarios = {
	'2025-11-25': ['tools-call-sampling', 'tools-call-elicitation', ...(isLong ? ['elicitation-sep1034-defaults', 'elicitation-sep1330-enums'] : [])],
	'2026-07-28': ['input-required-result-basic-elicitation', ...(isLong ? ['input-required-result-basic-sampling'] : [])],
};
const urls = {};
const gates = [];
let server;

before(async () => {
	server = spawn(process.execPath, [program, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
	urls.direct = `http://127.0.0.1:${await new Promise((known) => server.stdout.once('data', (port) => known(`${port}`.trim())))}/mcp`;
	for (const [name, before] of [['stdio', upstream], ['http', ['--url', urls.direct]]]) {
		gates.push(await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, ...before]));
		urls[name] = gates.at(-1).url.href;
	}
});
after(() => {
	for (const gate of gates) gate.stop();
	server?.kill();
});

for (const [version, names] of Object.entries(scenarios))
	for (const name of names)
		test(`a server of both eras keeps ${name} (${version}) behind the gateway, without --era`, { timeout: 120000 }, async () => {
			const places = Object.entries(urls);
			const outcomes = await Promise.all(places.map(([, url]) => run(url, '--scenario', name, '--spec-version', version)));

			for (const [i, { code, said }] of outcomes.entries()) assert.equal(code, 0, `server over ${places[i][0]}: ${said.slice(-1500)}`);
			/* Nothing passes because nothing was checked. */
			for (const { said } of outcomes) assert.match(said, /Passed: [1-9]/);
		});

const answer = async () => ({ action: 'accept', content: { response: 'blue', name: 'Ada' } });
const parameters = { command: faultwire, args: ['gate', '--stdio', ...quiet, ...upstream], env, stderr: 'ignore' };

test('a legacy client over stdio is asked by a request, a modern one with input_required', { timeout: 60000 }, async () => {
	const v1 = new Client1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } });
	v1.setRequestHandler(ElicitRequestSchema, answer);
	await v1.connect(new Stdio1(parameters));
	assert.match((await v1.callTool({ name: 'test_elicitation', arguments: { message: 'Which colour?' } })).content[0].text, /action=accept.*blue/);
	await v1.close();

	const v2 = new Client2({ name: 'v2', version: '1' }, { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } });
	v2.setRequestHandler('elicitation/create', answer);
	await v2.connect(new Stdio2(parameters));
	assert.equal((await v2.callTool({ name: 'test_input_required_result_elicitation', arguments: {} })).content[0].text, 'Hello, Ada!');
	await v2.close();
});
