// The gateway in front of a server on standard input and output: results pass as they are, and each failure gets one answer.
// reaches: upstream.exited, upstream.crashed, upstream.garbled, upstream.invalid_reply, upstream.wrong_id, upstream.timeout, transport.connection_refused
// reaches: upstream.start_failed, upstream.cannot_start, upstream.failed, upstream.rate_limited

import test from 'node:test';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, modern } from './lib/mcp.mjs';

process.env.XDG_STATE_HOME = scratch();
const upstream = join(root, 'test/programs/upstream.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const canonical = ({ result, error }) => result?._meta?.['dev.faultwire/error'] ?? error?.data?.['dev.faultwire/error'];

async function started(args = [], capabilities = {}) {
	const wire = new Wire(['gate', ...quiet, '--name', 'up', ...args, '--', 'node', upstream, 'up'], faultwire);
	await wire.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'wire', version: '1' } });
	wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
	return wire;
}

async function ended(wire) {
	wire.child.stdin.end();
	assert.deepEqual(await wire.exit, { status: 0, signal: null });
}

test('a legacy client sees the server behind the gateway', async () => {
	const wire = new Wire(['gate', ...quiet, '--', 'node', upstream, 'up'], faultwire);
	const { result } = await wire.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } });
	assert.deepEqual(result.serverInfo, { name: 'up', version: '1' });
	assert.equal(result.instructions, 'use up');
	assert.deepEqual(Object.keys(result.capabilities), ['tools', 'resources']);
	const list = await wire.request('tools/list', {});
	assert.ok(list.result.tools.some(({ name }) => name === 'wrong_id'));
	assert.deepEqual((await wire.call('ok')).result, { content: [{ type: 'text', text: 'hello from up' }] });
	// Ids beyond 2^53 and unknown methods pass untouched.
	wire.send('{"jsonrpc":"2.0","id":9007199254740993,"method":"own/method","params":{"n":1}}\n');
	assert.deepEqual((await wire.next(({ result: got }) => got?.params)).result, { params: { n: 1 } });
	assert.ok(wire.raw.at(-1).includes('"id":9007199254740993'));
	await ended(wire);
});

test('requests that follow initialize at once are answered, also at the end of input', async () => {
	const wire = new Wire(['gate', ...quiet, '--', 'node', upstream, 'up'], faultwire);
	const line = (id, method, params) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
	wire.child.stdin.end(
		line(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } }) +
			line(undefined, 'notifications/initialized') +
			line(2, 'tools/list', {}) +
			line(3, 'tools/call', { name: 'ok', arguments: {} }),
	);
	assert.ok((await wire.next(({ id }) => id === 2)).result.tools.length);
	assert.equal((await wire.next(({ id }) => id === 3)).result.content[0].text, 'hello from up');
	assert.deepEqual(await wire.exit, { status: 0, signal: null });
});

test('a modern client uses a legacy server', async () => {
	const wire = new Wire(['gate', ...quiet, '--', 'node', upstream, 'up'], faultwire);
	const meta = { _meta: modern };
	assert.deepEqual((await wire.request('server/discover', meta)).result.supportedVersions, ['2026-07-28']);
	const { result } = await wire.request('tools/call', { name: 'ok', ...meta });
	assert.deepEqual([result.resultType, result.content[0].text], ['complete', 'hello from up']);
	assert.equal(canonical(await wire.request('tools/call', { name: 'exit', ...meta })).code, 'upstream.exited');
	assert.equal((await wire.request('tools/call', { name: 'ok', ...meta })).result.resultType, 'complete');
	await ended(wire);
});

// tool, code, origin, delivery, retry
const failures = [
	['flat', 'upstream.rate_limited', 'upstream', 'replied', 'backoff'],
	['envelope', 'cache.missing', undefined, 'replied', undefined],
	['empty', 'upstream.failed', 'upstream', 'replied', 'never'],
	['rpc', 'transport.connection_refused', 'upstream', 'replied', 'backoff'],
	['exit', 'upstream.exited', 'upstream', 'sent', 'backoff'],
	['crash', 'upstream.crashed', 'upstream', 'sent', 'backoff'],
	['cut', 'upstream.garbled', 'upstream', 'replied', 'never'],
	['garbage', 'upstream.garbled', 'upstream', 'replied', 'never'],
	['latin', 'upstream.garbled', 'upstream', 'replied', 'never'],
	['wrong_id', 'upstream.wrong_id', 'upstream', 'replied', 'never'],
	['text_id', 'upstream.wrong_id', 'upstream', 'replied', 'never'],
	['neither', 'upstream.invalid_reply', 'upstream', 'replied', 'never'],
	['both', 'upstream.invalid_reply', 'upstream', 'replied', 'never'],
	['no_object', 'upstream.invalid_reply', 'upstream', 'replied', 'never'],
	['no_content', 'upstream.invalid_reply', 'upstream', 'replied', 'never'],
	['batch', 'upstream.invalid_reply', 'upstream', 'replied', 'never'],
	['trace', 'upstream.garbled', 'upstream', 'sent', 'never'],
];

test('each failure has one answer with its code, and the next call works', async () => {
	const wire = await started();
	for (const [tool, code, origin, delivery, retry] of failures) {
		const reply = await wire.call(tool);
		const error = canonical(reply);
		assert.equal(error?.code, code, tool);
		assert.equal(error.delivery, delivery, tool);
		if (origin) assert.equal(error.origin, origin, tool);
		if (retry) assert.equal(error.retry, retry, tool);
		assert.equal((await wire.call('ok')).result.content[0].text, 'hello from up', tool);
	}
	assert.ok(!wire.messages.some(({ id }) => id !== undefined), 'no second answer');
	await ended(wire);
});

