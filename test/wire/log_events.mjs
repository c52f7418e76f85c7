// What happens to the server itself is a line: the audit log that goes down and
// comes up again, once each; workers that crash or are replaced; breakers that open
// and close; the fork server.

import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { check, finish, has, match, same, skip, test } from './lib/cli.mjs';
import { changer, place, started } from './lib/audit.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { forkservers, session, sleep, until, workers } from './lib/worker.mjs';

const events = (err, ...names) =>
	err
		.split('\n')
		.filter((line) => line.startsWith('{'))
		.map((line) => JSON.parse(line))
		.filter(({ event }) => names.includes(event));
const short = ({ level, event, context }) => [level, event, context];

test('the audit log goes down and comes up: one line each, with the reason and what was lost', async () => {
	if (!has('prlimit')) skip('there is no prlimit');
	const log = join(place(), 'audit-log.jsonl');
	const wire = await started('--audit', log, '--log', 'json');
	const limit = (bytes) => same(spawnSync('prlimit', ['--pid', String(wire.child.pid), `--fsize=${bytes}:`]).status, 0);
	await wire.call('fail', { text: 'before' });
	limit(statSync(log).size + 10);
	for (let i = 0; i < 5; i++) same(canonical(await wire.call('fail', { text: 'x' })).code, 'audit.log_failed');
	limit('unlimited');
	await until(() => events(wire.err, 'audit_restored').length === 1, 'it is restored');
	limit(statSync(log).size + 10);
	for (let i = 0; i < 3; i++) same(canonical(await wire.call('fail', { text: 'x' })).code, 'audit.log_failed');
	same((await wire.end()).status, 0);
	const lines = events(wire.err, 'audit_down', 'audit_restored', 'audit_lost');
	same(lines.map((line) => line.event), ['audit_down', 'audit_restored', 'audit_down', 'audit_lost']);
	same(lines.map((line) => line.level), ['critical', 'notice', 'critical', 'critical']);
	same([lines[0].context.failure, lines[0].context.reason], ['EFBIG', 'File too large']);
	check(lines[0].context.doing, 'what it was doing');
	same([lines[1].context.failure, lines[1].context.lost], ['EFBIG', 5]);
	/* The whole time, not its first digit. */
	match(lines[1].context.since, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	check(Math.abs(Date.now() - Date.parse(lines[1].context.since)) < 60000, 'since is the time of the failure');
	same(lines[3].context, { count: 3 });
});

test('an audit log that can never be one is reported by the command alone', async () => {
	const wire = new Wire(['--stdio', '--audit', '/dev/null/audit-log.jsonl', '--log', 'json'], changer);
	check((await wire.end()).status !== 0, 'it does not start');
	same(events(wire.err, 'audit_down', 'audit_lost'), []);
	match(wire.err, /^changer: /);
});

test('workers that crash, and a breaker that opens and closes', async () => {
	const wire = await session(
		async (wire) => {
			for (let i = 0; i < 3; i++) same(canonical(await wire.call('segv', {})).code, 'tool.crashed');
			same(canonical(await wire.call('segv', {})).code, 'tool.suspended');
			same(canonical(await wire.call('exit', {})).code, 'tool.exited');
		},
		{ args: ['--workers', '2', '--breaker', '3', '--log', 'json'] },
	);
	const crashed = events(wire.err, 'worker_crashed');
	same(crashed.map(({ level, context }) => [level, context.tool, context.signal ?? 'exit']), [
		...Array(3).fill(['warning', 'segv', 'SIGSEGV']),
		['warning', 'exit', 'exit'],
	]);
	check(crashed.every(({ context }) => context.pid > 1) && Number.isInteger(crashed[3].context.exit_status), JSON.stringify(crashed));
	same(events(wire.err, 'breaker_opened', 'breaker_closed').map(short), [['warning', 'breaker_opened', { tool: 'segv', crashes: 3, pause_ms: 30000 }]]);
});

test('a breaker that closes says so', async () => {
	const wire = await session(
		async (wire) => {
			for (let i = 0; i < 2; i++) same(canonical(await wire.call('kill_self', {})).code, 'tool.crashed');
			same(canonical(await wire.call('kill_self', {})).code, 'tool.suspended');
			await sleep(60);
			same(text(await wire.call('kill_self', { signal: 0 })), 'alive');
		},
		{ args: ['--workers', '2', '--breaker', '2', '--breaker-ms', '50', '--log', 'json'] },
	);
	same(events(wire.err, 'breaker_opened', 'breaker_closed').map(({ event, context }) => [event, context.tool]), [
		['breaker_opened', 'kill_self'],
		['breaker_closed', 'kill_self'],
	]);
});

test('a worker that was too late, or was killed while idle, is replaced', async () => {
	const wire = await session(
		async (wire, pid) => {
			same(canonical(await wire.call('sleep', {})).code, 'runtime.timeout');
			await until(() => events(wire.err, 'worker_replaced').length === 1, 'the late one is replaced');
			same(text(await wire.call('echo', { text: 'x' })), 'x');
			process.kill(workers(pid)[0].pid, 'SIGKILL');
			await until(() => events(wire.err, 'worker_replaced').length === 2, 'the idle one is replaced');
		},
		{ args: ['--workers', '2', '--log', 'json'] },
	);
	const [late, idle] = events(wire.err, 'worker_replaced');
	same([late.level, late.context.tool, late.context.signal, late.context.reason], ['warning', 'sleep', 'SIGKILL', 'its call took too long']);
	same([idle.context.tool, idle.context.signal, idle.context.reason], [undefined, 'SIGKILL', 'it ended while it was idle']);
	same(events(wire.err, 'worker_crashed'), []);
});

test('a fork server that is lost and restarted is two lines, not one for each worker', async () => {
	const wire = await session(
		async (wire, pid) => {
			await until(() => workers(pid).length >= 2, 'they are up');
			process.kill(forkservers(pid)[0].pid, 'SIGKILL');
			await until(() => events(wire.err, 'forkserver_restarted').length === 1, 'it is restarted');
			await until(() => workers(pid).length >= 2, 'they are up again');
		},
		{ args: ['--workers', '2', '--log', 'json'] },
	);
	const [lost, again] = events(wire.err, 'forkserver_lost', 'forkserver_restarted');
	same([lost.event, lost.level, again.event, again.level], ['forkserver_lost', 'warning', 'forkserver_restarted', 'notice']);
	check(lost.context.pid > 1 && again.context.pid > 1 && lost.context.workers >= 1, JSON.stringify([lost, again]));
	same(events(wire.err, 'worker_replaced', 'worker_crashed'), []);
});

await finish();
