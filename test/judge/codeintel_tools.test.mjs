/*
 * The contract's exception table, end to end: each row is caused for real, seen by the
 * official clients v1 and v2, and its envelope judged by ajv against a schema that was written by
 * hand from the contract.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { byHand, listening, published } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const program = process.env.FAULTWIRE ?? join(here, '../../build/faultwire');
const identity = { name: 'judge', version: '1' };
const dir = mkdtempSync(join(tmpdir(), 'fw-codeintel-'));
const repo = join(dir, 'repo');
const env = { PATH: process.env.PATH, HOME: dir, XDG_STATE_HOME: join(dir, 'state'), LC_ALL: 'C.UTF-8' };
const args = ['serve', '--tools', 'code', '--repo', repo, '--search-timeout', '100', '--log', 'json', '--audit-sync', 'off'];
const valid = byHand('codeintel');
const details = published('problem_details');
let server, url, log = '';

before(async () => {
	mkdirSync(join(repo, 'src'), { recursive: true });
	writeFileSync(join(repo, 'src/main.py'), 'def main():\n    pass\n');
	writeFileSync(join(repo, 'latin1.txt'), Buffer.from('gr\xfc\xdfe\n', 'latin1'));
	writeFileSync(join(repo, 'logo.png'), Buffer.from([0x89, 0x50, 0, 0]));
	for (let i = 0; i < 20; i++) writeFileSync(join(repo, `slow${i}.txt`), 'some aaaaaaaaaaaaaaaaaaaaab text\n'.repeat(20000));
	server = spawn(program, [...args, '--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'], env });
	server.stderr.on('data', (bytes) => (log += bytes));
	url = await new Promise((found, lost) => {
		server.stderr.on('data', () => {
			const match = log.match(/"url":"(http:[^"]+)"/);
			if (match) found(new URL(match[1]));
		});
		server.once('exit', () => lost(new Error(log)));
	});
});
after(async () => {
	await stop(server);
	rmSync(dir, { recursive: true, force: true });
});

const empty = {
	open_file: { path: '', content: '', lines: 0, size: 0 },
	list_paths: { items: [], total: 0, truncated: false },
	search_text: { matches: [], total: 0, truncated: false },
	semantic_search: { findings: [], answer: '', confidence: 0 },
	blame_range: { blame: [] },
	file_history: { commits: [] },
};
const results = Object.fromEntries(Object.keys(empty).map((tool) => [tool, published(tool)]));
const operation = { open_file: 'files:open_file', list_paths: 'files:list_paths', search_text: 'search:text', semantic_search: 'semantic:search', blame_range: 'git:blame_range', file_history: 'git:file_history' };

/* exception, tool, arguments, status, code, title, message, extensions */
const rows = [
	['FileNotFoundError', 'open_file', { path: 'src/missing.py' }, 404, 'file-not-found', 'File Not Found', /^File not found: src\/missing\.py$/, undefined],
	['UnicodeDecodeError', 'open_file', { path: 'latin1.txt' }, 415, 'unsupported-encoding', 'Unsupported Encoding', /latin1\.txt/, { path: 'latin1.txt', encoding: 'utf-8', reason: 'invalid start byte at position 2' }],
	['ValueError', 'list_paths', { max_results: 0 }, 400, 'invalid-parameter', 'Invalid Parameter', /^max_results must be a positive integer$/, undefined],
	['ValueError', 'search_text', { query: 'a(b', regex: true }, 400, 'invalid-parameter', 'Invalid Parameter', /at offset 3/, undefined],
	['ValueError', 'file_history', { path: 'src/main.py', limit: -1 }, 400, 'invalid-parameter', 'Invalid Parameter', /^limit must be a positive integer$/, undefined],
	['ValueError', 'semantic_search', { query: '' }, 400, 'invalid-parameter', 'Invalid Parameter', /query/, undefined],
	['FileOperationError', 'open_file', { path: 'src' }, 400, 'file-operation-failed', 'File Operation Failed', /^path is a folder: src$/, { path: 'src' }],
	['InvalidLineRangeError', 'open_file', { path: 'src/main.py', start_line: 0, end_line: 10 }, 400, 'invalid-parameter', 'Invalid Parameter', /^start_line must be a positive integer$/, { path: 'src/main.py', start_line: 0, end_line: 10 }],
	['InvalidLineRangeError', 'blame_range', { path: 'src/main.py', start_line: 3, end_line: 2 }, 400, 'invalid-parameter', 'Invalid Parameter', /^start_line must be less/, { path: 'src/main.py', start_line: 3, end_line: 2 }],
	['PathOutsideRepositoryError', 'open_file', { path: '../secret' }, 403, 'forbidden', 'Forbidden', /secret/, { path: '../secret' }],
	['PathOutsideRepositoryError', 'search_text', { query: 'x', paths: ['/etc'] }, 403, 'forbidden', 'Forbidden', /\/etc/, { path: '/etc' }],
	['FileReadError', 'open_file', { path: 'logo.png' }, 415, 'unsupported-encoding', 'Unsupported Encoding', /binary/, { path: 'logo.png', encoding: 'utf-8', reason: 'invalid start byte at position 0' }],
	['GitOperationError', 'blame_range', { path: 'src/main.py', start_line: 1, end_line: 1 }, 500, 'git-operation-error', 'Git Operation Error', /^git failed: /, { path: 'src/main.py', git_command: 'blame' }],
	['GitOperationError', 'file_history', { path: 'src/main.py' }, 500, 'git-operation-error', 'Git Operation Error', /^git failed: /, { path: 'src/main.py', git_command: 'log' }],
	['VectorSearchError', 'search_text', { query: '(a+)+[cd]', regex: true }, 503, 'vector-search-error', 'Vector Search Error', /^Search timeout$/, { query: '(a+)+[cd]' }],
];

