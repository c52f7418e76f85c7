/*
 * Regressions of the governed workspace, each named for its symptom.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Place, code, program, serving, sha256 } from './lib/workspace.mjs';

/* ---- writing ---- */

test('a write that removes what the preflight command forbids succeeds', () => serving({
	options: ['--preflight', '! grep -rq nonsense src'],
	setup(place) {
		place.write('src/b.txt', 'nonsense\n');
		place.write('src/c.txt', 'fine\n');
		return place.plan();
	},
}, async (server, place, plan) => {
	await server.ok('write_file', { path: 'src/b.txt', content: 'clean\n', plan });
	assert.equal(place.read('src/b.txt'), 'clean\n');
	assert.equal((await server.fails('write_file', { path: 'src/c.txt', content: 'nonsense\n', plan })).error_code, 'PREFLIGHT_FAILED');
	assert.equal(place.read('src/c.txt'), 'fine\n');
	assert.deepEqual(readdirSync(place.path('src')).sort(), ['a.txt', 'b.txt', 'c.txt']);
	assert.deepEqual(readdirSync(place.path('.faultwire/journal')), []);
}));

/* Two kilobytes of the output are kept, and a key of 4,096 bits is longer. */
for (const [what, command] of [
	['whole', 'cat key.pem; echo it does not hold; exit 3'],
	['without its first lines', 'tail -n 35 key.pem; exit 3'],
	['behind much else', 'seq 5000; cat key.pem; seq 100; exit 3'],
	['slowly', 'while read -r line; do echo "$line"; sleep 0.005; done <key.pem; exit 3'],
])
	test(`no line of a private key that a preflight prints ${what} is reported`, () => serving({
		options: ['--preflight', command],
		setup(place) {
			const label = ['RSA PRI', 'VATE KEY-----'].join('');
			const body = Array.from({ length: 50 }, (_, i) => Buffer.from(sha256(`line ${i}`), 'hex').toString('base64').slice(0, 40) + 'MIIEpAIBAAKCAQEAqZkX3vTn');
			place.write('key.pem', `-----BEGIN ${label}\n${body.join('\n')}\n-----END ${label}\n`);
			return { plan: place.plan(), body };
		},
	}, async (server, place, { plan, body }) => {
		const result = await server.client.callTool({ name: 'write_file', arguments: { path: 'src/a.txt', content: 'x\n', plan } });
		const told = JSON.stringify(result) + place.read('audit-log.jsonl');
		assert.ok(told.includes('PREFLIGHT_FAILED') && told.includes('[redacted]'), told);
		for (const line of body) assert.ok(!told.includes(line.slice(0, 20)) && !told.includes(line.slice(-44, -20)), told);
	}));

test('the returned hash is that of the content after the preflight command', () => serving({
	options: ['--preflight', 'echo formatted >>"$FAULTWIRE_PATH"'],
	setup: (place) => place.plan(),
}, async (server, place, plan) => {
	const { sha256: told, size } = await server.ok('write_file', { path: 'src/a.txt', content: 'x\n', plan });
	assert.deepEqual([told, size], [sha256('x\nformatted\n'), 12]);
	await server.ok('write_file', { path: 'src/a.txt', content: 'y\n', previousHash: told, plan });
}));

test('a preflight command that replaces the file by a directory leaves nothing behind', () => serving({
	options: ['--preflight', 'rm "$FAULTWIRE_PATH"; mkdir "$FAULTWIRE_PATH"; false'],
	setup: (place) => place.plan(),
}, async (server, place, plan) => {
	assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x\n', plan }), 'PREFLIGHT_FAILED');
	assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
	assert.deepEqual(readdirSync(place.path('.faultwire/journal')), []);
}));

const DELETE = '--- a/docs/reports/y.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-hi\n';

test('a session is unlocked by a report with content, not by a blank or deleted one', () => serving({
	options: ['--preflight', 'false'],
	setup(place) {
		place.write('docs/reports/y.md', 'hi\n');
		return place.plan();
	},
}, async (server, place, plan) => {
	const report = (args) => code(server, 'write_file', { path: 'docs/reports/y.md', ...args });

	assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x', plan }), 'PREFLIGHT_FAILED');
	assert.equal(await report({ patch: DELETE }), 'UNAUTHORIZED_ACTION');
	assert.equal(await report({ patch: DELETE, plan }), 'UNAUTHORIZED_ACTION');
	assert.equal(place.read('docs/reports/y.md'), 'hi\n');
	assert.ok(await server.isLocked());
	assert.equal(await report({ content: '' }), 'ok');
	assert.equal(await report({ content: ' \n\t\r\n' }), 'ok');
	assert.ok(await server.isLocked());
	assert.equal(await report({ content: 'It failed.\n' }), 'ok');
	assert.ok(!(await server.isLocked()));
}));

