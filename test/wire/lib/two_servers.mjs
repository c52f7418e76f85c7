// Two servers for all tests of a file, one of which requires a token.

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { serve } from './http.mjs';

export async function serveTwo() {
	const server = await serve();
	const guarded = await serve('--token', 'open-sesame');

	after(async () => {
		assert.equal(await server.stop(), 0);
		assert.equal(await guarded.stop(), 0);
	});
	return { server, guarded };
}
