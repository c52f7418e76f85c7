// /openapi.json, judged by a validator that is not ours; and tool calls made as the
// document describes them, checked by ajv against the document's own schemas.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv/dist/2020.js';
import { originOf } from '../wire/lib/served.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const bin = process.env.FAULTWIRE ?? join(root, 'build/faultwire');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-openapi-'));
const workspace = join(scratch, 'w');
mkdirSync(workspace);
const servers = [];

async function serve(...args) {
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--log', 'off', ...args], {
		cwd: scratch, env: { ...process.env, XDG_STATE_HOME: join(scratch, 'state') }, stdio: ['ignore', 'ignore', 'pipe'],
	});
	servers.push(child);
	return originOf(child);
}

let url, document;
before(async () => {
	url = await serve('--tools', 'diag');
	document = await (await fetch(`${url}/openapi.json`)).json();
});
after(() => {
	for (const child of servers) child.kill('SIGKILL');
	rmSync(scratch, { recursive: true, force: true });
});

async function valid(found) {
	const { valid: isValid, errors } = await new Validator().validate(structuredClone(found));
	assert.ok(isValid, JSON.stringify(errors, null, 1));
}

test('the document is valid OpenAPI 3.1', async () => {
	assert.equal(document.openapi, '3.1.0');
	await valid(document);
});

test('the same holds for every toolset', async () => {
	for (const args of [['--tools', 'context', '--cache-root', scratch], ['--tools', 'workspace', '--role', 'windsurf', '--workspace', workspace]]) {
		const other = await serve(...args);
		const found = await (await fetch(`${other}/openapi.json`)).json();
		await valid(found);
		const { tools } = await (await fetch(`${other}/api/v1/tools`)).json();
		for (const { name, inputSchema } of tools) {
			const { schema } = found.paths[`/api/v1/tools/${name}`].post.requestBody.content['application/json'];
			delete schema.$id;
			assert.deepEqual(schema, inputSchema);
		}
	}
});

test('operation ids are unique, references lead somewhere, every path answers', async () => {
	const ids = Object.values(document.paths).flatMap((path) => Object.values(path)).map((operation) => operation.operationId);
	assert.equal(new Set(ids).size, ids.length);
	for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g))
		assert.ok(name.split('/').reduce((at, key) => at?.[key], document), name);
	for (const [path, item] of Object.entries(document.paths)) {
		if (!item.get || path.endsWith('/events')) continue;
		const reply = await fetch(url + path.replace('{code}', 'file.not_found').replace('{id}', 'inc_x') + (path.endsWith('/explain') ? '?code=NOT_FOUND' : ''));
		assert.notEqual(reply.headers.get('content-type'), null);
		const text = await reply.text();
		if (reply.status >= 400) assert.equal(JSON.parse(text).code, 'incident.not_found', path);
	}
});

test('results and problems are what the document says, for every code of the registry', async () => {
	const ajv = new Ajv({ strict: false });
	ajv.addSchema({ $id: 'api:', components: document.components });
	const problem = ajv.compile({ $ref: 'api:#/components/schemas/Problem' });
	const result = ajv.compile({ $ref: 'api:#/components/schemas/ToolResult' });
	const call = (name, args) => fetch(`${url}/api/v1/tools/${name}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(args) });
	const good = await (await call('explain_error_code', { code: 'file.not_found' })).json();
	assert.ok(result(good), JSON.stringify(result.errors));
	const codes = document.components.schemas.Code.enum;
	assert.ok(codes.length > 130);
	for (const code of codes) {
		const reply = await call('raise_error', { code });
		const found = await reply.json();
		assert.ok(problem(found), `${code}: ${JSON.stringify(problem.errors)}`);
		assert.equal(found.code, code);
		assert.equal(reply.status, found.status);
	}
});
