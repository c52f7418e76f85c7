// Many clients at once, and several processes on one log.

import { join } from 'node:path';
import { finish, same, test } from './lib/cli.mjs';
import { changer, isLong, place, records, verify } from './lib/audit.mjs';
import { served } from './lib/served.mjs';
import { modern } from './lib/mcp.mjs';
import http from 'node:http';

async function listening(log) {
	const { child, url } = await served(changer, ['--http', '127.0.0.1:0', '--audit', log, '--rotate', '200000'], { stdio: ['ignore', 'ignore', 'pipe'] });
	return { child, url, exit: new Promise((done) => child.on('exit', done)) };
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

function post(url, message) {
	return new Promise((done, fail) => {
		const headers = {
			'Content-Type': 'application/json',
			Accept: 'application/json, text/event-stream',
			'MCP-Protocol-Version': '2026-07-28',
			'Mcp-Method': message.method,
			'Mcp-Name': message.params.name,
		};
		const request = http.request(url, { method: 'POST', agent, headers }, (response) => {
			let text = '';
			response.on('data', (bytes) => (text += bytes));
			response.on('end', () => {
				try {
					done(JSON.parse(text));
				} catch {
					fail(new Error(text.slice(0, 500)));
				}
			});
		});
		request.on('error', fail);
		request.end(JSON.stringify(message));
	});
}

async function client(url, number, calls) {
	const seen = [];
	for (let i = 0; i < calls; i++) {
		const reply = await post(url, {
			jsonrpc: '2.0',
			id: i,
			method: 'tools/call',
			params: { name: 'fail', arguments: { text: `${number}-${i}` }, _meta: modern },
		});
		seen.push(reply.result._meta['dev.faultwire/error']);
	}
	return seen;
}

for (const [clients, processes, calls] of [
	[64, 1, isLong ? 200 : 10],
	[64, 3, isLong ? 100 : 10],
])
	test(`${clients} clients, ${processes} processes on one log: no gap, a whole chain, each failure once`, async () => {
		const log = join(place(), 'audit-log.jsonl');
		const servers = await Promise.all(Array.from({ length: processes }, () => listening(log)));
		const seen = (await Promise.all(Array.from({ length: clients }, (_, i) => client(servers[i % processes].url, i, calls)))).flat();
		for (const server of servers) server.child.kill('SIGTERM');
		same(await Promise.all(servers.map((server) => server.exit)), Array(processes).fill(0));
		same([...new Set(seen.map((error) => error.code))], ['file.not_found']);
		verify(log);
		const failures = records(log).filter((record) => record.event === 'failure');
		same(failures.length, clients * calls);
		const ids = failures.map((record) => record.incident_id).sort();
		same(ids, seen.map((error) => error.incident_id).sort());
		console.log(`# ${failures.length} failures on record`);
	});

await finish();
agent.destroy();
