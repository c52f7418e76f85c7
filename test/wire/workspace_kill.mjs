/*
 * Server and worker are killed at random moments of write_files: after the
 * next begin_session all files are old or all are new, nothing is left over, and the audit
 * log verifies. FW_ROUNDS and FW_SEED choose the rounds.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Place, Server, sha256 } from './lib/workspace.mjs';

const rounds = Number(process.env.FW_ROUNDS ?? 120);
const seed = Number(process.env.FW_SEED ?? 1);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/* mulberry32 */
function random(state) {
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

const children = (pid) => {
	const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => {
		try {
			return [Number(name), Number(readFileSync(`/proc/${name}/stat`, 'utf8').match(/\) \S (\d+)/)[1])];
		} catch {
			return [0, 0];
		}
	});
	const found = [pid];
	for (const one of found) found.push(...all.filter(([, parent]) => parent === one).map(([child]) => child));
	return found;
};

/** Ends the server and all that it has started, at once. */
function killAll(pid) {
	for (const one of children(pid))
		try {
			process.kill(one, 'SIGKILL');
		} catch {}
}

const FILES = ['src/a.txt', 'src/b.txt', 'src/gone.txt', 'src/new/deep/c.txt', 'src/d.txt'];
const read = (place) => FILES.map((name) => (place.exists(name) ? place.read(name) : null));
const big = (text) => `${text}\n`.repeat(3000);

async function round(number) {
	const next = random(seed * 1000003 + number);
	const place = new Place();
	place.write('src/b.txt', big('old b'));
	place.write('src/gone.txt', 'gone\n');
	place.write('src/d.txt', '');
	const plan = place.plan();
	const old = read(place);
	const fresh = ['new a\n', big('new b'), null, 'c\n', 'd\n'];
	const preflight = next() < 0.5 ? 'true' : 'sleep 0.02; echo out >src/.built; rm -f src/.built';
	const options = ['--preflight', preflight];
	const files = [{ path: 'src/a.txt', content: fresh[0], previousHash: sha256(old[0]) }, { path: 'src/b.txt', content: fresh[1] },
		{ path: 'src/gone.txt', delete: true }, { path: 'src/new/deep/c.txt', content: fresh[3], create: true }, { path: 'src/d.txt', content: fresh[4] }];
	try {
		const first = await Server.start(place, 'stdio', { options });
		await first.begin();
		const answer = first.call('write_files', { plan, files, make_directories: true }).catch(() => undefined);
		await Promise.race([pause(next() * 60), answer]);
		killAll(first.pid);
		const answered = await answer;
		await first.close().catch(() => {});
		const second = await Server.start(place, 'stdio', { options });
		const { recovered } = await second.begin();
		const now = read(place);
		const isNew = JSON.stringify(now) === JSON.stringify(fresh);
		assert.ok(isNew || JSON.stringify(now) === JSON.stringify(old), `round ${number}: ${JSON.stringify(now).slice(0, 300)}`);
		if (answered?.value) assert.ok(isNew, `round ${number}: answered, and lost`);
		for (const one of recovered) assert.equal(one.outcome, isNew ? 'new' : 'old');
		assert.deepEqual(readdirSync(place.path('src')).filter((name) => name.startsWith('.faultwire')), []);
		assert.equal(place.exists('src/new'), isNew, `round ${number}: directories`);
		if (place.exists('.faultwire/journal')) assert.deepEqual(readdirSync(place.path('.faultwire/journal')), []);
		assert.equal((await second.ok('verify_workspace_integrity')).intact, true);
		await second.close();
		assert.match(place.run(['audit', 'verify', 'audit-log.jsonl']), /intact/);
		return { isNew, recovered: recovered.length > 0, answered: !!answered?.value };
	} finally {
		place.drop();
	}
}

test(`killed at ${rounds} random moments of write_files, all files are old or all are new, and the log verifies`, async () => {
	const count = { isNew: 0, recovered: 0, answered: 0 };
	for (let first = 0; first < rounds; first += 4) {
		const results = await Promise.all(Array.from({ length: Math.min(4, rounds - first) }, (_, i) => round(first + i)));
		for (const result of results) for (const name of Object.keys(count)) count[name] += result[name];
	}
	console.log(`# of ${rounds} rounds: ${count.isNew} new, ${count.recovered} recovered, ${count.answered} answered`);
	assert.ok(count.isNew < rounds && count.recovered > 0);
});
