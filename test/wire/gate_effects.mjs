// No double side effect: a server that counts crashes, hangs, resets and garbles at every point of
// a call. A tool that does not say it is idempotent is never run twice, whatever is answered, and
// an error says not_sent only if the tool did not run.
//
// FW_LONG=1 makes 10,000 runs.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin, check, finish, same, scratch, test } from './lib/cli.mjs';
import { canonicalOf, isSuccess, startHttp } from '../lab/client.mjs';
import { common, gateway } from '../lab/run.mjs';

const RUNS = process.env.FW_LONG ? 10000 : 320;
const PATIENCE = 30000;

// Where it fails: before the effect, after it, or (none) not at all.
const faults = {
	// By number: see fail() in test/programs/flaky.c.
	stdio: ['exit 42', 'SIGSEGV', 'cut reply', 'wrong id', 'no result', 'silence', 'closes stdout', 'error', 'isError', 'floods stderr', 'late', 'traceback', 'SIGKILL', 'closes stdin', 'replies, exits', 'cut, exits', 'replies twice', 'batch'],
	http: ['reset', 'reset_in_body', 'reset_in_sse', 'closes', 'sse_ends', 'sse_cut', 'http_500', 'http_503', 'http_408', 'http_429', 'http_html', 'http_empty', 'http_short', 'http_cut_json', 'redirect_loop', 'wrong_id', 'no_result', 'silence', 'late', 'answer_refused', 'session_lost_always'],
};

// The same sequence on every run: FW_SEED picks another.
function random(seed) {
	let at = seed >>> 0;
	return (below) => {
		at = (Math.imul(at, 1664525) + 1013904223) >>> 0;
		return Math.floor((at / 4294967296) * below);
	};
}

async function run(transport, front, runs, seed) {
	const state = mkdtempSync(join(scratch(), 'effects-'));
	const effects = join(state, transport === 'stdio' ? 'server.effects' : 'effects');
	const labArgs = ['--state', state, '--late', '1300'];
	const pick = random(seed);
	const told = new Map();
	let own;
	writeFileSync(effects, '');
	if (transport === 'http') own = await startHttp(...labArgs);
	// Without a breaker, which would keep most calls from being sent.
	const config = join(state, 'server.json');
	const entry = own ? { url: own.url } : { command: join(dirname(bin), 'flaky'), args: [join(state, 'server')] };
	writeFileSync(config, JSON.stringify({ mcpServers: { lab: { ...entry, faultwire: { breaker: { failures: 1000, pause: 0.001 } } } } }));
	const upstream = ['--config', config];
	const gate = await gateway(front, pick(2) ? 'modern' : 'legacy', [...common, '--deadline', '1'], upstream);
	try {
		await gate.client.open(PATIENCE);
		for (let i = 0; i < runs; i++) {
			const key = `${transport}-${front}-${seed}-${i}`;
			const number = pick(faults[transport].length);
			const fault = faults[transport][number];
			const picked = ['do', 'before', 'none'][pick(3)];
			// 404 for a session means that the request was not run, so the gateway begins a new session
			// and sends it again: the protocol demands that. A server that runs it first breaks the protocol.
			const where = fault === 'session_lost_always' && picked === 'do' ? 'before' : picked;
			// Some calls go out together, so that one's fault meets the others.
			const width = pick(4) === 0 ? 3 : 1;
			const calls = Array.from({ length: width }, (_, n) => gate.client.call('count', { key: `${key}-${n}`, ...(n === 0 && where !== 'none' && { [where]: transport === 'stdio' ? `${number}` : fault }) }, PATIENCE));
			for (const [n, { answer }] of (await Promise.all(calls)).entries()) told.set(`${key}-${n}`, { answer, fault: n === 0 && where !== 'none' ? `${fault} (${where})` : `beside ${fault} (${where})` });
		}
		same(gate.client.doubles(), [], 'answered twice');
	} finally {
		await gate.stop();
		own?.stop();
	}
	const ran = new Map();
	for (const key of readFileSync(effects, 'utf8').split('\n').filter(Boolean)) ran.set(key, (ran.get(key) ?? 0) + 1);
	for (const [key, { answer, fault }] of told) {
		const times = ran.get(key) ?? 0;
		check(answer !== undefined, `${key}, ${fault}: no answer`);
		check(times <= 1, `${key}, ${fault}: ran ${times} times; ${JSON.stringify(answer).slice(0, 300)}`);
		const canonical = canonicalOf(answer);
		if (isSuccess(answer) && !fault.includes('before')) same(times, 1, `${key}, ${fault}: it succeeded, and ran`);
		if (canonical?.delivery === 'not_sent') same(times, 0, `${key}, ${fault}: ${canonical.code} says not_sent`);
		check(isSuccess(answer) || canonical, `${key}, ${fault}: an error without its canonical form: ${JSON.stringify(answer).slice(0, 300)}`);
	}
	const answers = [...told.values()].map(({ answer }) => answer);
	const failed = answers.filter((answer) => !isSuccess(answer));
	return {
		runs,
		calls: told.size,
		effects: ran.size,
		failed: failed.length,
		notSent: failed.filter((answer) => canonicalOf(answer)?.delivery === 'not_sent').length,
		twice: [...ran.values()].filter((times) => times > 1).length,
	};
}

let seed = Number(process.env.FW_SEED ?? 1);
for (const transport of ['stdio', 'http'])
	for (const front of ['stdio', 'http'])
		test(`${front} > ${transport}: a call that may have run is never run again`, async () => {
			// Four gateways side by side.
			const runs = Array.from({ length: 4 }, () => run(transport, front, Math.ceil(RUNS / 16), seed++));
			const counts = await Promise.all(runs);
			const sum = (key) => counts.reduce((total, one) => total + one[key], 0);
			check(sum('calls') >= RUNS / 4, 'all calls were made');
			/* A quarter of the runs has no fault, and others fail after the effect. */
			check(sum('effects') >= sum('calls') / 4 && sum('failed') > 0, `${sum('effects')} of ${sum('calls')} calls took effect, ${sum('failed')} failed`);
			console.log(`# ${front} > ${transport}: ${sum('runs')} runs, ${sum('calls')} calls, ${sum('failed')} failed (${sum('notSent')} of them not sent), ${sum('effects')} took effect, ${sum('twice')} of them twice`);
		});

await finish();
