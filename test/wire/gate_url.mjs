// What people get wrong about the URL of a server, and about its certificate: each has one error, at once, whose
// hint says what to change.

import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { bin as faultwire, scratch } from './lib/cli.mjs';
import { until } from './lib/govern.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { json, web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off', '--deadline', '20'];

// The answer to a call through a gateway before this URL, whose `env` is also set.
async function called(url, env = {}) {
	const before = { ...process.env };
	Object.assign(process.env, env);
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--url', url], faultwire);
	process.env = before;
	await wire.initialize();
	const reply = await wire.call('t');
	await wire.end();
	return reply;
}

// ---- URLs

const answer = (status, headers, body = '') => (req, res) => Boolean(res.writeHead(status, headers).end(body));
for (const [what, first, code, message, hint] of [
	['a web page', answer(200, { 'content-type': 'text/html' }, '<html>Welcome</html>'), 'upstream.cannot_start', /content type is text\/html/, /a web page is there/],
	['a path that does not exist', answer(404, {}, 'Not Found'), 'upstream.cannot_start', /endpoint of 127\.0\.0\.1 not found/, /often ends in \/mcp/],
	['an endpoint of the transport of 2024', answer(405, { allow: 'GET' }), 'upstream.cannot_start', /HTTP 405/, /transport of 2024 \(often \/sse\) is not supported/],
	['a redirect to a login', answer(302, { location: 'https://login.example.com/' }), 'transport.protocol_violation', /redirects to another host/, /needs credentials in a header/],
	['an endpoint of something else', answer(200, { 'content-type': 'application/json' }, '{"status":"ok"}'), 'upstream.cannot_start', /no JSON-RPC message/, /./],
])
	test(`the URL is ${what}`, async () => {
		const server = await web(() => {}, first);
		const error = canonical(await called(server.url));
		assert.equal(error.code, code);
		assert.match(error.message, message);
		assert.match(error.hint, hint);
		// It is the operator who can do something, so nobody waits and repeats.
		assert.equal(error.retry, 'never');
		await server.stop();
	});

test('a server that is replaced looks like a wrong URL', async () => {
	let isReplaced = false;
	const server = await web((req, res, { id }) => words(res, id, 'here'), (req, res, { id, method }) => {
		if (isReplaced) return answer(404, {}, 'Not Found')(req, res);
		if (method !== 'initialize') return false;
		json(res, id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } }, 200, { 'mcp-session-id': 'one' });
		return true;
	});
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--url', server.url], faultwire);
	test.after(() => wire.child.kill());
	await wire.initialize();
	assert.equal(text(await wire.call('t')), 'here');
	isReplaced = true;
	const error = canonical(await wire.call('t'));
	assert.deepEqual([error.code, error.retry, error.delivery], ['upstream.start_failed', 'backoff', 'not_sent']);
	assert.match(error.hint, /Try again later: the server was at this URL before/);
	isReplaced = false;
	await until(async () => (await wire.call('t')).result?.content?.[0]?.text === 'here', 'the server is found again');
	await wire.end();
	await server.stop();
});

test('a host name that is not known may be known later', async () => {
	const error = canonical(await called('http://no-such-host.invalid/mcp'));
	assert.deepEqual([error.code, error.retry, error.delivery], ['transport.name_not_resolved', 'backoff', 'not_sent']);
	assert.match(error.hint, /^Try again in a while; if that does not help, check the spelling/);
});

// ---- certificates

const dir = mkdtempSync(join(scratch(), 'tls-'));
const openssl = (...args) => execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });

