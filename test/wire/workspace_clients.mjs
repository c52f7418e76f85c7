/*
 * Several clients of one workspace server over HTTP: each has its own session, and the
 * lock of one does not bind another.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { Place, UUID, program, serveArgs } from './lib/workspace.mjs';

const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';

/** A client over HTTP: with a session of the protocol, or (modern) known by its name. */
class HttpClient {
	constructor(url, name, version = LEGACY) {
		Object.assign(this, { url, name, version, lastId: 0 });
	}

	async post(message) {
		const modern = this.version === MODERN;
		const response = await fetch(this.url, {
			method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', ...message }),
			headers: {
				'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': this.version,
				...(this.session && { 'Mcp-Session-Id': this.session }),
				...(modern && { 'Mcp-Method': message.method, ...(message.params?.name && { 'Mcp-Name': message.params.name }) }),
			},
		});
		this.session ??= response.headers.get('mcp-session-id') ?? undefined;
		const text = await response.text();
		const data = text.startsWith('{') ? text : text.split('\n').filter((line) => line.startsWith('data: {')).at(-1)?.slice(6);
		return data && JSON.parse(data);
	}

	async connect() {
		if (this.version === MODERN) return this;
		await this.post({ id: 0, method: 'initialize', params: { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: this.name, version: '1' } } });
		await this.post({ method: 'notifications/initialized' });
		return this;
	}

	/** Ends the session of the protocol. */
	async leave() {
		await fetch(this.url, { method: 'DELETE', headers: { 'Mcp-Session-Id': this.session, 'MCP-Protocol-Version': LEGACY } });
		this.session = undefined;
	}

	request(method, params) {
		const _meta = this.version === MODERN
			? { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {}, [`${META}clientInfo`]: { name: this.name, version: '1' } }
			: undefined;
		return this.post({ id: ++this.lastId, method, params: { ...params, ...(_meta && { _meta }) } });
	}

	async call(name, args = {}) {
		const { result, error } = await this.request('tools/call', { name, arguments: args });
		if (error) throw new Error(JSON.stringify(error));
		return result.isError ? { envelope: JSON.parse(result.content[0].text) } : { value: result.structuredContent ?? result.content[0].text };
	}

	async code(name, args) {
		return (await this.call(name, args)).envelope?.error_code ?? 'ok';
	}

	async begin(root) {
		const { value, envelope } = await this.call('begin_session', { workspace_root: root });
		assert.ok(value, JSON.stringify(envelope));
		return value;
	}
}

async function serving(options, run, how = {}) {
	const place = new Place();
	const plan = place.plan();
	const child = spawn(program, [...serveArgs(place, { options, ...how }), '--http', '127.0.0.1:0'], { env: place.env, stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	const ended = new Promise((done) => child.on('close', done));
	const url = await new Promise((found, lost) => {
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const match = said.match(/http:\/\/\S+\/mcp/);
			if (match) found(match[0]);
		});
		ended.then(() => lost(new Error(said)));
	});
	try {
		await run({ place, plan, connect: (name, version) => new HttpClient(url, name, version).connect() });
	} finally {
		child.kill();
		await ended;
		place.drop();
	}
}

const BAD = ['--preflight', '! grep -rq bad src'];
const write = (plan, content) => ({ path: 'src/a.txt', content, plan });

for (const [what, names, version] of [['with sessions of the protocol', ['same', 'same'], LEGACY], ['distinguished by their names', ['one', 'two'], MODERN]])
	test(`of two clients ${what}, the lock of one does not bind the other`, () => serving(BAD, async ({ place, plan, connect }) => {
		const a = await connect(names[0], version);
		const b = await connect(names[1], version);
		const first = await a.begin(place.root);
		assert.equal(await b.code('list_plans'), 'SESSION_NOT_INITIALIZED');
		const second = await b.begin(place.root);
		assert.match(first.session_id, UUID);
		assert.notEqual(first.session_id, second.session_id);
		const failed = (await a.call('write_file', write(plan, 'bad\n'))).envelope;
		assert.equal(failed.error_code, 'PREFLIGHT_FAILED');
		assert.equal(failed.session_id, first.session_id);
		assert.equal(await a.code('write_file', write(plan, 'good\n')), 'SESSION_LOCKED');
		assert.equal(await b.code('write_file', write(plan, 'good\n')), 'ok');
		assert.equal((await b.call('read_plan', { plan: 'x' })).envelope.session_id, second.session_id);
		/* A report of the other one does not unlock it. */
		assert.equal(await b.code('write_file', { path: 'docs/reports/b.md', content: 'About b.\n' }), 'ok');
		assert.equal(await a.code('list_plans'), 'SESSION_LOCKED');
		assert.equal(await a.code('write_file', { path: 'docs/reports/a.md', content: 'About a.\n' }), 'ok');
		assert.equal(await a.code('list_plans'), 'ok');
		/* The log says whose failure it was. */
		const line = place.audit().find((one) => one.error_code === 'PREFLIGHT_FAILED');
		assert.equal(line.session_id, first.session_id);
	}));

