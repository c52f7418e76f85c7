// Requests without a token neither evict incidents of clients nor raise alerts; a drill raises
// none either; the address of the caller is recorded.
// FW_LONG=1: 20,000 requests.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, check, env, finish, match, run, same, test } from './lib/cli.mjs';
import { canonical, modern } from './lib/mcp.mjs';

const REQUESTS = process.env.FW_LONG ? 20000 : 1500;
const KEPT = 40;
const token = 'a-token-of-enough-length';

const dir = mkdtempSync(join(tmpdir(), 'fw-unauthenticated-'));
const state = join(dir, 'faultwire');
const store = join(state, 'incidents.db');
writeFileSync(join(dir, 'token'), `${token}\n`);
const children = [];
process.on('exit', () => {
	for (const child of children) child.kill('SIGKILL');
	rmSync(dir, { recursive: true, force: true });
});

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(what, probe) {
	for (const late = Date.now() + 20000; ; await pause(40)) {
		const found = await probe();
		if (found) return found;
		if (Date.now() > late) throw new Error(`not within 20 s: ${what}`);
	}
}

async function serve(...args) {
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--log', 'json', '--run', 'inline', '--sandbox', 'off', ...args], { env: { ...env, XDG_STATE_HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'] });
	const server = { child, said: '', log: () => server.said.split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line)) };
	children.push(child);
	child.stderr.on('data', (bytes) => (server.said += bytes));
	server.ended = new Promise((done) => child.on('exit', done));
	const started = await until('the server listens', () => server.log().find((line) => line.event === 'server_started'));
	server.url = new URL(started.context.url);
	server.stop = () => (child.kill('SIGTERM'), server.ended);
	return server;
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function ask(server, path, { message, bearer, accept } = {}) {
	return new Promise((done, fail) => {
		const headers = { 'Content-Type': 'application/json', Accept: accept ?? 'application/json, text/event-stream' };
		if (message) Object.assign(headers, { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': message.method, ...(message.params?.name && { 'Mcp-Name': message.params.name }) });
		if (bearer) headers.Authorization = `Bearer ${bearer}`;
		const request = http.request({ host: server.url.hostname, port: server.url.port, path, method: message ? 'POST' : 'GET', headers, agent }, (response) => {
			let body = '';
			response.on('data', (bytes) => (body += bytes));
			response.on('end', () => done({ status: response.statusCode, body, type: response.headers['content-type'] }));
		});
		request.on('error', fail);
		request.end(message && JSON.stringify(message));
	});
}

let id = 0;
const call = (server, name, args, bearer) => ask(server, '/mcp', { message: { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args, _meta: modern } }, bearer });
const incidents = () => JSON.parse(run(['incident', 'list', '--json', '--incidents', store, '--limit', '0']).out || '[]');
const size = () => readdirSync(state).filter((name) => name.startsWith('incidents.db')).reduce((sum, name) => sum + statSync(join(state, name)).size, 0);

test(`${REQUESTS} unauthenticated requests evict no incident, raise no alert, and leave a bounded database`, async () => {
	const pages = [];
	const pager = http.createServer((request, response) => {
		request.on('data', (bytes) => pages.push(JSON.parse(bytes)));
		request.on('end', () => response.end());
	});
	await new Promise((done) => pager.listen(0, '127.0.0.1', done));
	// The smallest database that there may be.
	const server = await serve('--token-file', join(dir, 'token'), '--incidents-bytes', '1m', '--alert-webhook', `http://127.0.0.1:${pager.address().port}/`);
	const kept = [];
	for (let i = 0; i < KEPT; i++) kept.push(canonical(JSON.parse((await call(server, 'raise_error', { code: 'file.not_found' }, token)).body)).incident_id);
	await until('the incidents of the client are written', () => incidents().length === KEPT);
	const before = size();
	let left = REQUESTS;
	const statuses = new Set();
	const refusedClient = async () => {
		while (left-- > 0) statuses.add((left % 2 ? await call(server, 'raise_error', { code: 'internal.unexpected' }) : await call(server, 'raise_error', {}, 'a-wrong-token-of-enough')).status);
	};
	await Promise.all(Array.from({ length: 8 }, refusedClient));
	// Who brings wrong tokens has to slow down.
	same([...statuses].sort(), [401, 429]);
	const metrics = await until('the refused are counted', async () => {
		const { body } = await ask(server, '/metrics', { bearer: token });
		return /^faultwire_incidents_left_out_total [1-9]/m.test(body) && body;
	});
	const leftOut = Number(metrics.match(/^faultwire_incidents_left_out_total (\d+)$/m)[1]);
	await until('the rest is written', () => incidents().length === KEPT + REQUESTS - leftOut);
	const list = incidents();
	const ids = new Set(list.map((one) => one.id));
	same(kept.filter((one) => !ids.has(one)), [], 'evicted');
	check(list.length - KEPT < 1000, `${list.length - KEPT} incidents of unauthenticated requests`);
	const growth = size() - before;
	console.log(`# ${REQUESTS} requests without a token: ${list.length - KEPT} incidents recorded, ${leftOut} counted only; the database grew by ${growth} bytes`);
	check(growth < 6 * 1024 * 1024, `grown by ${growth} bytes`);
	same(JSON.parse((await ask(server, '/alerts', { bearer: token })).body).firing, []);
	same(server.log().filter((line) => line.event === 'alert_firing'), []);
	check(server.log().every((line) => line.level !== 'critical'), 'no critical line for a request without a token');
	same(await server.stop(), 0);
	same(pages, []);
	pager.close();
	pager.closeAllConnections();
});

test('the address of the peer is in log and incident, and in no reply', async () => {
	const server = await serve('--token-file', join(dir, 'token'));
	const refused = await ask(server, '/mcp', { message: { jsonrpc: '2.0', id: 1, method: 'ping' } });
	const failed = await call(server, 'raise_error', { code: 'file.not_found' }, token);
	check(!refused.body.includes('127.0.0.1') && !failed.body.includes('127.0.0.1'));
	const { incident_id } = canonical(JSON.parse(failed.body));
	const lines = await until('both lines', () => server.log().filter((line) => line.error_code).length >= 2 && server.log().filter((line) => line.error_code));
	same(lines.map((line) => line.peer), ['127.0.0.1', '127.0.0.1']);
	const found = await until('the incident', () => incidents().find((one) => one.id === incident_id));
	same(found.peer, '127.0.0.1');
	match(run(['incident', 'show', incident_id, '--incidents', store]).out, /^ +peer +127\.0\.0\.1$/m);
	same(await server.stop(), 0);
});

test('raise_error of diag fires no alert, unless --drill-alerts asks for it', async () => {
	for (const drill of [false, true]) {
		const server = await serve('--incidents', 'off', ...(drill ? ['--drill-alerts'] : []));
		await call(server, 'raise_error', { code: 'internal.unexpected' });
		const { firing } = JSON.parse((await ask(server, '/alerts')).body);
		same(firing.map((one) => one.code), drill ? ['internal.unexpected'] : []);
		same(await server.stop(), 0);
	}
});

test('/favicon.ico, / and /livez are no incidents', async () => {
	const server = await serve('--token-file', join(dir, 'token'));
	const before = incidents().length;
	const found = [];
	for (const path of ['/favicon.ico', '/', '/livez', '/healthz']) found.push((await ask(server, path)).status);
	same(found, [404, 200, 200, 200]);
	await ask(server, '/nowhere');
	await until('the one incident', () => incidents().length > before);
	same([incidents().length - before, incidents()[0].code, server.log().filter((line) => line.error_code).length], [1, 'protocol.path_not_found', 1]);
	match(run(['serve', '--help']).out, /\/livez and \/healthz/);
	same(await server.stop(), 0);
});

test('faultwire alerts shows current counts', async () => {
	const server = await serve('--incidents', 'off', '--drill-alerts');
	const shown = () => JSON.parse(run(['alerts', '--json'], { env: { ...env, XDG_STATE_HOME: dir } }).out).flatMap((one) => one.firing)[0]?.events;
	for (const count of [1, 2, 7]) {
		while ((shown() ?? 0) < count && JSON.parse((await ask(server, '/alerts')).body).firing[0]?.events !== count) await call(server, 'raise_error', { code: 'internal.unexpected' });
		await until(`${count} events`, () => shown() === count);
	}
	same(await server.stop(), 0);
});

finish();
