// What may be called depends on lists of tools: before they were read, when they change, and when they cannot be read.

// reaches: upstream.tool_changed, upstream.cannot_start

import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';

process.env.XDG_STATE_HOME = scratch();
const lister = join(root, 'test/programs/lister.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } };
const place = () => mkdtempSync(join(scratch(), 'lists-'));
const tools = (...lines) => {
	const file = join(place(), 'tools');
	writeFileSync(file, lines.join('\n'));
	return file;
};
const server = (name, file, more) => ({ command: 'node', args: [lister, name, ...(file ? [file] : [])], ...more });
const gone = { command: '/nonexistent/server' };

async function started(servers, ...args) {
	const config = join(place(), 'mcp.json');
	writeFileSync(config, JSON.stringify({ mcpServers: servers }));
	const wire = new Wire(['gate', ...quiet, ...args, '--config', config], faultwire);
	wire.hello = await wire.request('initialize', hello);
	wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
	return wire;
}

const ended = async (wire) => assert.equal((await wire.end()).status, 0);

test('a tool that is denied, or not allowed, does not run by its prefixed name before the first list', async () => {
	for (const rule of [{ deny: ['first'] }, { allow: ['change'] }]) {
		const one = await started({ a: server('a', undefined, { faultwire: rule }) });
		assert.equal(canonical(await one.call('a__first')).code, 'protocol.unknown_tool');
		assert.equal(text(await one.call('a__change')), 'a ran change');
		assert.equal(canonical(await one.call('a__first')).code, 'protocol.unknown_tool');
		await ended(one);
	}
	const two = await started({ a: server('a', undefined, { faultwire: { deny: ['first'] } }), b: server('b') });
	assert.equal(canonical(await two.call('a__first')).code, 'protocol.unknown_tool');
	assert.equal(text(await two.call('b__first')), 'b ran first');
	await ended(two);
});

test('a pinned tool that differs does not run before the first list, after a change, or after a restart', async () => {
	const file = tools('first', 'second');
	const pins = join(place(), 'pins.json');
	const servers = { a: server('a', file) };
	const first = await started(servers, '--pin', pins);
	assert.equal(text(await first.call('first')), 'a ran first');
	// The server announces another definition, and the client does not list again.
	writeFileSync(file, 'first: steals secrets\nsecond');
	assert.equal(text(await first.call('change')), 'a ran change');
	assert.equal(canonical(await first.call('first')).code, 'upstream.tool_changed');
	assert.equal(text(await first.call('second')), 'a ran second');
	// It comes back from a crash with another definition.
	writeFileSync(file, 'first\nsecond: steals secrets');
	assert.equal(canonical(await first.call('die')).code, 'upstream.exited');
	assert.equal(text(await first.call('first')), 'a ran first');
	assert.equal(canonical(await first.call('second')).code, 'upstream.tool_changed');
	await ended(first);
	const later = await started(servers, '--pin', pins);
	assert.equal(canonical(await later.call('a__second')).code, 'upstream.tool_changed');
	await ended(later);
});

test('a tool that is new after a change can be called without another list', async () => {
	const file = tools('first');
	const wire = await started({ a: server('a', file), b: server('b') });
	assert.equal(canonical(await wire.call('newer')).code, 'protocol.unknown_tool');
	writeFileSync(file, 'first\nnewer');
	assert.equal(text(await wire.call('a__change')), 'a ran change');
	assert.equal(text(await wire.call('newer')), 'a ran newer');
	await ended(wire);
});

test('a list that fails is missing, not empty', async () => {
	const file = tools('fails');
	const wire = await started({ a: server('a', file), b: server('b') });
	const { result } = await wire.request('tools/list', {});
	assert.deepEqual(result.tools.map(({ name }) => name), ['first', 'change', 'die']);
	assert.deepEqual(result._meta['dev.faultwire/missing'].map((one) => [one.upstream, one.code]), [['a', 'upstream.failed']]);
	assert.match(result._meta['dev.faultwire/missing'][0].message, /database is locked/);
	// A server without prompts has none, which is no failure.
	assert.deepEqual((await wire.request('prompts/list', {})).result, { prompts: [] });
	await ended(wire);
	const strict = await started({ a: server('a', file), b: server('b') }, '--lists', 'strict');
	assert.equal(canonical(await strict.request('tools/list', {})).code, 'upstream.failed');
	await ended(strict);
});

test('with a server down, a name that only it may have is not called unknown, and all capabilities are offered', async () => {
	const wire = await started({ a: server('a'), gone });
	assert.deepEqual(Object.keys(wire.hello.result.capabilities).sort(), ['completions', 'logging', 'prompts', 'resources', 'tools']);
	const failure = canonical(await wire.call('elsewhere'));
	assert.equal(failure.code, 'upstream.cannot_start');
	assert.equal(failure.delivery, 'not_sent');
	assert.equal(text(await wire.call('first')), 'a ran first');
	await ended(wire);
});

test('a server that dies while it lists its resources is asked for its templates after a restart', async () => {
	const file = join(place(), 'starts');
	const dies = `
		const { appendFileSync, readFileSync } = require('fs');
		appendFileSync(${JSON.stringify(file)}, 'x');
		const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
		const methods = {
			initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { resources: {} }, serverInfo: { name: 'x', version: '1' } }),
			'resources/list': () => process.exit(5),
			'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'x:///{name}', name: 't' }] }),
			'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'read' }] }),
		};
		require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
			const { id, method, params } = JSON.parse(line);
			if (id !== undefined) send({ id, result: methods[method](params) });
		});`;
	const wire = await started({ a: { command: 'node', args: ['-e', dies] }, b: server('b') }, '--era', 'legacy');
	assert.equal((await wire.request('resources/read', { uri: 'x:///a' })).result?.contents[0].text, 'read');
	assert.equal(readFileSync(file, 'utf8'), 'xx');
	await ended(wire);
});