test('the checks of write_file run in their documented order', () => serving({
	setup: (place) => place.plan(),
}, async (server, place, plan) => {
	const write = (args) => code(server, 'write_file', { path: 'src/a.txt', plan, ...args });
	const stale = '0'.repeat(64);

	assert.equal(await write({ patch: 'garbage', previousHash: stale }), 'HASH_MISMATCH');
	assert.equal(await write({ patch: 'garbage' }), 'PATCH_INVALID');
	assert.equal(await write({ patch: '@@ -1 +1 @@\n-four\n+five\n', previousHash: stale }), 'HASH_MISMATCH');
	assert.equal(await write({ path: 'src/none', patch: 'garbage', previousHash: stale }), 'FILE_NOT_FOUND');
	assert.equal(await write({ path: 'src/none', patch: 'garbage' }), 'PATCH_INVALID');
	assert.equal(await write({ path: 'src/none', patch: '@@ -1 +1 @@\n-four\n+five\n' }), 'FILE_NOT_FOUND');
	assert.equal(await write({ patch: '--- /dev/null\n+++ b/src/a.txt\n@@ -0,0 +1 @@\n+five\n' }), 'FILE_ALREADY_EXISTS');
	assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
}));

test('a role that may not write is refused before a missing plan is reported', () => serving({ role: 'antigravity' }, async (server) => {
	assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x' }), 'UNAUTHORIZED_ACTION');
	assert.equal(await code(server, 'write_file', { path: 'docs/reports/r.md', content: 'x' }), 'ok');
}));

test('a phase is returned complete, and one that is too long is refused', () => serving({}, async (server, place) => {
	const phase = '\u00e9'.repeat(255) + '\u{1f600}';
	const told = await server.fails('write_file', { path: 'src/a.txt', content: 'x', phase_id: phase });
	assert.equal(told.error_code, 'MISSING_REQUIRED_FIELD');
	assert.equal(told.phase_id, phase);
	assert.equal(place.audit().at(-1).phase_id, phase);
	const long = await server.fails('write_file', { path: 'src/a.txt', content: 'x', phase_id: '\u20ac'.repeat(5000) });
	assert.equal(long.error_code, 'INVALID_INPUT_VALUE');
	assert.match(long.phase_id, /^\u20ac+$/);
}));

test('an empty file is created and deleted by a patch with git headers only', () => serving({
	setup: (place) => place.plan(),
}, async (server, place, plan) => {
	const git = (name, mode, index) => `diff --git a/${name} b/${name}\n${mode} file mode 100644\nindex ${index}\n`;
	const write = (path, patch) => code(server, 'write_file', { path, patch, plan });

	assert.equal(await write('src/empty', git('src/empty', 'new', '0000000..e69de29')), 'ok');
	assert.equal(place.read('src/empty'), '');
	assert.equal(await write('src/empty', git('src/empty', 'new', '0000000..e69de29')), 'FILE_ALREADY_EXISTS');
	assert.equal(await write('src/a.txt', git('src/empty', 'deleted', 'e69de29..0000000')), 'PATCH_INVALID');
	assert.equal(await write('src/a.txt', git('src/a.txt', 'deleted', 'e69de29..0000000')), 'PATCH_APPLY_FAILED');
	assert.equal(await write('src/empty', git('src/empty', 'deleted', 'e69de29..0000000')), 'ok');
	assert.ok(!place.exists('src/empty'));
}));

/* ---- plans ---- */

for (const [what, header] of Object.entries({
	'no space behind its colons': (text) => text.replace(/^(\w+): /gm, '$1:'),
	'CR LF at the ends of its lines': (text) => text.replaceAll('\n', '\r\n'),
}))
	test(`a plan with ${what} has the hash that the rule gives`, () => serving({ role: 'antigravity' }, async (server, place) => {
		const pending = header('<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nROLE: ANTIGRAVITY\nSTATUS: PENDING\nSCOPE: src/**\n-->\n# It\n\nDo it.\n');
		const { plan } = await server.ok('save_plan', { content: pending });
		assert.equal(plan, sha256(pending));
		assert.equal(place.read(place.planPath(plan)), pending.replace('PENDING_HASH', plan));
		place.run(['plan', 'approve', '--yes', plan]);
		const approved = place.read(place.planPath(plan));
		const again = approved.replace(plan, 'PENDING_HASH').replace(/STATUS:( ?)APPROVED/, 'STATUS:$1PENDING').replace(/^SIGNATURE:.*\r?\n/m, '');
		assert.equal(again, pending);
	}));