const ways = [
	['v1 over stdio', () => new Client1(identity), () => new Stdio1({ command: program, args, env, stderr: 'ignore' })],
	['v2 over HTTP', () => new Client2(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } }), () => new Http2(url)],
];

async function expectRow(client, [, tool, given, status, code, title, message, extensions]) {
	const answer = await client.callTool({ name: tool, arguments: given });
	assert.equal(answer.isError, true, JSON.stringify(answer).slice(0, 500));
	const envelope = JSON.parse(answer.content[0].text);
	assert.deepEqual(answer.structuredContent, envelope);
	assert.ok(valid(envelope), JSON.stringify(valid.errors));
	assert.ok(details(envelope.problem), JSON.stringify(details.errors));
	assert.ok(results[tool](envelope), JSON.stringify(results[tool].errors));
	const { error, problem, ...rest } = envelope;
	assert.deepEqual(rest, empty[tool]);
	assert.match(error, message);
	assert.equal(problem.detail, error);
	assert.deepEqual([problem.status, problem.code, problem.title], [status, code, title]);
	assert.equal(problem.type, `https://kgfoundry.dev/problems/${code}`);
	assert.equal(problem.instance, `urn:codeintel:${operation[tool]}`);
	if (extensions) assert.deepEqual(problem.extensions, extensions);
	assert.ok(!JSON.stringify(envelope).includes(dir), 'no path of the server');
}

