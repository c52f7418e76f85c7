// The boundary: every stage of the pipeline is made to fail, over both transports
// and in both eras, and each failure leaves in the same way. One answer; the
// canonical error in it, with code, origin, incident and time; and beside it the
// envelope of the contract that was chosen, valid by the program's own judgement.
//
// Then the ways of choosing a contract, each, and each against the next weaker.
//
// reaches: input.missing_field, input.invalid_type, input.invalid_format, input.invalid_value, input.too_large
// reaches: input.too_deep, input.invalid_encoding, session.unknown, session.missing, auth.unauthorized
// reaches: auth.origin_not_allowed, protocol.unsupported_version, protocol.parse_error
// reaches: protocol.invalid_request, protocol.method_not_found, protocol.invalid_params, protocol.unknown_tool
// reaches: protocol.resource_not_found, protocol.header_mismatch, protocol.missing_capability
// reaches: protocol.invalid_cursor, protocol.batch_not_allowed, protocol.not_acceptable
// reaches: protocol.unsupported_media_type, protocol.http_method_not_allowed, protocol.duplicate_id
// reaches: protocol.not_initialized, tool.failed, tool.no_result, tool.invalid_result, runtime.timeout
// reaches: server.overloaded

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from './lib/cli.mjs';
import { Wire as Http, legacy, modern, pause, post, request, serve } from './lib/http.mjs';
import { Wire as Line, modern as claim } from './lib/mcp.mjs';

const program = process.env.FAULTWIRE ?? join(process.env.FW_BUILD ?? join(root, 'build'), 'faultwire');
const contracts = ['canonical', 'kaiza', 'context-v0', 'codeintel', 'toolerror', 'owlclaw'];
const rows = new Map(JSON.parse(run(['registry', '--json'])).map((row) => [row.code, row]));

function run(args, input) {
	const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8', maxBuffer: 1 << 26 });
	assert.equal(status, 0, `faultwire ${args.join(' ')}: ${error ?? stdout.slice(0, 1000) + stderr}`);
	return stdout;
}

/* ---- peers: a message goes in, all that is said about it comes out ------------------- */

// Later answers would be second ones, so each peer sends a ping behind the message
// and takes everything up to its answer.
class StdioPeer {
	constructor(era, args = [], capabilities = {}, version = legacy) {
		this.era = era;
		this.transport = 'stdio';
		this.capabilities = capabilities;
		this.version = version;
		this.line = new Line(['--stdio', ...args]);
	}
	async open() {
		if (this.era === 'legacy') await this.line.initialize(this.version, this.capabilities);
		return this;
	}
	async say(message) {
		const fence = `fence-${++this.line.lastId}`;
		const bytes = Buffer.isBuffer(message) ? message : Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));

		this.line.send(Buffer.concat([bytes, Buffer.from('\n')]));
		this.line.send({ jsonrpc: '2.0', id: fence, method: this.era === 'modern' ? 'server/discover' : 'ping', ...(this.era === 'modern' && { params: { _meta: claim } }) });
		await this.line.reply(fence);
		return { answers: this.line.messages.splice(0) };
	}
	async close() {
		assert.deepEqual(await this.line.end(), { status: 0, signal: null });
	}
}

class HttpPeer {
	constructor(era, args = [], capabilities = {}, version = legacy) {
		this.era = era;
		this.transport = 'http';
		this.args = args;
		this.capabilities = capabilities;
		this.version = version;
	}
	async open() {
		this.server = await serve(...this.args);
		if (this.era === 'legacy') {
			const { headers } = await this.exchange(post({
				jsonrpc: '2.0', id: 0, method: 'initialize',
				params: { protocolVersion: this.version, capabilities: this.capabilities, clientInfo: { name: 'wire', version: '1' } },
			}));
			this.session = { 'Mcp-Session-Id': headers['mcp-session-id'], 'MCP-Protocol-Version': this.version };
		}
		return this;
	}
	async exchange(bytes) {
		const wire = new Http(this.server.port);

		try {
			const reply = await wire.send(bytes).response();
			await pause(5);
			assert.equal(wire.text.length, 0, `more than one answer: ${wire.text}`);
			return reply;
		} finally {
			wire.close();
		}
	}
	headers(message) {
		if (this.era === 'legacy') return this.session;
		const name = message?.params?.name ?? message?.params?.uri;
		return {
			'MCP-Protocol-Version': modern,
			...(typeof message?.method === 'string' && { 'Mcp-Method': message.method }),
			...(typeof name === 'string' && { 'Mcp-Name': name }),
		};
	}
	async say(message, headers = {}) {
		return this.raw(post(message, { ...this.headers(message), ...headers }));
	}
	async raw(bytes) {
		const reply = await this.exchange(bytes);
		return { answers: reply.json ? [reply.json].flat() : [], status: reply.status, reply };
	}
	async close() {
		assert.equal(await this.server.stop(), 0);
	}
}

