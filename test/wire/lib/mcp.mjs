// A server spoken to over stdio, line by line.

import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { root, same } from './cli.mjs';

const build = resolve(process.env.FW_BUILD ?? join(root, 'build'));
export const everything = join(build, 'examples/everything');

export const modern = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
	'io.modelcontextprotocol/clientInfo': { name: 'wire', version: '1' },
};

export class Wire {
	constructor(args = ['--stdio'], program = everything) {
		this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
		this.messages = [];
		this.raw = [];
		this.waiting = [];
		this.err = '';
		let rest = '';
		this.child.stdout.setEncoding('utf8');
		this.child.stdout.on('data', (bytes) => {
			rest += bytes;
			const lines = rest.split('\n');
			rest = lines.pop();
			for (const line of lines) {
				this.raw.push(line);
				this.messages.push(JSON.parse(line));
			}
			this.wake();
		});
		this.child.stderr.on('data', (bytes) => (this.err += bytes));
		this.child.stdin.on('error', () => {});
		this.exit = new Promise((done) =>
			this.child.on('exit', (status, signal) => {
				this.gone = true;
				done({ status, signal });
			}),
		);
		this.closed = new Promise((done) => this.child.on('close', done));
		this.lastId = 0;
	}

	wake() {
		this.waiting = this.waiting.filter((wait) => {
			const at = this.messages.findIndex(wait.wanted);
			if (at < 0) return true;
			clearTimeout(wait.timer);
			wait.done(this.messages.splice(at, 1)[0]);
			return false;
		});
	}

	send(message) {
		this.child.stdin.write(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message) + '\n');
	}

	// The first message that is wanted; each message is given out once.
	next(wanted = () => true, ms = this.patience ?? 5000) {
		return new Promise((done, fail) => {
			const timer = setTimeout(() => fail(new Error(`no such message within ${ms} ms; left: ${JSON.stringify(this.messages).slice(0, 2000)}`)), ms);
			this.waiting.push({ wanted, done, timer });
			this.wake();
		});
	}

	reply(id) {
		return this.next((message) => message.id === id && ('result' in message || 'error' in message));
	}

	request(method, params, id = ++this.lastId) {
		this.send({ jsonrpc: '2.0', id, method, ...(params && { params }) });
		return this.reply(id);
	}

	call(name, args, meta) {
		return this.request('tools/call', { name, ...(args && { arguments: args }), ...(meta && { _meta: meta }) });
	}

	async initialize(version = '2025-11-25', capabilities = {}) {
		const { result } = await this.request('initialize', { protocolVersion: version, capabilities, clientInfo: { name: 'wire', version: '1' } });
		this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
		return result;
	}

	async end() {
		this.child.stdin.end();
		const exit = await this.exit;
		await this.closed;
		return exit;
	}
}

export async function session(body, { version, capabilities, args } = {}) {
	const wire = new Wire(args ?? ['--stdio']);
	try {
		await wire.initialize(version, capabilities);
		await body(wire);
	} catch (error) {
		wire.child.kill('SIGKILL');
		throw error;
	}
	const { status } = await wire.end();
	same([status, wire.err], [0, ''], 'how the server ended');
}

export const canonical = (message) => message.result?._meta?.['dev.faultwire/error'] ?? message.error?.data?.['dev.faultwire/error'];
export const text = (message) => message.result.content[0].text;
