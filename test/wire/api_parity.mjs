// MCP and the HTTP API report the same failure: every code in every contract, and each row
// of the owlclaw matrix by its condition.

// reaches: dependency.unavailable

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { dirname, join } from 'node:path';
import { bin, run } from './lib/cli.mjs';
import { Place, api, ask, canonical, mcp, until } from './lib/govern.mjs';
import { modern } from './lib/mcp.mjs';
import { Place as Workspace } from './lib/workspace.mjs';

const place = new Place('parity');
const codes = JSON.parse(run(['registry', '--json']).out);
const list = codes.codes ?? codes.rows ?? codes;
let server;
before(async () => {
	server = await place.start('serve', '--tools', 'diag', '--log', 'off', '--hints', 'off', '--audit-sync', 'off');
});
after(() => place.end());

const INCIDENT = /^inc_\d{8}_[a-z2-7]{26}$/;

// What is different in every failure.
function plain(value) {
	if (Array.isArray(value)) return value.map(plain);
	if (value === null || typeof value !== 'object') return typeof value === 'string' ? value.replace(/inc_\d{8}_[a-z2-7]{26}/, 'inc_').replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, 'time') : value;
	return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

const text = (reply) => JSON.parse(reply.json.result?.content[0].text ?? JSON.stringify(reply.json.error.data.error));

// A caller of the API has no name.
const unnamed = ({ client, ...rest }) => rest;

test('every code, contract by contract', async () => {
	let compared = 0;
	for (const contract of ['canonical', 'kaiza', 'context-v0', 'codeintel', 'toolerror', 'owlclaw']) {
		const headers = { 'Faultwire-Contract': contract };
		const compare = async (row) => {
			const args = ['raise_error', { code: row.code }];
			const [here, there] = await Promise.all([api(server, ...args, { headers }), mcp(server, ...args, { headers })]);
			const error = canonical(there);
			const what = `${row.code} in ${contract}`;
			assert.deepEqual([error.code, error.category, error.retry, error.status, here.status], [row.code, row.category, row.retry, row.status, row.status], what);
			assert.match(error.incident_id, INCIDENT, what);
			assert.deepEqual(unnamed(plain(here.json)), unnamed(plain(text(there))), what);
			assert.equal(here.headers.get('content-type'), 'application/json', what);
			assert.equal(here.headers.get('retry-after') !== null, error.retry_after !== undefined, what);
			compared++;
		};
		for (let i = 0; i < list.length; i += 8) await Promise.all(list.slice(i, i + 8).map(compare));
	}
	assert.equal(compared, 6 * list.length);
});

test('every code as a problem document', async () => {
	for (const row of list) {
		const args = ['raise_error', { code: row.code }];
		const [here, there] = await Promise.all([api(server, ...args), mcp(server, ...args, { headers: { 'Faultwire-Contract': 'owlclaw' } })]);
		const { error: other } = text(there);
		for (const name of ['code', 'category', 'retryable', 'details', 'retry_after']) assert.deepEqual(plain(here.json[name]), plain(other[name]), `${row.code}: ${name}`);
		assert.deepEqual([here.json.retryable, here.json.status, here.json.detail], [row.retry === 'backoff', row.status, other.message], row.code);
		assert.match(here.json.incident_id, INCIDENT);
		assert.match(other.incident_id, INCIDENT);
		assert.equal(here.headers.get('content-type'), 'application/problem+json');
	}
});

test('Accept chooses the contract by its media type', async () => {
	for (const [accept, type, contract] of [
		['application/vnd.faultwire.kaiza+json', 'application/json', 'error_code'],
		['application/vnd.faultwire.toolerror+json, */*;q=0.1', 'application/json', 'recoverable'],
		['application/problem+json', 'application/problem+json', 'incident_id'],
		['application/json', 'application/problem+json', 'incident_id'],
		['*/*', 'application/problem+json', 'incident_id'],
	]) {
		const reply = await api(server, 'raise_error', { code: 'file.not_found' }, { headers: { Accept: accept } });
		assert.deepEqual([reply.status, reply.headers.get('content-type')], [404, type], accept);
		assert.ok(contract in reply.json, accept);
	}
});

// ---- the owlclaw matrix ---------------------------------------------------------------

const matrix = {
	'protocol.unsupported_version': [400, 'compatibility', false],
	'protocol.version_conflict': [400, 'validation', false],
	'governance.rate_limited': [429, 'governance', true],
	'governance.budget_exceeded': [403, 'governance', false],
	'auth.unauthorized': [401, 'auth', false],
	'auth.forbidden': [403, 'auth', false],
	'runtime.timeout': [504, 'runtime', true],
	'dependency.unavailable': [503, 'dependency', true],
	'internal.unexpected': [500, 'internal', false],
};

