// An OAuth 2.1 resource server: access tokens that an independent library (jose) signs,
// from an issuer that runs here, against `faultwire serve`; and every way in which a token
// must be refused.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import * as jose from 'jose';
import { Place, api, ask, isFine, mcp, until } from '../wire/lib/govern.mjs';

const AUDIENCE = 'https://tools.example.com/mcp';
const EXPLAIN = 'explain_error_code';
const CODE = { code: 'file.not_found' };
const place = new Place('oauth');
let issuer, server;

// An issuer: a JWKS, and tokens.
class Issuer {
	constructor() {
		this.keys = [];
		this.asked = 0;
		this.mode = 'up';
		this.http = createServer((request, reply) => {
			this.asked++;
			if (this.mode === 'down') return reply.writeHead(503).end();
			if (this.mode === 'slow') return; // never answers
			reply.writeHead(200, { 'Content-Type': 'application/jwk-set+json' });
			reply.end(JSON.stringify(this.jwks()));
		});
	}

	async start() {
		await new Promise((done) => this.http.listen(0, '127.0.0.1', done));
		this.url = `http://127.0.0.1:${this.http.address().port}`;
	}

	stop() {
		this.http.closeAllConnections();
		this.http.close();
	}

	async add(alg, kid) {
		const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
		const jwk = { ...(await jose.exportJWK(publicKey)), kid, alg, use: 'sig' };
		const key = { alg, kid, privateKey, publicKey, jwk };
		this.keys.push(key);
		return key;
	}

	jwks() {
		return { keys: [...this.keys.map((key) => key.jwk), { kty: 'oct', k: 'c2VjcmV0', kid: 'oct' }, { kty: 'EC', crv: 'P-521', x: 'AA', y: 'AA' }] };
	}

	token(key, claims = {}, header = {}) {
		const now = Math.floor(Date.now() / 1000);
		return new jose.SignJWT({ iss: this.url, aud: AUDIENCE, sub: 'ada', scope: 'read', iat: now, exp: now + 600, ...claims })
			.setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
			.sign(key.privateKey);
	}
}

let rs, es, ed;

const start = (...args) => place.start('serve', '--tools', 'diag', '--log', 'json', '--oauth-issuer', issuer.url, '--oauth-audience', AUDIENCE, ...args);

before(async () => {
	issuer = new Issuer();
	await issuer.start();
	rs = await issuer.add('RS256', 'rs');
	es = await issuer.add('ES256', 'es');
	ed = await issuer.add('EdDSA', 'ed');
	writeFileSync(place.file('policy.json'), JSON.stringify({ version: 1, oauth_scopes: { 'mcp:use': ['tool:raise_error', 'incidents'] }, clients: { 'oauth:eve': { calls_per_second: 0.001, burst: 1 } } }));
	server = await start('--oauth-jwks', `${issuer.url}/jwks`, '--clients', place.file('policy.json'));
});
after(async () => {
	await place.end();
	issuer.stop();
});

const call = (token, to = server) => api(to, EXPLAIN, CODE, { token });
// Refusals are counted per address: a valid token that the server knows is not slowed down.
async function refused(token) {
	const reply = await until(async () => {
		const got = await call(token);
		return [429, 503].includes(got.status) ? undefined : got;
	}, 'an answer that is not slowed down, and does not wait for keys');
	assert.equal(reply.status, 401, reply.text);
	assert.equal(reply.json.code, 'auth.unauthorized');
	assert.equal(reply.headers.get('www-authenticate'), `Bearer resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp", error="invalid_token"`);
	return reply;
}

test('tokens signed with RS256, ES256 and EdDSA are accepted', async () => {
	for (const key of [rs, es, ed]) {
		const token = await issuer.token(key);
		await until(async () => (await call(token)).status === 200, key.alg);
		assert.ok(isFine(await mcp(server, EXPLAIN, CODE, { token })), key.alg);
	}
	assert.equal((await call(await issuer.token(es, { aud: ['https://other.example', AUDIENCE] }))).status, 200);
	assert.equal((await call(await issuer.token(es, { scope: undefined, scp: ['read'] }))).status, 200);
});

test('the metadata says where to get a token', async () => {
	for (const path of ['/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource/mcp']) {
		const { status, json } = await ask(server, path);
		assert.equal(status, 200);
		assert.equal(json.resource, AUDIENCE);
		assert.deepEqual(json.authorization_servers, [issuer.url]);
		assert.deepEqual(json.bearer_methods_supported, ['header']);
	}
	const none = await mcp(server, EXPLAIN, CODE);
	assert.equal(none.status, 401);
	assert.match(none.headers.get('www-authenticate'), /^Bearer resource_metadata="[^"]+"$/);
});

