// Chaos: many servers behind one gateway, a quarter of them failing at any time, and many
// clients. test/wire/gate_chaos.mjs judges what this measures.
//
// The servers are build/flaky: each fails, in a way that it picks by chance, while its file
// exists. Which files exist moves on every few seconds. Clients call servers by chance and go
// on whatever happens. Rounds of calm and of chaos take turns, so that a change of the
// machine's load meets both. In calm the quarter that would fail is not called: what
// is called has the same load of calls as the healthy servers have in chaos, and its latency is
// the measure for theirs. Latency is measured by a few clients in a thread of their own, which call
// healthy servers only: the thread of the others is busy for milliseconds when many of their calls fail at once.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { bin, scratch } from '../wire/lib/cli.mjs';
import { HttpClient, canonicalOf, isSuccess, pause } from './client.mjs';
import { common } from './run.mjs';

export const PATIENCE = 60000; // for an answer; only a gateway that never answers meets it
const OUTSTANDING = 8; // calls of one client, each on a connection of its own
// An idle connection that the gateway closes may be one that a client is about to use.
// Anonymous clients of one address are one client for the gateway, so together they may have more calls in flight.
const limits = ['--limit', 'http_connections=4096', '--limit', 'http_idle_ms=3600000', '--limit', 'in_flight=4096', '--limit', 'client_in_flight=4096'];
const PROBES = 8; // clients that measure latency, and the mean pause between two calls of one
const PROBE_MS = 40;
const SETTLE_MS = 2000; // after the deadline of calls that a server did not answer
const flaky = join(dirname(bin), 'flaky');

const isAlive = (pid) => {
	try {
		return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
	} catch {
		return false;
	}
};

// Servers of this run that are alive, by the directory in their command line.
export function serversOf(dir) {
	return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
		try {
			return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`flaky\0${dir}/`) && isAlive(pid);
		} catch {
			return false;
		}
	});
}

export async function until(condition, ms = 10000) {
	const end = Date.now() + ms;
	while (!condition() && Date.now() < end) await pause(50);
	return condition();
}

// One gateway with `count` servers behind it. On a busy machine a short deadline ends calls to healthy servers, too.
export async function start(count, deadlineS = 1) {
	const dir = mkdtempSync(join(scratch(), 'chaos-'));
	const names = Array.from({ length: count }, (_, i) => `s${i}`);
	const config = join(dir, 'servers.json');
	writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: flaky, args: [join(dir, name)] }])) }));
	const child = spawn(bin, ['gate', '--http', '127.0.0.1:0', ...common, '--incidents', 'off', ...limits, '--deadline', `${deadlineS}`, '--config', config], { env: { PATH: process.env.PATH, HOME: '/', XDG_STATE_HOME: dir }, stdio: ['ignore', 'ignore', 'pipe'] });
	const exit = new Promise((done) => child.on('exit', done));
	const url = await new Promise((found, lost) => {
		let said = '';
		child.stderr.on('data', (bytes) => {
			said = (said + bytes).slice(-10000);
			const match = said.match(/http:\/\/127\S+/);
			if (match) found(match[0]);
		});
		child.on('exit', (code) => lost(new Error(`the gateway ended with ${code}: ${said}`)));
	});
	return { dir, names, child, exit, url, settleMs: deadlineS * 1000 + SETTLE_MS };
}

export async function stop(gate, signal) {
	gate.child.kill(signal);
	await gate.exit;
	await until(() => serversOf(gate.dir).length === 0);
	return serversOf(gate.dir);
}

export async function connect(gate, count) {
	return Promise.all(Array.from({ length: count }, async (_, i) => {
		const client = new HttpClient(gate.url, { era: i % 2 ? 'modern' : 'legacy' });
		const { answer } = await client.open(PATIENCE);
		if (!isSuccess(answer)) throw new Error(`handshake: ${JSON.stringify(answer)}`);
		// All connections that it will ever need, so that their number does not grow while memory is measured.
		await Promise.all(Array.from({ length: OUTSTANDING }, () => client.request('tools/list', {}, PATIENCE)));
		return client;
	}));
}

// Descriptors of the gateway that are sockets, and the others.
function descriptors(pid) {
	const all = readdirSync(`/proc/${pid}/fd`).map((fd) => {
		try {
			return readlinkSync(`/proc/${pid}/fd/${fd}`);
		} catch {
			return '';
		}
	});
	const sockets = all.filter((target) => target.startsWith('socket:')).length;
	return { sockets, others: all.length - sockets };
}

