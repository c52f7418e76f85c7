// The dashboard in a real browser (Debian's Chromium): every view is opened and used, in
// light, dark and on a phone; nothing is reported on the console, nothing breaks the
// Content-Security-Policy, no request leaves the server, and axe-core finds nothing serious.
//
// FW_SHOTS=DIR writes a screenshot of every view.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { Engine, engineProgram } from '../wire/lib/fleet.mjs';
import { until } from '../wire/lib/govern.mjs';
import { Postgres } from '../wire/lib/postgres.mjs';
import { originOf } from '../wire/lib/served.mjs';

const root = process.env.FW_ROOT ?? new URL('../..', import.meta.url).pathname;
const program = process.env.FAULTWIRE ?? join(root, 'build/faultwire');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.FW_SHOTS;
const state = mkdtempSync(join(tmpdir(), 'faultwire-dashboard-'));
const started = [];
let server, browser;

const serve = (...args) => start(['serve', '--http', '127.0.0.1:0', '--log', 'off', '--tools', 'diag', ...args]);

async function start(args) {
	const child = spawn(program, args, {
		env: { ...process.env, XDG_STATE_HOME: state }, stdio: ['ignore', 'ignore', 'pipe'],
	});
	const ended = new Promise((done) => child.on('exit', done));
	started.push({ child, ended });
	const url = await originOf(child);
	return { child, url, ended };
}

async function call(name, args, headers = {}) {
	const reply = await fetch(`${server.url}/api/v1/tools/${name}`, {
		method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(args),
	});
	return reply.json();
}

before(async () => {
	server = await serve();
	browser = await chromium.launch({
		executablePath: '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
	});
	if (shots) mkdirSync(shots, { recursive: true });
});
after(async () => {
	await browser?.close();
	/* Also those of a test that failed. */
	for (const { child, ended } of started) {
		child.kill('SIGTERM');
		await ended;
	}
	rmSync(state, { recursive: true, force: true });
});

// A page that collects everything that must not happen.
async function open(path, options = {}, url = server.url) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
	const page = await context.newPage();
	page.faults = [];
	page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warning') page.faults.push(message.text()); });
	page.on('pageerror', (error) => page.faults.push(error.message));
	page.on('request', (request) => { if (!request.url().startsWith(url)) page.faults.push(`outside: ${request.url()}`); });
	page.on('dialog', (dialog) => { page.faults.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
	await page.addInitScript(() => document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP ${event.violatedDirective}`)));
	await page.goto(url + path);
	return page;
}

async function close(page, name) {
	if (shots && name) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
	assert.deepEqual(page.faults, []);
	await page.context().close();
}

// axe-core is run as a script of the test, which the policy of the page does not concern.
async function judge(page) {
	await page.evaluate(axe);
	const found = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }));
	const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
	assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`), []);
}

test('without a failure the overview says what to do to see one', async () => {
	const page = await open('/');
	await page.getByText('No failure has happened yet').waitFor();
	await page.getByText('No calls yet').waitFor();
	await judge(page);
	if (shots) await page.screenshot({ path: join(shots, 'empty.png'), fullPage: true });
	execFileSync('sh', ['-c', await page.locator('.empty pre').innerText()]);
	await page.locator('.feed li', { hasText: 'no_such_tool' }).waitFor();
	await close(page);
});

