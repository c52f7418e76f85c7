// Servers behind the gateway that official clients can use, though they do something odd; and what such servers must not cause.

import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { served } from './lib/served.mjs';
import { json, web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// A legacy server on standard input and output; `tools` are functions of (id, params), `start` runs first.
const program = (tools, start = '') => `
	const { writeFileSync, existsSync } = require('fs');
	const write = (text) => process.stdout.write(text);
	const send = (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
	const say = (id, text) => send({ id, result: { content: [{ type: 'text', text }] } });
	const tools = { ok: (id) => say(id, 'fine'), ${tools} };
	${start}
	require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
		const { id, method, params } = JSON.parse(line);
		if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: { name: 'x', version: '1' } } });
		else if (method === 'tools/call') tools[params.name](id, params);
		else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
	});`;

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, '--deadline', '5', ...args], faultwire);
	await wire.initialize();
	return wire;
}
const node = (...parts) => started('--era', 'legacy', '--', 'node', '-e', program(...parts));

// ---- standard input and output

test('a byte order mark before a message', async () => {
	const wire = await node(`marked: (id) => { write('\\ufeff'); say(id, 'marked'); }`, `write('\\ufeff');`);
	assert.equal(text(await wire.call('ok')), 'fine');
	assert.equal(text(await wire.call('marked')), 'marked');
	await wire.end();
});

test('calls that are written together with initialize wait for a deadline before they are sent', async () => {
	const wire = new Wire(['gate', ...quiet, '--deadline', '60', '--', 'node', '-e', program('')], faultwire);
	const call = (id) => ({ id, method: 'tools/call', params: { name: 'ok', arguments: {} } });
	const messages = [{ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } }, { method: 'notifications/initialized' }, call(2), call(3)];
	wire.send(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
	// The input stays open: its end would be an event that sends them.
	for (const id of [2, 3]) assert.equal(text(await wire.next((message) => message.id === id, 20000)), 'fine');
	await wire.end();
});

test('a text that is cut in the middle of an emoji, and the name of a file that is not UTF-8', async () => {
	const words = ['cut \ud83d', 'caf\udce9.txt', 'whole \ud83d\ude00', '\ude00\ud83d \\ud83d'];
	const wanted = words.map((one) => one.toWellFormed?.() ?? one.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd'));
	const wire = await node(`t: (id, { arguments: { at } }) => say(id, ${JSON.stringify(words)}[at])`);
	for (const at of words.keys()) assert.equal(text(await wire.call('t', { at })), wanted[at]);
	await wire.end();
	const server = await web((req, res, { id, params }) => json(res, id, { content: [{ type: 'text', text: words[params.arguments.at] }] }));
	const other = await started('--era', 'legacy', '--url', server.url);
	for (const at of words.keys()) assert.equal(text(await other.call('t', { at })), wanted[at]);
	await other.end();
	await server.stop();
});

test('a notification with an id that is null', async () => {
	const wire = await node(`log: (id) => { send({ id: null, method: 'notifications/message', params: { level: 'info', data: 'said' } }); say(id, 'done'); }`);
	assert.equal(text(await wire.call('log')), 'done');
	assert.equal((await wire.next(({ method }) => method === 'notifications/message')).params.data, 'said');
	await wire.end();
});

test('a program that is not needed any more has a moment to exit, and is not killed at once', async () => {
	const done = join(scratch(), 'orderly');
	const wire = await node('', `process.stdin.on('end', () => { write('bye\\n'); setTimeout(() => writeFileSync(${JSON.stringify(done)}, 'saved'), 100); });`);
	assert.equal((await wire.end()).status, 0);
	assert.equal(readFileSync(done, 'utf8'), 'saved');
});

test('a program that does not exit when its input ends gets SIGTERM, then SIGKILL', async () => {
	const done = join(scratch(), 'asked');
	const began = Date.now();
	const wire = await node('', `setInterval(() => {}, 1000); process.on('SIGTERM', () => writeFileSync(${JSON.stringify(done)}, 'SIGTERM'));`);
	assert.equal((await wire.end()).status, 0);
	assert.equal(readFileSync(done, 'utf8'), 'SIGTERM');
	assert.ok(Date.now() - began < 4000);
});

test('a server that does not start during the trial of its breaker is tried again', async () => {
	const broken = join(scratch(), 'broken');
	const file = join(scratch(), 'trial.json');
	const code = program(`crash: () => process.kill(process.pid, 'SIGSEGV')`, `if (existsSync(${JSON.stringify(broken)})) process.exit(3);`);
	writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'node', args: ['-e', code], faultwire: { breaker: { failures: 1, pause: 0.1 }, retry: 0 } } } }));
	const wire = await started('--era', 'legacy', '--config', file);
	assert.equal(canonical(await wire.call('crash')).code, 'upstream.crashed');
	assert.equal(canonical(await wire.call('ok')).code, 'upstream.suspended');
	await pause(150);
	writeFileSync(broken, '');
	assert.equal(canonical(await wire.call('ok')).code, 'upstream.start_failed');
	unlinkSync(broken);
	await pause(400);
	assert.equal(text(await wire.call('ok')), 'fine');
	await wire.end();
});

