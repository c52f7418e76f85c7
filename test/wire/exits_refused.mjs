// Failures before a method runs: a tools/call that a limit refuses is a failure of its
// tool, and every such failure is reported in the contract that the client chose.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, finish, lines, same, test } from './lib/cli.mjs';
import { place } from './lib/audit.mjs';
import { Wire, canonical } from './lib/mcp.mjs';
import { Wire as Http, ask, call, legacy, modern, pause, post, request, serve, session } from './lib/http.mjs';

const token = 'of-the-test-alone';
const key = 'dev.faultwire/contract';
const claim = {
	'io.modelcontextprotocol/protocolVersion': modern,
	'io.modelcontextprotocol/clientCapabilities': {},
	'io.modelcontextprotocol/clientInfo': { name: 'exits', version: '1' },
};

// What each contract's object looks like, so that they can be distinguished.
const marks = {
	canonical: (envelope) => typeof envelope.category === 'string' && typeof envelope.type === 'string' && typeof envelope.code === 'string',
	kaiza: (envelope) => typeof envelope.error_code === 'string' && 'workspace_root' in envelope,
	'context-v0': (envelope) => Object.keys(envelope).join() === 'error' && Object.keys(envelope.error).join() === 'code,message',
	codeintel: (envelope) => typeof envelope.problem?.code === 'string',
	toolerror: (envelope) => typeof envelope.recoverable === 'boolean' && !('code' in envelope),
	owlclaw: (envelope) => typeof envelope.error?.retryable === 'boolean',
};

function isIn(contract, envelope, what) {
	check(marks[contract](envelope), `${what}: expected ${contract}, found ${JSON.stringify(envelope)}`);
}

const audited = (log) => lines(readFileSync(log, 'utf8')).map((line) => JSON.parse(line)).filter(({ event }) => event === 'failure');

// The failure of a tool: its result, in this contract, with its name.
function isToolFailure(answer, contract, code, tool) {
	const what = `${code} in ${contract}: ${JSON.stringify(answer).slice(0, 600)}`;

	check(answer.result?.isError === true, `a tool result: ${what}`);
	isIn(contract, JSON.parse(answer.result.content[0].text), what);
	same([canonical(answer).code, canonical(answer).tool], [code, tool], what);
	if (contract === 'kaiza') same(JSON.parse(answer.result.content[0].text).tool_name, tool, what);
}

async function stdio(args, body) {
	const dir = place();
	const log = join(dir, 'audit-log.jsonl');
	const wire = new Wire(['serve', '--stdio', '--audit', log, '--incidents', 'off', '--log', 'off', '--run', 'thread', '--sandbox', 'off', ...args], bin);
	try {
		await body(wire);
	} finally {
		await wire.end();
	}
	return audited(log);
}

async function http(args, body) {
	const dir = place();
	const log = join(dir, 'audit-log.jsonl');
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--audit', log, '--incidents', 'off', '--run', 'thread', '--sandbox', 'off', ...args], { env: { ...env, XDG_STATE_HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'] });
	const port = await new Promise((found, lost) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const match = said.match(/http:\/\/[^\s"]+?:(\d+)/);
			if (match) found(Number(match[1]));
		});
		child.on('exit', () => lost(new Error(said)));
	});
	const ended = new Promise((done) => child.on('exit', done));
	try {
		await body({ port });
	} finally {
		child.kill('SIGTERM');
		await ended;
	}
	return audited(log);
}

const explain = (id, meta = {}, name = 'explain_error_code') => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { code: 'file.not_found' }, _meta: { ...claim, ...meta } } });

test('a call over calls_per_second is a result of its tool, in the contract of the caller', async () => {
	const found = await stdio(['-l', 'calls_per_second=1', '-l', 'calls_burst=1'], async (wire) => {
		wire.send(explain('first'));
		check((await wire.reply('first')).result.isError !== true, 'the first call is within the rate');
		for (const contract of Object.keys(marks)) {
			wire.send(explain(contract, { [key]: contract }));
			const answer = await wire.reply(contract);
			isToolFailure(answer, contract, 'governance.rate_limited', 'explain_error_code');
			check(canonical(answer).retry_after > 0, 'the delay is stated');
		}
		wire.send(explain('nobody', {}, 'no_such_tool'));
		const unknown = await wire.reply('nobody');
		same([canonical(unknown).code, unknown.error.code], ['governance.rate_limited', -32603], 'an unknown tool has no result');
	});
	same(found.map((record) => record.tool_name), [...Object.keys(marks).map(() => 'explain_error_code'), 'no_such_tool'], 'tools in the audit log');
});

