// The files of deploy/ that other programs read: haproxy and nginx accept them and pass calls,
// streams and failures on; Prometheus parses every expression of the dashboard, and every metric
// that it names is served.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { has, root, run } from './lib/cli.mjs';
import { Place, api, ask, isFine, mcp, until } from './lib/govern.mjs';

const place = new Place('deploy');
const deploy = join(root, 'deploy');
// Not in the PATH of everybody.
const haproxy = '/usr/sbin/haproxy', nginx = '/usr/sbin/nginx';
const replicas = [];
const children = [];

before(async () => {
	for (let i = 0; i < 2; i++) replicas.push(await place.start('serve', '--tools', 'diag', '--log', 'off', '--audit', place.file(`audit-${i}`), '--incidents', place.file(`incidents-${i}.db`)));
});
after(async () => {
	// A master that is killed would leave its workers behind.
	for (const child of children) {
		child.kill('SIGTERM');
		await child.ended;
	}
	await place.end();
});

const freePort = () => new Promise((found) => {
	const server = createServer().listen(0, '127.0.0.1', () => {
		const { port } = server.address();
		server.close(() => found(port));
	});
});

// The lines of three replicas become those of the two that run here.
function aimed(text, line) {
	const hosts = replicas.map(({ url }) => new URL(url).host);
	let count = 0;
	const made = text.replace(line, (_, before, address, rest) => (count < hosts.length ? `${before}${hosts[count++]}${rest}` : (count++, '')));
	assert.equal(count, 3, 'the example has three replicas');
	return made;
}

function start(program, args) {
	const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
	child.said = '';
	child.ended = new Promise((done) => child.on('exit', done));
	for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (bytes) => (child.said += bytes));
	children.push(child);
	return child;
}

// What every balancer must do.
async function passesOn(balancer, child) {
	await until(async () => {
		assert.equal(child.exitCode, null, child.said);
		return (await ask(balancer, '/api/v1/tools').catch(() => ({}))).status === 200;
	}, 'the balancer');
	assert.ok(isFine(await mcp(balancer, 'explain_error_code', { code: 'file.not_found' })));
	const refused = await api(balancer, 'explain_error_code', {});
	assert.equal(refused.status, 400);
	assert.equal(refused.headers.get('content-type'), 'application/problem+json');
	for (const path of ['/metrics', '/healthz', '/readyz', '/alerts']) assert.equal((await ask(balancer, path)).status, 404, path);
	// A session of an older protocol stays with its replica: it is known in every request.
	const headers = { Accept: 'application/json, text/event-stream' };
	for (let i = 0; i < 4; i++) {
		const begin = await ask(balancer, '/mcp', { headers, body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } } });
		const session = { ...headers, 'Mcp-Session-Id': begin.headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-11-25' };
		assert.equal((await ask(balancer, '/mcp', { headers: session, body: { jsonrpc: '2.0', method: 'notifications/initialized' } })).status, 202);
		for (let k = 0; k < 6; k++) {
			const list = await ask(balancer, '/mcp', { headers: session, body: { jsonrpc: '2.0', id: 2, method: 'tools/list' } });
			assert.equal(list.status, 200, list.text);
		}
	}
	// Events arrive when they are sent, and not when a buffer is full.
	const control = new AbortController();
	const events = await fetch(`${balancer.url}/api/v1/events`, { signal: control.signal });
	const decoder = new TextDecoder();
	let seen = '';
	for await (const bytes of events.body) {
		seen += decoder.decode(bytes, { stream: true });
		// Both replicas get calls, so one of these is an event of the stream's replica.
		if (seen.includes('event: outcome')) break;
		if (seen.includes('event: ready')) await Promise.all(Array.from({ length: 8 }, () => ask(balancer, '/api/v1/tools/nothing', { body: {} })));
	}
	control.abort();
	assert.match(seen, /event: outcome/);
}

test('haproxy accepts its examples and passes requests on', { skip: !existsSync(haproxy) && 'no haproxy' }, async () => {
	const text = readFileSync(join(deploy, 'haproxy/haproxy.cfg'), 'utf8');
	for (const file of ['haproxy/haproxy.cfg', 'compose/haproxy.cfg']) {
		const checked = spawnSync(haproxy, ['-c', '-f', join(deploy, file)], { encoding: 'utf8' });
		assert.equal(checked.status, 0, checked.stderr + checked.stdout);
		assert.doesNotMatch(checked.stderr + checked.stdout, /WARNING/);
	}
	const port = await freePort();
	const config = place.file('haproxy.cfg');
	writeFileSync(config, aimed(text, /^(\tserver replica\d )(\S+)(\n)/gm).replace('0.0.0.0:8080', `127.0.0.1:${port}`).replace(/^\tmaxconn .*/m, '\tmaxconn 200'));
	await passesOn({ url: `http://127.0.0.1:${port}` }, start(haproxy, ['-W', '-f', config]));
});