test('a client cannot get rid of its lock by connecting again', () => serving(BAD, async ({ place, plan, connect }) => {
	const a = await connect('agent');
	await a.begin(place.root);
	assert.equal(await a.code('write_file', write(plan, 'bad\n')), 'PREFLIGHT_FAILED');
	await a.leave();
	const other = await connect('another');
	assert.equal((await other.begin(place.root)).locked_by, null);
	assert.equal(await other.code('list_plans'), 'ok');
	const again = await connect('agent');
	assert.equal((await again.begin(place.root)).locked_by, 'PREFLIGHT_FAILED');
	assert.equal(await again.code('list_plans'), 'SESSION_LOCKED');
	assert.equal(await again.code('write_file', { path: 'docs/reports/a.md', content: 'It was bad.\n' }), 'ok');
	assert.equal(await again.code('list_plans'), 'ok');
	const third = await connect('agent');
	assert.equal((await third.begin(place.root)).locked_by, null);
}));

test('the session of a client ends with that of the protocol', () => serving([], async ({ place, connect }) => {
	const a = await connect('agent');
	const { session_id } = await a.begin(place.root);
	await a.leave();
	await a.connect();
	assert.equal(await a.code('list_plans'), 'SESSION_NOT_INITIALIZED');
	assert.notEqual((await a.begin(place.root)).session_id, session_id);
}));

test('all sessions of a server have the same root', () => serving([], async ({ place, connect }) => {
	const a = await connect('a');
	const b = await connect('b');
	await a.begin(place.root);
	assert.equal(await b.code('begin_session', { workspace_root: place.path('src') }), 'SESSION_INITIALIZATION_FAILED');
	assert.equal(await b.code('list_plans'), 'SESSION_NOT_INITIALIZED');
	await b.begin(place.root);
}));

test('resources are read in the session of the client that asks', () => serving([], async ({ place, connect }) => {
	const a = await connect('a');
	const b = await connect('b');
	await a.begin(place.root);
	const uri = 'workspace:///src/a.txt';
	assert.equal((await a.request('resources/read', { uri })).result.contents[0].text, 'one\ntwo\nthree\n');
	assert.equal((await b.request('resources/read', { uri })).error.data.error.error_code, 'SESSION_NOT_INITIALIZED');
}));

test('300 clients that come and go leave room for the next, and locks stay', () => serving(BAD, async ({ place, plan, connect }) => {
	const locked = await connect('locked');
	await locked.begin(place.root);
	assert.equal(await locked.code('write_file', write(plan, 'bad\n')), 'PREFLIGHT_FAILED');
	for (let i = 0; i < 300; i++) {
		const one = await connect(`client ${i}`, MODERN);
		await one.begin(place.root);
	}
	assert.equal(await locked.code('list_plans'), 'SESSION_LOCKED');
	/* The one that was not used for longest has to begin again. */
	const first = await connect('client 0', MODERN);
	assert.equal(await first.code('list_plans'), 'SESSION_NOT_INITIALIZED');
	await first.begin(place.root);
}));

test('with --auto-session the first call begins a session, and the lock holds as well', () => serving([...BAD, '--auto-session'], async ({ place, plan, connect }) => {
	const a = await connect('a');
	const b = await connect('b', MODERN);
	assert.equal(await a.code('read_file', { path: 'src/a.txt' }), 'ok');
	assert.equal(await a.code('write_file', write(plan, 'bad\n')), 'PREFLIGHT_FAILED');
	assert.equal(await a.code('list_plans'), 'SESSION_LOCKED');
	assert.equal(await b.code('list_plans'), 'ok');
	assert.equal((await a.begin(place.root)).locked_by, 'PREFLIGHT_FAILED');
	const lines = place.audit();
	assert.match(lines.find((one) => one.error_code === 'PREFLIGHT_FAILED').session_id, UUID);
	assert.equal(lines.at(-1).workspace_root, place.root);
}));