test('a call that a program has not read before it exits is sent again, and runs once', async () => {
	// It answers one call, and then exits without reading on.
	const runs = join(scratch(), 'runs');
	const script = `
		id() { read -r line; id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/'); }
		say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$1"; }
		id; say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}'
		read -r line; id; echo ran >>'${runs}'; say '{"content":[{"type":"text","text":"fine"}]}'; sleep 0.3; exit 3`;
	const wire = await started('--era', 'legacy', '--', 'sh', '-c', script);
	assert.equal(text(await wire.call('t')), 'fine');
	assert.equal(text(await wire.call('t')), 'fine');
	assert.equal(readFileSync(runs, 'utf8'), 'ran\nran\n');
	await wire.end();
});

test('a timeout after progress names the time of the first deadline', async () => {
	const wire = await started('--deadline', '1', '--era', 'legacy', '--', 'node', '-e', program(`slow: (id, { _meta }) => setTimeout(() => send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1 } }), 700)`));
	const began = Date.now();
	const error = canonical(await wire.call('slow', {}, { progressToken: 'p' }));
	assert.equal(error.code, 'upstream.timeout');
	assert.ok(error.context.timeout_ms >= 1600 && error.context.timeout_ms <= Date.now() - began + 10, error.message);
	await wire.end();
});

test('a call behind a compressed stream is garbled, and so are those that follow', async () => {
	// One stream for all replies, so that only its beginning can be recognised.
	const stream = `const zip = require('zlib').createGzip(); zip.on('data', write); const reply = (id) => { zip.write(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }) + '\\n'); zip.flush(); };`;
	const wire = await node('zipped: (id) => reply(id)', stream);
	for (let i = 0; i < 3; i++) {
		const error = canonical(await wire.call('zipped'));
		assert.deepEqual([error.code, error.context.framing, error.delivery], ['upstream.garbled', 'compression', 'replied']);
	}
	assert.equal(text(await wire.call('ok')), 'fine');
	await wire.end();
});

// ---- several clients

test('a log message during calls of several clients reaches none of them but its own', async () => {
	const log = `(id, { arguments: { who } }) => { setTimeout(() => send({ method: 'notifications/message', params: { level: 'info', data: 'secret of ' + who } }), 150); setTimeout(() => say(id, who), 300); }`;
	const server = await served(faultwire, ['gate', '--audit', 'off', '--incidents', 'off', '--era', 'legacy', '--http', '127.0.0.1:0', '--', 'node', '-e', program(`log: ${log}`)]);
	const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
	const client = async () => {
		const post = (message, more = {}) => fetch(server.url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
		const hello = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } } });
		const own = { 'mcp-session-id': hello.headers.get('mcp-session-id'), 'mcp-protocol-version': '2025-11-25' };
		await hello.text();
		await post({ method: 'notifications/initialized' }, own);
		return async (who) => (await post({ id: 2, method: 'tools/call', params: { name: 'log', arguments: { who } } }, own)).text();
	};
	const [ada, eve] = [await client(), await client()];
	assert.match(await ada('ada'), /secret of ada/);
	const [first, second] = await Promise.all([ada('ada'), pause(50).then(() => eve('eve'))]);
	assert.doesNotMatch(first, /secret of eve/);
	assert.doesNotMatch(second, /secret of ada/);
	await server.stop();
});

