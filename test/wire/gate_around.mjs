// What stands around the gateway: metrics, readiness, the HTTP API, and everything that `serve` has as well.

import test from 'node:test';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, run, scratch } from './lib/cli.mjs';
import { Wire, canonical, modern, text } from './lib/mcp.mjs';
import { served } from './lib/served.mjs';

process.env.XDG_STATE_HOME = scratch();
const upstream = join(root, 'test/programs/upstream.mjs');
const place = () => mkdtempSync(join(scratch(), 'around-'));

async function gateway(servers, ...args) {
	const file = join(place(), 'mcp.json');
	writeFileSync(file, JSON.stringify({ mcpServers: servers }));
	const gate = await served(faultwire, ['gate', '--http', '127.0.0.1:0', '--config', file, ...args]);
	gate.base = new URL(gate.url).origin;
	gate.get = async (path, headers) => {
		const reply = await fetch(gate.base + path, { headers });
		return { status: reply.status, text: await reply.text() };
	};
	gate.call = async (name, args2, headers) => {
		const reply = await fetch(gate.url, {
			method: 'POST',
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name, ...headers },
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args2 ?? {}, _meta: modern } }),
		});
		const body = await reply.text();
		return { status: reply.status, ...JSON.parse(body.startsWith('{') ? body : body.split('\n').findLast((line) => line.startsWith('data: {')).slice(6)) };
	};
	return gate;
}

const node = (name, own) => ({ command: 'node', args: [upstream, name], ...(own && { faultwire: own }) });
const quiet = ['--audit', 'off', '--incidents', 'off'];

test('metrics and readiness tell the state of each upstream', async () => {
	const gate = await gateway({ a: node('a', { breaker: { failures: 2, pause: 60 } }), 'b "x"': node('b'), gone: { command: '/nonexistent/server' } }, ...quiet);
	assert.equal(text(await gate.call('a__ok')), 'hello from a');
	assert.ok(canonical(await gate.call('a__flat')));
	await gate.call('a__crash');
	await gate.call('a__crash');
	assert.equal(canonical(await gate.call('a__ok')).code, 'upstream.suspended');
	const metrics = (await gate.get('/metrics')).text.split('\n');
	for (const line of [
		'faultwire_upstream_up{upstream="b \\"x\\""} 1',
		'faultwire_upstream_up{upstream="gone"} 0',
		'faultwire_upstream_breaker{upstream="a",state="open"} 1',
		'faultwire_upstream_breaker{upstream="a",state="closed"} 0',
		'faultwire_upstream_breaker{upstream="gone",state="closed"} 1',
		'faultwire_upstream_requests_total{upstream="a",outcome="ok"} 1',
		'faultwire_upstream_requests_total{upstream="a",outcome="failed"} 1',
		'faultwire_upstream_requests_total{upstream="a",outcome="broken"} 2',
		'faultwire_upstream_requests_total{upstream="a",outcome="refused"} 1',
		'faultwire_upstream_in_flight{upstream="a"} 0',
		'faultwire_upstream_restarts_total{upstream="a"} 1',
		'# TYPE faultwire_upstream_restarts_total counter',
	])
		assert.ok(metrics.includes(line), `${line}\n${metrics.filter((found) => found.includes('upstream')).join('\n')}`);
	const ready = await gate.get('/readyz');
	assert.equal(ready.status, 200);
	assert.match(ready.text, /^ready\n/);
	assert.match(ready.text, /^upstream a: .*suspended$/m);
	assert.match(ready.text, /^upstream b "x": up$/m);
	assert.match(ready.text, /^upstream gone: down \(upstream.cannot_start\)$/m);
	assert.ok(!ready.text.includes('/nonexistent'));
	await gate.stop();
	const none = await gateway({ gone: { command: '/nonexistent/server' } }, ...quiet);
	await none.call('x');
	assert.equal((await none.get('/readyz')).status, 503);
	await none.stop();
});

