/*
 * File reservations between agents: the tools, servers that share a store, the command
 * line, and the check that the workspace makes before it writes.
 */
// reaches: reservation.conflict
// reaches: reservation.not_found

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { root } from './lib/cli.mjs';
import { Wire } from './lib/mcp.mjs';
import { Place, Server, program, sha256 } from './lib/workspace.mjs';
import { originOf } from './lib/served.mjs';

let place;
const servers = [];
before(() => {
	place = new Place();
});
after(() => {
	for (const child of servers) child.kill('SIGKILL');
	place.drop();
});

/** A server over HTTP in the place, with its own client. */
async function serve(...args) {
	const child = spawn(program, ['serve', '--http', '127.0.0.1:0', '--log', 'off', ...args], { cwd: place.root, env: place.env, stdio: ['ignore', 'ignore', 'pipe'] });
	servers.push(child);
	const url = await originOf(child);
	const call = async (name, args, headers = {}) => {
		const reply = await fetch(`${url}/api/v1/tools/${name}`, {
			method: 'POST', body: JSON.stringify(args), headers: { 'Content-Type': 'application/json', 'Faultwire-Contract': 'toolerror', ...headers },
		});
		const json = await reply.json();
		return { status: reply.status, retry: reply.headers.get('retry-after'), json, value: json.structuredContent };
	};
	const stop = () => new Promise((done) => {
		child.on('exit', (code, signal) => done(signal ?? code));
		child.kill('SIGTERM');
	});
	return { url, call, stop };
}

const reserve = (agent, patterns, more = {}) => ['reserve_files', { agent_id: agent, patterns: [].concat(patterns), reason: 'a test', ...more }];

test('two servers share one store: an exclusive reservation of one is a conflict in the other', async () => {
	const [one, two] = await Promise.all([serve('--tools', 'reserve'), serve('--tools', 'reserve')]);
	const held = (await one.call(...reserve('agent-2', ['src/*.go', 'docs/'], { ttl_minutes: 30 }))).value.reservations;
	assert.deepEqual(held.map(({ pattern, agent_id, exclusive }) => [pattern, agent_id, exclusive]), [['src/*.go', 'agent-2', true], ['docs/', 'agent-2', true]]);
	assert.match(held[0].reservation_id, /^res_[a-z2-7]+$/);
	const found = await two.call(...reserve('agent-1', ['src/main.go', 'docs/x.md', 'lib/a']));
	assert.equal(found.status, 409);
	const { type, message, recoverable, data } = found.json;
	assert.deepEqual(Object.keys(found.json), ['type', 'message', 'recoverable', 'data']);
	assert.deepEqual([type, message, recoverable], ['CONFLICT', 'reservation conflict: 2 conflicts', true]);
	assert.deepEqual(data.conflicts, held.map((one) => ({ agent_id: 'agent-2', pattern: one.pattern, held_by: 'agent-2', reservation_id: one.reservation_id, expires_at: one.expires_at })));
	assert.ok(data.retry_after > 1700 && data.retry_after <= 1800, data.retry_after);
	assert.equal(Number(found.retry), data.retry_after);
	// None of the three was reserved.
	assert.equal((await one.call('check_conflicts', { agent_id: 'x', patterns: ['lib/**'] })).value.count, 0);
	assert.deepEqual((await two.call('my_reservations', { agent_id: 'agent-1' })).value, { reservations: [] });
	assert.equal((await two.call('my_reservations', { agent_id: 'agent-2' })).value.reservations.length, 2);
	const checked = (await two.call('check_conflicts', { agent_id: 'agent-1', patterns: ['**/*.go'] })).value;
	assert.deepEqual([checked.count, checked.conflicts[0].held_by], [2, 'agent-2']);
	// Another agent's id is not found, its own is released, once.
	const id = held[0].reservation_id;
	const missing = (await two.call('release_files', { agent_id: 'agent-1', reservation_ids: [id] }));
	assert.deepEqual([missing.status, missing.json.type, missing.json.data], [404, 'NOT_FOUND', { reservation_id: id }]);
	assert.deepEqual((await two.call('release_files', { agent_id: 'agent-2', reservation_ids: [id] })).value, { released: [id] });
	const again = await one.call('release_files', { agent_id: 'agent-2', reservation_ids: [id] }, { 'Faultwire-Contract': 'canonical' });
	assert.deepEqual([again.status, again.json.code], [404, 'reservation.not_found']);
	assert.equal((await one.call(...reserve('agent-1', 'src/main.go'))).status, 200);
	assert.deepEqual((await one.call('release_all', { agent_id: 'agent-2' })).value, { released: [held[1].reservation_id] });
	assert.equal((await two.call('release_all', { agent_id: 'agent-1' })).value.released.length, 1);
	assert.equal(await one.stop(), 0);
	assert.equal(await two.stop(), 0);
});

