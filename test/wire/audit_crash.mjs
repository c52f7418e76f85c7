// kill -9 at any moment: every reply that was seen is on record, the chain is
// whole, and the server starts again.

import { join } from 'node:path';
import { check, finish, same, test } from './lib/cli.mjs';
import { argsHash, changer, isLong, place, records, started, verify } from './lib/audit.mjs';
import { canonical } from './lib/mcp.mjs';

const rounds = isLong ? 200 : 10;

async function round(log, number) {
	const wire = await started('--audit', log, '--rotate', '300000');
	const args = new Map();
	let sent = 0;
	const load = setInterval(() => {
		for (let i = 0; i < 8 && wire.child.stdin.writableLength < 65536; i++) {
			const id = ++sent + 1000;
			const text = `${number}-${id}`;
			args.set(id, { text });
			wire.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: id % 3 ? 'fail' : 'change', arguments: { text } } });
		}
	}, 1);
	await new Promise((done) => setTimeout(done, Math.random() * 60));
	wire.child.kill('SIGKILL');
	clearInterval(load);
	await wire.closed; // whatever it had said has arrived
	same((await wire.exit).signal, 'SIGKILL');
	const seen = wire.messages.filter((message) => message.id > 1000);
	return {
		// More calls than one client may have in progress are failures, too.
		failures: seen.filter((message) => message.error || message.result.isError).map((message) => canonical(message).incident_id),
		changes: seen.filter((message) => message.result && !message.result.isError).map((message) => argsHash(args.get(message.id))),
	};
}

test(`${rounds} times kill -9 under load: what was seen is on record, and it starts again`, async () => {
	const log = join(place(), 'audit-log.jsonl');
	const failures = [];
	const changes = [];

	for (let i = 0; i < rounds; i++) {
		const seen = await round(log, i);
		failures.push(...seen.failures);
		changes.push(...seen.changes);
	}
	check(failures.length > rounds && changes.length > rounds / 2, `there was load: ${failures.length} and ${changes.length}`);
	const wire = await started('--audit', log);
	same((await wire.call('echo', { text: 'there' })).result.content[0].text, 'there');
	same((await wire.end()).status, 0);

	const count = verify(log);
	const all = records(log);
	const incidents = new Set(all.map((record) => record.incident_id));
	const changed = new Set(all.filter((record) => record.event === 'change').map((record) => record.args_hash));
	same(failures.filter((id) => !incidents.has(id)), [], 'failures that were reported but are not on record');
	same(changes.filter((hash) => !changed.has(hash)), [], 'changes that were reported but are not on record');
	console.log(`# ${rounds} kills of ${changer.split('/').pop()}: ${failures.length + changes.length} replies seen, ${count} records`);
});

await finish();
