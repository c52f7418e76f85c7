// Text with a NUL inside: each place where a JSON string of a client meets a C
// string, on both transports and in both eras. "ping\0x" is not "ping".

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, post, serve, session } from './lib/http.mjs';
import { Wire, modern } from './lib/mcp.mjs';

const long = 'x'.repeat(1 << 20);
const canonical = ({ error, result }) =>
	error?.data?.['dev.faultwire/error']?.code ?? result?._meta?.['dev.faultwire/error']?.code ?? Object.keys(result ?? {});

let server;
let headers;
let wire;
let fresh;
before(async () => {
	server = await serve();
	headers = await session(server);
	wire = new Wire();
	await wire.initialize();
	fresh = new Wire();
});
after(async () => {
	assert.equal(await server.stop(), 0);
	await wire.end();
	await fresh.end();
});

const header = (text) => (/^[\x20-\x7e]*$/.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`);

async function everywhere(method, params) {
	const name = params?.name ?? params?.uri;
	const message = (meta) => ({ jsonrpc: '2.0', id: 5, method, params: { ...params, ...(meta && { _meta: { ...params?._meta, ...meta } }) } });
	const head = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...(name !== undefined && { 'Mcp-Name': header(name) }) };

	wire.send(message());
	fresh.send(message(modern));
	return {
		'legacy stdio': await wire.reply(5),
		'modern stdio': await fresh.reply(5),
		'legacy http': (await ask(server, post(message(), headers))).json,
		'modern http': (await ask(server, post(message(modern), head))).json,
	};
}

for (const [what, method, params, wanted] of [
	['tool name', 'tools/call', { name: 'test_simple_text\0' }, 'protocol.invalid_params'],
	['long tool name', 'tools/call', { name: `test_simple_text\0${'x'.repeat(3000)}` }, 'protocol.invalid_params'],
	['argument', 'tools/call', { name: 'test_sampling', arguments: { prompt: 'a\0b' } }, 'input.invalid_value'],
	['argument deep inside', 'tools/call', { name: 'test_simple_text', arguments: { a: [{ b: '\0' }] } }, 'input.invalid_value'],
	['argument key', 'tools/call', { name: 'test_simple_text', arguments: { 'a\0b': 1 } }, 'input.invalid_value'],
	['resource URI', 'resources/read', { uri: 'test://static-text\0' }, 'protocol.invalid_params'],
	['prompt name', 'prompts/get', { name: 'test_simple_prompt\0x' }, 'protocol.invalid_params'],
	['prompt argument', 'prompts/get', { name: 'test_prompt_with_arguments', arguments: { arg1: 'a\0', arg2: 'b' } }, 'input.invalid_value'],
	['completion reference', 'completion/complete', { ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments\0' }, argument: { name: 'arg1', value: 'a' } }, 'protocol.invalid_params'],
	['completion value', 'completion/complete', { ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'a\0' } }, 'input.invalid_value'],
	['cursor', 'tools/list', { cursor: 't1\0' }, 'protocol.invalid_cursor'],
	['contract name', 'tools/list', { _meta: { 'dev.faultwire/contract': 'kaiza\0' } }, 'input.invalid_value'],
])
	test(`NUL in a ${what}: ${wanted}`, async () => {
		// The header that mirrors a name cannot hold a NUL in the first place.
		const mirrored = /\0/.test(params.name ?? params.uri ?? '') ? 'protocol.header_mismatch' : wanted;
		for (const [where, reply] of Object.entries(await everywhere(method, params)))
			assert.equal(canonical(reply), where === 'modern http' ? mirrored : wanted, `${where}: ${JSON.stringify(reply).slice(0, 500)}`);
	});

test('a method with a NUL and 1 MB behind it does not kill the server', async () => {
	for (const method of ['ping', 'tools/call', 'notifications/initialized', '']) {
		const message = { jsonrpc: '2.0', id: 6, method: `${method}\0${long}` };

		wire.send(message);
		assert.equal(canonical(await wire.reply(6)), 'protocol.invalid_request');
		assert.equal(canonical((await ask(server, post(message, headers))).json), 'protocol.invalid_request');
	}
});

test('a notification whose method has a NUL initializes and cancels nothing', async () => {
	wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled\0', params: { requestId: 5 } });
	assert.deepEqual((await wire.request('ping')).result, {});
});

test('NUL in clientInfo, protocolVersion, logLevel, level: refused', async () => {
	const other = new Wire();
	const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
	const bad = { ...params, clientInfo: { name: 'a\0b', version: '1' } };

	assert.equal(canonical(await other.request('initialize', bad)), 'protocol.invalid_params');
	const { result } = await other.request('initialize', { ...params, protocolVersion: '2025-06-18\0' });
	assert.equal(result.protocolVersion, '2025-11-25', 'an unknown version gets the newest');
	assert.equal(canonical(await other.request('logging/setLevel', { level: 'error\0' })), 'protocol.invalid_params');
	for (const [key, value] of [['logLevel', 'error\0'], ['protocolVersion', '2026-07-28\0'], ['clientInfo', { name: 'a\0', version: '1' }]]) {
		const _meta = { ...modern, [`io.modelcontextprotocol/${key}`]: value };
		assert.equal(canonical(await other.request('tools/list', { _meta })), 'protocol.invalid_params', key);
	}
	await other.end();
});

test('a progress token and a request id with a NUL come back as they were', async () => {
	wire.send({ jsonrpc: '2.0', id: 'i\0d', method: 'tools/call', params: { name: 'test_tool_with_progress', _meta: { progressToken: 'p\0t' } } });
	const note = await wire.next((message) => message.method === 'notifications/progress');
	assert.equal(note.params.progressToken, 'p\0t');
	assert.ok((await wire.reply('i\0d')).result);
});

test('an answer whose key has a NUL answers no other question', async () => {
	const call = { name: 'test_input_required_result_elicitation', _meta: { ...modern, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } } };
	const first = await fresh.request('tools/call', call);
	const [key] = Object.keys(first.result.inputRequests);
	const again = await fresh.request('tools/call', {
		...call,
		requestState: first.result.requestState,
		inputResponses: { [`${key}\0`]: { action: 'accept', content: { name: 'Eve' } } },
	});
	assert.equal(again.result.resultType, 'input_required');
});
