/*
 * The official conformance suite against examples/everything: both sets of
 * requirements, and the scenarios outside them that concern errors.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { failures, run } from './conformance_lib.mjs';
import { listening } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../build');

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

for (const version of ['2025-11-25', '2026-07-28'])
	test(`conformance: every scored scenario of ${version}`, { timeout: 120000 }, async () => {
		const dir = join(out, version);
		const { code, said } = await run(url, '--requirements', version, '-o', dir);

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
		const { code, said } = await run(url, '--scenario', scenario, '--spec-version', version);

		assert.equal(code, 0, said.slice(-3000));
	});
