/*
 * What the judges of the gateway share: examples/everything over stdio and HTTP, and
 * gateways before it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listening } from './lib.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const build = process.env.FW_BUILD ?? join(here, '../../build');

export const everything = join(build, 'examples/everything');
export const faultwire = process.env.FAULTWIRE ?? join(build, 'faultwire');

const state = mkdtempSync(join(tmpdir(), 'fw-gate-judge-'));
process.on('exit', () => rmSync(state, { recursive: true, force: true }));

export const env = { PATH: process.env.PATH, HOME: process.env.HOME ?? '/', XDG_STATE_HOME: state };
export const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];

/* A server that was started with --http: its URL and its process. */
export async function serve(program, args) {
	const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
	const url = await listening(child);

	child.stderr.resume();
	return { child, url, stop: () => child.kill() };
}

/* Arguments of faultwire for a gateway before examples/everything. */
export const before = (upstream, url) => (upstream === 'stdio' ? ['--', everything, '--stdio'] : ['--url', url.href]);