const peerOf = (transport, ...args) => new (transport === 'stdio' ? StdioPeer : HttpPeer)(...args).open();

/* ---- what a failure must look like -------------------------------------------------- */

const judged = []; // [contract, envelope, where]: the program judges them all at the end

function failure(said, { code, id, tool, contract = 'toolerror', origin, where }) {
	assert.equal(said.answers.length, 1, `${where}: one answer, not ${JSON.stringify(said.answers)}`);
	const [answer] = said.answers;
	const isTool = tool !== undefined;
	const error = isTool ? answer.result?._meta?.['dev.faultwire/error'] : answer.error?.data?.['dev.faultwire/error'];

	assert.equal(answer.jsonrpc, '2.0');
	assert.equal(answer.id, id);
	assert.equal('id' in answer, id !== undefined);
	assert.ok(error, `${where}: no canonical error in ${JSON.stringify(answer)}`);
	assert.equal(error.code, code, where);
	const row = rows.get(code);
	assert.ok(row, `${code} is registered`);
	for (const member of ['origin', 'category', 'type', 'retry', 'status', 'severity'])
		assert.equal(error[member], member === 'origin' && origin ? origin : row[member], `${where}: ${member}`);
	assert.match(error.incident_id, /^inc_\d{8}_[a-z2-7]{26}$/);
	assert.ok(Math.abs(Date.parse(error.timestamp) - Date.now()) < 60000, error.timestamp);
	assert.ok(error.message);
	if (isTool) {
		assert.equal(answer.result.isError, true);
		assert.equal(error.tool, tool);
		// The text of the contract, and unless the client chose it, what to do.
		assert.ok(answer.result.content.length <= (contract === 'context-v0' ? 1 : 2));
		for (const hint of answer.result.content.slice(1)) assert.ok(hint.text.endsWith(`Incident: ${error.incident_id}`), hint.text);
		judged.push([contract, answer.result.content[0].text, where]);
		if (contract !== 'codeintel') assert.equal('structuredContent' in answer.result, false);
	} else {
		assert.ok(Number.isInteger(answer.error.code));
		assert.equal(answer.error.message, error.message);
		judged.push([contract, JSON.stringify(answer.error.data.error), where]);
	}
	judged.push(['canonical', JSON.stringify(error), where]);
	return error;
}

/* ---- every stage ------------------------------------------------------------------------ */

const meta = (peer, more) => (peer.era === 'modern' ? { _meta: { ...claim, ...more } } : more ? { _meta: more } : {});
const ask = (peer, method, params = {}, more = undefined, id = 7) => ({ jsonrpc: '2.0', id, method, params: { ...params, ...meta(peer, more) } });
const call = (peer, name, args, more) => ask(peer, 'tools/call', { name, arguments: args }, more);
const noId = undefined;
const both = ['legacy', 'modern'];
const everywhere = ['stdio', 'http'];

