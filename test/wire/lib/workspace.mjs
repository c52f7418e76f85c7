/*
 * What the tests of the workspace share: a workspace in a temporary directory, plans
 * created with the command line, and a server for it, called over stdio.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../../build');
export const program = process.env.FAULTWIRE ?? join(build, 'faultwire');
export const faulty = join(build, 'faultwire_faulty');

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');
export const FIELDS = ['error_code', 'human_message', 'role', 'session_id', 'workspace_root', 'tool_name', 'invariant_id',
	'phase_id', 'plan_hash', 'cause', 'timestamp'];
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A directory with a workspace w/ in it, and beside it a secret that must not be read. */
export class Place {
	constructor() {
		this.base = realpathSync(mkdtempSync(join(tmpdir(), 'faultwire-workspace-')));
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

	/** Runs the command line, which must succeed; returns its output. */
	run(args, input = '') {
		const run = spawnSync(program, args, { cwd: this.root, env: this.env, input, encoding: 'utf8' });
		if (run.status !== 0) throw new Error(`faultwire ${args.join(' ')}: ${run.status} ${run.stderr}`);
		return run.stdout;
	}

	/** Creates a plan; returns its hash. */
	plan(scope = 'src/**', { approve = true, text = 'Do it.' } = {}) {
		const hash = this.run(['plan', 'new', '--scope', scope, '--title', 'A plan', '-'], text).trim();
		if (approve) this.run(['plan', 'approve', '--yes', hash]);
		return hash;
	}

	planPath(hash) {
		return `docs/plans/${hash}.md`;
	}

	/** The lines of the audit log: that of the workspace, or the one used before a session. */
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

export const serveArgs = (place, { role = 'windsurf', options = [] }) =>
	['serve', '--tools', 'workspace', '--role', role, '--workspace', place.root, ...options];

/** A minimal MCP client over stdio. */
class Client {
	constructor(child) {
		this.child = child;
		this.waiting = new Map();
		this.lastId = 0;
		this.ended = new Promise((done) => child.on('close', done));
		this.ended.then(() => {
			for (const { fail } of this.waiting.values()) fail(new Error('the server has ended'));
			this.waiting.clear();
		});
		child.stdin.on('error', () => {});
		createInterface({ input: child.stdout }).on('line', (line) => this.receive(JSON.parse(line)));
	}

	receive({ id, result, error }) {
		const waiting = this.waiting.get(id);
		this.waiting.delete(id);
		if (error) waiting?.fail(Object.assign(new Error(error.message), error));
		else waiting?.done(result);
	}

	send(message) {
		this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
	}

	request(method, params = {}) {
		const id = ++this.lastId;
		return new Promise((done, fail) => {
			this.waiting.set(id, { done, fail });
			this.send({ id, method, params });
		});
	}

	async initialize() {
		await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } });
		this.send({ method: 'notifications/initialized' });
	}

	callTool(params) {
		return this.request('tools/call', params);
	}

	listTools() {
		return this.request('tools/list');
	}

	listPrompts() {
		return this.request('prompts/list');
	}

	getPrompt(params) {
		return this.request('prompts/get', params);
	}

	listResourceTemplates() {
		return this.request('resources/templates/list');
	}

	readResource(params) {
		return this.request('resources/read', params);
	}

	async close() {
		const timer = setTimeout(() => this.child.kill('SIGKILL'), 10000);
		this.child.stdin.end();
		await this.ended;
		clearTimeout(timer);
	}
}

/** Ways to connect to a server. */
const ways = {
	async stdio(place, how) {
		const command = how.command ?? [how.program ?? program];
		const child = spawn(command[0], [...command.slice(1), ...serveArgs(place, how)], { env: { ...place.env, ...how.env } });
		const client = new Client(child);
		let said = '';
		child.stderr.on('data', (bytes) => (said += bytes));
		await client.initialize();
		return { client, pid: child.pid, said: () => said, close: () => client.close() };
	},
};

/** A server for a place, with its tools as functions. */
export class Server {
	static ways = ways;

	static async start(place, way, how = {}) {
		const server = new this();
		server.place = place;
		Object.assign(server, await this.ways[way](place, how));
		return server;
	}

	/** Calls a tool; returns { value } or { envelope, canonical }. */
	async call(name, args = {}, meta) {
		const result = await this.client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) });
		const text = result.content[0]?.text ?? '';
		if (!result.isError) return { value: result.structuredContent ?? text };
		return { envelope: JSON.parse(text), canonical: result._meta['dev.faultwire/error'], text };
	}

	/** The same for a call that must succeed; returns the value. */
	async ok(name, args) {
		const { value, envelope } = await this.call(name, args);
		if (envelope) throw new Error(`${name}: ${JSON.stringify(envelope)}`);
		return value;
	}

	/** The same for a call that must fail; returns the envelope. */
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

/** Runs `body` with a place, a server that has a session unless `how.before`, and what
 *  `how.setup(place)` returned. */
export async function serving(how, body) {
	const place = new Place();
	const given = how.setup?.(place);
	const server = await Server.start(place, how.way ?? 'stdio', { ...how, options: how.optionsOf?.(place) ?? how.options });
	try {
		if (!how.before) await server.begin();
		await body(server, place, given);
	} finally {
		await server.close();
		place.drop();
	}
}

/** Calls a tool; returns the code of its failure, or 'ok'. */
export const code = async (server, name, args) => (await server.call(name, args)).envelope?.error_code ?? 'ok';
