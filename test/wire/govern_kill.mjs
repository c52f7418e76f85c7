// A budget is never overspent by servers that are killed (kill -9) while calls run. 8 rounds;
// 200 with FW_LONG=1. src/govern/policy_test.c has 200 rounds without a server around it.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Place, canonical, isFine, mcp } from './lib/govern.mjs';

const ROUNDS = process.env.FW_LONG ? 200 : 8;
const BUDGET = ROUNDS * 40;
const place = new Place('kill');
after(() => place.end());

test(`${ROUNDS} servers are killed, and the budget holds`, async () => {
	const token = place.token('spender', 'admin');
	let passed = 0, killed = 0, refused = 0;

	writeFileSync(place.file('policy.json'), JSON.stringify({ version: 1, clients: { spender: { budget_per_day: BUDGET } } }));
	const start = () => place.start('serve', '--tools', 'diag', '--run', 'inline', '--tokens', '--clients', place.file('policy.json'), '--log', 'off');
	const call = async (server) => {
		try {
			const reply = await mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token });
			if (isFine(reply)) passed++;
			else {
				assert.equal(canonical(reply).code, 'governance.budget_exceeded');
				refused++;
			}
		} catch (error) {
			if (error.code === 'ERR_ASSERTION') throw error;
		}
	};
	for (let i = 0; i < ROUNDS; i++) {
		const server = await start();
		const calls = Array.from({ length: 30 + (i % 20) }, () => call(server));
		// In the middle: after some of them have been answered.
		await Promise.race(calls.slice(i % 10));
		server.child.kill('SIGKILL');
		await Promise.all(calls);
		killed += (await server.ended) === 'SIGKILL';
		assert.ok(passed <= BUDGET, `${passed} of ${BUDGET}`);
	}
	assert.equal(killed, ROUNDS);
	// A refusal of this server, also if others have refused before: until it has answered, a
	// SIGTERM may come before its handler.
	refused = 0;
	const server = await start();
	while (!refused) await Promise.all(Array.from({ length: 50 }, () => call(server)));
	assert.ok(passed <= BUDGET, `${passed} of ${BUDGET}`);
	assert.ok(passed > 0);
	assert.equal(await server.stop(), 0);
});