test('scopes are ours, or mapped by the policy, and limits apply to the subject', async () => {
	const mapped = await issuer.token(es, { scope: 'openid mcp:use' });
	assert.equal((await api(server, 'raise_error', CODE, { token: mapped })).json.code, 'file.not_found');
	const forbidden = await call(mapped);
	assert.equal(forbidden.status, 403);
	assert.match(forbidden.headers.get('www-authenticate'), /error="insufficient_scope", scope="tool:explain_error_code"/);
	assert.equal((await ask(server, '/api/v1/incidents', { token: mapped })).status, 200);
	const eve = await issuer.token(es, { sub: 'eve' });
	assert.equal((await call(eve)).status, 200);
	assert.equal((await call(eve)).status, 429);
});

test('wrong issuer, audience, times, subject and signature are refused', async () => {
	const now = Math.floor(Date.now() / 1000);
	const good = await issuer.token(es);
	await refused(await issuer.token(es, { iss: 'https://evil.example' }));
	await refused(await issuer.token(es, { aud: 'https://other.example/mcp' }));
	await refused(await issuer.token(es, { aud: undefined }));
	await refused(await issuer.token(es, { exp: undefined }));
	await refused(await issuer.token(es, { nbf: now + 600 }));
	await refused(await issuer.token(es, { sub: undefined }));
	await refused(await issuer.token(es, {}, { crit: ['b64'], b64: true }));
	await refused(`${good.slice(0, -4)}AAAA`);
	const [header, , signature] = good.split('.');
	await refused(`${header}.${jose.base64url.encode(JSON.stringify({ iss: issuer.url, aud: AUDIENCE, sub: 'root', scope: 'admin', exp: now + 600 }))}.${signature}`);
	const expired = await refused(await issuer.token(es, { exp: now - 120 }));
	assert.match(expired.text, /expired/);
	// Within the skew of clocks.
	assert.equal((await call(await issuer.token(es, { exp: now - 10 }))).status, 200);
});

test('alg none, and a public key as the secret of HS256, are refused', async () => {
	const claims = { iss: issuer.url, aud: AUDIENCE, sub: 'root', scope: 'admin', exp: Math.floor(Date.now() / 1000) + 600 };
	const part = (value) => jose.base64url.encode(JSON.stringify(value));
	await refused(new jose.UnsecuredJWT(claims).encode());
	await refused(`${part({ alg: 'none', kid: 'rs' })}.${part(claims)}.AAAA`);
	for (const secret of [await jose.exportSPKI(rs.publicKey), JSON.stringify(rs.jwk), rs.jwk.n, 'secret']) {
		const signed = `${part({ alg: 'HS256', kid: 'rs' })}.${part(claims)}`;
		await refused(`${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`);
	}
	// A key is for one algorithm.
	await refused(await issuer.token(es, {}, { kid: 'rs' }));
	await refused(await issuer.token(ed, {}, { kid: 'es' }));
	await refused('a.b.c');
	await refused(`${part({ alg: 'ES256', kid: 'es' })}..AAAA`);
});

// A server of its own for at most ten tokens: more wrong ones from one address are slowed down.
async function allRefused(tokens) {
	assert.ok(tokens.length <= 10);
	const fresh = await start('--oauth-jwks', `${issuer.url}/jwks`);
	await until(async () => (await call(await issuer.token(es), fresh)).status === 200, 'the keys');
	for (const [what, token] of tokens) {
		const reply = await until(async () => {
			const got = await call(token, fresh);
			return got.status === 503 ? undefined : got; // it asks for the keys again
		}, what);
		assert.equal(reply.status, 401, `${what}: ${reply.text}`);
	}
	assert.equal(await fresh.stop(), 0);
}

test('a token does not bring its own key', async () => {
	const thief = await new Issuer().add('ES256', 'thief');
	const headers = {
		'jwk without kid': { jwk: thief.jwk, kid: undefined }, 'jwk with the name of a known key': { jwk: thief.jwk, kid: 'es' },
		jku: { jku: `${issuer.url}/jwks`, kid: 'thief' }, x5u: { x5u: `${issuer.url}/x5u`, kid: 'es' }, x5c: { x5c: ['AAAA'], kid: 'es' },
		'a path as kid': { kid: '../../dev/null' }, 'SQL as kid': { kid: "es' OR '1'='1" }, 'a long kid': { kid: 'e'.repeat(4000) }, 'the symmetric key of the set': { kid: 'oct' },
	};
	await allRefused(await Promise.all(Object.entries(headers).map(async ([what, header]) => [what, await issuer.token(thief, { scope: 'admin' }, header)])));
});

