// Servers of both eras, and of one, behind the gateway: each client is served in its own era if the server has it.

import test from 'node:test';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, modern, text } from './lib/mcp.mjs';
import { served } from './lib/served.mjs';
import { until } from './lib/govern.mjs';

process.env.XDG_STATE_HOME = scratch();
const asker = join(root, 'test/programs/asker.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
let server;
let number = 0;

test.afterEach(() => server?.child.kill());
const start = async (era, ...more) => (server = await served(faultwire, ['gate', '--audit', 'off', '--incidents', 'off', ...more, '--http', '127.0.0.1:0', '--', 'node', asker, era]));

async function post(server, message, more) {
	const reply = await fetch(server.url, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
	const body = await reply.text();
	const json = body.startsWith('{') ? body : body.split('\n').findLast((line) => line.startsWith('data: {'))?.slice(6);
	return { session: reply.headers.get('mcp-session-id'), ...(json && JSON.parse(json)) };
}

// Clients of the HTTP front: functions that call a tool.
async function legacyClient(server) {
	const params = { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'old', version: '1' } };
	const { session } = await post(server, { id: ++number, method: 'initialize', params });
	const own = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
	await post(server, { method: 'notifications/initialized' }, own);
	return (name, method = 'tools/call', params = { name, arguments: {} }) => post(server, { id: ++number, method, params }, own);
}

const modernClient = (server) => (name) =>
	post(server, { id: ++number, method: 'tools/call', params: { name, arguments: {}, _meta: modern } }, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name });

const words = async (reply) => text(await reply).split(' ');

// Processes of the server that descend from the gateway.
function processes({ child }) {
	const parents = new Map(readdirSync('/proc').filter(Number).map((pid) => {
		try {
			return [Number(pid), [Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]), readFileSync(`/proc/${pid}/cmdline`, 'utf8')]];
		} catch {
			return [0, [0, '']];
		}
	}));
	const isOurs = (pid) => pid === child.pid || (parents.has(pid) && pid > 1 && isOurs(parents.get(pid)[0]));
	return [...parents].filter(([pid, [, command]]) => command.startsWith('node\0') && command.includes(asker) && isOurs(pid)).map(([pid]) => pid);
}

test('a server of both eras serves each client over HTTP in its own', async () => {
	await start('both');
	const [young, old, other] = [modernClient(server), await legacyClient(server), await legacyClient(server)];
	const [era, pid] = await words(young('era'));
	assert.equal(era, 'modern');
	const [second, secondPid] = await words(old('era'));
	assert.equal(second, 'legacy');
	assert.notEqual(secondPid, pid);
	// One second connection serves all legacy clients, and the first one stays.
	assert.deepEqual(await words(other('era')), ['legacy', secondPid]);
	assert.deepEqual(await words(young('era')), ['modern', pid]);
	// The list of tools is one for all.
	assert.ok((await old(undefined, 'tools/list')).result.tools.some(({ name }) => name === 'state_only'));
	assert.deepEqual(processes(server).sort(), [Number(pid), Number(secondPid)].sort());
	// Each connection is made again on its own.
	process.kill(Number(secondPid), 'SIGKILL');
	await until(async () => (await words(old('era').then((reply) => (reply.result?.isError ? { result: { content: [{ text: '- -' }] } } : reply))))[0] === 'legacy', 'a legacy connection');
	assert.deepEqual(await words(young('era')), ['modern', pid]);
	await server.stop();
	assert.deepEqual(processes(server), []);
});

test('a modern server that refuses initialize serves legacy clients by its first connection', async () => {
	await start('modern');
	const [young, old] = [modernClient(server), await legacyClient(server)];
	const [era, pid] = await words(young('era'));
	assert.equal(era, 'modern');
	const replies = await Promise.all([old('era'), old('era'), old('era')]);
	for (const reply of replies) assert.equal(text(reply), `modern ${pid}`);
	await until(async () => processes(server).length === 1, 'the end of the second process');
	// What legacy clients subscribe to is asked for by the first connection.
	assert.deepEqual((await old(undefined, 'resources/subscribe', { uri: 'x:///a' })).result, {});
	assert.equal(text(await young('listens')), '["x:///a"]');
	await server.stop();
});

test('the operator can choose one era for all clients', async () => {
	await start('both', '--era', 'modern');
	assert.equal((await words((await legacyClient(server))('era')))[0], 'modern');
	assert.equal(processes(server).length, 1);
	await server.stop();
});

test('one client over stdio decides the era of a server of both, with one process', async () => {
	for (const [era, expected] of [['both', 'legacy'], ['legacy', 'legacy'], ['modern', 'modern']]) {
		const wire = new Wire(['gate', ...quiet, '--', 'node', asker, era], faultwire);
		await wire.initialize();
		assert.equal((await words(wire.call('era')))[0], expected, era);
		assert.equal(processes(wire).length, 1);
		assert.equal((await wire.end()).status, 0);
	}
	for (const [era, expected] of [['both', 'modern'], ['legacy', 'legacy'], ['modern', 'modern']]) {
		const wire = new Wire(['gate', ...quiet, '--', 'node', asker, era], faultwire);
		assert.equal((await words(wire.request('tools/call', { name: 'era', _meta: modern })))[0], expected, era);
		assert.equal((await wire.end()).status, 0);
	}
});
