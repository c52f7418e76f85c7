// Calls that take time, and servers that end: over stdio.
//
// reaches: protocol.state_tampered, server.shutting_down

import { spawnSync } from 'node:child_process';
import { check, file, finish, same, shell, test } from './lib/cli.mjs';
import { Wire, canonical, everything, modern, session, text } from './lib/mcp.mjs';

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

test('versions: what is asked for if it is served, else the newest legacy one', async () => {
	for (const [asked, agreed] of [['2025-03-26', '2025-03-26'], ['2025-06-18', '2025-06-18'], ['2025-11-25', '2025-11-25'], ['2026-07-28', '2025-11-25'], ['2024-11-05', '2025-11-25'], ['x', '2025-11-25']]) {
		const wire = new Wire();
		same((await wire.initialize(asked)).protocolVersion, agreed);
		await wire.end();
	}
});

test('both eras are served on one connection', () =>
	session(async (wire) => {
		const found = await wire.request('server/discover', { _meta: modern });
		same([found.result.supportedVersions, found.result.resultType], [['2026-07-28'], 'complete']);
		same(text(await wire.call('echo', { text: 'a' }, modern)), 'a');
		const legacy = await wire.call('echo', { text: 'b' });
		same(legacy.result, { content: [{ type: 'text', text: 'b' }] });
	}));

test('replies come as calls finish, each exactly once', () =>
	session(async (wire) => {
		for (let i = 0; i < 50; i++) wire.send({ jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: i % 2 ? 'later' : 'slow', arguments: { ms: (50 - i) * 4 } } });
		wire.send({ jsonrpc: '2.0', id: 'quick', method: 'ping' });
		await wire.reply('quick');
		const seen = [];
		for (let i = 0; i < 50; i++) seen.push((await wire.next((message) => typeof message.id === 'number')).id);
		same([...seen].sort((a, b) => a - b), [...Array(50).keys()]);
		check(seen[0] > 20, 'the shortest came first');
		await sleep(50);
		same(wire.messages, []);
	}));

for (const [era, meta] of [['legacy', undefined], ['modern', modern]]) {
	test(`${era}: a cancelled call gets no reply, and its handler is notified`, () =>
		session(async (wire) => {
			wire.send({ jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'slow', arguments: { ms: 400 }, ...(meta && { _meta: meta }) } });
			await sleep(50);
			wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c', reason: 'test', ...(meta && { _meta: meta }) } });
			wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'unknown' } });
			await sleep(500);
			same(wire.messages, []);
			same(text(await wire.call('echo', { text: 'still here' }, meta)), 'still here');
		}));

	test(`${era}: a deadline answers in place of a thread that does not`, () =>
		session(async (wire) => {
			const started = Date.now();
			const reply = await wire.call('slow_with_deadline', { ms: 1500, deaf: true }, meta);
			check(Date.now() - started < 1300, 'in time');
			same([reply.result.isError, canonical(reply).code, canonical(reply).context.timeout_ms], [true, 'runtime.timeout', 200]);
			await sleep(1500);
			same(wire.messages, []);
		}));

	test(`${era}: progress comes before the reply, with the token's own type`, () =>
		session(async (wire) => {
			for (const token of ['t', 7]) {
				const reply = await wire.call('test_tool_with_progress', {}, { ...meta, progressToken: token });
				const told = wire.messages.filter((message) => message.method === 'notifications/progress').map((message) => message.params);
				wire.messages.length = 0;
				same(told, [0, 50, 100].map((progress) => ({ progressToken: token, progress, total: 100 })));
				check(!reply.result.isError);
			}
		}));
}

test('logging: the session sets a level; a modern request asks for its own', () =>
	session(async (wire) => {
		const logged = () => wire.messages.splice(0).filter((message) => message.method === 'notifications/message').length;
		await wire.call('test_logging_tool', {});
		same(logged(), 1);
		same((await wire.request('logging/setLevel', { level: 'warning' })).result, {});
		await wire.call('test_logging_tool', {});
		same(logged(), 0);
		await wire.call('test_logging_tool', {}, modern);
		same(logged(), 0);
		await wire.call('test_logging_tool', {}, { ...modern, 'io.modelcontextprotocol/logLevel': 'info' });
		same(logged(), 1);
		same((await wire.request('logging/setLevel', { level: 'loud' })).error.code, -32602);
	}));

