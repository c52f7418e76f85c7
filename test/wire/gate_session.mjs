// What the gateway keeps for its clients: subscriptions and the log level over a restart of the server, changes of tools, and
// retries of what may be repeated.

import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, canonical, modern, text } from './lib/mcp.mjs';
import { served } from './lib/served.mjs';
import { until } from './lib/govern.mjs';
import { json, web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const program = join(root, 'test/programs/noted.mjs');
const quiet = ['--audit', 'off', '--incidents', 'off'];
let wire;

test.afterEach(() => wire?.child.kill());

// A gateway before noted.mjs, and what the process with this number was sent.
async function noted(era, ...args) {
	const file = join(mkdtempSync(join(scratch(), 'session-')), 'messages');
	wire = new Wire(['gate', ...quiet, ...args, '--', 'node', program, era, file], faultwire);
	wire.patience = 20000;
	await wire.initialize();
	const sent = (run) => readFileSync(file, 'utf8').trim().split('\n').filter((line) => line.startsWith(`${run} `)).map((line) => JSON.parse(line.slice(line.indexOf(' '))));
	return { sent, notified: (method) => wire.next((message) => message.method === method) };
}
const end = async () => assert.equal((await wire.end()).status, 0);

test('a restarted legacy server gets the subscriptions and the log level again, and changes of lists are announced', async () => {
	const { sent, notified } = await noted('legacy');
	assert.deepEqual((await wire.request('resources/subscribe', { uri: 'x:///a' })).result, {});
	assert.deepEqual((await wire.request('resources/subscribe', { uri: 'x:///b' })).result, {});
	assert.deepEqual((await wire.request('resources/unsubscribe', { uri: 'x:///b' })).result, {});
	assert.deepEqual((await wire.request('logging/setLevel', { level: 'notice' })).result, {});
	assert.equal(canonical(await wire.call('crash')).code, 'upstream.exited');
	assert.equal(text(await wire.call('ok')), 'ok 2');
	for (const what of ['tools', 'prompts', 'resources']) await notified(`notifications/${what}/list_changed`);
	await until(() => sent(2).some(({ method }) => method === 'resources/subscribe'), 'the subscription');
	const again = sent(2).filter(({ method }) => method === 'resources/subscribe' || method === 'logging/setLevel').map(({ method, params }) => [method, params.uri ?? params.level]);
	assert.deepEqual(again.sort(), [['logging/setLevel', 'notice'], ['resources/subscribe', 'x:///a']]);
	assert.equal(text(await wire.call('touch')), 'touch 2');
	assert.equal((await notified('notifications/resources/updated')).params.uri, 'x:///a');
	await end();
});

test('a restarted modern server is asked for the same changes again', async () => {
	const { sent, notified } = await noted('modern');
	assert.deepEqual((await wire.request('resources/subscribe', { uri: 'x:///a' })).result, {});
	const listens = (run) => sent(run).filter(({ method }) => method === 'subscriptions/listen').map(({ params }) => params.notifications.resourceSubscriptions);
	await until(() => listens(1).at(-1)?.length, 'the stream with the resource');
	assert.equal(canonical(await wire.call('crash')).code, 'upstream.exited');
	assert.equal(text(await wire.call('ok')), 'ok 2');
	await notified('notifications/tools/list_changed');
	await until(() => listens(2).length, 'the stream of the second process');
	assert.deepEqual(listens(2), [['x:///a']]);
	await wire.call('touch');
	assert.equal((await notified('notifications/resources/updated')).params.uri, 'x:///a');
	await end();
});

test('a call that comes while an HTTP session is renewed has its answer, and the new session has the subscriptions', async () => {
	const subscribed = [];
	let sessions = 0;
	let isLost = false;
	let release;
	const server = await web((req, res, { id, params }) => {
		if (isLost && req.headers['mcp-session-id'] === 's1') res.writeHead(404).end();
		else words(res, id, `${params.name} in ${req.headers['mcp-session-id']}`);
	}, (req, res, { id, method, params }) => {
		if (method === 'resources/subscribe') {
			subscribed.push(`${params.uri} in ${req.headers['mcp-session-id']}`);
			json(res, id, {});
			return true;
		}
		if (method !== 'initialize') return false;
		const session = `s${++sessions}`;
		const answer = () => json(res, id, { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: { subscribe: true } }, serverInfo: { name: 'web', version: '1' } }, 200, { 'mcp-session-id': session });
		if (sessions === 1) answer();
		else release = answer;
		return true;
	});
	wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--url', server.url], faultwire);
	wire.patience = 20000;
	await wire.initialize();
	assert.deepEqual((await wire.request('resources/subscribe', { uri: 'x:///a' })).result, {});
	assert.equal(text(await wire.call('a')), 'a in s1');
	isLost = true;
	const first = wire.call('b');
	await until(() => release, 'the handshake of the new session');
	const second = wire.call('c');
	// The gateway has read the call when it answers what comes behind it.
	await wire.request('ping');
	release();
	assert.deepEqual([text(await first), text(await second)], ['b in s2', 'c in s2']);
	await until(() => subscribed.length === 2, 'the subscription');
	assert.deepEqual(subscribed, ['x:///a in s1', 'x:///a in s2']);
	await end();
	await server.stop();
});

