// Ways out of the server process itself, tried for real by code that runs inside
// it: inline, on the thread that reads what peers send, and in a thread of the
// server. The same tricks are then played in a server that is not confined,
// where they work: otherwise all of this would prove nothing.

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { check, finish, root, same, skip, test } from './lib/cli.mjs';
import { Wire, canonical } from './lib/mcp.mjs';

const program = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'escape');
const isRoot = process.getuid() === 0;
// The leak check of the address sanitizer forks and traces at exit, so that such
// a build cannot refuse either.
const isSanitized = readFileSync(program).includes('__asan_init');

// [name, errors if confined, how it goes if not]: nothing, it works; `root`, it
// works for root; other text, why it is not tried.
const root_ = 'only root can do that anyway';
const harm = 'it would harm this machine';
const tricks = [
	['read_secret', 'EACCES'],
	['read_key_of_user', 'EACCES'],
	['read_passwd', 'EACCES'],
	['read_shadow', 'EACCES', root_],
	['list_root', 'EACCES'],
	['read_by_dots', 'EACCES'],
	['read_by_working_folder', 'EACCES'],
	['read_by_proc_root', 'EACCES'],
	['read_by_handle', 'EACCES'],
	['read_by_openat2', 'EACCES'],
	['read_by_file_handle', 'EPERM', root_],
	['read_attributes', 'EOPNOTSUPP'],
	['watch_secret', 'EPERM'],
	['read_dev_mem', 'EACCES ENOENT', harm],
	['write_secret', 'EACCES'],
	['write_readable', 'EACCES'],
	['truncate_readable', 'EACCES'],
	['create_outside', 'EACCES'],
	['create_in_root', 'EACCES', root_],
	['create_in_home', 'EACCES'],
	['create_in_tmp', 'EACCES'],
	['create_in_proc_cwd', 'EACCES'],
	['make_folder_outside', 'EACCES'],
	['remove_outside', 'EACCES'],
	['rename_in', 'EXDEV EACCES'],
	['rename_out', 'EXDEV EACCES'],
	['chmod_secret', 'EPERM'],
	['chmod_by_handle', 'EPERM'],
	['chown_secret', 'EPERM'],
	['touch_secret', 'EPERM'],
	['make_setuid', 'EPERM'],
	['make_device', 'EACCES', root_],
	['open_memory', 'EACCES'],
	['open_environ', 'EACCES'],
	['open_maps', 'EACCES'],
	['trace', 'EPERM'],
	['read_memory', 'EPERM'],
	['take_descriptor', 'EPERM'],
	['kill', 'EPERM'],
	['kill_thread', 'EPERM'],
	['queue_signal', 'EPERM'],
	['kill_by_pidfd', 'EPERM'],
	['kill_by_owner', 'EPERM'],
	['limit', 'EPERM'],
	['fork', 'EPERM'],
	['exec', 'EPERM'],
	['system', 'EPERM'],
	['exec_from_memory', 'EPERM'],
	['map_code', 'EPERM'],
	['turn_data_into_code', 'EPERM'],
	['connect_tcp', 'EPERM'],
	['connect_by_sending', 'EPERM'],
	['send_udp', 'EPERM'],
	['bind_port', 'EPERM'],
	['listen_without_bind', 'EPERM'],
	['connect_unix', 'EPERM'],
	['connect_abstract', 'EPERM'],
	['use_raw_socket', 'EPERM', root_],
	['use_packet_socket', 'EPERM', root_],
	['use_netlink', 'EPERM'],
	['send_from_pair', 'EPERM'],
	['share_memory', 'EPERM'],
	['new_namespace', 'EPERM', root_],
	['new_namespace_by_clone3', 'ENOSYS', root_],
	['mount', 'EPERM', harm],
	['chroot', 'EPERM', root_],
	['use_ring', 'EPERM'],
	['use_bpf', 'EPERM', root_],
	['use_keys', 'EPERM'],
	['handle_faults', 'EPERM'],
	['raise_limit', 'EPERM', root_],
	['become_another', 'EPERM', root_],
	['use_privilege', 'EPERM', root_],
];
const needsTracer = new Set(['trace', 'fork', 'system']);
// What a machine may lack even without a sandbox.
const optional = {
	use_ring: ['ENOSYS', 'EPERM'], use_keys: ['ENOSYS'], handle_faults: ['ENOSYS', 'EPERM'], use_bpf: ['ENOSYS'], read_attributes: ['EOPNOTSUPP'],
	connect_abstract: ['ECONNREFUSED'], raise_limit: ['EPERM'], connect_by_sending: ['EOPNOTSUPP', 'EINPROGRESS'],
	use_packet_socket: ['EAFNOSUPPORT'],
};

