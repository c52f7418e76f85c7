/*
 * The governed workspace through the official clients, over stdio and HTTP: for
 * each of the 35 codes of the contract the real condition, the exact envelope,
 * its line in the audit log, and what the session is like afterwards.
 */
// reaches: session.not_initialized, session.locked, session.init_failed, auth.action_not_allowed
// reaches: auth.insufficient_permissions, auth.role_mismatch, path.invalid, path.not_found
// reaches: path.traversal_blocked, path.outside_workspace, file.not_found, file.already_exists
// reaches: file.read_failed, file.write_failed, file.hash_mismatch, patch.invalid, patch.apply_failed
// reaches: plan.not_found, plan.not_approved, plan.enforcement_failed, plan.scope_violation, policy.violation
// reaches: policy.rust_violation, policy.preflight_failed, governance.invariant_violation
// reaches: governance.bootstrap_failed, governance.self_audit_failed
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { join } from 'node:path';
import { FIELDS, Place, Server, UUID, program, sha256, ways } from './workspace_lib.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* Which codes were seen, by transport. */
const seen = { stdio: new Set(), http: new Set() };

/* Mounts a small disk at a folder of the workspace; false: not permitted. */
function mountSmall(place, name) {
	mkdirSync(place.path(name), { recursive: true });
	if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', place.path(name)]).status !== 0) return false;
	place.mounted = place.path(name);
	return true;
}

/* The process that waits for the preflight command with this mark. */
async function findWorker(mark) {
	for (let i = 0; i < 200; i++, await pause(20))
		for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
			try {
				const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
				if (words[0] === '/bin/sh' && words[2]?.includes(mark))
					return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/PPid:\s+(\d+)/)[1]);
			} catch {}
	throw new Error('the preflight command was not started');
}

const edit = (place, hash, from, to) => {
	const text = place.read(place.planPath(hash));
	assert.ok(text.includes(from));
	place.write(place.planPath(hash), text.replace(from, to));
};

/*
 * For each code: `how` the server is started, `setup` of the place (its result
 * goes on), and `fail`, which returns the envelope. `before`: no session yet.
 */
