/*
 * What preflight commands and crashes do to the files between the steps of a change: a
 * command that removes or replaces files and directories, an exchanged link, a workspace
 * that disappears, and writes that overtake each other.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Place, Server, code, faulty } from './lib/workspace.mjs';

const A = 'one\ntwo\nthree\n';

async function serving(preflight, run, more = {}) {
	const place = new Place();
	place.write('src/sub/b.txt', 'b\n');
	const plan = place.plan();
	const server = await Server.start(place, 'stdio', { options: ['--preflight', preflight], ...more });
	try {
		await server.begin();
		await run(server, place, plan);
	} finally {
		await server.close().catch(() => {});
		place.drop();
	}
}

const files = [{ path: 'src/a.txt', content: 'new a\n' }, { path: 'src/sub/b.txt', content: 'new b\n' }, { path: 'src/new/c.txt', content: 'c\n', create: true }];
const change = (plan) => ({ plan, files, make_directories: true });

function assertOld(place) {
	assert.equal(place.read('src/a.txt'), A);
	assert.equal(place.read('src/sub/b.txt'), 'b\n');
	assert.equal(place.exists('src/new'), false);
	assert.deepEqual(readdirSync(place.path('.faultwire/journal')), []);
}

for (const [what, command] of [
	['removes the files', 'rm src/a.txt src/sub/b.txt src/new/c.txt; false'],
	['removes the directories', 'rm -rf src; false'],
	['replaces the directories by others', 'mv src away; mkdir -p src/sub; echo x >src/a.txt; rm -rf away; false'],
	['empties the journal and removes the files', 'rm -rf .faultwire/journal/* .faultwire/journal/.f* src; false'],
	['removes a written file and succeeds', 'rm src/sub/b.txt'],
	['makes a written file a link and succeeds', 'ln -sf /etc/hostname src/a.txt'],
	['makes a written file a directory and succeeds', 'rm src/a.txt; mkdir src/a.txt'],
])
	test(`a preflight command that ${what} has failed, and all files are restored`, () => serving(command, async (server, place, plan) => {
		const envelope = await server.fails('write_files', change(plan));
		assert.equal(envelope.error_code, 'PREFLIGHT_FAILED', JSON.stringify(envelope));
		assertOld(place);
		assert.equal(await code(server, 'list_plans'), 'SESSION_LOCKED');
	}));

test('a preflight command that moves the directory away behind a link is found out, and the content is kept', () =>
	serving('mv src away && mkdir -p other/sub && ln -s other src; false', async (server, place, plan) => {
		const envelope = await server.fails('write_files', change(plan));
		assert.equal(envelope.error_code, 'INVARIANT_VIOLATION');
		assert.equal(envelope.invariant_id, 'OLD_CONTENT_COMES_BACK');
		assert.deepEqual(readdirSync(place.path('other/sub')), []);
		await server.close();
		/* The next session tells where the old content is. */
		const next = await Server.start(place, 'stdio');
		const { recovered } = await next.begin();
		const kept = Object.fromEntries(recovered.filter((one) => one.kept).map((one) => [one.path, place.read(one.kept)]));
		assert.deepEqual(kept, { 'src/a.txt': A, 'src/sub/b.txt': 'b\n' });
		await next.close();
	}));

test('what a preflight command formats is what the result says', () => serving("sed -i 's/new/formatted/' src/a.txt src/sub/b.txt", async (server, place, plan) => {
	const done = await server.ok('write_files', change(plan));
	assert.deepEqual(done.files.map((file) => file.size), [12, 12, 2]);
	assert.equal(place.read('src/a.txt'), 'formatted a\n');
}));

