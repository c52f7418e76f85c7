// What the tests of the audit log share: a server that keeps one, and the log.

import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { root, run, same, scratch } from './cli.mjs';
import { Wire } from './mcp.mjs';

export const changer = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'changer');
export const isLong = Boolean(process.env.FW_LONG);

export const place = () => mkdtempSync(join(scratch(), 'audit-'));

export async function started(...args) {
	const wire = new Wire(['--stdio', ...args], changer);
	await wire.initialize();
	return wire;
}

export const hash = (text) => createHash('sha256').update(text).digest('hex');
export const argsHash = (args) => hash(JSON.stringify(args));

// All files of the log, oldest first.
export function files(log) {
	const stem = basename(log, '.jsonl');
	const rotated = readdirSync(dirname(log)).filter((name) => new RegExp(`^${stem}\\.\\d{6}\\.jsonl$`).test(name));
	return [...rotated.sort().map((name) => join(dirname(log), name)), ...(existsSync(log) ? [log] : [])];
}

export function records(log) {
	return files(log).flatMap((name) => {
		const lines = readFileSync(name, 'utf8').split('\n');
		same(lines.pop(), '', `${name} ends with a line`);
		return lines.map((line) => JSON.parse(line));
	});
}

// Our own verifier, and one written independently, from the documentation.
export function verify(log) {
	let prev = 'GENESIS';
	let seq = 0;
	for (const name of files(log))
		for (const line of readFileSync(name, 'utf8').split('\n').slice(0, -1)) {
			const record = JSON.parse(line);
			same([record.seq, record.prev_hash], [++seq, prev], `${name}: sequence and chain`);
			same(hash(line.replace(/,"hash":"[0-9a-f]{64}"}$/, '}')), record.hash, `${name}: hash of ${seq}`);
			prev = record.hash;
		}
	const { status, out, err } = run(['audit', 'verify', '--json', log]);
	same([status, err], [0, ''], `audit verify: ${out}`);
	same([JSON.parse(out).records, JSON.parse(out).last_hash], [seq, prev]);
	return seq;
}
