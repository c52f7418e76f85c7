/*
 * The loops of docs/agents.md, as they are printed there, behind the gateway: in TypeScript on
 * the official SDK, and in Python on its standard library.
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

/* Makes calls through the loop, each in the same connection; prints their outcomes as JSON. */
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

const pythonProgram = `
import json, sys
from loop import Server, ToolFailed, call_tool

binary, node, script, log, calls = sys.argv[1:]
server = Server(binary, "gate", "--stdio", "--log", "off", "--", node, script, log)
ended = []
for name, arguments in json.loads(calls):
    try:
        ended.append({"text": call_tool(server, name, arguments)["content"][0]["text"]})
    except ToolFailed as failed:
        ended.append({"type": failed.error["type"], "code": failed.error["code"], "attempt": failed.attempt})
print(json.dumps(ended))
server.process.stdin.close()
server.process.wait()
`;

const printed = (language) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(readFileSync(join(root, 'docs/agents.md'), 'utf8'))[1];

before(() => {
	const loop = printed('ts'), python = printed('py');

	assert.ok(loop.split('\n').length <= 25, 'the loop is short');
	assert.ok(python.slice(python.indexOf('def call_tool')).split('\n').length <= 20, 'so is the one in Python');
	dir = mkdtempSync(join(tmpdir(), 'fw-agents-'));
	symlinkSync(join(here, 'node_modules'), join(dir, 'node_modules'));
	writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
	writeFileSync(join(dir, 'loop.ts'), loop);
	writeFileSync(join(dir, 'program.ts'), program);
	writeFileSync(join(dir, 'loop.py'), python);
	writeFileSync(join(dir, 'program.py'), pythonProgram);
});

after(() => rmSync(dir, { recursive: true, force: true }));

const server = join(root, 'test/wire/lib/call_server.mjs');

function run(command, args, calls) {
	const { stdout, stderr } = spawnSync(command, [...args, server, join(dir, 'log'), JSON.stringify(calls)], { encoding: 'utf8', timeout: 60000, env: { ...process.env, XDG_STATE_HOME: dir } });

	assert.notEqual(stdout, '', stderr);
	return JSON.parse(stdout);
}

const languages = {
	TypeScript: (...calls) => run(node, ['--disable-warning=ExperimentalWarning', join(dir, 'program.ts'), bin], calls),
	Python: (...calls) => run('python3', [join(dir, 'program.py'), bin, process.execPath], calls),
};

for (const [language, make] of Object.entries(languages)) {
	test(`agents: the loop in ${language} repeats what may be repeated, and nothing else`, { timeout: 90000 }, () => {
		const [worked, waited, missing, forbidden, wrong] = make(
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

	test(`agents: the loop in ${language} ends after three attempts`, { timeout: 90000 }, () => {
		const [failed] = make(['flaky', { failures: 9 }]);

		assert.deepEqual([failed.code, failed.attempt], ['upstream.rate_limited', 3]);
	});
}