// Both surfaces say what the matrix says.
function same(code, here, there) {
	const [status, category, retryable] = matrix[code];
	const body = there.json.result ? JSON.parse(there.json.result.content[0].text) : there.json.error?.data?.error ?? there.json;
	const other = body.error ?? body;
	assert.deepEqual([here.status, here.json.code, here.json.category, here.json.retryable], [status, code, category, retryable], here.text);
	assert.deepEqual([other.code, other.category, other.retryable], [code, category, retryable], there.text);
	for (const one of [here.json, other]) assert.match(one.incident_id, INCIDENT);
}
const headers = { 'Faultwire-Contract': 'owlclaw' }; // by MCP; it is what the API has

test('protocol.unsupported_version and protocol.version_conflict', async () => {
	const call = (version, stated) => ask(server, '/mcp', {
		body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: { ...modern, 'io.modelcontextprotocol/protocolVersion': stated } } },
		headers: { ...headers, Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': version, 'Mcp-Method': 'tools/list' },
	});
	same('protocol.unsupported_version', await ask(server, '/api/v9/tools'), await call('2099-01-01', '2099-01-01'));
	const there = await call('2026-07-28', '2025-11-25');
	same('protocol.version_conflict', await ask(server, '/api/v1/tools', { headers: { 'X-OwlClaw-Api-Version': '9' } }), there);
	// The protocol's number for a header unlike the body.
	assert.deepEqual([there.status, there.json.error.code], [400, -32020]);
});

test('governance.rate_limited', async () => {
	const limited = await place.start('serve', '--tools', 'diag', '--log', 'off', '--limit', 'calls_per_second=1', '--limit', 'calls_burst=1');
	const args = ['explain_error_code', { code: 'file.not_found' }];
	const here = await until(async () => {
		const reply = await api(limited, ...args);
		return reply.status === 429 && reply;
	}, 'limited by the API');
	const there = await until(async () => {
		const reply = await mcp(limited, ...args, { headers });
		return reply.text.includes('rate_limited') && reply;
	}, 'limited by MCP');
	same('governance.rate_limited', here, there);
	assert.ok(Number(here.headers.get('retry-after')) >= 1);
	await limited.stop();
});

// test/wire/govern_*.mjs: tokens with scopes, and budgets.
test('auth.unauthorized and auth.forbidden', async () => {
	const token = place.token('watcher', 'incidents');
	const closed = await place.start('serve', '--tools', 'diag', '--log', 'off', '--tokens');
	const args = ['raise_error', { code: 'file.not_found' }];
	same('auth.unauthorized', await api(closed, ...args), await mcp(closed, ...args, { headers }));
	same('auth.forbidden', await api(closed, ...args, { token }), await mcp(closed, ...args, { headers, token }));
	await closed.stop();
});

test('governance.budget_exceeded: a client has spent its budget', async () => {
	writeFileSync(place.file('clients.json'), JSON.stringify({ version: 1, clients: { miser: { budget_per_day: 1 } } }));
	const token = place.token('miser', 'admin');
	const budget = await place.start('serve', '--tools', 'diag', '--log', 'off', '--tokens', '--clients', place.file('clients.json'));
	const args = ['explain_error_code', { code: 'file.not_found' }];
	assert.equal((await api(budget, ...args, { token })).status, 200);
	same('governance.budget_exceeded', await api(budget, ...args, { token }), await mcp(budget, ...args, { headers, token }));
	await budget.stop();
});

test('runtime.timeout: a call that takes longer than its deadline', async () => {
	const work = new Workspace();
	const plan = work.plan('src/**');
	Object.assign(place.env, { XDG_CONFIG_HOME: work.env.XDG_CONFIG_HOME });
	const slow = await place.start('serve', '--tools', 'workspace', '--role', 'windsurf', '--workspace', work.root, '--auto-session', '--preflight', 'sleep 60', '--deadline', '1', '--log', 'off');
	const args = ['write_file', { path: 'src/a.txt', content: 'x\n', plan }];
	const here = await api(slow, ...args);
	same('runtime.timeout', here, await mcp(slow, ...args, { headers }));
	await slow.stop();
	work.drop();
});

test('dependency.unavailable: the store of the reservations cannot be used', async () => {
	mkdirSync(place.file('broken'), { recursive: true });
	writeFileSync(place.file('broken/store.db'), 'not a database, but long enough to be taken for one\n'.repeat(100));
	const broken = await place.start('serve', '--tools', 'reserve', '--store', place.file('broken/store.db'), '--log', 'off');
	const args = ['my_reservations', { agent_id: 'a' }];
	const here = await api(broken, ...args);
	same('dependency.unavailable', here, await mcp(broken, ...args, { headers }));
	await broken.stop();
});

test('internal.unexpected: a system call in a tool fails as only a defect can make it fail', async () => {
	const gate = await place.start('gate', '--log', 'off', '--', join(dirname(bin), 'hazard'));
	const here = await api(gate, 'defect', {});
	same('internal.unexpected', here, await mcp(gate, 'defect', {}, { headers }));
	assert.match(here.text, /EBADF/);
	await gate.stop();
});
