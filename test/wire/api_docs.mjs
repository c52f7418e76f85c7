// The examples of docs/api.md: each is run, and answers as the page says.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bin, env, root } from './lib/cli.mjs';
import { originOf } from './lib/served.mjs';

const page = readFileSync(join(root, 'docs/api.md'), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'faultwire-api-docs-'));
const surroundings = { ...env, XDG_STATE_HOME: join(scratch, 'state'), XDG_CONFIG_HOME: join(scratch, 'config') };
const servers = [];
const urls = {};

function serve(args) {
	const child = spawn(bin, args, { cwd: scratch, env: surroundings, stdio: ['ignore', 'ignore', 'pipe'] });
	servers.push(child);
	return originOf(child);
}

before(async () => {
	writeFileSync(join(scratch, 'token'), 'secret\n');
	symlinkSync(join(root, 'examples'), join(scratch, 'examples'));
	writeFileSync(join(scratch, 'clients.json'), page.match(/^```json\n([^]*?)^```$/m)[1]);
	// A directory with the program under its name.
	mkdirSync(join(scratch, 'bin'));
	symlinkSync(bin, join(scratch, 'bin/faultwire'));
	const path = `${join(scratch, 'bin')}:${process.env.PATH}`;
	const prepared = spawnSync('bash', ['--norc', '-ec', `${page.match(/^```sh\n([^]*?)^```$/m)[1]}\necho "$plan" >&3`], { cwd: scratch, env: { ...surroundings, PATH: path }, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
	assert.equal(prepared.status, 0, prepared.stderr.toString());
	surroundings.plan = prepared.output[3].toString().trim();
	// The servers of the page, on free ports.
	for (const [, command, port, rest] of page.matchAll(/^faultwire (serve|gate) --http 127\.0\.0\.1:(\d+) (.*)$/gm))
		urls[`http://127.0.0.1:${port}`] = await serve([command, '--http', '127.0.0.1:0', '--log', 'off', ...rest.split(' ')]);
});
after(() => {
	for (const child of servers) child.kill('SIGKILL');
	rmSync(scratch, { recursive: true, force: true });
});

const statuses = new Set();
for (const [, block] of page.matchAll(/^```console\n([^]*?)^```$/gm)) {
	const [command, ...expected] = block.trimEnd().split('\n');
	test(command, () => {
		let script = command.slice(2).replaceAll('curl -i', 'curl -s -i');
		for (const [from, to] of Object.entries(urls)) script = script.replaceAll(from, to);
		const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { cwd: join(scratch, 'notes'), env: surroundings, input: '' });
		assert.equal(status, 0, stderr.toString());
		const found = stdout.toString().replaceAll('\r\n', '\n');
		assert.equal(found.split('\n')[0], expected[0]);
		statuses.add(Number(expected[0].split(' ')[1]));
		for (const line of expected.slice(1)) {
			const pattern = line.split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^\\n]*');
			assert.match(found, new RegExp(`^${pattern}${line.endsWith('...') ? '' : '$'}`, 'm'));
		}
	});
}

test('every status that clients have to handle has an example', () => {
	assert.deepEqual([...statuses].sort(), [200, 400, 401, 403, 404, 409, 415, 422, 426, 429, 503, 504]);
	// Each by its condition: the drill only shows another contract.
	assert.equal(page.match(/curl .*"code":.*raise_error/g).length, 1);
});
