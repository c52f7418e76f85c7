// faultwire call, against a small server that fails as it is asked to.

import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json, web } from '../programs/web.mjs';
import { bin, check, env, file, finish, match, root, run, same, scratch, test } from './lib/cli.mjs';

const log = join(scratch(), 'log');
const target = `node '${join(root, 'test/wire/lib/call_server.mjs')}' '${log}'`;

// The messages that the server got: [milliseconds, message].
const seen = () => readFileSync(log, 'utf8').trim().split('\n').map((line) => [Number(line.slice(0, 13)), JSON.parse(line.slice(14))]);
const calls = () => seen().filter(([, message]) => message.method === 'tools/call');

function call(...args) {
	rmSync(log, { force: true });
	return run(['call', ...args]);
}

test('without a tool it lists what there is, with a usage line per tool', () => {
	const { status, out } = call(target);
	same(status, 0);
	match(out, /^ {2}echo text=STRING \[times:=INTEGER\]\n {6}The tool echo$/m);
	match(out, /^ {2}exits$/m); // the second page
	const listed = JSON.parse(call('--json', target).out);
	same(listed.tools.length, 10);
});

test('arguments have the types of the schema, or are JSON', () => {
	same(call(target, 'echo', 'text=42', 'times=2').out, '4242\n');
	same(calls()[0][1].params.arguments, { text: '42', times: 2 });
	same(call(target, 'echo', 'text:="a"', '{"times":3}').out, 'aaa\n');
	match(call(target, 'echo', 'text=a', 'times=x').err, /argument times must be of type integer/);
	same(call(target, 'echo', 'nonsense').status, 2);
});

test('an optional number of a schema with anyOf is a number, and no digit of a number is lost', () => {
	const is = (type) => ({ type });
	const server = file('optional.mjs', `
		import { createInterface } from 'node:readline';
		for await (const line of createInterface({ input: process.stdin })) {
			const { id, method } = JSON.parse(line);
			const reply = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...result }));
			if (method === 'initialize') reply({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
			else if (method === 'tools/list') reply({ result: { tools: [{ name: 'show', inputSchema: ${JSON.stringify({ type: 'object', properties: {
				limit: { anyOf: [is('integer'), is('null')] }, share: { oneOf: [is('number'), is('integer')] }, both: { anyOf: [is('string'), is('integer')] },
				level: { enum: [1, 2] }, flag: { type: ['null', 'boolean'] },
			} })} }] } });
			else if (method === 'tools/call') reply({ result: { content: [{ type: 'text', text: line.match(/"arguments":(\\{.*?\\})/)[1] }] } });
			else if (id !== undefined) reply({ error: { code: -32601, message: 'no' } });
		}`);
	const show = (...args) => call(`node ${server}`, 'show', ...args);
	same(show('limit=5', 'share=0.50', 'both=7', 'level=2', 'flag=true').out, '{"limit":5,"share":0.50,"both":"7","level":2,"flag":true}\n');
	same(show('any:=123456789012345678901234567890', '{"also":1.10}').out, '{"any":123456789012345678901234567890,"also":1.10}\n');
	match(show('limit=1.5').err, /argument limit must be of type integer/);
});

test('a required argument that is missing is reported before the call, in the words of the schema', () => {
	const { status, err } = call(target, 'echo', 'times=1');
	same(status, 2);
	match(err, /tool echo needs text \(string\): What to say/);
	same(calls(), []);
});

test('a result is text, JSON, or what the server sent', () => {
	same(JSON.parse(call('--json', target, 'echo', 'text=a').out).content[0].text, 'a');
	same(call('--raw', target, 'echo', 'text=a').out, '{"content":[{"type":"text","text":"a"}],"isError":false}\n');
	match(call('--raw', target, 'say', 'words=nope').out, /"isError":true/);
	same(call(target, '--read', 'test://x').out, 'content of test://x\n');
	same(call(target, '--prompt', 'greeting', 'who=you').out, 'user:\ngreet you\n');
});

test('a temporary failure is repeated after the delay that the server names', () => {
	const { status, out, err } = call('-v', target, 'flaky', 'failures=2');
	same([status, out], [0, 'at last\n']);
	match(err, /attempt 1 failed: TRANSIENT, upstream\.rate_limited/);
	match(err, /waiting 0\.2 s before attempt 2/);
	const times = calls().map(([ms]) => ms);
	same(times.length, 3);
	check(times[1] - times[0] >= 199 && times[2] - times[1] >= 199, `waited: ${times}`);
});