test('the failure of a tool keeps its text, and a chosen contract replaces it', async () => {
	const wire = await started();
	const flat = await wire.call('flat');
	assert.equal(flat.result.content[0].text, 'Error: rate limit exceeded, retry after 7 seconds');
	assert.equal(canonical(flat).retry_after, 7);
	const rpc = await wire.call('rpc');
	assert.deepEqual([rpc.error.code, rpc.error.message, rpc.error.data.port], [-32000, 'connect ECONNREFUSED 127.0.0.1:5432', 5432]);
	const kaiza = await wire.call('flat', undefined, { 'dev.faultwire/contract': 'kaiza' });
	assert.ok(JSON.parse(kaiza.result.content[0].text).error_code);
	await ended(wire);
});

test('a silent server is cancelled at the deadline', async () => {
	const wire = await started(['--deadline', '1']);
	const error = canonical(await wire.call('silence'));
	assert.deepEqual([error.code, error.delivery, error.context.timeout_ms <= 1000], ['upstream.timeout', 'sent', true]);
	assert.equal((await wire.call('ok')).result.content[0].text, 'hello from up');
	await ended(wire);
});

test('banners, log lines and second answers do not disturb', async () => {
	const wire = await started();
	assert.equal((await wire.call('banner')).result.content[0].text, 'after the banner');
	assert.equal((await wire.call('twice')).result.content[0].text, 'first');
	assert.equal((await wire.call('ok')).result.content[0].text, 'hello from up');
	assert.equal((await wire.call('large')).result.content[0].text.length, 3 * 1024 * 1024);
	await ended(wire);
});

test('progress has the token of the client', async () => {
	const wire = await started();
	await wire.call('progress', {}, { progressToken: 'mine' });
	const { params } = await wire.next(({ method }) => method === 'notifications/progress');
	assert.deepEqual(params, { progress: 1, total: 2, extra: true, progressToken: 'mine' });
	await ended(wire);
});

test('a question of the server reaches the client, or is refused for it', async () => {
	const wire = await started([], { elicitation: {} });
	wire.send({ jsonrpc: '2.0', id: 'call', method: 'tools/call', params: { name: 'ask' } });
	const question = await wire.next(({ method }) => method === 'elicitation/create');
	assert.equal(question.params.message, 'Who?');
	wire.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'me' } } });
	assert.equal((await wire.reply('call')).result.content[0].text, '{"action":"accept","content":{"name":"me"}}');
	await ended(wire);
	const other = await started();
	assert.equal(JSON.parse((await other.call('ask')).result.content[0].text).code, -32601);
	await ended(other);
});

test('a cancelled call is cancelled upstream and gets no answer', async () => {
	const wire = await started();
	wire.send({ jsonrpc: '2.0', id: 'never', method: 'tools/call', params: { name: 'silence' } });
	wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'never' } });
	assert.equal((await wire.call('ok')).result.content[0].text, 'hello from up');
	assert.ok(!wire.messages.some(({ id }) => id === 'never'));
	await ended(wire);
});

test('a program gets only the environment that is named, and standard error stays private', async () => {
	process.env.FW_TEST_SECRET = 'not for servers';
	process.env.FW_TEST_NAMED = 'named';
	const wire = await started(['--env', 'FW_TEST_NAMED', '--env', 'FW_TEST_GIVEN=given']);
	const env = JSON.parse((await wire.call('env')).result.content[0].text);
	assert.deepEqual([env.FW_TEST_SECRET, env.FW_TEST_NAMED, env.FW_TEST_GIVEN], [undefined, 'named', 'given']);
	assert.deepEqual(JSON.parse((await wire.call('args')).result.content[0].text), ['up']);
	assert.ok(!JSON.stringify(await wire.call('exit')).includes('last words'));
	await ended(wire);
	const open = await started(['--expose-stderr']);
	const shown = JSON.stringify(await open.call('exit'));
	assert.ok(shown.includes('last words') && !shown.includes('hunter2secret'));
	await ended(open);
});

test('a program that does not exist, or that ends at once, is an answer to each call', async () => {
	for (const [command, code, retry, reason] of [
		[['/nonexistent/server'], 'upstream.cannot_start', 'never', /not found|No such file|does not exist/i],
		[['/etc/passwd'], 'upstream.cannot_start', 'never', /permission denied/],
		[['/etc/passwd/server'], 'upstream.cannot_start', 'never', /path does not exist/],
		[['false'], 'upstream.start_failed', 'backoff', /exited with status 1/],
	]) {
		const wire = new Wire(['gate', ...quiet, '--name', 'up', '--', ...command], faultwire);
		const hello = await wire.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } });
		assert.ok(hello.result.capabilities.tools);
		const error = canonical(await wire.call('ok'));
		assert.deepEqual([error.code, error.delivery, error.retry], [code, 'not_sent', retry]);
		assert.match(error.message, reason);
		await ended(wire);
	}
});

test('the program ends with the gateway, also after kill -9', async () => {
	const wire = await started();
	const pid = Number((await wire.call('pid')).result.content[0].text);
	process.kill(wire.child.pid, 'SIGKILL');
	await wire.exit;
	for (let i = 0; i < 100; i++) {
		try {
			process.kill(pid, 0);
		} catch {
			return;
		}
		await new Promise((done) => setTimeout(done, 50));
	}
	assert.fail('the program still runs');
});