function usage({ pid, dir }) {
	const { sockets, others } = descriptors(pid);
	return {
		at: Date.now(),
		rss: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]),
		descriptors: others, // connections of clients come and go
		sockets,
		processes: serversOf(dir).length,
	};
}

// Samples of the gateway's usage. Reading /proc takes long, and would count as latency in the thread of the clients.
function watch({ child, dir }, samples) {
	const worker = new Worker(new URL(import.meta.url), { workerData: { pid: child.pid, dir } });
	worker.on('message', (sample) => samples.push(sample));
	return () => worker.terminate();
}

// Calls healthy servers until it is asked for the times, in milliseconds, and for what went wrong. `health` has the number of
// changes of each server while it is healthy and called, and otherwise 0.
async function probe({ url, names, health }) {
	const clients = await connect({ url }, PROBES);
	const found = [];
	const times = [];
	let isOver = false;
	parentPort.once('message', () => (isOver = true));
	await Promise.all(clients.map(async (client) => {
		while (!isOver) {
			await pause(Math.random() * 2 * PROBE_MS);
			const i = Math.floor(Math.random() * names.length);
			const before = health[i];
			if (!before) continue;
			const { answer, ms } = await client.call(`${names[i]}__echo`, { text: 'probe' }, PATIENCE);
			if (health[i] !== before) continue;
			if (isSuccess(answer)) times.push(ms);
			else found.push(`a healthy server failed: ${JSON.stringify(answer).slice(0, 300)}`);
		}
		await client.close();
	}));
	parentPort.postMessage({ times, found });
}

// Starts to measure; the result is a function that ends it.
function measure({ url, names }, weather, seen) {
	const worker = new Worker(new URL(import.meta.url), { workerData: { url, names, health: weather.health } });
	return () => new Promise((done, lost) => {
		worker.once('error', lost);
		worker.once('message', ({ times, found }) => {
			found.forEach((one) => seen.found.add(one));
			seen.times.push(...times);
			done();
		});
		worker.postMessage('end');
	});
}

if (!isMainThread && workerData?.health) probe(workerData);
if (!isMainThread && workerData?.dir)
	setInterval(() => {
		try {
			parentPort.postMessage(usage(workerData));
		} catch {
			/* It has ended. */
		}
	}, 500);

// Which servers fail. A server counts as healthy from its first success on after it has recovered:
// until then it is being restarted, or is suspended. Calls that it left without an answer
// fail at their deadline, and count for its suspension: so the success is to be later than that.
class Weather {
	constructor({ dir, names, settleMs }) {
		this.settleMs = settleMs;
		this.dir = dir;
		this.names = names;
		this.first = 0;
		// Not healthy before the first success: on a busy machine a start may take longer than the deadline.
		this.servers = names.map(() => ({ isFailing: false, isSpared: false, isHealthy: false, epoch: 1, settled: 0 }));
		this.health = new Int32Array(new SharedArrayBuffer(4 * names.length));
	}

	share() {
		this.servers.forEach(({ isHealthy, isSpared, epoch }, i) => (this.health[i] = isHealthy && !isSpared ? epoch : 0));
	}

	// The next quarter fails from now on; or it is healthy, and is not called.
	turn(isChaos, isSparing = !isChaos) {
		const { names, dir, servers } = this;
		const size = Math.max(1, Math.floor(names.length / 4));
		this.first = (this.first + size) % names.length;
		servers.forEach((one, i) => {
			const isChosen = (i - this.first + names.length) % names.length < size;
			const isFailing = isChaos && isChosen;
			one.isSpared = isSparing && isChosen;
			if (isFailing === one.isFailing) return;
			one.isFailing = isFailing;
			one.isHealthy = false;
			one.epoch++;
			one.settled = Date.now() + this.settleMs;
			this.share(); // before it fails
			if (isFailing) writeFileSync(join(dir, names[i]), '');
			else rmSync(join(dir, names[i]), { force: true });
		});
		this.share();
	}
}

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

// One call, and what is to be said of it.
async function one(gate, client, text, weather, seen) {
	const i = Math.floor(Math.random() * gate.names.length);
	const server = weather.servers[i];
	if (server.isSpared) return;
	const { epoch, isHealthy } = server;
	const isSettled = !server.isFailing && Date.now() > server.settled;
	const { answer } = await client.call(`${gate.names[i]}__echo`, { text }, PATIENCE);

	seen.calls++;
	if (!answer?.result && !answer?.error) {
		seen.found.add(`no answer, or one outside the protocol: ${JSON.stringify(answer)?.slice(0, 200)}`);
	} else if (isSuccess(answer)) {
		if (answer.result.content[0].text !== text) seen.found.add(`another call's answer: ${JSON.stringify(answer).slice(0, 200)}`);
		if (epoch !== server.epoch) return;
		if (isHealthy) {
			seen.worked++;
		} else if (isSettled) {
			server.isHealthy = true;
			weather.share();
		}
	} else {
		const canonical = canonicalOf(answer);
		seen.failures++;
		if (canonical) seen.codes[canonical.code] = (seen.codes[canonical.code] ?? 0) + 1;
		else seen.found.add(`no canonical error: ${JSON.stringify(answer).slice(0, 200)}`);
		if (isHealthy && epoch === server.epoch) seen.found.add(`a healthy server failed: ${JSON.stringify(canonical ?? answer).slice(0, 300)}`);
	}
}