test('shared reservations, defaults, and the limit of 24 hours', async () => {
	const one = await serve('--tools', 'reserve');
	const minutes = async (more) => {
		const { value } = await one.call(...reserve('t', 'time', more));
		return (Date.parse(value.reservations[0].expires_at) - Date.parse(value.reservations[0].created_at)) / 60000;
	};
	assert.deepEqual([await minutes({}), await minutes({ ttl_minutes: 1.5 }), await minutes({ ttl_minutes: 1e9 })], [15, 1.5, 1440]);
	assert.equal((await one.call(...reserve('t', 'time', { ttl_minutes: 0 }))).json.type, 'VALIDATION');
	assert.equal((await one.call(...reserve('a', 's/*', { exclusive: false }))).status, 200);
	assert.equal((await one.call(...reserve('b', 's/x', { exclusive: false }))).status, 200);
	assert.equal((await one.call(...reserve('c', 's/x'))).json.data.conflicts.length, 2);
	// It ends by itself.
	assert.equal((await one.call(...reserve('e', 'brief', { ttl_minutes: 0.001 }))).status, 200);
	let status = 409;
	for (let i = 0; i < 500 && status === 409; i++) status = (await one.call(...reserve('f', 'brief'))).status;
	assert.equal(status, 200);
	for (const agent_id of ['t', 'a', 'b', 'f']) await one.call('release_all', { agent_id });
	await one.stop();
});

test('what is asked for is checked', async () => {
	const one = await serve('--tools', 'reserve');
	const fails = async (args, code) => {
		const { json } = await one.call('reserve_files', args, { 'Faultwire-Contract': 'canonical' });
		assert.equal(json.code, code, JSON.stringify(json));
	};
	await fails({ patterns: ['x'], reason: 'r' }, 'input.missing_field');
	await fails({ agent_id: 'a', reason: 'r' }, 'input.missing_field');
	await fails({ agent_id: 'a', patterns: ['x'] }, 'input.missing_field');
	await fails({ agent_id: 'a', patterns: [], reason: 'r' }, 'input.invalid_value');
	for (const bad of ['/etc/passwd', '../x', 'a//b', '[a', '{a', 'a**', './x']) await fails({ agent_id: 'a', patterns: ['ok', bad], reason: 'r' }, 'input.invalid_value');
	assert.equal((await one.call('my_reservations', { agent_id: 'a' })).value.reservations.length, 0);
	await one.stop();
});

test('a token of --token-file identifies no agent; --agent-id names the agent of a server', async () => {
	writeFileSync(join(place.base, 'token'), 'secret-1\n');
	const one = await serve('--tools', 'reserve', '--token-file', join(place.base, 'token'), '--agent-id', 'the-agent');
	const headers = { Authorization: 'Bearer secret-1' };
	assert.equal((await one.call('reserve_files', { patterns: ['n'], reason: 'r' }, headers)).value.reservations[0].agent_id, 'the-agent');
	assert.equal((await one.call(...reserve('other', 'n'), headers)).status, 409);
	assert.equal((await one.call('release_all', {}, headers)).value.released.length, 1);
	await one.stop();
});

