// Attacks on the dashboard from outside a browser: other sites (Origin, Host), frames, paths
// that leave the files, guessed tokens, forged cookies. test/judge/dashboard.test.mjs has
// what needs a browser.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { served } from './lib/served.mjs';

const root = process.env.FW_ROOT ?? new URL('../..', import.meta.url).pathname;
const program = process.env.FAULTWIRE ?? join(root, 'build/faultwire');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-attacks-'));
const PAGES = ['/', '/ui/app.js', '/ui/app.css', '/docs/', '/docs/gateway.html', '/api/v1/overview', '/api/v1/incidents', '/api/v1/events', '/problems/', '/problems/file.not_found', '/metrics', '/readyz'];
let server, guarded;

async function start(name, ...args) {
	return served(program, ['serve', '--http', '127.0.0.1:0', '--log', 'off', '--tools', 'diag', ...args], { env: { ...process.env, XDG_STATE_HOME: join(scratch, name) } });
}

before(async () => {
	server = await start('open');
	writeFileSync(join(scratch, 'token'), 'correct-horse-battery\n');
	guarded = await start('guarded', '--token-file', join(scratch, 'token'));
});
after(async () => {
	await Promise.all([server.stop(), guarded.stop()]);
	rmSync(scratch, { recursive: true, force: true });
});

// The path is sent as it is: fetch() would make "/ui/../x" into "/x".
function ask(path, { method = 'GET', headers = {}, to = server } = {}) {
	const { port } = new URL(to.url);
	return new Promise((done, failed) => {
		const sent = request({ host: '127.0.0.1', port, path, method, headers: { Accept: 'text/html', ...headers }, agent: false }, (reply) => {
			// The stream of events does not end.
			if (reply.headers['content-type']?.startsWith('text/event-stream')) {
				reply.destroy();
				done({ status: reply.statusCode, headers: reply.headers, body: '' });
				return;
			}
			let body = '';
			reply.on('data', (bytes) => { body += bytes; });
			reply.on('end', () => done({ status: reply.statusCode, headers: reply.headers, body }));
		});
		sent.on('error', failed);
		sent.end();
	});
}

test('a page of another site reads nothing, with any Origin', async () => {
	const { port } = new URL(server.url);
	for (const origin of ['http://evil.example', 'null', `http://127.0.0.1.evil.example:${port}`, `http://evil.example:${port}`, `http://127.0.0.1@evil.example:${port}`, 'file://', `http://localhost.evil.example:${port}`])
		for (const path of PAGES) {
			const reply = await ask(path, { headers: { Origin: origin } });
			assert.equal(reply.status, 403, `${origin} ${path}`);
			assert.equal(reply.headers['access-control-allow-origin'], undefined, `${origin} ${path}`);
		}
});

test('a name of the attacker that leads to this address is refused (DNS rebinding)', async () => {
	const { port } = new URL(server.url);
	for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, `localhost.evil.example:${port}`, `127.0.0.1:${port}.evil.example`, `0.0.0.0:${port}`])
		for (const path of PAGES)
			assert.ok([400, 403].includes((await ask(path, { headers: { Host: host } })).status), `${host} ${path}`);
});

test('no page can be framed, sniffed, or run a script of another place', async () => {
	for (const path of PAGES) {
		const { status, headers } = await ask(path);
		assert.equal(status, 200, path);
		const policy = headers['content-security-policy'];
		assert.match(policy, /default-src 'none'/, path);
		assert.match(policy, /frame-ancestors 'none'/, path);
		assert.match(policy, /base-uri 'none'/, path);
		assert.match(policy, /form-action 'self'/, path);
		assert.doesNotMatch(policy, /unsafe|\*|data:|blob:|https?:/, path);
		assert.equal(headers['x-content-type-options'], 'nosniff', path);
		assert.equal(headers['referrer-policy'], 'no-referrer', path);
	}
});