const cases = {
	SESSION_NOT_INITIALIZED: { before: true, fail: (s) => s.fails('write_file', { path: 5 }) },
	SESSION_LOCKED: {
		isLocked: true,
		setup(place) {
			const plan = place.plan();
			edit(place, plan, 'Do it.', 'Do more.');
			return plan;
		},
		async fail(s, plan) {
			const first = await s.fails('write_file', { path: 'src/a.txt', content: 'x', plan });
			assert.equal(first.error_code, 'PLAN_ENFORCEMENT_FAILED');
			return s.fails('write_file', { path: 'src/a.txt', content: 'x', plan });
		},
	},
	SESSION_INITIALIZATION_FAILED: {
		before: true,
		fail: (s) => s.fails('begin_session', { workspace_root: s.place.path('src/a.txt') }),
	},
	INVALID_INPUT_TYPE: { fail: (s) => s.fails('read_file', { path: 5 }) },
	INVALID_INPUT_FORMAT: { fail: (s) => s.fails('read_plan', { plan: 'xyz' }) },
	INVALID_INPUT_VALUE: { fail: (s) => s.fails('read_audit_log', { limit: 0 }) },
	MISSING_REQUIRED_FIELD: { fail: (s) => s.fails('write_file', { content: 'x', phase_id: 'PHASE_1' }), phase: 'PHASE_1' },
	UNAUTHORIZED_ACTION: { fail: (s) => s.fails('save_plan', { content: 5 }) },
	INSUFFICIENT_PERMISSIONS: {
		setup: (place) => {
			place.write('src/closed', 'x');
			chmodSync(place.path('src/closed'), 0);
		},
		fail: (s) => s.fails('read_file', { path: 'src/closed' }),
	},
	ROLE_MISMATCH: { before: true, fail: (s) => s.fails('begin_session', { workspace_root: s.place.root, role: 'antigravity' }) },
	INVALID_PATH: { before: true, fail: (s) => s.fails('begin_session', { workspace_root: 'w' }) },
	PATH_NOT_FOUND: { fail: (s) => s.fails('read_file', { path: 'none/a.txt' }) },
	PATH_TRAVERSAL_BLOCKED: { fail: (s) => s.fails('read_file', { path: '../outside/secret.txt' }) },
	OUTSIDE_WORKSPACE: { fail: (s) => s.fails('read_file', { path: '/etc/passwd' }) },
	FILE_NOT_FOUND: { fail: (s) => s.fails('read_file', { path: 'src/none' }) },
	FILE_ALREADY_EXISTS: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', content: 'x', create: true, plan }),
		withPlan: true,
	},
	FILE_READ_FAILED: { fail: (s) => s.fails('read_file', { path: 'src' }) },
	FILE_WRITE_FAILED: {
		/* A full disk; where none may be mounted, a limit of file sizes. */
		setup(place) {
			const plan = place.plan('**');
			place.isMounted = mountSmall(place, 'small');
			if (!place.isMounted) mkdirSync(place.path('small'), { recursive: true });
			writeFileSync(place.path('small/f'), 'old');
			return plan;
		},
		command: (place) => (place.isMounted ? undefined : ['bash', '--norc', '-c', 'ulimit -f 64; exec "$@"', 'bash', program]),
		async fail(s, plan) {
			const envelope = await s.fails('write_file', { path: 'small/f', content: 'x'.repeat(256 * 1024), plan });
			assert.equal(s.place.read('small/f'), 'old');
			assert.deepEqual(readdirSync(s.place.path('small')), ['f']);
			return envelope;
		},
		withPlan: true,
	},
	PATCH_INVALID: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', patch: '--- a\n+++ b\n@@ nonsense', plan }),
		withPlan: true,
	},
	PATCH_APPLY_FAILED: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', patch: '@@ -1 +1 @@\n-four\n+five\n', plan }),
		withPlan: true,
	},
	HASH_MISMATCH: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', content: 'x', previousHash: sha256('other'), plan }),
		withPlan: true,
	},
	PLAN_NOT_FOUND: { fail: (s) => s.fails('read_plan', { plan: sha256('none') }), planHash: sha256('none') },
	PLAN_NOT_APPROVED: {
		setup: (place) => place.plan('src/**', { approve: false }),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', content: 'x', plan, phase_id: 'PHASE_5A' }),
		withPlan: true, phase: 'PHASE_5A',
	},
	PLAN_ENFORCEMENT_FAILED: {
		isLocked: true,
		setup(place) {
			const plan = place.plan();
			edit(place, plan, 'SCOPE: src/**', 'SCOPE: **');
			return plan;
		},
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', content: 'x', plan }),
		withPlan: true,
	},
	PLAN_SCOPE_VIOLATION: {
		setup: (place) => place.plan('docs/**'),
		fail: (s, plan) => s.fails('write_file', { path: 'src/a.txt', content: 'x', plan }),
		withPlan: true,
	},
	POLICY_VIOLATION: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/b.c', content: 'int x; /* TODO */\n', create: true, plan }),
		withPlan: true,
	},
	RUST_POLICY_VIOLATION: {
		setup: (place) => place.plan(),
		fail: (s, plan) => s.fails('write_file', { path: 'src/b.rs', content: 'fn f() { g().unwrap(); }\n', create: true, plan }),
		withPlan: true,
	},
	PREFLIGHT_FAILED: {
		isLocked: true,
		how: { options: ['--preflight', 'echo it does not hold; exit 3'] },
		setup: (place) => place.plan(),
		async fail(s, plan) {
			const envelope = await s.fails('write_file', { path: 'src/a.txt', content: 'x', plan });
			assert.equal(s.place.read('src/a.txt'), 'one\ntwo\nthree\n');
			assert.match(envelope.cause.message, /it does not hold/);
			return envelope;
		},
		withPlan: true,
	},
	INVARIANT_VIOLATION: {
		isLocked: true,
		setup: (place) => edit(place, place.plan(), 'STATUS: APPROVED', 'STATUS: PENDING'),
		fail: (s) => s.fails('verify_workspace_integrity', {}),
		invariant: 'PLANS_AUTHENTIC',
	},
	BOOTSTRAP_FAILURE: {
		how: { role: 'antigravity' },
		fail(s) {
			const args = JSON.parse(s.place.run(['plan', 'bootstrap', '--scope', 'src/**', '-'], 'First.'));
			return s.fails('bootstrap_create_foundation_plan', { ...args, signature: sha256('guess') });
		},
	},
	AUDIT_LOG_FAILED: {
		isLocked: true, isUnaudited: true,
		/* The log cannot grow any more. */
		command: () => ['bash', '--norc', '-c', 'ulimit -f 8; exec "$@"', 'bash', program],
		async fail(s) {
			for (let i = 0; i < 100; i++) {
				const { envelope, canonical } = await s.call('read_file', { path: 'src/none' });
				if (envelope.error_code !== 'FILE_NOT_FOUND') {
					/* What really happened is the cause, and the log's own failure is reported. */
					assert.equal(envelope.cause.code, 'file.not_found');
					assert.match(envelope.human_message, /could not write the audit log: .*too large/i);
					assert.equal(canonical.context.errno, 'EFBIG');
					return envelope;
				}
			}
			throw new Error('the log never failed');
		},
	},
	AUDIT_LOCK_FAILED: {
		isLocked: true, isUnaudited: true,
		async fail(s) {
			const holder = spawn('flock', [s.place.path('audit-log.jsonl'), 'sleep', '60'], { stdio: 'ignore', detached: true });
			await pause(200);
			try {
				return await s.fails('read_file', { path: 'src/none' });
			} finally {
				process.kill(-holder.pid);
				await pause(50);
			}
		},
	},
	INTERNAL_ERROR: {
		/* More calls than workers and places to wait. */
		how: { options: ['--limit', 'queue_length=1', '--preflight', 'sleep 0.05'] },
		setup: (place) => place.plan(),
		async fail(s, plan) {
			const calls = Array.from({ length: 24 }, () => s.call('write_file', { path: 'src/a.txt', content: 'x', plan }));
			const all = await Promise.all(calls);
			assert.ok(all.some((one) => one.value));
			const refused = all.find((one) => one.canonical?.code === 'server.overloaded');
			assert.ok(refused.canonical.retry_after > 0);
			return refused.envelope;
		},
		withPlan: true,
	},
	UNKNOWN_TOOL_FAILURE: {
		how: { options: ['--preflight', 'sleep 30 # the-mark'] },
		setup: (place) => place.plan(),
		async fail(s, plan) {
			const call = s.call('write_file', { path: 'src/a.txt', content: 'x', plan });
			process.kill(await findWorker('the-mark'), 'SIGKILL');
			const { canonical, envelope } = await call;
			assert.equal(canonical.code, 'tool.crashed');
			/* It was written, but never passed: nobody gets to read it. */
			assert.equal((await s.ok('read_file', { path: 'src/a.txt' })).content, 'one\ntwo\nthree\n');
			/* The note is nobody's reply, so nobody waits for it: it is there in a moment. */
			const isNoted = () => s.place.audit().some((line) => line.event === 'note' && JSON.stringify(line).includes('content is old'));
			for (let i = 0; i < 200 && !isNoted(); i++) await pause(20);
			assert.ok(isNoted());
			return envelope;
		},
		withPlan: true,
	},
};