// [stage, what, code, id of the answer, messages that are sent, { tool, eras, transports, headers, pointer, status }]
const cases = [
	['parse', 'broken JSON', 'protocol.parse_error', noId, () => '{"jsonrpc":"2.0","id":7,', { status: 400 }],
	['parse', 'something after the message', 'protocol.parse_error', noId, (peer) => `${JSON.stringify(ask(peer, 'ping'))}}`, { status: 400 }],
	['parse', 'invalid UTF-8', 'input.invalid_encoding', noId, () => Buffer.from('{"jsonrpc":"2.0","id":7,"method":"\xff"}', 'latin1'), { status: 400 }],
	['parse', 'too deep', 'input.too_deep', noId, () => `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":${'['.repeat(200)}${']'.repeat(200)}}}`, { status: 400 }],
	['parse', 'too large', 'input.too_large', noId, () => `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"${'y'.repeat(4 << 20)}"}}`, { status: 413 }],

	['protocol', 'not an object', 'protocol.invalid_request', noId, () => '"text"', { status: 400 }],
	['protocol', 'not a request', 'protocol.invalid_request', 7, () => '{"jsonrpc":"2.0","id":7}', { status: 400 }],
	['protocol', 'another JSON-RPC', 'protocol.invalid_request', 7, () => '{"jsonrpc":"1.0","id":7,"method":"ping"}', { status: 400 }],
	['protocol', 'an id that is not one', 'protocol.invalid_request', noId, () => '{"jsonrpc":"2.0","id":{},"method":"ping"}', { status: 400 }],
	['protocol', 'params that are no object', 'protocol.invalid_params', 7, () => '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', { status: 400 }],
	['protocol', 'an unknown method', 'protocol.method_not_found', 7, (peer) => ask(peer, 'no/such')],
	['protocol', 'arguments that are no object', 'protocol.invalid_params', 7, (peer) => call(peer, 'echo', [1])],
	['protocol', 'no name of a tool', 'protocol.invalid_params', 7, (peer) => ask(peer, 'tools/call', { arguments: {} })],
	['protocol', 'a cursor of nobody', 'protocol.invalid_cursor', 7, (peer) => ask(peer, 'tools/list', { cursor: 'x' })],
	['protocol', 'a batch', 'protocol.batch_not_allowed', noId, (peer) => [ask(peer, 'ping')], { status: 400 }],
	['protocol', 'a version that nobody speaks', 'protocol.unsupported_version', 7, (peer) => ask(peer, 'tools/list', {}, { 'io.modelcontextprotocol/protocolVersion': '1999-01-01' }),
		{ eras: ['modern'], headers: { 'MCP-Protocol-Version': '1999-01-01' }, status: 400 }],
	['protocol', 'a version that is no text', 'protocol.invalid_params', 7, (peer) => ask(peer, 'tools/list', {}, { 'io.modelcontextprotocol/protocolVersion': 7 }), { eras: ['modern'], status: 400 }],
	['protocol', 'no capabilities', 'protocol.invalid_params', 7, (peer) => ask(peer, 'tools/list', {}, { 'io.modelcontextprotocol/clientCapabilities': null }), { eras: ['modern'], status: 400 }],
	['protocol', 'a version in the header alone', 'protocol.unsupported_version', 7, (peer) => ask(peer, 'tools/list'),
		{ eras: ['legacy'], transports: ['http'], headers: { 'MCP-Protocol-Version': '1999-01-01' }, status: 400 }],
	['protocol', 'version of header and body differ', 'protocol.version_conflict', 7, (peer) => ask(peer, 'tools/list'),
		{ eras: ['modern'], transports: ['http'], headers: { 'MCP-Protocol-Version': legacy }, status: 400 }],
	['protocol', 'method of header and body differ', 'protocol.header_mismatch', 7, (peer) => ask(peer, 'tools/list'),
		{ eras: ['modern'], transports: ['http'], headers: { 'Mcp-Method': 'ping' }, status: 400 }],
	['protocol', 'name of header and body differ', 'protocol.header_mismatch', 7, (peer) => call(peer, 'echo', { text: 'x' }),
		{ eras: ['modern'], transports: ['http'], headers: { 'Mcp-Name': 'fail' }, status: 400 }],
	['protocol', 'no header for the name', 'protocol.header_mismatch', 7, (peer) => call(peer, 'echo', { text: 'x' }),
		{ eras: ['modern'], transports: ['http'], headers: { 'Mcp-Name': null }, status: 400 }],
	['protocol', 'an argument and its header differ', 'protocol.header_mismatch', 7, (peer) => call(peer, 'test_x_mcp_header', { region: 'eu' }),
		{ eras: ['modern'], transports: ['http'], headers: { 'Mcp-Param-Region': 'us' }, status: 400 }],
	['protocol', 'a capability that the client lacks', 'protocol.missing_capability', 7, (peer) => call(peer, 'test_missing_capability', {}), { eras: ['modern'], status: 400 }],
	['protocol', 'a capability that the client lacks, legacy', 'protocol.missing_capability', 7, (peer) => call(peer, 'test_missing_capability', {}), { eras: ['legacy'], tool: 'test_missing_capability' }],

	['auth', 'an Origin of elsewhere', 'auth.origin_not_allowed', noId, (peer) => ask(peer, 'tools/list'), { transports: ['http'], headers: { Origin: 'https://evil.example' }, status: 403 }],
	['auth', 'a Host of elsewhere', 'auth.origin_not_allowed', noId, (peer) => ask(peer, 'tools/list'), { transports: ['http'], headers: { Host: 'evil.example' }, status: 403 }],
	['protocol', 'another media type', 'protocol.unsupported_media_type', noId, (peer) => ask(peer, 'tools/list'), { transports: ['http'], headers: { 'Content-Type': 'text/plain' }, status: 415 }],
	['protocol', 'an answer that is not accepted', 'protocol.not_acceptable', noId, (peer) => ask(peer, 'tools/list'), { transports: ['http'], headers: { Accept: 'text/html' }, status: 406 }],

	['session', 'none', 'session.missing', 7, (peer) => ask(peer, 'tools/list'), { eras: ['legacy'], transports: ['http'], headers: { 'Mcp-Session-Id': null }, status: 400 }],
	['session', 'unknown', 'session.unknown', 7, (peer) => ask(peer, 'tools/list'), { eras: ['legacy'], transports: ['http'], headers: { 'Mcp-Session-Id': 'nobody' }, status: 404 }],

	['tool known', 'unknown tool', 'protocol.unknown_tool', 7, (peer) => call(peer, 'nope', {})],
	['resource known', 'unknown resource', 'protocol.resource_not_found', 7, (peer) => ask(peer, 'resources/read', { uri: 'test://nope' })],

	['input schema', 'missing', 'input.missing_field', 7, (peer) => call(peer, 'echo', {}), { tool: 'echo', pointer: '/text' }],
	['input schema', 'type', 'input.invalid_type', 7, (peer) => call(peer, 'echo', { text: 5 }), { tool: 'echo', pointer: '/text' }],
	['input schema', 'enum', 'input.invalid_value', 7, (peer) => call(peer, 'json_schema_2020_12_tool', { email: 'a', contactMethod: 'fax' }), { tool: 'json_schema_2020_12_tool', pointer: '/contactMethod' }],
	['input schema', 'pattern', 'input.invalid_format', 7, (peer) => call(peer, 'test_own_contract', { name: 'A' }), { tool: 'test_own_contract', pointer: '/name', contract: 'kaiza' }],
	['input schema', 'minimum', 'input.invalid_value', 7, (peer) => call(peer, 'slow', { ms: -1 }), { tool: 'slow', pointer: '/ms' }],
	['input schema', 'additionalProperties', 'input.invalid_value', 7, (peer) => call(peer, 'json_schema_2020_12_tool', { email: 'a', more: 1 }), { tool: 'json_schema_2020_12_tool', pointer: '/more' }],
	['input schema', 'nested', 'input.invalid_type', 7, (peer) => call(peer, 'json_schema_2020_12_tool', { email: 'a', address: { street: 1 } }), { tool: 'json_schema_2020_12_tool', pointer: '/address/street' }],
	['input schema', 'of a prompt', 'input.missing_field', 7, (peer) => ask(peer, 'prompts/get', { name: 'test_prompt_with_arguments', arguments: { arg1: 'x' } })],

	['run', 'a tool that fails', 'tool.failed', 7, (peer) => call(peer, 'fail', { text: 'no' }), { tool: 'fail' }],
	['run', 'a tool that takes too long', 'runtime.timeout', 7, (peer) => call(peer, 'slow_with_deadline', { ms: 5000 }), { origin: 'tool', tool: 'slow_with_deadline', late: true }],
	['output schema', 'a result that breaks it', 'tool.invalid_result', 7, (peer) => call(peer, 'add', { a: 1, b: 2, wrong: true }), { tool: 'add' }],
	['output schema', 'no result at all', 'tool.no_result', 7, (peer) => call(peer, 'silent', {}), { tool: 'silent' }],
];

