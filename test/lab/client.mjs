// The clients of the failure lab: a request, and every answer to it. They are written
// without an SDK, so that nothing is hidden: two answers are two, and none is none.

import { spawn } from 'node:child_process';
import { Agent, request as httpRequest } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = dirname(fileURLToPath(import.meta.url));
export const server = join(here, 'server.mjs');
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

const identity = { name: 'failure-lab', version: '1' };
const claim = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
	'io.modelcontextprotocol/clientInfo': identity,
};
const isAnswer = (message) => 'result' in message || 'error' in message;

class Client {
	constructor(era) {
		this.era = era ?? 'legacy';
		this.lastId = 0;
		this.waiting = new Map();
		this.answers = new Map(); // id -> how often it was answered
		this.notifications = [];
	}

	take(message) {
		if (message === null || typeof message !== 'object' || !isAnswer(message)) {
			if (message?.method && message.id !== undefined) this.respond(message);
			else this.notifications.push(message);
			return;
		}
		this.answers.set(message.id, (this.answers.get(message.id) ?? 0) + 1);
		this.waiting.get(message.id)?.(message);
		this.waiting.delete(message.id);
	}

	respond(message) {
		this.transmit({ jsonrpc: '2.0', id: message.id, ...(message.method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } }) });
	}

	// The answer (undefined: none within `ms`), and how long it took.
	async request(method, params = {}, ms = 5000) {
		const id = ++this.lastId;
		const began = process.hrtime.bigint();
		const full = this.era === 'modern' ? { ...params, _meta: { ...claim, ...params._meta } } : params;
		const answer = await new Promise((done) => {
			const timer = setTimeout(done, ms);
			this.waiting.set(id, (message) => {
				clearTimeout(timer);
				done(message);
			});
			this.transmit({ jsonrpc: '2.0', id, method, params: full }, (message) => {
				clearTimeout(timer);
				done(message);
			});
		});
		return { id, answer, ms: Number(process.hrtime.bigint() - began) / 1e6 };
	}

	call(name, args = {}, ms = 5000, more = {}) {
		return this.request('tools/call', { name, arguments: args, ...more }, ms);
	}

	list(ms = 5000) {
		return this.request('tools/list', {}, ms);
	}

	async open(ms = 5000) {
		if (this.era === 'modern') return this.request('server/discover', {}, ms);
		const hello = await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: identity }, ms);
		if (hello.answer?.result) this.transmit({ jsonrpc: '2.0', method: 'notifications/initialized' });
		return hello;
	}

	// Ids that were answered more than once.
	doubles() {
		return [...this.answers].filter(([, count]) => count > 1).map(([id]) => id);
	}
}

export class StdioClient extends Client {
	constructor(command, args, { era, env, cwd } = {}) {
		super(era);
		this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: env ?? process.env, cwd });
		this.err = '';
		this.strange = []; // lines that are not JSON
		let left = '';
		this.child.stdout.setEncoding('utf8');
		this.child.stdout.on('data', (chunk) => {
			const lines = (left + chunk).split('\n');
			left = lines.pop();
			for (const line of lines)
				try {
					this.take(JSON.parse(line));
				} catch {
					this.strange.push(line);
				}
		});
		this.child.stderr.on('data', (bytes) => (this.err = (this.err + bytes).slice(-100000)));
		this.child.stdin.on('error', () => {});
		this.child.on('error', () => {});
		this.exit = new Promise((done) => this.child.on('exit', (status, signal) => done({ status, signal })));
	}

	transmit(message) {
		this.child.stdin.write(`${JSON.stringify(message)}\n`);
	}

	async close(ms = 3000) {
		this.child.stdin.end();
		const timer = setTimeout(() => this.child.kill('SIGKILL'), ms);
		const exit = await this.exit;
		clearTimeout(timer);
		return exit;
	}
}

export class HttpClient extends Client {
	constructor(url, { era } = {}) {
		super(era);
		this.url = new URL(url);
		this.agent = new Agent({ keepAlive: true, maxSockets: 64 });
		this.headers = {};
		this.statuses = [];
	}

