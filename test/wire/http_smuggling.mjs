// Request smuggling: each row of data/smuggling.mjs is either one request or refused
// by a single response of ours, after which the connection closes and the request
// behind it was neither executed nor answered. Every row is sent twice, as one
// segment and byte by byte: where a segment ends must not change the verdict.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { canary, corpus, probe } from './data/smuggling.mjs';
import { records } from './lib/audit.mjs';
import { bin, env } from './lib/cli.mjs';
import { codeOf, incidentOf, readResponses, show, talk } from './lib/raw.mjs';

const home = mkdtempSync(join(tmpdir(), 'fw-smuggling-'));
after(() => rmSync(home, { recursive: true, force: true }));

// A server with an audit log of its own: refusals of unauthenticated clients beyond
// the first hundred are only counted, so each group of rows gets a new one.
async function serve(...args) {
	const dir = mkdtempSync(join(home, 'state-'));
	const log = join(dir, 'audit-log.jsonl');
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--audit', log, '--audit-sync', 'off', '--incidents', 'off', '--run', 'inline', ...args], { env: { ...env, XDG_STATE_HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'] });
	const ended = new Promise((done) => child.on('exit', (status, signal) => done(signal ?? status)));
	const port = await new Promise((done, fail) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const found = said.match(/http:\/\/[^\s"]+/);
			if (found) done(Number(new URL(found[0]).port));
		});
		child.on('exit', () => fail(new Error(said)));
	});
	return {
		port,
		async stop() {
			child.kill('SIGTERM');
			assert.equal(await ended, 0, 'the server ends cleanly');
			return records(log);
		},
	};
}

const split = { 'in one segment': (bytes) => [bytes], 'byte by byte': (bytes) => (bytes.length > 4000 ? [bytes.subarray(0, 2000), bytes.subarray(2000, 16000), bytes.subarray(16000)] : [...bytes].map((byte) => Buffer.from([byte]))) };

// What came back for one row: the responses, and whether the connection was closed.
async function send(port, verdict, text, cut) {
	const heads = [text.startsWith('HEAD ')];
	const bytes = Buffer.from(text + (verdict === 'refused' || verdict === 'closed' ? canary : probe), 'latin1');
	const done = verdict === 'one' || verdict === 'either' ? (found) => readResponses(found, heads).list.length > 1 : undefined;
	const found = await talk(port, cut(bytes), { done, ms: 4000 });
	const { list, rest, fault } = readResponses(found.bytes, heads);

	assert.equal(fault, undefined);
	assert.equal(rest.length, 0, `bytes behind the response: ${show(rest)}`);
	return { list, found };
}

const isRefusal = (found) => found.list.length === 1 && found.found.hasEnded && found.list[0].status >= 400;

function checkRefusal({ list, found }) {
	assert.ok(!found.isLate, `the connection stays open after ${list.length} responses: ${list.map(({ status }) => status)}`);
	assert.equal(list.length, 1, `${list.length} responses: ${list.map(({ status, body }) => `${status} ${body.slice(0, 200)}`).join(' | ')}`);
	assert.ok(list[0].status >= 400, `it was accepted: ${list[0].status} ${list[0].body.slice(0, 300)}`);
	assert.ok(codeOf(list[0]), `not an error of ours: ${list[0].status} ${JSON.stringify(list[0].headers)} ${list[0].body.slice(0, 300)}`);
	assert.equal(list[0].headers.connection?.toLowerCase(), 'close', 'the response announces that the connection closes');
}

function checkOne({ list, found }) {
	assert.ok(!found.isLate, `no answer to the second request; before it: ${list.map(({ status, body }) => `${status} ${body.slice(0, 200)}`)}`);
	assert.equal(list.length, 2, `${list.length} responses, and the connection ended: ${list.map(({ status, body }) => `${status} ${body.slice(0, 200)}`)}`);
	if (list[0].status === 200 && list[0].json) assert.equal(list[0].json.id, 'first');
	assert.deepEqual([list[1].status, list[1].json?.id], [200, 'probe'], 'the connection can be used again');
}

function checkVerdict(verdict, reply) {
	if (verdict === 'refused') return checkRefusal(reply);
	if (verdict === 'one') return checkOne(reply);
	if (verdict === 'either' && isRefusal(reply)) return checkRefusal(reply);
	if (verdict === 'either' && reply.list.length > 1) return checkOne(reply);
	assert.ok(!reply.found.isLate, 'the connection stays open');
	assert.equal(reply.list.length, 1, `${reply.list.length} responses`);
	if (reply.list[0].status >= 400) assert.ok(codeOf(reply.list[0]));
}

for (const [group, rows] of Object.entries(corpus))
	for (const [how, cut] of Object.entries(split))
		test(`${group}, ${how}`, { timeout: 120000 }, async (t) => {
			const server = await serve();
			const refusals = [];

			for (const [name, verdict, text, statuses = verdict === 'refused' ? [400] : undefined] of rows)
				await t.test(`${verdict}: ${name}`, async () => {
					const reply = await send(server.port, verdict, text, cut);
					try {
						checkVerdict(verdict, reply);
						if (statuses) assert.ok(statuses.includes(reply.list[0].status), `status ${reply.list[0].status}, not one of ${statuses}`);
					} catch (error) {
						error.message += `\nrequest: ${show(text)}`;
						throw error;
					}
					if (reply.list[0].status >= 400) refusals.push([name, incidentOf(reply.list[0])]);
				});

			const audit = await server.stop();
			await t.test('every refusal is in the audit log', () => {
				const known = new Set(audit.map(({ incident_id }) => incident_id));
				assert.deepEqual(refusals.filter(([, incident]) => !known.has(incident)), []);
			});
			await t.test('no request behind a refused one was executed', () => {
				assert.deepEqual(audit.filter(({ tool_name }) => tool_name === 'raise_error'), []);
			});
		});

// The token is compared with one header: two of them might be read differently by a
// proxy in front of the server.
test('a second Authorization does not replace the first', async () => {
	writeFileSync(join(home, 'token'), 'open-sesame\n');
	const server = await serve('--token-file', join(home, 'token'));
	const [head, tail] = corpus.lengths[0][2].split('Content-Length');
	const attempt = async (...values) => {
		const text = `${head}${values.map((value) => `Authorization: Bearer ${value}\r\n`).join('')}Content-Length${tail}`;
		const { list } = await send(server.port, values.length > 1 ? 'refused' : 'one', text, split['in one segment']);
		return [list.length, list[0].status];
	};
	const found = { right: await attempt('open-sesame').catch((error) => error.message), both: await attempt('open-sesame', 'x'), other: await attempt('x', 'open-sesame') };

	await server.stop();
	assert.deepEqual(found.both, [1, 400]);
	assert.deepEqual(found.other, [1, 400]);
});

test('a GET or DELETE with a body beyond http_drain_bytes gets one answer, and the connection ends', async () => {
	const server = await serve('--limit', 'http_drain_bytes=100000');
	const bytes = 'x'.repeat(300000);
	const found = [];

	for (const method of ['GET', 'DELETE'])
		for (const [header, body] of [[`Content-Length: ${bytes.length}`, bytes], ['Transfer-Encoding: chunked', `${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`]]) {
			const { list, found: how } = await send(server.port, 'refused', `${method} /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n${header}\r\n\r\n${body}`, split['in one segment']);
			found.push([method, header, list.map(({ status }) => status >= 400), how.isLate]);
		}
	await server.stop();
	for (const row of found) assert.deepEqual(row.slice(2), [[true], false], JSON.stringify(found));
});