const peers = {};
const tools = new Set();
before(async () => {
	for (const transport of everywhere) for (const era of both) peers[`${transport} ${era}`] = await peerOf(transport, era);
	let cursor;
	do {
		const said = await peers['http modern'].say(ask(peers['http modern'], 'tools/list', cursor ? { cursor } : {}));
		for (const { name } of said.answers[0].result.tools) tools.add(name);
		cursor = said.answers[0].result.nextCursor;
	} while (cursor);
});
after(async () => {
	for (const peer of Object.values(peers)) await peer.close();
});

for (const [stage, what, code, id, message, options = {}] of cases)
	for (const transport of options.transports ?? everywhere)
		for (const era of options.eras ?? both)
			test(`${stage}: ${what} (${transport}, ${era})`, async (t) => {
				if (options.tool && !tools.has(options.tool)) return t.skip(`everything has no ${options.tool} yet`);
				const peer = peers[`${transport} ${era}`];
				const where = `${stage}: ${what} (${transport}, ${era})`;
				const said = options.late ? await sayLate(peer, message(peer)) : await peer.say(message(peer), options.headers);
				const error = failure(said, { code, id, tool: options.tool, contract: options.contract, origin: options.origin, where });
				if (options.pointer) {
					assert.equal(error.context.pointer, options.pointer);
					// What is missing has no place of its own: its object's will do.
					assert.ok(error.context.violations.some(({ pointer, rule }) => pointer === options.pointer || (rule === 'required' && options.pointer.startsWith(`${pointer}/`))));
				}
				if (options.status && transport === 'http') assert.equal(said.status, options.status);
			});