test('a path does not leave the files of the program', async () => {
	const tricks = ['../meson.build', '..%2fmeson.build', '%2e%2e/meson.build', '%2e%2e%2fmeson.build', '..\\meson.build', '....//meson.build', '/etc/passwd', '//etc/passwd', '%2fetc%2fpasswd', 'app.js/', 'app.js/..', 'app.js%00.css', 'app.js%00', './app.js', '.', '..', '%c0%ae%c0%ae/meson.build', 'app%2ejs%2f..', 'APP.JS', 'app.js.', '~root', 'nothing', 'x'.repeat(2000), '%', '%zz', 'app.js;x', '*'];
	for (const prefix of ['/ui/', '/docs/', '/assets/'])
		for (const trick of tricks) {
			const reply = await ask(prefix + trick);
			assert.ok([400, 404, 414].includes(reply.status), `${prefix}${trick.slice(0, 40)}: ${reply.status}`);
			assert.doesNotMatch(reply.body, /daemon:x:|meson_version/);
		}
});

test('files are read, not changed', async () => {
	for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
		for (const path of ['/ui/app.js', '/docs/index.html', '/api/v1/overview', '/api/v1/incidents'])
			assert.ok([404, 405].includes((await ask(path, { method })).status), `${method} ${path}`);
});

test('guessing tokens at the sign-in is slowed; signed-in browsers are not affected', async () => {
	const signIn = (token) => ask('/ui/session', { method: 'POST', to: guarded, headers: { Authorization: `Bearer ${token}` } });
	const [cookie] = (await signIn('correct-horse-battery')).headers['set-cookie'];
	const statuses = [];
	for (let i = 0; i < 40; i++)
		statuses.push((await signIn(`guess-${i}`)).status);
	const slowed = statuses.filter((status) => status === 429).length;
	assert.deepEqual([...new Set(statuses)].sort(), [401, 429]);
	assert.ok(slowed >= 20, `${slowed} of 40 guesses were refused unread`);
	assert.equal((await ask('/api/v1/overview', { to: guarded, headers: { Cookie: cookie.split(';')[0] } })).status, 200);
	assert.equal((await signIn('correct-horse-battery')).status, 204);
	// Where the token was never shown, the right one is not looked at either.
	const fresh = await start('fresh', '--token-file', join(scratch, 'token'));
	try {
		const post = (token) => ask('/ui/session', { method: 'POST', to: fresh, headers: { Authorization: `Bearer ${token}` } });
		await Promise.all(Array.from({ length: 40 }, (_, i) => post(`guess-${i}`)));
		const reply = await post('correct-horse-battery');
		assert.equal(reply.status, 429);
		assert.ok(Number(reply.headers['retry-after']) >= 1);
	} finally {
		await fresh.stop();
	}
});

test('a cookie that was not given out opens nothing', async () => {
	const { port } = new URL(guarded.url);
	const names = [`faultwire_session_${port}`, `faultwire_${port}`, 'faultwire_session', 'faultwire'];
	for (const name of names)
		for (const value of ['', '1', 'correct-horse-battery', '0'.repeat(64), 'x'.repeat(3000), '"a"; Path=/', '../../', '%00'])
			assert.equal((await ask('/api/v1/overview', { to: guarded, headers: { Cookie: `${name}=${value}` } })).status, 401, `${name}=${value.slice(0, 20)}`);
});

test('the cookie of one server is not that of another on the same machine', async () => {
	const other = await start('other', '--token-file', join(scratch, 'token'));
	try {
		const reply = await ask('/ui/session', { method: 'POST', to: other, headers: { Authorization: 'Bearer correct-horse-battery' } });
		const [cookie] = reply.headers['set-cookie'];
		assert.match(cookie, /HttpOnly/);
		assert.match(cookie, /SameSite=Strict/);
		assert.equal((await ask('/api/v1/overview', { to: guarded, headers: { Cookie: cookie.split(';')[0] } })).status, 401);
	} finally {
		await other.stop();
	}
});
