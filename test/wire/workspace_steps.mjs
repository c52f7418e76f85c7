/*
 * Server and worker are killed at each step of write_files, and the next server at a step
 * of its recovery: in the end all files are old or all are new, nothing is left over, and
 * the audit log says which.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Place, Server, faulty } from './lib/workspace.mjs';

const FILES = ['src/a.txt', 'src/b.txt', 'src/gone.txt', 'src/new/deep/c.txt'];
const FRESH = ['new a\n', 'new b\n', null, 'c\n'];
const STEPS_MAX = 60;
const AT_ONCE = 4;

const read = (place) => FILES.map((name) => (place.exists(name) ? place.read(name) : null));
const changes = (plan) => ({
	plan, make_directories: true,
	files: FILES.map((path, i) => (FRESH[i] === null ? { path, delete: true } : { path, content: FRESH[i], create: path.endsWith('c.txt') })),
});
/* With --sandbox off the worker can end its server, too. */
const how = (preflight, killAt) => ({
	options: ['--sandbox', 'off', '--preflight', preflight],
	...(killAt && { program: faulty, env: { FW_KILL_AT: String(killAt) } }),
});

/** Calls write_files in a server that dies at step `at`; the answer, or undefined. */
async function change(place, plan, preflight, at) {
	const server = await Server.start(place, 'stdio', how(preflight, at));
	await server.begin();
	const answer = await server.call('write_files', changes(plan)).catch(() => undefined);
	await server.close().catch(() => {});
	return answer;
}

/** Begins a session in a server that dies at step `at` of the recovery. */
async function recoverAndDie(place, preflight, at) {
	const server = await Server.start(place, 'stdio', how(preflight, at));
	const answer = await server.begin().catch(() => undefined);
	await server.close().catch(() => {});
	return !answer;
}

function assertNothingLeft(place) {
	for (const dir of ['src', 'src/new', 'src/new/deep', '.faultwire/journal'])
		if (place.exists(dir)) assert.deepEqual(readdirSync(place.path(dir)).filter((name) => name.startsWith('.faultwire')), [], dir);
	const state = `${place.base}/state/faultwire/workspaces`;
	for (const name of existsSync(state) ? readdirSync(state, { recursive: true }) : []) assert.doesNotMatch(name, /\.(pending|done)$/);
}

/** Is the file changed in the log: answered, or found by recovery? */
function assertLogged(place, isNew, recovered) {
	const log = place.audit();
	const notes = log.filter((line) => line.event === 'note' && JSON.stringify(line).includes('interrupted')).map((line) => JSON.stringify(line));
	for (const { path } of recovered) assert.ok(notes.some((note) => note.includes(path)), path);
	if (isNew) assert.ok(log.some((line) => line.tool_name === 'write_files' && line.event === 'change') || notes.some((note) => note.includes('content is new')));
}

async function round(preflight, at) {
	const place = new Place();
	place.write('src/b.txt', 'old b\n');
	place.write('src/gone.txt', 'gone\n');
	const plan = place.plan();
	const old = read(place);
	let last;
	try {
		const answer = await change(place, plan, preflight, at);
		const isKilledAgain = !answer && (await recoverAndDie(place, preflight, 1 + (at % 5)));
		last = await Server.start(place, 'stdio', how(preflight));
		const { recovered } = await last.begin();
		const now = read(place);
		const isNew = JSON.stringify(now) === JSON.stringify(FRESH);
		assert.ok(isNew || JSON.stringify(now) === JSON.stringify(old), `step ${at}: ${JSON.stringify(now)}`);
		if (preflight === 'false') assert.ok(!isNew, `step ${at}`);
		if (answer) assert.equal(isNew, !!answer.value, `step ${at}`);
		for (const one of recovered) assert.equal(one.outcome, isNew ? 'new' : 'old', `step ${at}`);
		assert.equal(place.exists('src/new'), isNew, `step ${at}: directories`);
		assertNothingLeft(place);
		assertLogged(place, isNew, recovered);
		assert.equal((await last.ok('verify_workspace_integrity')).intact, true);
		return { isKilled: !answer, isKilledAgain, isNew };
	} finally {
		await last?.close();
		place.drop();
	}
}

for (const preflight of ['true', 'false'])
	test(`killed at each step of write_files with preflight "${preflight}", and again in recovery, all files are old or all are new`, async () => {
		const results = [];
		while (results.length < STEPS_MAX && results.slice(-AT_ONCE).every((one) => one.isKilled))
			results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => round(preflight, results.length + i + 1)))));
		const count = (key) => results.filter((one) => one[key]).length;
		console.log(`# ${count('isKilled')} steps, killed again in recovery at ${count('isKilledAgain')}, ${count('isNew')} new`);
		assert.ok(results.length < STEPS_MAX && count('isKilled') > 12 && count('isKilledAgain') > 4);
		if (preflight === 'true') assert.ok(count('isNew') > 0);
	});