test('a call over in_flight, over client_in_flight, or with an id in use is a result of its tool', async () => {
	for (const [limit, code] of [
		['in_flight=1', 'server.overloaded'],
		['client_in_flight=1', 'server.overloaded'],
		['in_flight=9', 'protocol.duplicate_id'],
	]) {
		const isDuplicate = code === 'protocol.duplicate_id';
		const found = await stdio(['-l', limit], async (wire) => {
			const all = [];
			// All three arrive in one read, before any of them is answered.
			wire.send([1, isDuplicate ? 1 : 2, isDuplicate ? 1 : 3].map((id) => JSON.stringify(explain(id, { [key]: 'kaiza' }))).join('\n') + '\n');
			for (let i = 0; i < 3; i++) all.push(await wire.next((message) => 'result' in message || 'error' in message));
			const refused = all.filter((answer) => canonical(answer));
			check(refused.length >= 1, `${limit}: ${JSON.stringify(all).slice(0, 500)}`);
			for (const answer of refused) isToolFailure(answer, 'kaiza', code, 'explain_error_code');
		});
		check(found.length && found.every((record) => record.tool_name === 'explain_error_code' && record.code === code), `${limit}: ${JSON.stringify(found)}`);
	}
});

test('a call to a server that shuts down is a result of its tool', async () => {
	const server = await serve();
	const busy = new Http(server.port).send(call('slow', { ms: 1000 }));
	const kept = new Http(server.port);

	await kept.send(call('echo', { text: 'before' })).response();
	const ended = server.stop();
	// The server closes its listening socket when it has begun to stop.
	for (let tries = 0; tries < 200; tries++) {
		const probe = new Http(server.port);
		await Promise.race([new Promise((done) => probe.socket.on('connect', done)), probe.end(5000)]);
		const isRefused = probe.ended;
		probe.close();
		if (isRefused) break;
		await pause(10);
	}
	isToolFailure((await kept.send(call('echo', { text: 'after' }, { [key]: 'kaiza' })).response()).json, 'kaiza', 'server.shutting_down', 'echo');
	same([(await busy.response()).status, await ended], [200, 0]);
});

test('the header chooses the contract of a refusal, also without a token', async () => {
	const dir = place();
	writeFileSync(join(dir, 'token'), `${token}\n`);
	await http(['--token-file', join(dir, 'token')], async (server) => {
		for (const contract of Object.keys(marks)) {
			const reply = await ask(server, post(explain(1), { 'Faultwire-Contract': contract }));
			same([reply.status, canonical(reply.json).code], [401, 'auth.unauthorized']);
			isIn(contract, reply.json.error.data.error, '401');
		}
		const odd = await ask(server, post(explain(1), { 'Faultwire-Contract': 'no-such' }));
		same([odd.status, canonical(odd.json).code], [401, 'auth.unauthorized'], 'a name that is no contract hides nothing');
	});
});

