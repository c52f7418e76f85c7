/*
 * Evidence: neither a preflight command nor anyone else can rewrite the audit log
 * unnoticed, and removing the record of a used bootstrap payload does not make it valid
 * again.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { Place, Server, code, program, serving, sha256 } from './lib/workspace.mjs';

const session = (body, how = {}) => serving(how, body);

const verify = (place) => spawnSync(program, ['audit', 'verify', '--json', place.path('audit-log.jsonl')], { env: place.env, encoding: 'utf8' });

/* A forged log that hides failures: a valid chain, and longer than the real one. */
function forge(text) {
	const kept = text.split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter((one) => one.event !== 'failure');
	let prev = 'GENESIS';
	const lines = Array.from({ length: 20 }, (unused, i) => {
		const { hash, ...rest } = { ...kept[i % kept.length], seq: i + 1, prev_hash: prev };
		prev = sha256(JSON.stringify(rest));
		return JSON.stringify({ ...rest, hash: prev });
	});
	return `${lines.join('\n')}\n`;
}

/* Writes to the log by its name in the workspace and by its real path, truncates it,
 * and removes everything in the state directory. */
const attack = `exec 2>/dev/null
real=$(readlink -f audit-log.jsonl)
cp forged.jsonl audit-log.jsonl
cp forged.jsonl "$real"
(: >"$real")
rm -f "$real"
rm -rf "$(dirname "$(dirname "$real")")"/*
true`;

test('a preflight command cannot rewrite audit-log.jsonl', () =>
	session(async (server, place, plan) => {
		for (let i = 0; i < 5; i++) assert.equal(await code(server, 'read_file', { path: 'none' }), 'FILE_NOT_FOUND');
		place.write('forged.jsonl', forge(place.read('audit-log.jsonl')));
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x\n', plan }), 'ok');
		assert.equal(place.audit().filter((one) => one.error_code === 'FILE_NOT_FOUND').length, 5);
		assert.equal(await code(server, 'read_file', { path: 'none' }), 'FILE_NOT_FOUND');
		assert.equal(verify(place).status, 0);
		assert.ok((await server.ok('verify_workspace_integrity')).intact);
		assert.match(JSON.stringify(await server.ok('read_audit_log')), /FILE_NOT_FOUND/);
	}, { setup: (place) => place.plan(), options: ['--preflight', attack] }));

test('a preflight command that replaces the link by its own log fails', () =>
	session(async (server, place, plan) => {
		await server.fails('read_file', { path: 'none' });
		place.write('forged.jsonl', forge(place.read('audit-log.jsonl')));
		const log = readlinkSync(place.path('audit-log.jsonl'));
		const told = await server.fails('write_file', { path: 'src/a.txt', content: 'x\n', plan });
		assert.deepEqual([told.error_code, told.invariant_id], ['INVARIANT_VIOLATION', 'AUDIT_LOG_IN_ITS_PLACE']);
		assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
		assert.ok(await server.isLocked());
		const records = readFileSync(log, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
		assert.ok(records.some((one) => one.error_code === 'FILE_NOT_FOUND') && records.some((one) => one.error_code === 'INVARIANT_VIOLATION'));
		/* The next server does not take it for the log either. */
		const next = await Server.start(place, 'stdio');
		assert.equal((await next.fails('begin_session', { workspace_root: place.root })).invariant_id, 'AUDIT_LOG_IN_ITS_PLACE');
		rmSync(place.path('audit-log.jsonl'));
		await next.begin();
		assert.equal(realpathSync(place.path('audit-log.jsonl')), realpathSync(log));
		await next.close();
	}, { setup: (place) => place.plan(), options: ['--preflight', 'rm audit-log.jsonl && cp forged.jsonl audit-log.jsonl'] }));

test('a preflight command that writes to .faultwire does not change what is restored', () =>
	session(async (server, place, plan) => {
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'new\n', plan }), 'PREFLIGHT_FAILED');
		assert.equal(place.read('src/a.txt'), 'one\ntwo\nthree\n');
	}, { setup: (place) => place.plan(), options: ['--preflight', 'for f in .faultwire/journal/.faultwire-*; do echo forged >$f; done; false'] }));

test('a preflight command may write build output anywhere, also in new directories', () =>
	session(async (server, place, plan) => {
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'x\n', plan }), 'ok');
		assert.equal(place.read('target/debug/out.o'), 'x\n');
		assert.equal(place.read('a.out'), 'x\n');
	}, { setup: (place) => place.plan(), options: ['--preflight', 'mkdir -p target/debug && cp src/a.txt target/debug/out.o && cp src/a.txt a.out'] }));

