/*
 * Real work in a governed workspace, through the official clients: a change of two files
 * that compile only together, with the system's C compiler as the preflight command; over
 * stdio, and by two HTTP clients at once, one of which is locked.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { serveArgs } from '../wire/lib/workspace.mjs';
import { Place, program, sha256 } from './workspace_lib.mjs';

const OLD = {
	'src/sum.h': 'int sum(int a, int b);\n',
	'src/sum.c': '#include "sum.h"\n\nint sum(int a, int b)\n{\n\treturn a + b;\n}\n',
	'src/main.c': '#include "sum.h"\n\nint main(void)\n{\n\treturn sum(1, -1);\n}\n',
};
/* The header and the source change together; either alone does not compile. */
const NEW = {
	'src/sum.h': 'long sum(long a, long b);\n',
	'src/sum.c': '#include "sum.h"\n\nlong sum(long a, long b)\n{\n\treturn a + b;\n}\n',
};
const PREFLIGHT = ['--preflight', 'cc -pipe -Wall -Werror -o "$TMPDIR/app" src/*.c && cc -Wall -Werror -c -o "$TMPDIR/sum.o" src/sum.c && "$TMPDIR/app"'];

function makePlace() {
	const place = new Place();
	for (const [name, text] of Object.entries(OLD)) place.write(name, text);
	return { place, plan: place.plan('src/*.c, src/*.h') };
}

/** The tools of a client, as functions. */
const toolsOf = (client) => ({
	client,
	async call(name, args = {}) {
		const result = await client.callTool({ name, arguments: args });
		return result.isError ? JSON.parse(result.content[0].text) : result.structuredContent;
	},
	async code(name, args) {
		return (await this.call(name, args))?.error_code ?? 'ok';
	},
});

const both = (plan, texts = NEW) => ({
	plan, intent: 'Sums are long.',
	files: Object.entries(texts).map(([path, content]) => ({ path, content, previousHash: sha256(OLD[path]) })),
});
const one = (plan, path = 'src/sum.h') => ({ path, content: NEW[path], previousHash: sha256(OLD[path]), plan });

function assertContent(place, texts) {
	for (const [name, text] of Object.entries({ ...OLD, ...texts })) assert.equal(place.read(name), text, name);
	assert.deepEqual(readdirSync(place.path('src')).sort(), ['a.txt', 'main.c', 'sum.c', 'sum.h']);
	assert.deepEqual(readdirSync(place.path('.faultwire/tmp')), []);
}

test('stdio: one file alone does not compile and is restored, both together are kept', async () => {
	const { place, plan } = makePlace();
	const client = new Client1({ name: 'judge', version: '1' }, { capabilities: {} });
	await client.connect(new StdioClientTransport({ command: program, args: serveArgs(place, { role: 'executor', options: PREFLIGHT }), env: place.env, stderr: 'ignore' }));
	const tools = toolsOf(client);
	try {
		assert.match(client.getInstructions(), /begin_session.*write_files/s);
		assert.equal((await tools.call('begin_session', { workspace_root: place.root, role: 'executor' })).role, 'WINDSURF');
		assert.deepEqual((await tools.call('search_files', { query: 'int sum', glob: 'src/*' })).matches.map((match) => match.path), ['src/sum.c', 'src/sum.h']);
		const failed = await tools.call('write_file', one(plan));
		assert.equal(failed.error_code, 'PREFLIGHT_FAILED');
		assert.match(JSON.stringify(failed.cause), /conflicting types|sum\.c/);
		assertContent(place, {});
		assert.equal(await tools.code('write_files', both(plan)), 'SESSION_LOCKED');
		assert.equal(await tools.code('write_file', { path: 'docs/reports/1.md', content: 'The header alone does not compile.\n' }), 'ok');
		const done = await tools.call('write_files', both(plan));
		assert.deepEqual(done.files.map((file) => file.outcome), ['replaced', 'replaced']);
		assertContent(place, NEW);
		assert.equal((await tools.call('verify_workspace_integrity')).intact, true);
	} finally {
		await client.close();
		assert.match(place.run(['audit', 'verify', 'audit-log.jsonl']), /intact/);
		place.drop();
	}
});

/* Two clients at once: sessions of the protocol, and names in the version without. */
const ways = {
	'2025-11-25': async (url) => {
		const client = new Client1({ name: 'judge', version: '1' }, { capabilities: {} });
		await client.connect(new Http1(url));
		return client;
	},
	'2026-07-28': async (url, name) => {
		const client = new Client2({ name, version: '1' }, { capabilities: {}, versionNegotiation: { mode: { pin: '2026-07-28' } } });
		await client.connect(new Http2(url));
		return client;
	},
};
for (const [version, connect] of Object.entries(ways))
	test(`HTTP, ${version}: of two clients at once one is locked, and the other changes both files`, async () => {
		const { place, plan } = makePlace();
		const child = spawn(program, [...serveArgs(place, { options: PREFLIGHT }), '--http', '127.0.0.1:0'], { env: place.env, stdio: ['ignore', 'ignore', 'pipe'] });
		const ended = new Promise((done) => child.on('close', done));
		const url = await new Promise((found) => {
			let said = '';
			child.stderr.on('data', (bytes) => {
				said += bytes;
				const match = said.match(/http:\/\/\S+\/mcp/);
				if (match) found(new URL(match[0]));
			});
		});
		const [a, b] = (await Promise.all([connect(url, 'first'), connect(url, 'second')])).map(toolsOf);
		try {
			const sessions = await Promise.all([a, b].map((tools) => tools.call('begin_session', { workspace_root: place.root })));
			assert.notEqual(sessions[0].session_id, sessions[1].session_id);
			/* At once: the one that breaks the build is locked, in either order. */
			const [bad, good] = await Promise.all([a.call('write_files', both(plan, { 'src/main.c': 'nonsense\n' })), b.call('write_files', both(plan))]);
			assert.equal(bad.error_code, 'PREFLIGHT_FAILED');
			assert.equal(bad.session_id, sessions[0].session_id);
			assert.ok(good.files, JSON.stringify(good));
			assertContent(place, NEW);
			assert.equal(await a.code('list_plans'), 'SESSION_LOCKED');
			assert.equal(await b.code('list_plans'), 'ok');
			assert.equal(await a.code('write_file', { path: 'docs/reports/1.md', content: 'It did not compile.\n' }), 'ok');
			assert.equal(await a.code('list_plans'), 'ok');
			assert.deepEqual(place.audit().filter((line) => line.event === 'note'), []);
		} finally {
			await Promise.all([a, b].map((tools) => tools.client.close()));
			child.kill();
			await ended;
			assert.match(place.run(['audit', 'verify', 'audit-log.jsonl']), /intact/);
			place.drop();
		}
	});
