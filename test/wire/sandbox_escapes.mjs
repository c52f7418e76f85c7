// Ways out of the sandbox, tried for real from inside a worker, over stdio and
// over HTTP. The program has no check of its own, so what is refused the kernel
// refuses. The same tricks are then played without the sandbox, where they work:
// otherwise all of this would prove nothing.

import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { check, finish, root, same, skip, test } from './lib/cli.mjs';
import { ask, call as httpCall } from './lib/http.mjs';
import { Wire, canonical } from './lib/mcp.mjs';

const program = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'escape');
const isRoot = process.getuid() === 0;

process.env.FW_TEST_SECRET = 'only the server knows';

/* ---- the tricks, and what each meets ---------------------------------------------- */

// [name, errors in the sandbox, how it goes without]. Without: nothing, it works;
// `root`: it works for root; other text: why it is not tried.
const root_ = 'only root can do that anyway';
const harm = 'it would harm this machine';
const tricks = [
	['read_secret', 'EACCES'],
	['read_passwd', 'EACCES'],
	['read_shadow', 'EACCES', root_],
	['list_root', 'EACCES'],
	['read_by_dots', 'EACCES'],
	['read_by_symlink', 'EACCES'],
	['read_by_symlinked_folder', 'EACCES'],
	['read_by_working_folder', 'EACCES'],
	['read_by_proc_root', 'EACCES'],
	['read_by_proc_of_server', 'EACCES'],
	['read_by_handle', 'EACCES'],
	['read_by_openat2', 'EACCES'],
	['read_by_file_handle', 'EPERM', root_],
	['read_attributes', 'EOPNOTSUPP'],
	['watch_secret', 'EPERM'],
	['read_environment', 'ENODATA'],
	['read_own_environ', 'EACCES'],
	['read_dev_mem', 'EACCES ENOENT', harm],
	['read_dev_kmsg', 'EACCES ENOENT', root_],
	['write_secret', 'EACCES'],
	['write_readable', 'EACCES'],
	['truncate_readable', 'EACCES'],
	['truncate_by_opening', 'EPERM'],
	['create_outside', 'EACCES'],
	['make_folder_outside', 'EACCES'],
	['remove_outside', 'EACCES'],
	['link_in', 'EXDEV EACCES'],
	['rename_in', 'EXDEV EACCES'],
	['rename_out', 'EXDEV EACCES'],
	['exchange', 'EXDEV EACCES'],
	['chmod_secret', 'EPERM'],
	['chmod_by_handle', 'EPERM'],
	['chown_secret', 'EPERM'],
	['touch_secret', 'EPERM'],
	['make_setuid', 'EPERM'],
	['make_device', 'EACCES', root_],
	['open_memory', 'EACCES'],
	['open_environ', 'EACCES'],
	['open_maps', 'EACCES'],
	['open_output', 'EACCES'],
	['open_input', 'EACCES'],
	['trace', 'EPERM'],
	['read_memory', 'EPERM'],
	['take_descriptor', 'EPERM'],
	['kill', 'EPERM'],
	['kill_thread', 'EPERM'],
	['queue_signal', 'EPERM'],
	['kill_by_pidfd', 'EPERM'],
	['kill_all', 'EPERM', harm],
	['kill_by_owner', 'EPERM'],
	['limit', 'EPERM'],
	['slow', 'EPERM'],
	['leave_group', 'EPERM', 'the leader of a session cannot leave it anyway'],
	['outlive', 'EPERM'],
	['fork', 'EPERM'],
	['exec', 'EPERM'],
	['system', 'EPERM'],
	['exec_from_memory', 'EPERM'],
	['connect_tcp', 'EPERM'],
	['send_udp', 'EPERM'],
	['bind_port', 'EPERM'],
	['connect_unix', 'EPERM'],
	['connect_abstract', 'EPERM'],
	['send_from_pair', 'EPERM'],
	['share_memory', 'EPERM'],
	['new_namespace', 'EPERM', root_],
	['new_namespace_by_clone3', 'ENOSYS', root_],
	['join_namespace', 'EACCES', root_],
	['mount', 'EPERM', harm],
	['chroot', 'EPERM', root_],
	['use_ring', 'EPERM'],
	['use_bpf', 'EPERM', root_],
	['use_keys', 'EPERM'],
	['handle_faults', 'EPERM'],
	['raise_limit', 'EPERM', root_],
	['become_another', 'EPERM', root_],
	['use_privilege', 'EPERM', root_],
	['want_privileges_again', 'EINVAL'],
	['type_into_terminal', 'EPERM'],
];
// These are tried on more than the server.
const attacks = new Set([
	'open_memory', 'open_environ', 'open_maps', 'open_output', 'open_input', 'trace', 'read_memory', 'take_descriptor', 'kill', 'kill_thread',
	'queue_signal', 'kill_by_pidfd', 'kill_by_owner', 'limit', 'slow', 'join_namespace', 'read_by_proc_of_server',
]);
// What a machine may lack even without the sandbox: parts of the kernel, a
// privilege of root's, somebody who listens.
const optional = {
	use_ring: ['ENOSYS', 'EPERM'], use_keys: ['ENOSYS'], handle_faults: ['ENOSYS', 'EPERM'], use_bpf: ['ENOSYS'], read_attributes: ['EOPNOTSUPP'],
	read_dev_kmsg: ['ENOENT'], connect_abstract: ['ECONNREFUSED'], raise_limit: ['EPERM'],
};