for (const [name, options] of [
	['light', { colorScheme: 'light' }],
	['dark', { colorScheme: 'dark' }],
	['phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
]) {
	test(`every view is shown: ${name}`, async () => {
		await call('explain_error_code', { code: 'file.not_found' });
		for (const code of ['file.not_found', 'file.not_found', 'runtime.timeout', 'governance.rate_limited'])
			await call('raise_error', { code });
		const page = await open('/', options);
		const shot = async (view) => {
			await judge(page);
			if (shots) await page.screenshot({ path: join(shots, `${name}-${view}.png`), fullPage: true });
		};
		await page.locator('.rows').getByText('file.not_found').first().waitFor();
		await page.locator('.live.live').waitFor();
		await shot('overview');
		await page.locator('nav a', { hasText: 'Incidents' }).click();
		await page.locator('tbody tr').first().waitFor();
		await shot('incidents');
		await page.locator('tbody tr a').first().click();
		await page.locator('.facts').first().waitFor();
		await page.getByRole('tab', { name: 'kaiza' }).click();
		await page.getByText('"error_code"').waitFor();
		await shot('incident');
		await page.locator('nav a', { hasText: 'Playground' }).click();
		await page.locator('textarea').fill('Error: ECONNREFUSED 127.0.0.1:5432');
		await page.locator('.json').waitFor();
		await shot('playground');
		await page.locator('nav a', { hasText: 'Codes' }).click();
		await page.locator('input[type=search]').fill('timeout');
		await page.locator('tbody').getByText('runtime.timeout').waitFor();
		await shot('codes');
		await page.locator('tbody').getByText('runtime.timeout').click();
		await page.getByText('What it means').waitFor();
		await shot('code');
		await close(page);
	});
}

test('a failure appears at once, and a click filters', async () => {
	const page = await open('/');
	await page.locator('.live.live').waitFor();
	const failed = await call('raise_error', { code: 'dependency.unavailable' });
	await page.locator('.feed').getByText('dependency.unavailable').first().waitFor();
	await page.getByRole('button', { name: 'By tool', exact: true }).click();
	await page.locator('.rows').getByRole('button', { name: 'raise_error' }).click();
	await page.getByRole('button', { name: 'tool: raise_error ×' }).click();
	await page.goto(`${server.url}/#/incident/${failed.incident_id}`);
	await page.getByText('Dependency Unavailable').first().waitFor();
	await close(page);
});

test('the link of the playground holds its text', async () => {
	const text = 'Fehler: «kein Platz» 磁盘已满 <b>x</b>';
	const page = await open('/#/playground');
	await page.locator('textarea').fill(text);
	await page.locator('.json').waitFor();
	const link = page.url();
	await close(page);
	const other = await open(link.slice(server.url.length));
	await other.locator('.json').waitFor();
	assert.equal(await other.locator('textarea').inputValue(), text);
	await close(other);
});

test('the theme can be chosen, and is kept', async () => {
	const page = await open('/', { colorScheme: 'light' });
	const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const before = await dark();
	await page.locator('#theme').click();
	await page.locator('#theme').click();
	assert.notEqual(await dark(), before);
	await page.reload();
	assert.notEqual(await dark(), before);
	await close(page);
});

const VECTORS = ['<img src=x onerror=alert(1)>', '"><script>alert(2)</script>', '</title><svg onload=alert(3)>', 'javascript:alert(4)', '${alert(5)}', '{{constructor.constructor("alert(6)")()}}', '\u202Ereversed', '<a href="javascript:alert(7)">x</a>', '</pre></code><iframe srcdoc="<script>alert(8)</script>">', '<math><mtext><table><mglyph><style><img src=x onerror=alert(9)>', "'-alert(10)-'", '<base href=//evil.example>', '<form action=//evil.example><button>', '<link rel=stylesheet href=//evil.example/x.css>', '&lt;script&gt;alert(11)&lt;/script&gt;', '<style>@import"//evil.example"</style>', '\u2028alert(12)', '<details open ontoggle=alert(13)>'];

test('hostile text of clients is shown as text', async () => {
	const vectors = VECTORS;
	for (const text of vectors) {
		await fetch(`${server.url}/mcp`, {
			method: 'POST',
			headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: text, version: '1' } } }),
		}).then(async (reply) => {
			const session = reply.headers.get('mcp-session-id');
			await reply.text();
			await fetch(`${server.url}/mcp`, {
				method: 'POST',
				headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' },
				body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'raise_error', arguments: { code: text, [text]: text } } }),
			}).then((answer) => answer.text());
		});
	}
	const page = await open('/');
	await page.locator('.rows tbody tr').first().waitFor();
	await page.getByRole('button', { name: 'By client' }).click();
	await page.getByRole('button', { name: /^\d+ more$/ }).click();
	await page.locator('.rows').getByText(vectors[0]).waitFor();
	for (const text of vectors) {
		await page.goto(`${server.url}/#/playground`);
		await page.locator('textarea').fill(text);
		await page.locator('.json').waitFor();
	}
	await page.goto(`${server.url}/#/incidents`);
	await page.locator('tbody tr').first().waitFor();
	for (const link of (await page.locator('tbody td.when a').evaluateAll((links) => links.slice(0, 8).map((a) => a.href)))) {
		await page.goto(link);
		await page.locator('.facts').first().waitFor();
	}
	for (const text of vectors)
		await page.goto(`${server.url}/#/incident/${encodeURIComponent(text)}`);
	await page.getByText('This could not be shown').waitFor();
	/* The last requests ask for incidents that do not exist. */
	page.faults = page.faults.filter((fault) => !fault.includes('404'));
	await close(page);
});