const nothing = () => ({ seconds: 0, calls: 0, worked: 0, failures: 0, codes: {}, found: new Set(), usage: [], times: [], phases: [] });

// Clients at work for `seconds`: adds counts, what went wrong, and the times of calls to healthy servers
// that worked. A client goes on calling while others of its calls wait, so failing servers do not lessen the load.
async function work(gate, clients, weather, seen, { isChaos, seconds, turnMs, thinkMs }) {
	const end = Date.now() + seconds * 1000;
	const from = seen.times.length;
	weather.turn(isChaos);
	const turning = setInterval(() => weather.turn(isChaos), turnMs);
	const unwatch = watch(gate, seen.usage);
	const endMeasuring = measure(gate, weather, seen);
	await Promise.all(clients.map(async (client, at) => {
		const waiting = new Set();
		for (let n = 0; Date.now() < end; n++) {
			await pause(Math.random() * 2 * thinkMs);
			if (waiting.size >= OUTSTANDING) await Promise.race(waiting);
			const call = one(gate, client, `${at}-${n}`, weather, seen).catch((error) => seen.found.add(error.stack)).finally(() => waiting.delete(call));
			waiting.add(call);
		}
		await Promise.all(waiting);
	}));
	clearInterval(turning);
	await endMeasuring();
	await unwatch();
	seen.seconds += seconds;
	seen.phases.push(percentile(seen.times.slice(from).sort((a, b) => a - b), 0.99));
}

function summary(seen) {
	seen.times.sort((a, b) => a - b);
	return { ...seen, found: [...seen.found], rate: seen.worked / seen.seconds, p50: percentile(seen.times, 0.5), p99: percentile(seen.times, 0.99) };
}

// Every server recovers, at the latest when its last suspension ends.
async function heal(gate, client, weather) {
	weather.turn(false, false);
	const isCalm = () => weather.servers.every(({ isHealthy }) => isHealthy);
	for (const end = Date.now() + PATIENCE; !isCalm() && Date.now() < end; await pause(20)) await one(gate, client, 'healing', weather, nothing());
	return isCalm();
}

// `rounds` of calm and chaos, then calm again; `seconds` of chaos in all; every `turnMs` another quarter fails. A round of
// chaos is compared with the calm before and after it, and the median of the rounds counts (`ratio`).
export async function chaos({ servers, clients: count, seconds, rounds, turnMs, thinkMs, deadlineS }) {
	const gate = await start(servers, deadlineS);
	try {
		const clients = await connect(gate, count);
		const weather = new Weather(gate);
		const [calm, wild] = [nothing(), nothing()];
		let hasHealed = await heal(gate, clients[0], weather);
		for (let round = 0; round < rounds; round++) {
			await work(gate, clients, weather, calm, { isChaos: false, seconds: Math.max(1, seconds / rounds / 3), turnMs, thinkMs });
			await work(gate, clients, weather, wild, { isChaos: true, seconds: seconds / rounds, turnMs, thinkMs });
			hasHealed = (await heal(gate, clients[0], weather)) && hasHealed;
		}
		await work(gate, clients, weather, calm, { isChaos: false, seconds: Math.max(1, seconds / rounds / 3), turnMs, thinkMs });
		const doubles = clients.flatMap((client) => client.doubles()).length;
		for (const client of clients) await client.close();
		// The listener and a few of its own are left.
		await until(() => descriptors(gate.child.pid).sockets <= 8);
		const ratios = wild.phases.map((p99, i) => p99 / ((calm.phases[i] + calm.phases[i + 1]) / 2)).sort((a, b) => a - b);
		return { calm: summary(calm), wild: summary(wild), ratio: ratios[ratios.length >> 1], ratios, doubles, hasHealed, sockets: descriptors(gate.child.pid).sockets, left: await stop(gate, 'SIGTERM') };
	} finally {
		gate.child.kill('SIGKILL');
	}
}
