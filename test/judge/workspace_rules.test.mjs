/*
 * The governed workspace held to its own rules: what was once found to break
 * one of them, by a name that says how it showed.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Place, Server } from './workspace_lib.mjs';

/* A place and a server of it, with a session unless `how.before`. */
async function serving(how, body) {
	const place = new Place();
	const given = how.setup?.(place);
	const server = await Server.start(place, 'stdio', how);
	try {
		if (!how.before) await server.begin();
		await body(server, place, given);
	} finally {
		await server.close();
		place.drop();
	}
}

const code = async (server, name, args) => (await server.call(name, args)).envelope?.error_code ?? 'ok';

/* ---- writing ------------------------------------------------------------------------ */

test('a write that takes away what the preflight forbids passes', () => serving({
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

/* ---- the audit log of a session --------------------------------------------------------- */

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

test('a link in the place of the root does not lead the audit log out', () => serving({
	before: true,
	setup: (place) => place.write('sub/a.txt', 'x'),
}, async (server, place) => {
	const outside = mkdtempSync(join(tmpdir(), 'faultwire-judge-'));

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
