// The log: one JSON line for each failure, and for what happens to the server;
// limited in number by code; and never a reason for a call to wait, whatever
// standard error is: closed, full, or gone.

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, check, finish, match, root, run, same, scratch, test } from './lib/cli.mjs';

const dir = mkdtempSync(join(tmpdir(), 'fw-log-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const env = { ...process.env, XDG_STATE_HOME: dir };

const require = createRequire(join(root, 'test/judge/package.json'));
const Ajv = require('ajv/dist/2020').default;
const isValid = new Ajv({ strict: false }).compile({
	type: 'object',
	required: ['time', 'level', 'component'],
	additionalProperties: false,
	properties: {
		time: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' },
		level: { enum: ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] },
		held_back: { type: 'integer', minimum: 1 },
		component: { enum: ['faultwire', 'codeintel_mcp', 'alerts'] },
		event: { type: 'string', pattern: '^[a-z_]+$' },
		operation: { type: 'string' },
		error_code: { type: 'string' },
		incident_id: { type: 'string', pattern: '^inc_' },
		tool: { type: 'string' },
		session: { type: 'string' },
		client: { type: 'string' },
		trace_id: { type: 'string' },
		duration_ms: { type: 'number', minimum: 0 },
		message: { type: 'string', minLength: 1 },
		error: { type: 'string' },
		exception_type: { type: 'string' },
		cause: { type: 'string' },
		detail: { type: 'string' },
		trail: { type: 'string' },
		context: { type: 'object' },
	},
});

const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'wire', version: '1' } };
const call = (id, name, args) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: meta } }) + '\n';
// In the order of asking, and nothing else that waits.
const quiet = ['--incidents', 'off', '--audit', 'off', '--run', 'inline'];
const serve = (input, args = ['--log', 'json'], stdio = ['pipe', 'pipe', 'pipe']) => {
	const result = spawnSync(bin, ['serve', ...quiet, '--stdio', ...args], { env, input, stdio, encoding: 'utf8', maxBuffer: 1 << 28, timeout: 30000 });
	return { status: result.status, replies: (result.stdout ?? '').split('\n').filter(Boolean).map((line) => JSON.parse(line)), err: result.stderr ?? '' };
};
const read = (err) =>
	err.split('\n').filter(Boolean).map((line) => {
		const value = JSON.parse(line);
		check(isValid(value), `${JSON.stringify(isValid.errors)}: ${line}`);
		return value;
	});
const canonical = (reply) => reply.result?._meta['dev.faultwire/error'] ?? reply.error.data['dev.faultwire/error'];
const failures = (lines) => lines.filter((line) => line.error_code && line.incident_id);

test('each failure is one valid line, with what the reply said', () => {
	const { status, replies, err } = serve(call(1, 'raise_error', {}) + call(2, 'nobody', {}) + call(3, 'explain_error_code', { code: 'file.not_found' }));
	const lines = read(err);
	same(status, 0);
	same(lines.map((line) => line.event ?? line.error_code), ['server_started', 'input.missing_field', 'protocol.unknown_tool', 'server_stopped']);
	const [first, second] = failures(lines);
	same([first.incident_id, second.incident_id], replies.slice(0, 2).map((reply) => canonical(reply).incident_id));
	same([first.level, first.component, first.operation, first.tool, first.client], ['warning', 'faultwire', 'tools/call', 'raise_error', 'wire']);
	same(first.message, canonical(replies[0]).message);
	same(first.context, canonical(replies[0]).context);
});

test('every code of the registry is logged validly, at the level of its class', () => {
	const rows = JSON.parse(run(['registry', '--json']).out);
	const { err } = serve(rows.map((row, i) => call(i + 1, 'raise_error', { code: row.code })).join(''));
	const lines = failures(read(err));
	same(lines.length, rows.length);
	for (const [i, line] of lines.entries()) {
		const row = rows[i];
		const level = row.code === 'internal.unexpected' ? 'error' : row.severity === 'critical' ? 'critical' : row.status >= 500 ? 'error' : 'warning';
		same([line.error_code, line.level], [line.component === 'codeintel_mcp' ? row.codeintel ?? row.code.replace(/[._]/g, '-') : row.code, level], row.code);
	}
});

test('an error that is raised on demand is one of its own: incident, time and tool are those of the call', () => {
	const rows = JSON.parse(run(['registry', '--json']).out);
	const start = Date.now() - 1000;
	const { replies, err } = serve([...rows, ...rows].map((row, i) => call(i + 1, 'raise_error', { code: row.code })).join(''));
	const errors = replies.map(canonical);
	same(new Set(errors.map((error) => error.incident_id)).size, 2 * rows.length);
	for (const error of errors) {
		check(Date.parse(error.timestamp) >= start, `${error.code}: ${error.timestamp}`);
		same([error.tool ?? error.scope?.tool, error.role ?? error.scope?.role], ['raise_error', undefined], error.code);
	}
	same(new Set(failures(read(err)).map((line) => line.tool)), new Set(['raise_error']));
});

test('a flood of one code is held back, and the count adds up', () => {
	const count = 3000;
	let input = '';
	for (let i = 1; i <= count; i++) input += call(i, 'raise_error', {});
	const { replies, err } = serve(input + call(count + 1, 'nobody', {}));
	const lines = read(err).filter((line) => line.error_code === 'input.missing_field');
	const told = lines.filter((line) => line.incident_id).length;
	const held = lines.reduce((sum, line) => sum + (line.held_back ?? 0), 0);
	same(replies.length, count + 1);
	check(told >= 20 && told < 200, `${told} lines`);
	same(told + held, count);
	check(err.includes('protocol.unknown_tool'), 'another code is reported');
});