test('writes that wait for each other are not recorded as interrupted', () => serving('true', async (server, place, plan) => {
	const write = (i) => server.ok('write_file', { path: `src/n${i}.txt`, content: 'x\n', create: true, plan });
	for (let first = 0; first < 24; first += 8) await Promise.all(Array.from({ length: 8 }, (_, i) => write(first + i)));
	const log = place.audit();
	assert.equal(log.filter((line) => line.tool_name === 'write_file' && line.event === 'change').length, 24);
	assert.deepEqual(log.filter((line) => line.event === 'note'), []);
}));

test('a workspace that disappears during a write is an invariant violation, and the server stays', () =>
	serving('cd / && rm -rf "$HOME"/* "$HOME"/.faultwire', async (server, place, plan) => {
		assert.match(await code(server, 'write_files', change(plan)), /^(PREFLIGHT_FAILED|INVARIANT_VIOLATION)$/);
		rmSync(place.root, { recursive: true, force: true });
		const envelope = await server.fails('read_file', { path: 'src/a.txt' });
		assert.equal(envelope.invariant_id, 'WORKSPACE_ROOT_UNCHANGED');
	}));

/** A server that dies after it has exchanged the files. */
async function dieAfterExchange(place, plan) {
	const server = await Server.start(place, 'stdio', { program: faulty, env: { FW_KILL_AT: '14' }, options: ['--sandbox', 'off', '--preflight', 'true'] });
	await server.begin();
	await assert.rejects(server.call('write_files', change(plan)));
	await server.close().catch(() => {});
	assert.equal(place.read('src/a.txt'), 'new a\n');
}

test('a workspace that is created again after a crash gets none of the old content', () => serving('true', async (server, place, plan) => {
	await server.close();
	await dieAfterExchange(place, plan);
	renameSync(place.root, `${place.root}.old`);
	mkdirSync(place.path('src'), { recursive: true });
	writeFileSync(place.path('src/a.txt'), 'a fresh copy\n');
	const next = await Server.start(place, 'stdio');
	const { recovered } = await next.begin();
	assert.equal(place.read('src/a.txt'), 'a fresh copy\n');
	assert.deepEqual(readdirSync(place.path('src')), ['a.txt']);
	assert.ok(recovered.length && recovered.every((one) => one.outcome === 'not restored' && !one.kept), JSON.stringify(recovered));
	await next.close();
}));

test('a link that took the place of a directory after a crash is not followed by recovery', () => serving('true', async (server, place, plan) => {
	await server.close();
	await dieAfterExchange(place, plan);
	renameSync(place.path('src'), place.path('away'));
	symlinkSync('../outside', place.path('src'));
	const next = await Server.start(place, 'stdio');
	const { recovered } = await next.begin();
	assert.deepEqual(readdirSync(`${place.base}/outside`), ['secret.txt']);
	assert.deepEqual(recovered.map((one) => one.outcome), ['not restored', 'not restored', 'old']);
	assert.equal(place.read(recovered[0].kept), A);
	await next.close();
}));

test('links that are exchanged while files are written lead nowhere', () => serving('true', async (server, place, plan) => {
	mkdirSync(place.path('real'));
	writeFileSync(place.path('real/a.txt'), 'real\n');
	let isRunning = true;
	const swap = (async () => {
		for (let i = 0; isRunning; i++) {
			rmSync(place.path('src/link'), { force: true });
			symlinkSync(['../real', '../../outside', 'sub'][i % 3], place.path('src/link'));
			await new Promise((done) => setImmediate(done));
		}
	})();
	for (let i = 0; i < 40; i++)
		await server.call('write_files', { plan, files: [{ path: 'src/link/b.txt', content: `${i}\n`, create: true }, { path: 'src/link/secret.txt', content: 'stolen\n', create: true }] });
	isRunning = false;
	await swap;
	assert.deepEqual(readdirSync(`${place.base}/outside`), ['secret.txt']);
	assert.equal(readFileSync(`${place.base}/outside/secret.txt`, 'utf8'), 'secret\n');
	assert.deepEqual(readdirSync(place.path('real')), ['a.txt']);
	assert.ok(statSync(place.path('src/sub')).isDirectory());
}));
