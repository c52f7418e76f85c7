// Every limit of `faultwire serve --limits`, set small and reached: beyond it
// there is an answer, and the next request is served. A limit without an entry
// here fails the first test; one whose law is in a unit test names it. Also
// keeps the table of docs/limits.md (FW_UPDATE=1 writes it).
//
// reaches: session.limit_reached, governance.rate_limited, protocol.request_timeout, tool.result_too_large

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root, run } from './lib/cli.mjs';
import * as http from './lib/http.mjs';
import { canonical, modern, Wire } from './lib/mcp.mjs';

const { status, out } = run(['serve', '--limits', '--json']);
assert.equal(status, 0);
const limits = JSON.parse(out);

// ---- what the entries share ---------------------------------------------------

const set = (values) => Object.entries(values).flatMap(([name, value]) => ['--limit', `${name}=${value}`]);
const pause = http.pause;

// A call that still runs when the others have been answered, however busy the machine is.
const long = 2000;

// A server over stdio, spoken to in the modern era.
async function overStdio(values, body) {
	const wire = new Wire(['--stdio', ...set(values)]);
	wire.ask = (method, params = {}) => wire.request(method, { ...params, _meta: { ...modern, ...params._meta } });
	wire.run = (name, args, meta) => wire.ask('tools/call', { name, arguments: args ?? {}, _meta: meta });
	try {
		await body(wire);
	} finally {
		wire.child.kill('SIGKILL');
		await wire.exit;
	}
}

async function overHttp(values, body) {
	const server = await http.serve(...set(values));
	try {
		await body(server);
	} finally {
		server.child.kill('SIGKILL');
		await server.ended;
	}
}

const say = (text) => http.call('echo', { text });
const errorOf = (reply) => reply.json?.error?.data?.['dev.faultwire/error'] ?? reply.json?.result?._meta?.['dev.faultwire/error'];

async function served(server) {
	assert.equal((await http.ask(server, say('well'))).json.result.content[0].text, 'well');
}

async function refused(reply, code, retries = false) {
	const error = canonical(await reply);
	assert.equal(error?.code, code);
	if (retries) assert.ok(error.retry_after > 0, 'says when to come back');
	return error;
}

// The unit test that holds this limit to its law.
function unit(file, name) {
	return (limit) => {
		const text = readFileSync(join(root, file), 'utf8');
		assert.match(text, new RegExp(`${name}\\b`));
		assert.match(text, new RegExp(`\\b${limit}\\b`));
	};
}

const sampled = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {}, roots: {} } };
const chatty = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
const isProgress = (message) => message.method === 'notifications/progress';
const isLog = (message) => message.method === 'notifications/message';

// Which of a number of streams that were closed early can still be resumed.
async function resumable(server, count) {
	const headers = await http.session(server);
	const ids = [];
	for (let i = 0; i < count; i++) {
		const { body } = await http.ask(server, http.legacyCall(headers, 'test_reconnection', {}, undefined, i));
		ids.push(http.events(body)[0].id);
		await pause(150);
	}
	const found = [];
	for (const id of ids) {
		const wire = new http.Wire(server.port);
		const { status } = await wire.send(http.request('GET', { ...headers, Accept: 'text/event-stream', 'Last-Event-ID': id })).head();
		found.push(status === 200);
		wire.close();
	}
	return found;
}

// ---- one entry a limit ---------------------------------------------------------