test('agents with tokens of their own are distinguished by these, not by what they declare', async () => {
	const token = (name) => execFileSync(program, ['token', 'new', name, '--scope', 'toolset:reserve'], { env: place.env, encoding: 'utf8' }).trim();
	const [ada, bob] = [token('ada'), token('bob')].map((text) => ({ Authorization: `Bearer ${text}` }));
	const one = await serve('--tools', 'reserve', '--tokens');
	const mine = { patterns: ['tokens/a.c'], reason: 'r' };
	const held = await one.call('reserve_files', mine, ada);
	assert.equal(held.value.reservations[0].agent_id, 'ada');
	const conflict = await one.call('reserve_files', mine, bob);
	assert.equal(conflict.status, 409);
	assert.equal(conflict.json.data.conflicts[0].agent_id, 'ada');
	/* Bob cannot pass himself off as Ada, nor release what is hers. */
	const claimed = await one.call('reserve_files', { ...mine, agent_id: 'ada' }, bob);
	assert.notEqual(claimed.status, 200);
	await one.call('release_files', { reservation_ids: [held.value.reservations[0].reservation_id] }, bob);
	assert.equal((await one.call('my_reservations', {}, ada)).value.reservations.length, 1);
	assert.equal((await one.call('release_all', {}, ada)).value.released.length, 1);
	await one.stop();
});

test('faultwire reserve lists and releases', async () => {
	const one = await serve('--tools', 'reserve');
	assert.equal((await one.call(...reserve('agent-2', ['cli/*.c', 'cli/\u001bx']))).status, 400);
	await one.call(...reserve('agent-3', 'cli/y', { exclusive: false }));
	const list = (...args) => JSON.parse(place.run(['reserve', 'list', '--json', ...args]));
	assert.deepEqual(list().map((row) => row.agent_id).sort(), ['agent-3']);
	await one.call(...reserve('agent-2', ['cli/*.c', 'cli/z'], { ttl_minutes: 60 }));
	assert.deepEqual(list().map((row) => row.pattern), ['cli/y', ...list('--agent', 'agent-2').map((row) => row.pattern)]);
	assert.match(place.run(['reserve', 'list']), /^EXPIRES \(UTC\) +RESERVATION +AGENT +PATTERN +KIND +REASON\n.* agent-3 +cli\/y +shared +a test\n/);
	const [{ reservation_id }] = list('--agent', 'agent-3');
	place.run(['reserve', 'release', reservation_id]);
	assert.throws(() => place.run(['reserve', 'release', reservation_id]), /reservation does not exist/);
	assert.equal(JSON.parse(place.run(['reserve', 'release', '--agent', 'agent-2'])).released.length, 2);
	assert.deepEqual(list(), []);
	// The server sees it with the next call.
	assert.equal((await one.call(...reserve('agent-9', ['cli/*']))).status, 200);
	await one.call('release_all', { agent_id: 'agent-9' });
	await one.stop();
});

test('a server without a store has no reservations, and says so', async () => {
	assert.throws(() => place.run(['serve', '--tools', 'reserve', '--store', 'off']), /needs a store/);
	assert.throws(() => place.run(['serve', '--tools', 'reserve', '--reserve-root', '/no/such/directory']), /no\/such\/directory/);
});

// ---- the workspace -------------------------------------------------------------------

