// One client takes no more than its share, whatever it calls itself; answers of
// a batch stay valid JSON; answers to questions need the state of the questions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wire, ask, legacyCall, post, serve, session } from './lib/http.mjs';
import { Wire as Stdio, canonical, modern } from './lib/mcp.mjs';

const claim = (name) => ({ ...modern, 'io.modelcontextprotocol/clientInfo': { name, version: '1' } });
const codeOf = ({ json }) => canonical(json)?.code;

async function during(args, body) {
	const server = await serve(...args);
	try {
		await body(server);
	} finally {
		server.child.kill('SIGKILL');
		await server.ended;
	}
}

const echo = (name, id) =>
	post(
		{ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' }, _meta: claim(name) } },
		{ 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'echo' },
	);

test('calls_per_second is not evaded by another clientInfo.name', () =>
	during(['--limit', 'calls_per_second=1', '--limit', 'calls_burst=2'], async (server) => {
		const codes = [];
		for (let i = 0; i < 6; i++) codes.push(codeOf(await ask(server, echo(`client-${i}`, i))));
		assert.ok(codes.filter((code) => code === 'governance.rate_limited').length >= 3, codes.join());
	}));

test('calls_per_second is not evaded by a new session for each call', () =>
	during(['--limit', 'calls_per_second=1', '--limit', 'calls_burst=2'], async (server) => {
		const codes = [];
		for (let i = 0; i < 6; i++)
			codes.push(codeOf(await ask(server, post({ jsonrpc: '2.0', id: i, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: `n${i}`, version: '1' } } }))));
		assert.ok(codes.filter((code) => code === 'governance.rate_limited').length >= 3, codes.join());
	}));

test('2,000 sessions that one client begins keep no newcomer out', () =>
	during([], async (server) => {
		const wire = new Wire(server.port);
		const begin = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'flood', version: '1' } } };

		for (let i = 0; i < 2000; i++) assert.equal((await wire.send(post(begin)).response()).status, 200);
		wire.close();
		const headers = await session(server);
		assert.ok((await ask(server, legacyCall(headers, 'echo', { text: 'x' }))).json.result);
	}));

for (const transport of ['stdio', 'http'])
	test(`${transport}: a batch whose answers exceed result_bytes is valid JSON, and says which did not fit`, async () => {
		const batch = Array.from({ length: 8 }, (_, id) => ({ jsonrpc: '2.0', id: `b${id}`, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x'.repeat(700) } } }));
		const limit = ['--limit', 'result_bytes=2048'];
		let replies;

		if (transport === 'stdio') {
			const wire = new Stdio(['--stdio', ...limit]);
			await wire.initialize('2025-03-26');
			wire.send(JSON.stringify(batch) + '\n');
			replies = await wire.next(Array.isArray);
			await wire.end();
		} else {
			await during(limit, async (server) => {
				replies = (await ask(server, post(batch, await session(server, '2025-03-26')))).json;
			});
		}
		assert.equal(replies.length, 8);
		assert.deepEqual(new Set(replies.map(({ id }) => id)), new Set(batch.map(({ id }) => id)));
		assert.ok(replies.some((reply) => reply.result?.content[0].text.startsWith('xxx')));
		assert.ok(replies.some((reply) => canonical(reply)?.code === 'tool.result_too_large'));
	});

test('inputResponses without requestState are refused', async () => {
	const wire = new Stdio();
	const _meta = { ...modern, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
	const call = { name: 'test_input_required_result_elicitation', arguments: {}, _meta };
	const { result } = await wire.request('tools/call', call);
	const [key] = Object.keys(result.inputRequests);
	const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };

	assert.equal(canonical(await wire.request('tools/call', { ...call, inputResponses })).code, 'protocol.invalid_params');
	assert.equal(canonical(await wire.request('tools/call', { ...call, inputResponses: [], requestState: result.requestState })).code, 'protocol.invalid_params');
	assert.ok((await wire.request('tools/call', { ...call, inputResponses, requestState: result.requestState })).result.content);
	await wire.end();
});
