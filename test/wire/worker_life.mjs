// The life of workers: kept ready, used again, replaced, killed, and gone with
// their server; and what crosses the border to them and back.
//
// reaches: tool.suspended

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { check, finish, has, same, skip, test } from './lib/cli.mjs';
import { canonical, modern, text } from './lib/mcp.mjs';
import { descendants, descriptors, isAlive, forkservers, rss, session, sleep, until, workers } from './lib/worker.mjs';

const crashes = process.env.FW_LONG ? 10000 : 1000;
// Those of the pools of hazard: `count`, one that may execute, and the pool of
// those who name none.
const workersOf = (count) => count + 1 + Math.max(2, availableParallelism());
// Sanitizers keep freed memory for a while, and cannot be limited.
const isSanitized = process.env.FW_SANITIZED === '1';
const calling = (wire, id, name, args) => wire.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

test('a worker is used again, and its neighbours do not see its crash', () =>
	session(async (wire) => {
		// Both are ready when each has answered: one with its pid, while the other is busy. As
		// long as one is still starting, the other answers both.
		let ready;
		for (let i = 0; !ready; i++) {
			calling(wire, `busy ${i}`, 'slow', { ms: 20 });
			const other = text(await wire.call('pid', {}));
			same(text(await wire.reply(`busy ${i}`)), 'done');
			ready = text(await wire.call('pid', {})) !== other;
		}
		// From then on the lowest idle slot is taken, so that one worker answers all.
		const pids = [];
		for (let i = 0; i < 21; i++) pids.push(text(await wire.call('pid', {})));
		same(new Set(pids).size, 1, pids.join(' '));
		calling(wire, 'slow', 'slow', { ms: 150 });
		await sleep(20);
		for (let i = 0; i < 5; i++) same(canonical(await wire.call('segv', {})).code, 'tool.crashed');
		same(text(await wire.reply('slow')), 'done');
	}, { args: ['--workers', '2'] }));

test('a worker that serves is scheduled as its server is, also one that replaces another', () =>
	session(async (wire) => {
		// The policy is the 41st field of stat, the 39th behind the name; 0 is SCHED_OTHER.
		const policy = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[38];
		for (let i = 0; i < 3; i++) {
			same(policy(text(await wire.call('pid', {}))), policy(wire.child.pid));
			same(canonical(await wire.call('segv', {})).code, 'tool.crashed');
		}
	}, { args: ['--workers', '1'] }));

test(`${crashes} crashes leave descriptors, processes and memory as they were`, () =>
	session(async (wire, pid) => {
		const many = async (count) => {
			for (let i = 0; i < count; i += 4) {
				const kinds = ['segv', 'exit', 'abort', 'kill_self'];
				const replies = await Promise.all(kinds.map((name) => wire.call(name, {})));
				for (const reply of replies) check(/^tool\.(crashed|exited)$/.test(canonical(reply).code), JSON.stringify(reply));
			}
			same(text(await wire.call('echo', { text: 'x' })), 'x');
			await until(() => workers(pid).length === workersOf(2) && !descendants(pid).some(({ state }) => state === 'Z'), 'replaced');
		};
		await many(200);
		const before = { descriptors: descriptors(pid), rss: rss(pid), forkserver: rss(forkservers(pid)[0].pid) };
		await many(crashes);
		same(descriptors(pid), before.descriptors, 'descriptors');
		same(descriptors(forkservers(pid)[0].pid) < 12, true, 'descriptors of the fork server');
		same(workers(pid).length, workersOf(2));
		check(isSanitized || rss(pid) - before.rss < 512, `memory: ${before.rss} to ${rss(pid)} KiB`);
		check(isSanitized || rss(forkservers(pid)[0].pid) - before.forkserver < 256, 'memory of the fork server');
		same(wire.messages, []);
	}, { args: ['--workers', '2'] }));

test('killed from outside: the call is answered, an idle worker replaced', () =>
	session(async (wire, pid) => {
		await until(() => workers(pid).length === workersOf(2), 'all are up');
		for (const { pid: worker } of workers(pid)) process.kill(worker, 'SIGKILL');
		for (let i = 0; i < 3; i++) same(text(await wire.call('echo', { text: 'a' })), 'a');
		calling(wire, 'k', 'deaf', {});
		await sleep(50);
		for (const { pid: worker } of workers(pid)) process.kill(worker, 'SIGKILL');
		const error = canonical(await wire.reply('k'));
		same([error.code, error.context.signal], ['tool.crashed', 'SIGKILL']);
		same(text(await wire.call('echo', { text: 'b' })), 'b');
	}, { args: ['--workers', '2'] }));

test('the fork server is killed: its calls are answered, and there is another', () =>
	session(async (wire, pid) => {
		for (let i = 0; i < 3; i++) {
			calling(wire, i, 'deaf', {});
			await sleep(30);
			const below = descendants(pid);
			for (const one of forkservers(pid)) process.kill(one.pid, 'SIGKILL');
			same(canonical(await wire.reply(i)).code, 'tool.crashed');
			await until(() => !below.some((one) => isAlive(one.pid)), 'all of them are gone');
			await until(() => workers(pid).length === workersOf(2), 'and others there');
			same(text(await wire.call('echo', { text: 'again' })), 'again');
		}
	}, { args: ['--workers', '2'] }));

