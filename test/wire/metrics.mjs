// Metrics and alerts of a running server, read by those they are made for:
// promtool, a real Prometheus, a real Alertmanager, and a webhook.

import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, check, file, finish, has, match, run, same, skip, test } from './lib/cli.mjs';

const home = mkdtempSync(join(tmpdir(), 'fw-metrics-'));
const environment = { PATH: process.env.PATH, HOME: home, XDG_STATE_HOME: home, LC_ALL: 'C.UTF-8' };
const children = [];
process.on('exit', () => {
	for (const child of children) child.kill('SIGKILL');
	rmSync(home, { recursive: true, force: true });
});

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what, probe, ms = 15000) {
	const late = Date.now() + ms;
	for (;;) {
		const found = await probe().catch(() => undefined);
		if (found) return found;
		if (Date.now() > late) throw new Error(`${what}: not within ${ms} ms`);
		await pause(50);
	}
}

function freePort() {
	return new Promise((done) => {
		const server = net.createServer().listen(0, '127.0.0.1', () => {
			const { port } = server.address();
			server.close(() => done(port));
		});
	});
}

function background(program, args) {
	const child = spawn(program, args, { env: environment, cwd: home, stdio: ['ignore', 'ignore', 'pipe'] });
	child.said = '';
	child.stderr.on('data', (bytes) => (child.said += bytes));
	child.ended = new Promise((done) => child.on('exit', (status) => done(status)));
	children.push(child);
	return child;
}

async function serve(...args) {
	const child = background(bin, ['serve', '--http', '127.0.0.1:0', '--drill-alerts', ...args]);
	const url = await until('the server', async () => child.said.match(/http:\/\/\S+/)?.[0]);
	child.base = url.replace(/\/mcp$/, '');
	child.port = Number(new URL(url).port);
	return child;
}

async function stop(child) {
	child.kill('SIGTERM');
	return child.ended;
}

async function get(url, headers = {}) {
	const response = await fetch(url, { headers });
	return { status: response.status, type: response.headers.get('content-type'), text: await response.text(), headers: response.headers };
}

let lastId = 0;
async function call(base, name, args, client = 'wire') {
	const response = await fetch(`${base}/mcp`, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
		body: JSON.stringify({
			jsonrpc: '2.0',
			id: ++lastId,
			method: 'tools/call',
			params: {
				name,
				arguments: args,
				_meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: client, version: '1' } },
			},
		}),
	});
	return response.json();
}

const fail = (base, code, client) => call(base, 'raise_error', { code }, client);