/* ---- the scene ---------------------------------------------------------------------- */

const scenes = [];

// A folder with something to read, something to write, and things that are neither.
function scene() {
	const at = mkdtempSync(join(tmpdir(), 'fw-escape-'));

	scenes.push(at);
	for (const folder of ['read', 'write']) mkdirSync(join(at, folder));
	for (const name of ['secret', 'removable', 'renamable', 'exchanged', 'read/file', 'read/empty']) {
		writeFileSync(join(at, name), `this is ${name}`);
		chmodSync(join(at, name), 0o600);
		utimesSync(join(at, name), 1000000000, 1000000000);
	}
	return at;
}
process.on('exit', () => scenes.forEach((at) => rmSync(at, { recursive: true, force: true })));

// All that can be known of what a worker must not change.
const state = (at) =>
	['.', 'read'].flatMap((folder) =>
		readdirSync(join(at, folder)).sort().map((name) => {
			const path = join(at, folder, name);
			const { mode, uid, gid, nlink, mtimeMs } = statSync(path);
			return [name, mode, uid, gid, ...(mode & 0o100000 ? [nlink, mtimeMs, readFileSync(path, 'utf8')] : [])];
		}),
	);

const victims = [];

// Somebody else. Its input and output are a file, since what this program makes
// for pipes cannot be opened again by anyone.
function startVictim() {
	const file = openSync(join(scene(), 'secret'), 'r+');
	const child = spawn('sleep', ['600'], { stdio: [file, file, 'ignore'] });

	closeSync(file);
	child.ended = new Promise((done) => child.on('exit', (status, signal) => done(signal ?? status)));
	victims.push(child);
	return child;
}
process.on('exit', () => victims.forEach((child) => child.kill('SIGKILL')));

let connections = 0;
async function listener(where) {
	const server = net.createServer((socket) => {
		connections++;
		socket.destroy();
	});
	await new Promise((done) => server.listen(where, done));
	server.unref();
	return server;
}

/* ---- peers ----------------------------------------------------------------------------- */

const options = (at, sandbox, read = join(at, 'read')) => ['--read', read, '--write', join(at, 'write'), '--sandbox', sandbox];

async function overStdio(at, sandbox = 'required', read) {
	const wire = new Wire(['--stdio', ...options(at, sandbox, read)], program);
	let gone;

	wire.exit.then(() => (gone = true));
	await wire.initialize().catch((error) => {
		throw gone ? new Error(wire.err) : error;
	});
	return {
		pid: wire.child.pid,
		call: (name, args) => wire.call(name, args),
		end: async () => [(await wire.end()).status, wire.messages],
	};
}

async function overHttp(at) {
	const child = spawn(program, ['--http', '127.0.0.1:0', ...options(at, 'required')], { stdio: ['ignore', 'pipe', 'pipe'] });
	const exit = new Promise((done) => child.on('exit', (status) => done(status)));
	let said = '';
	const port = await new Promise((found, lost) => {
		let err = '';
		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => {
			err += bytes;
			const match = err.match(/http:\/\/[^:]+:(\d+)/);
			if (match) found(Number(match[1]));
		});
		child.on('exit', () => lost(new Error(err)));
	});
	return {
		pid: child.pid,
		call: async (name, args) => (await ask({ port }, httpCall(name, args))).json,
		async end() {
			child.kill('SIGTERM');
			return [await exit, said ? [said] : []];
		},
	};
}

const answer = (reply) => (reply.result?.isError || reply.error ? `error: ${canonical(reply)?.code}` : reply.result.content[0].text);

/* ---- in the sandbox ----------------------------------------------------------------------- */

