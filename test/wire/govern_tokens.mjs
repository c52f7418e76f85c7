// Bearer tokens with scopes, by MCP and by the API, in `serve` and in `gate`: made, used,
// refused, revoked and rotated while the server runs; guessing is slowed and alerted.

// reaches: auth.unauthorized
// reaches: auth.forbidden

import assert from 'node:assert/strict';
import { get } from 'node:http';
import { after, before, test } from 'node:test';
import { bin, run } from './lib/cli.mjs';
import { Place, api, ask, canonical, isFine, mcp, method, until } from './lib/govern.mjs';

const place = new Place('tokens');
const EXPLAIN = 'explain_error_code';
const CODE = { code: 'file.not_found' };
let server, gate, reader, echoer, diag, admin, watcher;

before(async () => {
	reader = place.token('reader', 'read');
	echoer = place.token('echoer', 'tool:explain_error_code');
	diag = place.token('diag', 'toolset:diag');
	watcher = place.token('watcher', 'incidents');
	admin = place.token('boss', 'admin');
	server = await place.start('serve', '--tools', 'diag', '--tokens', '--log', 'json');
	gate = await place.start('gate', '--tokens', '--log', 'off', '--name', 'inner', '--', bin, 'serve', '--tools', 'diag', '--log', 'off');
});
after(() => place.end());