test('levels, forms, and off', () => {
	const input = call(1, 'raise_error', {}) + call(2, 'explain_error_code', { code: 'file.not_found' });
	same(read(serve(input, ['--log', 'json', '--log-level', 'error']).err), []);
	same(read(serve(input, ['--log', 'json', '--log-level', 'debug']).err).map((line) => line.event ?? line.error_code), ['server_started', 'input.missing_field', 'call', 'server_stopped']);
	same(serve(input, ['--log', 'off']).err, '');
	match(serve(input, ['--log', 'text']).err, /^\S+Z info +.*server_started.*\n\S+Z warning +required field code is missing -- .*inc_.*\n/);
	same(read(serve(input, []).err).length, 3, 'JSON where standard error is no terminal');
	for (const args of [['--log', 'xml'], ['--log-level', 'loud']]) same(run(['serve', ...args], { env }).status, 2);
});

test('a terminal gets text', () => {
	const out = spawnSync('script', ['-qec', `${bin} serve --stdio ${quiet.join(' ')} </dev/null`, '/dev/null'], { env, encoding: 'utf8' });
	if (out.error) return;
	match(out.stdout, /info .*server_started/);
	check(!out.stdout.includes('{"time"'), out.stdout);
});

test('a missing journald is reported at once', () => {
	const { status, err } = run(['serve', '--stdio', '--log', 'journald'], { env });
	if (status === 0) return; // it is there
	same(status, 1);
	match(err, /journald/);
});

test('standard error closed, or without a reader: calls are answered', () => {
	const input = Array.from({ length: 200 }, (_, i) => call(i + 1, 'raise_error', {})).join('');
	const closed = spawnSync('sh', ['-c', `exec "$0" serve --stdio ${quiet.join(' ')} --log json 2>&-`, bin], { env, input, encoding: 'utf8' });
	same([closed.status, closed.stdout.split('\n').length - 1], [0, 200]);
	const gone = spawnSync('bash', ['-c', `"$0" serve --stdio ${quiet.join(' ')} --log json 2> >(exec true); true`, bin], { env, input, encoding: 'utf8' });
	same(gone.stdout.split('\n').length - 1, 200);
	const full = openSync('/dev/full', 'w');
	const lost = serve(input, ['--log', 'json'], ['pipe', 'pipe', full]);
	closeSync(full);
	same([lost.status, lost.replies.length], [0, 200]);
});

test('a server that does not start says why, and not that it stopped', () => {
	const { status, err } = run(['serve', '--http', '0.0.0.0:0', ...quiet, '--log', 'json']);
	same(status, 2);
	match(err, /^faultwire: .*loopback needs --token-file or --tokens\n/);
	check(!err.includes('server_stopped'), err);
});

test('output into a file that may not grow ends the server, and does not kill it', () => {
	const input = Array.from({ length: 60 }, (_, i) => call(i + 1, 'raise_error', {})).join('');
	const { status, signal, stderr } = spawnSync('sh', ['-c', `ulimit -f 8; exec "$0" serve --stdio ${quiet.join(' ')} --log off > ${join(dir, 'small')}`, bin], { env, input });
	same([status, signal], [1, null]);
	check(/standard output/.test(stderr), `${stderr}`);
});

test('closed standard descriptors abort nothing, and are not reused for files', () => {
	const log = join(mkdtempSync(join(scratch(), 'closed-')), 'audit-log.jsonl');
	const input = call(1, 'raise_error', {});
	for (const closed of ['<&-', '>&-', '>&- 2>&-', '<&- >&- 2>&-']) {
		const { status, signal } = spawnSync('sh', ['-c', `exec "$0" serve --stdio --incidents off --audit ${log} ${closed}`, bin], { env, input });
		same([status, signal], [1, null], closed); // replies were lost, which is no success
	}
	for (const line of readFileSync(log, 'utf8').split('\n').slice(0, -1)) check(JSON.parse(line).hash, line);
	same(run(['audit', 'verify', log]).status, 0);
});

test('a full pipe on standard error: calls are answered, and the server ends', async () => {
	const child = spawn(bin, ['serve', '--stdio', ...quiet, '--log', 'json', '--log-level', 'debug'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
	const codes = JSON.parse(run(['registry', '--json']).out).map((row) => row.code);
	const count = 4000;
	let replies = 0;
	let rest = '';

	child.stderr.pause(); // nobody reads
	for (let i = 1; i <= count; i++) child.stdin.write(call(i, 'raise_error', { code: codes[i % codes.length] }));
	await new Promise((done) =>
		child.stdout.on('data', (bytes) => {
			const lines = (rest + bytes).split('\n');
			rest = lines.pop();
			replies += lines.length;
			if (replies === count) done();
		}),
	);
	child.stdin.end();
	same(await new Promise((done) => child.on('exit', done)), 0);
	child.stderr.destroy();
});

test('with --log json over HTTP standard error is JSON and nothing else', async () => {
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', ...quiet, '--log', 'json'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
	let err = '';
	await new Promise((done) => child.stderr.on('data', (bytes) => (err += bytes).includes('\n') && done()));
	const [start] = read(err);
	match(start.context.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
	child.kill('SIGTERM');
	await new Promise((done) => child.on('close', done));
	same(read(err).map((line) => line.event), ['server_started', 'server_stopped']);
});

test('into a file the lines are appended', () => {
	const path = join(dir, 'log');
	for (let i = 0; i < 2; i++) {
		const fd = openSync(path, 'a');
		serve(call(1, 'raise_error', {}), ['--log', 'json'], ['pipe', 'pipe', fd]);
		closeSync(fd);
	}
	same(read(readFileSync(path, 'utf8')).length, 6);
});

await finish();