test('a used bootstrap payload stays invalid after its traces in the workspace are removed', () =>
	session(async (server, place) => {
		const good = JSON.parse(place.run(['plan', 'bootstrap', '--scope', 'src/**', '--title', 'First', '-'], 'Begin.'));
		await server.ok('bootstrap_create_foundation_plan', good);
		rmSync(place.path('.faultwire'), { recursive: true, force: true });
		for (const name of readdirSync(place.path('docs/plans'))) rmSync(place.path(`docs/plans/${name}`));
		const told = await server.fails('bootstrap_create_foundation_plan', good);
		assert.equal(told.error_code, 'BOOTSTRAP_FAILURE');
		assert.match(told.human_message, /used before/);
		assert.deepEqual(readdirSync(place.path('docs/plans')), []);
	}, { role: 'antigravity' }));

test('a log that is rewritten under a running server causes a refusal and an alert, and is not written to', () =>
	session(async (server, place, plan) => {
		for (let i = 0; i < 5; i++) await server.fails('read_file', { path: 'none' });
		const whole = place.read('audit-log.jsonl');
		const forged = forge(whole);
		place.write('audit-log.jsonl', forged);
		const told = await server.fails('write_file', { path: 'src/a.txt', content: 'x\n', plan });
		assert.deepEqual([told.error_code, told.invariant_id], ['INVARIANT_VIOLATION', 'AUDIT_LOG_CONTINUES']);
		assert.equal(place.read('audit-log.jsonl'), forged);
		for (const word of [/audit_down/, /alert.*governance\.invariant_violation|governance\.invariant_violation.*alert/i]) {
			for (let i = 0; i < 100 && !word.test(server.said()); i++) await new Promise((done) => setTimeout(done, 20));
			assert.match(server.said(), word);
		}
		/* Locked, and what changes something is refused before it runs. */
		const next = await server.fails('write_file', { path: 'docs/reports/1.md', content: 'What happened.' });
		assert.equal(next.error_code, 'INVARIANT_VIOLATION');
		assert.equal(verify(place).status, 1);
		assert.deepEqual(JSON.parse(verify(place).stdout).kept.present, false);
		/* Put back, it goes on. */
		place.write('audit-log.jsonl', whole);
		for (let i = 0; i < 100 && await code(server, 'write_file', { path: 'docs/reports/1.md', content: 'What happened.' }) !== 'ok'; i++)
			await new Promise((done) => setTimeout(done, 50));
		assert.equal(await code(server, 'write_file', { path: 'src/a.txt', content: 'y\n', plan }), 'ok');
		assert.equal(verify(place).status, 0);
	}, { setup: (place) => place.plan(), options: ['--log', 'json'] }));

test('a server refuses to start with a log that was rewritten since the last one, until it is accepted', async () => {
	const place = new Place();
	const start = () => spawnSync(program, ['serve', '--tools', 'workspace', '--role', 'windsurf', '--workspace', place.root],
		{ env: place.env, encoding: 'utf8', input: '' });
	const server = await Server.start(place, 'stdio');
	await server.begin();
	for (let i = 0; i < 5; i++) await server.fails('read_file', { path: 'none' });
	await server.close();
	assert.ok(lstatSync(place.path('audit-log.jsonl')).isSymbolicLink());
	const whole = place.read('audit-log.jsonl');
	for (const text of [forge(whole), whole.split('\n').slice(0, 2).join('\n').concat('\n')]) {
		place.write('audit-log.jsonl', text);
		const { status, stderr } = start();
		assert.notEqual(status, 0);
		assert.match(stderr, /"error_code":"SELF_AUDIT_FAILURE"/);
		assert.match(stderr, /faultwire audit accept/);
	}
	place.run(['audit', 'accept', place.path('audit-log.jsonl')]);
	assert.equal(start().status, 0);
	const again = await Server.start(place, 'stdio');
	await again.begin();
	await again.fails('read_file', { path: 'none' });
	await again.close();
	assert.equal(verify(place).status, 0);
	const log = realpathSync(place.path('audit-log.jsonl'));
	rmSync(log);
	assert.match(place.run(['audit', 'accept', log]), /accepted: 0 records/);
	assert.equal(start().status, 0);
	place.drop();
});