function metric(text, name, labels = {}) {
	for (const line of text.split('\n')) {
		if (!line.startsWith(name + '{') && !line.startsWith(name + ' ')) continue;
		if (Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`))) return Number(line.split(' ').at(-1));
	}
	return undefined;
}

// --- metrics ----------------------------------------------------------------------

test('calls count by tool and outcome, errors by code, and promtool has no complaint', async () => {
	const server = await serve();
	await call(server.base, 'explain_error_code', { code: 'file.not_found' });
	for (let i = 0; i < 3; i++) check((await fail(server.base, 'file.not_found')).result?.isError, 'the tool fails');
	await call(server.base, 'no-such-tool', {});
	await call(server.base, 'raise_error', { code: 7 });
	await fetch(`${server.base}/mcp`, { method: 'PUT' });
	const { status, type, text } = await get(`${server.base}/metrics`);
	same([status, type], [200, 'text/plain; version=0.0.4; charset=utf-8']);
	same(metric(text, 'faultwire_calls_total', { tool: 'explain_error_code', outcome: 'ok' }), 1);
	same(metric(text, 'faultwire_calls_total', { tool: 'raise_error', outcome: 'ok' }), 0);
	same(metric(text, 'faultwire_calls_total', { tool: 'raise_error', outcome: 'tool_error' }), 4);
	same(metric(text, 'faultwire_calls_total', { tool: 'other', outcome: 'protocol_error' }), 1);
	same(metric(text, 'faultwire_calls_total', { tool: 'other', outcome: 'transport_error' }), 1);
	same(metric(text, 'faultwire_errors_total', { code: 'file.not_found' }), 3);
	same(metric(text, 'codeintel_errors_total', { error_code: 'file-not-found', http_status: '404' }), 3);
	same(metric(text, 'faultwire_call_duration_seconds_count', { tool: 'raise_error' }), 4);
	check(metric(text, 'process_resident_memory_bytes') > 1e6, 'resident memory');
	same([metric(text, 'faultwire_audit_up'), metric(text, 'faultwire_audit_records_total') > 0], [1, true], 'the audit log');
	match((await get(`${server.base}/readyz`)).text, /^ready\n[^]*^audit: up$/m);
	check(!text.includes('no-such-tool'), 'names that a peer made up are not shown');
	if (!has('promtool')) skip('promtool is not installed');
	const judge = spawnSync('promtool', ['check', 'metrics'], { input: text });
	same([judge.status, judge.stdout.toString(), judge.stderr.toString()], [0, '', ''], 'promtool check metrics');
	same(await stop(server), 0);
});

test('OpenMetrics comes to who asks for it', async () => {
	const server = await serve();
	const { type, text } = await get(`${server.base}/metrics`, { Accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' });
	same(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
	check(text.endsWith('# EOF\n'), 'it ends');
	match(text, /^# TYPE faultwire_calls counter$/m);
	await stop(server);
});

test('pages are behind the token; off is not there', async () => {
	const token = file('token', 'let-me-in\n');
	const server = await serve('--token-file', token, '--metrics', 'off');
	same((await get(`${server.base}/alerts`)).status, 401);
	same((await get(`${server.base}/alerts`, { Authorization: 'Bearer let-me-in' })).status, 200);
	const missing = await get(`${server.base}/metrics`, { Authorization: 'Bearer let-me-in' });
	same([missing.status, missing.type, JSON.parse(missing.text).code], [404, 'application/problem+json', 'protocol.path_not_found']);
	same((await get(`${server.base}/problems/file-not-found`)).status, 200);
	const asked = run(['alerts', '--url', server.base, '--token-file', token, '--json'], { env: environment });
	// A refused request without a token raises no alert.
	same([asked.status, JSON.parse(asked.out)[0].firing.length], [0, 0], asked.err);
	same(run(['alerts', '--url', server.base], { env: environment }).status, 1);
	await stop(server);
});

test('options that do not fit are refused', () => {
	for (const [args, said] of [
		[['--metrics', 'on'], '--metrics requires --http'],
		[['--http', '127.0.0.1:0', '--metrics', 'maybe'], '--metrics must be one of on, off'],
		[['--alert-secret-file', '/dev/null'], '--alert-secret-file requires --alert-webhook'],
		[['--alert-webhook', 'file:///etc/passwd'], 'http:// or https:// URL'],
		[['--alertmanager', '127.0.0.1:9093'], 'http:// or https:// URL'],
	]) {
		const { status, err } = run(['serve', ...args], { env: environment });
		check(status !== 0 && err.includes(said), `${args.join(' ')}: ${status} ${err}`);
	}
	check(run(['alerts', 'x']).status === 2, 'no operands');
	check(run(['alerts', '--token-file', '/dev/null']).status === 2, '--token-file needs --url');
	const nobody = run(['alerts', '--url', 'http://127.0.0.1:1', '--contract', 'canonical'], { env: environment });
	same([nobody.status, JSON.parse(nobody.err).code], [1, 'transport.connection_refused']);
});

// --- faultwire alerts ----------------------------------------------------------------

test('faultwire alerts shows what fires in servers over HTTP and stdio, and not what is gone', async () => {
	const none = run(['alerts'], { env: environment });
	same([none.status, none.out], [0, 'no server is running\n']);
	const server = await serve();
	const stdio = spawn(bin, ['serve', '--drill-alerts'], { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
	children.push(stdio);
	stdio.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"by-stdio","version":"1"}}}\n');
	stdio.stdin.write('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"raise_error","arguments":{"code":"internal.unexpected"}}}\n');
	for (let i = 0; i < 5; i++) await fail(server.base, 'file.not_found', 'noisy');
	const quiet = run(['alerts', '--url', server.base], { env: environment });
	same(quiet.out, 'nothing is firing\n');
	await fail(server.base, 'file.not_found', 'noisy');
	const shown = await until('both alerts', async () => {
		const { out } = run(['alerts'], { env: environment });
		return out.includes('noisy') && out.includes('by-stdio') && out;
	});
	match(shown, /^SEVERITY +CODE +CLIENT +SINCE +EVENTS +SERVER$/m);
	match(shown, /^warning +file\.not_found +noisy .* 6 +http:/m);
	match(shown, /^critical +internal\.unexpected +by-stdio.* 1 +stdio$/m);
	const all = JSON.parse(run(['alerts', '--json'], { env: environment }).out);
	same(all.flatMap((one) => one.firing.map((alert) => alert.code)).sort(), ['file.not_found', 'internal.unexpected']);
	stdio.kill('SIGKILL');
	await new Promise((done) => stdio.on('close', done));
	same(JSON.parse(run(['alerts', '--json'], { env: environment }).out).length, 1);
	await stop(server);
	same(run(['alerts'], { env: environment }).out, 'no server is running\n');
});

test('a secret in the name of a client is in no metric and no alert', async () => {
	const server = await serve();
	const secret = 'ghp_' + 'abcdefABCDEF0123456789abcdefABCDEF01';
	await fail(server.base, 'auth.forbidden', secret);
	const session = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
	const post = (message) => fetch(`${server.base}/mcp`, { method: 'POST', headers: session, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
	const opened = await post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'legacy', version: secret } } });
	session['Mcp-Session-Id'] = opened.headers.get('mcp-session-id');
	await opened.text();
	await (await post({ id: 2, method: 'tools/call', params: { name: 'raise_error', arguments: { code: 'auth.forbidden' } } })).text();
	for (const path of ['/metrics', '/alerts']) {
		const { text } = await get(server.base + path);
		for (const client of ['[redacted]', 'legacy/[redacted]']) check(text.includes(`"${client}"`), `${path} has ${client}: ${text}`);
		check(!text.includes(secret.slice(4, 20)), path);
	}
	await stop(server);
});

test('the webhook is called once, signed, and again when it fails', async () => {
	const got = [];
	const hook = http.createServer((request, response) => {
		let body = '';
		request.on('data', (bytes) => (body += bytes));
		request.on('end', () => {
			got.push({ body, headers: request.headers });
			response.writeHead(got.length === 1 ? 500 : 204).end();
		});
	});
	await new Promise((done) => hook.listen(0, '127.0.0.1', done));
	const server = await serve('--alert-webhook', `http://127.0.0.1:${hook.address().port}/hook`, '--alert-secret-file', file('secret', 'abc\n'));
	for (let i = 0; i < 4; i++) await fail(server.base, 'auth.forbidden', 'one');
	await until('two deliveries', async () => got.length === 2);
	same(got[0].body, got[1].body);
	const alert = JSON.parse(got[1].body).alert;
	same([alert.state, alert.code, alert.client, alert.severity], ['firing', 'auth.forbidden', 'one', 'critical']);
	const stamp = got[1].headers['faultwire-timestamp'];
	same(got[1].headers['faultwire-signature'], 'sha256=' + createHmac('sha256', 'abc').update(`${stamp}.${got[1].body}`).digest('hex'));
	await stop(server);
	same(got.length, 2);
	hook.close();
});

test('a webhook that does not take alerts is logged once, and once when it takes them again', async () => {
	let status = 302;
	let got = 0;
	const hook = http.createServer((request, response) => {
		got++;
		request.resume().on('end', () => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end());
	});
	await new Promise((done) => hook.listen(0, '127.0.0.1', done));
	const server = await serve('--alert-webhook', `http://127.0.0.1:${hook.address().port}/hook?key=secret`);
	const events = () => server.said.split('\n').filter((line) => line.includes('"alert_delivery_')).map((line) => JSON.parse(line));
	for (const client of ['one', 'two']) await fail(server.base, 'auth.forbidden', client);
	await until('two attempts', async () => got === 2);
	await until('the failure in the log', async () => events().length === 1);
	same([events()[0].event, events()[0].level, events()[0].context], ['alert_delivery_failed', 'error', { to: 'webhook', reason: 'it answers with HTTP status 302; redirects are not followed' }]);
	status = 204;
	await fail(server.base, 'auth.forbidden', 'three');
	await until('the success in the log', async () => events().length === 2);
	same([events()[1].event, events()[1].level], ['alert_delivery_restored', 'notice']);
	await stop(server);
	hook.close();
});

// --- Prometheus and Alertmanager --------------------------------------------------------

test('the rules of the registry pass promtool, one for each code and two of codeintel', () => {
	if (!has('promtool')) skip('promtool is not installed');
	const rules = run(['registry', '--prometheus-rules']);
	same([rules.status, rules.err], [0, '']);
	const judge = spawnSync('promtool', ['check', 'rules', file('rules.yml', rules.out)]);
	same(judge.status, 0, judge.stderr.toString());
	const codes = JSON.parse(run(['registry', '--json']).out).length;
	match(judge.stdout.toString(), new RegExp(`SUCCESS: ${codes + 2} rules found`));
	check(codes > 100, 'there are codes');
});

// Prometheus's own engine plays the laws: five warnings are borne, the sixth
// alerts, for each client; a critical one alerts at once; a server that was
// not watched before is not news.
test('the rules keep the rules for alerts, says promtool test rules', () => {
	if (!has('promtool')) skip('promtool is not installed');
	const rules = file('laws.yml', run(['registry', '--prometheus-rules']).out);
	const event = (code, severity, client) => `faultwire_alert_events_total{code="${code}",severity="${severity}",client="${client}",job="f",instance="i"}`;
	const alert = (name, severity, code, client) => `
      - eval_time: 10m
        alertname: ${name}
        exp_alerts:${client ? `
          - exp_labels: { severity: ${severity}, code: ${code}, client: ${client}, job: f, instance: i }
            exp_annotations: ${JSON.stringify(annotations(code))}` : ' []'}`;
	const rows = JSON.parse(run(['registry', '--json']).out);
	const annotations = (code) => {
		const row = rows.find((one) => one.code === code);
		return { summary: row.title, description: row.hint };
	};
	const script = file('laws.test.yml', `
rule_files: [${rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'faultwire_build_info{job="f",instance="i",version="x"}', values: '1x20' }
      - { series: 'process_start_time_seconds{job="f",instance="i"}', values: '-90000x20' }
      - { series: '${event('file.not_found', 'warning', 'five')}', values: '_ _ _ _ _ _ 5x20' }
      - { series: '${event('file.not_found', 'warning', 'six')}', values: '_ _ _ _ _ _ 1 6x20' }
      - { series: '${event('path.not_found', 'warning', 'steady')}', values: '100+1x20' }
      - { series: '${event('io.failed', 'warning', 'busy')}', values: '100 100 100 100 100 100 106x20' }
      - { series: '${event('auth.forbidden', 'critical', 'old')}', values: '3x20' }
      - { series: '${event('auth.unauthorized', 'critical', 'new')}', values: '_ _ _ _ _ _ _ 1x20' }
      - { series: '${event('internal.unexpected', 'critical', 'again')}', values: '40 40 40 40 40 40 40 0 1x20' }
    alert_rule_test:${alert('FaultwireFileNotFound', 'warning', 'file.not_found', 'six')}${alert('FaultwirePathNotFound', 'warning', 'path.not_found')}${alert('FaultwireIoFailed', rows.find((one) => one.code === 'io.failed').severity, 'io.failed', 'busy')}${alert('FaultwireAuthForbidden', 'critical', 'auth.forbidden')}${alert('FaultwireAuthUnauthorized', 'critical', 'auth.unauthorized', 'new')}${alert('FaultwireInternalUnexpected', 'critical', 'internal.unexpected', 'again')}
  - interval: 1m
    input_series:
      - { series: 'faultwire_build_info{job="f",instance="i",version="x"}', values: '_ _ _ _ _ _ _ 1x20' }
      - { series: 'process_start_time_seconds{job="f",instance="i"}', values: '_ _ _ _ _ _ _ -90000x20' }
      - { series: '${event('auth.forbidden', 'critical', 'unwatched')}', values: '_ _ _ _ _ _ _ 3x20' }
    alert_rule_test:${alert('FaultwireAuthForbidden', 'critical', 'auth.forbidden')}
`);
	const judge = spawnSync('promtool', ['test', 'rules', script]);
	same(judge.status, 0, judge.stdout.toString() + judge.stderr.toString());
});

test('a real Prometheus scrapes, its rules fire; the server also notifies a real Alertmanager', async () => {
	if (!has('prometheus') || !has('prometheus-alertmanager')) skip('prometheus or prometheus-alertmanager is not installed');
	const [managerPort, prometheusPort] = [await freePort(), await freePort()];
	writeFileSync(join(home, 'alertmanager.yml'), 'route: { receiver: nobody, group_wait: 0s }\nreceivers: [{ name: nobody }]\n');
	background('prometheus-alertmanager', [`--config.file=${home}/alertmanager.yml`, `--storage.path=${home}/am`, `--web.listen-address=127.0.0.1:${managerPort}`, '--cluster.listen-address=']);
	const managed = `http://127.0.0.1:${managerPort}`;
	await until('the Alertmanager', async () => (await get(`${managed}/-/ready`)).status === 200);

	const server = await serve('--alertmanager', managed);
	writeFileSync(join(home, 'rules.yml'), run(['registry', '--prometheus-rules']).out);
	writeFileSync(join(home, 'prometheus.yml'), `global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
rule_files: [${home}/rules.yml]
scrape_configs: [{ job_name: faultwire, static_configs: [{ targets: ['127.0.0.1:${server.port}'] }] }]
`);
	background('prometheus', [`--config.file=${home}/prometheus.yml`, `--storage.tsdb.path=${home}/tsdb`, `--web.listen-address=127.0.0.1:${prometheusPort}`]);
	const api = `http://127.0.0.1:${prometheusPort}/api/v1`;
	const ask = async (path) => JSON.parse((await get(api + path)).text).data;

	for (let i = 0; i < 5; i++) await fail(server.base, 'file.not_found', 'five');
	for (let i = 0; i < 6; i++) await fail(server.base, 'file.not_found', 'six');
	await fail(server.base, 'auth.forbidden', 'one');
	const target = await until('a good scrape', async () => (await ask('/targets')).activeTargets.find((one) => one.health === 'up'));
	same(target.lastError, '');
	const firing = await until('the rules fire', async () => {
		const { alerts } = await ask('/alerts');
		return alerts.length >= 2 && alerts;
	});
	same(firing.map((one) => `${one.labels.alertname} ${one.labels.client} ${one.state}`).sort(), ['FaultwireAuthForbidden one firing', 'FaultwireFileNotFound six firing']);
	const { result } = await ask(`/query?query=${encodeURIComponent('sum by (outcome) (faultwire_calls_total)')}`);
	same(result.find((one) => one.metric.outcome === 'tool_error').value[1], '12');

	const told = await until('the Alertmanager got it', async () => {
		const alerts = JSON.parse((await get(`${managed}/api/v2/alerts`)).text);
		return alerts.length >= 2 && alerts;
	});
	same(told.map((one) => `${one.labels.alertname} ${one.labels.client} ${one.status.state}`).sort(), ['FaultwireAuthForbidden one active', 'FaultwireFileNotFound six active']);
	match(told[0].annotations.incident_id, /^inc_/);
	const { text } = await get(`${server.base}/metrics`);
	check(metric(text, 'faultwire_alertmanager_posts_total') >= 1, 'posts are counted');
	same(await stop(server), 0);
});

await finish();
for (const child of children) child.kill('SIGKILL');
