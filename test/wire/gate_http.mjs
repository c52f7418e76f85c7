// HTTP upstreams of the gateway: redirects, and failures of the connection, each by its condition.

// reaches: transport.connection_reset, transport.name_not_resolved, transport.timeout, transport.tls_failed, transport.unreachable
// reaches: transport.broken_pipe, transport.protocol_violation, resource.conflict

import test from 'node:test';
import assert from 'node:assert/strict';
import { bin as faultwire, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { json, web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, ...args], faultwire);
	await wire.initialize();
	return wire;
}

const facts = (reply) => {
	const { code, origin, delivery } = canonical(reply);
	return [code, origin, delivery];
};

// ---- redirects

// Redirects every request whose path is not /new.
const moved = (status, to) => (req, res) => {
	if (req.url.startsWith('/new')) return false;
	res.writeHead(status, { location: to(req) }).end('moved');
	return true;
};

test('a redirect on the same host is followed, with method, body and headers', async () => {
	for (const status of [301, 302, 307, 308]) {
		const server = await web((req, res, { id, params }) => words(res, id, `${req.method} ${req.headers['x-key']} ${params.arguments.n}`), moved(status, () => '/new/place'));
		const wire = await started('--url', server.url, '--header', 'X-Key: secret1');
		assert.equal(text(await wire.call('t', { n: 1 })), 'POST secret1 1', String(status));
		assert.equal(text(await wire.call('t', { n: 2 })), 'POST secret1 2', String(status));
		// A permanent one is remembered.
		const asked = server.seen.filter(({ url, message }) => url === '/mcp' && message.method === 'tools/call').length;
		assert.equal(asked, status === 301 || status === 308 ? 0 : 2, String(status));
		await wire.end();
		await server.stop();
	}
});

test('no redirect leads to another host or port, and nothing is sent there', async () => {
	const other = await web((req, res, { id }) => words(res, id, 'other'));
	for (const [to, reason] of [
		[`http://localhost:${other.port}/mcp`, /another host/],
		[`http://127.0.0.1:${other.port}/mcp`, /another port/],
		['ftp://127.0.0.1/x', /no http URL/],
		['http://127.0.0.1.example.invalid/x', /another host/],
	]) {
		const server = await web(
			(req, res, { id }) => words(res, id, 'here'),
			(req, res, { method }) => method === 'tools/call' && Boolean(res.writeHead(307, { location: to }).end()),
		);
		const wire = await started('--url', server.url, '--header', 'Authorization: Bearer abc');
		const reply = await wire.call('t');
		assert.deepEqual(facts(reply), ['transport.protocol_violation', 'transport', 'replied'], to);
		assert.match(canonical(reply).message, reason);
		assert.equal(server.calls(), 1);
		await wire.end();
		await server.stop();
	}
	assert.equal(other.seen.length, 0);
	await other.stop();
});

test('a loop of redirects, one without a place, and 303 end with the reason', async () => {
	for (const [head, reason, calls] of [
		[[307, { location: '/mcp' }], /in a circle/, 1],
		[[307, {}], /without saying where/, 1],
		[[303, { location: '/new' }], /a page \(303\)/, 1],
	]) {
		const server = await web(
			(req, res, { id }) => words(res, id, 'here'),
			(req, res, { method }) => method === 'tools/call' && Boolean(res.writeHead(...head).end()),
		);
		const wire = await started('--url', server.url);
		const reply = await wire.call('t');
		assert.deepEqual(facts(reply), ['transport.protocol_violation', 'transport', 'replied']);
		assert.match(canonical(reply).message, reason);
		assert.equal(server.calls(), calls);
		await wire.end();
		await server.stop();
	}
});

// ---- the connection

test('a host that cannot be reached, named or spoken to fails with its own code, and nothing is sent', async () => {
	const plain = await web((req, res, { id }) => words(res, id, 'plain'));
	for (const [url, code] of [
		['http://no-such-host.invalid/mcp', 'transport.name_not_resolved'],
		['http://255.255.255.255:9/mcp', 'transport.unreachable'],
		[`https://127.0.0.1:${plain.port}/mcp`, 'transport.tls_failed'],
	]) {
		const wire = await started('--url', url);
		assert.deepEqual(facts(await wire.call('t')), [code, 'transport', 'not_sent'], url);
		await wire.end();
	}
	assert.equal(plain.seen.length, 0);
	await plain.stop();
});

test('a connection that is reset during a call may have delivered it', async () => {
	const server = await web((req) => req.socket.resetAndDestroy());
	const wire = await started('--url', server.url);
	assert.deepEqual(facts(await wire.call('t')), ['transport.connection_reset', 'transport', 'sent']);
	assert.equal(server.calls(), 1);
	await wire.end();
	await server.stop();
});

test('a status that says why is read as that', async () => {
	for (const [status, code] of [
		[408, 'transport.timeout'],
		[504, 'transport.timeout'],
		[409, 'resource.conflict'],
	]) {
		const server = await web((req, res) => res.writeHead(status).end('x'));
		const wire = await started('--url', server.url);
		const error = canonical(await wire.call('t'));
		assert.deepEqual([error.code, error.delivery, error.context.http_status], [code, 'replied', status]);
		assert.equal(server.calls(), 1);
		await wire.end();
		await server.stop();
	}
});

test('a program that has closed its input gets nothing, and the call is known as not sent', async () => {
	// It answers the handshake, closes its input and stays.
	const program = `
		let rest = '';
		process.stdin.on('data', (bytes) => {
			rest += bytes;
			for (const line of rest.split('\\n').slice(0, -1)) {
				const { id, method } = JSON.parse(line);
				if (method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } }));
				else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }));
				else require('fs').closeSync(0);
			}
			rest = rest.slice(rest.lastIndexOf('\\n') + 1);
		});
		setInterval(() => {}, 1000);`;
	const wire = await started('--deadline', '2', '--', 'node', '-e', program);
	let found;
	// The first call may come before the input is closed.
	for (let i = 0; i < 20 && found?.[0] !== 'transport.broken_pipe'; i++) found = facts(await wire.call('t'));
	assert.deepEqual(found, ['transport.broken_pipe', 'transport', 'not_sent']);
	await wire.end();
});

test('a long Retry-After is left to the client, also without a deadline', async () => {
	const list = (req, res, { id, method }) => method === 'tools/list' && Boolean(json(res, id, { tools: [{ name: 't', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] }));
	for (const [asks, least] of [['61', 60], ['86400', 86000], ['Thu, 01 Jan 2099 00:00:00 GMT', 1e9]]) {
		const server = await web((req, res) => res.writeHead(429, { 'retry-after': asks }).end('slow down'), list);
		const wire = await started('--deadline', '0', '--era', 'legacy', '--trust-annotations', '--url', server.url);
		await wire.request('tools/list');
		const began = Date.now();
		const { code, retry_after: after } = canonical(await wire.call('t'));
		assert.equal(code, 'upstream.rate_limited', asks);
		assert.ok(after > least, `${asks}: ${after}`);
		assert.ok(Date.now() - began < 5000, asks);
		assert.equal(server.calls(), 1, asks);
		await wire.end();
		await server.stop();
	}
});
