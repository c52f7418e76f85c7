// A client generated from /openapi.json by other people's tools (openapi-typescript and
// openapi-fetch): it calls a tool, and its failure is typed. The TypeScript compiler is the
// judge of the types.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { originOf } from '../wire/lib/served.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const bin = process.env.FAULTWIRE ?? resolve(here, '../../build/faultwire');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-client-'));
const modules = join(here, 'node_modules');
let server, url;

before(async () => {
	server = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--log', 'off', '--tools', 'diag,reserve'], {
		cwd: scratch, env: { ...process.env, XDG_STATE_HOME: join(scratch, 'state') }, stdio: ['ignore', 'ignore', 'pipe'],
	});
	url = await originOf(server);
	writeFileSync(join(scratch, 'openapi.json'), await (await fetch(`${url}/openapi.json`)).text());
	writeFileSync(join(scratch, 'package.json'), '{"type":"module"}');
	symlinkSync(modules, join(scratch, 'node_modules'));
});
after(() => {
	server.kill('SIGKILL');
	rmSync(scratch, { recursive: true, force: true });
});

function node(...args) {
	return spawnSync(process.execPath, args, { cwd: scratch, encoding: 'utf8' });
}

const program = (lines) => `import createClient from 'openapi-fetch';
import type { paths } from './schema.d.ts';
const client = createClient<paths>({ baseUrl: process.argv[2] });
${lines}
`;

const compiler = { compilerOptions: { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', skipLibCheck: true, allowImportingTsExtensions: true, types: [], lib: ['es2022', 'dom'] } };
function compile(...names) {
	writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify({ ...compiler, files: [...names, 'globals.d.ts'] }));
	return node(join(modules, 'typescript/bin/tsc'), '-p', 'tsconfig.json');
}

test('the document is turned into types', () => {
	const made = node(join(modules, 'openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'schema.d.ts');
	assert.equal(made.status, 0, made.stderr + made.stdout);
	writeFileSync(join(scratch, 'globals.d.ts'), 'declare const process: { argv: string[] };\n');
});

test('a program that calls a tool and reads its failure compiles, and works', () => {
	writeFileSync(join(scratch, 'use.ts'), program(`
const fine = await client.POST('/api/v1/tools/explain_error_code', { body: { code: 'file.not_found' } });
if (!fine.data) throw new Error('no result');
console.log(fine.data.content?.length);
const { error, response } = await client.POST('/api/v1/tools/raise_error', { body: { code: 'governance.rate_limited' } });
if (!error) throw new Error('no failure');
const code: string = error.code;
const retryable: boolean = error.retryable;
const incident: string = error.incident_id;
const wait: number | undefined = error.retry_after;
console.log(JSON.stringify([response.status, code, retryable, incident.startsWith('inc_'), wait]));
const held = { patterns: ['src/*.c'], reason: 'a test', agent_id: 'one' };
await client.POST('/api/v1/tools/reserve_files', { body: held });
const other = await client.POST('/api/v1/tools/reserve_files', { body: { ...held, agent_id: 'two' } });
console.log(JSON.stringify([other.response.status, other.error?.code, other.error?.category]));
`));
	const compiled = compile('use.ts');
	assert.equal(compiled.status, 0, compiled.stdout);
	const stripped = node('-e', `
		const ts = require(${JSON.stringify(join(modules, 'typescript'))});
		const fs = require('node:fs');
		fs.writeFileSync('use.mjs', ts.transpileModule(fs.readFileSync('use.ts', 'utf8'), { compilerOptions: { module: 'esnext', target: 'es2022' } }).outputText);
	`);
	assert.equal(stripped.status, 0, stripped.stderr);
	const ran = node('use.mjs', url);
	assert.equal(ran.status, 0, ran.stderr);
	const [, failure, conflict] = ran.stdout.trim().split('\n');
	const [status, code, retryable, hasIncident] = JSON.parse(failure);
	assert.deepEqual([status, code, retryable, hasIncident], [429, 'governance.rate_limited', true, true]);
	assert.deepEqual(JSON.parse(conflict), [409, 'reservation.conflict', 'governance']);
});

test('programs that use it wrongly do not compile', () => {
	const programs = [
		["await client.POST('/api/v1/tools/explain_error_code', { body: { kode: 'x' } });", /kode/],
		["await client.POST('/api/v1/tools/no_such_tool', { body: {} });", /no_such_tool/],
		["const { error } = await client.POST('/api/v1/tools/raise_error', { body: { code: 'x' } }); if (error) { const n: number = error.code; }", /not assignable to type 'number'/],
		["const { error } = await client.POST('/api/v1/tools/raise_error', { body: { code: 'x' } }); if (error) error.nonsense();", /nonsense/],
	];
	const names = programs.map((_, i) => `wrong${i}.ts`);
	programs.forEach(([lines], i) => writeFileSync(join(scratch, names[i]), program(lines)));
	/* All at once: starting the compiler takes longer than compiling them. */
	const { status, stdout } = compile(...names);
	assert.notEqual(status, 0);
	/* The report of a file, with the indented lines that explain it. */
	const found = (name) => stdout.match(new RegExp(`^${name}\\(.*(\n .*)*`, 'gm'))?.join('\n') ?? '';
	programs.forEach(([lines, what], i) => {
		assert.match(found(names[i]), /error TS/, lines);
		assert.match(found(names[i]), what, lines);
	});
});
