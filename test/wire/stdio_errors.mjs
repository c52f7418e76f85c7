// Every way in which a message can be wrong, over stdio, in both eras.

import { check, finish, match, same, test } from './lib/cli.mjs';
import { Wire, canonical, modern, session, text } from './lib/mcp.mjs';

for (const era of ['legacy', 'modern']) {
	const meta = era === 'modern' ? modern : undefined;

	test(`${era}: a tool that does not exist is a protocol error`, () =>
		session(async (wire) => {
			const reply = await wire.call('nope', {}, meta);
			same(reply.error.code, -32602);
			same(canonical(reply).code, 'protocol.unknown_tool');
			same(reply.error.data.error.type, 'NOT_FOUND');
			same(canonical(reply).tool, 'nope');
		}));

	const violations = [
		['a missing argument', 'echo', {}, 'input.missing_field', '/text', 'property "text"', 'missing'],
		['an argument of another type', 'echo', { text: 5 }, 'input.invalid_type', '/text', 'string', 'number 5'],
		['a number below its minimum', 'slow', { ms: -1 }, 'input.invalid_value', '/ms', '>= 0', 'number -1'],
		['a fraction for an integer', 'slow', { ms: 1.5 }, 'input.invalid_type', '/ms', 'integer', 'number 1.5'],
		['a value outside an enum', 'json_schema_2020_12_tool', { email: 'a', contactMethod: 'fax' }, 'input.invalid_value', '/contactMethod', 'one of "phone", "email"', 'string "fax"'],
		['a property that is not allowed', 'json_schema_2020_12_tool', { email: 'a', more: 1 }, 'input.invalid_value', '/more', null, null],
	];
	for (const [what, tool, args, code, pointer, expected, found] of violations)
		test(`${era}: ${what} is the tool's failure, and names place, expected and found`, () =>
			session(async (wire) => {
				const reply = await wire.call(tool, args, meta);
				same(reply.result.isError, true);
				const error = canonical(reply);
				same(error.code, code);
				same(error.context.pointer, pointer);
				if (expected) same(error.context.expected, expected);
				if (found) same(error.context.found, found);
				check(error.context.violations.length >= 1);
				same(JSON.parse(text(reply)).type, 'VALIDATION');
				match(error.incident_id, /^inc_\d{8}_[a-z2-7]{26}$/);
				match(error.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
				same(error.tool, tool);
			}));

	test(`${era}: all violations are listed`, () =>
		session(async (wire) => {
			const error = canonical(await wire.call('add', { a: 'x', b: 'y' }, meta));
			same(error.context.violations.map((v) => v.pointer), ['/a', '/b']);
		}));

	test(`${era}: arguments that are no object are a protocol error`, () =>
		session(async (wire) => {
			const reply = await wire.request('tools/call', { name: 'echo', arguments: [1], ...(meta && { _meta: meta }) });
			same([reply.error.code, canonical(reply).code], [-32602, 'protocol.invalid_params']);
		}));

	test(`${era}: output that breaks its schema, and no output at all, fail`, () =>
		session(async (wire) => {
			const good = await wire.call('add', { a: 2, b: 3 }, meta);
			same(good.result.structuredContent, { sum: 5 });
			const wrong = await wire.call('add', { a: 2, b: 3, wrong: true }, meta);
			same([wrong.result.isError, canonical(wrong).code], [true, 'tool.invalid_result']);
			check(!('structuredContent' in wrong.result));
			const none = await wire.call('silent', {}, meta);
			same([none.result.isError, canonical(none).code], [true, 'tool.no_result']);
		}));

	test(`${era}: a method that does not exist`, () =>
		session(async (wire) => {
			const reply = await wire.request('no/such', meta && { _meta: meta });
			same([reply.error.code, canonical(reply).code], [-32601, 'protocol.method_not_found']);
		}));

	test(`${era}: a resource that does not exist names its URI`, () =>
		session(async (wire) => {
			const reply = await wire.request('resources/read', { uri: 'test://nope', ...(meta && { _meta: meta }) });
			same([reply.error.code, reply.error.data.uri], [era === 'modern' ? -32602 : -32002, 'test://nope']);
		}));

	test(`${era}: a prompt that does not exist, or lacks an argument; a cursor of another list`, () =>
		session(async (wire) => {
			const m = meta && { _meta: meta };
			same((await wire.request('prompts/get', { name: 'nope', ...m })).error.code, -32602);
			const lacking = await wire.request('prompts/get', { name: 'test_prompt_with_arguments', arguments: { arg1: 'x' }, ...m });
			same([lacking.error.code, canonical(lacking).code], [-32602, 'input.missing_field']);
			for (const cursor of ['r1', '', 'x', 5, 't0', 't99999'])
				same(canonical(await wire.request('tools/list', { cursor, ...m })).code, 'protocol.invalid_cursor');
		}));
}

test('malformed messages are answered without an id, and the next line is served', () =>
	session(async (wire) => {
		for (const [line, code] of [
			['{oops\n', -32700],
			['nonsense\n', -32700],
			['{"jsonrpc":"2.0"} trailing\n', -32700],
			['"text"\n', -32600],
			['{"jsonrpc":"1.0","method":"ping"}\n', -32600],
			['{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600],
			['{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600],
			['{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600],
		]) {
			wire.send(line);
			const reply = await wire.next((message) => message.error);
			same([line, reply.error.code, 'id' in reply], [line, code, false]);
		}
		same((await wire.request('ping')).result, {});
	}));

test('bytes that are not UTF-8 are refused by their position', () =>
	session(async (wire) => {
		const line = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\xff"}}}\n', 'latin1');
		wire.send(line);
		const reply = await wire.next((message) => message.error);
		same([reply.error.code, canonical(reply).code, canonical(reply).context.position], [-32700, 'input.invalid_encoding', line.indexOf(0xff)]);
	}));

test('a message beyond the limit, and one too deep, are refused; the next is served', () =>
	session(async (wire) => {
		wire.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'y'.repeat(5 << 20)}"}}\n`);
		same(canonical(await wire.next((message) => message.error)).code, 'input.too_large');
		wire.send(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${'['.repeat(200)}${']'.repeat(200)}}}\n`);
		same(canonical(await wire.next((message) => message.error)).code, 'input.too_deep');
		same((await wire.request('ping')).result, {});
	}));

test('ids come back as they were sent: beyond 2^53, strings, escapes', () =>
	session(async (wire) => {
		for (const id of ['9007199254740993', '9007199254740994', '-1', '123456789012345678901234567890', '"1"', '"a\\u0001\\"b"', '"é"']) {
			const before = wire.raw.length;
			wire.send(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`);
			await wire.next((message) => 'result' in message);
			check(wire.raw[before].includes(`"id":${id},`), wire.raw[before]);
		}
	}));