for (const [name, make, transport] of ways)
	describe(name, () => {
		let client;
		before(async () => {
			client = make();
			await client.connect(transport());
			await client.listTools(); /* now the client checks results by the output schemas */
		});
		after(() => client.close());

		for (const row of rows) test(`${name}: ${row[0]} of ${row[1]}`, () => expectRow(client, row));

		test(`${name}: a success has neither error nor problem`, async () => {
			const { structuredContent } = await client.callTool({ name: 'open_file', arguments: { path: 'src/main.py', start_line: 1, end_line: 1 } });
			assert.deepEqual(structuredContent, { path: 'src/main.py', content: 'def main():\n', lines: 1, size: 12 });
		});

		test(`${name}: arguments that break the schema, and an unknown one, have the envelope too`, async () => {
			for (const given of [{}, { path: 5 }, { path: 'x', more: 1 }]) {
				const answer = await client.callTool({ name: 'open_file', arguments: given });
				assert.ok(valid(answer.structuredContent), JSON.stringify(valid.errors));
				assert.equal(answer.structuredContent.problem.status, 400);
				assert.equal(answer.structuredContent.content, '');
			}
		});
	});

test('the published schemas of results and problem_details accept what the tools answer, and refuse what they must not', async () => {
	const own = join(dir, 'history');
	mkdirSync(own);
	writeFileSync(join(own, 'main.py'), 'def main():\n    pass\n');
	const git = (...words) => execFileSync('git', ['-C', own, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], { env, stdio: 'ignore' });
	git('init', '-q');
	git('add', '.');
	git('commit', '-q', '-m', 'first');
	const built = spawn(program, ['index', 'build', '--repo', own], { env, stdio: 'ignore' });
	assert.equal(await new Promise((done) => built.once('exit', done)), 0);
	const client = new Client1(identity);
	after(() => client.close());
	await client.connect(new Stdio1({ command: program, args: ['serve', '--tools', 'code', '--repo', own, '--semantic-index', 'off', '--log', 'off', '--audit', 'off', '--incidents', 'off'], env, stderr: 'ignore' }));
	for (const [tool, given, filled] of [
		['open_file', { path: 'main.py' }, 'content'], ['list_paths', {}, 'items'], ['search_text', { query: 'main' }, 'matches'],
		['semantic_search', { query: 'main' }, 'findings'], ['blame_range', { path: 'main.py', start_line: 1, end_line: 2 }, 'blame'], ['file_history', { path: 'main.py' }, 'commits'],
	]) {
		const { structuredContent, isError } = await client.callTool({ name: tool, arguments: given });
		assert.ok(!isError && structuredContent[filled].length > 0, JSON.stringify(structuredContent));
		assert.ok(results[tool](structuredContent), `${tool}: ${JSON.stringify(results[tool].errors)}`);
		for (const member of Object.keys(empty[tool])) {
			const { [member]: gone, ...rest } = structuredContent;
			assert.ok(!results[tool](rest), `${tool} without ${member}`);
		}
		assert.ok(!results[tool]({ ...structuredContent, error: 'alone' }), `${tool}: error without problem`);
	}
	const problem = { type: 'https://kgfoundry.dev/problems/forbidden', title: 'Forbidden', status: 403, detail: 'no', instance: 'urn:codeintel:files:open_file', code: 'forbidden' };
	assert.ok(details(problem));
	for (const wrong of [{ type: 'forbidden' }, { status: 200 }, { status: '403' }, { title: '' }, { instance: 'urn:other' }, { code: 'Not_Kebab' }, { more: 1 }])
		assert.ok(!details({ ...problem, ...wrong }), JSON.stringify(wrong));
});

/* A server of its own, by both clients: what is wrong with it is wrong from its start, or done to its processes. */
async function withServers(more, moreEnv, judge) {
	const command = ['serve', '--tools', 'code', '--repo', repo, '--log', 'json', '--audit-sync', 'off', ...more];
	let metrics, log;
	for (const [name] of ways) {
		const surroundings = { ...env, ...moreEnv };
		let own, client, lines = '';
		try {
			if (name.startsWith('v1')) {
				const stdio = new Stdio1({ command: program, args: command, env: surroundings, stderr: 'ignore' });
				client = new Client1(identity);
				await client.connect(stdio);
				await judge(client, stdio.pid);
				continue;
			}
			own = spawn(program, [...command, '--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'], env: surroundings });
			own.stderr.on('data', (bytes) => (lines += bytes));
			const at = await listening(own);
			client = new Client2(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
			await client.connect(new Http2(at));
			await judge(client, own.pid);
			metrics = await (await fetch(new URL('/metrics', at))).text();
		} finally {
			await client?.close();
			if (own) await stop(own);
		}
		log = lines.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).filter((line) => line.component === 'codeintel_mcp');
	}
	return { metrics, log };
}

