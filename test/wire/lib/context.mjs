// What the tests of the context toolset share: small caches, and the program
// asked over the command line, stdio and HTTP.

import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, check, env, finish, run } from './cli.mjs';
import { Wire, modern } from './mcp.mjs';
import { ask, call, legacyCall, session } from './http.mjs';

export const messages = {
	cache_missing: 'Cache does not exist',
	cache_invalid: 'Cache exists but is invalid',
	invalid_query: 'Query is invalid',
	invalid_budget: 'Budget is invalid',
	io_error: 'I/O error occurred',
	internal_error: 'Internal error',
};
export const statuses = { invalid_query: 2, invalid_budget: 3, cache_missing: 4, cache_invalid: 5, io_error: 6, internal_error: 7 };

export const errorText = (code) => `{"error":{"code":"${code}","message":"${messages[code]}"}}\n`;

// A directory of our own that others may look into, gone at the end.
export function place() {
	const dir = mkdtempSync(join(tmpdir(), 'fw-context-'));
	process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
	return dir;
}

export function sources(dir, files) {
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(join(dir, name, '..'), { recursive: true });
		writeFileSync(join(dir, name), text);
	}
	return dir;
}

export const samples = {
	'Deployment.md': 'Deployment deployment deployment guide.',
	'empty.md': '',
	'guides/Security.md': 'Security hardening guide.\n',
	'guides/ÄPFEL.md': 'Äpfel und\u00a0ΟΔΥΣΣΕΥΣ, "quoted" \\ \u0001\u007f\u2028 end',
	'long.md': 'word '.repeat(2000),
};

// A cache root with one good cache, "docs", and its sources.
export function cacheRoot() {
	const dir = place();
	const root = join(dir, 'caches');

	mkdirSync(root);
	sources(join(dir, 'sources'), samples);
	const built = run(['context', 'build', '--sources', join(dir, 'sources'), '--cache', join(root, 'docs')]);
	check(built.status === 0, built.err);
	return { dir, root, docs: join(root, 'docs'), sources: join(dir, 'sources'), copy: (name) => cpSync(join(root, 'docs'), join(root, name), { recursive: true }) };
}

export function cli(root, cache, query, budget, options = {}) {
	const args = ['context', 'resolve', '--cache-root', root];

	if (cache !== undefined) args.push('--cache', cache);
	if (query !== undefined) args.push(`--query=${query}`);
	if (budget !== undefined) args.push(`--budget=${budget}`);
	return run([...args, ...(options.args ?? [])], options);
}

// Servers that a failed test has left do not keep the tests from ending.
const children = [];
export async function end() {
	await finish();
	for (const child of children) child.kill('SIGKILL');
}

// A server over stdio: `call` gives the result of a tool.
export async function stdio(root, options = {}) {
	const wire = new Wire(['serve', '--tools', 'context', '--cache-root', root, ...(options.args ?? [])], options.program ?? bin);

	children.push(wire.child);
	if (!options.modern) await wire.initialize();
	return {
		wire,
		call: async (name, args, meta) => (await wire.call(name, args, options.modern ? { ...modern, ...meta } : meta)).result,
		end: () => wire.end(),
	};
}

// The same over HTTP.
export async function http(root, options = {}) {
	const child = spawn(options.program ?? bin, ['serve', '--http', '127.0.0.1:0', '--tools', 'context', '--cache-root', root, ...(options.args ?? [])],
		{ stdio: ['ignore', 'ignore', 'pipe'], env: { ...env, ...options.env } });
	const ended = new Promise((done) => child.on('exit', done));
	children.push(child);
	const port = await new Promise((found, lost) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const match = said.match(/http:\/\/[^\s]+:(\d+)/);
			if (match) found(Number(match[1]));
		});
		child.on('exit', () => lost(new Error(`no server: ${said}`)));
	});
	const headers = options.modern ? undefined : await session({ port });
	return {
		call: async (name, args, meta) =>
			(await ask({ port }, options.modern ? call(name, args, meta) : legacyCall(headers, name, args, meta))).json.result,
		end: async () => {
			child.kill('SIGTERM');
			await ended;
		},
	};
}

export const transports = [
	['stdio, legacy', (root, options) => stdio(root, options)],
	['stdio, modern', (root, options) => stdio(root, { ...options, modern: true })],
	['HTTP, legacy', (root, options) => http(root, options)],
	['HTTP, modern', (root, options) => http(root, { ...options, modern: true })],
	['in processes', (root, options) => stdio(root, { ...options, modern: true, args: ['--run', 'process', '--workers', '2'] })],
];

// A failed call, looked at from all sides: exactly the contract's text.
export function assertError(result, code, what) {
	check(result?.isError === true, `${what}: ${JSON.stringify(result)}`);
	check(result.content.length === 1 && result.content[0].type === 'text', `${what}: one text`);
	check(result.content[0].text === errorText(code), `${what}: expected ${code}, found ${result.content[0].text}`);
	check(!('structuredContent' in result), `${what}: no structured content`);
	check(/^[A-Za-z/ ]+$/.test(JSON.parse(result.content[0].text).error.message), `${what}: a message without path, hash or number`);
}

export function assertText(result, what) {
	check(result && !result.isError, `${what}: ${JSON.stringify(result)?.slice(0, 500)}`);
	check(result.content.length === 1 && result.content[0].type === 'text', `${what}: one text`);
	check(!('structuredContent' in result), `${what}: no structured content`);
	check(!('error' in JSON.parse(result.content[0].text)), `${what}: no error in a success`);
	return result.content[0].text;
}
