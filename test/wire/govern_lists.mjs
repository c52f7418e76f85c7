// Lists show a client what its scopes let it use, and streams end with their token: in
// `serve` and in `gate`, by MCP of both eras and by the API.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin } from './lib/cli.mjs';
import { Place, ask, method, until } from './lib/govern.mjs';

const place = new Place('lists');
const everything = join(dirname(bin), 'examples/everything');
let server, gate, reader, one, set, boss, watcher;

before(async () => {
	reader = place.token('reader', 'read');
	one = place.token('one', 'tool:explain_error_code', 'tool:test_simple_text');
	set = place.token('set', 'toolset:reserve', 'toolset:inner');
	watcher = place.token('watcher', 'incidents');
	boss = place.token('boss', 'admin');
	server = await place.start('serve', '--tools', 'diag,reserve', '--tokens', '--log', 'off');
	gate = await place.start('gate', '--tokens', '--log', 'off', '--name', 'inner', '--', everything);
});
after(() => place.end());

const list = async (to, what, token, member = what) => {
	const reply = await method(to, `${what}/list`, {}, {}, { token });
	assert.equal(reply.status, 200, reply.text);
	return reply.json.result[member].map((item) => item.name ?? item.uri);
};
const page = async (to, token) => (await ask(to, '/api/v1/tools', { token })).json.tools.map((tool) => tool.name);

test('tools that a client may not call are in no list', async () => {
	const all = await list(server, 'tools', boss);
	assert.ok(all.includes('raise_error') && all.includes('reserve_files'), String(all));
	const ours = all.filter((name) => /reserv|release|conflicts/.test(name));
	assert.deepEqual(await list(server, 'tools', one), ['explain_error_code']);
	assert.deepEqual((await list(server, 'tools', set)).sort(), ours.sort());
	assert.deepEqual(await list(server, 'tools', watcher), []);
	const readable = await list(server, 'tools', reader);
	assert.ok(readable.includes('check_conflicts') && !readable.includes('reserve_files'), String(readable));
	for (const token of [one, set, watcher, reader, boss]) {
		assert.deepEqual(await page(server, token), await list(server, 'tools', token));
		const paths = Object.keys((await ask(server, '/openapi.json', { token })).json.paths);
		const described = paths.filter((path) => /^\/api\/v1\/tools\/[a-z_]+$/.test(path)).map((path) => path.split('/').at(-1));
		assert.deepEqual(described, await list(server, 'tools', token));
	}
	assert.equal((await ask(server, '/api/v1/tools/raise_error', { token: one })).status, 404);
	assert.equal((await ask(server, '/api/v1/tools/explain_error_code', { token: one })).status, 200);
});

