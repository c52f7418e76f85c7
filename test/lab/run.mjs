// Runs the rows of the failure lab through `faultwire gate`: both fronts, and what each of
// them must see. test/wire/gate_lab*.mjs turn the findings into tests.
//
// Rows of one kind share a gateway, so each row also shows that the ones before it left
// nothing behind. A row that fails at the start has a gateway of its own.

import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { bin, scratch } from '../wire/lib/cli.mjs';
import { rows } from './behaviours.mjs';
import { HttpClient, StdioClient, isSuccess, judge, pause, server, startHttp } from './client.mjs';

const PATIENCE = 20000; // for an answer; only a gateway that never answers meets it
export const SHORT = 1; // the deadline, in seconds, for rows that only it can end
const LONG = 60;
const LIMIT = 16 << 20; // bytes of a reply that the gateway accepts

const isLong = Boolean(process.env.FW_LONG);
const env = () => ({ PATH: process.env.PATH, HOME: process.env.HOME ?? '/', XDG_STATE_HOME: mkdtempSync(join(scratch(), 'gate-')) });

// ---- gateways --------------------------------------------------------------------------

export const common = ['--log', 'off', '--audit', 'off'];

// A gateway with a front of this kind and the client before it.
export async function gateway(front, era, options, upstream) {
	const args = ['gate', ...(front === 'http' ? ['--http', '127.0.0.1:0'] : ['--stdio']), ...options, ...upstream];
	if (front === 'stdio') {
		const client = new StdioClient(bin, args, { era, env: env() });
		return { client, child: client.child, said: () => client.err, stop: () => client.close(5000) };
	}
	const child = spawn(bin, args, { env: env(), stdio: ['ignore', 'ignore', 'pipe'] });
	let said = '';
	const exit = new Promise((done) => child.on('exit', (status, signal) => done({ status, signal })));
	const url = await new Promise((found, lost) => {
		child.stderr.on('data', (bytes) => {
			said = (said + bytes).slice(-100000);
			const match = said.match(/http:\/\/127\S+/);
			if (match) found(match[0]);
		});
		child.on('exit', (code) => lost(new Error(`the gateway ended with ${code}: ${said}`)));
	});
	const client = new HttpClient(url, { era });
	return {
		client,
		child,
		said: () => said,
		async stop() {
			await client.close();
			child.kill('SIGTERM');
			const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
			const ended = await exit;
			clearTimeout(timer);
			return ended;
		},
	};
}

// ---- one row -----------------------------------------------------------------------------

// The call that misbehaves. A row that fails at the start may show it in the handshake.
async function provoke(row, client) {
	if (row.at === 'second') await client.call(row.tool, { do: row.name }, PATIENCE);
	return row.at === 'call' ? client.call(row.tool, { do: row.name }, PATIENCE) : client.call('echo', { text: 'x' }, PATIENCE);
}

async function next(client, until) {
	for (;;) {
		const { answer } = await client.call('echo', { text: 'next' }, PATIENCE);
		if (isSuccess(answer) && answer.result.content?.[0]?.text === 'next') return [];
		if (Date.now() >= until) return [`the next call: ${JSON.stringify(answer)?.slice(0, 400) ?? 'no answer'}`];
		await pause(100);
	}
}

async function inShared(row, gate) {
	const seen = await provoke(row, gate.client);
	const found = judge(row, seen);
	if (!row.soon && isSuccess(seen.answer) === false && seen.ms < SHORT * 900) found.push(`answered after ${Math.round(seen.ms)} ms, before the deadline`);
	found.push(...(await next(gate.client, row.heals === 'later' ? Date.now() + PATIENCE : 0)));
	return { ms: seen.ms, found };
}

async function alone(row, front, era, transport, lab) {
	const state = mkdtempSync(join(scratch(), 'state-'));
	const options = [...common, '--deadline', `${row.soon ? LONG : SHORT}`];
	let upstream;
	let own;

	if (row.command) upstream = ['--', ...row.command];
	else if (row.url) upstream = ['--url', row.url(lab)];
	else if (transport === 'stdio') upstream = ['--', process.execPath, server, 'stdio', '--era', row.era ?? 'legacy', '--start', row.name, '--state', state];
	else {
		own = await startHttp('--era', row.era ?? 'legacy', '--start', row.name, '--state', state);
		upstream = ['--url', own.url];
	}
	const gate = await gateway(front, era, options, upstream);
	try {
		let seen = await gate.client.open(PATIENCE);
		if (isSuccess(seen.answer)) seen = await provoke(row, gate.client);
		const found = judge(row, seen);
		if (row.at === 'start') writeFileSync(join(state, 'healed'), '');
		if (row.heals) {
			// A handshake that failed is the client's to repeat.
			if (front === 'stdio' || era === 'modern' || gate.client.headers['mcp-session-id']) found.push(...(await next(gate.client, Date.now() + PATIENCE)));
		}
		if (gate.client.doubles().length) found.push('answered twice');
		return { ms: seen.ms, found };
	} finally {
		await gate.stop();
		own?.stop();
	}
}