const reach = {
	message_bytes: async () => {
		await overStdio({ message_bytes: 2048 }, async (wire) => {
			wire.send({ jsonrpc: '2.0', id: 9, method: 'ping', params: { x: 'x'.repeat(3000), _meta: modern } });
			await refused(wire.next(), 'input.too_large');
			assert.ok((await wire.run('echo', { text: 'x' })).result);
		});
		await overHttp({ message_bytes: 2048 }, async (server) => {
			const reply = await http.ask(server, say('x'.repeat(3000)));
			assert.equal(reply.status, 413);
			assert.equal(errorOf(reply).code, 'input.too_large');
			await served(server);
		});
	},
	message_depth: () => overStdio({ message_depth: 8 }, async (wire) => {
		wire.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${'[['.repeat(9)}${']]'.repeat(9)}}\n`);
		await refused(wire.next(), 'input.too_deep');
	}),
	batch_messages: () => overStdio({ batch_messages: 2 }, async (wire) => {
		await wire.initialize('2025-03-26');
		wire.send([1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
		await refused(wire.next(), 'server.overloaded');
		wire.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]\n`);
		assert.equal((await wire.next()).length, 2);
	}),
	violations: () => overStdio({ violations: 1 }, async (wire) => {
		const error = await refused(wire.run('add', { a: 'x', b: 'y' }), 'input.invalid_type');
		assert.equal(error.context.violations.length, 1);
	}),
	result_bytes: () => overStdio({ result_bytes: 1024 }, async (wire) => {
		await refused(wire.run('echo', { text: 'x'.repeat(2000) }), 'tool.result_too_large');
		assert.ok((await wire.run('echo', { text: 'x' })).result);
	}),
	in_flight: () => overStdio({ in_flight: 2 }, async (wire) => {
		const first = [wire.run('later', { ms: long }), wire.run('later', { ms: long })];
		const error = await refused(wire.run('echo', { text: 'x' }), 'server.overloaded', true);
		assert.match(error.message, /limit of 2 calls$/);
		await Promise.all(first);
		assert.ok((await wire.run('echo', { text: 'x' })).result);
	}),
	client_in_flight: () => overHttp({ client_in_flight: 1 }, async (server) => {
		const [one, two] = [await http.session(server), await http.session(server)];
		const first = http.ask(server, http.legacyCall(one, 'later', { ms: long }, undefined, 1));
		await pause(50);
		const reply = await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }, undefined, 2));
		assert.equal(errorOf(reply).code, 'server.overloaded');
		assert.match(errorOf(reply).message, /of one client/);
		assert.ok((await http.ask(server, http.legacyCall(two, 'echo', { text: 'x' }))).json.result);
		assert.ok((await first).json.result);
		assert.ok((await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }, undefined, 3))).json.result);
	}),
	queue_length: () => overStdio({ threads: 1, threads_extra: 0, queue_length: 1 }, async (wire) => {
		const first = [wire.run('slow', { ms: long })];
		await pause(50); // a thread has it
		first.push(wire.run('slow', { ms: 1 }));
		const error = await refused(wire.run('slow', { ms: 1 }), 'server.overloaded', true);
		assert.match(error.message, /limit of 1 waiting calls$/);
		for (const reply of await Promise.all(first)) assert.ok(!canonical(reply));
	}),
	client_queue_length: () => overHttp({ threads: 1, threads_extra: 0, client_queue_length: 1 }, async (server) => {
		const [one, two] = [await http.session(server), await http.session(server)];
		const slow = (headers, id, ms) => http.ask(server, http.legacyCall(headers, 'slow', { ms }, undefined, id));
		const first = [slow(one, 1, long)];
		await pause(50);
		first.push(slow(one, 2, 1));
		await pause(50);
		const reply = await slow(one, 3, 1);
		assert.equal(errorOf(reply).code, 'server.overloaded');
		assert.match(errorOf(reply).message, /waiting calls of one client/);
		assert.ok(errorOf(reply).retry_after >= 1);
		// Another client is not the worse for it.
		assert.ok(!errorOf(await slow(two, 1, 1)));
		for (const reply of await Promise.all(first)) assert.ok(!errorOf(reply));
	}),
	client_share_percent: unit('src/mcp/queue_test.c', 'test_queue__chooses_as_the_plain_rules_do'),
	tool_share_percent: unit('src/mcp/queue_test.c', 'test_queue__no_client_starves'),
	client_lanes: () => overHttp({ client_lanes: 1, client_in_flight: 1 }, async (server) => {
		// Two clients that cannot be distinguished are one.
		const [one, two] = [await http.session(server), await http.session(server)];
		const first = http.ask(server, http.legacyCall(one, 'later', { ms: long }));
		await pause(50);
		assert.equal(errorOf(await http.ask(server, http.legacyCall(two, 'echo', { text: 'x' }))).code, 'server.overloaded');
		await first;
	}),
	calls_per_second: () => overStdio({ calls_per_second: 1, calls_burst: 1 }, async (wire) => {
		assert.ok((await wire.run('echo', { text: 'x' })).result);
		const error = await refused(wire.run('echo', { text: 'x' }), 'governance.rate_limited', true);
		assert.ok(error.retry_after <= 1.001);
		// What runs nothing is not counted.
		assert.ok((await wire.ask('tools/list')).result);
	}),
	calls_burst: () => overStdio({ calls_per_second: 1, calls_burst: 3 }, async (wire) => {
		const replies = await Promise.all([1, 2, 3, 4].map(() => wire.run('echo', { text: 'x' })));
		assert.deepEqual(replies.map((reply) => !canonical(reply)), [true, true, true, false]);
	}),
	threads: () => overStdio({ threads: 1, threads_extra: 0 }, async (wire) => {
		const order = [];
		await Promise.all([300, 1].map((ms) => wire.run('slow', { ms }).then(() => order.push(ms))));
		assert.deepEqual(order, [300, 1]);
	}),
	threads_extra: () => overStdio({ threads: 1, threads_extra: 1 }, async (wire) => {
		// One tool hangs in the only thread: another gets one beyond, once.
		const order = [];
		const call = (name, args) => wire.run(name, args).then(() => order.push(name));
		await Promise.all([call('slow', { ms: long }), call('chatter', { count: 1 }), call('test_tool_with_progress')]);
		assert.deepEqual(order, ['chatter', 'test_tool_with_progress', 'slow']);
	}),
	progress_per_second: () => overStdio({ progress_per_second: 1, progress_burst: 1 }, async (wire) => {
		assert.ok((await wire.run('chatter', { count: 1000 }, chatty)).result);
		const told = wire.messages.filter(isProgress).map((message) => message.params.progress);
		assert.ok(told.length >= 2 && told.length < 100, `${told.length} of 1000 were reported`);
		assert.equal(told.at(-1), 1000);
	}),
	progress_burst: () => overStdio({ progress_per_second: 1, progress_burst: 5 }, async (wire) => {
		await wire.run('chatter', { count: 1000 }, chatty);
		assert.deepEqual(wire.messages.filter(isProgress).slice(0, 5).map((message) => message.params.progress), [1, 2, 3, 4, 5]);
	}),
	logs_per_second: () => overStdio({ logs_per_second: 1, logs_burst: 1 }, async (wire) => {
		await wire.run('chatter', { count: 1000 }, chatty);
		const told = wire.messages.filter(isLog);
		const [, dropped] = told.at(-1).params.data.match(/^(\d+) log messages were dropped/);
		assert.equal(told.length - 1 + Number(dropped), 1000);
		assert.equal(told.at(-1).params.level, 'warning');
		assert.ok(told.length < 100);
	}),
	logs_burst: () => overStdio({ logs_per_second: 1, logs_burst: 7 }, async (wire) => {
		await wire.run('chatter', { count: 7 }, chatty);
		assert.equal(wire.messages.filter(isLog).length, 7);
	}),
	sessions: () => overHttp({ sessions: 1 }, async (server) => {
		const one = await http.session(server);
		const reply = await http.ask(server, http.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: http.legacy, capabilities: {}, clientInfo: { name: 'w', version: '1' } } }));
		assert.equal(errorOf(reply).code, 'session.limit_reached');
		assert.ok((await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }))).json.result);
	}),
	client_sessions: () => overHttp({ client_sessions: 1 }, async (server) => {
		const one = await http.session(server);
		const reply = await http.ask(server, http.post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { protocolVersion: http.legacy, capabilities: {}, clientInfo: { name: 'other', version: '1' } } }));
		assert.equal(errorOf(reply).code, 'session.limit_reached');
		assert.ok((await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }))).json.result);
	}),
	session_streams: () => overHttp({ session_streams: 2 }, async (server) => {
		assert.deepEqual(await resumable(server, 5), [false, false, false, true, true]);
	}),
	session_stream_bytes: () => overHttp({ session_stream_bytes: 1024 }, async (server) => {
		const found = await resumable(server, 12);
		assert.equal(found.at(-1), true, 'the newest is kept');
		assert.equal(found[0], false, 'the oldest is not');
	}),
	session_spare_ms: () => overHttp({ sessions: 1, session_spare_ms: 0 }, async (server) => {
		const one = await http.session(server);
		const two = await http.session(server);
		assert.equal(errorOf(await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }))).code, 'session.unknown');
		assert.ok((await http.ask(server, http.legacyCall(two, 'echo', { text: 'x' }))).json.result);
	}),
	session_idle_ms: () => overHttp({ session_idle_ms: 100 }, async (server) => {
		const one = await http.session(server);
		await pause(400);
		assert.equal(errorOf(await http.ask(server, http.legacyCall(one, 'echo', { text: 'x' }))).code, 'session.unknown');
	}),
	subscriptions: () => overStdio({ subscriptions: 1 }, async (wire) => {
		await wire.initialize();
		assert.ok((await wire.request('resources/subscribe', { uri: 'test://static-text' })).result);
		assert.ok((await wire.request('resources/subscribe', { uri: 'test://static-text' })).result);
		await refused(wire.request('resources/subscribe', { uri: 'test://watched-resource' }), 'server.overloaded');
	}),
	listeners: () => overHttp({ listeners: 1 }, async (server) => {
		const first = new http.Wire(server.port);
		await first.send(http.listen({ toolsListChanged: true })).head();
		const reply = await http.ask(server, http.listen({ toolsListChanged: true }, 2));
		assert.equal(errorOf(reply).code, 'server.overloaded');
		first.close();
	}),
	stream_events: () => overHttp({ stream_events: 2 }, async (server) => {
		assert.equal((await kept(server, 10)).length, 2);
	}),
	stream_bytes: () => overHttp({ stream_bytes: 1024 }, async (server) => {
		const count = (await kept(server, 60)).length;
		assert.ok(count > 1 && count < 60, `${count} were kept`);
	}),
	questions: () => overStdio({ questions: 2 }, async (wire) => {
		await refused(wire.run('test_input_required_result_multiple_inputs', {}, sampled), 'server.overloaded');
	}),
	rounds: () => overStdio({ rounds: 1 }, async (wire) => {
		const name = 'test_input_required_result_multi_round';
		const { result } = await wire.run(name, {}, sampled);
		assert.equal(result.resultType, 'input_required');
		await refused(wire.ask('tools/call', { name, arguments: {}, requestState: result.requestState, inputResponses: answers(result), _meta: sampled }), 'server.overloaded');
	}),
	answer_bytes: () => overStdio({ answer_bytes: 64 }, async (wire) => {
		await wire.initialize('2025-11-25', { elicitation: {} });
		const reply = wire.request('tools/call', { name: 'test_elicitation', arguments: { message: 'x' } });
		const question = await wire.next((message) => message.method === 'elicitation/create');
		wire.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { username: 'x'.repeat(200) } } });
		await refused(reply, 'input.too_large');
		// The modern era does not ask again.
		const name = 'test_input_required_result_elicitation';
		const { result } = await wire.run(name, {}, sampled);
		const [key] = Object.keys(result.inputRequests);
		const inputResponses = { [key]: { action: 'accept', content: { name: 'x'.repeat(200) } } };
		await refused(wire.ask('tools/call', { name, arguments: {}, requestState: result.requestState, inputResponses, _meta: sampled }), 'input.too_large');
	}),
	state_ms: () => overStdio({ state_ms: 1000 }, async (wire) => {
		const name = 'test_input_required_result_elicitation';
		const { result } = await wire.run(name, {}, sampled);
		await pause(2100);
		const late = await wire.ask('tools/call', { name, arguments: {}, requestState: result.requestState, inputResponses: answers(result), _meta: sampled });
		assert.match(canonical(late).code, /^(protocol|input)\./);
	}),
	stdio_queue_bytes: () => overStdio({ stdio_queue_bytes: 4096 }, async (wire) => {
		const text = 'x'.repeat(8000);
		wire.child.stdout.pause();
		const replies = [...Array(200).keys()].map(() => wire.run('echo', { text }));
		await pause(300);
		// It holds what pipes hold, and no more: the rest is still here.
		assert.ok(wire.child.stdin.writableLength > 800000, `${wire.child.stdin.writableLength} unsent`);
		wire.child.stdout.resume();
		for (const reply of await Promise.all(replies)) assert.ok(reply.result);
	}),
	stdio_unsent_bytes: () => overStdio({ stdio_unsent_bytes: 65536, logs_per_second: 1000000, logs_burst: 1000000 }, async (wire) => {
		wire.child.stdout.pause();
		wire.run('chatter', { count: 5000 }, chatty).catch(() => {});
		wire.waiting.forEach((wait) => clearTimeout(wait.timer));
		assert.deepEqual(await wire.exit, { status: 0, signal: null });
	}),
	http_connections: () => overHttp({ http_connections: 2 }, async (server) => {
		const busy = [1, 2].map((id) => http.ask(server, http.call('later', { ms: long }, {}, id)));
		await pause(100);
		const reply = await http.ask(server, say('x'));
		assert.equal(reply.status, 503);
		assert.equal(errorOf(reply).code, 'server.overloaded');
		assert.equal(reply.headers['retry-after'], '1');
		assert.equal(reply.headers.connection, 'close');
		for (const one of await Promise.all(busy)) assert.ok(one.json.result);
		await served(server);
	}),
	http_spare_ms: () => overHttp({ http_connections: 1, http_spare_ms: 0 }, async (server) => {
		const first = new http.Wire(server.port);
		assert.ok((await first.send(say('x')).response()).json.result);
		await served(server);
		await first.end();
	}),
	http_head_bytes: () => overHttp({ http_head_bytes: 2048 }, async (server) => {
		const wire = new http.Wire(server.port);
		assert.equal((await wire.send(http.request('POST', { X: 'y'.repeat(4000) }, '{}')).head()).status, 431);
		wire.close();
		await served(server);
	}),
	http_fields: () => overHttp({ http_fields: 8 }, async (server) => {
		const many = Object.fromEntries([...Array(8).keys()].map((i) => [`X-${i}`, 'y']));
		const reply = await http.ask(server, http.request('POST', many, '{}'));
		assert.equal(reply.status, 400);
		assert.equal(errorOf(reply).code, 'protocol.invalid_request');
		await served(server);
	}),
	http_drain_bytes: () => overHttp({ http_drain_bytes: 100 }, async (server) => {
		const wire = new http.Wire(server.port);
		const reply = await wire.send(http.request('POST', { Accept: 'text/plain' }, 'x'.repeat(1000))).response();
		assert.equal(reply.status, 406);
		await wire.end();
		await served(server);
	}),
	http_unread_bytes: () => overHttp({ http_unread_bytes: 1048576 }, async (server) => {
		const part = say('x'.repeat(900000)).subarray(0, -100);
		const wires = [1, 2, 3].map(() => new http.Wire(server.port));
		for (const wire of wires) {
			await new Promise((done) => wire.socket.write(part, done));
			await pause(100);
		}
		// The oldest has to go for the next.
		for (const wire of wires.slice(0, 2)) {
			const reply = await wire.response();
			assert.equal(reply.status, 503);
			assert.equal(errorOf(reply).code, 'server.overloaded');
			assert.equal(reply.headers['retry-after'], '1');
			await wire.end();
		}
		assert.ok((await wires[2].send(say('x'.repeat(900000)).subarray(-100)).response()).json.result);
		wires[2].close();
		await served(server);
	}),
	http_queue_bytes: () => overHttp({ http_queue_bytes: 65536, logs_per_second: 1000000, logs_burst: 1000000 }, async (server) => {
		await served(server);
		await pause(100);
		const before = server.descriptors();
		const wire = new http.Wire(server.port);
		wire.socket.pause();
		await new Promise((done) => wire.socket.once('connect', done));
		await new Promise((done) => wire.socket.write(http.call('chatter', { count: 100000 }, chatty), done));
		for (let i = 0; i < 5 || (i < 200 && server.descriptors() > before); i++) await pause(50);
		wire.socket.resume();
		await wire.end();
		await served(server);
		// One answer may be larger.
		assert.equal((await http.ask(server, say('x'.repeat(200000)))).json.result.content[0].text.length, 200000);
	}),
	http_held_bytes: () => overHttp({ http_held_bytes: 50000000, message_bytes: 33554432, result_bytes: 67108864 }, async (server) => {
		await served(server);
		await pause(100);
		const wires = [1, 2, 3].map(() => new http.Wire(server.port));
		const before = server.descriptors();
		for (const wire of wires) {
			wire.socket.pause();
			await new Promise((done) => wire.socket.write(say('x'.repeat(24000000)), done));
			await pause(20);
		}
		// Each holds 32 MiB: who has left it longest is cut off for the next.
		for (let i = 0; i < 100 && server.descriptors() >= before + 3; i++) await pause(50);
		assert.ok(server.descriptors() < before + 3);
		for (const wire of wires) wire.close();
		await served(server);
	}),
	http_idle_ms: () => overHttp({ http_idle_ms: 100 }, async (server) => {
		const wire = new http.Wire(server.port);
		assert.ok((await wire.send(say('x')).response()).json.result);
		await wire.end();
	}),
	http_head_ms: () => overHttp({ http_head_ms: 200 }, async (server) => {
		for (const begun of ['PO', 'POST /mcp HTTP/1.1\r\nHost: loc']) {
			const wire = new http.Wire(server.port);
			const reply = await wire.send(begun).response();
			assert.equal(reply.status, 408);
			assert.equal(errorOf(reply).code, 'protocol.request_timeout');
			await wire.end();
		}
		await served(server);
	}),
	http_body_ms: () => overHttp({ http_body_ms: 200 }, async (server) => {
		const wire = new http.Wire(server.port);
		const reply = await wire.send(say('x').subarray(0, -5)).response();
		assert.equal(reply.status, 408);
		assert.equal(errorOf(reply).code, 'protocol.request_timeout');
		assert.match(errorOf(reply).message, /body .* 200 ms/);
		await wire.end();
		await served(server);
	}),
	http_read_ms: () => overHttp({ http_read_ms: 300, message_bytes: 33554432, result_bytes: 67108864 }, async (server) => {
		await served(server);
		await pause(100);
		const before = server.descriptors();
		const wire = new http.Wire(server.port);
		wire.socket.pause();
		await new Promise((done) => wire.socket.once('connect', done));
		await new Promise((done) => wire.socket.write(say('x'.repeat(24000000)), done));
		for (let i = 0; i < 100 && server.descriptors() > before; i++) await pause(50);
		assert.ok(server.descriptors() <= before, 'it was cut off');
		wire.close();
		await served(server);
	}),
	http_patience_ms: () => overHttp({ http_patience_ms: 50 }, async (server) => {
		const reply = await http.ask(server, http.call('later', { ms: 500 }));
		assert.equal(reply.headers['content-type'], 'text/event-stream');
	}),
	http_silence_ms: () => overHttp({ http_silence_ms: 50 }, async (server) => {
		const wire = new http.Wire(server.port);
		await wire.send(http.listen({ toolsListChanged: true })).head();
		await wire.until((text) => (text.includes(': keepalive') ? true : undefined));
		wire.close();
	}),
	page_ms: unit('src/mcp/page_later_test.c', 'test_page__has_the_time_of_a_limit_unless_its_route_says'),
	page_streams: unit('src/mcp/page_later_test.c', 'test_stream__their_number_is_limited'),
	page_bytes: () => overHttp({ page_bytes: 1024 }, async (server) => {
		const reply = await http.ask(server, http.request('GET', { Accept: '*/*' }, undefined, '/problems/'));
		assert.equal(reply.status, 500);
		await served(server);
	}),
	flush_ms: () => overHttp({ flush_ms: 100, message_bytes: 33554432, result_bytes: 67108864 }, async (server) => {
		const wire = new http.Wire(server.port);
		wire.socket.pause();
		await new Promise((done) => wire.socket.write(say('x'.repeat(24000000)), done));
		assert.equal(await server.stop(), 0);
		wire.close();
	}),
};