test('a legacy session gets the same list', async () => {
	const headers = { Accept: 'application/json, text/event-stream' };
	const begin = await ask(server, '/mcp', {
		token: one, headers,
		body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } } },
	});
	const session = { ...headers, 'Mcp-Session-Id': begin.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-06-18' };
	await ask(server, '/mcp', { token: one, headers: session, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
	const reply = await ask(server, '/mcp', { token: one, headers: session, body: { jsonrpc: '2.0', id: 2, method: 'tools/list' } });
	assert.deepEqual(reply.json.result.tools.map((tool) => tool.name), ['explain_error_code']);
});

test('a gateway filters the lists of its upstream', async () => {
	const all = await list(gate, 'tools', boss);
	assert.ok(all.length > 5, String(all));
	assert.deepEqual(await list(gate, 'tools', set), all);
	assert.deepEqual(await list(gate, 'tools', one), ['test_simple_text']);
	// A gateway does not trust an upstream to say which of its tools change nothing.
	assert.deepEqual(await list(gate, 'tools', reader), []);
	assert.deepEqual(await page(gate, one), ['test_simple_text']);
	for (const [what, member] of [['resources'], ['prompts'], ['resources/templates', 'resourceTemplates']]) {
		const names = await list(gate, what, boss, member);
		assert.ok(names.length > 0, what);
		assert.deepEqual(await list(gate, what, reader, member), names);
		assert.deepEqual(await list(gate, what, one, member), [], what);
	}
});

// ---- streams ----

// Reads a stream to its end.
async function open(to, path, token, { headers = {}, body } = {}) {
	const control = new AbortController();
	const reply = await fetch(to.url + path, {
		signal: control.signal,
		method: body ? 'POST' : 'GET',
		headers: { Accept: body ? 'application/json, text/event-stream' : 'text/event-stream', Authorization: `Bearer ${token}`, ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
		body: body && JSON.stringify(body),
	});
	const stream = { text: '', isOpen: true, isCut: false };
	assert.equal(reply.status, 200);
	stream.end = (async () => {
		const decoder = new TextDecoder();
		for await (const bytes of reply.body) stream.text += decoder.decode(bytes, { stream: true });
		stream.isOpen = false;
	})().catch((err) => {
		if (!stream.isCut) throw err;
	});
	stream.cut = () => {
		stream.isCut = true;
		control.abort();
	};
	return stream;
}

// One stream of each kind.
async function openAll(to, token) {
	const legacy = { Accept: 'application/json, text/event-stream' };
	const begin = await ask(to, '/mcp', {
		token, headers: legacy,
		body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } },
	});
	const session = { 'Mcp-Session-Id': begin.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-11-25' };
	await ask(to, '/mcp', { token, headers: { ...legacy, ...session }, body: { jsonrpc: '2.0', method: 'notifications/initialized' } });
	const listen = {
		jsonrpc: '2.0', id: 'listener', method: 'subscriptions/listen',
		params: {
			notifications: { toolsListChanged: true },
			_meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} },
		},
	};
	return {
		get: await open(to, '/mcp', token, { headers: session }),
		listener: await open(to, '/mcp', token, { body: listen, headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' } }),
		events: await open(to, '/api/v1/events', token),
	};
}

const ends = (streams) => Promise.all(Object.values(streams).map((stream) => stream.end));

test('streams end when their token is revoked, those of others do not', async () => {
	for (const to of [server, gate]) {
		const name = to === server ? 'leaver' : 'quitter';
		const token = place.token(name, 'admin');
		await until(async () => (await ask(to, '/api/v1/tools', { token })).status === 200, 'the new token');
		const others = await openAll(to, boss);
		const streams = await openAll(to, token);
		await until(() => streams.listener.text.includes('acknowledged') && streams.events.text.includes('ready'), 'the streams');
		place.faultwire('token', 'revoke', name);
		await ends(streams);
		// The last message to a listener is the result of its call.
		assert.match(streams.listener.text, /"id":"listener"/);
		assert.equal((await ask(to, '/api/v1/tools', { token })).status, 401);
		// A change of the tokens that has passed by leaves others as they are.
		for (const other of Object.values(others)) {
			assert.ok(other.isOpen);
			other.cut();
		}
	}
});

test('streams end when their token expires; tokens of others may come and go', async () => {
	const token = place.faultwire('token', 'new', 'brief', '--scope', 'admin', '--expires', '6s').trim();
	await until(async () => (await ask(server, '/api/v1/tools', { token })).status === 200, 'the new token');
	const streams = await openAll(server, token);
	const late = place.token('late', 'read');
	await until(async () => (await ask(server, '/api/v1/tools', { token: late })).status === 200, 'another token');
	await ends(streams);
	assert.equal((await ask(server, '/api/v1/tools', { token })).status, 401);
});

// A server whose tool says that it has begun, and ends on request.
const slow = `
	import { existsSync, writeFileSync } from 'node:fs';
	import { createInterface } from 'node:readline';
	const [, , begun, go] = process.argv;
	const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
	createInterface({ input: process.stdin }).on('line', (line) => {
		const { id, method } = JSON.parse(line);
		if (method === 'initialize') reply(id, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } });
		else if (method === 'tools/list') reply(id, { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] });
		else if (method === 'tools/call') {
			writeFileSync(begun, '');
			setInterval(() => existsSync(go) && (reply(id, { content: [{ type: 'text', text: 'done' }] }), process.exit()), 20);
		} else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: method } }));
	}).on('close', () => process.exit());
`;

test('a call in progress is answered though its token is revoked', async () => {
	const script = place.file('slow.mjs'), begun = place.file('begun'), go = place.file('go');
	writeFileSync(script, slow);
	const token = place.token('busy', 'admin');
	const around = await place.start('gate', '--tokens', '--log', 'off', '--', process.execPath, script, begun, go);
	const call = method(around, 'tools/call', { name: 'slow', arguments: {} }, { 'Mcp-Name': 'slow' }, { token });
	await until(() => existsSync(begun), 'the call');
	place.faultwire('token', 'revoke', 'busy');
	await until(async () => (await ask(around, '/api/v1/tools', { token })).status === 401, 'the end of the token');
	writeFileSync(go, '');
	const reply = await call;
	assert.equal(reply.status, 200, reply.text);
	assert.match(reply.text, /done/);
});
