// What "make run" starts: it prints a URL and three things to try, each of them works, the
// traffic is gentle, and Ctrl-C leaves no process and no file.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const root = process.env.FW_ROOT ?? new URL('../..', import.meta.url).pathname;
const program = process.env.FAULTWIRE ?? join(root, 'build/faultwire');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-demo-'));
// Its own group, as a shell gives it: Ctrl-C reaches every process of the group.
const child = spawn('sh', [join(root, 'scripts/demo'), '127.0.0.1:0'], { detached: true, env: { ...process.env, TMPDIR: scratch, FAULTWIRE: program }, stdio: ['ignore', 'pipe', 'pipe'] });
const ended = new Promise((done) => child.on('exit', (status, signal) => done({ status, signal })));
let said = '';
child.stdout.on('data', (bytes) => { said += bytes; });
child.stderr.on('data', (bytes) => { said += bytes; });

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(what, probe) {
	for (let i = 0; i < 1500; i++) {
		const found = await probe();
		if (found) return found;
		if (child.exitCode !== null) break;
		await pause(40);
	}
	throw new Error(`it did not come to this: ${what}\n${said}`);
}

// Processes that have the directory of the demonstration in their environment or arguments.
function left() {
	return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
		try {
			return Number(pid) !== process.pid && ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(scratch));
		} catch {
			return false; // it has ended, or is somebody else's
		}
	});
}

after(() => {
	try {
		process.kill(-child.pid, 'SIGKILL');
	} catch { /* it has ended */ }
	rmSync(scratch, { recursive: true, force: true });
});

test('it prints a URL and three things to try, and each of them works', async () => {
	await until('all is printed', () => said.includes('Ctrl-C ends it'));
	const [url] = said.match(/http:\/\/127\.0\.0\.1:\d+/);
	assert.match(said, /Three things to try/);
	assert.equal((said.match(/^ +\d\. /gm) ?? []).length, 3);
	// 1. The dashboard.
	assert.equal((await fetch(`${url}/`, { headers: { Accept: 'text/html' } })).status, 200);
	// 2. The playground.
	assert.match(said, /#\/playground/);
	const read = await (await fetch(`${url}/api/v1/inspect`, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'ECONNREFUSED 127.0.0.1:5432' })).json();
	assert.equal(read.code, 'transport.connection_refused');
	// 3. The command to paste.
	const [, command] = said.match(/^ +(\S*faultwire call \S+ crash)$/m);
	const pasted = spawn('sh', ['-c', `${command} --retry off`], { stdio: ['ignore', 'pipe', 'pipe'] });
	let printed = '';
	pasted.stderr.on('data', (bytes) => { printed += bytes; });
	await new Promise((done) => pasted.on('close', done));
	assert.match(printed, /died of SIGSEGV/);
});

test('calls succeed and fail, a few per second', async () => {
	const [url] = said.match(/http:\/\/127\.0\.0\.1:\d+/);
	const seen = await until('calls of several kinds', async () => {
		const overview = await (await fetch(`${url}/api/v1/overview`)).json();
		return overview.failures_total >= 5 && overview.calls_total > overview.failures_total && overview;
	});
	assert.ok(new Set(seen.rows.map((row) => row.code)).size >= 3, 'codes');
	assert.deepEqual(seen.upstreams.map(({ name }) => name).sort(), ['code', 'faulty']);
	const age = (seen.now_ms - seen.started_ms) / 1000;
	assert.ok(seen.calls_total < 60 * (age + 1), `${seen.calls_total} requests in ${age} s`);
});

test('Ctrl-C ends it, and nothing is left', async () => {
	process.kill(-child.pid, 'SIGINT');
	assert.deepEqual(await ended, { status: 0, signal: null });
	// Programs behind the gateway are ended by their supervisors, a moment later.
	for (let i = 0; i < 250 && left().length; i++)
		await pause(40);
	assert.deepEqual(left(), []);
	assert.deepEqual(readdirSync(scratch), []);
});
