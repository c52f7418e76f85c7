/*
 * faultwire call against other people's servers: the official everything server over stdio
 * and HTTP, the official filesystem and memory servers, and three examples of the SDK, one
 * of them over HTTP.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const bin = process.env.FAULTWIRE ?? join(here, '../../build/faultwire');
const official = (name, ...args) => `node '${join(here, `node_modules/@modelcontextprotocol/${name}/dist/index.js`)}' ${args.join(' ')}`;
const everything = official('server-everything', 'stdio');
const example = (name) => join(here, `node_modules/@modelcontextprotocol/sdk/dist/esm/examples/server/${name}.js`);

const servers = [];
let dir, url, exampleUrl;

function call(...args) {
	const { status, stdout, stderr } = spawnSync(bin, ['call', ...args], { encoding: 'utf8', timeout: 30000 });
	return { status, out: stdout, err: stderr };
}

function freePort() {
	return new Promise((resolve) => {
		const probe = createServer().listen(0, '127.0.0.1', () => {
			const { port } = probe.address();
			probe.close(() => resolve(port));
		});
	});
}

/* Starts a server over HTTP and waits until it answers. */
async function serve(file, args, variable) {
	const port = await freePort();
	const address = `http://127.0.0.1:${port}/mcp`;

	servers.push(spawn('node', [file, ...args], { env: { ...process.env, [variable]: String(port) }, stdio: 'ignore' }));
	for (let i = 0; i < 300; i++) {
		const answer = await fetch(address).catch(() => null);
		if (answer) return address;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	throw new Error(`${file} did not start`);
}

before(async () => {
	dir = mkdtempSync(join(tmpdir(), 'fw-call-'));
	[url, exampleUrl] = await Promise.all([
		serve(join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), ['streamableHttp'], 'PORT'),
		serve(example('simpleStreamableHttp'), [], 'MCP_PORT')]);
});

after(() => {
	for (const server of servers) server.kill();
	rmSync(dir, { recursive: true, force: true });
});

for (const [how, target] of [['stdio', () => everything], ['HTTP', () => url]])
	test(`everything over ${how}: list, call, progress, question, errors`, { timeout: 60000 }, () => {
		const listed = call(target());
		assert.equal(listed.status, 0, listed.err);
		assert.match(listed.out, /^ {2}get-sum a:=NUMBER b:=NUMBER$/m);
		assert.match(listed.out, /^Prompts/m);
		assert.equal(call(target(), 'echo', 'message=hello').out, 'Echo: hello\n');
		assert.match(call(target(), 'get-sum', 'a=2', 'b=3').out, /5/);
		assert.match(call('-v', target(), 'trigger-long-running-operation', 'duration=0.2', 'steps=2').err, /progress: 1 of 2/);
		assert.match(call(target(), 'trigger-elicitation-request').out, /decline/i);
		assert.equal(call(target(), 'get-sum', 'a=2').status, 2);
		assert.equal(call(target(), 'no-such-tool').status, 4);
		assert.match(call(target(), '--read', 'demo://resource/static/document/features.md').out, /\S/);
	});

for (const [how, target] of [['stdio', () => everything], ['HTTP', () => url]])
	test(`everything over ${how}: Ctrl-C, and the server gets the cancellation`, { timeout: 60000 }, async () => {
		const child = spawn(bin, ['call', '--trace', target(), 'trigger-long-running-operation', 'duration=30', 'steps=300'], { stdio: ['ignore', 'ignore', 'pipe'] });
		let said = '';
		const begun = new Promise((resolve) => child.stderr.on('data', (bytes) => ((said += bytes).includes('"notifications/progress"') ? resolve() : 0)));
		const ended = new Promise((resolve) => child.on('close', resolve));
		await begun;
		child.kill('SIGINT');
		assert.equal(await ended, 130);
		const { id } = JSON.parse(/^> (.*"tools\/call".*)$/m.exec(said)[1]);
		const { params } = JSON.parse(/^> (.*"notifications\/cancelled".*)$/m.exec(said)[1]);
		assert.equal(params.requestId, id);
	});