test('VectorSearchError: the index of semantic_search is not ready', async () => {
	const row = ['VectorSearchError', 'semantic_search', { query: 'main' }, 503, 'vector-search-error', 'Vector Search Error', /^search failed: the index is not built$/, { query: 'main', faiss_index: 'index' }];
	const { metrics, log: seen } = await withServers(['--semantic-index', 'off'], { XDG_STATE_HOME: join(dir, 'state3') }, (client) => expectRow(client, row));
	assert.match(metrics, /codeintel_errors_total\{error_code="vector-search-error",operation="semantic:search",http_status="503"\} 1\n/);
	assert.deepEqual(seen.map(({ level, operation: where, error_code: code, context }) => [level, where, code, context]), [['error', 'semantic:search', 'vector-search-error', { query: 'main', faiss_index: 'index' }]]);
});

test('EmbeddingError: the service that made the vectors is gone', async () => {
	const service = createServer((request, response) => {
		let body = '';
		request.on('data', (bytes) => (body += bytes));
		request.on('end', () => response.end(JSON.stringify({ data: JSON.parse(body).input.map((_, index) => ({ index, embedding: [1, 2, 3, 4] })) })));
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	const { port } = service.address();
	const own = { XDG_STATE_HOME: join(dir, 'state4'), FAULTWIRE_EMBEDDINGS_URL: `http://127.0.0.1:${port}/v1/embeddings`, FAULTWIRE_EMBEDDINGS_MODEL: 'tiny' };
	const built = spawn(program, ['index', 'build', '--repo', repo], { env: { ...env, ...own }, stdio: 'ignore' });
	assert.equal(await new Promise((done) => built.once('exit', done)), 0);
	service.closeAllConnections();
	await new Promise((done) => service.close(done));
	const row = ['EmbeddingError', 'semantic_search', { query: 'main' }, 503, 'embedding-error', 'Embedding Error', /^could not embed the query: the service refused the connection$/, undefined];
	const { metrics, log: seen } = await withServers(['--semantic-index', 'off'], own, (client) => expectRow(client, row));
	assert.match(metrics, /codeintel_errors_total\{error_code="embedding-error",operation="semantic:search",http_status="503"\} 1\n/);
	assert.deepEqual(seen.map(({ level, operation: where, error_code: code }) => [level, where, code]), [['error', 'semantic:search', 'embedding-error']]);
	assert.equal(seen[0].context.embedder, `tiny at 127.0.0.1:${port}`);
});

test('Unknown Exception: memory is exhausted in the middle of a call', async () => {
	writeFileSync(join(repo, 'large.txt'), 'a line of text\n'.repeat(130000));
	const row = ['Unknown Exception', 'open_file', { path: 'large.txt' }, 500, 'internal-error', 'Internal Error', /^out of memory$/, { exception_type: 'internal.out_of_memory' }];
	const { metrics, log: seen } = await withServers(['--search-index', 'off', '--semantic-index', 'off'], { XDG_STATE_HOME: join(dir, 'state5') }, async (client, pid) => {
		await client.callTool({ name: 'open_file', arguments: { path: 'src/main.py' } });
		for (const one of descendants(pid)) {
			const [, size] = readFileSync(`/proc/${one}/status`, 'utf8').match(/VmSize:\s+(\d+)/) ?? [];
			if (size) execFileSync('prlimit', ['--pid', String(one), `--as=${(Number(size) + 64) * 1024}`]);
		}
		await expectRow(client, row);
		assert.equal((await client.callTool({ name: 'open_file', arguments: { path: 'src/main.py' } })).structuredContent.lines, 2, 'the next call works');
	});
	assert.match(metrics, /codeintel_errors_total\{error_code="internal-error",operation="files:open_file",http_status="500"\} 1\n/);
	assert.deepEqual(seen.map(({ level, message, operation: where, error_code: code, exception_type: type }) => [level, message, where, code, type]), [['error', 'Unexpected error', 'files:open_file', 'internal-error', 'internal.out_of_memory']]);
});

test('a worker that dies in the middle of a call is reported in the same envelope', async () => {
	const client = new Client2(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
	const own = spawn(program, ['serve', '--tools', 'code', '--repo', repo, '--log', 'off', '--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...env, XDG_STATE_HOME: join(dir, 'state2') } });
	await client.connect(new Http2(await listening(own)));
	const answer = client.callTool({ name: 'search_text', arguments: { query: '(a+)+[cd]', regex: true } });
	/* The worker that is busy is the one that uses the processor. */
	await new Promise((done) => setTimeout(done, 1500));
	let most = 0, busy;
	for (const pid of descendants(own.pid)) {
		const used = Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]);
		if (used > most) [most, busy] = [used, pid];
	}
	assert.ok(busy, 'a worker is busy');
	process.kill(busy, 'SIGSEGV');
	const { structuredContent } = await answer;
	assert.ok(valid(structuredContent), JSON.stringify(valid.errors));
	assert.deepEqual([structuredContent.matches, structuredContent.problem.status, structuredContent.problem.instance], [[], 500, 'urn:codeintel:search:text']);
	await client.close();
	await stop(own);
});

/* A server writes its last records before it exits. */
function stop(child) {
	const ended = new Promise((done) => child.once('exit', done));
	child.kill();
	return ended;
}

function descendants(pid) {
	const found = [];
	for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one)))
		try {
			const [, ppid] = readFileSync(`/proc/${name}/stat`, 'utf8').match(/\) \S (\d+)/);
			if (Number(ppid) === pid) found.push(Number(name), ...descendants(Number(name)));
		} catch {
			/* it has ended */
		}
	return found;
}

