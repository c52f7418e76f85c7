// `faultwire serve` is confined itself, in every mode, and all that it does still
// works: see the other wire tests as well, which all speak to a confined server.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { bin, check, env, finish, match, run, same, scratch, skip, test } from './lib/cli.mjs';
import { Wire, canonical, modern } from './lib/mcp.mjs';

const children = [];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what, words) {
	for (let i = 0; i < 200; i++) {
		const found = await what();

		if (found) return found;
		await sleep(50);
	}
	throw new Error(`not within ten seconds: ${words}`);
}

// The value of a line of /proc/PID/status, for each thread.
const statusOf = (pid, name) =>
	readdirSync(`/proc/${pid}/task`).map((tid) => readFileSync(`/proc/${pid}/task/${tid}/status`, 'utf8').match(new RegExp(`^${name}:\\s*(\\w+)$`, 'm'))?.[1]);
const all = (values, wanted) => values.length > 0 && values.every((value) => value === wanted);

function stdio(...args) {
	const wire = new Wire(['serve', '--stdio', ...args], bin);

	children.push(wire.child);
	return wire;
}

async function overHttp(...args) {
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', ...args], { env: { ...process.env, ...env, HOME: scratch() }, stdio: ['ignore', 'ignore', 'pipe'] });
	let err = '';

	children.push(child);
	child.stderr.on('data', (bytes) => (err += bytes));
	const url = await until(() => err.match(/http:\/\/[^/\s"]+/)?.[0], 'it listens');
	return { child, url, text: async (path) => (await fetch(url + path)).text() };
}

process.env.XDG_STATE_HOME = join(scratch(), 'state');
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

const child = (pid, name) => {
	const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);

	return Number(pids.find((one) => readFileSync(`/proc/${one}/comm`, 'utf8').trim() === name));
};

/* ---- the process ------------------------------------------------------------------------ */

for (const [name, args] of Object.entries({
	'tools in processes': [],
	'tools in threads': ['--run', 'thread'],
	'tools inline': ['--run', 'inline'],
	'no kernel support missing': ['--sandbox', 'required'],
	'alerts': ['--alert-webhook', 'http://127.0.0.1:9/'],
}))
	test(`all threads of the server are confined over stdio: ${name}`, async () => {
		const wire = stdio(...args);

		await wire.initialize().catch(() => skip(wire.err.trim()));
		check(all(statusOf(wire.child.pid, 'Seccomp'), '2'), `Seccomp ${statusOf(wire.child.pid, 'Seccomp')}`);
		check(all(statusOf(wire.child.pid, 'NoNewPrivs'), '1'), 'NoNewPrivs');
		check(all(statusOf(wire.child.pid, 'CapEff'), '0000000000000000'), 'CapEff');
		same((await wire.end()).status, 0);
	});

test('all threads of the server are confined over HTTP, and it says nothing about it on /readyz', async () => {
	const server = await overHttp();
	const ready = await server.text('/readyz');

	check(all(statusOf(server.child.pid, 'Seccomp'), '2'), 'Seccomp');
	check(ready.startsWith('ready\n'), ready);
	// It reads /proc for these.
	check(/^process_open_fds \d+$/m.test(await server.text('/metrics')), 'metrics of the process');
	server.child.kill('SIGTERM');
});

test('a server of root can listen on a port below 1024, and keeps no privilege', async () => {
	if (process.getuid() !== 0) skip('only root can do that');
	for (let tries = 0; tries < 20; tries++) {
		const port = 600 + Math.floor(Math.random() * 400);
		const server = spawn(bin, ['serve', '--http', `127.0.0.1:${port}`], { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
		let err = '';

		children.push(server);
		server.stderr.on('data', (bytes) => (err += bytes));
		await until(() => /listening on|in use|in the way/.test(err) || server.exitCode !== null, 'it listens');
		if (!err.includes('listening on') && tries < 19 && !/permission|denied/i.test(err)) continue;
		check(err.includes(`listening on http://127.0.0.1:${port}/`), err);
		await until(() => all(statusOf(server.pid, 'Seccomp'), '2'), 'it is confined');
		same(readFileSync(`/proc/${server.pid}/status`, 'utf8').match(/^CapEff:\s*(\w+)$/m)[1], '0000000000000000');
		server.kill('SIGTERM');
		return;
	}
});

test('--sandbox off: nothing is confined', async () => {
	const wire = stdio('--sandbox', 'off');

	await wire.initialize();
	check(all(statusOf(wire.child.pid, 'Seccomp'), '0'), 'Seccomp');
	same((await wire.end()).status, 0);
});

/* ---- workers of a confined server ---------------------------------------------------------- */

test('a fork server that is killed is replaced, although the server cannot fork', async () => {
	const wire = stdio();
	const { pid } = wire.child;

	await wire.initialize();
	const keeper = child(pid, 'fw-keeper');
	const first = await until(() => child(keeper, 'fw-forkserver'), 'there is a fork server');

	process.kill(first, 'SIGKILL');
	await until(() => wire.err.includes('"forkserver_restarted"'), 'it is restarted');
	const reply = await until(async () => {
		const said = await wire.call('explain_error_code', { code: 'file.not_found' });

		return said.result?.isError && canonical(said).code !== 'input.invalid_arguments' ? null : said;
	}, 'a tool works');

	check(!reply.error && child(keeper, 'fw-forkserver') !== first, JSON.stringify(reply).slice(0, 300));
	// The new one is not confined as the server is: its workers have rules of their own.
	same(statusOf(child(keeper, 'fw-forkserver'), 'Seccomp'), ['0']);
	same((await wire.end()).status, 0);
	check(!existsSync(`/proc/${keeper}`), 'the keeper ends with the server');
});

test('a keeper that is killed takes the workers along; the server answers, and ends in order', async () => {
	const wire = stdio();

	await wire.initialize();
	process.kill(child(wire.child.pid, 'fw-keeper'), 'SIGKILL');
	await until(() => wire.err.includes('"forkserver_not_started"'), 'it says so');
	const reply = await wire.call('explain_error_code', { code: 'file.not_found' });

	same([canonical(reply)?.code, (await wire.request('ping')).result], ['server.overloaded', {}]);
	same((await wire.end()).status, 0);
});

test('the keeper is killed: /readyz is 503 and says to restart, /healthz is 200, calls get server.overloaded', async () => {
	const server = await overHttp();
	const get = (path) => fetch(server.url + path);
	const call = async (params) =>
		(
			await fetch(`${server.url}/mcp`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name },
				body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: modern } }),
			})
		).json();
	const explain = { name: 'explain_error_code', arguments: { code: 'file.not_found' } };

	same([(await get('/readyz')).status, (await call(explain)).result?.isError ?? false], [200, false], 'before');
	process.kill(child(server.child.pid, 'fw-keeper'), 'SIGKILL');
	await until(async () => (await get('/readyz')).status === 503 && (await server.text('/readyz')).includes('restart'), '/readyz is 503');
	match(await server.text('/readyz'), /^not ready\n[^]*^workers: cannot be started; restart the server$/m);
	const reply = await call(explain);

	same([canonical(reply)?.code, (await get('/healthz')).status], ['server.overloaded', 200]);
	// It stays so: no attempt to start a worker can succeed.
	await sleep(600);
	same([(await get('/readyz')).status, canonical(await call(explain))?.code], [503, 'server.overloaded'], 'later');
});

