// A program spoken to through named pipes, with blocking reads and writes: no event loop and no parser of the client is
// part of what is timed.

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export class Raw {
	constructor(folder, program, args) {
		const [input, output] = ['in', 'out'].map((name) => join(folder, `${name}-${process.hrtime.bigint()}`));
		execFileSync('mkfifo', [input, output]);
		// Opened both ways first, so that opening does not wait. Each side has its own: a program may make its ends nonblocking.
		const both = [input, output].map((path) => openSync(path, constants.O_RDWR));
		const theirs = [openSync(input, constants.O_RDONLY), openSync(output, constants.O_WRONLY)];
		[this.to, this.from] = [openSync(input, constants.O_WRONLY), openSync(output, constants.O_RDONLY)];
		this.child = spawn(program, args, { stdio: [...theirs, 'ignore'] });
		[...both, ...theirs].forEach(closeSync);
		this.ended = new Promise((done) => this.child.on('exit', done));
		this.buffer = Buffer.alloc(1 << 20);
	}

	// Sends a line, and reads until a line has come back: how long it took, in milliseconds. The reply is in `parts`.
	time(message) {
		const line = Buffer.from(`${message}\n`);
		this.parts = [];
		const begun = process.hrtime.bigint();
		writeSync(this.to, line);
		for (;;) {
			const got = readSync(this.from, this.buffer);
			if (!got) throw new Error('the program has ended');
			if (this.buffer[got - 1] === 10) {
				const took = Number(process.hrtime.bigint() - begun) / 1e6;
				this.parts.push(Buffer.from(this.buffer.subarray(0, got)));
				return took;
			}
			this.parts.push(Buffer.from(this.buffer.subarray(0, got)));
		}
	}

	reply() {
		return JSON.parse(Buffer.concat(this.parts).toString());
	}

	async end() {
		closeSync(this.to);
		await this.ended;
		closeSync(this.from);
	}
}