/* ---- the scene ---------------------------------------------------------------------- */

const scenes = [];

function scene() {
	const at = mkdtempSync(join(tmpdir(), 'fw-confine-'));

	scenes.push(at);
	for (const folder of ['read', 'write', 'home', 'home/.ssh']) mkdirSync(join(at, folder));
	for (const name of ['secret', 'removable', 'renamable', 'exchanged', 'read/file', 'read/empty', 'home/.ssh/id_ed25519'])
		writeFileSync(join(at, name), `this is ${name}`, { mode: 0o600 });
	return at;
}
process.on('exit', () => scenes.forEach((at) => rmSync(at, { recursive: true, force: true })));

const state = (at) =>
	['.', 'read', 'home', 'home/.ssh'].flatMap((folder) =>
		readdirSync(join(at, folder)).sort().map((name) => {
			const path = join(at, folder, name);
			const { mode, uid, gid, nlink, mtimeMs } = statSync(path);
			return [name, mode, uid, gid, ...(mode & 0o100000 ? [nlink, mtimeMs, readFileSync(path, 'utf8')] : [])];
		}),
	);

const victims = [];

function startVictim() {
	const file = openSync(join(scene(), 'secret'), 'r+');
	const child = spawn('sleep', ['600'], { stdio: [file, file, 'ignore'] });

	closeSync(file);
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

async function start(at, sandbox, run, ...more) {
	const wire = new Wire(['--stdio', '--read', join(at, 'read'), '--write', join(at, 'write'), '--sandbox', sandbox, ...(run ? ['--confine', run] : []), ...more], program);
	let gone;

	victims.push(wire.child);
	wire.exit.then(() => (gone = true));
	await wire.initialize().catch((error) => {
		throw gone ? new Error(wire.err) : error;
	});
	return wire;
}

const answer = (reply) => (reply.result?.isError || reply.error ? `error: ${canonical(reply)?.code}` : reply.result.content[0].text);

/* ---- confined ------------------------------------------------------------------------- */

const at = scene();
const victim = startVictim();
const tcp = await listener({ port: 0, host: '127.0.0.1' });
const socket = join(at, 'write', 'socket');
await listener({ path: socket });
const aimsAt = (place, more) => ({
	secret: join(place, 'secret'), home: join(place, 'home'), read: join(place, 'read'), write: join(place, 'write'),
	port: tcp.address().port, socket, abstract: `fw-confine-${process.pid}`, ...more,
});
const aims = aimsAt(at, { pid: victim.pid });
const before = state(at);
const servers = {};
let why;

for (const run of ['inline', 'thread'])
	try {
		servers[run] = await start(at, 'required', run);
	} catch (error) {
		if (!/sandbox is required/.test(error.message)) throw error;
		why = error.message.trim();
	}

const status = (pid) => readFileSync(`/proc/${pid}/status`, 'utf8');
const has = (text, name, value) => new RegExp(`^${name}:\\s*${value}$`, 'm').test(text);

test('the process says that it is confined', () => {
	if (why) skip(why);
	for (const { child } of Object.values(servers)) {
		check(has(status(child.pid), 'Seccomp', 2) && has(status(child.pid), 'NoNewPrivs', 1), status(child.pid));
		check(has(status(child.pid), 'CapEff', '0+') && has(status(child.pid), 'CapBnd', isRoot ? '0+' : '\\w+'), status(child.pid));
	}
});

test('what is declared works, and so do threads and pairs of sockets', async () => {
	if (why) skip(why);
	for (const [run, server] of Object.entries(servers)) {
		same(answer(await server.call('work', aims)), `worked as ${server.child.pid}`, run);
		same(answer(await server.call('start_thread', aims)), 'done', run);
		same(answer(await server.call('make_pair', aims)), 'done', run);
	}
});

for (const [name, expected] of tricks)
	test(`refused with ${expected.replace(' ', ' or ')}: ${name}`, async () => {
		if (why) skip(why);
		if (isSanitized && needsTracer.has(name)) skip('the leak check of the sanitizer needs it');
		for (const [run, server] of Object.entries(servers)) {
			const said = answer(await server.call(name, aims));

			check(expected.split(' ').some((errno) => said === `refused: ${errno}`), `${run}: ${said}`);
		}
	});

test('after all of that nothing has changed, and the servers still work', async () => {
	if (why) skip(why);
	same(state(at), before);
	same([connections, victim.exitCode, victim.signalCode], [0, null, null]);
	for (const server of Object.values(servers)) {
		same(answer(await server.call('work', aims)), `worked as ${server.child.pid}`);
		same((await server.end()).status, 0);
	}
});

/* ---- with a port to connect to ----------------------------------------------------------- */

test('with a port to connect to: that one, and neither another nor other kinds of sockets', async () => {
	if (why) skip(why);
	const other = await listener({ port: 0, host: '127.0.0.1' });
	const server = await start(at, 'required', 'inline', '--connect', String(tcp.address().port));
	const tried = {};

	for (const name of ['connect_tcp', 'bind_port', 'listen_without_bind', 'connect_by_sending', 'connect_unix', 'connect_abstract', 'use_netlink', 'use_raw_socket', 'exec', 'fork'])
		tried[name] = answer(await server.call(name, aims));
	const elsewhere = answer(await server.call('connect_tcp', { ...aims, port: other.address().port }));

	if (isSanitized) delete tried.fork;
	same(tried, {
		connect_tcp: 'done', bind_port: 'refused: EPERM', listen_without_bind: 'refused: EPERM', connect_by_sending: 'refused: EPERM',
		connect_unix: 'refused: EAFNOSUPPORT', connect_abstract: 'refused: EAFNOSUPPORT', use_netlink: 'refused: EPERM',
		use_raw_socket: 'refused: EPERM', exec: 'refused: EPERM', ...(isSanitized ? {} : { fork: 'refused: EPERM' }),
	});
	same(elsewhere, 'refused: EACCES');
	same((await server.end()).status, 0);
});

/* ---- not confined ---------------------------------------------------------------------------- */

for (const [name, , otherwise] of tricks)
	test(`works in a server that is not confined: ${name}`, async () => {
		if (otherwise && !(otherwise === root_ && isRoot)) skip(otherwise);
		const place = scene();
		const prey = startVictim();
		// A program that replaces the server gives no answer: that one runs in a worker.
		const server = await start(place, 'off', name.startsWith('exec') ? null : 'inline');
		const said = answer(await server.call(name, aimsAt(place, { pid: prey.pid })));

		try {
			if (optional[name]?.some((errno) => said === `refused: ${errno}`)) skip(`this system: ${said}`);
			check(name.startsWith('exec') ? said.startsWith('error: tool.') : said === 'done', said);
		} finally {
			prey.kill('SIGKILL');
			server.child.kill('SIGKILL');
			await server.exit;
		}
	});

test('the end: nothing of this is left running', () => victims.forEach((child) => child.kill('SIGKILL')));

await finish();