// An upstream that says these everywhere: in the names of its tools, in results, in
// errors, in a line that is not JSON, and on standard error before it dies.
function hostileUpstream() {
	const file = join(state, 'hostile.mjs');
	writeFileSync(file, `
import { createInterface } from 'node:readline';
const vectors = ${JSON.stringify(VECTORS)};
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: vectors[0], version: vectors[1] } } });
	else if (method === 'tools/list') say({ id, result: { tools: vectors.map((name) => ({ name, title: name, description: name, inputSchema: { type: 'object' } })) } });
	else if (method === 'tools/call') {
		const n = vectors.indexOf(params.name);
		if (n % 4 === 0) say({ id, result: { content: [{ type: 'text', text: params.name }], isError: true } });
		else if (n % 4 === 1) say({ id, error: { code: -32000, message: params.name, data: { [params.name]: params.name } } });
		else if (n % 4 === 2) console.log(params.name);
		else { console.error(params.name); process.exit(3); }
	} else if (id !== undefined) say({ id, result: {} });
});
`);
	const config = join(state, 'hostile.json');
	const entry = { command: process.execPath, args: [file] };
	writeFileSync(config, JSON.stringify({ mcpServers: { hostile: entry, second: { command: process.execPath, args: ['-e', 'console.error("<script>alert(1)</script>"); process.exit(1)'] } } }));
	return config;
}

test('behind a gateway: upstreams, retries, similar incidents; hostile text of a server is shown as text', async () => {
	const gate = await start(['gate', '--http', '127.0.0.1:0', '--log', 'off', '--deadline', '5', '--config', hostileUpstream()]);
	const post = (name, client) => fetch(`${gate.url}/api/v1/tools/${encodeURIComponent(name)}`, { method: 'POST', headers: { 'Content-Type': 'application/json', 'User-Agent': client }, body: '{}' }).then((reply) => reply.text());
	for (let round = 0; round < 2; round++)
		for (const [n, name] of VECTORS.entries())
			await post(name, VECTORS[(n + 1) % VECTORS.length].replaceAll(/[^\x20-\x7e]/g, ''));
	const page = await open('/', {}, gate.url);
	await page.getByRole('heading', { name: 'Upstreams' }).waitFor();
	const row = page.locator('tr', { hasText: 'second' }).first();
	await row.getByText('down').waitFor();
	await page.locator('.banner').getByText('Upstream second is down').waitFor();
	for (const dimension of ['By tool', 'By client', 'By upstream', 'By code']) {
		await page.getByRole('button', { name: dimension, exact: true }).click();
		await page.locator('.rows tbody tr').first().waitFor();
	}
	await page.getByRole('button', { name: 'By upstream' }).click();
	await page.getByRole('button', { name: 'hostile' }).last().click();
	await page.getByRole('button', { name: 'upstream: hostile ×' }).waitFor();
	await judge(page);
	if (shots) await page.screenshot({ path: join(shots, 'hostile.png'), fullPage: true });
	/* Every failure, by its page. */
	const { incidents } = await (await fetch(`${gate.url}/api/v1/incidents?limit=200`)).json();
	assert.ok(incidents.length >= VECTORS.length, `${incidents.length} incidents`);
	const looked = new Set();
	for (const { id, code, tool } of incidents) {
		if (looked.has(`${code} ${tool}`)) continue;
		looked.add(`${code} ${tool}`);
		await page.goto(`${gate.url}/#/incident/${id}`);
		await page.locator('.crumb', { hasText: id }).waitFor();
	}
	assert.ok(looked.size >= VECTORS.length, `${looked.size} pages`);
	await page.getByText('What the agent got').waitFor();
	await page.getByRole('tab', { name: '(sent)' }).waitFor();
	/* On a busy machine one of two equal calls may fail in another way. */
	const twice = incidents.find(({ id, code, tool }) => incidents.some((other) => other.id !== id && other.code === code && other.tool === tool));
	await page.goto(`${gate.url}/#/incident/${twice.id}`);
	await page.getByText('alike among').waitFor();
	await page.goto(`${gate.url}/#/incidents?tool=${encodeURIComponent(VECTORS[0])}`);
	await page.locator('tbody tr').first().waitFor();
	await close(page);
	gate.child.kill('SIGTERM');
	await gate.ended;
});

