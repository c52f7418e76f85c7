/*
 * The official conformance suite, as its judges run it. It wants Node 22, which comes as a
 * package; the judges do not.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const node = join(here, `node_modules/node-linux-${process.arch}/bin/node`);
const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/* Runs the suite against the server at `url`: { code, said }. */
export function run(url, ...args) {
	return new Promise((resolve) => {
		const child = spawn(node, [suite, 'server', '--url', String(url), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
		let said = '';
		child.stdout.on('data', (bytes) => (said += bytes));
		child.stderr.on('data', (bytes) => (said += bytes));
		child.on('exit', (code) => resolve({ code, said }));
	});
}

/* What failed, in the suite's own words. */
export function failures(dir) {
	return readdirSync(dir).flatMap((name) =>
		JSON.parse(readFileSync(join(dir, name, 'checks.json'), 'utf8'))
			.filter((check) => check.status === 'FAILURE')
			.map((check) => `${name}: ${check.id}: ${check.errorMessage ?? check.description}`));
}
