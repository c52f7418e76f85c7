// The audit cannot be written: a disk that is full, a file that may not grow, a
// lock that somebody holds, a file that may not be changed. Callers get an error, in
// every contract; nothing changes meanwhile; it comes back by itself.
//
// reaches: audit.log_failed, audit.lock_failed

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, contracts, env, finish, has, match, run, same, skip, test } from './lib/cli.mjs';
import { changer, place, records, started, verify } from './lib/audit.mjs';
import { served } from './lib/served.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';

const isRoot = process.getuid() === 0;
const command = (name, ...args) => spawnSync(name, args).status === 0;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const inContract = (name) => ({ 'dev.faultwire/contract': name });

// What each contract says of a failure to write, and where its cause can be seen.
const told = {
	canonical: (error) => [error.code, JSON.stringify(error.cause ?? error.causes)],
	kaiza: (error) => [error.error_code, JSON.stringify(error.cause)],
	'context-v0': (error) => [error.error.code, null],
	codeintel: (error) => [error.problem.code, null],
	toolerror: (error) => [error.type, null],
	owlclaw: (error) => [error.error.code, null],
	'owlclaw-api': (error) => [error.code, null],
};
const expected = {
	canonical: 'audit.log_failed',
	kaiza: 'AUDIT_LOG_FAILED',
	'context-v0': 'internal_error',
	codeintel: 'audit-log-failed',
	toolerror: 'INTERNAL',
	owlclaw: 'audit.log_failed',
	'owlclaw-api': 'audit.log_failed',
};

// With the audit down: who gets which error, and what does not happen.
async function suffer(wire, state, errno) {
	for (const contract of contracts) {
		const reply = await wire.call('fail', { text: 'while down' }, inContract(contract));
		const [code, cause] = told[contract](JSON.parse(text(reply)));
		same([reply.result.isError, code], [true, expected[contract]], contract);
		if (cause) check(cause.includes('file.not_found'), `${contract} tells what happened: ${cause}`);
		const error = canonical(reply);
		same(error.code, 'audit.log_failed');
		check(JSON.stringify(error).includes(`"${errno}"`), `${errno} is in ${JSON.stringify(error)}`);
		same([error.cause.code, error.context.errno], ['file.not_found', errno], 'the outcome, and why it was not written');
	}
	const refused = await wire.call('change', { text: 'while down' }, inContract('kaiza'));
	same([refused.result.isError, JSON.parse(text(refused)).error_code], [true, 'AUDIT_LOG_FAILED']);
	check(!existsSync(state) || !readFileSync(state, 'utf8').includes('while down'), 'nothing was changed');
	same((await wire.call('echo', { text: 'reads go on' })).result.content[0].text, 'reads go on');
}

async function recovered(wire, state) {
	for (let i = 0; ; i++) {
		const reply = await wire.call('change', { text: 'after' });
		if (!reply.result.isError) break;
		check(i < 100, 'it comes back');
		await pause(100);
	}
	match(readFileSync(state, 'utf8'), /after\n$/);
}

async function failUntilDown(wire) {
	for (let i = 0; i < 5000; i++) {
		const error = canonical(await wire.call('fail', { text: `fill ${i}` }));
		if (error.code !== 'file.not_found') return i;
	}
	throw new Error('it never went down');
}

function resumed(log, errno) {
	verify(log);
	const note = records(log).find((record) => record.reason === 'writing resumed');
	check(note, 'the log says that there was a gap');
	same(note.failure, errno);
	check(note.lost >= 7, `and how many are lost: ${note.lost}`);
}

