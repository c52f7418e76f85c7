// The gateway with several upstreams, with HTTP on either side, with retries, pins and a wrapped configuration.

// reaches: upstream.config_invalid, upstream.tool_changed, upstream.suspended, upstream.unauthorized, upstream.closed

import test from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { bin as faultwire, root, run, scratch } from './lib/cli.mjs';
import { Wire, everything, modern } from './lib/mcp.mjs';

process.env.XDG_STATE_HOME = scratch();
const upstream = join(root, 'test/programs/upstream.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const place = () => mkdtempSync(join(scratch(), 'gate-'));
const canonical = ({ result, error }) => result?._meta?.['dev.faultwire/error'] ?? error?.data?.['dev.faultwire/error'];
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } };

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, ...args], faultwire);
	wire.hello = await wire.request('initialize', hello);
	wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
	return wire;
}

async function ended(wire) {
	wire.child.stdin.end();
	assert.deepEqual(await wire.exit, { status: 0, signal: null });
}

function config(servers) {
	const path = join(place(), 'mcp.json');
	writeFileSync(path, typeof servers === 'string' ? servers : JSON.stringify({ mcpServers: servers }));
	return path;
}

const node = (name, more) => ({ command: 'node', args: [upstream, name], ...more });

test('names that two upstreams use get the name of their server', async () => {
	const wire = await started('--config', config({ a: node('a'), b: node('b', { faultwire: { deny: ['crash'] } }), off: { command: 'false', disabled: true } }));
	const names = (await wire.request('tools/list', {})).result.tools.map(({ name }) => name);
	assert.ok(names.includes('a__ok') && names.includes('b__ok') && !names.includes('ok'));
	// Only one of them offers it.
	assert.ok(names.includes('crash') && !names.includes('b__crash'));
	assert.equal((await wire.call('a__ok')).result.content[0].text, 'hello from a');
	assert.equal((await wire.call('b__ok')).result.content[0].text, 'hello from b');
	assert.equal((await wire.call('ok')).error.code, -32602);
	assert.equal(canonical(await wire.call('crash')).code, 'upstream.crashed');
	assert.equal((await wire.call('b__ok')).result.content[0].text, 'hello from b');
	assert.equal((await wire.request('resources/read', { uri: 'test://b' })).result.contents[0].text, 'b');
	assert.equal((await wire.request('own/method', {})).error.code, -32601);
	await ended(wire);
});

test('a list with an upstream down says which, or fails if it is strict', async () => {
	const file = config({ a: node('a'), gone: { command: '/nonexistent/server' } });
	const wire = await started('--config', file);
	const { result } = await wire.request('tools/list', {});
	assert.ok(result.tools.some(({ name }) => name === 'ok'));
	assert.deepEqual(
		result._meta['dev.faultwire/missing'].map(({ upstream: name, code }) => [name, code]),
		[['gone', 'upstream.cannot_start']],
	);
	assert.equal((await wire.call('ok')).result.content[0].text, 'hello from a');
	await ended(wire);
	const strict = await started('--lists', 'strict', '--config', file);
	assert.equal(canonical(await strict.request('tools/list', {})).code, 'upstream.cannot_start');
	await ended(strict);
});

test('a configuration that cannot be used is refused with the reason', () => {
	for (const text of ['{', '{}', '{"mcpServers":{}}', '{"mcpServers":{"a":{}}}', '{"mcpServers":{"a":{"command":"x","args":[1]}}}', '{"mcpServers":{"a":{"url":"http://x","type":"sse"}}}', '{"mcpServers":{"a":{"command":"x","faultwire":{"dedline":1}}}}', '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', '{"mcpServers":{"a b":{"command":"x"},"a_b":{"command":"y"}}}']) {
		const { status, err } = run(['--contract', 'canonical', 'gate', ...quiet, '--config', config(text)]);
		assert.equal(status, 1, text);
		assert.equal(JSON.parse(err).code, 'upstream.config_invalid', text);
	}
	assert.equal(run(['gate']).status, 2);
});

