// A PostgreSQL server of a test: a new cluster in a temporary directory, from Debian's
// package (test/programs/postgres-cluster).

import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './cli.mjs';
import { until } from './govern.mjs';

const program = join(root, 'test/programs/postgres-cluster');

export class Postgres {
	constructor() {
		this.directory = mkdtempSync(join(tmpdir(), 'fw-pg-'));
		execFileSync(program, ['init', this.directory], { stdio: 'inherit' });
	}

	url(user = 'faultwire', more = '') {
		return `postgresql:///postgres?host=${this.directory}&user=${user}${more}`;
	}

	// Until it accepts connections.
	async start(...args) {
		this.port = args.find((arg) => arg.startsWith('port='))?.slice(5) ?? '5432';
		this.child = spawn(program, ['run', this.directory, '-c', 'fsync=off', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
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
	sql(text) {
		return execFileSync('psql', ['-h', this.directory, '-p', this.port, '-U', 'faultwire', '-d', 'postgres', '-AtXqc', text], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
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
		this.signal?.call(this, 'SIGCONT');
		await this.stop('SIGQUIT');
		rmSync(this.directory, { recursive: true, force: true });
	}
}
