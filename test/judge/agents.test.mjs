/*
 * The loop of docs/agents.md, as it is printed there, on the official SDK, behind the gateway.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');
const bin = process.env.FAULTWIRE ?? join(root, 'build/faultwire');
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`); /* 22 runs TypeScript */

let dir;

/* Makes calls through the loop, each in the same connection; prints what came of them as JSON. */
const program = `
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { callTool } from './loop.ts';

const [bin, server, log, calls] = process.argv.slice(2);
const client = new Client({ name: 'agent', version: '1' });
await client.connect(new StdioClientTransport({ command: bin, args: ['gate', '--', process.execPath, server, log], stderr: 'ignore' }));
const ended: unknown[] = [];
for (const [name, args] of JSON.parse(calls))
	ended.push(await callTool(client, name, args).then(
		(result: any) => ({ text: result.content[0].text }),
		({ error, attempt }: any) => ({ type: error.type, code: error.code, attempt })));
console.log(JSON.stringify(ended));
await client.close();
`;

before(() => {
	const loop = /^\`\`\`ts\n([\s\S]*?)^\`\`\`$/m.exec(readFileSync(join(root, 'docs/agents.md'), 'utf8'))[1];

	assert.ok(loop.split('\n').length <= 25, 'the loop is short');
	dir = mkdtempSync(join(tmpdir(), 'fw-agents-'));
	symlinkSync(join(here, 'node_modules'), join(dir, 'node_modules'));
	writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
	writeFileSync(join(dir, 'loop.ts'), loop);
	writeFileSync(join(dir, 'program.ts'), program);
});

after(() => rmSync(dir, { recursive: true, force: true }));

function run(...calls) {
	const { stdout, stderr } = spawnSync(node, ['--disable-warning=ExperimentalWarning', join(dir, 'program.ts'), bin, join(root, 'test/wire/lib/call_server.mjs'), join(dir, 'log'), JSON.stringify(calls)], { encoding: 'utf8', timeout: 60000 });

	assert.notEqual(stdout, '', stderr);
	return JSON.parse(stdout);
}

test('agents: the loop repeats what may be repeated, and nothing else', { timeout: 90000 }, () => {
	const [worked, waited, missing, forbidden, wrong] = run(
		['echo', { text: 'hi' }],
		['flaky', { failures: 2 }],
		['say', { words: 'No such table: users' }],
		['say', { words: '403 Forbidden' }],
		['refuses', {}]);

	assert.deepEqual(worked, { text: 'hi' });
	assert.deepEqual(waited, { text: 'at last' });
	assert.deepEqual([missing.type, missing.attempt], ['NOT_FOUND', 1]);
	assert.deepEqual([forbidden.type, forbidden.attempt], ['PERMISSION', 1]);
	assert.deepEqual([wrong.type, wrong.attempt], ['VALIDATION', 1]);
});

test('agents: the loop ends after three attempts', { timeout: 90000 }, () => {
	const [failed] = run(['flaky', { failures: 9 }]);

	assert.deepEqual([failed.code, failed.attempt], ['upstream.rate_limited', 3]);
});