test('a scope with braces is refused', () => serving({ role: 'antigravity' }, async (server) => {
	const plan = (scope) => `<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nROLE: ANTIGRAVITY\nSTATUS: PENDING\nSCOPE: ${scope}\n-->\n# It\n`;
	const told = await server.fails('save_plan', { content: plan('{a,b}/c') });
	assert.match(JSON.stringify(told), /braces/);
	await server.ok('save_plan', { content: plan('a/c, b/c, [{]d[}]') });
}));

for (const [what, make] of Object.entries({ 'link': symlinkSync, 'hard link': linkSync }))
	test(`a key outside that is a ${what} to one inside makes the server refuse to start`, async () => {
		const place = new Place();
		place.write('key', `${'ab'.repeat(32)}\n`);
		chmodSync(place.path('key'), 0o600);
		make(place.path('key'), join(place.base, 'k'));
		const run = spawnSync(program, ['serve', '--tools', 'workspace', '--role', 'windsurf', '--workspace', place.root, '--plan-key', join(place.base, 'k')],
			{ env: place.env, input: '', encoding: 'utf8' });
		assert.notEqual(run.status, 0);
		assert.match(run.stderr, /"error_code":"SELF_AUDIT_FAILURE"/);
		place.drop();
	});

/* ---- the audit log of a session ---- */

for (const [what, spoil] of Object.entries({
	'something else': (path) => writeFileSync(path, 'garbage\n'),
	'a folder': (path) => mkdirSync(path),
	'a link': (path) => symlinkSync('/etc/passwd', path),
}))
	test(`a session whose audit log is ${what} does not begin, and the next one does`, () => serving({
		before: true,
		setup(place) {
			place.write('bad/a.txt', 'x');
			place.write('good/a.txt', 'x');
			spoil(place.path('bad/audit-log.jsonl'));
		},
	}, async (server, place) => {
		const begin = (name) => code(server, 'begin_session', { workspace_root: place.path(name) });

		for (let i = 0; i < 3; i++) {
			assert.equal(await begin('bad'), 'AUDIT_LOG_FAILED');
			assert.equal(await code(server, 'read_file', { path: 'a.txt' }), 'SESSION_NOT_INITIALIZED');
		}
		assert.equal(await begin('good'), 'ok');
		assert.equal(await code(server, 'read_file', { path: 'a.txt' }), 'ok');
		place.run(['audit', 'verify', place.path('good/audit-log.jsonl')]);
		place.run(['audit', 'verify']);
	}));

test('a session begins in a root whose audit log was repaired', () => serving({
	before: true,
	setup: (place) => place.write('sub/audit-log.jsonl', 'garbage\n'),
}, async (server, place) => {
	assert.equal(await code(server, 'begin_session', { workspace_root: place.path('sub') }), 'AUDIT_LOG_FAILED');
	unlinkSync(place.path('sub/audit-log.jsonl'));
	await server.begin(place.path('sub'));
	place.run(['audit', 'verify', place.path('sub/audit-log.jsonl')]);
}));

test('a link that replaces the root does not move the audit log outside', () => serving({
	before: true,
	setup: (place) => place.write('sub/a.txt', 'x'),
}, async (server, place) => {
	const outside = mkdtempSync(join(tmpdir(), 'faultwire-workspace-'));

	await server.begin(place.path('sub'));
	renameSync(place.path('sub'), place.path('moved'));
	symlinkSync(outside, place.path('sub'));
	assert.equal((await server.fails('read_file', { path: 'a.txt' })).error_code, 'INVARIANT_VIOLATION');
	assert.deepEqual(readdirSync(outside), []);
	unlinkSync(place.path('sub'));
	renameSync(place.path('moved'), place.path('sub'));
	assert.equal((await server.fails('read_file', { path: 'none' })).error_code, 'FILE_NOT_FOUND');
	place.run(['audit', 'verify', place.path('sub/audit-log.jsonl')]);
	rmSync(outside, { recursive: true });
}));

test('a directory that is created again at the same path does not accept old approvals', (t) => {
	const place = new Place();
	try {
		const plan = place.plan();
		const usable = () => JSON.parse(place.run(['plan', 'list', '--json']))[0].usable;
		const kept = place.read(place.planPath(plan));
		const born = statSync(place.root, { bigint: true }).birthtimeNs;
		assert.equal(usable(), true);
		rmSync(place.root, { recursive: true });
		place.write(place.planPath(plan), kept);
		if (statSync(place.root, { bigint: true }).birthtimeNs === born) return t.skip('the file system keeps no time of creation');
		assert.equal(usable(), false);
		place.run(['plan', 'approve', '--yes', plan]);
		assert.equal(usable(), true);
	} finally {
		place.drop();
	}
});