test('nginx accepts its example and passes requests on', { skip: !existsSync(nginx) && 'no nginx' }, async () => {
	const text = readFileSync(join(deploy, 'nginx/faultwire.conf'), 'utf8');
	const around = (inner) => {
		const scratch = ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind === 'body' ? 'client_body' : kind}_temp_path ${place.file(`nginx-${kind}`)};`).join(' ');
		return `daemon off; worker_processes 1; user root; pid ${place.file('nginx.pid')}; error_log stderr; events {} http { access_log off; ${scratch}\n${inner}\n}`.replace(/user root;/, process.getuid() === 0 ? 'user root;' : '');
	};
	const config = place.file('nginx.conf');
	writeFileSync(config, around(text));
	const checked = spawnSync(nginx, ['-t', '-c', config, '-e', 'stderr'], { encoding: 'utf8' });
	assert.equal(checked.status, 0, checked.stderr);
	assert.doesNotMatch(checked.stderr, /\[warn\]/);
	const port = await freePort();
	writeFileSync(config, around(aimed(text, /^(\tserver )(10\.[\d.:]+)( .*\n)/gm).replace('listen 8080', `listen 127.0.0.1:${port}`)));
	await passesOn({ url: `http://127.0.0.1:${port}` }, start(nginx, ['-c', config, '-e', 'stderr']));
});

// ---- Grafana and Prometheus ----

const dashboard = JSON.parse(readFileSync(join(deploy, 'grafana/faultwire.json'), 'utf8'));
const expressions = dashboard.panels.flatMap((panel) => panel.targets ?? []).map(({ expr }) => expr);
const autoscaled = [...readFileSync(join(deploy, 'kubernetes/autoscaler.yaml'), 'utf8').matchAll(/metric: \{ name: (\w+) \}/g)].map(([, name]) => name);

test('the dashboard has panels, and none of them twice', () => {
	assert.ok(expressions.length > 25);
	const ids = dashboard.panels.map(({ id }) => id);
	assert.equal(new Set(ids).size, ids.length);
	for (const { title, targets, type } of dashboard.panels) assert.ok(title && (type === 'row' || targets.length), title);
	for (const { targets = [] } of dashboard.panels) assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length);
});

test('every metric of the dashboard and of the autoscaler is served', async () => {
	await mcp(replicas[0], 'explain_error_code', { code: 'file.not_found' });
	await mcp(replicas[0], 'raise_error', { code: 'file.not_found' });
	const served = new Set([...(await ask(replicas[0], '/metrics')).text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name, type]) => (type === 'histogram' ? [`${name}_bucket`] : [name])));
	const named = new Set([...expressions.join('\n').matchAll(/\b((?:faultwire|codeintel|process)_\w+)\b/g), ...autoscaled.map((name) => [name, name])].map(([, name]) => name));
	assert.ok(named.size > 20);
	assert.deepEqual([...named].filter((name) => !served.has(name)), []);
});

test('Prometheus parses every expression, and the configuration with the rules', { skip: !has('promtool') && 'no promtool' }, () => {
	// Grafana replaces its variables before Prometheus sees them.
	const rules = expressions.map((expr, i) => ({ record: `panel:${i}`, expr: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*') }));
	writeFileSync(place.file('panels.yml'), JSON.stringify({ groups: [{ name: 'panels', rules }] }));
	const parsed = spawnSync('promtool', ['check', 'rules', place.file('panels.yml')], { encoding: 'utf8' });
	assert.equal(parsed.status, 0, parsed.stderr);
	assert.match(parsed.stdout, new RegExp(`${expressions.length} rules found`));
	writeFileSync(place.file('faultwire.rules.yml'), run(['registry', '--prometheus-rules']).out);
	const config = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8');
	writeFileSync(place.file('prometheus.yml'), config.replace('/run/secrets/metrics_token', place.file('token')));
	writeFileSync(place.file('token'), 'x\n');
	const checked = spawnSync('promtool', ['check', 'config', place.file('prometheus.yml')], { encoding: 'utf8' });
	assert.equal(checked.status, 0, checked.stderr + checked.stdout);
	assert.match(checked.stdout, /rules found/);
});

// ---- the program ----

test('every option of the manifests is one of the program', () => {
	const help = run(['serve', '--help']).out;
	for (const file of ['kubernetes/replicas.yaml', 'compose/compose.yaml']) {
		const options = [...readFileSync(join(deploy, file), 'utf8').matchAll(/^\s+- --([a-z-]+)/gm)].map(([, name]) => name);
		assert.ok(options.length >= 4, file);
		for (const option of options) assert.match(help, new RegExp(`--${option}\\b`), file);
	}
	const policy = readFileSync(join(deploy, 'kubernetes/policy.yaml'), 'utf8').match(/clients\.json: \|\n([^]*)$/)[1];
	assert.deepEqual(JSON.parse(policy), JSON.parse(readFileSync(join(deploy, 'compose/clients.json'), 'utf8')));
});

test('the policy of the manifests is accepted', async () => {
	const server = await place.start('serve', '--tools', 'diag', '--log', 'off', '--clients', join(deploy, 'compose/clients.json'), '--audit', 'off', '--incidents', 'off');
	assert.ok(isFine(await mcp(server, 'explain_error_code', { code: 'file.not_found' })));
});