test('a cancelled call: a polite tool stops and is kept, a deaf one is killed', () =>
	session(async (wire, pid) => {
		const worker = text(await wire.call('pid', {}));
		calling(wire, 'p', 'polite', {});
		await sleep(30);
		wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'p' } });
		same(text(await wire.call('pid', {})), worker);
		calling(wire, 'd', 'deaf', {});
		await sleep(30);
		wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'd' } });
		check(text(await wire.call('pid', {})) !== worker, 'another one');
		check(!isAlive(Number(worker)), 'it is dead');
		same(wire.messages, [], 'no answer to what was cancelled');
	}, { args: ['--workers', '1', '--most', '1'] }));

test('a call that waits is answered at its deadline and never runs', () =>
	session(async (wire) => {
		calling(wire, 'slow', 'slow', { ms: 700 });
		same(canonical(await wire.call('sleep', {})).code, 'runtime.timeout');
		same(text(await wire.reply('slow')), 'done');
		same(text(await wire.call('echo', { text: 'a' })), 'a');
	}, { args: ['--workers', '1', '--most', '1'] }));

test('processor time is limited for each call', () =>
	session(async (wire) => {
		calling(wire, 'b', 'burn', {});
		const error = canonical(await wire.next(({ id }) => id === 'b', 60000));
		same([error.code, error.context.signal], ['tool.crashed', 'SIGXCPU']);
	}, { args: ['--cpu-s', '1'] }));

for (const args of [[], ['--sandbox', 'off']])
	test(`what a worker leaves behind dies with it, sessions of its own or not ${args.join(' ')}`, () =>
	session(async (wire, pid) => {
		for (const args of [{ crash: true }, {}]) {
			const running = wire.call('fork_bomb_free', args);
			await sleep(100);
			await running;
			await until(() => descendants(pid).length === 3 + workersOf(2), 'the fork servers and their workers');
		}
	}, { args: ['--workers', '2', ...args] }));

test('crashes in a row suspend the tool, and one call decides after the pause', () =>
	session(async (wire) => {
		for (let i = 0; i < 3; i++) same(canonical(await wire.call('segv', {})).code, 'tool.crashed');
		const error = canonical(await wire.call('segv', {}));
		same([error.code, error.origin, error.retry, error.context.crashes], ['tool.suspended', 'policy', 'backoff', 3]);
		check(error.retry_after > 0 && error.retry_after <= 0.4, `retry_after ${error.retry_after}`);
		same(text(await wire.call('echo', { text: 'others run' })), 'others run');
		await sleep(450);
		same(canonical(await wire.call('segv', {})).code, 'tool.crashed');
		same(canonical(await wire.call('segv', {})).code, 'tool.suspended');
		if (isSanitized) return;
		// Another tool's row is its own, and a success ends it.
		for (let i = 0; i < 2; i++) same(canonical(await wire.call('eat', { crash: true })).code, 'tool.crashed');
		same(canonical(await wire.call('eat', {})).code, 'tool.failed');
		for (let i = 0; i < 2; i++) same(canonical(await wire.call('eat', { crash: true })).code, 'tool.crashed');
		same(canonical(await wire.call('eat', {})).code, 'tool.failed');
	}, { args: ['--breaker', '3', '--breaker-ms', '400', '--memory-mb', '256'] }));

test('no worker can be started: the caller learns when to come back', () =>
	session(async (wire, pid) => {
		if (!has('prlimit')) skip('no prlimit');
		await until(() => workers(pid).length === workersOf(1), 'all are up');
		const limit = (files) => forkservers(pid).forEach((one) => same(spawnSync('prlimit', ['--pid', String(one.pid), `--nofile=${files}:1024`]).status, 0));
		limit(3);
		for (const { pid: worker } of workers(pid)) process.kill(worker, 'SIGKILL');
		await sleep(20);
		const error = canonical(await wire.call('echo', { text: 'a' }));
		same([error.code, error.retry], ['server.overloaded', 'backoff']);
		check(error.retry_after > 0, 'when to come back');
		limit(1024);
		await until(() => workers(pid).length === workersOf(1), 'they come back by themselves');
		same(text(await wire.call('echo', { text: 'b' })), 'b');
	}, { args: ['--workers', '1', '--most', '1'] }));

test('more calls than workers: all are answered', () =>
	session(async (wire) => {
		const calls = [];
		for (let i = 0; i < 120; i++) calls.push(wire.call(i % 10 ? 'echo' : 'segv', { text: String(i) }));
		for (const [i, reply] of (await Promise.all(calls)).entries())
			if (i % 10) same(text(reply), String(i));
			else same(canonical(reply).code, 'tool.crashed');
	}, { args: ['--workers', '2'] }));

// ---- what crosses ------------------------------------------------------------------