// ---- HTTP

const stream = (res) => res.writeHead(200, { 'content-type': 'text/event-stream' });
const event = (id, said, more = '') => `${more}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: said }] } })}\n\n`;

test('a body with a byte order mark, and events that are no messages', async () => {
	const server = await web((req, res, { id, params }) => {
		if (params.name === 'mark') res.writeHead(200, { 'content-type': 'application/json' }).end(`\ufeff${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'mark' }] } })}`);
		else stream(res).end(`event: ping\ndata: 2026-01-01\n\nevent: heartbeat\ndata: {}\n\n${event(id, 'last', 'event: message\n')}`);
	});
	const wire = await started('--url', server.url);
	assert.equal(text(await wire.call('mark')), 'mark');
	assert.equal(text(await wire.call('events')), 'last');
	await wire.end();
	await server.stop();
});

test('replies that go over several lines', async () => {
	const pretty = (id, said) => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: said }] } }, null, 2).replaceAll('\n', '\r\n');
	const server = await web((req, res, { id, params }) => {
		if (params.name === 'body') res.writeHead(200, { 'content-type': 'application/json' }).end(pretty(id, 'a "b" \\'));
		else if (params.name === 'refused') res.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no' } }, null, '\t'));
		else stream(res).end(`${pretty(id, 'events').split('\r\n').map((line) => `data: ${line}\n`).join('')}\n`);
	});
	const wire = await started('--url', server.url);
	assert.equal(text(await wire.call('body')), 'a "b" \\');
	assert.equal(text(await wire.call('events')), 'events');
	assert.equal((await wire.call('refused')).error.message, 'no');
	await wire.end();
	await server.stop();
});

test('streams that stay open after their answer do not collect', async () => {
	let open = 0;
	const server = await web((req, res, { id }) => {
		open++;
		res.on('close', () => open--);
		stream(res).write(event(id, 'answer'));
	});
	const wire = await started('--url', server.url);
	for (let i = 0; i < 30; i++) assert.equal(text(await wire.call('t')), 'answer');
	for (let left = 100; left && open > 8; left--) await pause(20);
	assert.ok(open <= 8, `${open} are open`);
	await wire.end();
	await server.stop();
});

test('a server that ends its GET stream and says "retry: 0" is not asked without a pause', async () => {
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res) => req.method === 'GET' && Boolean(stream(res).end('retry: 0\n\n')),
	);
	const wire = await started('--url', server.url);
	await wire.call('t');
	await pause(1000);
	const asked = server.seen.filter(({ method }) => method === 'GET').length;
	assert.ok(asked >= 2 && asked <= 6, `${asked} requests`);
	await wire.end();
	await server.stop();
});

test('a GET stream that breaks before its first event is opened again', async () => {
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res) => {
			if (req.method !== 'GET') return false;
			stream(res).flushHeaders();
			setTimeout(() => req.socket.resetAndDestroy(), 30);
			return true;
		},
	);
	const wire = await started('--url', server.url);
	for (let left = 200; left && server.seen.filter(({ method }) => method === 'GET').length < 2; left--) await pause(20);
	assert.ok(server.seen.filter(({ method }) => method === 'GET').length >= 2);
	await wire.end();
	await server.stop();
});

test('a stream that breaks before its first event does not say that the call was answered', async () => {
	const server = await web((req, res) => {
		stream(res).flushHeaders();
		setTimeout(() => req.socket.resetAndDestroy(), 30);
	});
	const wire = await started('--url', server.url);
	const { origin, delivery } = canonical(await wire.call('t'));
	assert.deepEqual([origin, delivery], ['transport', 'sent']);
	assert.equal(server.calls(), 1);
	await wire.end();
	await server.stop();
});

