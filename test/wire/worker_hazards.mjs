// Tools that crash, hang and lie, each over stdio and HTTP in both eras: exactly
// one answer, the right code, and the next call is as good as ever.
//
// reaches: tool.crashed, tool.exited, tool.result_not_text, tool.result_too_deep, tool.garbled

import { check, finish, same, test } from './lib/cli.mjs';
import * as http from './lib/http.mjs';
import { canonical, modern, text } from './lib/mcp.mjs';
import { hazard, session } from './lib/worker.mjs';

const crashed = (signal) => ({ code: 'tool.crashed', origin: 'tool', signal });
const garbled = (reason) => ({ code: 'tool.garbled', origin: 'tool', reason });
const exited = (exit_status) => ({ code: 'tool.exited', origin: 'tool', exit_status });
const timeout = (timeout_ms) => ({ code: 'runtime.timeout', origin: 'tool', timeout_ms });

const hazards = [
	['segv', {}, crashed('SIGSEGV')],
	['abort', {}, crashed('SIGABRT')],
	['bus', {}, crashed('SIGBUS')],
	['overflow', {}, crashed('SIGSEGV')],
	['exit', { status: 0 }, exited(0), 'leaks'],
	['exit', { status: 7 }, exited(7), 'leaks'],
	['kill_self', { signal: 9 }, crashed('SIGKILL')],
	['kill_self', { signal: 11 }, crashed('SIGSEGV')],
	['kill_self', { signal: 15 }, crashed('SIGTERM')],
	['eat', { crash: true }, crashed('SIGABRT'), 'memory'],
	['eat', {}, { code: 'tool.failed', origin: 'tool' }, 'memory'],
	['spin', {}, timeout(300)],
	['sleep', {}, timeout(300)],
	['polite_late', {}, timeout(300)],
	['fork_bomb_free', {}, timeout(500)],
	['fork_bomb_free', { crash: true }, crashed('SIGSEGV'), 'slow'],
	['close_socket', {}, garbled('it closed its socket')],
	['close_socket', { stay: false }, exited(0)],
	['garbage', {}, garbled('it sent what is no frame')],
	['garbage', { stay: true }, garbled('it sent what is no frame')],
	['garbage', { how: 'empty' }, garbled('it sent what is no frame')],
	['garbage', { how: 'huge' }, garbled('it sent a frame that is too large')],
	['garbage', { how: 'operation' }, garbled('it spoke out of turn')],
	['garbage', { how: 'half' }, exited(3)],
	['flood', {}, timeout(300)],
	['nothing', {}, { code: 'tool.no_result', origin: 'tool' }],
	['invalid', {}, { code: 'tool.invalid_result', origin: 'tool', pointer: '/total' }],
	['no_json', {}, { code: 'tool.invalid_result', origin: 'tool' }],
	['deep', {}, { code: 'tool.result_too_deep', origin: 'tool', limit_levels: 128 }],
	['deep_inline', {}, { code: 'tool.result_too_deep', origin: 'tool', limit_levels: 128 }],
	['large', {}, { code: 'tool.result_too_large', origin: 'tool' }],
	['not_text', {}, { code: 'tool.result_not_text', origin: 'tool', position: 2 }],
];
// Sanitizers map so much that memory cannot be limited, and look for leaks at the
// end of a process, which the sandbox does not let them.
const isSanitized = process.env.FW_SANITIZED === '1';

// Close enough that the crash is the one that was meant.
function judge(reply, [name, args, wanted]) {
	const error = canonical(reply);
	check(reply.result?.isError === true && error, `${name} ${JSON.stringify(args)}: ${JSON.stringify(reply).slice(0, 500)}`);
	const { code, origin, ...context } = wanted;
	same([error.code, error.origin], [code, origin], `${name} ${JSON.stringify(args)}`);
	for (const [key, value] of Object.entries(context)) same(error.context[key], value, `${name}: ${key}`);
	check(error.incident_id?.startsWith('inc_'), 'it can be looked up');
	same(error.tool, name);
}

const run = async (call) => {
	for (const one of hazards) {
		if (isSanitized && one[3]) continue;
		judge(await call(one[0], one[1]), one);
		same(text(await call('echo', { text: one[0] })), one[0], `after ${one[0]}`);
	}
	same(text(await call('fork_bomb', {})), 'fork: EPERM after 0');
	same(text(await call('print', {})), 'read -1');
};

for (const [era, meta] of [['legacy', undefined], ['modern', modern]])
	test(`stdio, ${era}: every hazard has its own answer, and no second one`, async () => {
		const told = await session(async (wire) => {
			await run((name, args) => wire.call(name, args, meta));
			same(wire.messages, [], 'nothing else was said');
		}, { args: ['--memory-mb', '256'] });
		const printed = '{"jsonrpc":"2.0","id":1,"result":{}}';
		check(!told.raw.includes(printed), 'what a tool prints is not the protocol');
		check(told.err.includes(printed), 'but goes to standard error');
	});

test('http, modern: every hazard has its own answer', async () => {
	const server = await http.serveProgram(hazard, '--memory-mb', '256');
	try {
		await run(async (name, args) => (await http.ask(server, http.call(name, args))).json);
	} finally {
		same(await server.stop(), 0);
	}
});

test('http, legacy: every hazard has its own answer', async () => {
	const server = await http.serveProgram(hazard, '--memory-mb', '256');
	let id = 0;
	try {
		const headers = await http.session(server);
		await run(async (name, args) => (await http.ask(server, http.post({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args } }, headers))).json);
	} finally {
		same(await server.stop(), 0);
	}
});

test('a crash is reported in the contract that was asked for', () =>
	session(async (wire) => {
		const told = async (contract) => text(await wire.call('segv', {}, { ...modern, 'dev.faultwire/contract': contract }));
		same(JSON.parse(await told('kaiza')).error_code, 'UNKNOWN_TOOL_FAILURE');
		same(JSON.parse(await told('context-v0')).error.code, 'internal_error');
		check((await told('codeintel')).includes('tool-crashed'));
		same(JSON.parse(await told('toolerror')).type, 'INTERNAL');
		check((await told('owlclaw')).includes('tool.crashed'));
	}));

test('the operator is shown where it crashed', () => {
	process.env.DEBUG_STACK = 'true';
	const done = session(async (wire) => {
		const trail = async (name) => canonical(await wire.call(name, {})).trail.join('\n');
		check((await trail('segv')).startsWith('hazard hazard_write_nowhere+'), 'the function');
		check((await trail('overflow')).includes('hazard_dig+'), 'on a stack that is full');
		check((await trail('abort')).includes('abort+'), 'in a library');
		const again = [await trail('segv'), await trail('abort'), await trail('segv')];
		check(again[0].startsWith('hazard hazard_write_nowhere+') && again[1].includes('abort+'), 'names that were looked up before');
		same(again[2], again[0]);
	});
	delete process.env.DEBUG_STACK;
	return done;
});

await finish();