test('an id that is in progress cannot be used again; afterwards it can', () =>
	session(async (wire) => {
		wire.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'later', arguments: { ms: 200 } } });
		wire.send({ jsonrpc: '2.0', id: 'x', method: 'ping' });
		same(canonical(await wire.next((message) => message.error)).code, 'protocol.duplicate_id');
		same(text(await wire.reply('x')), 'later');
		same((await wire.request('ping', undefined, 'x')).result, {});
	}));

test('before initialize only ping is served', async () => {
	const wire = new Wire();
	same((await wire.request('ping')).result, {});
	const reply = await wire.request('tools/list');
	same([reply.error.code, canonical(reply).code], [-32600, 'protocol.not_initialized']);
	same((await wire.request('server/discover')).error.code, -32601);
	await wire.end();
});

test('modern requests that lack what they must have', () =>
	session(async (wire) => {
		const without = (key) => Object.fromEntries(Object.entries(modern).filter(([name]) => !name.endsWith(key)));
		same((await wire.request('tools/list', { _meta: without('clientCapabilities') })).error.code, -32602);
		const old = await wire.request('tools/list', { _meta: { ...modern, 'io.modelcontextprotocol/protocolVersion': '1900-01-01' } });
		same([old.error.code, old.error.data.supported, old.error.data.requested], [-32022, ['2026-07-28'], '1900-01-01']);
		const lacking = await wire.call('test_missing_capability', {}, modern);
		same([lacking.error.code, lacking.error.data.requiredCapabilities], [-32021, { sampling: {} }]);
		for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe'])
			same((await wire.request(method, { _meta: modern })).error.code, -32601);
	}));

test('batches: for 2025-03-26 only', async () => {
	await session(
		async (wire) => {
			wire.send('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"later","arguments":{"ms":20}}},5]\n');
			const batch = await wire.next(Array.isArray);
			same(batch.length, 3);
			same(batch.map((message) => message.id ?? null).sort(), ['a', 'b', null]);
			wire.send('[]\n');
			same((await wire.next((message) => message.error)).error.code, -32600);
		},
		{ version: '2025-03-26' },
	);
	await session(async (wire) => {
		wire.send('[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n');
		same(canonical(await wire.next((message) => message.error)).code, 'protocol.batch_not_allowed');
	});
});

// --- contracts --------------------------------------------------------------------

const shapes = {
	canonical: (o) => o.code === 'tool.failed',
	kaiza: (o) => o.error_code === 'UNKNOWN_TOOL_FAILURE' && o.tool_name === 'fail',
	'context-v0': (o) => o.error.code === 'internal_error',
	codeintel: (o) => o.problem.code !== undefined,
	toolerror: (o) => o.type === 'INTERNAL' && o.recoverable === false,
	owlclaw: (o) => o.error.code === 'tool.failed' && o.error.incident_id !== undefined,
};
for (const [contract, is] of Object.entries(shapes))
	test(`contract ${contract}: by the request, by the client, by the server`, async () => {
		const ask = async (wire, meta) => check(is(JSON.parse(text(await wire.call('fail', { text: 'x' }, meta)))), contract);
		await session(async (wire) => {
			await ask(wire, { 'dev.faultwire/contract': contract });
			await ask(wire, { ...modern, 'dev.faultwire/contract': contract });
			await ask(wire, { ...modern, 'io.modelcontextprotocol/clientCapabilities': { experimental: { 'dev.faultwire/contract': { name: contract } } } });
			const reply = await wire.call('nope', {}, { 'dev.faultwire/contract': contract });
			check(typeof reply.error.data.error === 'object');
		});
		await session((wire) => ask(wire), { capabilities: { experimental: { 'dev.faultwire/contract': { name: contract } } } });
		await session((wire) => ask(wire), { args: ['--stdio', '--contract', contract] });
	});

test('the request is stronger than the client, and the client than the server', () =>
	session(
		async (wire) => {
			check(shapes.kaiza(JSON.parse(text(await wire.call('fail', { text: 'x' })))));
			check(shapes.owlclaw(JSON.parse(text(await wire.call('fail', { text: 'x' }, { 'dev.faultwire/contract': 'owlclaw' })))));
		},
		{ args: ['--stdio', '--contract', 'canonical'], capabilities: { experimental: { 'dev.faultwire/contract': 'kaiza' } } },
	));

test("a contract that does not exist is an invalid value, reported in the server's own", () =>
	session(async (wire) => {
		const reply = await wire.call('fail', { text: 'x' }, { 'dev.faultwire/contract': 'xml' });
		same(canonical(reply).code, 'input.invalid_value');
		same(JSON.parse(text(reply)).type, 'VALIDATION');
	}));

await finish();
