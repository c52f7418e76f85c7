/*
 * The official conformance suite against examples/everything: both sets of
 * requirements, and the scenarios outside them that concern errors.
 *
 * The suite wants Node 22, which comes as a package; this file does not.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listening } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../build');
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`);
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

let server, url, out;

before(async () => {
	out = mkdtempSync(join(tmpdir(), 'fw-conformance-'));
	server = spawn(join(build, 'examples/everything'), ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
	url = (await listening(server)).href;
});

after(() => {
	server.kill();
	rmSync(out, { recursive: true, force: true });
});

function run(...args) {
	return new Promise((resolve) => {
		const child = spawn(node, [suite, 'server', '--url', url, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
		let said = '';
		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => (said += bytes));
		child.on('exit', (code) => resolve({ code, said }));
	});
}

/* What failed, in the suite's own words. */
function failures(dir) {
	return readdirSync(dir).flatMap((name) =>
		JSON.parse(readFileSync(join(dir, name, 'checks.json'), 'utf8'))
			.filter((check) => check.status === 'FAILURE')
			.map((check) => `${name}: ${check.id}: ${check.errorMessage ?? check.description}`));
}

for (const version of ['2025-11-25', '2026-07-28'])
	test(`conformance: every scored scenario of ${version}`, { timeout: 120000 }, async () => {
		const dir = join(out, version);
		const { code, said } = await run('--requirements', version, '-o', dir);

		assert.equal(code, 0, `${said.slice(-2000)}\n${failures(dir).join('\n')}`);
	});

for (const [scenario, version] of [
	['http-header-validation', '2026-07-28'],
	['http-custom-header-server-validation', '2026-07-28'],
	['server-session-lifecycle', '2025-11-25'],
	['json-schema-2020-12', '2025-11-25'],
	['json-schema-2020-12', '2026-07-28'],
	['server-sse-polling', '2025-11-25'],
])
	test(`conformance: ${scenario}, ${version}`, { timeout: 60000 }, async () => {
		const { code, said } = await run('--scenario', scenario, '--spec-version', version);

		assert.equal(code, 0, said.slice(-3000));
	});