// One whose answer takes its time: over stdio a fence would overtake it.
async function sayLate(peer, message) {
	if (peer.transport === 'http') return peer.say(message);
	peer.line.send(message);
	const first = await peer.line.reply(message.id);
	const { answers } = await peer.say(ask(peer, 'no/such', {}, undefined, 'after'));
	assert.deepEqual(answers.map((answer) => answer.id), ['after'], 'nothing more was said');
	return { answers: [first] };
}

// --- what needs a server of its own ---

test('protocol: before initialize (stdio, legacy)', async () => {
	const peer = new StdioPeer('legacy');
	failure(await peer.say(ask(peer, 'tools/list')), { code: 'protocol.not_initialized', id: 7, where: 'before initialize' });
	await peer.close();
});

for (const transport of everywhere)
	test(`protocol: a batch of 2025-06-18 is refused, one of 2025-03-26 is not, and each of its failures is reported (${transport})`, async () => {
		const newer = await peerOf(transport, 'legacy', [], {}, '2025-06-18');
		failure(await newer.say([ask(newer, 'ping')]), { code: 'protocol.batch_not_allowed', id: noId, where: `batch (${transport})` });
		await newer.close();
		const older = await peerOf(transport, 'legacy', [], {}, '2025-03-26');
		const { answers } = await older.say([call(older, 'fail', { text: 'no' }), { jsonrpc: '2.0', method: 'notifications/initialized' }, 5, { ...call(older, 'echo', {}), id: 8 }]);
		const said = answers.flat();
		assert.equal(said.length, 3);
		failure({ answers: [said.find((answer) => answer.id === 7)] }, { code: 'tool.failed', id: 7, tool: 'fail', where: 'batch, first' });
		failure({ answers: [said.find((answer) => answer.id === 8)] }, { code: 'input.missing_field', id: 8, tool: 'echo', where: 'batch, last' });
		failure({ answers: [said.find((answer) => !('id' in answer))] }, { code: 'protocol.invalid_request', id: noId, where: 'batch, middle' });
		await older.close();
	});