test('legacy: a question goes to the client, and its answer into the result', () =>
	session(
		async (wire) => {
			const reply = wire.call('test_input_required_result_multi_round', {});
			for (const [content] of [[{ name: 'Ann' }], [{ color: 'red' }]]) {
				const asked = await wire.next((message) => message.method === 'elicitation/create');
				wire.send({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content } });
			}
			same(text(await reply), 'Multi-round complete: Ann likes red');
			const refused = wire.call('test_input_required_result_elicitation', {});
			const asked = await wire.next((message) => message.method === 'elicitation/create');
			wire.send({ jsonrpc: '2.0', id: asked.id, error: { code: -1, message: 'no' } });
			same(canonical(await refused).code, 'tool.failed');
		},
		{ capabilities: { elicitation: {} } },
	));

test('modern: rounds carry their answers in a state that cannot be changed or moved', () =>
	session(async (wire) => {
		const meta = { ...modern, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } };
		const name = 'test_input_required_result_multi_round';
		const ask = (more, tool = name) => wire.request('tools/call', { name: tool, arguments: {}, _meta: meta, ...more });
		const one = (await ask()).result;
		same([one.resultType, Object.keys(one.inputRequests)], ['input_required', ['step1']]);
		const answer1 = { step1: { action: 'accept', content: { name: 'Ann' } } };
		const two = (await ask({ inputResponses: answer1, requestState: one.requestState })).result;
		same(Object.keys(two.inputRequests), ['step2']);
		check(two.requestState !== one.requestState);
		const answer2 = { step2: { action: 'accept', content: { color: 'red' } } };
		for (const state of [two.requestState + 'x', two.requestState.slice(0, -1), 'v1.e30.' + two.requestState.split('.')[2], '', 'x', 5])
			same([state, canonical(await ask({ inputResponses: answer2, requestState: state })).code], [state, 'protocol.state_tampered']);
		same(canonical(await ask({ inputResponses: answer2, requestState: two.requestState }, 'test_input_required_result_elicitation')).code, 'protocol.state_tampered');
		const three = await ask({ inputResponses: answer2, requestState: two.requestState });
		same(text(three), 'Multi-round complete: Ann likes red');
	}));

test('modern: a listener hears what it asked for, until it is cancelled', () =>
	session(async (wire) => {
		wire.send({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true, x: true }, _meta: modern } });
		const ack = await wire.next((message) => message.method?.endsWith('acknowledged'));
		same(ack.params.notifications, { toolsListChanged: true });
		await wire.call('test_trigger_prompt_change', {}, modern);
		await wire.call('test_trigger_tool_change', {}, modern);
		const told = await wire.next((message) => message.params?._meta);
		same([told.method, told.params._meta['io.modelcontextprotocol/subscriptionId']], ['notifications/tools/list_changed', 'l']);
		wire.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'l', _meta: modern } });
		wire.messages.length = 0;
		await wire.call('test_trigger_tool_change', {}, modern);
		await sleep(50);
		// The legacy session of the same connection is notified, too.
		same(wire.messages.filter((message) => message.params?._meta), []);
	}));

// --- the end --------------------------------------------------------------------------

test('the end of input: what is in progress is finished, then the server ends', async () => {
	const wire = new Wire();
	await wire.initialize();
	const reply = wire.call('slow', { ms: 200 });
	same((await wire.end()).status, 0);
	same(text(await reply), 'slept');
});

