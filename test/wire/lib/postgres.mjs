// A PostgreSQL server of a test: a new cluster in a temporary directory, from Debian's
// package (test/programs/postgres-cluster).

import { spawn, spawnSync, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './cli.mjs';
import { until } from './govern.mjs';

const program = join(root, 'test/programs/postgres-cluster');

// Why a test cannot have a small disk; undefined: it can.
export function noDisk() {
	if (process.getuid() !== 0) return 'a small disk needs root';
	const tried = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { encoding: 'utf8' });
	return tried.status === 0 ? undefined : `a file system cannot be mounted: ${tried.stderr.trim()}`;
}

// A file system of `size`, in a mount namespace that ends with this process, whatever ends it.
async function mountDisk(directory, size) {
	const [uid, gid] = ['-u', '-g'].map((option) => execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }).trim());
	const holder = spawn('unshare', ['-m', 'sh', '-c', `mount -t tmpfs -o size=${size},mode=700,uid=${uid},gid=${gid} tmpfs "$1" && echo mounted && exec cat`, 'sh', directory], { stdio: ['pipe', 'pipe', 'inherit'] });
	await new Promise((done, lost) => {
		holder.stdout.once('data', done);
		holder.once('exit', () => lost(new Error('the disk could not be mounted')));
	});
	return holder;
}

const newDirectory = () => mkdtempSync(join(tmpdir(), 'fw-pg-'));

export class Postgres {
	// `around`: a command that runs the programs of the cluster.
	constructor(directory = newDirectory(), around = []) {
		this.directory = directory;
		this.around = around;
		const [first, ...rest] = [...around, program, 'init', directory];
		execFileSync(first, rest, { stdio: 'inherit' });
	}

	// A cluster whose files are on a disk of this size.
	static async onDisk(size) {
		const directory = newDirectory();
		const data = join(directory, 'data');
		mkdirSync(data);
		const holder = await mountDisk(data, size);
		const postgres = new Postgres(directory, ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`, '--']);
		postgres.holder = holder;
		postgres.filler = `/proc/${holder.pid}/root${data}/filler`;
		return postgres;
	}

	// A standby of a server that runs, to be started.
	static standbyOf(primary) {
		const standby = Object.create(Postgres.prototype);
		standby.directory = newDirectory();
		standby.around = [];
		execFileSync(program, ['copy', standby.directory, primary.directory], { stdio: 'inherit' });
		return standby;
	}

	// Nothing fits on its disk any more.
	fillDisk() {
		const block = Buffer.alloc(64 * 1024);
		const step = (bytes) => {
			try {
				for (;;) writeFileSync(this.filler, bytes, { flag: 'a' });
			} catch (error) {
				if (error.code !== 'ENOSPC') throw error;
			}
		};
		step(block);
		step(block.subarray(0, 4096));
	}

	freeDisk() {
		rmSync(this.filler);
	}

	url(user = 'faultwire', more = '') {
		return `postgresql:///postgres?host=${this.directory}&user=${user}${more}`;
	}

	// Until it accepts connections.
	async start(...args) {
		const [first, ...rest] = [...this.around, program, 'run', this.directory, '-c', 'fsync=off', ...args];
		this.port = args.find((arg) => arg.startsWith('port='))?.slice(5) ?? '5432';
		this.child = spawn(first, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
		this.said = '';
		this.child.stderr.on('data', (bytes) => (this.said += bytes));
		this.ended = new Promise((done) => this.child.on('exit', done));
		await until(() => {
			if (this.child.exitCode !== null) throw new Error(this.said);
			try {
				return this.sql('SELECT 1');
			} catch {
				return false;
			}
		}, 'PostgreSQL accepts connections');
	}

	// The rows of a statement, as text.
	sql(text, user = 'faultwire') {
		return execFileSync('psql', ['-h', this.directory, '-p', this.port, '-U', user, '-d', 'postgres', '-AtXqc', text], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
	}

	// SIGINT: a fast shutdown; SIGQUIT: without one; SIGKILL.
	async stop(signal = 'SIGINT') {
		if (!this.child || this.child.exitCode !== null || this.child.signalCode) return;
		this.child.kill(signal);
		await this.ended;
	}

	// SIGSTOP or SIGCONT for all of its processes.
	signal(name) {
		const own = this.child.pid;
		const children = readFileSync(`/proc/${own}/task/${own}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

		for (const pid of [own, ...children]) {
			try {
				process.kill(pid, name);
			} catch {
				// It has ended meanwhile.
			}
		}
	}

	async end() {
		if (this.child && this.child.exitCode === null && !this.child.signalCode) this.signal('SIGCONT');
		await this.stop('SIGQUIT');
		this.holder?.stdin.end();
		rmSync(this.directory, { recursive: true, force: true });
	}
}
