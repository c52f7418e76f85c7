// What the tests of the command line share: running the program, and TAP.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const bin = resolve(process.env.FW_BIN ?? process.env.FAULTWIRE ?? join(root, 'build/faultwire'));

export const contracts = ['canonical', 'kaiza', 'context-v0', 'codeintel', 'toolerror', 'owlclaw', 'owlclaw-api'];

// A known environment: no colours, no stack, the program first on the path.
export const env = {
	PATH: `${dirname(bin)}:${process.env.PATH}`,
	HOME: process.env.HOME ?? '/',
	LC_ALL: 'C.UTF-8',
	TERM: 'xterm',
	get XDG_STATE_HOME() {
		return join(scratch(), 'state');
	},
};

// run(['convert', ...], { input, env }): exit status and both streams as text.
export function run(args, options = {}) {
	const result = spawnSync(bin, args, {
		input: options.input ?? '',
		env: { ...env, ...options.env },
		maxBuffer: 1 << 28,
		cwd: options.cwd ?? scratch(),
		stdio: options.stdio,
	});
	return {
		status: result.status,
		signal: result.signal,
		out: result.stdout?.toString() ?? '',
		err: result.stderr?.toString() ?? '',
	};
}

export function shell(script, options = {}) {
	// Its input is a socket, for which bash would read a .bashrc, and say what that says.
	const result = spawnSync('bash', ['--norc', '-c', script], {
		input: options.input ?? '',
		env: { ...env, ...options.env },
		maxBuffer: 1 << 28,
		cwd: scratch(),
	});
	return { status: result.status, out: result.stdout.toString(), err: result.stderr.toString() };
}

export function start(args, options = {}) {
	return spawn(bin, args, { env: { ...env, ...options.env }, stdio: options.stdio ?? 'pipe' });
}

export function has(program) {
	return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

export function lines(text) {
	if (text === '') return [];
	check(text.endsWith('\n'), `text ends in a newline: ${JSON.stringify(text.slice(-80))}`);
	return text.slice(0, -1).split('\n');
}

let scratchDir;
export function scratch() {
	if (!scratchDir) {
		scratchDir = mkdtempSync(join(tmpdir(), 'fw-cli-'));
		process.on('exit', () => rmSync(scratchDir, { recursive: true, force: true }));
	}
	return scratchDir;
}

export function file(name, text) {
	const path = join(scratch(), name);
	writeFileSync(path, text);
	return path;
}

// --- TAP -----------------------------------------------------------------------

class Failure extends Error {}

export function check(condition, what) {
	if (!condition) throw new Failure(what);
}

export function same(found, expected, what) {
	const a = JSON.stringify(found);
	const b = JSON.stringify(expected);
	check(a === b, `${what ?? 'values differ'}\n  expected ${b}\n  found    ${a}`);
}

export function match(text, pattern, what) {
	check(pattern.test(text), `${what ?? 'text'} does not match ${pattern}:\n${text.slice(0, 2000)}`);
}

const tests = [];

export function test(name, body) {
	tests.push({ name, body });
}

// skip(reason), thrown inside a test, skips it.
export class Skip extends Error {}
export function skip(reason) {
	throw new Skip(reason);
}

export async function finish() {
	let failed = 0;
	console.log(`1..${tests.length}`);
	for (const [i, { name, body }] of tests.entries()) {
		try {
			await body();
			console.log(`ok ${i + 1} - ${name}`);
		} catch (error) {
			if (error instanceof Skip) {
				console.log(`ok ${i + 1} - ${name} # SKIP ${error.message}`);
				continue;
			}
			failed++;
			console.log(`not ok ${i + 1} - ${name}`);
			const text = error instanceof Failure ? error.message : error.stack;
			console.log(text.split('\n').map((line) => `# ${line}`).join('\n'));
		}
	}
	process.exitCode = failed ? 1 : 0;
}