test('a last line without a newline is served', () => {
	const result = spawnSync(everything, ['--stdio'], { input: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
	same([result.status, result.stdout.toString()], [0, '{"jsonrpc":"2.0","id":1,"result":{}}\n']);
});

test('input from a file, output to a file', () => {
	const input = file('in.jsonl', '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(3));
	const { status, out } = shell(`${everything} --stdio < ${input} > out.jsonl; s=$?; wc -l < out.jsonl; exit $s`);
	same([status, out.trim()], [0, '3']);
});

test('SIGTERM: at once when idle', async () => {
	const wire = new Wire();
	await wire.initialize();
	const started = Date.now();
	wire.child.kill('SIGTERM');
	same(await wire.exit, { status: 0, signal: null });
	check(Date.now() - started < 500);
});

test('a terminal that is closed (SIGHUP) ends the server in an orderly way; nohup keeps it', async () => {
	const wire = new Wire();
	await wire.initialize();
	const short = wire.call('slow', { ms: 300 });
	const long = wire.call('slow', { ms: 60000, deaf: true });
	await wire.request('ping');
	wire.child.kill('SIGHUP');
	same(text(await short), 'slept');
	same(canonical(await long).code, 'server.shutting_down');
	same(await wire.exit, { status: 0, signal: null });
	const ping = (id) => `echo '{"jsonrpc":"2.0","id":${id},"method":"ping"}' >&3; read -r line <&4; echo "$line"`;
	const ignoring = shell(`trap '' HUP; mkfifo in out; ${everything} --stdio <in >out & exec 3>in 4<out; ${ping(1)}; kill -HUP $!; ${ping(2)}; exec 3>&-; wait $!`);
	same([ignoring.status, ignoring.out.trim().split('\n').map((line) => JSON.parse(line).id)], [0, [1, 2]]);
});

test('replies that cannot be written, and input that cannot be read, are no success', () => {
	const ping = `echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | faultwire serve --stdio --log off --audit off --incidents off`;
	for (const [command, reason] of [
		[`${ping} > /dev/full`, /no space left to write standard output/],
		[`${ping} >&-`, /could not write standard output: .*\n.*file descriptor is not open/],
		['faultwire serve --stdio --log off --audit off --incidents off < /', /could not read standard input: is a directory/],
		['faultwire serve --stdio --log off --audit off --incidents off <&-', /could not read standard input: .*\n.*file descriptor is not open/],
	]) {
		const { status, err } = shell(command);
		same(status, 1);
		check(reason.test(err), err);
		check(!/incident id/.test(err), 'the hint asks for nothing that does not exist');
	}
});

test('SIGTERM in the midst of calls: short ones finish, long ones are answered', async () => {
	const wire = new Wire();
	await wire.initialize();
	const short = wire.call('slow', { ms: 300 });
	const long = wire.call('slow', { ms: 60000, deaf: true });
	const later = wire.call('later', { ms: 60000 });
	await sleep(100);
	const started = Date.now();
	wire.child.kill('SIGTERM');
	same(text(await short), 'slept');
	for (const reply of [await long, await later])
		same([reply.result.isError, canonical(reply).code], [true, 'server.shutting_down']);
	same((await wire.exit).status, 0);
	check(Date.now() - started < 2500, 'within its grace');
});

test('a reader that goes away ends the server quietly', async () => {
	const wire = new Wire();
	await wire.initialize();
	wire.child.stdout.destroy();
	for (let i = 0; i < 10; i++) {
		wire.send({ jsonrpc: '2.0', id: i, method: 'ping' });
		await sleep(20);
	}
	same([(await wire.exit).signal, wire.err], [null, '']);
});

test('a reader that does not read stops the server from reading, not from living', async () => {
	const wire = new Wire();
	await wire.initialize();
	wire.child.stdout.pause();
	const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x'.repeat(1000) } } }) + '\n';
	const lines = line.repeat(1000);
	for (let i = 0; i < 20; i++) wire.send(lines);
	await sleep(300);
	const { stdout } = spawnSync('sh', ['-c', `awk '/VmRSS/ {print $2}' /proc/${wire.child.pid}/status`]);
	check(Number(stdout) < 40000, `resident: ${stdout} kB`);
	check(wire.child.stdin.writableLength > 0, 'the client feels it');
	wire.child.stdout.resume();
	for (let i = 0; i < 20000; i++) await wire.next();
	same((await wire.end()).status, 0);
});

await finish();