test('metrics and log lines are those of the contract', async () => {
	const metrics = await (await fetch(new URL('/metrics', url))).text();
	for (const [, tool, , status, code] of rows)
		assert.match(metrics, new RegExp(`codeintel_errors_total\\{error_code="${code}",operation="${operation[tool]}",http_status="${status}"\\} [1-9]`));
	assert.match(metrics, /codeintel_error_handling_duration_seconds_count\{operation="files:open_file"\} [1-9]/);
	const lines = log.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((line) => line.component === 'codeintel_mcp');
	const missing = lines.find((line) => line.error_code === 'file-not-found');
	assert.deepEqual([missing.level, missing.message, missing.operation, missing.error], ['warning', 'File not found', 'files:open_file', 'File not found: src/missing.py']);
	/* Once per error: the rows of the v2 client, and two refused by the schema. */
	const levels = { 400: 'warning', 403: 'critical', 404: 'warning', 415: 'warning', 500: 'error', 503: 'error' };
	for (const [exception, tool, , status, code, , , extensions] of rows) {
		const found = lines.filter((line) => line.error_code === code && line.operation === operation[tool]);
		assert.ok(found.every((line) => line.level === levels[status] || exception === 'PathOutsideRepositoryError'), `${exception}: ${found.map((line) => line.level)}`);
		if (extensions) assert.ok(found.some((line) => JSON.stringify(line.context) === JSON.stringify(extensions)), `${exception}: ${JSON.stringify(found.map((line) => line.context))}`);
	}
	for (const [, tool, , , code] of rows) assert.ok(lines.some((line) => line.error_code === code && line.operation === operation[tool]), `${tool} ${code} in the log`);
});