test('what replicas share: reachable, or away since when, and what is decided here meanwhile', async () => {
	const postgres = new Postgres();
	const engine = engineProgram && await new Engine({ file: (name) => join(state, name) }).start();
	try {
		await postgres.start();
		execFileSync(program, ['store', 'migrate', postgres.url()]);
		const shared = await serve('--sandbox', 'off', '--store', postgres.url(), ...(engine ? ['--limits-store', engine.url()] : []));
		const fail = () => fetch(`${shared.url}/api/v1/tools/raise_error`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"code":"file.not_found"}' });
		const parts = engine ? 2 : 1;
		let page = await open('/', {}, shared.url);
		const section = page.locator('section', { hasText: 'Shared with other replicas' });
		await section.getByText('reachable').nth(parts - 1).waitFor();
		await judge(page);
		await close(page, 'fleet-reachable');
		await postgres.stop();
		await engine?.stop();
		for (let i = 0; i < 5; i++) await fail();
		await until(async () => /5 wait on the disk/.test(await (await fetch(`${shared.url}/readyz`)).text()), 'incidents wait');
		// The page asks every five seconds.
		page = await open('/', {}, shared.url);
		const away = page.locator('section', { hasText: 'Shared with other replicas' });
		await away.getByText(/^for \d+ (s|min), since \d\d:\d\d:\d\d UTC$/).nth(parts - 1).waitFor();
		await away.getByText(/^5 incidents \(\d+ kB\) wait on the disk of this server$/).waitFor();
		await page.locator('.banner.warning', { hasText: 'The shared store is away' }).waitFor();
		if (engine) await away.getByText('This server applies its share of each limit').waitFor();
		await judge(page);
		if (shots) await page.screenshot({ path: join(shots, 'fleet-away.png'), fullPage: true });
		await postgres.start();
		await engine?.start();
		await away.getByText('reachable').nth(parts - 1).waitFor();
		await away.getByText('Incidents, tokens and budgets are shared.').waitFor();
		// The list of incidents could not be read meanwhile.
		page.faults = page.faults.filter((fault) => !/status of 500/.test(fault));
		await close(page, 'fleet-back');
	} finally {
		await postgres.end();
		await engine?.stop();
	}
});

test('similar incidents are those with a message of the same form, not all with the same code', async () => {
	await call('raise_error', { code: 'resource.conflict' });
	await call('no_such_tool_1', {});
	const first = await call('raise_error', { code: 'no.such_code_1' });
	const second = await call('raise_error', { code: 'no.such_code_2' });
	assert.notEqual(first.incident_id, second.incident_id);
	const page = await open(`/#/incident/${second.incident_id}`);
	const row = page.locator('section', { hasText: 'Similar incidents' }).locator(`a[href$="${first.incident_id}"]`);
	await row.waitFor();
	await page.getByText(/same message, code, tool|similar message, code, tool/).first().waitFor();
	await close(page);
	const { template, similarTo } = await import(join(root, 'web/similar.js'));
	assert.equal(template('open /srv/a/b.csv: "x" not found after 30.5 s'), template('open /tmp/c.csv: "y" not found after 7 s'));
	assert.notEqual(template('connection refused'), template('connection reset'));
	const one = { id: '1', code: 'a.b', tool: 't', client: 'c', message: 'timeout after 30 s', time: '2026-01-01' };
	const found = similarTo(one, [one, { ...one, id: '2', message: 'timeout after 5 s' }, { ...one, id: '3', tool: 'u', client: 'd', message: 'disk is full' }, { ...one, id: '2', message: 'timeout after 5 s' }]);
	assert.deepEqual(found.map(({ incident, reasons }) => [incident.id, reasons]), [['2', ['message', 'code', 'tool', 'client']]]);
});

test('retries are counted per code: worked, and failed again', async () => {
	await call('raise_error', { code: 'dependency.unavailable' });
	await call('raise_error', { code: 'dependency.unavailable' });
	const page = await open('/');
	const card = page.locator('section', { hasText: 'Did retries work?' });
	await card.getByText('dependency.unavailable').waitFor();
	await close(page);
});

