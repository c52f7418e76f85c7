// The HTTP API: tools, codes, incidents, events and versions, against `faultwire serve`;
// and that a tool fails there as it does by MCP.

// reaches: protocol.version_conflict

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bin, env, run } from './lib/cli.mjs';
import { modern } from './lib/mcp.mjs';
import { originOf } from './lib/served.mjs';

const state = mkdtempSync(join(tmpdir(), 'faultwire-api-'));
let server;

async function serve(...args) {
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--log', 'off', ...args], {
		env: { ...env, XDG_STATE_HOME: state }, stdio: ['ignore', 'ignore', 'pipe'],
	});
	const ended = new Promise((done) => child.on('exit', (code, signal) => done(signal ?? code)));
	const url = await originOf(child);
	return { child, url, ended };
}

before(async () => {
	server = await serve('--tools', 'diag');
});
after(async () => {
	server.child.kill('SIGTERM');
	assert.equal(await server.ended, 0);
	rmSync(state, { recursive: true, force: true });
});

async function ask(path, { method, body, headers = {}, to = server } = {}) {
	const reply = await fetch(to.url + path, {
		method: method ?? (body === undefined ? 'GET' : 'POST'),
		headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
		body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
	});
	const text = await reply.text();
	let json;
	try {
		json = JSON.parse(text);
	} catch {}
	return { status: reply.status, headers: reply.headers, text, json };
}

function problem(reply, status, code) {
	assert.equal(reply.status, status, reply.text);
	assert.equal(reply.headers.get('content-type'), 'application/problem+json');
	assert.equal(reply.json.code, code);
	assert.equal(reply.json.status, status);
	assert.equal(reply.headers.get('x-owlclaw-api-version'), '1');
	assert.match(reply.json.incident_id, /^inc_/);
	return reply.json;
}

const call = (name, args, more = {}) => ask(`/api/v1/tools/${name}`, { body: args, ...more });
let id = 0;
async function mcp(name, args) {
	const reply = await ask('/mcp', {
		body: { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args, _meta: modern } },
		headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
	});
	return reply.json;
}
const canonical = (message) => message.result?._meta?.['dev.faultwire/error'] ?? message.error?.data?.['dev.faultwire/error'];

test('tools are listed, described and called', async () => {
	const { json, headers } = await ask('/api/v1/tools');
	assert.equal(headers.get('x-owlclaw-api-version'), '1');
	const names = json.tools.map((tool) => tool.name);
	assert.ok(names.includes('raise_error') && names.includes('explain_error_code'), names);
	assert.deepEqual((await ask('/api/v1/tools/raise_error')).json, json.tools.find((tool) => tool.name === 'raise_error'));
	problem(await ask('/api/v1/tools/nope'), 404, 'protocol.unknown_tool');
	const reply = await call('explain_error_code', { code: 'file.not_found' });
	assert.equal(reply.status, 200);
	assert.equal(reply.headers.get('content-type'), 'application/json');
	const byMcp = await mcp('explain_error_code', { code: 'file.not_found' });
	assert.deepEqual(reply.json.content, byMcp.result.content);
	assert.deepEqual(reply.json.structuredContent, byMcp.result.structuredContent);
	assert.equal(reply.json.jsonrpc, undefined);
});

test('arguments are checked as by MCP', async () => {
	const found = problem(await call('raise_error', {}), 400, 'input.missing_field');
	const other = canonical(await mcp('raise_error', {}));
	assert.equal(other.code, 'input.missing_field');
	assert.deepEqual(found.details.violations, other.context.violations);
	problem(await call('raise_error', { code: 1 }), 400, 'input.invalid_type');
	problem(await call('raise_error', '[1]'), 400, 'protocol.invalid_params');
	problem(await call('raise_error', '{"code":'), 400, 'protocol.parse_error');
	problem(await call('raise_error', '{"code":"a\\u0000b"}'), 400, 'input.invalid_value');
	problem(await call('raise_error', `{"code":${'['.repeat(200)}${']'.repeat(200)}}`), 400, 'input.too_deep');
	problem(await call('raise_error', ''), 400, 'input.missing_field');
	// Nothing in the body becomes part of the call.
	problem(await call('raise_error', '{}},"method":"tools/list"'), 400, 'protocol.parse_error');
});