async function served(program, args) {
	const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
	let err = '';
	const url = await new Promise((done, fail) => {
		child.stderr.on('data', (bytes) => {
			err += bytes;
			const found = err.match(/http:\/\/[^\s"]+/);
			if (found) done(found[0]);
		});
		child.on('exit', () => fail(new Error(err)));
	});
	return { child, url, stop: () => new Promise((done) => (child.on('exit', done), child.kill())) };
}

test('HTTP on both sides, in both eras', async () => {
	const server = await served(everything, ['--http', '127.0.0.1:0']);
	const gate = await served(faultwire, ['gate', '--audit', 'off', '--incidents', 'off', '--http', '127.0.0.1:0', '--url', server.url]);
	const post = async (body, headers) => {
		const reply = await fetch(gate.url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }, body: JSON.stringify(body) });
		const text = await reply.text();
		return { reply, message: text && JSON.parse(text.startsWith('{') ? text : text.split('\n').findLast((line) => line.startsWith('data: {')).slice(6)) };
	};
	const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'test_simple_text', _meta: modern } };
	const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'test_simple_text' };
	const first = await post(call, headers);
	assert.equal(first.message.result.content[0].text, 'This is a simple text response for testing.');
	assert.equal(first.message.result.resultType, 'complete');
	const { reply } = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello });
	const session = { 'mcp-session-id': reply.headers.get('mcp-session-id') };
	await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
	const legacy = await post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'test_simple_text' } }, session);
	assert.equal(legacy.message.result.content[0].text, 'This is a simple text response for testing.');
	await gate.stop();
	await server.stop();
});

