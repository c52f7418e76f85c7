// The process that workers are copied from is killed, again and again, at any
// moment: each call still gets its one answer.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { check, finish, root, same, scratch, test } from './lib/cli.mjs';
import { Wire, canonical } from './lib/mcp.mjs';

const program = join(resolve(process.env.FW_BUILD ?? join(root, 'build')), 'escape');
const rounds = Number(process.env.FW_ROUNDS ?? 20);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

test(`${rounds} times: no call is forgotten`, async () => {
	const at = scratch();
	const read = join(at, 'read');

	mkdirSync(read);
	writeFileSync(join(read, 'file'), 'text');
	const wire = new Wire(['--stdio', '--sandbox', 'best-effort', '--read', read, '--write', at], program);
	const seen = {};

	await wire.initialize();
	for (let i = 0; i < rounds; i++) {
		const [parent] = readFileSync(`/proc/${wire.child.pid}/task/${wire.child.pid}/children`, 'utf8').split(' ');

		if (parent) process.kill(Number(parent), 'SIGKILL');
		// Now, a moment later, and when the next one is being made.
		for (let k = 0; k < 3; k++) {
			const reply = await wire.call('work', { read, write: at });
			const said = reply.result?.isError ? canonical(reply).code : 'worked';

			seen[said] = (seen[said] ?? 0) + 1;
			await sleep(Math.random() * 60);
		}
	}
	check(seen.worked > 0, JSON.stringify(seen));
	same(Object.keys(seen).filter((said) => !['worked', 'server.overloaded', 'tool.crashed'].includes(said)), []);
	same((await wire.end()).status, 0);
	same(wire.messages, []);
});

await finish();
