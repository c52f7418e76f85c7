/*
 * The official conformance suite with the official TypeScript server behind the gateway
 * (@modelcontextprotocol/server-everything, as published). It does not have all the fixtures of
 * the suite, so it fails scenarios by itself: each scored scenario that it passes without the gateway
 * must pass through it. FW_LONG=1: with the server over HTTP, too.
 */
// reaches: input.schema_violation

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Wire, canonical } from '../wire/lib/mcp.mjs';
import { faultwire, quiet, serve } from './gate_lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`);
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const official = join(here, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const out = mkdtempSync(join(tmpdir(), 'fw-gate-official-'));
const gates = {};
let server;
let direct;

const freePort = () => new Promise((found) => {
	const probe = net.createServer().listen(0, '127.0.0.1', () => {
		const { port } = probe.address();
		probe.close(() => found(port));
	});
});

/* It prints the port that it was given, so 0 would not be known: another program may have taken it. */
async function startOfficial() {
	for (let attempt = 0; attempt < 5; attempt++) {
		const port = await freePort();
		const child = spawn(node, [official, 'streamableHttp'], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PORT: `${port}` } });
		const isUp = await new Promise((done) => {
			child.stderr.on('data', (bytes) => `${bytes}`.includes('listening on port') && done(true));
			child.on('exit', () => done(false));
		});
		if (isUp) return { child, url: `http://localhost:${port}/mcp` };
	}
	throw new Error('the official server does not start');
}

before(async () => {
	server = await startOfficial();
	direct = server.url;
	if (process.env.FW_LONG) gates.http = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, '--url', direct]);
	gates.stdio = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, '--', node, official, 'stdio']);
});
after(() => {
	for (const gate of Object.values(gates)) gate.stop();
	server?.child.kill();
	rmSync(out, { recursive: true, force: true });
});

/* Scored scenarios that passed. The suite lists those that are not scored a second time. */
function run(url, version, name) {
	const dir = join(out, `${name}-${version}`);

	return new Promise((resolve) => {
		const child = spawn(node, [suite, 'server', '--url', url, '--requirements', version, '-o', dir], { stdio: ['ignore', 'pipe', 'pipe'] });
		let said = '';
		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => (said += bytes));
		child.on('exit', () => {
			const unscored = [...said.matchAll(/^\s+[✓✗] ([\w-]+) \(/gmu)].map(([, scenario]) => scenario);
			const passed = [...said.matchAll(/^✓ ([\w-]+): /gmu)].map(([, scenario]) => scenario).filter((scenario) => !unscored.includes(scenario));
			const failures = readdirSync(dir).filter((scenario) => existsSync(join(dir, scenario, 'checks.json'))).flatMap((scenario) =>
				JSON.parse(readFileSync(join(dir, scenario, 'checks.json'), 'utf8'))
					.filter((check) => check.status === 'FAILURE')
					.map((check) => `${scenario}: ${check.id}: ${check.errorMessage ?? check.description}`));
			resolve({ passed, failures });
		});
	});
}

/* Our own server names the violation more precisely; of another server there is only its text. */
test('arguments that the schema of the official server refuses are input.schema_violation', async () => {
	const wire = new Wire(['gate', ...quiet, '--', node, official, 'stdio'], faultwire);
	await wire.initialize();
	const reply = await wire.call('get-annotated-message', { messageType: 'loud', includeImage: false });
	const error = canonical(reply);
	assert.equal(reply.result.isError, true);
	assert.deepEqual([error.code, error.origin, error.delivery, error.retry], ['input.schema_violation', 'upstream', 'replied', 'after_fix']);
	assert.match(error.message, /Invalid arguments for tool get-annotated-message/);
	assert.equal(canonical(await wire.call('get-annotated-message', { messageType: 'debug', includeImage: false })), undefined);
	await wire.end();
});

for (const version of ['2025-11-25', '2026-07-28'])
	test(`the official server behind the gateway: no scored scenario of ${version} is lost`, { timeout: 180000 }, async (t) => {
		const alone = await run(direct, version, 'direct');

		/* Without its fixtures it passes few, but some. */
		assert.ok(alone.passed.length >= (version === '2025-11-25' ? 10 : 1), `passed without a gateway: ${alone.passed}`);
		for (const [name, gate] of Object.entries(gates)) {
			const through = await run(gate.url.href, version, name);
			const lost = alone.passed.filter((scenario) => !through.passed.includes(scenario));

			t.diagnostic(`${version}, server over ${name}: ${alone.passed.length} scored scenarios pass without the gateway, ${through.passed.length} through it`);
			assert.deepEqual(lost, [], through.failures.filter((failure) => lost.some((scenario) => failure.includes(scenario))).join('\n'));
		}
	});