	transmit(message, broken) {
		const body = JSON.stringify(message);
		const headers = {
			accept: 'application/json, text/event-stream', 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...this.headers,
			...(this.era === 'modern' && message.method && { 'mcp-protocol-version': '2026-07-28', 'mcp-method': message.method, ...(message.params?.name && { 'mcp-name': message.params.name }) }),
		};
		const req = httpRequest(this.url, { method: 'POST', agent: this.agent, headers }, (res) => {
			this.statuses.push(res.statusCode);
			if (res.headers['mcp-session-id']) this.headers = { 'mcp-session-id': res.headers['mcp-session-id'], 'mcp-protocol-version': '2025-11-25' };
			const isStream = res.headers['content-type']?.startsWith('text/event-stream');
			let text = '';
			res.setEncoding('utf8');
			res.on('error', () => {});
			res.on('data', (chunk) => {
				text += chunk;
				if (!isStream) return;
				const blocks = text.split(/\r?\n\r?\n/);
				text = blocks.pop();
				for (const block of blocks) this.event(block);
			});
			res.on('end', () => {
				if (message.id === undefined) return;
				if (isStream) {
					if (text.trim()) this.event(text);
				} else {
					let read;
					try {
						read = JSON.parse(text);
					} catch {}
					if (read && isAnswer(read) && read.id === message.id) this.take(read);
					// An answer outside the protocol: a status and a text.
					else broken?.({ status: res.statusCode, text: text.slice(0, 2000), headers: res.headers });
				}
			});
		});
		req.on('error', (error) => message.id !== undefined && broken?.({ failed: error.code ?? error.message }));
		req.end(body);
	}

	event(block) {
		const data = block.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart()).join('\n');
		if (data)
			try {
				this.take(JSON.parse(data));
			} catch {}
	}

	async close() {
		this.agent.destroy();
	}
}

// A server of the lab over HTTP, as a process: its URL is on stderr.
export async function startHttp(...args) {
	const child = spawn(process.execPath, [server, 'http', '--until-eof', ...args], { stdio: ['pipe', 'ignore', 'pipe'] });
	const url = await new Promise((found, lost) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const match = said.match(/http:\/\/\S+/);
			if (match) found(match[0]);
		});
		child.on('exit', (code) => lost(new Error(`the lab ended with ${code}: ${said}`)));
	});
	return { url, port: Number(new URL(url).port), child, stop: () => child.kill('SIGKILL') };
}

export const canonicalOf = (answer) => answer?.result?._meta?.['dev.faultwire/error'] ?? answer?.error?.data?.['dev.faultwire/error'];
export const isSuccess = (answer) => Boolean(answer?.result) && answer.result.isError !== true;

// What an answer has that its row does not allow: a list of sentences, empty if all is right.
export function judge(row, { answer }) {
	const canonical = canonicalOf(answer);
	const { expect } = row;

	if (!answer) return ['no answer'];
	if (!isSuccess(answer) && !answer.error && !answer.result) return [`outside the protocol: ${JSON.stringify(answer).slice(0, 200)}`];
	if (isSuccess(answer)) return expect && !expect.orNull ? [`succeeded: ${JSON.stringify(answer.result).slice(0, 200)}`] : [];
	if (!canonical) return [`no canonical error: ${JSON.stringify(answer).slice(0, 300)}`];
	if (!expect) return [`${canonical.code}: ${canonical.message}, but it should succeed`];
	const found = [];
	if (canonical.code !== expect.code && !expect.also?.includes(canonical.code)) found.push(`code ${canonical.code} (${canonical.message}), not ${expect.code}`);
	if (!expect.anyOrigin && canonical.origin !== expect.origin) found.push(`origin ${canonical.origin}, not ${expect.origin}`);
	if (!expect.anyDelivery && canonical.delivery !== expect.delivery) found.push(`delivery ${canonical.delivery}, not ${expect.delivery}`);
	if (!expect.anyRetry && canonical.retry !== expect.retry) found.push(`retry ${canonical.retry}, not ${expect.retry}`);
	if (typeof row.has === 'function' && !row.has({ answer, canonical })) found.push(`lacks what the row asks for: ${JSON.stringify(answer).slice(0, 600)}`);
	if (row.has && typeof row.has === 'object')
		for (const [key, value] of Object.entries(row.has)) if (canonical.context?.[key] !== value) found.push(`context.${key} is ${JSON.stringify(canonical.context?.[key])}, not ${JSON.stringify(value)}`);
	return found;
}
