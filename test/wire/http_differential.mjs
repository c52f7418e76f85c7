// Our HTTP server against Node's, over mutated requests (lib/differential.mjs has the
// rules). 5,000 cases; FW_LONG=1 tries 100,000. A failure names its case: FW_SEED and
// FW_CASE repeat it alone.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { compare } from './lib/differential.mjs';
import { serve } from './lib/http.mjs';
import { ask, dropsAfter, skips } from './lib/nodehttp.mjs';

const seed = Number(process.env.FW_SEED ?? 11);
const only = process.env.FW_CASE === undefined ? undefined : Number(process.env.FW_CASE);
const total = Number(process.env.FW_CASES ?? (process.env.FW_LONG ? 100000 : 5000));

let server;
before(async () => {
	server = await serve();
});
after(async () => {
	assert.equal(await server.stop(), 0);
});

test(`${only === undefined ? total : 1} mutated requests: never more than Node, never another body`, { timeout: process.env.FW_LONG ? 3600000 : 600000 }, async (t) => {
	const begun = Date.now();
	const { tally, faults } = await compare(server.port, seed, only ?? 0, only === undefined ? total : only + 1, { ask, skips, dropsAfter, mustHaveReason: true });

	for (const [what, number] of Object.entries(tally)) t.diagnostic(`${number} ${what}`);
	t.diagnostic(`${((Date.now() - begun) / 1000).toFixed(1)} s, llhttp ${process.versions.llhttp} of Node ${process.version}`);
	assert.equal(faults.length, 0, `${faults.length} differences:\n${faults.join('\n')}`);
	assert.ok(only !== undefined || (tally.requests > total / 2 && tally['refused by both'] > total / 10), 'the mutations are neither all valid nor all invalid');
});