test('attempts end: after three, after --retry N, at the deadline', () => {
	const failed = call('--json', target, 'flaky', 'failures=9');
	same(failed.status, 8);
	const { error, decision, attempts } = JSON.parse(failed.out);
	same([error.code, decision.action, attempts], ['upstream.rate_limited', 'later', 3]);
	same(call('--retry', 'off', target, 'flaky', 'failures=9').status, 8);
	same(calls().length, 1);
	same(call('--deadline', '20', target, 'say', 'words=rate limit exceeded, try again in 60 seconds').status, 8);
	same(calls().length, 1);
});

test('a misspelt program or URL is not called a temporary failure, and not tried again', () => {
	for (const wrong of ['no-such-program-here', '/etc/passwd', 'http://[::1']) {
		const { status, out } = call('--json', wrong);
		const { error, decision, attempts } = JSON.parse(out);
		same([status, error.code, error.retry, decision.action, attempts], [1, 'upstream.cannot_start', 'never', 'give_up', 1]);
		match(error.hint, /correct the command or URL/);
	}
});

test('a server that gives no answer to the handshake is waited for until the deadline, not for 30 s', () => {
	const { status, err } = call('--deadline', '0.3', 'sleep 1000');
	same(status, 8);
	match(err, /because: upstream sleep gave no answer within [0-9]{1,3} ms \(upstream\.timeout\)$/m);
});

test('a restarted server that answers with an id from before is reported at once', () => {
	// It exits during the first list, and numbers its answers from 1 again.
	const answers = (one, two) => `read l; echo '{"jsonrpc":"2.0","id":1,${one}}'; read l; echo '{"jsonrpc":"2.0","id":2,${two}}'; read l; read l; exit 42`;
	const program = file('restarts.sh', answers('"error":{"code":-32601,"message":"no"}', '"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}'));
	const { status, err } = call(`sh ${program}`);
	same(status, 8);
	match(err, /answered a call that nobody made/);
});

// What servers say, and what follows from it.
for (const [words, status, action] of [
	['frobnication failed', 1, 'give_up'],
	['Invalid value for limit: must be a number', 3, 'fix'],
	['No such table: users', 4, 'work_around'],
	['A file with this name already exists', 5, 'resolve'],
	['403 Forbidden', 6, 'escalate'],
	['{"error_code":"SESSION_NOT_INITIALIZED","human_message":"x","role":"a","session_id":"s","workspace_root":"/w","tool_name":"t","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":null,"timestamp":"2026-01-01T00:00:00.000Z"}', 9, 'prepare'],
	['{"type":"CONFLICT","message":"held","recoverable":true,"data":{"conflicts":[{"held_by":"x"}]}}', 5, 'resolve'],
	['{"error":{"code":"governance.budget_exceeded","message":"no","category":"governance","retryable":false,"incident_id":"i"}}', 6, 'escalate'],
])
	test(`the exit status says what to do: ${action}, ${words.slice(0, 40)}`, () => {
		const failed = call('--json', target, 'say', `words=${words}`);
		same([JSON.parse(failed.out).decision.action, failed.status], [action, status]);
		same(calls().length, 1);
	});

test('an error of JSON-RPC is read like any other', () => {
	same(call(target, 'refuses').status, 3);
	same(call(target, 'no_such_tool', '--timeout', '0.5').status, 7);
});

test('a call without an answer is not repeated, unless the tool says that it is safe', () => {
	const failed = call('--json', '--timeout', '0.3', target, 'hang');
	same([failed.status, JSON.parse(failed.out).decision.action], [7, 'check']);
	same(calls().length, 1);
	check(seen().some(([, message]) => message.method === 'notifications/cancelled'), 'the server got a cancellation');
	same(call('--timeout', '0.3', target, 'hang_safely').out, 'second time\n');
});

test('a server that exits during a call', () => {
	const failed = call('--json', target, 'exits');
	same([failed.status, JSON.parse(failed.out).error.code], [7, 'upstream.exited']);
	same(call('--retry', 'off', 'false').status, 8);
	same(call('--retry', 'off', '/no/such/program').status, 1);
});

test('questions are declined, and the server continues', () => {
	const { status, out, err } = call('-v', target, 'asks');
	same([status, out], [0, 'answered {"action":"decline"}\n']);
	match(err, /the server asks for elicitation\/create; declined/);
	match(call(target, 'samples').out, /"code":-32601/);
});