test('the HTTP API lists and calls the tools of upstreams', async () => {
	const gate = await gateway({ a: node('a'), b: node('b') }, ...quiet);
	const list = JSON.parse((await gate.get('/api/v1/tools')).text).tools.map(({ name }) => name);
	assert.ok(list.includes('a__ok') && list.includes('b__ok'));
	const one = await gate.get('/api/v1/tools/b__ok');
	assert.deepEqual([one.status, JSON.parse(one.text).name], [200, 'b__ok']);
	assert.equal((await gate.get('/api/v1/tools/no_such')).status, 404);
	const post = async (name, body, headers) => {
		const reply = await fetch(`${gate.base}/api/v1/tools/${name}`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
		return { status: reply.status, type: reply.headers.get('content-type'), body: await reply.json() };
	};
	const echo = await post('a__echo', { n: 9007199254740993n.toString() });
	assert.deepEqual([echo.status, echo.body.content[0].text], [200, '{"n":"9007199254740993"}']);
	assert.ok(!('jsonrpc' in echo.body) && !('resultType' in echo.body));
	const crash = await post('a__crash', {});
	assert.deepEqual([crash.status, crash.type, crash.body.code], [502, 'application/problem+json', 'upstream.crashed']);
	const flat = await post('b__flat', {});
	assert.equal(flat.type, 'application/problem+json');
	assert.equal((await post('no_such', {})).body.code, 'protocol.unknown_tool');
	// A key is used once, though nothing is known of what the tool does.
	const key = { 'idempotency-key': 'k1' };
	const first = await post('b__count', {}, key);
	assert.deepEqual((await post('b__count', {}, key)).body, first.body);
	assert.notDeepEqual((await post('b__count', {})).body, first.body);
	await gate.stop();
	const off = await gateway({ a: node('a') }, ...quiet, '--api', 'off');
	assert.equal((await off.get('/api/v1/tools')).status, 404);
	await off.stop();
});

test('one upstream over the API keeps its names', async () => {
	const gate = await gateway({ a: node('a') }, ...quiet);
	assert.ok(JSON.parse((await gate.get('/api/v1/tools')).text).tools.some(({ name }) => name === 'ok'));
	await gate.stop();
});

test('audit log, incidents, log, token, limits, alerts and contract are those of serve', async () => {
	const dir = place();
	const audit = join(dir, 'audit.jsonl');
	const incidents = join(dir, 'incidents.db');
	const token = join(dir, 'token');
	writeFileSync(token, 'correct-horse-battery\n');
	const alerts = [];
	const hook = createServer((req, res) => {
		let body = '';
		req.on('data', (bytes) => (body += bytes));
		req.on('end', () => (alerts.push(body), res.end()));
	});
	await new Promise((done) => hook.listen(0, '127.0.0.1', done));
	const gate = await gateway({ a: node('a') }, '--audit', audit, '--incidents', incidents, '--token-file', token, '--log', 'json', '--limit', 'in_flight=7', '--contract', 'owlclaw', '--alert-webhook', `http://127.0.0.1:${hook.address().port}/`);
	const auth = { authorization: 'Bearer correct-horse-battery' };
	assert.equal((await gate.call('ok')).status, 401);
	assert.equal((await gate.get('/api/v1/tools')).status, 401);
	assert.equal((await gate.get('/metrics')).status, 401);
	assert.equal(text(await gate.call('ok', {}, auth)), 'hello from a');
	assert.match((await gate.get('/readyz', auth)).text, /of 7 in progress/);
	const failed = await gate.call('crash', {}, auth);
	const told = JSON.parse(text(failed));
	assert.ok(told.incident_id ?? told.error?.incident_id, text(failed));
	const id = told.incident_id ?? told.error.incident_id;
	// It is written a moment later.
	let list = '';
	for (let i = 0; i < 100 && !list.includes(id); i++) {
		list = (await gate.get('/api/v1/incidents', auth)).text;
		await new Promise((done) => setTimeout(done, 20));
	}
	assert.ok(list.includes(id), list);
	for (let i = 0; i < 100 && !alerts.length; i++) await new Promise((done) => setTimeout(done, 50));
	assert.ok(alerts.join().includes('upstream.crashed'), alerts.join());
	assert.equal(await gate.stop(), 0);
	hook.closeAllConnections();
	hook.close();
	assert.ok(readFileSync(audit, 'utf8').includes(id));
	assert.equal(run(['audit', 'verify', audit]).status, 0);
	assert.equal(run(['incident', 'show', id, '--incidents', incidents]).status, 0);
	const logged = gate.err.split('\n').filter(Boolean).map((line) => JSON.parse(line));
	assert.ok(logged.some(({ event }) => event === 'gateway_started'));
	assert.ok(logged.some((line) => JSON.stringify(line).includes('upstream_ended')));
	assert.ok(!gate.err.includes('correct-horse'));
});

test('limits and the contract hold on stdio, too', async () => {
	const wire = new Wire(['gate', '--log', 'off', '--audit', 'off', '--incidents', 'off', '--contract', 'kaiza', '--limit', 'message_bytes=100000', '--', 'node', upstream], faultwire);
	await wire.initialize();
	assert.equal(typeof JSON.parse(text(await wire.call('crash'))).error_code, 'string');
	wire.send(JSON.stringify({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'echo', arguments: { x: 'x'.repeat(200000) } } }) + '\n');
	const refused = await wire.next((message) => message.error);
	assert.ok(JSON.stringify(refused).includes('too_large') || refused.error.code === -32600, JSON.stringify(refused).slice(0, 300));
	assert.equal(text(await wire.call('ok')), 'hello from upstream');
	await wire.end();
	assert.ok(existsSync(upstream));
});