test('an error of JSON-RPC with the status 500 keeps its words', async () => {
	const server = await web((req, res, { id }) => res.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message: 'no such table: users' } })));
	const wire = await started('--url', server.url);
	const reply = await wire.call('t');
	assert.deepEqual([reply.error.message, canonical(reply).delivery], ['no such table: users', 'replied']);
	await wire.end();
	await server.stop();
});

test('an answer that is not HTTP is a failure of the server, not of the gateway', async () => {
	const server = await web((req) => req.socket.end('SSH-2.0-OpenSSH_9.2\r\n'));
	const wire = await started('--url', server.url);
	const { code, origin, delivery } = canonical(await wire.call('t'));
	assert.deepEqual([code, origin, delivery], ['transport.protocol_violation', 'upstream', 'sent']);
	await wire.end();
	await server.stop();
});

test('errors of the transport name the host, and nothing else of the URL', async () => {
	const wire = await started('--url', 'http://ada:word1@127.0.0.1:1/s/word2/mcp?k=word3');
	const reply = await wire.call('t');
	assert.match(canonical(reply).message, /http:\/\/127\.0\.0\.1:1$/);
	assert.doesNotMatch(JSON.stringify(reply), /word[123]|ada/);
	await wire.end();
});

test('streams that end without the answer open the breaker', async () => {
	const server = await web((req, res) => stream(res).end(': nothing\n\n'));
	const wire = await started('--url', server.url);
	for (let i = 0; i < 5; i++) assert.equal(canonical(await wire.call('t')).code, 'upstream.closed');
	assert.equal(canonical(await wire.call('t')).code, 'upstream.suspended');
	await wire.end();
	await server.stop();
});

test('the session is deleted at the end, with the version in the headers', async () => {
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res, { id, method }) => method === 'initialize' && Boolean(json(res, id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }, 200, { 'mcp-session-id': 's1' })),
	);
	const wire = await started('--url', server.url);
	await wire.call('t');
	await wire.end();
	const { headers } = server.seen.find(({ method }) => method === 'DELETE') ?? {};
	assert.deepEqual([headers?.['mcp-session-id'], headers?.['mcp-protocol-version']], ['s1', '2025-06-18']);
	await server.stop();
});

test('a call that reports progress has more time than the deadline, up to ten times as much', async () => {
	const file = join(scratch(), 'progress.json');
	const code = program(`
		work: (id, { _meta, arguments: { steps } }) => {
			let n = 0;
			const timer = setInterval(() => {
				if (++n === steps) { clearInterval(timer); say(id, 'worked'); }
				else send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: n } });
			}, 200);
		}`);
	writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'node', args: ['-e', code], faultwire: { deadline: 0.5 } } } }));
	const wire = await started('--era', 'legacy', '--config', file);
	// A Node process may need longer to start than this deadline.
	wire.patience = 20000;
	while (canonical(await wire.call('ok')));
	const work = (steps) => wire.request('tools/call', { name: 'work', arguments: { steps }, _meta: { progressToken: 'p' } });
	assert.equal(text(await work(6)), 'worked');
	const began = Date.now();
	const late = canonical(await work(1000));
	assert.equal(late.code, 'upstream.timeout');
	const took = Date.now() - began;
	assert.ok(took > 4500 && took < 9000, `${took} ms`);
	await wire.end();
});

// ---- programs that do not start

test('a program that is not in PATH, has no interpreter, or ends at once: the hint says what to change', async () => {
	const script = join(scratch(), 'script');
	writeFileSync(script, '#!/nonexistent/interpreter\n', { mode: 0o755 });
	for (const [command, code, hint] of [
		[['no-such-program-anywhere'], 'upstream.cannot_start', /no directory of PATH has this program/],
		[[script], 'upstream.cannot_start', /the interpreter that its first line names does not/],
		[['sh', '-c', 'echo "API_KEY is not set" >&2; exit 1'], 'upstream.start_failed', /Read the end of its standard error/],
	]) {
		const wire = await started('--', ...command);
		const error = canonical(await wire.call('ok'));
		assert.equal(error.code, code);
		assert.match(error.hint, hint);
		await wire.end();
	}
});
