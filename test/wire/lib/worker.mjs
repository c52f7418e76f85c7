// What the tests of isolated execution share: the server of hazards, and a look
// at the processes that it has.

import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { root, same } from './cli.mjs';
import { Wire } from './mcp.mjs';

const build = resolve(process.env.FW_BUILD ?? join(root, 'build'));
export const hazard = join(build, 'hazard');

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function stat(pid) {
	try {
		const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
		const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'));
		const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
		return { pid, name, state, parent: Number(parent) };
	} catch {
		return undefined;
	}
}

export const isAlive = (pid) => stat(pid) !== undefined && stat(pid).state !== 'Z';

// All processes below one, zombies too.
export function descendants(pid) {
	const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).map(stat).filter(Boolean);
	const found = [];
	const add = (parent) => {
		for (const one of all)
			if (one.parent === parent) {
				found.push(one);
				add(one.pid);
			}
	};
	add(pid);
	return found;
}

export const forkservers = (pid) => descendants(pid).filter((one) => one.name === 'fw-forkserver');
export const workers = (pid) => descendants(pid).filter((one) => one.name === 'fw-worker');
export const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;
export const rss = (pid) => Number(readFileSync(`/proc/${pid}/status`, 'latin1').match(/VmRSS:\s+(\d+)/)[1]);

export async function until(condition, what, ms = 5000) {
	for (const late = Date.now() + ms; !condition(); await sleep(5))
		if (Date.now() > late) throw new Error(`not within ${ms} ms: ${what}`);
}

// A session over stdio; afterwards nothing of it is left.
export async function session(body, { args = [], version, capabilities } = {}) {
	const wire = new Wire(args, hazard);
	let below = [];
	try {
		await wire.initialize(version, capabilities);
		await body(wire, wire.child.pid);
		below = descendants(wire.child.pid);
	} catch (error) {
		wire.child.kill('SIGKILL');
		throw error;
	}
	const { status } = await wire.end();
	same(status, 0, `how the server ended: ${wire.err}`);
	await until(() => !below.some(({ pid }) => isAlive(pid)), 'all its processes have ended');
	return wire;
}
