/*
 * What the judges of the workspace share: a workspace of their own, plans made
 * by the command line, and a server of it, spoken to through the official
 * clients over stdio and HTTP.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';

const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../build');
export const program = process.env.FAULTWIRE ?? join(build, 'faultwire');
export const faulty = join(build, 'faultwire_faulty');
const identity = { name: 'judge', version: '1' };

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');
export const FIELDS = ['error_code', 'human_message', 'role', 'session_id', 'workspace_root', 'tool_name', 'invariant_id',
	'phase_id', 'plan_hash', 'cause', 'timestamp'];
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A directory with a workspace w/ in it, and beside it what is not to be seen. */
export class Place {
	constructor() {
		this.base = realpathSync(mkdtempSync(join(tmpdir(), 'faultwire-judge-')));
		this.root = join(this.base, 'w');
		this.env = { ...process.env, XDG_CONFIG_HOME: join(this.base, 'config'), XDG_STATE_HOME: join(this.base, 'state'), NO_COLOR: '1' };
		this.write('src/a.txt', 'one\ntwo\nthree\n');
		this.write('../outside/secret.txt', 'secret\n');
	}

	path(name) {
		return join(this.root, name);
	}

	write(name, text) {
		mkdirSync(dirname(this.path(name)), { recursive: true });
		writeFileSync(this.path(name), text);
	}

	read(name) {
		return readFileSync(this.path(name), 'utf8');
	}

	exists(name) {
		return existsSync(this.path(name));
	}

	/** The command line, which must succeed; its output. */
	run(args, input = '') {
		const run = spawnSync(program, args, { cwd: this.root, env: this.env, input, encoding: 'utf8' });
		if (run.status !== 0) throw new Error(`faultwire ${args.join(' ')}: ${run.status} ${run.stderr}`);
		return run.stdout;
	}

	/** A new plan; its hash. */
	plan(scope = 'src/**', { approve = true, text = 'Do it.' } = {}) {
		const hash = this.run(['plan', 'new', '--scope', scope, '--title', 'A plan', '-'], text).trim();
		if (approve) this.run(['plan', 'approve', '--yes', hash]);
		return hash;
	}

	planPath(hash) {
		return `docs/plans/${hash}.md`;
	}

	/** The lines of the audit log: of the workspace, or before a session. */
	audit(withSession = true) {
		const file = withSession ? this.path('audit-log.jsonl') : join(this.base, 'state/faultwire/audit-log.jsonl');
		if (!existsSync(file)) return [];
		return readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
	}

	drop() {
		if (this.mounted) spawnSync('umount', [this.mounted]);
		rmSync(this.base, { recursive: true, force: true });
	}
}

const serveArgs = (place, { role = 'windsurf', options = [] }) =>
	['serve', '--tools', 'workspace', '--role', role, '--workspace', place.root, ...options];

/** How a server is spoken to. */
export const ways = {
	async stdio(place, how) {
		const client = new Client1(identity, { capabilities: {} });
		const transport = new Stdio1({
			command: how.command?.[0] ?? how.program ?? program,
			args: [...(how.command?.slice(1) ?? []), ...serveArgs(place, how)], env: { ...place.env, ...how.env }, stderr: 'pipe',
		});
		let said = '';
		transport.stderr?.on('data', (bytes) => (said += bytes));
		await client.connect(transport);
		return { client, pid: transport.pid, said: () => said, close: () => client.close() };
	},
	async http(place, how) {
		const command = how.command ?? [how.program ?? program];
		const child = spawn(command[0], [...command.slice(1), ...serveArgs(place, how), '--http', '127.0.0.1:0'],
			{ env: { ...place.env, ...how.env }, stdio: ['ignore', 'ignore', 'pipe'] });
		let said = '';
		const url = await new Promise((found, lost) => {
			child.stderr.on('data', (bytes) => {
				said += bytes;
				const match = said.match(/http:\/\/\S+/);
				if (match) found(new URL(match[0]));
			});
			child.on('exit', () => lost(new Error(`no server: ${said}`)));
		});
		const client = new Client2(identity, { capabilities: {}, versionNegotiation: { mode: { pin: '2026-07-28' } } });
		await client.connect(new Http2(url));
		return {
			client, pid: child.pid, said: () => said,
			async close() {
				await client.close();
				child.kill();
				await new Promise((done) => (child.exitCode !== null || child.signalCode ? done() : child.on('exit', done)));
			},
		};
	},
};

/** A server of a place, and its tools as functions. */
export class Server {
	static async start(place, way, how = {}) {
		const server = new Server();
		server.place = place;
		Object.assign(server, await ways[way](place, how));
		return server;
	}

	/** The result of a tool: { value } or { envelope, canonical }. */
	async call(name, args = {}, meta) {
		const result = await this.client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) });
		const text = result.content[0]?.text ?? '';
		if (!result.isError) return { value: result.structuredContent ?? text };
		return { envelope: JSON.parse(text), canonical: result._meta['dev.faultwire/error'], text };
	}

	/** The same, which must succeed. */
	async ok(name, args) {
		const { value, envelope } = await this.call(name, args);
		if (envelope) throw new Error(`${name}: ${JSON.stringify(envelope)}`);
		return value;
	}

	/** The same, which must fail; the envelope. */
	async fails(name, args) {
		const { value, envelope } = await this.call(name, args);
		if (!envelope) throw new Error(`${name} succeeded: ${JSON.stringify(value)}`);
		return envelope;
	}

	begin(root = this.place.root) {
		return this.ok('begin_session', { workspace_root: root });
	}

	/** Is the session locked? */
	async isLocked() {
		const { envelope } = await this.call('list_plans');
		return envelope?.error_code === 'SESSION_LOCKED';
	}
}