test('everything over stdio: a time limit', { timeout: 60000 }, () => {
	const { status, out } = call('--json', '--timeout', '1', '--retry', 'off', everything, 'trigger-long-running-operation', 'duration=20', 'steps=2');
	const { error, attempts } = JSON.parse(out);

	assert.deepEqual([status, error.code, attempts], [8, 'upstream.timeout', 1]);
});

test('everything over HTTP: a time limit, and a tool that is safe to repeat', { timeout: 30000 }, () => {
	const { status, out } = call('--json', '--timeout', '1', '--retry', '2', url, 'trigger-long-running-operation', 'duration=20', 'steps=2');
	const { error, decision, attempts } = JSON.parse(out);

	assert.deepEqual([status, error.code, decision.action, attempts], [8, 'upstream.timeout', 'later', 2]);
});

test('the filesystem server', { timeout: 30000 }, () => {
	const target = official('server-filesystem', `'${dir}'`);

	writeFileSync(join(dir, 'a.txt'), 'some text\n');
	assert.equal(call(target, 'read_text_file', `path=${join(dir, 'a.txt')}`).out, 'some text\n');
	assert.equal(call(target, 'read_text_file', `path=${join(dir, 'b.txt')}`).status, 4);
	assert.equal(call(target, 'read_text_file', 'path=/etc/passwd').status, 6);
	assert.equal(call(target, 'read_text_file').status, 2);
});

test('the memory server', { timeout: 30000 }, () => {
	const target = official('server-memory');

	assert.equal(call('--env', `MEMORY_FILE_PATH=${join(dir, 'm.json')}`, target, 'create_entities', 'entities=[{"name":"a","entityType":"b","observations":[]}]').status, 0);
	assert.match(call('--env', `MEMORY_FILE_PATH=${join(dir, 'm.json')}`, target, 'read_graph').out, /"name": ?"a"/);
	assert.equal(call('--env', `MEMORY_FILE_PATH=${join(dir, 'm.json')}`, target, 'add_observations', 'observations=[{"entityName":"x","contents":["y"]}]').status, 4);
});

test('an example of the SDK with structured results', { timeout: 60000 }, () => {
	const target = `node '${example('mcpServerOutputSchema')}'`;
	const { structuredContent } = JSON.parse(call('--json', target, 'get_weather', 'city=Bern', 'country=CH').out);

	assert.equal(typeof structuredContent.temperature.celsius, 'number');
	assert.match(call(target).out, /^ {2}get_weather city=STRING country=STRING$/m);
	assert.equal(call(target, 'get_weather', 'city=Bern').status, 2);
	assert.equal(call(target, 'get_wether').status, 4);
});

test('an example of the SDK that reports progress', { timeout: 60000 }, () => {
	const target = `node '${example('progressExample')}'`;
	const { out, err } = call('-v', target, 'count', 'n=3');

	assert.equal(out, 'Counted to 3\n');
	assert.match(err, /progress: 2 of 3, Counting: 2\/3/);
	assert.equal(call(target, 'count', 'n=500').status, 3); /* the server refuses it */
});

test('an example of the SDK over HTTP: list, call, a question that is declined, errors', { timeout: 60000 }, () => {
	assert.match(call(exampleUrl).out, /^ {2}greet name=STRING$/m);
	assert.match(call(exampleUrl, 'greet', 'name=Ada').out, /Hello, Ada!/);
	assert.match(call(exampleUrl, 'collect-user-info', 'infoType=contact').out, /declin/i);
	assert.equal(call(exampleUrl, 'greet').status, 2);
	assert.equal(call(exampleUrl, 'gret').status, 4);
	assert.match(call(exampleUrl, '--read', 'https://example.com/greetings/default').out, /\S/);
});