test('a burst of failures leaves the page small', async () => {
	const page = await open('/');
	await page.locator('.live.live').waitFor();
	for (let i = 0; i < 20; i++)
		await Promise.all(Array.from({ length: 25 }, () => call('raise_error', { code: 'file.not_found' })));
	const last = await call('raise_error', { code: 'resource.conflict' });
	await page.locator(`.feed a[href$="${last.incident_id}"]`).waitFor();
	assert.equal(await page.locator('.feed li').count(), 60);
	assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 2000);
	await close(page);
});

test('the documentation is there, and every link in it leads to a page and a heading', async () => {
	const names = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md')).map((file) => (file === 'README.md' ? 'index.html' : file.replace(/md$/, 'html')));
	const texts = new Map();
	for (const name of names) {
		const reply = await fetch(`${server.url}/docs/${name}`);
		assert.equal(reply.status, 200, `${name}: it is not in doc_names of meson.build`);
		texts.set(name, await reply.text());
	}
	let count = 0;
	for (const [name, text] of texts)
		for (const [, href] of text.matchAll(/ href="([^"]*)"/g)) {
			if (/^(https?:|\/ui\/|\/(?:#|$)|\/docs\/$)/.test(href)) continue;
			const [page, part] = href.split('#');
			assert.ok(page === '' || texts.has(page), `${name}: ${href}`);
			if (part && part !== 'main') assert.ok(texts.get(page || name).includes(` id="${part}"`), `${name}: ${href}`);
			count++;
		}
	assert.ok(count > 100, `${count} links`);
	const page = await open('/#/');
	await page.locator('nav a', { hasText: 'Docs' }).click();
	await page.locator('.pages').getByRole('link', { name: 'Gateway' }).click();
	await page.locator('article table').first().waitFor();
	await judge(page);
	await close(page, 'docs');
	for (const [name, options] of [['docs-dark', { colorScheme: 'dark' }], ['docs-phone', { viewport: { width: 390, height: 844 } }]]) {
		const other = await open('/docs/', options);
		await judge(other);
		await close(other, name);
	}
});

test('with a token one signs in; the cookie reads, and does nothing else', async () => {
	const file = join(state, 'token');
	writeFileSync(file, 'correct-horse\n');
	const guarded = await serve('--token-file', file);
	const page = await open('/', {}, guarded.url);
	await page.getByRole('heading', { name: 'Sign in' }).waitFor();
	await judge(page);
	await page.getByLabel('Token').fill('wrong');
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.getByText('The token is not valid.').waitFor();
	await page.getByLabel('Token').fill('correct-horse');
	await page.getByRole('button', { name: 'Sign in' }).click();
	await page.getByText('No calls yet').waitFor();
	await page.locator('.live.live').waitFor();
	const [cookie] = await page.context().cookies();
	assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
	assert.ok(!cookie.value.includes('correct'), 'the cookie is not the token');
	const headers = { Cookie: `${cookie.name}=${cookie.value}`, 'Content-Type': 'application/json' };
	const ask = async (path, method, body) => (await fetch(guarded.url + path, { method, headers, body })).status;
	assert.equal(await ask('/api/v1/overview', 'GET'), 200);
	assert.equal(await ask('/api/v1/inspect', 'POST', 'ENOENT'), 200);
	assert.equal(await ask('/api/v1/tools/explain_error_code', 'POST', '{"code":"file.not_found"}'), 401);
	assert.equal(await ask('/mcp', 'POST', '{"jsonrpc":"2.0","id":1,"method":"ping"}'), 401);
	assert.equal(await ask('/ui/session', 'POST'), 401);
	await page.getByRole('button', { name: 'Sign out' }).click();
	await page.getByText('You are signed out.').waitFor();
	assert.equal(await ask('/api/v1/overview', 'GET'), 401);
	/* The browser reports the refusals of this test. */
	page.faults = page.faults.filter((fault) => !fault.includes('401'));
	await close(page);
	guarded.child.kill('SIGTERM');
	await guarded.ended;
});

test('it is small, and cannot be framed', async () => {
	const reply = await fetch(`${server.url}/`, { headers: { Accept: 'text/html' } });
	assert.match(reply.headers.get('content-security-policy'), /frame-ancestors 'none'/);
	assert.doesNotMatch(reply.headers.get('content-security-policy'), /unsafe/);
	let bytes = 0;
	const context = await browser.newContext();
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	await session.send('Network.enable');
	session.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength; });
	await page.goto(server.url);
	await page.locator('.tile').first().waitFor();
	assert.ok(bytes > 10 * 1024 && bytes < 150 * 1024, `${bytes} bytes`);
	await context.close();
});
