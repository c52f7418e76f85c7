// What the tests of a fleet share: a real engine (Redis or Valkey) and a real haproxy, each
// started by the test, on free ports and in a directory of its own, and ended by their pid.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { has, root } from './cli.mjs';
import { ask, until } from './govern.mjs';

export const isLong = Boolean(process.env.FW_LONG);

export const enginePrograms = ['valkey-server', 'redis-server'];
export const engineProgram = enginePrograms.find(has);
export const haproxyProgram = ['haproxy', '/usr/sbin/haproxy'].find(has);

// A port that nobody listens on now.
export function freePort() {
	return new Promise((found, lost) => {
		const server = createServer();
		server.on('error', lost);
		server.listen(0, '127.0.0.1', () => {
			const { port } = server.address();
			server.close(() => found(port));
		});
	});
}

const encode = (words) => `*${words.length}\r\n` + words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('');

// One command to an engine, without a client library: the bytes of the reply.
export function command(port, words, login = []) {
	return new Promise((done, lost) => {
		const socket = connect(port, '127.0.0.1');
		let text = '';
		const count = login.length ? 2 : 1;
		socket.setTimeout(20000, () => socket.destroy(new Error(`no reply to ${words[0]}`)));
		socket.on('error', lost);
		socket.on('data', (bytes) => {
			text += bytes;
			if (text.split('\r\n').length > count) {
				socket.destroy();
				done(text);
			}
		});
		socket.write((login.length ? encode(['AUTH', ...login]) : '') + encode(words));
	});
}

export class Engine {
	constructor(place, { password, name = 'engine' } = {}) {
		this.dir = place.file(name);
		this.password = password;
		mkdirSync(this.dir, { recursive: true });
	}

	async start() {
		// Another process may take the port in between: then the next one.
		for (let i = 0; i < 5; i++) {
			this.port ??= await freePort();
			if (await this.#spawn()) return this;
			if (this.wasUp) continue;
			this.port = undefined;
		}
		throw new Error(`the engine does not start: ${this.said}`);
	}

	async #spawn() {
		const login = this.password ? ['--requirepass', this.password] : [];
		this.child = spawn(engineProgram, ['--port', this.port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.dir, ...login], { stdio: ['ignore', 'pipe', 'pipe'] });
		this.said = '';
		this.child.stdout.on('data', (bytes) => (this.said += bytes));
		this.child.stderr.on('data', (bytes) => (this.said += bytes));
		let isOver = false;
		this.ended = new Promise((done) => this.child.on('exit', () => done((isOver = true))));
		await until(() => isOver || /Ready to accept connections/i.test(this.said), 'the engine');
		if (!isOver) this.wasUp = true;
		return !isOver;
	}

	url(db = 0) {
		return `redis://${this.password ? `:${this.password}@` : ''}127.0.0.1:${this.port}/${db}`;
	}

	command(...words) {
		return command(this.port, words, this.password ? [this.password] : []);
	}

	signal(name) {
		this.child.kill(name);
	}

	async stop(signal = 'SIGKILL') {
		if (!this.child) return;
		this.child.kill(signal);
		await this.ended;
	}
}

// The configuration of docs/fleet.md, with the ports of this test.
export function haproxyText(port, servers) {
	const text = readFileSync(join(root, 'docs/fleet.md'), 'utf8').match(/```haproxy\n([\s\S]*?)```/)[1];
	const line = /^(\tserver )(\S+)( )\S+(.*)\n/gm;
	const rest = [...text.matchAll(line)][0][4];
	let first = true;
	return text.replace(/bind \S+/, `bind 127.0.0.1:${port}`).replace(line, () => {
		if (!first) return '';
		first = false;
		return servers.map((server, i) => `\tserver replica${i + 1} ${server.url.replace('http://', '')}${rest}\n`).join('');
	});
}

export async function startHaproxy(place, servers) {
	const port = await freePort();
	const file = place.file(`haproxy-${port}.cfg`);
	writeFileSync(file, haproxyText(port, servers));
	const child = spawn(haproxyProgram, ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
	const proxy = { child, url: `http://127.0.0.1:${port}`, said: '' };
	for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (bytes) => (proxy.said += bytes));
	proxy.ended = new Promise((done) => child.on('exit', done));
	proxy.stop = () => {
		child.kill('SIGTERM');
		return proxy.ended;
	};
	place.servers.push(proxy);
	await until(async () => {
		try {
			return (await ask(proxy, '/livez')).status === 200;
		} catch {
			if (child.exitCode !== null) throw new Error(proxy.said);
			return false;
		}
	}, `haproxy: ${proxy.said}`);
	return proxy;
}

export const ready = async (server) => (await ask(server, '/readyz')).text;
export const isUp = async (server, replicas) => (await ready(server)).includes(replicas ? `limits store: up, ${replicas} replica` : 'limits store: up');
export const isAway = async (server) => (await ready(server)).includes('limits store: away');

// All at once, with at most `most` connections.
export async function parallel(count, most, call) {
	const results = [];
	let next = 0;
	await Promise.all(
		Array.from({ length: Math.min(most, count) }, async () => {
			while (next < count) {
				const at = next++;
				results[at] = await call(at);
			}
		}),
	);
	return results;
}