test('progress and log are shown; --trace shows every message', () => {
	const { out, err } = call('-v', '--trace', target, 'progress');
	same(out, 'done\n');
	match(err, /progress: 1 of 2, half/);
	match(err, /server logs info: a log line/);
	match(err, /^> \{"jsonrpc":"2\.0","id":\d+,"method":"tools\/call"/m);
	match(err, /^< \{"jsonrpc":"2\.0","id":\d+,"result":\{"content"/m);
});

test('Ctrl-C cancels the call, and the server gets the cancellation', async () => {
	rmSync(log, { force: true });
	const child = spawn(bin, ['call', '--trace', target, 'hang'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
	let said = '';
	const sent = new Promise((resolve) => child.stderr.on('data', (bytes) => ((said += bytes).includes('"tools/call"') ? resolve() : 0)));
	const ended = new Promise((resolve) => child.on('exit', resolve));
	await sent;
	child.kill('SIGINT');
	same(await ended, 130);
	const [, { params }] = seen().find(([, message]) => message.method === 'notifications/cancelled');
	same(params.requestId, calls()[0][1].id);
});

test('the server gets the environment of the command, which --env adds to', () => {
	const path = join(scratch(), 'environment');
	const dump = `sh -c 'env >"${path}"'`;
	call('--retry', 'off', dump);
	match(readFileSync(path, 'utf8'), /^HOME=/m);
	call('--retry', 'off', '--env', 'EXTRA=1', dump);
	match(readFileSync(path, 'utf8'), /^HOME=/m);
	match(readFileSync(path, 'utf8'), /^EXTRA=1$/m);
});

test('a server of a configuration file, by name', () => {
	const config = file('mcp.json', JSON.stringify({ mcpServers: {
		small: { command: 'node', args: [join(root, 'test/wire/lib/call_server.mjs'), log], env: { FW_X: '1' } },
		other: { url: 'http://127.0.0.1:1/mcp', headers: { Authorization: 'Bearer x' } },
	} }));
	same(call(`${config}#small`, 'echo', 'text=a').out, 'a\n');
	match(call(config).err, /several servers.*small, other/);
	match(call(`${config}#none`).err, /no server "none"/);
	same(call('--retry', 'off', `${config}#other`).status, 8);
});

test('a configuration file with a byte order mark, comments, a directory and a long value', () => {
	const seenBy = join(scratch(), 'seen_by_server');
	const long = 'x'.repeat(10000);
	const server = (more) => JSON.stringify({ command: 'sh', args: ['-c', `pwd >"${seenBy}"; echo "$LONG" >>"${seenBy}"`], cwd: '/', env: { LONG: long }, ...more });
	for (const text of [`\ufeff{ // servers\r\n"mcpServers": {"one": ${server()},},\r\n}`, `{"mcp": {"servers": {"one": ${server()}}}}`]) {
		call('--retry', 'off', file('odd.json', text));
		same(readFileSync(seenBy, 'utf8'), `/\n${long}\n`);
		rmSync(seenBy);
	}
	match(call('--retry', 'off', '--json', file('windsurf.json', '{"mcpServers": {"one": {"serverUrl": "http://127.0.0.1:1/mcp"}}}')).out, /connection_refused/);
});

// A server without tools.
const bare = file('bare.mjs', `
	import { createInterface } from 'node:readline';
	let lists = 0;
	for await (const line of createInterface({ input: process.stdin })) {
		const { id, method } = JSON.parse(line);
		const reply = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...result }));
		if (method === 'initialize') reply({ result: { protocolVersion: '2025-11-25', capabilities: { prompts: {} }, serverInfo: { name: 'x', version: '1' } } });
		else if (method === 'prompts/list') reply({ result: { prompts: [{ name: 'greeting' }] } });
		else if (method === 'tools/call') reply({ result: { content: [{ type: 'text', text: 'ran' }] } });
		else if (method === 'tools/list' && ++lists === 2) await new Promise(() => setInterval(() => {}, 1000));
		else if (id !== undefined) reply({ error: { code: -32601, message: 'Method not found' } });
	}`);

test('a server without tools lists what else it has', () => {
	const { status, out } = call(`node ${bare}`);
	same([status, out], [0, 'Prompts (--prompt NAME):\n  greeting\n']);
	same(Object.keys(JSON.parse(call('--json', `node ${bare}`).out)), ['prompts']);
});

test('Ctrl-C before the call is made: it is not made', async () => {
	const child = spawn(bin, ['call', '--trace', `node ${bare}`, 'any'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
	let said = '';
	const listed = new Promise((resolve) => child.stderr.on('data', (bytes) => ((said += bytes).split('> ').filter((one) => one.includes('"tools/list"')).length === 2 ? resolve() : 0)));
	const ended = new Promise((resolve) => child.on('close', resolve));
	await listed;
	child.kill('SIGINT');
	same(await ended, 130);
	check(!said.includes('"tools/call"'), 'the tool was called');
});

test('HTTP: Retry-After is waited for, and headers are sent', async () => {
	const got = [];
	const server = createServer((request, response) => {
		let body = '';
		request.on('data', (bytes) => (body += bytes));
		request.on('end', () => {
			const { id, method } = body ? JSON.parse(body) : {};
			got.push([Date.now(), method, request.headers['x-key']]);
			const reply = (result) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
			if (request.method !== 'POST') response.writeHead(405).end();
			else if (id === undefined) response.writeHead(202).end();
			else if (method === 'initialize') reply({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
			else if (method === 'tools/list') reply({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] });
			else if (method === 'tools/call' && got.filter((one) => one[1] === method).length === 1) response.writeHead(429, { 'Retry-After': '1' }).end('slow down');
			else if (method === 'tools/call') reply({ content: [{ type: 'text', text: 'gone' }] });
			else response.writeHead(404).end();
		});
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const child = spawn(bin, ['call', '-H', 'X-Key: 7', `http://127.0.0.1:${server.address().port}/mcp`, 'go'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
	let out = '';
	child.stdout.on('data', (bytes) => (out += bytes));
	same(await new Promise((resolve) => child.on('close', resolve)), 0);
	same(out, 'gone\n');
	const tries = got.filter((one) => one[1] === 'tools/call');
	same(tries.length, 2);
	check(tries[1][0] - tries[0][0] >= 999, `waited ${tries[1][0] - tries[0][0]} ms`);
	same(tries[0][2], '7');
	server.close();
});

test('HTTP: a Retry-After of more than five minutes is reported, not waited for', async () => {
	const server = await web((req, res) => res.writeHead(429, { 'Retry-After': '3600' }).end('slow down'), (req, res, { id, method }) => method === 'tools/list' && Boolean(json(res, id, { tools: [{ name: 'go', inputSchema: { type: 'object' } }] })));
	const child = spawn(bin, ['call', '--protocol', 'legacy', server.url, 'go'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
	let err = '';
	child.stderr.on('data', (bytes) => (err += bytes));
	same(await new Promise((resolve) => child.on('close', resolve)), 8);
	check(err.includes('decision: later, in 3600 s; '), err);
	check(err.includes('code: upstream.rate_limited'), err);
	same(server.calls(), 1);
	await server.stop();
});

test('a list with mistakes is shown, and the mistakes are named', async () => {
	const list = async (result, status, ...texts) => {
		const server = await web(() => {}, (req, res, { id, method }) => method === 'tools/list' && Boolean(json(res, id, result)));
		const child = spawn(bin, ['call', '--protocol', 'legacy', server.url], { env });
		let out = '';
		for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (out += bytes));
		same(await new Promise((resolve) => child.on('close', resolve)), status);
		for (const text of texts) check(out.includes(text), out);
		await server.stop();
	};
	const good = { name: 'good', inputSchema: { type: 'object' } };
	await list({ tools: [good, { name: 'odd' }] }, 0, 'good', 'tool 2 (odd) is not valid: it has no inputSchema');
	await list({ tools: [good, { name: 'odd', title: null, inputSchema: { type: 'object' } }] }, 0, 'tool 2 (odd) is not valid: a member is null');
	await list({ tools: [{ name: 'odd', inputSchema: { type: 'string' } }] }, 0, 'tool 1 (odd) is not valid: its inputSchema is not of type "object"');
	await list({ tools: [good], nextCursor: 'again' }, 0, 'good');
	await list({}, 1, 'it is not a list', 'decision: give_up; the failure is permanent');
});

test('mistakes on the command line', () => {
	for (const args of [[], ['--retry', '0', target], ['--deadline', 'soon', target], ['--protocol', 'old', target], ['-H', 'nocolon', target], ["node 'x"]]) same(call(...args).status, 2);
});

finish();