// ---- all of them ---------------------------------------------------------------------------

// A kind: rows that can share a gateway. `upstreamEra` is what the server speaks.
function kindOf(row, upstreamEra) {
	return JSON.stringify([row.soon, row.era ?? upstreamEra, row.options ?? []]);
}

// Results by row and front: a map of promises, `${row.name} ${front}` -> { ms, found }.
export async function runLab(transport, lanes = 3) {
	const mine = rows.filter((row) => row.on.includes(transport));
	const other = net.createServer((socket) => socket.on('error', () => {}).write('SSH-2.0-OpenSSH_9.2\r\n')).listen(0, '127.0.0.1');
	const probe = net.createServer().listen(0, '127.0.0.1');
	await pause(10);
	const lab = { otherPort: other.address().port, closedPort: probe.address().port };
	probe.close();
	const plain = transport === 'http' ? await startHttp() : undefined;
	lab.port = plain?.port;

	const results = new Map();
	const settle = new Map();
	const fronts = isLong
		? ['stdio', 'http'].flatMap((front) => ['legacy', 'modern'].flatMap((era) => ['legacy', 'modern'].map((up) => [front, era, up])))
		: [['stdio', 'legacy', 'legacy'], ['http', 'modern', 'modern']];
	const jobs = [];
	for (const [front, era, up] of fronts) {
		const label = `${front} front, ${era} client, ${up} server`;
		const kinds = new Map();
		for (const row of mine) {
			results.set(`${row.name} ${label}`, new Promise((done) => settle.set(`${row.name} ${label}`, done)));
			const finish = (result) => settle.get(`${row.name} ${label}`)(result);
			const guarded = (work) => work().catch((error) => ({ ms: 0, found: [error.stack] })).then(finish);
			if (row.at === 'start' || row.at === 'spawn') jobs.push(() => guarded(() => alone(row, front, era, transport, lab)));
			else {
				const kind = kindOf(row, up);
				kinds.set(kind, [...(kinds.get(kind) ?? []), { row, finish }]);
			}
		}
		for (const [kind, list] of kinds) {
			const [soon, upstreamEra, more] = JSON.parse(kind);
			// Long lists are shared out, so that lanes end at about the same time.
			const parts = Math.ceil(list.length / (soon ? 12 : 3));
			for (let part = 0; part < parts; part++)
				jobs.push(() => shared(list.filter((_, i) => i % parts === part), { transport, front, era, soon, upstreamEra, more }));
		}
	}
	const work = Promise.all(Array.from({ length: lanes }, async () => {
		for (let job; (job = jobs.shift()); ) await job();
	})).then(() => {
		other.close();
		plain?.stop();
	});
	return { rows: mine, results, fronts: fronts.map(([front, era, up]) => `${front} front, ${era} client, ${up} server`), work };
}

async function shared(list, { transport, front, era, soon, upstreamEra, more }) {
	let gate;
	let own;
	const state = mkdtempSync(join(scratch(), 'state-'));
	const labArgs = ['--era', upstreamEra, '--state', state, '--size', `${LIMIT + 4096}`, '--late', `${SHORT * 1000 + 600}`];
	try {
		let upstream = ['--', process.execPath, server, 'stdio', ...labArgs];
		if (transport === 'http') {
			own = await startHttp(...labArgs);
			upstream = ['--url', own.url];
		}
		gate = await gateway(front, era, [...common, '--deadline', `${soon ? LONG : SHORT}`, ...more], upstream);
		const hello = await gate.client.open(PATIENCE);
		// The first start of a Node process is slow on a busy machine: not in a row's time.
		// With a short deadline it may take several.
		let first = hello;
		for (const end = Date.now() + PATIENCE; Date.now() < end; await pause(100)) {
			first = isSuccess(hello.answer) || front === 'stdio' ? await gate.client.call('echo', { text: 'first' }, PATIENCE) : hello;
			if (isSuccess(first.answer)) break;
		}
		if (!isSuccess(first.answer)) throw new Error(`the gateway does not work: ${JSON.stringify(first.answer)} ${gate.said()}`);
		await gate.client.request('tools/list', {}, PATIENCE);
		for (const { row, finish } of list) {
			const before = gate.client.lastId;
			const result = await inShared(row, gate).catch((error) => ({ ms: 0, found: [error.stack] }));
			if (gate.client.doubles().some((id) => id > before)) result.found.push('answered twice');
			finish(result);
		}
		if (gate.client.strange?.length) list[0].finish({ ms: 0, found: [`lines that are not JSON: ${gate.client.strange[0]}`] });
	} catch (error) {
		for (const { finish } of list) finish({ ms: 0, found: [error.message] });
	} finally {
		await gate?.stop();
		own?.stop();
	}
}

export const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? NaN;