// A directory that is a file system of 64 kB.
function smallDisk() {
	if (!isRoot) skip('mounting needs root');
	const dir = place();
	if (!command('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir)) skip('tmpfs cannot be mounted here');
	return dir;
}

test('a full disk (tmpfs)', async () => {
	const dir = smallDisk();
	try {
		const log = join(dir, 'audit-log.jsonl');
		const state = join(place(), 'state');
		const wire = await started('--audit', log, '--state', state);
		const count = await failUntilDown(wire);
		check(count > 20);
		await suffer(wire, state, 'ENOSPC');
		same(verify(log), count, 'no half line, no line of a reply that failed');
		check(command('mount', '-o', 'remount,size=1m', dir));
		await recovered(wire, state);
		same((await wire.end()).status, 0);
		resumed(log, 'ENOSPC');
	} finally {
		command('umount', '-l', dir);
	}
});

test('a server starts on a full disk with a torn log, and heals it when there is room', async () => {
	const dir = smallDisk();
	try {
		const log = join(dir, 'audit-log.jsonl');
		const state = join(place(), 'state');
		writeFileSync(log, '{"seq":1,"times');
		spawnSync('sh', ['-c', `cat /dev/zero >'${join(dir, 'filler')}'`]);
		const wire = await started('--audit', log, '--state', state);
		await suffer(wire, state, 'ENOSPC');
		check(command('mount', '-o', 'remount,size=1m', dir));
		await recovered(wire, state);
		same((await wire.end()).status, 0);
		resumed(log, 'ENOSPC');
		check(records(log).some((record) => record.reason === 'torn line set aside' && record.bytes === 15));
	} finally {
		command('umount', '-l', dir);
	}
});

test('a file that may not grow (RLIMIT_FSIZE)', async () => {
	if (!has('prlimit')) skip('there is no prlimit');
	const log = join(place(), 'audit-log.jsonl');
	const state = join(place(), 'state');
	const wire = await started('--audit', log, '--state', state);
	const limit = (bytes) => check(command('prlimit', '--pid', String(wire.child.pid), `--fsize=${bytes}:`), 'prlimit');
	await wire.call('fail', { text: 'before' });
	limit(statSync(log).size + 1500);
	const count = 1 + (await failUntilDown(wire));
	await suffer(wire, state, 'EFBIG');
	same(verify(log), count);
	limit('unlimited');
	await recovered(wire, state);
	same((await wire.end()).status, 0);
	resumed(log, 'EFBIG');
});

test('a file that may not be changed any more', async () => {
	const log = join(place(), 'audit-log.jsonl');
	const state = join(place(), 'state');
	const wire = await started('--audit', log, '--state', state);
	try {
		await wire.call('fail', { text: 'before' });
		if (!isRoot || !has('chattr') || !command('chattr', '+i', log)) {
			await wire.end();
			skip('chattr does not work here');
		}
		await failUntilDown(wire);
		await suffer(wire, state, 'EPERM');
		check(command('chattr', '-i', log));
		await recovered(wire, state);
		same((await wire.end()).status, 0);
		resumed(log, 'EPERM');
	} finally {
		if (isRoot) command('chattr', '-i', log);
	}
});

test('a lock that another process holds: AUDIT_LOCK_FAILED; its death frees it', async () => {
	if (!has('flock')) skip('there is no flock');
	const log = join(place(), 'audit-log.jsonl');
	const state = join(place(), 'state');
	const wire = await started('--audit', log, '--state', state, '--lock-ms', '50');
	await wire.call('fail', { text: 'before' });
	const holder = spawn('flock', ['--no-fork', log, 'sh', '-c', 'echo held; cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
	await new Promise((done) => holder.stdout.once('data', done));
	const reply = await wire.call('fail', { text: 'x' }, inContract('kaiza'));
	same(JSON.parse(text(reply)).error_code, 'AUDIT_LOCK_FAILED');
	same([canonical(reply).code, canonical(reply).retry], ['audit.lock_failed', 'backoff']);
	check(JSON.stringify(canonical(reply)).includes('EAGAIN'), 'with the real error');
	same(canonical(await wire.call('change', { text: 'while down' })).code, 'audit.log_failed');
	check(!existsSync(state), 'nothing was changed');
	holder.kill('SIGKILL');
	await new Promise((done) => holder.on('exit', done));
	holder.stdin.destroy();
	await recovered(wire, state);
	same((await wire.end()).status, 0);
	verify(log);
});

test('tools that only read can be guarded, too', async () => {
	if (!has('prlimit')) skip('there is no prlimit');
	const log = join(place(), 'audit-log.jsonl');
	const wire = await started('--audit', log, '--guard-reads');
	check(command('prlimit', '--pid', String(wire.child.pid), '--fsize=100:'));
	await failUntilDown(wire);
	same(canonical(await wire.call('echo', { text: 'x' })).code, 'audit.log_failed');
	same((await wire.end()).status, 0);
});

test('with sync off and at intervals, replies wait for the write', async () => {
	for (const sync of ['off', 'interval']) {
		const log = join(place(), 'audit-log.jsonl');
		const wire = await started('--audit', log, '--sync', sync);
		for (let i = 1; i <= 20; i++) {
			const error = canonical(await wire.call('fail', { text: 'x' }));
			same(records(log).at(-1).incident_id, error.incident_id);
		}
		same((await wire.end()).status, 0);
		verify(log);
	}
});

test('/metrics tells how the log is doing', async () => {
	if (!has('prlimit')) skip('there is no prlimit');
	const { child, url } = await served(bin, ['serve', '--http', '127.0.0.1:0', '--audit', join(place(), 'audit-log.jsonl')], { env, stdio: ['ignore', 'ignore', 'pipe'] });
	const fail = async () => (await fetch(url, { method: 'POST', body: '{', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' } })).text();
	const metrics = async () => Object.fromEntries((await (await fetch(new URL('/metrics', url))).text()).split('\n').filter((line) => line.startsWith('faultwire_audit')).map((line) => line.split(' ')));
	await fail();
	same(await metrics(), { faultwire_audit_up: '1', faultwire_audit_waiting: '0', faultwire_audit_records_total: '1', faultwire_audit_lost_total: '0', faultwire_audit_left_out_total: '0', faultwire_audit_syncs_total: '1' });
	check(command('prlimit', '--pid', String(child.pid), '--fsize=100:'));
	match(await fail(), /audit\.log_failed/);
	const down = await metrics();
	same([down.faultwire_audit_up, down.faultwire_audit_lost_total], ['0', '1']);
	child.kill('SIGTERM');
	same(await new Promise((done) => child.on('exit', done)), 0);
});

// --- what can never be a log -------------------------------------------------------

function refused(path, pattern, runner = (args) => run(args)) {
	const { status, out, err } = runner(['serve', '--audit', path]);
	same([status, out], [1, ''], err);
	match(err, pattern);
	match(err, /hint: The log is .*--audit off/s);
	match(runner(['--contract', 'kaiza', 'serve', '--audit', path]).err, /"error_code":"BOOTSTRAP_FAILURE".*"cause":\{"message":"[^"]*","code":"audit.log_failed"/);
}

test('serve says why a path cannot be its audit log, and does not start', () => {
	const dir = place();
	refused(join(dir, 'none', 'audit-log.jsonl'), /no such file or directory/);
	refused(dir, /is a directory/);
	command('mkfifo', join(dir, 'fifo'));
	refused(join(dir, 'fifo'), /not a regular file/);
	writeFileSync(join(dir, 'diary'), 'dear diary\n');
	symlinkSync(join(dir, 'diary'), join(dir, 'link'));
	refused(join(dir, 'link'), /symbolic link/);
	refused(join(dir, 'diary'), /it is not an audit log/);
	same(readFileSync(join(dir, 'diary'), 'utf8'), 'dear diary\n');
	refused('/dev/null', /not a regular file/);
});

test('serve needs the right to write its audit log', () => {
	if (!isRoot || !has('setpriv')) skip('becoming somebody else needs root and setpriv');
	const dir = place();
	const log = join(dir, 'audit-log.jsonl');
	const other = (args) => {
		const result = spawnSync('setpriv', ['--reuid=65534', '--regid=65534', '--clear-groups', bin, ...args], {
			env: { PATH: process.env.PATH, HOME: '/tmp', XDG_STATE_HOME: join('/tmp', `fw-audit-${process.pid}`) },
			input: '',
		});
		return { status: result.status, out: result.stdout.toString(), err: result.stderr.toString() };
	};
	for (let at = dir; at.length > 5; at = join(at, '..')) chmodSync(at, 0o755);
	if (/error while loading|Permission denied/.test(other(['--version']).err) || other(['--version']).status !== 0) skip('the program cannot be run by others here');
	writeFileSync(log, '');
	chmodSync(log, 0o444);
	refused(log, /permission denied/, other);
	refused(join(dir, 'new.jsonl'), /permission denied/, other);
	command('rm', '-rf', join('/tmp', `fw-audit-${process.pid}`));
});

test('a call that a stop ends is answered so, and on record', async () => {
	const log = join(place(), 'audit-log.jsonl');
	const wire = await started('--audit', log);
	const reply = wire.call('hang');
	await wire.call('echo', { text: 'it has begun' });
	wire.child.kill('SIGTERM');
	same(canonical(await reply).code, 'server.shutting_down');
	same((await wire.end()).status, 0);
	same(records(log).at(-1).code, 'server.shutting_down');
});

test('serve records in the state directory by default, and not at all with --audit off', async () => {
	const home = place();
	const old = process.env.XDG_STATE_HOME;
	process.env.XDG_STATE_HOME = home;
	try {
		for (const [args, count] of [
			[[], 1],
			[['--audit', 'off'], 1],
			[['--audit-sync', 'interval=10', '--audit-args', 'redacted'], 2],
		]) {
			const wire = new Wire(['serve', '--stdio', ...args], bin);
			await wire.initialize();
			await wire.call('raise_error', { code: 'file.not_found' });
			same((await wire.end()).status, 0);
			same(verify(join(home, 'faultwire/audit-log.jsonl')), count);
		}
		same(records(join(home, 'faultwire/audit-log.jsonl'))[1].args, { code: 'file.not_found' });
	} finally {
		if (old === undefined) delete process.env.XDG_STATE_HOME;
		else process.env.XDG_STATE_HOME = old;
	}
	for (const wrong of [['--audit-sync', 'never'], ['--audit-sync', 'interval=x'], ['--audit-args', 'all']]) same(run(['serve', ...wrong]).status, 2);
	same(existsSync(changer), true);
});

await finish();
