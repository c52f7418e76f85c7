/*
 * The official conformance suite's client scenarios, with a client on <faultwire/client.h>
 * (test/programs/conformance_client.c). The suite is the server.
 *
 * Left out are the scenarios "auth/...", since the client sends a token that it was given and
 * does not go through OAuth itself; the list below names them all. So are those of extensions,
 * which the requirements do not score.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../build');
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`);
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

const scenarios = {
	'2025-11-25': ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry', 'json-schema-2020-12-preservation'],
	'2026-07-28': ['tools_call', 'request-metadata', 'sep-2322-client-request-state', 'http-standard-headers', 'http-custom-headers',
		'http-invalid-tool-headers', 'json-schema-ref-no-deref', 'json-schema-2020-12-preservation'],
};

/* Not played: OAuth. Each is of both versions, or of the one in the comment. */
const left_out = [
	'metadata-default', 'metadata-var1', 'metadata-var2', 'metadata-var3', 'basic-cimd', 'scope-from-www-authenticate', 'scope-from-scopes-supported',
	'scope-omitted-when-undefined', 'scope-step-up', 'scope-retry-limit', 'token-endpoint-auth-basic', 'token-endpoint-auth-post',
	'token-endpoint-auth-none', 'pre-registration',
	/* 2026-07-28 */
	'resource-mismatch', 'offline-access-scope', 'offline-access-not-supported', 'authorization-server-migration', 'iss-supported',
	'iss-not-advertised', 'iss-supported-missing', 'iss-wrong-issuer', 'iss-unexpected', 'iss-normalized', 'metadata-issuer-mismatch',
];

function run(...args) {
	return new Promise((resolve) => {
		const child = spawn(node, [suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
		let said = '';
		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => (said += bytes));
		child.on('exit', (code) => resolve({ code, said }));
	});
}

test('conformance: no scenario of a client is forgotten', async () => {
	const { said } = await run('list', '--client');

	for (const [version, names] of Object.entries(scenarios)) {
		const offered = [...said.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)]
			.filter(([, name, versions]) => !name.startsWith('auth/') && versions.split(',').includes(version))
			.map(([, name]) => name);
		assert.deepEqual([...names].sort(), offered.sort(), version);
	}
	const auth = [...said.matchAll(/^ {2}- auth\/(\S+) \[(.*)\]$/gm)].filter(([, , versions]) => Object.keys(scenarios).some((version) => versions.split(',').includes(version)));
	assert.deepEqual(auth.map(([, name]) => name).sort(), [...left_out].sort());
});

for (const [version, names] of Object.entries(scenarios))
	for (const name of names)
		test(`conformance: client, ${version}, ${name}`, { timeout: 60000 }, async () => {
			const { code, said } = await run('client', '--command', join(build, 'conformance_client'), '--scenario', name, '--spec-version', version);

			assert.equal(code, 0, said.slice(-3000));
			assert.match(said, /OVERALL: PASSED/);
		});