test('every code is the same on both surfaces', async () => {
	const rows = JSON.parse(run(['registry', '--json']).out);
	const list = rows.codes ?? rows.rows ?? rows;
	let seen = 0;
	for (const row of list) {
		const [api, other] = await Promise.all([call('raise_error', { code: row.code }), mcp('raise_error', { code: row.code })]);
		const there = canonical(other);
		assert.ok(there, row.code);
		assert.equal(api.json.code, there.code, row.code);
		assert.equal(api.json.category, there.category, row.code);
		assert.equal(api.json.retryable, there.retry === 'backoff' || there.retryable === true, row.code);
		assert.equal(api.json.status, api.status, row.code);
		assert.equal(api.json.incident_id.length, there.incident_id.length, row.code);
		if (api.json.retry_after !== undefined) assert.ok(Number(api.headers.get('retry-after')) >= 1, row.code);
		seen++;
	}
	assert.ok(seen > 130, `${seen} codes`);
});

test('a failure has a Retry-After, an incident and an audit record', async () => {
	const found = await call('raise_error', { code: 'governance.rate_limited' });
	assert.equal(found.status, 429);
	assert.ok(Number(found.headers.get('retry-after')) >= 1);
	let shown;
	for (let i = 0; i < 200 && shown?.status !== 200; i++) shown = await ask(`/api/v1/incidents/${found.json.incident_id}`);
	assert.equal(shown.json.code, 'governance.rate_limited');
	assert.equal(shown.json.tool, 'raise_error');
	const { json } = await ask('/api/v1/incidents?code=governance.rate_limited&limit=1');
	assert.equal(json.incidents.length, 1);
	assert.equal(json.incidents[0].tool, 'raise_error');
	const lines = readFileSync(join(state, 'faultwire/audit-log.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
	assert.ok(lines.some((line) => JSON.stringify(line).includes(found.json.incident_id)));
	problem(await ask('/api/v1/incidents/inc_20200101_nothing'), 404, 'incident.not_found');
	problem(await ask('/api/v1/incidents?limit=0'), 400, 'input.invalid_value');
});

test('versions: path and header', async () => {
	assert.equal((await ask('/api/v1/tools', { headers: { 'X-OwlClaw-Api-Version': '1' } })).status, 200);
	assert.equal((await ask('/api/v1/tools', { headers: { 'X-OwlClaw-Api-Version': 'v1' } })).status, 200);
	problem(await ask('/api/v1/tools', { headers: { 'X-OwlClaw-Api-Version': '2' } }), 400, 'protocol.version_conflict');
	for (const path of ['/api/v2/tools', '/api/v9/nothing', '/api/x/tools/y']) {
		const found = problem(await ask(path), 400, 'protocol.unsupported_version');
		assert.deepEqual(found.details.supported_versions, ['1']);
	}
	problem(await ask('/openapi.json', { headers: { 'X-OwlClaw-Api-Version': '7' } }), 400, 'protocol.unsupported_version');
	problem(await ask('/api/v1/nothing'), 404, 'protocol.path_not_found');
	problem(await ask('/api/v1'), 404, 'protocol.path_not_found');
});

test('--upgrade-required is 426, and a token is required everywhere', async () => {
	const file = join(state, 'token');
	run(['--version']);
	(await import('node:fs')).writeFileSync(file, 'secret-token-1\n');
	const strict = await serve('--tools', 'diag', '--token-file', file, '--upgrade-required');
	const headers = { Authorization: 'Bearer secret-token-1' };
	try {
		for (const path of ['/api/v1/tools', '/api/v1/events', '/openapi.json', '/api/v1/incidents', '/api/v2/tools']) {
			const reply = await ask(path, { to: strict });
			assert.equal(reply.status, 401, path);
			assert.equal(reply.json.code, 'auth.unauthorized');
			assert.match(reply.headers.get('www-authenticate'), /^Bearer/);
		}
		assert.equal((await call('raise_error', {}, { to: strict })).status, 401);
		const old = problem(await ask('/api/v2/tools', { to: strict, headers }), 426, 'protocol.unsupported_version');
		assert.deepEqual(old.details.supported_versions, ['1']);
		assert.equal((await ask('/api/v2/tools', { to: strict, headers })).headers.get('upgrade'), 'owlclaw-api/1');
		assert.equal((await ask('/api/v1/tools', { to: strict, headers })).status, 200);
	} finally {
		strict.child.kill('SIGTERM');
		await strict.ended;
	}
});

test('the client chooses the contract of failures', async () => {
	const kaiza = await call('raise_error', { code: 'file.not_found' }, { headers: { 'Faultwire-Contract': 'kaiza' } });
	assert.deepEqual([kaiza.status, kaiza.json.error_code], [404, 'FILE_NOT_FOUND']);
	assert.equal(kaiza.headers.get('content-type'), 'application/json');
	const tool = await call('raise_error', { code: 'file.not_found' }, { headers: { Accept: 'application/vnd.faultwire.toolerror+json' } });
	assert.deepEqual([tool.status, tool.json.type], [404, 'NOT_FOUND']);
	const early = await ask('/api/v1/tools/nope', { headers: { 'Faultwire-Contract': 'toolerror' } });
	assert.equal(early.json.type, 'NOT_FOUND');
	problem(await call('raise_error', {}, { headers: { 'Faultwire-Contract': 'nonsense' } }), 400, 'input.invalid_value');
});

test('media types and methods', async () => {
	problem(await call('raise_error', '{}', { headers: { 'Content-Type': 'text/plain' } }), 415, 'protocol.unsupported_media_type');
	const reply = await ask('/api/v1/tools', { method: 'DELETE' });
	assert.equal(reply.status, 405);
	assert.equal(reply.headers.get('allow'), 'GET, HEAD');
	assert.equal((await ask('/api/v1/tools/x', { method: 'PUT', body: '{}' })).headers.get('allow'), 'GET, HEAD, POST');
});

test('codes are shown, explained and converted', async () => {
	const { json } = await ask('/api/v1/registry');
	assert.ok(json.codes.length > 130);
	assert.deepEqual((await ask('/api/v1/registry/file.not_found')).json, json.codes.find((row) => row.code === 'file.not_found'));
	problem(await ask('/api/v1/registry/no.such'), 404, 'registry.code_unregistered');
	const meanings = (await ask('/api/v1/explain?code=NOT_FOUND')).json.meanings;
	assert.ok(meanings.some((one) => one.contract === 'toolerror'));
	problem(await ask('/api/v1/explain'), 400, 'input.missing_field');
	problem(await ask('/api/v1/explain?code=x&contract=y'), 400, 'input.invalid_value');
	const envelope = run(['convert', '--to', 'kaiza'], { input: run(['registry', '--examples']).out.split('\n')[0] }).out;
	const turned = await ask('/api/v1/convert?to=owlclaw-api', { body: envelope });
	assert.equal(turned.status, 200);
	assert.ok(turned.json.code.includes('.'));
	problem(await ask('/api/v1/convert?from=kaiza&to=owlclaw', { body: '{"hello":1}' }), 400, 'contract.malformed');
});

test('outcomes are streamed', async () => {
	const reply = await fetch(`${server.url}/api/v1/events`);
	assert.equal(reply.headers.get('content-type'), 'text/event-stream');
	const reader = reply.body.getReader();
	let text = '';
	const until = async (pattern) => {
		while (!pattern.test(text)) text += Buffer.from((await reader.read()).value).toString();
	};
	await until(/event: ready\n/);
	const failed = await call('raise_error', { code: 'file.not_found' });
	await until(/"code":"file\.not_found"[^\n]*\n\n/);
	assert.match(text, new RegExp(failed.json.incident_id));
	assert.match(text, /event: outcome\nid: \d+\ndata: \{"time_ms":\d+,"outcome":"tool_error","method":"tools\/call","name":"raise_error"/);
	await mcp('explain_error_code', { code: 'file.not_found' });
	await until(/"outcome":"result"/);
	await reader.cancel();
	await call('raise_error', { code: 'file.not_found' });
});

test('--incidents off: the list says so, and asking for it is not a failure', async () => {
	const off = await serve('--tools', 'diag', '--incidents', 'off');
	const { status, json } = await ask('/api/v1/incidents?limit=20', { to: off });
	assert.deepEqual([status, json], [200, { incidents: [], stored: false }]);
	problem(await ask('/api/v1/incidents/inc_20200101_nothing', { to: off }), 404, 'incident.not_found');
	off.child.kill('SIGTERM');
	await off.ended;
});

test('a parameter of a path is decoded once', async () => {
	for (const [path, name] of [['a%2Fb', 'a/b'], ['a%252Fb', 'a%2Fb'], ['a%25252Fb', 'a%252Fb'], ['100%25', '100%']]) {
		const { json } = await ask(`/api/v1/tools/${path}`);
		assert.equal(json.detail, `tool does not exist: ${name}`, path);
	}
});

test('--api off: nothing is there', async () => {
	const off = await serve('--tools', 'diag', '--api', 'off');
	assert.equal((await ask('/api/v1/tools', { to: off })).status, 404);
	assert.equal((await ask('/openapi.json', { to: off })).status, 404);
	off.child.kill('SIGTERM');
	await off.ended;
	assert.equal(run(['serve', '--api', 'off']).status, 2);
	assert.equal(run(['serve', '--http', '127.0.0.1:0', '--api', 'maybe']).status, 2);
});
