/*
 * The official conformance suite through the gateway, examples/everything behind it over
 * stdio and over HTTP. The server passes all scored scenarios (conformance.test.mjs), so what
 * fails here is lost by the gateway.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before as first, test } from 'node:test';
import { failures, run } from './conformance_lib.mjs';
import { before, everything, faultwire, quiet, serve } from './gate_lib.mjs';

const out = mkdtempSync(join(tmpdir(), 'fw-gate-conformance-'));
let server;
const gates = {};

first(async () => {
	server = await serve(everything, ['--http', '127.0.0.1:0']);
	for (const upstream of ['stdio', 'http'])
		gates[upstream] = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, ...before(upstream, server.url)]);
});
after(() => {
	for (const gate of Object.values(gates)) gate.stop();
	server?.stop();
	rmSync(out, { recursive: true, force: true });
});

for (const upstream of ['stdio', 'http'])
	for (const version of ['2025-11-25', '2026-07-28'])
		test(`conformance through the gateway, server over ${upstream}: every scored scenario of ${version}`, { timeout: 180000 }, async () => {
			const dir = join(out, `${upstream}-${version}`);
			const { code, said } = await run(gates[upstream].url, '--requirements', version, '-o', dir);

			/* The suite lists those that are not scored a second time, with the reason. */
			const unscored = [...said.matchAll(/✗ ([\w-]+) \(/g)].map(([, name]) => name);
			const scored = [...said.matchAll(/✗ ([\w-]+): /g)].map(([, name]) => name).filter((name) => !unscored.includes(name));

			assert.deepEqual(scored.sort(), [], `${said.slice(-2000)}\n${failures(dir).join('\n')}`);
			assert.equal(code, 0, said.slice(-2000));
		});