const at = scene();
const before = state(at);
const victim = startVictim();
const tcp = await listener({ port: 0, host: '127.0.0.1' });
await listener({ path: join(at, 'write', 'socket') });
const aims = { secret: join(at, 'secret'), read: join(at, 'read'), write: join(at, 'write'), port: tcp.address().port, socket: join(at, 'write', 'socket'), abstract: `fw-escape-${process.pid}` };
const peers = {};
const firstWorker = {};
let why;

for (const [name, open] of [['stdio', overStdio], ['http', overHttp]]) {
	try {
		peers[name] = await open(at);
		firstWorker[name] = answer(await peers[name].call('work', aims));
	} catch (error) {
		if (!/sandbox is required/.test(error.message)) throw error;
		why = error.message.trim();
	}
}

test('what is declared works', () => {
	if (why) skip(why);
	for (const name in peers) check(/^worked as \d+$/.test(firstWorker[name]), `${name}: ${firstWorker[name]}`);
});

for (const [name, expected] of tricks)
	test(`refused with ${expected.replace(' ', ' or ')}: ${name}`, async () => {
		if (why) skip(why);
		for (const [transport, peer] of Object.entries(peers)) {
			// The server; the worker's own parent; somebody else.
			for (const pid of attacks.has(name) ? [peer.pid, undefined, victim.pid] : [peer.pid]) {
				const said = answer(await peer.call(name, { ...aims, ...(pid && { pid }) }));

				check(expected.split(' ').some((errno) => said === `refused: ${errno}`), `${transport}, process ${pid}: ${said}`);
			}
		}
	});

test('what a worker says on its standard output, the client does not hear', async () => {
	if (why) skip(why);
	for (const peer of Object.values(peers)) check(!answer(await peer.call('shout', aims)).startsWith('error'), 'it says it');
});

test('after all of that nothing has changed, and the same workers still work', async () => {
	if (why) skip(why);
	same(state(at), before);
	same([connections, victim.exitCode, victim.signalCode], [0, null, null]);
	for (const [transport, peer] of Object.entries(peers)) {
		same(answer(await peer.call('work', aims)), firstWorker[transport]);
		same(await peer.end(), [0, []], `${transport}: exit, and what nobody asked for`);
	}
	victim.kill('SIGKILL');
});

// A worker may write where a declared folder lies. It puts a link in its place, and
// all processes but the server are started again: they still get the folder of the start.
test('a declared folder that was swapped for a link opens nothing', async () => {
	if (why) skip(why);
	const place = scene();
	const inner = join(place, 'write', 'inner');

	mkdirSync(inner);
	const peer = await overStdio(place, 'required', inner);
	const there = { secret: join(place, 'secret'), read: inner, write: join(place, 'write') };

	same(answer(await peer.call('read_secret', there)), 'refused: EACCES');
	renameSync(inner, `${inner}-away`);
	symlinkSync(place, inner);
	const mothers = readFileSync(`/proc/${peer.pid}/task/${peer.pid}/children`, 'utf8').trim().split(' ');
	same(mothers.length, 1, 'one process that workers come from');
	process.kill(Number(mothers[0]), 'SIGKILL');
	// The first calls may still meet the old worker's end.
	for (let i = 0, seen = 0; seen < 3; i++) {
		const said = answer(await peer.call('read_secret', there));

		check(/^refused: EACCES$|^error: (tool|server)\./.test(said) && i < 100, said);
		if (said.startsWith('refused')) seen++;
		else await new Promise((done) => setTimeout(done, 50));
	}
	same((await peer.end())[0], 0);
});

/* ---- without it ------------------------------------------------------------------------------ */

for (const [name, , otherwise] of tricks)
	test(`without the sandbox it works: ${name}`, async () => {
		if (otherwise && !(otherwise === root_ && isRoot)) skip(otherwise);
		const place = scene();
		const prey = attacks.has(name) ? startVictim() : undefined;
		const peer = await overStdio(place, 'off');
		const there = { ...aims, secret: join(place, 'secret'), read: join(place, 'read'), write: join(place, 'write'), pid: prey?.pid };
		const said = answer(await peer.call(name, there));

		try {
			if (optional[name]?.some((errno) => said === `refused: ${errno}`)) skip(`this system: ${said}`);
			// A worker that became another program does not answer.
			check(name.startsWith('exec') ? said.startsWith('error: tool.') : said === 'done', said);
			if (/^kill(_thread|_by_owner)?$|^queue/.test(name)) check((await prey.ended).startsWith('SIG'), 'it died of it');
		} finally {
			prey?.kill('SIGKILL');
			await peer.end();
		}
	});

await finish();