for (const era of both) {
	test(`auth: bearer (http, ${era})`, async () => {
		const peer = new HttpPeer('modern', ['--token', 'open-sesame']);
		await peer.open();
		peer.era = era;
		peer.session = {};
		for (const Authorization of [null, 'Bearer wrong', 'Basic open-sesame']) {
			const said = await peer.say(ask(peer, 'tools/list'), { Authorization });
			failure(said, { code: 'auth.unauthorized', id: noId, where: `bearer ${Authorization} (${era})` });
			assert.equal(said.status, 401);
			assert.match(said.reply.headers['www-authenticate'], /^Bearer/);
		}
		await peer.close();
	});

	test(`limits: an id that is in progress (stdio, ${era})`, async () => {
		const peer = await peerOf('stdio', era);
		peer.line.send({ ...call(peer, 'later', { ms: 300 }), id: 'twice' });
		failure(await peer.say(ask(peer, 'tools/list', {}, undefined, 'twice')), { code: 'protocol.duplicate_id', id: 'twice', where: `duplicate (${era})` });
		assert.equal((await peer.line.reply('twice')).result.content[0].text, 'later');
		await peer.close();
	});

	test(`limits: more calls than may be in progress (stdio, ${era})`, async () => {
		const peer = await peerOf('stdio', era);
		for (let i = 0; i < 1024; i++) peer.line.send({ ...call(peer, 'later', { ms: 1500 }), id: `call-${i}` });
		peer.line.send(call(peer, 'echo', { text: 'x' }));
		failure({ answers: [await peer.line.reply(7)] }, { code: 'server.overloaded', id: 7, tool: 'echo', where: `overloaded (${era})` });
		for (let i = 0; i < 1024; i++) await peer.line.reply(`call-${i}`);
		assert.equal((await peer.say(call(peer, 'echo', { text: 'x' }))).answers[0].result.content[0].text, 'x');
		await peer.close();
	});
}

test('session: one that was ended is unknown (http, legacy)', async () => {
	const peer = await peerOf('http', 'legacy');
	assert.equal((await peer.raw(request('DELETE', peer.session))).status, 200);
	const said = await peer.say(call(peer, 'echo', { text: 'x' }));
	failure(said, { code: 'session.unknown', id: 7, where: 'ended' });
	assert.equal(said.status, 404);
	for (const method of ['GET', 'DELETE']) {
		failure(await peer.raw(request(method, peer.session)), { code: 'session.unknown', id: noId, where: `${method} of an ended one` });
		failure(await peer.raw(request(method, {})), { code: 'session.missing', id: noId, where: `${method} of none` });
	}
	await peer.close();
});

test('protocol: GET and DELETE of the modern version, and unknown methods (http)', async () => {
	const peer = peers['http modern'];
	for (const [method, headers] of [['GET', { 'MCP-Protocol-Version': modern }], ['DELETE', { 'MCP-Protocol-Version': modern }], ['PUT', {}]]) {
		const said = await peer.raw(request(method, headers));
		failure(said, { code: 'protocol.http_method_not_allowed', id: noId, where: method });
		assert.equal(said.status, 405);
	}
});

/* ---- choosing a contract -------------------------------------------------------------------- */

const wish = 'dev.faultwire/contract';
const capable = (contract) => ({ experimental: { [wish]: contract } });

// A peer whose server and capabilities say this; the request adds the rest.
async function chosen(transport, era, { flag, capability, header, request: asked, tool = 'fail' }, body) {
	const peer = await peerOf(transport, era, flag ? ['--contract', flag] : [], capability && era === 'legacy' ? capable(capability) : {});
	const more = {
		...(asked && { [wish]: asked }),
		...(capability && era === 'modern' && { 'io.modelcontextprotocol/clientCapabilities': capable(capability) }),
	};
	try {
		await body(peer, {
			tool: () => peer.say(call(peer, tool, { text: 'no' }, Object.keys(more).length ? more : undefined), header && { 'Faultwire-Contract': header }),
			other: () => peer.say(ask(peer, 'resources/read', { uri: 'test://nope' }, Object.keys(more).length ? more : undefined), header && { 'Faultwire-Contract': header }),
		});
	} finally {
		await peer.close();
	}
}