test('odd signatures and claims are refused', async () => {
	const now = Math.floor(Date.now() / 1000);
	const good = await issuer.token(es);
	const [header, body] = good.split('.');
	const raw = (text) => new jose.CompactSign(new TextEncoder().encode(text)).setProtectedHeader({ alg: 'ES256', kid: 'es' }).sign(es.privateKey);
	const claims = (rest) => `{"iss":${JSON.stringify(issuer.url)},"sub":"ada","scope":"read",${rest}}`;
	await allRefused([
		['a signature of zeros', `${header}.${body}.${'A'.repeat(86)}`],
		['no signature', `${header}.${body}.`],
		['a fourth part', `${good}.AAAA`],
		['padding', `${header}=.${body}.${good.split('.')[2]}`],
		['exp is a text', await raw(claims(`"aud":"${AUDIENCE}","exp":"${now + 600}"`))],
		['exp is too large for a time', await raw(claims(`"aud":"${AUDIENCE}","exp":1e40`))],
		['aud is a beginning of ours', await raw(claims(`"aud":"${AUDIENCE.slice(0, -1)}","exp":${now + 600}`))],
		['aud is an object', await raw(claims(`"aud":{"0":"${AUDIENCE}"},"exp":${now + 600}`))],
		['sub has a NUL', await raw(claims(`"aud":"${AUDIENCE}","exp":${now + 600}`).replace('"ada"', '"ada\\u0000"'))],
		['claims are an array', await raw(`[${claims(`"aud":"${AUDIENCE}","exp":${now + 600}`)}]`)],
	]);
});

test('keys are rotated: a new one is fetched, an old one is forgotten', async () => {
	const old = await issuer.token(rs);
	await until(async () => (await call(old)).status === 200, 'the old key');
	const next = await issuer.add('ES256', 'next');
	issuer.keys.splice(issuer.keys.indexOf(rs), 1);
	const token = await issuer.token(next);
	const first = await call(token);
	// 401 or 429 if the keys were fetched within the last two seconds.
	if (first.status === 503) {
		assert.equal(first.json.code, 'dependency.unavailable');
		assert.equal(first.headers.get('retry-after'), '1');
	}
	await until(async () => (await call(token)).status === 200, 'the new key');
	await refused(old);
	issuer.keys.push(rs);
});

test('an issuer that is down or slow: known keys stay in use, others get 503 or 401', async () => {
	const known = await issuer.token(es, { sub: 'bob' });
	await until(async () => (await call(known)).status === 200, 'a token that the server knows');
	issuer.mode = 'down';
	const stranger = { ...(await new Issuer().add('ES256', 'stranger')) };
	const asked = issuer.asked;
	await until(async () => {
		await call(await issuer.token(stranger));
		return issuer.asked > asked;
	}, 'a request for the new key');
	assert.equal((await call(known)).status, 200);
	issuer.mode = 'slow';
	const late = await start('--oauth-jwks', `${issuer.url}/jwks`);
	const waiting = await call(known, late);
	assert.equal(waiting.status, 503);
	assert.equal(waiting.json.code, 'dependency.unavailable');
	issuer.mode = 'up';
	assert.equal(await late.stop(), 0);
});

test('keys from a file, read again when it changes; together with tokens of our own', async () => {
	const file = place.file('jwks.json');
	writeFileSync(file, JSON.stringify({ keys: [es.jwk] }));
	const own = place.token('own', 'read');
	const both = await start('--oauth-jwks', file, '--tokens');
	assert.equal((await call(await issuer.token(es), both)).status, 200);
	assert.equal((await call(own, both)).status, 200);
	assert.equal((await call(await issuer.token(ed), both)).status, 401);
	writeFileSync(file, JSON.stringify({ keys: [ed.jwk] }));
	await until(async () => (await call(await issuer.token(ed), both)).status === 200, 'the new file');
	assert.equal((await call(await issuer.token(es), both)).status, 401);
	assert.equal(await both.stop(), 0);
});

test('the server stops cleanly', async () => {
	assert.equal(await server.stop(), 0);
});
