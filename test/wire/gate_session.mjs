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

test('a session that is lost is renewed, also if the server says so with status 200 or 401', async () => {
	const lost = JSON.stringify({ error: 'Session not found' });
	const says = {
		body: (res) => res.writeHead(200, { 'content-type': 'application/json' }).end(lost),
		unauthorized: (res) => res.writeHead(401).end('Unauthorized: Session not found'),
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

// A legacy server with sessions s1, s2, ...; `first` as in web().
async function sessions(call, first = () => false) {
	const begun = [];
	const server = await web(call, (req, res, message) => {
		if (message.method !== 'initialize') return first(req, res, message);
		begun.push(`s${begun.length + 1}`);
		const hello = () => json(res, message.id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }, 200, { 'mcp-session-id': begun.at(-1) });
		if (!first(req, res, message, hello)) hello();
		return true;
	});
	wire = new Wire(['gate', ...quiet, '--log', 'off', '--era', 'legacy', '--url', server.url], faultwire);
	wire.patience = 20000;
	await wire.initialize();
	return { begun, stop: async () => (await end(), server.stop()) };
}
const events = (res, ...blocks) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write(blocks.map((block) => `${block}\n\n`).join(''));

test('several calls fail because their session is lost, and are all sent again in one new session', async () => {
	const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
	for (const text404 of ['', body]) {
		const late = {};
		let calls = 0;
		const server = await sessions(
			(req, res, { id, params }) => {
				const session = req.headers['mcp-session-id'];
				if (session !== 's1') return void words(res, id, `${params.name} in ${session}`);
				const lost = () => res.writeHead(404, { 'content-type': 'application/json' }).end(text404);
				calls++;
				if (params.name === 'first') until(() => calls === 3, 'the other calls').then(lost);
				else late[params.name] = lost;
			},
			(req, res, { method }, hello) => {
				if (method !== 'initialize' || !late.during) return false;
				// This answer should come while no session is known; the outcome is the same if it is late.
				late.during();
				setTimeout(hello, 100);
				return true;
			},
		);
		const answers = ['during', 'after', 'first'].map((name) => wire.call(name));
		assert.deepEqual([text(await answers[0]), text(await answers[2])], ['during in s2', 'first in s2']);
		late.after();
		assert.equal(text(await answers[1]), 'after in s2');
		assert.deepEqual(server.begun, ['s1', 's2']);
		await server.stop();
	}
});

test('a call whose answer had begun runs once, although the session is gone when its stream is resumed or goes on', async () => {
	const ways = {
		resumed: { call: (res) => (events(res, 'id: 1\nretry: 1\ndata:'), res.end()), code: 'upstream.closed', delivery: 'sent' },
		goes_on: { call: (res) => (events(res, `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'begun' } })}`, 'data: {"error":"Session not found"}'), res.end()), code: 'upstream.invalid_reply', delivery: 'replied' },
	};
	for (const [how, { call, code, delivery }] of Object.entries(ways)) {
		let runs = 0;
		const server = await sessions(
			(req, res) => (runs++, call(res)),
			(req, res, { method }) => req.method === 'GET' && Boolean(res.writeHead(req.headers['last-event-id'] ? 404 : 405).end(method)),
		);
		const error = canonical(await wire.call('t'));
		assert.deepEqual([error.code, error.delivery, runs, server.begun], [code, delivery, 1, ['s1']], how);
		await server.stop();
	}
});

test('a stream that cannot be resumed says that the call was sent, whatever the server answers', async () => {
	const refusal = JSON.stringify({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
	for (const [status, body] of [[400, 'no'], [400, refusal], [401, 'no'], [404, refusal], [405, 'no'], [429, 'no'], [500, refusal], [503, 'no']]) {
		let runs = 0;
		const server = await sessions(
			(req, res) => (runs++, events(res, 'id: 1\nretry: 1\ndata:'), res.end()),
			(req, res) => req.method === 'GET' && Boolean(res.writeHead(req.headers['last-event-id'] ? status : 405, { 'content-type': 'application/json' }).end(body)),
		);
		const error = canonical(await wire.call('t'));
		assert.deepEqual([error.code, error.delivery, runs], ['upstream.closed', 'sent', 1], `${status} ${body}`);
		await server.stop();
	}
});

test('the GET stream of a lost session is opened in the new one, and not resumed there', async () => {
	for (const ends of [true, false]) {
		const asked = [];
		let isLost = false;
		const server = await sessions(
			(req, res, { id }) => (isLost && req.headers['mcp-session-id'] === 's1' ? res.writeHead(404).end() : words(res, id, 'fine')),
			(req, res) => {
				if (req.method !== 'GET') return false;
				asked.push([req.headers['mcp-session-id'], req.headers['last-event-id']]);
				events(res, 'id: 7\nretry: 30000\ndata:');
				if (ends && asked.length === 1) res.end();
				return true;
			},
		);
		await until(() => asked.length, 'the GET stream');
		assert.equal(text(await wire.call('a')), 'fine');
		isLost = true;
		assert.equal(text(await wire.call('b')), 'fine');
		await until(() => asked.length > 1, 'the GET stream of the new session');
		assert.deepEqual(asked, [['s1', undefined], ['s2', undefined]], `${ends}`);
		await server.stop();
	}
});