const answers = (result) => Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, { action: 'accept', content: { name: 'x', confirmed: true } }]));

// What a session's stream has kept of a number of events that nobody listened to.
async function kept(server, count) {
	const headers = await http.session(server);
	for (let id = 1; id <= count; id++) await http.ask(server, http.legacyCall(headers, 'test_trigger_tool_change', {}, undefined, id));
	const wire = new http.Wire(server.port);
	const found = [];
	await wire.send(http.request('GET', headers)).head();
	wire.until(() => undefined, 1).catch(() => {});
	for (;;) {
		const event = await Promise.race([wire.event(), pause(found.length ? 500 : 3000)]).catch(() => undefined);
		if (!event) break;
		if (event.json) found.push(event.json);
	}
	wire.close();
	return found;
}

// ---- the tests -------------------------------------------------------------------

test('each limit has a test, and each test a limit', () => {
	assert.deepEqual(Object.keys(reach).sort(), limits.map((limit) => limit.name).sort());
});

// Most of them wait for time to pass: several at once.
const waiting = [...limits];
const results = new Map();
for (const limit of limits) results.set(limit.name, new Promise((done) => (limit.done = done)));
for (let lane = 0; lane < 6; lane++)
	(async () => {
		for (let limit; (limit = waiting.shift()); )
			limit.done(await Promise.resolve(limit.name).then(reach[limit.name]).then(() => undefined, (error) => error));
	})();
