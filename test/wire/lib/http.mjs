// What the tests over HTTP share: a server of their own, requests made of bytes,
// and messages of both eras.

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const program = join(process.env.FW_BUILD ?? join(root, 'build'), 'examples/everything');

export const legacy = '2025-11-25';
export const modern = '2026-07-28';

// A running server; stop() ends it and tells its exit status.
export const serve = (...args) => serveProgram(program, ...args);

export async function serveProgram(path, ...args) {
	const child = spawn(path, path === 'sh' ? [...args, '--http', '127.0.0.1:0'] : ['--http', '127.0.0.1:0', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
	const ended = new Promise((done) => child.on('exit', (code, signal) => done(signal ?? code)));
	const url = await new Promise((found, lost) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const match = said.match(/http:\/\/\S+/);
			if (match) found(new URL(match[0]));
		});
		child.on('exit', () => lost(new Error(`no server: ${said}`)));
	});
	return {
		child,
		ended,
		port: Number(url.port),
		descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
		stop() {
			child.kill('SIGTERM');
			return ended;
		},
	};
}

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// One connection, and what came out of it, response by response.
export class Wire {
	constructor(port) {
		this.text = Buffer.alloc(0);
		this.ended = false;
		this.waiting = [];
		this.socket = net.connect(port, '127.0.0.1');
		this.socket.setNoDelay(true);
		this.socket.on('data', (bytes) => {
			this.text = Buffer.concat([this.text, bytes]);
			this.wake();
		});
		this.socket.on('error', () => {});
		this.socket.on('close', () => {
			this.ended = true;
			this.wake();
		});
	}

	wake() {
		for (const done of this.waiting.splice(0)) done();
	}

	send(bytes) {
		this.socket.write(bytes);
		return this;
	}

	close() {
		this.socket.destroy();
	}

	// Until `find` returns something else than undefined.
	async until(find, ms = 10000) {
		const late = Date.now() + ms;

		for (;;) {
			const found = find(this.text);
			if (found !== undefined) return found;
			if (this.ended) throw new Error(`connection ended: ${this.text.toString('latin1', 0, 400)}`);
			if (Date.now() > late) throw new Error(`too late: ${this.text.toString('latin1', 0, 400)}`);
			await new Promise((done) => {
				this.waiting.push(done);
				setTimeout(done, 200);
			});
		}
	}

	async end(ms = 10000) {
		const late = Date.now() + ms;

		while (!this.ended) {
			if (Date.now() > late) throw new Error('the connection stays open');
			await pause(10);
		}
	}

	// Status line and headers; the body stays.
	async head() {
		const end = await this.until((text) => {
			const at = text.indexOf('\r\n\r\n');
			return at < 0 ? undefined : at;
		});
		const [line, ...fields] = this.text.toString('latin1', 0, end).split('\r\n');
		const headers = {};

		this.text = this.text.subarray(end + 4);
		for (const field of fields) {
			const colon = field.indexOf(':');
			headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
		}
		return { status: Number(line.split(' ')[1]), headers };
	}

	async take(count) {
		await this.until((text) => (text.length >= count ? true : undefined));
		const bytes = this.text.subarray(0, count);
		this.text = this.text.subarray(count);
		return bytes;
	}

	// The next chunk of a chunked body; "" is the last.
	async chunk() {
		const end = await this.until((text) => {
			const at = text.indexOf('\r\n');
			return at < 0 ? undefined : at;
		});
		const size = parseInt(this.text.toString('latin1', 0, end), 16);
		this.text = this.text.subarray(end + 2);
		const bytes = await this.take(size + 2);
		return bytes.toString('utf8', 0, size);
	}

	// A whole response.
	async response() {
		const { status, headers } = await this.head();
		let body = '';

		if (headers['transfer-encoding'] === 'chunked')
			for (let part; (part = await this.chunk()) !== ''; ) body += part;
		else body = (await this.take(Number(headers['content-length'] ?? 0))).toString('utf8');
		return { status, headers, body, json: parse(body, headers['content-type']) };
	}

	// The next event of a stream; undefined at its end. Comments are skipped.
	async event() {
		this.stream ??= '';
		for (;;) {
			const end = this.stream.indexOf('\n\n');
			if (end >= 0) {
				const block = this.stream.slice(0, end);
				this.stream = this.stream.slice(end + 2);
				if (!block.startsWith(':')) return readEvent(block);
				continue;
			}
			const part = await this.chunk();
			if (part === '') return undefined;
			this.stream += part;
		}
	}
}

function parse(body, type) {
	try {
		return type === 'application/json' ? JSON.parse(body) : undefined;
	} catch {
		return undefined;
	}
}

function readEvent(block) {
	const event = {};

	for (const line of block.split('\n')) {
		const colon = line.indexOf(':');
		event[line.slice(0, colon)] = line.slice(colon + 2);
	}
	event.json = event.data ? JSON.parse(event.data) : undefined;
	return event;
}

export const events = (body) =>
	body.split('\n\n').filter((block) => block && !block.startsWith(':')).map(readEvent);

// The bytes of a request; null takes a header away.
export function request(method, headers, body, path = '/mcp') {
	const all = {
		Host: 'localhost',
		Accept: 'application/json, text/event-stream',
		...(body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
		...headers,
	};
	let text = `${method} ${path} HTTP/1.1\r\n`;

	for (const [name, value] of Object.entries(all))
		for (const one of [value].flat()) if (one !== null) text += `${name}: ${one}\r\n`;
	return Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), Buffer.from(body ?? '')]);
}

export const post = (message, headers) =>
	request('POST', headers, typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));

// One request on a connection of its own.
export async function ask(server, bytes) {
	const wire = new Wire(server.port);

	try {
		return await wire.send(bytes).response();
	} finally {
		wire.close();
	}
}

const claim = {
	'io.modelcontextprotocol/protocolVersion': modern,
	'io.modelcontextprotocol/clientCapabilities': {},
};

// A call of the modern era: message and headers, as post() takes them.
export function call(name, args = {}, meta = {}, id = 1) {
	return post(
		{ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta: { ...claim, ...meta } } },
		{ 'MCP-Protocol-Version': modern, 'Mcp-Method': 'tools/call', 'Mcp-Name': name },
	);
}

export function listen(notifications, id = 1) {
	return post(
		{ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta: claim } },
		{ 'MCP-Protocol-Version': modern, 'Mcp-Method': 'subscriptions/listen' },
	);
}

// A session of the legacy era: its headers.
export async function session(server, version = legacy, capabilities = {}) {
	const reply = await ask(server, post({
		jsonrpc: '2.0', id: 0, method: 'initialize',
		params: { protocolVersion: version, capabilities, clientInfo: { name: 'wire', version: '1' } },
	}));
	const headers = { 'Mcp-Session-Id': reply.headers['mcp-session-id'], 'MCP-Protocol-Version': version };

	await ask(server, post({ jsonrpc: '2.0', method: 'notifications/initialized' }, headers));
	return headers;
}

export const legacyCall = (headers, name, args = {}, meta = undefined, id = 1) =>
	post({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...(meta && { _meta: meta }) } }, headers);

export const codeOf = (reply) => reply.json?.error?.data?.['dev.faultwire/error']?.code;
