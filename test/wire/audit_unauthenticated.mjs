// A client that is refused before it has shown a token cannot fill the disk: the audit log
// records a limited number of them, and counts the rest. Nothing else is ever left out.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, finish, same, test } from './lib/cli.mjs';
import { place, records, verify } from './lib/audit.mjs';

const token = 'of-the-test-alone';

async function served(body) {
	const dir = place();
	const log = join(dir, 'audit-log.jsonl');
	writeFileSync(join(dir, 'token'), `${token}\n`);
	const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--audit', log, '--audit-sync', 'off', '--incidents', 'off', '--token-file', join(dir, 'token'), '--run', 'inline'], { env: { ...env, XDG_STATE_HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'] });
	const url = await new Promise((done, fail) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said += bytes;
			const found = said.match(/http:\/\/[^\s"]+/);
			if (found) done(found[0]);
		});
		child.on('exit', () => fail(new Error(said)));
	});
	try {
		await body(url, log);
	} finally {
		child.kill('SIGTERM');
	}
	same(await new Promise((done) => child.on('exit', done)), 0);
	verify(log);
	return records(log);
}

const post = (url, body, headers = {}) =>
	fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'raise_error', 'MCP-Protocol-Version': '2026-07-28', ...headers } }).then(async (reply) => ({ status: reply.status, text: await reply.text() }));
const call = (id) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'raise_error', arguments: {}, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} } } });

test('a flood without a token is recorded up to a limit, counted beyond, and answered all the same', async () => {
	const count = 600;
	const begun = Date.now();
	const seen = { refused: 0, failed: [] };
	const found = await served(async (url) => {
		// A client at work: its token was seen before the flood, so it is not slowed down.
		const failing = async (id) => seen.failed.push(JSON.parse((await post(url, call(id), { Authorization: `Bearer ${token}` })).text).result._meta['dev.faultwire/error'].incident_id);
		await failing(count);
		for (let i = 0; i < count; i += 20) {
			const replies = await Promise.all(Array.from({ length: 20 }, (_, k) => post(url, '{}', k % 2 ? { Authorization: 'Bearer wrong' } : {})));
			seen.refused += replies.filter(({ status }) => status === 401 || status === 429).length;
			// One who may, in the middle of it.
			await failing(i + 1);
		}
	});
	const seconds = (Date.now() - begun) / 1000;
	const refused = found.filter(({ code }) => code === 'auth.unauthorized' || code === 'governance.rate_limited').length;
	const notes = found.filter(({ reason }) => reason === 'refusals left out');
	same(seen.refused, count, 'everyone has an answer');
	check(refused >= 100 && refused <= 102 + seconds, `${refused} of ${count} are recorded`);
	same(refused + notes.reduce((sum, note) => sum + note.count, 0), count, 'recorded or counted');
	check(notes.length >= 1 && notes.length <= 2 + seconds / 10 && notes.every((note) => Date.parse(note.since) >= begun - 1000), JSON.stringify(notes));
	same(found.filter(({ tool_name }) => tool_name === 'raise_error').map((record) => record.incident_id), seen.failed, 'no call with a token is left out');
});

test('refusals of requests with the token are all recorded', async () => {
	const count = 150;
	const found = await served(async (url) => {
		for (let i = 0; i < count; i += 10) await Promise.all(Array.from({ length: 10 }, () => post(url, '{}', { Authorization: `Bearer ${token}`, Accept: 'text/plain' })));
	});
	same(found.filter(({ code }) => code === 'protocol.not_acceptable').length, count);
	same(found.filter(({ event }) => event === 'note'), []);
});

await finish();