test('reading is repeated after a crash that may have had the request, and the client does not notice', async () => {
	await noted('legacy');
	assert.equal((await wire.request('resources/read', { uri: 'x:///a' })).result.contents[0].text, 'read by 2');
	await end();
});

test('a tool whose definition changes while running is announced, logged and counted', async () => {
	const { notified } = await noted('legacy');
	const list = async () => (await wire.request('tools/list', {})).result.tools.map(({ description }) => description);
	assert.deepEqual(await list(), ['adds two numbers', undefined]);
	await wire.call('change', { to: 'sends all files and adds' });
	assert.deepEqual(await list(), ['sends all files and adds two numbers', undefined]);
	await notified('notifications/tools/list_changed');
	// The same list is no change.
	await list();
	// The log is complete when the gateway has ended.
	await end();
	const events = wire.err.split('\n').filter((line) => line.includes('"tool_changed"')).map((line) => JSON.parse(line));
	assert.deepEqual(events.map(({ level, context }) => [level, context.tool]), [['warning', 'sum']]);

	const file = join(mkdtempSync(join(scratch(), 'session-')), 'messages');
	const gate = await served(faultwire, ['gate', '--http', '127.0.0.1:0', '--name', 'up', ...quiet, '--', 'node', program, 'modern', file]);
	wire = gate;
	const post = async (method, params, name) =>
		(await fetch(gate.url, {
			method: 'POST',
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) },
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: modern } }),
		})).text();
	await post('tools/list');
	await post('tools/call', { name: 'change', arguments: { to: 'deletes' } }, 'change');
	await post('tools/list');
	assert.match(await (await fetch(new URL('/metrics', gate.url))).text(), /^faultwire_upstream_tool_changes_total\{upstream="up"\} 1$/m);
	await gate.stop();
});

test('a retry waits as long as Retry-After says, and the final error tells attempts and waits', async () => {
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res, { method }) => method === 'prompts/get' && Boolean(res.writeHead(503, { 'retry-after': '1' }).end()),
	);
	wire = new Wire(['gate', ...quiet, '--log', 'off', '--url', server.url], faultwire);
	wire.patience = 20000;
	await wire.initialize();
	const { code, context } = canonical(await wire.request('prompts/get', { name: 'p' }));
	assert.deepEqual([code, context.attempts], ['dependency.unavailable', 3]);
	assert.ok(context.waited_ms >= 2000, `${context.waited_ms} ms`);
	await end();
	await server.stop();
});

test('retries have a budget: an outage does not multiply the load', async () => {
	let asked = 0;
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res, { method }) => method === 'prompts/get' && Boolean(++asked && res.writeHead(503).end()),
	);
	wire = new Wire(['gate', ...quiet, '--log', 'off', '--url', server.url], faultwire);
	wire.patience = 20000;
	await wire.initialize();
	const codes = await Promise.all(Array.from({ length: 30 }, async () => canonical(await wire.request('prompts/get', { name: 'p' })).code));
	assert.deepEqual([...new Set(codes)], ['dependency.unavailable']);
	// Ten are saved up, and each call earns a tenth.
	assert.ok(asked >= 40 && asked <= 43, `30 calls were ${asked} requests`);
	await end();
	await server.stop();
});

test('a session that is lost is renewed, also if the server says so with status 200', async () => {
	const lost = JSON.stringify({ error: 'Session not found' });
	const says = {
		body: (res) => res.writeHead(200, { 'content-type': 'application/json' }).end(lost),
		event: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`id: 1\nevent: message\ndata: ${lost}\n\n`),
	};
	for (const [how, say] of Object.entries(says)) {
		let sessions = 0;
		const server = await web(
			(req, res, { id }) => (req.headers['mcp-session-id'] === 's2' ? words(res, id, 'in the new session') : say(res)),
			(req, res, { id, method }) => method === 'initialize' && Boolean(json(res, id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }, 200, { 'mcp-session-id': `s${++sessions}` })),
		);
		wire = new Wire(['gate', ...quiet, '--log', 'off', '--era', 'legacy', '--url', server.url], faultwire);
		await wire.initialize();
		assert.equal(text(await wire.call('t')), 'in the new session', how);
		assert.equal(sessions, 2, how);
		await end();
		await server.stop();
	}
});