test('write_file: a file that another agent has reserved is a conflict, after the plan and before previousHash', async () => {
	const other = await serve('--tools', 'reserve');
	const plan = place.plan('src/**, lib/**');
	const server = await Server.start(place, 'stdio', { options: ['--agent-id', 'writer'] });
	const write = (args) => server.call('write_file', { path: 'src/a.txt', content: 'new\n', plan, ...args });
	try {
		await server.begin();
		const { value } = await other.call(...reserve('holder', 'src/*.txt', { ttl_minutes: 60 }));
		const [held] = value.reservations;
		for (const args of [{}, { previousHash: sha256('wrong') }, { agent_id: 'third' }]) {
			const { envelope, canonical } = await write(args);
			assert.equal(envelope.error_code, 'UNAUTHORIZED_ACTION');
			assert.equal(canonical.code, 'reservation.conflict');
			assert.deepEqual(canonical.context.conflicts, [{ agent_id: 'holder', pattern: 'src/*.txt', held_by: 'holder', reservation_id: held.reservation_id, expires_at: held.expires_at }]);
			assert.equal(canonical.recoverable, true);
			assert.ok(canonical.retry_after > 3500 && canonical.retry_after <= 3600);
		}
		assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
		// The plan comes first.
		assert.equal((await write({ path: 'other.txt' })).envelope.error_code, 'PLAN_SCOPE_VIOLATION');
		// All or none: one reserved file of several.
		const many = await server.call('write_files', { plan, files: [{ path: 'src/b.c', content: 'b', create: true }, { path: 'src/a.txt', content: 'x' }] });
		assert.equal(many.canonical.code, 'reservation.conflict');
		assert.equal(place.exists('src/b.c'), false);
		assert.equal((await server.call('delete_file', { path: 'src/a.txt', plan })).canonical.code, 'reservation.conflict');
		assert.equal((await server.call('move_file', { path: 'src/a.txt', to: 'lib/a.txt', make_directories: true, plan })).canonical.code, 'reservation.conflict');
		// By another name, the file is the same.
		symlinkSync('src', place.path('link'));
		assert.equal((await write({ path: 'link/a.txt' })).canonical.code, 'reservation.conflict');
		// The holder may write, and others may write elsewhere.
		assert.equal((await write({ agent_id: 'holder' })).value.outcome, 'replaced');
		assert.equal((await write({ path: 'src/b.c', create: true })).value.outcome, 'created');
		await other.call('release_all', { agent_id: 'holder' });
		assert.equal((await write({ content: 'newer\n', previousHash: sha256('new\n') })).value.outcome, 'replaced');
		// Its own reservation is no obstacle.
		await other.call(...reserve('writer', 'src/'));
		assert.equal((await write({ content: 'newest\n' })).value.outcome, 'replaced');
		// Reports need no plan, and no reservation keeps them from being written.
		await other.call(...reserve('holder', 'docs/'));
		assert.equal((await server.call('write_file', { path: 'docs/reports/r.md', content: 'r' })).value.outcome, 'created');
	} finally {
		await server.close();
		await other.stop();
	}
});

// ---- the examples of the toolerror contract ----------------------------------------------

test('toolerror: every example of the contract, from a server behind the gateway', async () => {
	const examples = [
		{ type: 'NOT_FOUND', message: 'agent "fd-safety" not registered', recoverable: false },
		{ type: 'CONFLICT', message: 'reservation conflict: 2 conflicts', recoverable: true, data: { conflicts: [{ agent_id: 'agent-2', pattern: 'src/*.go', held_by: 'agent-2' }] } },
		{ type: 'TRANSIENT', message: 'rate limited', recoverable: true, data: { retry_after: 30 } },
	];
	const server = join(root, 'test/wire/lib/call_server.mjs');
	const wire = new Wire(['gate', '--log', 'off', '--audit', 'off', '--incidents', 'off', '--contract', 'toolerror', '--', 'node', server, join(place.base, 'calls')], program);
	servers.push(wire.child);
	await wire.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } });
	wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
	for (const example of examples) {
		const { result } = await wire.call('say', { words: JSON.stringify(example) });
		assert.equal(result.isError, true);
		// The gateway adds which server it was.
		const text = result.content[0].text.replace(/,"data":\{"upstream":"call_server.mjs"\}|,"upstream":"call_server.mjs"|"upstream":"call_server.mjs",/, '');
		assert.equal(text, JSON.stringify(example));
	}
	wire.child.stdin.end();
	await wire.exit;
});

test('toolerror: CONFLICT and TRANSIENT by their conditions', async () => {
	const one = await serve('--tools', 'reserve', '--limit', 'calls_per_second=1', '--limit', 'calls_burst=2');
	assert.equal((await one.call(...reserve('agent-2', ['t/*.go', 't/main.go']))).status, 200);
	const conflict = (await one.call(...reserve('agent-1', 't/main.go'))).json;
	assert.equal(conflict.message, 'reservation conflict: 2 conflicts');
	assert.equal(conflict.data.conflicts.length, 2);
	let limited;
	for (let i = 0; i < 50 && limited?.type !== 'TRANSIENT'; i++) limited = (await one.call('my_reservations', { agent_id: 'agent-1' })).json;
	assert.deepEqual([limited.type, limited.message, limited.recoverable], ['TRANSIENT', 'rate limited', true]);
	assert.ok(limited.data.retry_after > 0);
	await one.stop();
});