function assertEnvelope(envelope, code, session, expected, plan) {
	assert.deepEqual(Object.keys(envelope), FIELDS);
	assert.equal(envelope.error_code, code);
	assert.ok(envelope.human_message.length > 0);
	assert.equal(envelope.role, session ? expected.role : null);
	assert.equal(envelope.session_id, session ? session.session_id : null);
	assert.equal(envelope.workspace_root, session ? session.workspace_root : null);
	assert.match(envelope.tool_name, /^[a-z_]+$/);
	assert.equal(envelope.invariant_id, expected.invariant ?? null);
	assert.equal(envelope.phase_id, expected.phase ?? null);
	assert.equal(envelope.plan_hash, expected.planHash ?? (expected.withPlan ? plan : envelope.plan_hash));
	assert.match(envelope.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	assert.ok(envelope.cause === null || ['string', 'object'].includes(typeof envelope.cause));
}

describe('each code, its condition and its envelope', { concurrency: 4 }, () => {
	for (const way of Object.keys(ways))
		for (const [code, about] of Object.entries(cases))
			test(`${way}: ${code}`, async () => {
				const place = new Place();
				const given = about.setup?.(place);
				const how = { ...about.how, command: about.command?.(place) };
				const server = await Server.start(place, way, how);
				try {
					const session = about.before ? null : await server.begin();
					if (session) assert.match(session.session_id, UUID);
					const envelope = await about.fail(server, given);

					/* Read at once: the line was there before the reply. */
					const lines = place.audit(!about.before);
					assertEnvelope(envelope, code, session, { ...about, role: (how.role ?? 'windsurf').toUpperCase() }, given);
					seen[way].add(code);
					if (!about.isUnaudited) {
						const line = lines.find((one) => one.error_code === code && one.timestamp === envelope.timestamp);
						assert.ok(line, `no line of ${code} in ${JSON.stringify(lines)}`);
						assert.equal(line.tool_name, envelope.tool_name);
						assert.equal(line.phase_id ?? null, envelope.phase_id);
						assert.equal(line.plan_hash ?? null, envelope.plan_hash);
					}

					/* Usable afterwards, or locked until a report is written. */
					if (about.before) await server.begin();
					if (code !== 'AUDIT_LOG_FAILED') {
						assert.equal(await server.isLocked(), !!about.isLocked);
						assert.equal((await server.ok('read_file', { path: 'src/a.txt' })).path, 'src/a.txt');
					}
					if (about.isLocked && code !== 'AUDIT_LOG_FAILED') {
						await server.ok('write_file', { path: 'docs/reports/what.md', content: 'What happened.\n' });
						assert.equal(await server.isLocked(), false);
					}
				} finally {
					await server.close();
					place.drop();
				}
			});
});

test('SELF_AUDIT_FAILURE: an envelope on standard error, and no server', async (t) => {
	const start = (place, options = []) =>
		spawnSync(program, ['serve', '--tools', 'workspace', '--role', 'windsurf', '--workspace', place.root, ...options],
			{ env: place.env, encoding: 'utf8', input: '' });
	const breaks = {
		'a key that lies in the workspace': (place) => start(place, ['--plan-key', place.path('plan.key')]),
		'a key that others can read': (place) => {
			place.plan();
			chmodSync(join(place.base, 'config/faultwire/plan.key'), 0o644);
			return start(place);
		},
		'an audit chain that is broken': async (place) => {
			const server = await Server.start(place, 'stdio');
			await server.begin();
			for (let i = 0; i < 3; i++) await server.fails('read_file', { path: 'none' });
			await server.close();
			const log = place.read('audit-log.jsonl').split('\n');
			log[1] = log[1].replace('FILE_NOT_FOUND', 'FILE_NOT_FOUNT');
			place.write('audit-log.jsonl', log.join('\n'));
			return start(place);
		},
	};

	for (const [name, run] of Object.entries(breaks))
		await t.test(name, async () => {
			const place = new Place();
			const { status, stderr } = await run(place);
			assert.notEqual(status, 0);
			const envelope = JSON.parse(stderr.trim().split('\n').at(-1));
			assert.deepEqual(Object.keys(envelope), FIELDS);
			assert.equal(envelope.error_code, 'SELF_AUDIT_FAILURE');
			assert.equal(envelope.session_id, null);
			for (const way of Object.keys(seen)) seen[way].add('SELF_AUDIT_FAILURE');
			place.drop();
		});
});

test('every code of the contract was produced over both transports', () => {
	const place = new Place();
	const all = [...new Set(JSON.parse(place.run(['registry', '--json'])).map((row) => row.kaiza))];
	place.drop();
	assert.equal(all.length, 35);
	for (const way of Object.keys(seen)) assert.deepEqual(all.filter((code) => !seen[way].has(code)), [], way);
});
