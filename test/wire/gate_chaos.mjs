// Chaos: several servers, each behind a gateway, a quarter of them failing at any time, and many
// clients. Every call has exactly one answer, memory and descriptors stay flat, and no process
// is left, also after the gateways were killed.
//
// FW_LONG=1: 20 servers, 200 clients, 10 minutes.

import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { bin, check, finish, same, scratch, test } from './lib/cli.mjs';
import { HttpClient, canonicalOf, isSuccess, pause, server } from '../lab/client.mjs';
import { common } from '../lab/run.mjs';

const isLong = Boolean(process.env.FW_LONG);
const SERVERS = isLong ? 20 : 4;
const CLIENTS = isLong ? 200 : 12;
const SECONDS = isLong ? 600 : 8;
const PATIENCE = 60000;
const mishaps = ['exits_42', 'segfault', 'cut_line', 'wrong_id', 'no_result', 'silence', 'closes_stdout', 'answer_refused', 'floods_stderr', 'late'];

const alive = (pid) => {
	try {
		return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
	} catch {
		return false;
	}
};

// Processes of the lab that were started with this state directory.
function labProcesses(state) {
	return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
		try {
			const [program, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
			return program === process.execPath && args.includes(server) && args.includes(state) && alive(pid);
		} catch {
			return false;
		}
	});
}

async function until(condition, ms = 10000) {
	const end = Date.now() + ms;
	while (!condition() && Date.now() < end) await pause(50);
	return condition();
}

// Servers, each behind a gateway of its own.
async function start() {
	const state = mkdtempSync(join(scratch(), 'chaos-'));
	const tools = await Promise.all(Array.from({ length: SERVERS }, async (_, i) => {
		const name = `lab${i}`;
		const child = spawn(bin, ['gate', '--http', '127.0.0.1:0', ...common, '--deadline', '1', '--', process.execPath, server, 'stdio', '--state', state, '--name', name, '--late', '1500'], { env: { PATH: process.env.PATH, HOME: '/', XDG_STATE_HOME: state }, stdio: ['ignore', 'ignore', 'pipe'] });
		const exit = new Promise((done) => child.on('exit', done));
		const url = await new Promise((found, lost) => {
			let said = '';
			child.stderr.on('data', (bytes) => {
				said += bytes;
				const match = said.match(/http:\/\/127\S+/);
				if (match) found(match[0]);
			});
			child.on('exit', (code) => lost(new Error(`the gateway ended with ${code}: ${said}`)));
		});
		return { name, child, exit, url };
	}));
	return { state, tools };
}

async function connect({ url }, era) {
	const client = new HttpClient(url, { era });
	const { answer } = await client.open(PATIENCE);
	check(isSuccess(answer), `handshake: ${JSON.stringify(answer)}`);
	return client;
}

async function stop(gate, signal) {
	for (const { child } of gate.tools) child.kill(signal);
	await Promise.all(gate.tools.map(({ exit }) => exit));
	check(await until(() => labProcesses(gate.state).length === 0), `processes left after ${signal}: ${labProcesses(gate.state)}`);
}

const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

const usage = ({ tools }) => ({ rss: tools.map(({ child }) => rss(child.pid)), descriptors: tools.map(({ child }) => descriptors(child.pid)) });

test(`${SERVERS} servers, a quarter failing, ${CLIENTS} clients: each call has one answer`, async () => {
	const gate = await start();
	const { tools } = gate;
	const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => Promise.all(tools.map((one) => connect(one, i % 2 ? 'modern' : 'legacy')))));
	const end = Date.now() + SECONDS * 1000;
	const found = [];
	const healthy = [];
	let calls = 0;
	let failures = 0;
	let early;
	// The quarter that fails moves on every second or so.
	const isFailing = (i) => (i + Math.floor(Date.now() / 1500)) % 4 === 0;

	await Promise.all([
		...clients.map(async (list, at) => {
			for (let n = at; Date.now() < end; n++) {
				const i = n % tools.length;
				const isBad = at % 4 === 0 && isFailing(i);
				const { answer, ms } = isBad ? await list[i].call('fault', { do: mishaps[(n + at) % mishaps.length] }, PATIENCE) : await list[i].call('echo', { text: `${at}-${n}` }, PATIENCE);
				calls++;
				if (!answer?.result && !answer?.error) found.push(`no answer, or one outside the protocol: ${JSON.stringify(answer)?.slice(0, 200)}`);
				else if (isSuccess(answer)) {
					if (!isBad && answer.result.content[0].text !== `${at}-${n}`) found.push(`another call's answer: ${JSON.stringify(answer).slice(0, 200)}`);
					if (!isBad) healthy.push(ms);
				} else {
					failures++;
					if (!canonicalOf(answer)) found.push(`no canonical error: ${JSON.stringify(answer).slice(0, 200)}`);
				}
				await pause(at % 4 === 0 ? 30 : 5);
			}
		}),
		pause(SECONDS * 400).then(() => (early = usage(gate))),
	]);
	const late = usage(gate);
	for (const list of clients)
		for (const client of list) {
			if (client.doubles().length) found.push('answered twice');
			await client.close();
		}
	same([...new Set(found)].slice(0, 5), [], `what went wrong in ${calls} calls`);
	check(failures > 0 && healthy.length > failures, `${healthy.length} calls that worked, ${failures} failures`);
	for (const i of tools.keys()) {
		// In the middle of a restart there is a pipe more or less.
		check(late.descriptors[i] <= early.descriptors[i] + 8, `descriptors: ${early.descriptors[i]}, then ${late.descriptors[i]}`);
		check(late.rss[i] <= early.rss[i] * 1.5 + 4096, `memory: ${early.rss[i]} KB, then ${late.rss[i]} KB`);
	}
	healthy.sort((a, b) => a - b);
	console.log(`# ${calls} calls, ${failures} failures; those that worked: p50 ${healthy[healthy.length >> 1].toFixed(1)} ms, p99 ${healthy[Math.floor(healthy.length * 0.99)].toFixed(1)} ms; memory ${early.rss} then ${late.rss} KB; descriptors ${early.descriptors} then ${late.descriptors}`);
	await stop(gate, 'SIGTERM');
});

test('no process is left after kill -9 of the gateway', async () => {
	const gate = await start();
	const clients = await Promise.all(gate.tools.map((one) => connect(one)));
	for (const client of clients) check(isSuccess((await client.call('echo', { text: 'x' }, PATIENCE)).answer), 'it works');
	same(labProcesses(gate.state).length, SERVERS, 'servers running');
	// One of them hangs in a call.
	void clients[0].call('fault', { do: 'silence' }, 500);
	await pause(50);
	await stop(gate, 'SIGKILL');
	for (const client of clients) await client.close();
});

await finish();
process.exit();