for (const limit of limits)
	test(`beyond ${limit.name}`, { timeout: 30000 }, async () => {
		const error = await results.get(limit.name);
		if (error) throw error;
	});

test('a limit out of its range, or of no such name, is refused at the start', () => {
	for (const limit of limits) {
		assert.equal(run(['serve', '--limit', `${limit.name}=${limit.most + 1}`]).status, 2);
		if (limit.least > 0) assert.equal(run(['serve', '--limit', `${limit.name}=${limit.least - 1}`]).status, 2);
	}
	for (const wrong of ['message_bytes', 'message_bytes=', 'message_bytes=-1', 'message_bytes=1e6', 'message_bytes=5s', 'http_head_ms=5k', 'nothing=1'])
		assert.equal(run(['serve', '--limit', wrong]).status, 2, wrong);
	for (const right of ['message_bytes=5k', 'message_bytes=5m', 'http_head_ms=5s', 'http_head_ms=500ms', 'client_share_percent=20%', 'sessions=5'])
		assert.equal(run(['serve', '--limit', right, '--limit', 'threads=2']).status, 0, right);
});

test('docs/limits.md has the table as it is', () => {
	const path = join(root, 'docs/limits.md');
	const text = readFileSync(path, 'utf8');
	const rows = run(['serve', '--limits']).out.trimEnd().split('\n').slice(1);
	const table = rows.map((row) => {
		const [name, value, range, ...summary] = row.split(/ {2,}/);
		return `| \`${name}\` | ${value} | ${range} | ${summary.join(' ')} |\n`;
	}).join('');
	const [start, end] = ['|---|---|---|---|\n', '<!-- the end of the limits -->\n'];
	const from = text.indexOf(start) + start.length;
	const made = text.slice(0, from) + table + text.slice(text.indexOf(end));

	if (process.env.FW_UPDATE) writeFileSync(path, made);
	else assert.equal(text, made);
});

after(() => setTimeout(() => process.exit(), 500).unref());
