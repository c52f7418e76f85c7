// What the tests of governance share: a state directory, tokens, a server or gateway of
// their own, and calls by MCP and by the API.

import assert from 'node:assert/strict';
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bin, env } from './cli.mjs';
import { modern } from './mcp.mjs';

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Until `find` returns something true.
export async function until(find, what, ms = 20000) {
	const late = Date.now() + ms;

	for (;;) {
		const found = await find();
		if (found) return found;
		if (Date.now() > late) throw new Error(`too late: ${what}`);
		await pause(50);
	}
}

export class Place {
	constructor(name) {
		this.state = mkdtempSync(join(tmpdir(), `faultwire-${name}-`));
		this.env = { ...env, XDG_STATE_HOME: this.state };
		this.servers = [];
	}

	file(name) {
		return join(this.state, name);
	}

	faultwire(...args) {
		return execFileSync(bin, args, { env: this.env, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
	}

	// The text of a new token.
	token(name, ...scopes) {
		return this.faultwire('token', 'new', name, ...scopes.flatMap((scope) => ['--scope', scope])).trim();
	}

	// With `args` of serve or gate; the last ones may be a command after "--". One may be an
	// object with the address to listen at.
	async start(command, ...given) {
		const http = given.find((arg) => arg.http)?.http ?? '127.0.0.1:0';
		const args = given.filter((arg) => !arg.http);
		const child = spawn(bin, [command, '--http', http, ...args], { env: this.env, stdio: ['ignore', 'ignore', 'pipe'] });
		const server = { child, said: '' };
		server.ended = new Promise((done) => child.on('exit', (code, signal) => done(signal ?? code)));
		server.url = await new Promise((found, lost) => {
			child.stderr.on('data', (bytes) => {
				server.said += bytes;
				const match = server.said.match(/http:\/\/[0-9.:[\]]+(?=\/mcp)/);
				if (match) found(match[0]);
			});
			child.on('exit', () => lost(new Error(server.said)));
		});
		server.stop = () => {
			child.kill('SIGTERM');
			return server.ended;
		};
		this.servers.push(server);
		return server;
	}

	async end() {
		for (const server of this.servers) {
			if (server.child.exitCode === null && server.child.signalCode === null) server.child.kill('SIGKILL');
			await server.ended;
		}
		rmSync(this.state, { recursive: true, force: true });
	}
}

export async function ask(server, path, { method, body, headers = {}, token } = {}) {
	const reply = await fetch(server.url + path, {
		method: method ?? (body === undefined ? 'GET' : 'POST'),
		headers: {
			...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
			...(token ? { Authorization: `Bearer ${token}` } : {}),
			...headers,
		},
		body: body === undefined ? undefined : JSON.stringify(body),
	});
	const text = await reply.text();
	let json;
	try {
		json = JSON.parse(text);
	} catch {}
	return { status: reply.status, headers: reply.headers, text, json };
}

// A tool by the API.
export const api = (server, name, args = {}, more = {}) => ask(server, `/api/v1/tools/${name}`, { body: args, ...more });

let id = 0;
// A tool by MCP, of the modern era.
export const mcp = (server, name, args = {}, more = {}) => method(server, 'tools/call', { name, arguments: args }, { 'Mcp-Name': name }, more);

export function method(server, name, params, headers = {}, more = {}) {
	return ask(server, '/mcp', {
		body: { jsonrpc: '2.0', id: ++id, method: name, params: { ...params, _meta: modern } },
		...more,
		headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': name, ...headers, ...more.headers },
	});
}

// The canonical error of an answer of MCP.
// What `run` returns. Asserts that it has waited for at most `limit` ms and a second, besides
// what this machine was late by: that is the longest answer of a server that waits for nothing.
export async function inTime(place, limit, run) {
	const idle = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--audit', 'off', '--incidents', 'off', '--store', 'off', '--log', 'off');
	const timed = async (promise) => {
		const began = performance.now();
		const result = await promise;
		return { result, ms: performance.now() - began };
	};
	let late = 0, isOver = false;
	const probing = (async () => {
		while (!isOver) {
			late = Math.max(late, (await timed(ask(idle, '/readyz'))).ms);
			await pause(10);
		}
	})();
	try {
		const { result, ms } = await timed(run());
		assert.ok(ms < limit + 1000 + 4 * late, `${ms.toFixed(0)} ms, limit ${limit}, the machine was late by ${late.toFixed(0)}`);
		return result;
	} finally {
		isOver = true;
		await probing;
		await idle.stop();
	}
}

export const canonical = (reply) => reply.json?.result?._meta?.['dev.faultwire/error'] ?? reply.json?.error?.data?.['dev.faultwire/error'];
export const isFine = (reply) => reply.status === 200 && !reply.json?.error && reply.json?.result?.isError !== true && reply.json?.isError !== true;
