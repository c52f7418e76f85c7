// The audit log says what failed: message, context, path, plan and intent, and always
// the name of a tool. Logs of earlier versions are still read, verified and continued.

import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnSync } from 'node:child_process';
import { program, serving } from './lib/workspace.mjs';

const here = dirname(fileURLToPath(import.meta.url));

test('an audit line says what failed: message, path, plan, intent and cause, as thrown', () => serving({
	setup: (place) => place.plan('src/**'),
}, async (server, place, plan) => {
	const intent = 'Tidy the example, as the plan says.';
	const failures = [
		['read_file', { path: 'src/none.txt' }],
		['write_file', { path: 'lib/b.txt', content: 'x\n', plan, intent }],
		['write_file', { path: 'src/a.txt', content: 'x\n', plan: 'f'.repeat(64), intent }],
		['write_file', { path: 'src/a.txt', patch: 'no patch', plan, intent }],
		['read_file', { path: '../outside/secret.txt' }],
		['read_file', { path: 7 }],
	];
	for (const [tool, args] of failures) {
		const { envelope, canonical } = await server.call(tool, args);
		const line = place.audit().at(-1);
		assert.equal(line.event, 'failure');
		assert.deepEqual([line.tool_name, line.error_code, line.code, line.message, line.incident_id],
			[tool, envelope.error_code, canonical.code, envelope.human_message, canonical.incident_id]);
		assert.deepEqual(line.cause, envelope.cause);
		assert.deepEqual(line.context, canonical.context ?? null, 'the context as thrown');
		assert.equal(line.path, canonical.context?.path ?? (typeof args.path === 'string' ? args.path : null));
		assert.equal(line.intent, args.intent ?? null);
		assert.equal(line.plan_hash, args.plan ?? null);
		assert.match(line.args_hash, /^[0-9a-f]{64}$/);
		assert.equal(JSON.stringify(line).includes(canonical.hint), false, 'without the hint');
	}
}));

test('a change has its path and intent in the audit log', () => serving({
	setup: (place) => place.plan('src/**'),
}, async (server, place, plan) => {
	await server.ok('write_file', { path: 'src/a.txt', content: 'new\n', plan, intent: 'make it new' });
	const line = place.audit().at(-1);
	assert.deepEqual([line.event, line.tool_name, line.path, line.intent, line.message, line.context], ['change', 'write_file', 'src/a.txt', 'make it new', null, null]);
}));

test('write_files and move_file named none of their files, or one, in the audit log', () => serving({
	setup: (place) => place.plan('src/**'),
}, async (server, place, plan) => {
	const last = () => place.audit().at(-1);
	const paths = ['src/b.txt', 'src/c.txt'];
	const files = (content) => paths.map((path) => ({ path, content, create: true }));

	await server.ok('write_files', { files: files('new\n'), plan });
	assert.deepEqual([last().event, last().path, last().paths], ['change', null, paths]);
	await server.call('write_files', { files: files('new\n'), plan });
	assert.deepEqual([last().code, last().path, last().paths], ['file.already_exists', paths[0], paths]);
	await server.ok('move_file', { path: 'src/b.txt', to: 'src/d.txt', plan });
	assert.deepEqual([last().path, last().paths], ['src/b.txt', ['src/b.txt', 'src/d.txt']]);
	await server.ok('delete_file', { path: 'src/d.txt', plan });
	assert.deepEqual([last().path, 'paths' in last()], ['src/d.txt', false]);
	await server.call('write_files', { files: Array(1000).fill({ path: 'x'.repeat(3000) }), plan });
	const cut = last().paths;
	assert.ok(cut.length <= 100 && cut.every((path) => path.length <= 1024), `${cut.length}`);
	const stdout = place.run(['audit', 'tail', place.root]);
	assert.match(stdout, /write_files  paths src\/b\.txt, src\/c\.txt/);
	assert.match(stdout, /move_file  paths src\/b\.txt, src\/d\.txt/);
}));

test('secrets in path and intent are not in the audit log', () => serving({
	setup: (place) => place.plan('src/**'),
}, async (server, place, plan) => {
	const secret = `ghp_${'aB3dE6gH9j'.repeat(4).slice(0, 36)}`;
	await server.call('write_file', { path: `lib/${secret}`, content: 'x', plan, intent: `deploy with password=hunter2-and-more and ${secret}` });
	const line = place.audit().at(-1);
	assert.equal(JSON.stringify(line).includes(secret), false, JSON.stringify(line));
	assert.equal(JSON.stringify(line).includes('hunter2'), false, JSON.stringify(line));
	assert.match(line.intent, /^deploy with/);
}));

test('resources/read is named in its envelope and in the audit log, with its URI', () => serving({}, async (server, place) => {
	const { resourceTemplates } = await server.client.listResourceTemplates();
	const uri = resourceTemplates[0].uriTemplate.replace(/\{[^}]*\}/, 'none.txt');
	const error = await server.client.readResource({ uri }).then(() => assert.fail('read'), (failed) => failed);
	const line = place.audit().at(-1);
	assert.deepEqual([error.data.error.tool_name, line.tool_name], ['resources/read', 'resources/read']);
	assert.ok([uri, 'none.txt'].includes(line.path), line.path);
}));

test('a message that cannot be read has the tool "unknown", as in its envelope', () => serving({}, async (server, place) => {
	server.client.child.stdin.write('{"jsonrpc":\n');
	// A success does not wait for the record of a failure before it.
	for (let i = 0; i < 100 && !place.audit().at(-1)?.code; i++) await server.ok('list_plans');
	const line = place.audit().at(-1);
	assert.deepEqual([line.code, line.tool_name], ['protocol.parse_error', 'unknown']);
}));

test('a log of an earlier version verifies, is printed, and is continued', () => {
	const dir = mkdtempSync(join(tmpdir(), 'fw-old-'));
	const log = join(dir, 'audit-log.jsonl');
	const run = (args, input = '') => spawnSync(program, args, { env: { ...process.env, XDG_STATE_HOME: dir }, input, encoding: 'utf8' });

	copyFileSync(join(here, 'data/audit-old.jsonl'), log);
	assert.equal(run(['audit', 'verify', log]).status, 0);
	assert.match(run(['audit', 'tail', '-n', '1', log]).stdout, /failure {2}protocol\.parse_error {2}inc_/);
	assert.equal(run(['serve', '--audit', log, '--log', 'off', '--incidents', 'off'], '{"jsonrpc":"2.0","id":1,"method":"no/such"}\n').status, 0);
	const lines = readFileSync(log, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
	assert.equal(lines.length, 4);
	assert.deepEqual(['message' in lines[2], typeof lines[3].message], [false, 'string']);
	assert.match(run(['audit', 'verify', log]).stdout, /^OK: 4 records/);
	// Notes of a session before it are not the point here: the last line is.
	assert.match(run(['audit', 'tail', '-n', '1', log]).stdout, / {2}no\/such {2}protocol\.\w+: .+ {2}inc_/);
});

test('audit tail prints the canonical code, the message, the path and the intent', () => serving({
	setup: (place) => place.plan('src/**'),
}, async (server, place, plan) => {
	await server.call('write_file', { path: 'src/a.txt', content: 'x', plan: 'f'.repeat(64), intent: 'try it' });
	const out = place.run(['audit', 'tail', '-n', '1', place.root]);
	assert.match(out, / {2}failure {2}write_file {2}plan\.not_found: .*  path src\/a\.txt {2}intent: try it {2}inc_/);
}));