for (const kill of [false, true])
	test(`preflight commands run in a confined server${kill ? ', also after its fork server was killed' : ''}`, async () => {
		const at = mkdtempSync(join(scratch(), 'serve-'));
		const workspace = join(at, 'workspace');

		mkdirSync(join(workspace, 'src'), { recursive: true });
		const plan = (args, input) => run(['plan', ...args], { input, cwd: workspace, env: { XDG_CONFIG_HOME: at } });
		const hash = plan(['new', '--scope', 'src/**', '--title', 'A plan', '-'], 'Do it.').out.match(/[0-9a-f]{64}/)[0];

		same(plan(['approve', '--yes', hash]).status, 0);
		const wire = stdio('--tools', 'workspace', '--role', 'windsurf', '--workspace', workspace, '--plan-key', join(at, 'faultwire/plan.key'), '--preflight', 'ls src >seen');

		await wire.initialize();
		if (kill) {
			const keeper = await until(() => [...readFileSync(`/proc/${wire.child.pid}/task/${wire.child.pid}/children`, 'utf8').matchAll(/\d+/g)].map(Number).find((one) => child(one, 'fw-forkserver')), 'a keeper');

			process.kill(child(keeper, 'fw-forkserver'), 'SIGKILL');
			await until(() => wire.err.includes('"forkserver_restarted"'), 'it is restarted');
		}
		await until(async () => !(await wire.call('begin_session', { workspace_root: workspace })).result?.isError, 'a session');
		const reply = await wire.call('write_file', { path: 'src/one.c', content: 'int one;\n', create: true, plan: hash, intent: 'a test' });

		check(!reply.result?.isError, JSON.stringify(reply));
		same(readFileSync(join(workspace, 'seen'), 'utf8'), 'one.c\n');
		check(readFileSync(join(workspace, 'audit-log.jsonl'), 'utf8').includes('write_file'), 'the audit log moved into the workspace');
		same((await wire.end()).status, 0);
	});

/* ---- what the server itself does ----------------------------------------------------------- */

test('alerts go out by name, to their port', async () => {
	const got = [];
	const receiver = http.createServer((request, response) => {
		request.on('data', (bytes) => got.push(String(bytes)));
		request.on('end', () => response.end());
	});

	await new Promise((done) => receiver.listen(0, '127.0.0.1', done));
	const wire = stdio('--drill-alerts', '--alert-webhook', `http://localhost:${receiver.address().port}/`);

	await wire.initialize();
	for (let i = 0; i < 40; i++) await wire.call('raise_error', { code: 'internal.unexpected' });
	await until(() => got.length > 0, 'an alert');
	check(all(statusOf(wire.child.pid, 'Seccomp'), '2'), 'it is confined');
	same((await wire.end()).status, 0);
	receiver.close();
	receiver.closeAllConnections();
});

test('the audit log rotates, and incidents are kept, in directories of their own', async () => {
	const at = mkdtempSync(join(scratch(), 'serve-'));
	const audit = join(at, 'audit');
	const incidents = join(at, 'incidents');

	mkdirSync(audit);
	mkdirSync(incidents);
	const wire = stdio('--audit', join(audit, 'log.jsonl'), '--audit-bytes', '64k', '--audit-sync', 'off', '--incidents', join(incidents, 'db'));

	await wire.initialize();
	for (let i = 0; i < 300; i++) await wire.call('raise_error', { code: 'internal.unexpected' });
	same((await wire.end()).status, 0);
	check(readdirSync(audit).length >= 2, `files of the log: ${readdirSync(audit)}`);
	check(readdirSync(incidents).includes('db'), `files of incidents: ${readdirSync(incidents)}`);
	check(!wire.err.includes('_down'), wire.err.slice(-600));
});

test('the end: nothing of this is left running', () => children.forEach((one) => one.kill('SIGKILL')));

await finish();
