// A session is deleted while its calls run or their failures are being written
// to the audit log, and connections are reset in between.
//
// reaches: session.ended

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { changer } from './lib/audit.mjs';
import { Wire, ask, legacyCall, post, request, serveProgram, session } from './lib/http.mjs';

const place = mkdtempSync(join(tmpdir(), 'fw-session-end-'));
let server;
before(async () => {
	server = await serveProgram(changer, '--audit', join(place, 'audit-log.jsonl'));
});
after(async () => {
	assert.equal(await server.stop(), 0);
	rmSync(place, { recursive: true });
});

const deletion = (headers) => request('DELETE', headers);
const failing = (count) => Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method: 'no/such' }));
const isAlive = async () => assert.equal((await ask(server, deletion(await session(server)))).status, 200);

test('a batch of failures, DELETE, connection reset: the server survives 250 rounds', async () => {
	for (let round = 0; round < 250; round++) {
		const headers = await session(server, '2025-03-26');
		const batch = new Wire(server.port);
		const ender = new Wire(server.port);

		batch.send(post(failing(64), headers));
		ender.send(deletion(headers));
		batch.until((text) => text.length || undefined).catch(() => {});
		if (round % 2) await ender.response();
		batch.socket.resetAndDestroy();
		if (round % 2 === 0) await ender.response().catch(() => {});
		ender.close();
		assert.equal(server.child.exitCode ?? server.child.signalCode, null, `round ${round}`);
	}
	await isAlive();
});

test('a batch of failures and DELETE on two connections: the batch is answered, as valid JSON', async () => {
	for (let round = 0; round < 50; round++) {
		const headers = await session(server, '2025-03-26');
		const batch = new Wire(server.port);

		batch.send(post(failing(64), headers));
		const [reply] = await Promise.all([batch.response(), ask(server, deletion(headers))]);
		/* Either the batch came first, or there was no session any more. */
		if (Array.isArray(reply.json)) assert.equal(reply.json.length, 64);
		else assert.ok(reply.json.error);
		batch.close();
	}
});

test('DELETE while a call runs: its connection gets session.ended at once', async () => {
	for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
		const headers = await session(server, version);
		const wire = new Wire(server.port);
		const begun = Date.now();

		wire.send(legacyCall(headers, 'hang', { text: 'x' }));
		await new Promise((done) => setTimeout(done, 100));
		assert.equal((await ask(server, deletion(headers))).status, 200);
		const { json } = await wire.response();
		assert.equal(json.result._meta['dev.faultwire/error'].code, 'session.ended');
		assert.ok(Date.now() - begun < 3000);
		wire.close();
	}
});

test('DELETE closes the stream of the session', async () => {
	const headers = await session(server);
	const wire = new Wire(server.port);

	wire.send(request('GET', { ...headers, Accept: 'text/event-stream' }));
	assert.equal((await wire.head()).status, 200);
	assert.equal((await ask(server, deletion(headers))).status, 200);
	while (await wire.event());
	wire.close();
});