test('without a token, or with a wrong one, there is a 401 that says what is wanted', async () => {
	for (const to of [server, gate]) {
		const none = await mcp(to, EXPLAIN, CODE);
		assert.equal(none.status, 401, none.text);
		assert.equal(none.headers.get('www-authenticate'), 'Bearer');
		assert.equal(canonical(none)?.code ?? none.json.code, 'auth.unauthorized');
		const wrong = await mcp(to, EXPLAIN, CODE, { token: `${echoer.slice(0, -1)}${echoer.endsWith('A') ? 'B' : 'A'}` });
		assert.equal(wrong.status, 401);
		assert.equal(wrong.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
	}
	const page = await api(server, EXPLAIN, CODE);
	assert.equal(page.status, 401);
	assert.equal(page.json.code, 'auth.unauthorized');
	assert.equal(page.headers.get('www-authenticate'), 'Bearer');
});

test('a scope covers its tool, its toolset, reading, or everything', async () => {
	for (const token of [echoer, diag, admin]) {
		assert.ok(isFine(await mcp(server, EXPLAIN, CODE, { token })));
		assert.ok(isFine(await api(server, EXPLAIN, CODE, { token })));
		// Tools of a gateway are those of its upstream.
		if (token !== diag) assert.ok(isFine(await mcp(gate, EXPLAIN, CODE, { token })));
	}
	assert.ok(isFine(await mcp(server, EXPLAIN, CODE, { token: reader })));
});

test('a tool outside of the scopes is auth.forbidden: a result by MCP, a 403 by the API', async () => {
	const result = await mcp(server, 'raise_error', CODE, { token: echoer });
	assert.equal(result.status, 200);
	assert.equal(result.json.result.isError, true);
	assert.equal(canonical(result).code, 'auth.forbidden');
	assert.equal(canonical(result).context.scope, 'tool:raise_error');
	const page = await api(server, 'raise_error', CODE, { token: echoer });
	assert.equal(page.status, 403);
	assert.equal(page.json.code, 'auth.forbidden');
	assert.equal(page.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="tool:raise_error"');
	// A gateway does not trust an upstream to say which of its tools change nothing.
	const relayed = await mcp(gate, EXPLAIN, CODE, { token: reader });
	assert.equal(canonical(relayed).code, 'auth.forbidden');
	const page403 = await api(gate, EXPLAIN, CODE, { token: reader });
	assert.equal(page403.status, 403, page403.text);
	assert.ok(isFine(await api(gate, EXPLAIN, CODE, { token: echoer })));
	const other = await mcp(gate, EXPLAIN, CODE, { token: diag });
	assert.equal(canonical(other).code, 'auth.forbidden');
});

test('resources need read, incidents and metrics their own scope', async () => {
	const read = await method(server, 'resources/read', { uri: 'x://y' }, { 'Mcp-Name': 'x://y' }, { token: echoer });
	assert.match(canonical(read).code, /^(auth\.forbidden|protocol\.method_not_found)$/);
	for (const path of ['/api/v1/incidents', '/api/v1/alerts', '/metrics', '/alerts']) {
		const refused = await ask(server, path, { token: echoer });
		assert.equal(refused.status, 403, path);
		assert.equal(refused.json.code, 'auth.forbidden');
		assert.equal((await ask(server, path, { token: watcher })).status, 200, path);
	}
	assert.equal((await ask(server, '/api/v1/tools', { token: watcher })).status, 200);
	assert.equal((await api(server, EXPLAIN, CODE, { token: watcher })).status, 403);
});

test('refusals are audited, counted and alerted', async () => {
	const alerts = await ask(server, '/alerts', { token: watcher });
	assert.ok(alerts.text.includes('auth.forbidden'), alerts.text);
	const metrics = await ask(server, '/metrics', { token: watcher });
	assert.match(metrics.text, /code="auth\.forbidden"/);
	assert.match(metrics.text, /code="auth\.unauthorized"/);
	const found = run(['audit', 'query', place.file('faultwire/audit-log.jsonl'), '--code', 'auth.forbidden', '--json'], { env: place.env });
	assert.match(found.out, /auth\.forbidden/);
});

test('a token made, rotated and revoked while the server runs', async () => {
	const late = place.token('late', 'read');
	const works = async (token) => (await mcp(server, EXPLAIN, CODE, { token })).status === 200;
	await until(() => works(late), 'the new token');
	const next = place.faultwire('token', 'rotate', 'late', '--overlap', '1h').trim();
	await until(() => works(next), 'the rotated token');
	assert.ok(await works(late), 'the old one works during the overlap');
	place.faultwire('token', 'revoke', 'late');
	await until(async () => !(await works(next)) && !(await works(late)), 'the revoked tokens');
	const refused = await mcp(server, EXPLAIN, CODE, { token: next });
	assert.equal(refused.status, 401);
	assert.match(refused.text, /revoked/);
});

test('a token expires by the clock', async () => {
	const brief = place.faultwire('token', 'new', 'brief', '--scope', 'read', '--expires', '3s').trim();
	const status = async () => (await mcp(server, EXPLAIN, CODE, { token: brief })).status;
	await until(async () => (await status()) === 200, 'the new token');
	await until(async () => (await status()) === 401, 'its end');
	assert.match((await mcp(server, EXPLAIN, CODE, { token: brief })).text, /expired/);
});

test('the last use of a token is recorded, and the store has no token', async () => {
	const seen = await until(() => JSON.parse(place.faultwire('token', 'list', '--json')).find((row) => row.name === 'echoer' && row.last_used), 'the last use');
	assert.ok(Math.abs(Date.now() - Date.parse(seen.last_used)) < 600000);
	assert.ok(!JSON.stringify(seen).includes(echoer.slice(-40)));
});

test('a session of one client is not for another', async () => {
	const begin = await ask(server, '/mcp', {
		token: echoer, headers: { Accept: 'application/json, text/event-stream' },
		body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } },
	});
	assert.equal(begin.status, 200, begin.text);
	const session = begin.headers.get('mcp-session-id');
	const stolen = await ask(server, '/mcp', {
		token: reader, headers: { Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' },
		body: { jsonrpc: '2.0', id: 2, method: 'tools/list' },
	});
	assert.notEqual(stolen.status, 200, stolen.text);
});

test('guessing is slowed and alerted; a known client is not affected', async () => {
	const guess = (i) => mcp(server, EXPLAIN, CODE, { token: `fwt_${String(i).padStart(16, '0')}_${'A'.repeat(43)}` });
	let slowed;
	for (let i = 0; i < 40 && !slowed; i++) {
		const reply = await guess(i);
		if (reply.status === 429) slowed = reply;
		else assert.equal(reply.status, 401);
	}
	assert.ok(slowed, 'no guess was slowed');
	assert.ok(Number(slowed.headers.get('retry-after')) >= 1);
	assert.equal((await mcp(server, EXPLAIN, CODE, { token: admin })).status, 200);
	await until(async () => (await ask(server, '/alerts', { token: watcher })).text.includes('auth.unauthorized'), 'the alert');
});

// The whole of IPv4 was one address there: one guesser locked out all new clients.
test('a guesser by IPv4 does not slow others on a socket for both protocols', async (t) => {
	const token = place.token('newcomer', 'admin');
	const both = await place.start('serve', '--tools', 'diag', '--tokens', '--log', 'off', { http: '[::]:0' }).catch(() => undefined);
	if (!both) return t.skip('no IPv6 here');
	const { port } = new URL(both.url);
	const from = (localAddress, bearer) => new Promise((done, lost) => {
		get({ host: '127.0.0.1', port, path: '/api/v1/tools', localAddress, headers: { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${bearer}` } }, (reply) => done(reply.resume().statusCode)).on('error', lost);
	});
	await until(async () => (await from('127.0.0.1', 'wrong')) === 429, 'the guesser is slowed');
	assert.equal(await from('127.0.0.2', token), 200);
	assert.equal(await both.stop(), 0);
});

test('servers stop cleanly', async () => {
	assert.equal(await server.stop(), 0);
	assert.equal(await gate.stop(), 0);
});