// A server of the legacy era over HTTP, whose answer to tools/call is up to `behave`.
async function fake(behave) {
	let sessions = 0;
	const seen = [];
	const server = createServer((request, response) => {
		let text = '';
		request.on('data', (bytes) => (text += bytes));
		request.on('end', () => {
			const message = text ? JSON.parse(text) : {};
			const json = (result, more) => response.writeHead(200, { 'content-type': 'application/json', ...more }).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
			seen.push(message.method ?? request.method);
			if (message.method === 'initialize') json({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } }, { 'mcp-session-id': `s${++sessions}` });
			else if (message.method === 'tools/call') behave({ request, response, message, json, sessions });
			else if (message.id !== undefined) response.writeHead(400).end('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}');
			else response.writeHead(request.method === 'POST' ? 202 : 405).end();
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return { url: `http://127.0.0.1:${server.address().port}/mcp`, seen, close: () => (server.closeAllConnections(), new Promise((done) => server.close(done))) };
}

const text = (words) => ({ content: [{ type: 'text', text: words }] });

test('each HTTP failure has its code', async () => {
	const replies = {
		unauthorized: ({ response }) => response.writeHead(401, { 'www-authenticate': 'Bearer scope="x"' }).end(),
		limited: ({ response }) => response.writeHead(429, { 'retry-after': '9' }).end(),
		broken: ({ response }) => response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>oops</h1>'),
		html: ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>'),
		empty: ({ response }) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
		accepted: ({ response }) => response.writeHead(202).end(),
		cut: ({ response }) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":'),
		reset: ({ request }) => request.socket.destroy(),
		silent_stream: ({ response }) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n'),
		stream: ({ response, message }) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: text('streamed') })}\n\n`),
		elsewhere: ({ response }) => response.writeHead(307, { location: 'http://example.com/' }).end(),
	};
	const server = await fake((at) => replies[at.message.params.name](at));
	const wire = await started('--url', server.url);
	const expected = {
		unauthorized: ['upstream.unauthorized', 'replied'],
		limited: ['upstream.rate_limited', 'replied'],
		broken: ['dependency.unavailable', 'replied'],
		html: ['upstream.invalid_reply', 'replied'],
		empty: ['upstream.invalid_reply', 'replied'],
		accepted: ['upstream.invalid_reply', 'replied'],
		cut: ['upstream.garbled', 'replied'],
		silent_stream: ['upstream.closed', 'sent'],
		elsewhere: ['transport.protocol_violation', 'replied'],
	};
	for (const [name, [code, delivery]] of Object.entries(expected)) {
		const error = canonical(await wire.call(name));
		assert.deepEqual([error?.code, error?.delivery], [code, delivery], name);
		if (name === 'limited') assert.equal(error.retry_after, 9);
		if (name === 'unauthorized') assert.match(error.context.www_authenticate, /^Bearer/);
		assert.equal((await wire.call('stream')).result.content[0].text, 'streamed');
	}
	await ended(wire);
	await server.close();
});

test('a lost session is begun again without the client noticing', async () => {
	const server = await fake(({ request, response, json, sessions }) => (request.headers['mcp-session-id'] === 's1' || sessions < 2 ? response.writeHead(404).end() : json(text('again'))));
	const wire = await started('--url', server.url);
	assert.equal((await wire.call('x')).result.content[0].text, 'again');
	assert.equal(server.seen.filter((method) => method === 'tools/call').length, 2);
	await ended(wire);
	await server.close();
});

test('a tool is never run twice unless its annotations are trusted', async () => {
	let calls = 0;
	const server = await fake(({ request, json }) => (++calls % 2 ? request.socket.destroy() : json(text('second'))));
	const wire = await started('--url', server.url);
	const error = canonical(await wire.call('x'));
	assert.deepEqual([calls, error.delivery === 'not_sent', error.context.attempts], [1, false, undefined]);
	await ended(wire);
	await server.close();
});

test('a refused connection, and a breaker after five failures', async () => {
	const server = await fake(({ request }) => request.socket.destroy());
	const wire = await started('--url', server.url);
	const codes = [];
	for (let i = 0; i < 6; i++) codes.push(canonical(await wire.call('x')).code);
	assert.ok(codes.slice(0, 5).every((code) => code.startsWith('transport.')), codes.join());
	assert.equal(codes[5], 'upstream.suspended');
	await ended(wire);
	await server.close();
	const other = await started('--url', server.url);
	const error = canonical(await other.call('x'));
	assert.deepEqual([error.code, error.delivery], ['transport.connection_refused', 'not_sent']);
	await ended(other);
});

test('a pinned tool that changes is refused', async () => {
	const file = join(place(), 'pins.json');
	const one = await started('--name', 'up', '--pin', file, '--', 'node', upstream, 'up');
	await one.request('tools/list', {});
	await ended(one);
	const pins = JSON.parse(readFileSync(file, 'utf8'));
	assert.match(pins.up.ok, /^sha256:[0-9a-f]{64}$/);
	pins.up.ok = `sha256:${'0'.repeat(64)}`;
	writeFileSync(file, JSON.stringify(pins));
	const two = await started('--name', 'up', '--pin', file, '--', 'node', upstream, 'up');
	const names = (await two.request('tools/list', {})).result.tools.map(({ name }) => name);
	assert.ok(!names.includes('ok') && names.includes('echo'));
	assert.equal(canonical(await two.call('ok')).code, 'upstream.tool_changed');
	assert.ok((await two.call('echo', {})).result.content);
	await ended(two);
});

test('wrap puts the gateway in front of each program, and undoes it to the byte', async () => {
	const before = `{
  // my servers
  "mcpServers": {
    "a": { "command": "node", "args": [ "${upstream}", "a" /* its name */ ], "env": {"K": "v"}, },
    "bare": {"command": "cat"},
    "empty": {"args": [ ], "command": "cat", "cwd": "/"},
    "remote": { "url": "https://example.com/mcp" }
  },
  "other": [1, 2]
}
`;
	const file = config(before);
	assert.equal(run(['wrap', '--dry-run', file]).status, 0);
	assert.equal(readFileSync(file, 'utf8'), before);
	assert.equal(run(['wrap', file]).status, 0);
	const after = readFileSync(file, 'utf8');
	assert.notEqual(after, before);
	assert.ok(after.includes('// my servers') && after.includes('/* its name */'));
	const entry = after.match(/"a": (\{.*\}),\n/)[1];
	const a = JSON.parse(entry.replace(/\/\*.*?\*\//, '').replace(/,\s*\}/g, '}'));
	assert.deepEqual(a.args.slice(0, 9), ['gate', '--wrapped', 'args', '--name', 'a', '--env', 'K', '--', 'node']);
	const wire = new Wire([...a.args.slice(0, 1), ...quiet, ...a.args.slice(1)], a.command);
	await wire.request('initialize', hello);
	assert.equal((await wire.call('ok')).result.content[0].text, 'hello from a');
	await ended(wire);
	assert.equal(run(['wrap', file]).status, 0);
	assert.equal(readFileSync(file, 'utf8'), after, 'twice changes nothing');
	assert.equal(run(['wrap', '--undo', file]).status, 0);
	assert.equal(readFileSync(file, 'utf8'), before);
	assert.equal(readFileSync(`${file}.before-faultwire`, 'utf8'), before);
	assert.equal(run(['wrap', '--undo', file]).status, 0);
	assert.equal(readFileSync(file, 'utf8'), before);
});
