// On Debian 13 a server aborted right after its start ("io_uring_enter: Operation not
// permitted"): libuv had set up an io_uring before the sandbox refused its use. So a
// confined server has none, and answers.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { served } from './lib/served.mjs';

const root = process.env.FW_ROOT ?? new URL('../..', import.meta.url).pathname;
const program = process.env.FAULTWIRE ?? join(root, 'build/faultwire');

for (const run of ['process', 'thread', 'inline'])
	test(`a confined server has no io_uring, and answers: --run ${run}`, async () => {
		const state = mkdtempSync(join(tmpdir(), 'faultwire-uring-'));
		const server = await served(program, ['serve', '--http', '127.0.0.1:0', '--tools', 'diag', '--run', run, '--log', 'off'], { env: { ...process.env, XDG_STATE_HOME: state } });
		try {
			for (let i = 0; i < 3; i++)
				assert.equal((await fetch(`${new URL(server.url).origin}/readyz`)).status, 200);
			const files = readdirSync(`/proc/${server.child.pid}/fd`).map((fd) => {
				try {
					return readlinkSync(`/proc/${server.child.pid}/fd/${fd}`);
				} catch {
					return ''; // closed since
				}
			});
			assert.deepEqual(files.filter((name) => name.includes('io_uring')), []);
		} finally {
			assert.equal(await server.stop(), 0);
			rmSync(state, { recursive: true, force: true });
		}
	});
