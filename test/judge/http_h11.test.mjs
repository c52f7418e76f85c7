// Our HTTP server judged by h11, a parser written from the RFCs that shares no code
// with llhttp: we accept nothing that h11 refuses, see the same bodies, and its client
// side understands what we answer. FW_LONG=1 tries 50,000 requests and not 3,000.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { corpus, probe } from '../wire/data/smuggling.mjs';
import { compare } from '../wire/lib/differential.mjs';
import { serve } from '../wire/lib/http.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const total = Number(process.env.FW_CASES ?? (process.env.FW_LONG ? 50000 : 3000));

// Debian's Python: the package is installed for no other.
const child = spawn('/usr/bin/python3', [join(here, 'http_h11.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = [];
child.on('exit', (status) => status && assert.fail(`http_h11.py: exit ${status}`));
createInterface({ input: child.stdout }).on('line', (line) => {
	const answer = JSON.parse(line);
	for (const request of answer.requests) request.body = Buffer.from(request.body, 'base64');
	waiting.shift()({ ...answer, refusal: answer.refusal ?? undefined });
});
const ask = (segments) =>
	new Promise((done) => {
		waiting.push(done);
		child.stdin.write(`${JSON.stringify({ segments: segments.map((segment) => segment.toString('base64')) })}\n`);
	});

// RFC 9112 2.2: a server should skip an empty line before a request; h11 does not. Nor
// does it keep a connection of HTTP/1.0.
function skips({ requests, refusal }) {
	if (refusal === 'no request line received') return 'h11 skips no empty line';
	return refusal === 'Got data when expecting EOF' && requests.at(-1)?.version === '1.0' ? 'h11 keeps no connection of HTTP/1.0' : undefined;
}

let server;
before(async () => {
	server = await serve();
});
after(async () => {
	child.stdin.end();
	assert.equal(await server.stop(), 0);
});

test(`${total} mutated requests: never more than h11, never another body`, { timeout: 600000 }, async (t) => {
	const { tally, faults } = await compare(server.port, 9112, 0, total, { ask, skips, mustHaveReason: false });

	for (const [what, number] of Object.entries(tally)) t.diagnostic(`${number} ${what}`);
	assert.equal(faults.length, 0, `${faults.length} differences:\n${faults.join('\n')}`);
	assert.ok(tally.requests > total / 2);
});

test('h11 too sees one request in each row of the smuggling corpus that is one', async () => {
	const wrong = [];
	for (const [name, verdict, text] of Object.values(corpus).flat()) {
		if (verdict !== 'one') continue;
		const { requests, refusal } = await ask([Buffer.from(text + probe, 'latin1')]);
		if ((requests.length !== 2 || refusal) && !skips({ requests, refusal })) wrong.push([name, requests.length, refusal]);
	}
	assert.deepEqual(wrong, []);
});