function prepare() {
	writeFileSync(join(dir, 'names'), 'subjectAltName=DNS:localhost\n');
	writeFileSync(join(dir, 'other'), 'subjectAltName=DNS:other.example\n');
	writeFileSync(join(dir, 'ca.cnf'), '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nserial=serial\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n');
	writeFileSync(join(dir, 'index'), '');
	writeFileSync(join(dir, 'serial'), '01\n');
	const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
	openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-days', '2', '-subj', '/CN=test authority');
	openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=server');
	openssl('req', '-x509', '-key', 'server.key', '-out', 'self.crt', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost');
	const sign = (name, ext, from, to) => openssl('ca', '-config', 'ca.cnf', '-batch', '-notext', '-cert', 'ca.crt', '-keyfile', 'ca.key', '-in', 'server.csr', '-out', `${name}.crt`, '-extfile', ext, '-startdate', from, '-enddate', to);
	sign('good', 'names', '20200101000000Z', '20990101000000Z');
	sign('expired', 'names', '20200101000000Z', '20210101000000Z');
	sign('early', 'names', '20980101000000Z', '20990101000000Z');
	sign('other', 'other', '20200101000000Z', '20990101000000Z');
}

async function secure(name) {
	const plain = await web((req, res, { id }) => words(res, id, 'over TLS'));
	const server = createServer({ key: readFileSync(join(dir, 'server.key')), cert: readFileSync(join(dir, `${name}.crt`)) }, (req, res) =>
		fetch(plain.url, { method: req.method, headers: { 'content-type': 'application/json' }, ...(req.method === 'POST' && { body: req, duplex: 'half' }) })
			.then(async (got) => res.writeHead(got.status, { 'content-type': got.headers.get('content-type') ?? 'text/plain' }).end(await got.text())));
	await new Promise((done) => server.listen(0, 'localhost', done));
	return { url: `https://localhost:${server.address().port}/mcp`, stop: () => (server.closeAllConnections(), server.close(), plain.stop()) };
}

test('a certificate that is not accepted is described, and the certificates of SSL_CERT_FILE are trusted', async () => {
	prepare();
	const trusted = { SSL_CERT_FILE: join(dir, 'ca.crt') };
	for (const [name, env, message, hint] of [
		['self', {}, /its certificate is self-signed/, /SSL_CERT_FILE/],
		['good', {}, /the issuer of its certificate is not known here/, /SSL_CERT_FILE/],
		['expired', trusted, /its certificate has expired/, /clocks/],
		['early', trusted, /its certificate is not valid yet/, /clocks/],
		['other', trusted, /its certificate is for another host name/, /host name in the URL/],
		['good', { SSL_CERT_FILE: join(dir, 'missing.crt') }, /CA certificates could not be loaded/, /./],
	]) {
		const server = await secure(name);
		const error = canonical(await called(server.url, env));
		assert.deepEqual([error.code, error.delivery, error.retry], ['transport.tls_failed', 'not_sent', 'never'], name);
		assert.match(error.message, message);
		assert.match(error.hint, hint);
		await server.stop();
	}
	const server = await secure('good');
	assert.equal(text(await called(server.url, trusted)), 'over TLS');
	await server.stop();
});

test('https in the URL of a server without TLS', async () => {
	const server = await web((req, res, { id }) => words(res, id, 'plain'));
	const error = canonical(await called(server.url.replace('http:', 'https:')));
	assert.equal(error.code, 'transport.tls_failed');
	assert.match(error.message, /the port does not speak TLS/);
	assert.match(error.hint, /Use http:\/\/ in the URL/);
	await server.stop();
});

test('a proxy of the environment that does not work is named in the hint, and is not used for servers on this machine', async () => {
	const dead = { http_proxy: 'http://127.0.0.1:1', https_proxy: 'http://127.0.0.1:1', no_proxy: '' };
	for (const url of ['http://mcp.example.com/mcp', 'https://mcp.example.com/mcp']) {
		const error = canonical(await called(url, dead));
		assert.equal(error.code, 'transport.connection_refused');
		assert.match(error.hint, /goes through the proxy that http_proxy/);
	}
	const server = await web((req, res, { id }) => words(res, id, 'here'));
	for (const host of ['127.0.0.1', 'localhost']) assert.equal(text(await called(server.url.replace('127.0.0.1', host), dead)), 'here', host);
	await server.stop();
});