test('arguments arrive as they do without a border', () =>
	session(async (wire) => {
		const all = [
			{},
			{ i: 12, f: 1.5e3, b: true, none: null },
			{ s: 'ä\u0000ö "\n', deep: [[[{ a: [1, 2.5, -3e-7, null, false] }]]], '': '' },
			{ many: Array.from({ length: 20000 }, (_, i) => ({ i, text: `number ${i}` })) },
			{ text: 'x'.repeat(1000000) },
		];
		for (const args of all) same((await wire.call('arguments', args)).result, (await wire.call('arguments_inline', args)).result);
	}));

test('errors arrive as they do without a border', () =>
	session(async (wire) => {
		const strip = ({ incident_id, timestamp, tool, ...rest }) => rest;
		same(strip(canonical(await wire.call('fail', { path: 'a/b' }))), strip(canonical(await wire.call('fail_inline', { path: 'a/b' }))));
	}));

for (const [era, meta] of [['legacy', {}], ['modern', { ...modern, 'io.modelcontextprotocol/logLevel': 'debug' }]])
	test(`${era}: progress and log arrive while the tool is at work`, () =>
		session(async (wire) => {
			wire.send({ jsonrpc: '2.0', id: 't', method: 'tools/call', params: { name: 'tell', arguments: { ms: 200 }, _meta: { ...meta, progressToken: 7 } } });
			const told = [];
			for (let i = 0; i < 3; i++) told.push(await wire.next());
			same(told.map(({ method }) => method), ['notifications/progress', 'notifications/message', 'notifications/progress']);
			same(told[0].params, { progressToken: 7, progress: 1, total: 2, message: 'half' });
			same([told[1].params.level, told[1].params.logger, told[1].params.data], ['warning', 'hazard', 'on the way']);
			const reply = await wire.reply('t');
			same(reply.result.content.map((one) => one.text), ['before', `tell ${era === 'legacy' ? '2025-11-25' : '2026-07-28'} 0`]);
		}));

test('legacy: a question crosses, and so does its answer', () =>
	session(async (wire) => {
		calling(wire, 'a', 'ask', {});
		const question = await wire.next(({ method }) => method === 'elicitation/create');
		same(question.params.message, 'Your name?');
		wire.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } });
		same(text(await wire.reply('a')), 'Ada');
	}, { capabilities: { elicitation: {} } }));

test('modern: a question is the result, and the call comes again', () =>
	session(async (wire) => {
		const able = { ...modern, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
		const first = (await wire.call('ask', {}, able)).result;
		same([first.resultType, first.inputRequests.first.method], ['input_required', 'elicitation/create']);
		const again = await wire.request('tools/call', { name: 'ask', arguments: {}, requestState: first.requestState, inputResponses: { first: { action: 'accept', content: { name: 'Ada' } } }, _meta: able });
		same(text(again), 'Ada');
		same((await wire.call('ask', {}, modern)).error.code, -32021);
	}));

test('state lives in the server, with every way to run the tool', () =>
	session(async (wire) => {
		const counted = async (name, args = {}) => text(await wire.call(name, args));
		same(await counted('count'), '1');
		same(await counted('count_inline'), '2');
		same(await counted('count_thread'), '3');
		same(canonical(await wire.call('count', { fail: true })).code, 'tool.failed');
		same(await counted('count_inline'), '5', 'an error is an end, too');
		same(canonical(await wire.call('count', { crash: true })).code, 'tool.crashed');
		same(await counted('count'), '6', 'a crash is none');
	}));

test('resources, prompts and completions run in workers, too', () =>
	session(async (wire) => {
		same((await wire.request('resources/read', { uri: 'hazard://note' })).result.contents, [{ uri: 'hazard://note', mimeType: 'text/plain', text: 'from a worker' }]);
		const prompt = (await wire.request('prompts/get', { name: 'greet', arguments: { who: 'you' } })).result;
		same(prompt, { description: 'a greeting', messages: [{ role: 'assistant', content: { type: 'text', text: 'hello you' } }] });
		const values = (await wire.request('completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'w' } })).result.completion.values;
		same(values, ['world', 'w']);
	}));

test('a stop finishes what is short and kills what is not', async () => {
	let below;
	await session(async (wire, pid) => {
		calling(wire, 'short', 'slow', { ms: 200 });
		calling(wire, 'long', 'deaf', {});
		await sleep(50);
		below = descendants(pid);
		process.kill(pid, 'SIGTERM');
		same(text(await wire.reply('short')), 'done');
		same(canonical(await wire.reply('long')).code, 'server.shutting_down');
	}, { args: ['--workers', '2'] });
	check(!below.some(({ pid }) => isAlive(pid)), 'nobody is left');
});

test('the server is killed: no process is left', async () => {
	let below;
	let server;
	await session(async (wire, pid) => {
		server = pid;
		calling(wire, 'bomb', 'fork_bomb_free', {});
		await sleep(100);
		below = descendants(pid);
		process.kill(pid, 'SIGKILL');
		await until(() => !below.some((one) => isAlive(one.pid)), 'all are gone');
		throw new Error('as meant');
	}).catch((error) => check(error.message === 'as meant', error.message));
	check(below.length > 10 && !isAlive(server), 'there was something to leave');
});

await finish();