for (const transport of everywhere)
	for (const era of both) {
		const ways = ['request', ...(transport === 'http' ? ['header'] : []), 'capability', 'flag'];

		for (const way of ways)
			test(`contract by ${way}: each of them (${transport}, ${era})`, async () => {
				for (const contract of contracts)
					await chosen(transport, era, { [way]: contract }, async (peer, say) => {
						const where = `${contract} by ${way} (${transport}, ${era})`;
						failure(await say.tool(), { code: 'tool.failed', id: 7, tool: 'fail', contract, where });
						failure(await say.other(), { code: 'protocol.resource_not_found', id: 7, contract, where });
					});
			});

		for (const [i, way] of ways.entries())
			if (ways[i + 1])
				test(`contract: ${way} is stronger than ${ways.slice(i + 1).join(', ')} (${transport}, ${era})`, async () => {
					const wishes = { [way]: 'kaiza' };
					for (const weaker of ways.slice(i + 1)) wishes[weaker] = 'owlclaw';
					await chosen(transport, era, wishes, async (peer, say) => {
						const said = await say.tool();
						failure(said, { code: 'tool.failed', id: 7, tool: 'fail', contract: 'kaiza', where: `${way} wins (${transport}, ${era})` });
						assert.ok('error_code' in JSON.parse(said.answers[0].result.content[0].text));
					});
				});

		test(`contract: a tool's own is the weakest (${transport}, ${era})`, async (t) => {
			if (!tools.has('test_own_contract')) return t.skip('everything has no test_own_contract yet');
			const tool = 'test_own_contract';
			await chosen(transport, era, { tool }, async (peer, say) =>
				failure(await say.tool(), { code: 'tool.failed', id: 7, tool, contract: 'kaiza', where: `own (${transport}, ${era})` }));
			for (const way of ways)
				await chosen(transport, era, { tool, [way]: 'owlclaw' }, async (peer, say) =>
					failure(await say.tool(), { code: 'tool.failed', id: 7, tool, contract: 'owlclaw', where: `${way} over own (${transport}, ${era})` }));
		});

		for (const way of ways.filter((way) => way !== 'flag'))
			test(`contract by ${way}: an unknown name is an invalid value, reported in the default (${transport}, ${era})`, async () => {
				if (way === 'capability' && era === 'legacy') {
					const peer = transport === 'stdio' ? new StdioPeer(era) : await peerOf('http', 'modern');
					const said = await peer.say({ jsonrpc: '2.0', id: 7, method: 'initialize', params: { protocolVersion: legacy, capabilities: capable('nonsense'), clientInfo: { name: 'a', version: '1' } } },
						{ 'MCP-Protocol-Version': null, 'Mcp-Method': null });
					failure(said, { code: 'input.invalid_value', id: 7, where: `unknown by ${way} (${transport}, ${era})` });
					return peer.close();
				}
				for (const nonsense of ['nonsense', 'KAIZA'])
					await chosen(transport, era, { [way]: nonsense, flag: 'kaiza' }, async (peer, say) => {
						const said = await say.other();
						failure(said, { code: 'input.invalid_value', id: 7, contract: 'kaiza', where: `unknown by ${way} (${transport}, ${era})` });
					});
			});
	}

test('contract by flag: a name of none, and the server does not start', () => {
	const build = process.env.FW_BUILD ?? join(root, 'build');
	const { status } = spawnSync(join(build, 'examples/everything'), ['--stdio', '--contract', 'nonsense'], { input: '' });
	assert.notEqual(status, 0);
});

/* ---- judgement ------------------------------------------------------------------------------------ */

for (const contract of contracts)
	test(`every envelope of ${contract} that was seen is valid`, (t) => {
		const seen = judged.filter(([name]) => name === contract);
		assert.ok(seen.length > 0);
		const lines = seen.map(([, text]) => text.replace(/\n$/, ''));
		assert.ok(lines.every((line) => !line.includes('\n')));
		const { status, stdout } = spawnSync(program, ['validate', '--lines', '--contract', contract], { input: lines.join('\n') + '\n', encoding: 'utf8' });
		const numbers = [...stdout.matchAll(/:(\d+):/g)].map((match) => seen[match[1] - 1]?.slice(1).join('\n  ')).slice(0, 3);
		assert.equal(status, 0, `${stdout.slice(0, 1500)}\n${numbers.join('\n')}`);
		t.diagnostic(`${seen.length} envelopes`);
	});