test('a head that cannot be read chooses no contract', async () => {
	await http([], async (server) => {
		for (const rest of ['Bad Name: x\r\n\r\n', 'A: \u0001\r\n\r\n', 'Content-Length: x\r\n\r\n']) {
			const reply = await ask(server, Buffer.from(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nFaultwire-Contract: kaiza\r\n${rest}`));
			same([reply.status, canonical(reply.json).code], [400, 'protocol.invalid_request'], rest);
			isIn('toolerror', reply.json.error.data.error, rest);
		}
	});
});

test('a complete request that is refused for its headers lost the contract of its header', async () => {
	await http([], async (server) => {
		for (const [contract, twice] of [['kaiza', 'Mcp-Name: a'], ['owlclaw', 'Host: localhost']]) {
			const body = JSON.stringify(explain(1));
			const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nFaultwire-Contract: ${contract}\r\n`;
			const reply = await ask(server, Buffer.from(`${head}${twice}\r\n${twice}\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
			same([reply.status, canonical(reply.json).code], [400, 'protocol.invalid_request'], twice);
			isIn(contract, reply.json.error.data.error, twice);
		}
	});
});

test('the HTTP API refused in JSON-RPC, or in its own contract, before its handler ran', async () => {
	const dir = place();
	writeFileSync(join(dir, 'token'), `${token}\n`);
	await http(['--token-file', join(dir, 'token')], async (server) => {
		const told = async (code, status, head) => {
			const plain = await ask(server, Buffer.from(`${head}\r\n\r\n`));
			const problem = JSON.parse(plain.body);
			same([plain.status, plain.headers['content-type'], problem.code, problem.status], [status, 'application/problem+json', code, status], head);
			for (const choice of ['Faultwire-Contract: kaiza', 'Accept: application/vnd.faultwire.kaiza+json']) {
				const chosen = await ask(server, Buffer.from(`${head}\r\n${choice}\r\n\r\n`));
				same([chosen.status, chosen.headers['content-type']], [status, 'application/json'], `${head} ${choice}`);
				isIn('kaiza', chosen.json, head);
			}
		};
		const known = `Host: localhost\r\nAuthorization: Bearer ${token}`;
		await told('auth.unauthorized', 401, 'GET /api/v1/tools HTTP/1.1\r\nHost: localhost');
		await told('auth.origin_not_allowed', 403, `GET /api/v1/tools HTTP/1.1\r\n${known}\r\nOrigin: https://example.com`);
		await told('protocol.http_method_not_allowed', 405, `PUT /api/v1/tools HTTP/1.1\r\n${known}`);
		await told('input.too_large', 413, `POST /api/v1/convert?to=kaiza HTTP/1.1\r\n${known}\r\nContent-Length: 99999999`);
		await told('protocol.invalid_request', 400, `GET /api/v1/tools HTTP/1.1\r\n${known}\r\nHost: localhost`);
		await told('protocol.path_not_found', 404, `GET /no/such HTTP/1.1\r\n${known}`);
	});
});

test('_meta, header and session choose the contract of what fails before its method', async () => {
	await http([], async (server) => {
		for (const contract of Object.keys(marks)) {
			const header = { 'Faultwire-Contract': contract };
			const told = async (what, bytes, code, status = 200) => {
				const reply = await ask(server, bytes);
				same([reply.status, canonical(reply.json).code], [status, code], what);
				isIn(contract, reply.json.error.data.error, what);
			};
			const all = { ...claim, [key]: contract };
			const message = (method, meta) => ({ jsonrpc: '2.0', id: 1, method, params: { _meta: meta } });
			const named = (method) => ({ 'MCP-Protocol-Version': modern, 'Mcp-Method': method });
			await told('method not found, by _meta', post(message('no/such', all), named('no/such')), 'protocol.method_not_found', 404);
			await told('method not found, by header', post(message('no/such', claim), { ...named('no/such'), ...header }), 'protocol.method_not_found', 404);
			await told('method not found, by capability', post(message('no/such', { ...claim, 'io.modelcontextprotocol/clientCapabilities': { experimental: { [key]: contract } } }), named('no/such')), 'protocol.method_not_found', 404);
			const future = { ...all, 'io.modelcontextprotocol/protocolVersion': '2999-01-01' };
			await told('unsupported version, by _meta', post(message('tools/list', future), { 'MCP-Protocol-Version': '2999-01-01', 'Mcp-Method': 'tools/list' }), 'protocol.unsupported_version', 400);
			await told('unsupported version, by header', post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'MCP-Protocol-Version': '1999-01-01', ...header }), 'protocol.unsupported_version', 400);
			await told('header mismatch, by _meta', post(message('tools/list', all), named('tools/call')), 'protocol.header_mismatch', 400);
			await told('parse error, by header', post('{"jsonrpc":', header), 'protocol.parse_error', 400);
			await told('invalid request, by _meta', post({ jsonrpc: '1.0', id: 1, method: 'ping', params: { _meta: all } }), 'protocol.invalid_request', 400);
			await told('initialize, by its capabilities', post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 7, capabilities: { experimental: { [key]: contract } } } }), 'protocol.invalid_params');
			const inside = await session(server, legacy, { experimental: { [key]: contract } });
			await told('parse error, by session', post('{"jsonrpc":', inside), 'protocol.parse_error', 400);
			await told('method not found, by session', post({ jsonrpc: '2.0', id: 1, method: 'no/such' }, inside), 'protocol.method_not_found');
			await told('version of GET, by session', request('GET', { Accept: 'text/event-stream', ...inside, 'MCP-Protocol-Version': '1999-01-01' }), 'protocol.unsupported_version', 400);
		}
	});
});

test('on stdio the session chooses the contract of a line that is not JSON', async () => {
	for (const contract of Object.keys(marks))
		await stdio([], async (wire) => {
			await wire.initialize(legacy, { experimental: { [key]: contract } });
			wire.send('{"jsonrpc":\n');
			const answer = await wire.next((message) => message.error);
			same(canonical(answer).code, 'protocol.parse_error');
			isIn(contract, answer.error.data.error, 'parse error');
		});
});

test('a version that does not exist is unsupported on GET and DELETE, and all four are listed', async () => {
	const all = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26'];
	await http([], async (server) => {
		const inside = await session(server);
		for (const method of ['GET', 'DELETE']) {
			const reply = await ask(server, request(method, { Accept: 'text/event-stream', ...inside, 'MCP-Protocol-Version': '1999-01-01', 'Faultwire-Contract': 'owlclaw' }));
			same([method, reply.status, canonical(reply.json).code], [method, 400, 'protocol.unsupported_version']);
			same(reply.json.error.data.error.error.details.supported_versions, all);
			const known = await ask(server, request(method, { Accept: 'text/event-stream', ...inside, 'MCP-Protocol-Version': modern }));
			same([method, known.status], [method, 405], 'a modern version has no sessions');
		}
		const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: { ...claim, 'io.modelcontextprotocol/protocolVersion': '2999-01-01' } } };
		const future = await ask(server, post(message, { 'MCP-Protocol-Version': '2999-01-01', 'Mcp-Method': 'tools/list' }));
		same([canonical(future.json).context.supported_versions, future.json.error.data.supported], [all, [modern]], 'the protocol\'s own member has the era of the client');
	});
});

test('resources/read of a server without resources is method not found, and does not repeat the URI', async () => {
	await http([], async (server) => {
		const inside = await session(server, legacy, {});
		const body = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'memo://private/words' } };
		const { json } = await ask(server, post(body, inside));
		same([json.error.code, canonical(json).code], [-32601, 'protocol.method_not_found']);
		same(JSON.stringify(json).includes('memo://'), false);
	});
});

await finish();
