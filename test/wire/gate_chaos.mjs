// Chaos: several servers behind one gateway, a quarter of them failing at any time, and many clients
// (test/lab/chaos.mjs). Every call has exactly one answer, a healthy server never fails, all
// servers recover, memory and descriptors stay flat, and no process is left, also
// after the gateway was killed.
//
// FW_LONG=1 (make chaos): 20 servers, 200 clients, 10 minutes; FW_CHAOS_SECONDS=N for another time. It also
// judges that healthy servers stay within 1.3 of their p99 alone, under an equal load of calls to them.

import { check, finish, same, test } from './lib/cli.mjs';
import { canonicalOf, isSuccess, pause } from '../lab/client.mjs';
import { PATIENCE, chaos, connect, serversOf, start, stop } from '../lab/chaos.mjs';

const isLong = Boolean(process.env.FW_LONG);
const seconds = Number(process.env.FW_CHAOS_SECONDS ?? (isLong ? 600 : 5));
const size = isLong
	? { servers: 20, clients: 200, turnMs: Math.min(20000, seconds * 200), thinkMs: 200, rounds: Math.max(1, Math.round(seconds / 100)) }
	: { servers: 8, clients: 24, turnMs: 1500, thinkMs: 60, rounds: 1 };
const GOAL = 1.3;

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

// The middle of a third of the samples: one sample may be in the midst of a restart.
function drift(samples, key) {
	const third = Math.max(1, Math.floor(samples.length / 3));
	return [median(samples.slice(0, third).map((one) => one[key])), median(samples.slice(-third).map((one) => one[key]))];
}

test(`${size.servers} servers, a quarter failing, ${size.clients} clients, ${seconds} s: each call has one answer`, async () => {
	const { calm, wild, doubles, hasHealed, sockets, left } = await chaos({ ...size, seconds });
	const codes = Object.entries(wild.codes).sort(([, a], [, b]) => b - a).map(([code, count]) => `${code} ${count}`);
	const [rssFirst, rssLast] = drift(wild.usage, 'rss');
	const [fdFirst, fdLast] = drift(wild.usage, 'descriptors');
	const ratio = wild.p99 / calm.p99;
	const row = (name, { calls, failures, worked, rate, p50, p99 }) => [name, calls, failures, worked, rate.toFixed(0), p50.toFixed(2), p99.toFixed(2)];
	const table = [['', 'calls', 'failures', 'of healthy servers', 'per second', 'p50 ms', 'p99 ms'], row('alone', calm), row('chaos', wild)];

	console.log(`# ${wild.calls} calls in chaos, ${wild.failures} failures: ${codes.join(', ')}`);
	for (const cells of table) console.log(`# ${cells.map((cell, at) => (at ? `${cell}`.padStart(20) : cell.padEnd(6))).join('')}`);
	if (isLong) console.log(`# p99 of healthy servers in chaos is ${ratio.toFixed(2)} of alone: ${ratio <= GOAL ? 'PASS' : 'MISS'} (goal ${GOAL})`);
	console.log(`# gateway: memory ${rssFirst} KB, later ${rssLast} KB; descriptors without connections of clients ${fdFirst}, later ${fdLast}; sockets at the end ${sockets}; servers at most ${Math.max(...wild.usage.map((one) => one.processes))}`);
	same([...calm.found, ...wild.found].slice(0, 5), [], 'what went wrong');
	same(doubles, 0, 'calls that were answered twice');
	check(wild.failures > 0 && wild.worked > 0, `${wild.worked} calls that worked, ${wild.failures} failures`);
	same(calm.failures, 0, 'failures while all servers were healthy');
	check(hasHealed, 'a server that failed works again');
	// A restart has a few descriptors more for a moment.
	check(fdLast <= fdFirst + 8, `descriptors: ${fdFirst}, then ${fdLast}`);
	check(sockets <= 8, `${sockets} sockets after the clients have gone`);
	check(rssLast <= rssFirst * 1.25 + 2048, `memory: ${rssFirst} KB, then ${rssLast} KB`);
	same(left, [], 'processes left after SIGTERM');
});

test('no process is left after kill -9 of the gateway', async () => {
	const gate = await start(size.servers);
	const clients = await connect(gate, 2);
	for (const name of gate.names) {
		const { answer } = await clients[0].call(`${name}__echo`, { text: 'x' }, PATIENCE);
		check(isSuccess(answer), `${name}: ${JSON.stringify(canonicalOf(answer) ?? answer)}`);
	}
	same(serversOf(gate.dir).length, size.servers, 'servers running');
	// Calls are in progress.
	const calls = gate.names.map((name) => clients[1].call(`${name}__echo`, { text: 'y' }, 500));
	await pause(1);
	same(await stop(gate, 'SIGKILL'), [], 'processes left');
	await Promise.all(calls);
	for (const client of clients) await client.close();
});

await finish();
process.exit();
