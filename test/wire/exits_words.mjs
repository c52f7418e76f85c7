// What a client reads when a call fails: codeintel without the tool's own text, kaiza in
// words for people, and conversions that open MCP messages.
//
// reaches: file.unsupported_encoding, file.too_large, protocol.prompt_not_found

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, file, finish, lines, match, run, same, test } from './lib/cli.mjs';
import { Wire, canonical, session, text } from './lib/mcp.mjs';
import { Place, Server } from './lib/workspace.mjs';

const choose = (contract) => ({ 'dev.faultwire/contract': contract });

// A workspace with a session.
async function serving(how, body) {
	const place = new Place();
	const server = await Server.start(place, 'stdio', how);
	try {
		await server.begin();
		await body(server, place);
	} finally {
		await server.close();
		place.drop();
	}
}

// ---- codeintel ----------------------------------------------------------------

test('codeintel: an unknown failure showed what the tool said; it is internal-error with a safe message', () => session(async (wire) => {
	const answer = await wire.call('fail', { text: 'the root password is hunter2' }, choose('codeintel'));
	const envelope = JSON.parse(text(answer));
	same([answer.result.isError, envelope.error, envelope.problem.detail], [true, 'An unexpected error occurred', 'An unexpected error occurred']);
	same([envelope.problem.code, envelope.problem.status, envelope.problem.type], ['internal-error', 500, 'https://kgfoundry.dev/problems/internal-error']);
	same(typeof envelope.problem.extensions.exception_type, 'string');
	check(!text(answer).includes('hunter2'), text(answer));
}));

test('codeintel: structured content of a tool without empty_result broke its output schema', () => session(async (wire) => {
	for (const args of [{ a: 1, b: 2, wrong: true }, { a: 'x' }, {}]) {
		const { result } = await wire.call('add', args, choose('codeintel'));
		same([result.isError, typeof result.structuredContent.sum], [true, 'number'], JSON.stringify(result));
		same(JSON.parse(result.content[0].text), result.structuredContent);
	}
}));

test('codeintel: the problem details and the results of the tools have published schemas', () => {
	for (const name of ['problem_details', 'open_file', 'list_paths', 'search_text', 'semantic_search', 'blame_range', 'file_history']) {
		const { status, out } = run(['registry', '--schema', name]);
		same([status, JSON.parse(out).$id], [0, `https://faultwire.dev/schemas/${name}.schema.json`]);
	}
	match(run(['registry', '--schema', 'nope']).err, /--schema must be one of .*open_file/);
});

test('codeintel: the rules for Prometheus lacked the contract’s own alerts', () => {
	const rules = run(['registry', '--prometheus-rules']).out;
	match(rules, /alert: CodeintelErrorRateDoubled\n\s+expr: \|-\n[^]*codeintel_errors_total/);
	match(rules, /alert: CodeintelErrorHandlingSlow\n\s+expr: \|-\n[^]*histogram_quantile\(0\.95[^]*> 0\.01/);
});

// ---- files ----------------------------------------------------------------------

test('codeintel: unsupported-encoding lacked encoding and reason; every contract that has room carries both', () => serving({}, async (server, place) => {
	const facts = (path, reason) => ({ path, encoding: 'utf-8', reason });
	for (const [path, bytes, reason] of [
		['src/logo.png', [0x61, 0x89, 0x50], 'invalid start byte at position 1'],
		['src/cut.txt', [0x61, 0x62, 0xc3], 'unexpected end of data at position 2'],
		['src/odd.txt', [0xc3, 0x28], 'invalid continuation byte at position 0'],
	]) {
		writeFileSync(place.path(path), Buffer.from(bytes));
		const said = async (contract) => (await server.call('read_file', { path: place.path(path) }, choose(contract))).envelope;
		const { problem } = await said('codeintel');
		same([problem.code, problem.status, problem.type], ['unsupported-encoding', 415, 'https://kgfoundry.dev/problems/unsupported-encoding']);
		same(problem.extensions, facts(path, reason));
		same((await said('toolerror')).data, facts(path, reason));
		same((await said('owlclaw')).error.details, facts(path, reason));
		same((await said('canonical')).context, facts(path, reason));
	}
}));

test('file.not_found lacked its path in extensions, data and details', () => serving({}, async (server, place) => {
	const args = { path: place.path('src/none.txt') };
	same((await server.call('read_file', args, choose('codeintel'))).envelope.problem.extensions, { path: 'src/none.txt' });
	same((await server.call('read_file', args, choose('toolerror'))).envelope.data, { path: 'src/none.txt' });
	same((await server.call('read_file', args, choose('owlclaw'))).envelope.error.details, { path: 'src/none.txt' });
}));

test('a file that is too large is file.too_large', () => serving({}, async (server, place) => {
	writeFileSync(place.path('src/huge.txt'), Buffer.alloc(3 << 20, 'a'));
	same((await server.call('read_file', { path: place.path('src/huge.txt') })).canonical.code, 'file.too_large');
}));

// ---- kaiza ---------------------------------------------------------------------

test('kaiza: human_message was written for programs; it is in words', () => serving({}, async (server, place) => {
	const says = async (name, args) => (await server.fails(name, args)).human_message;
	const path = place.path('src/a.txt');

	same(await says('read_file', { path: 5 }), 'path must be a string');
	same(await says('write_file', { path, content: 'x', plan: 'x' }), 'plan must be 64 lower-case hexadecimal digits');
	same(await says('write_file', { path, content: 'x', intent: '' }), 'intent must be at least 1 character long');
	same(await says('write_file', { path, content: 'x', creat: true }), 'unknown argument "creat"; did you mean "create"?');
	same(await says('read_audit_log', { limit: 0 }), 'limit must be at least 1');
	same(await says('read_file', { pth: 'x', phase_id: 5 }), 'required field path is missing');
}));

for (const role of ['windsurf', 'antigravity'])
	test(`kaiza: every tool of ${role} takes phase_id, and tells it again`, () => serving({ role }, async (server) => {
		const { tools } = await server.client.listTools();
		check(tools.length > 4, `${tools.length} tools`);
		for (const { name } of tools) {
			const envelope = await server.fails(name, { phase_id: 'PHASE_7', no_such_argument: 1 });
			same([envelope.phase_id, envelope.tool_name], ['PHASE_7', name], JSON.stringify(envelope));
			check(!/unknown argument "phase_id"/.test(envelope.human_message), envelope.human_message);
		}
	}));

test('kaiza: an invariant violation told its id, and not what was found', () => serving({}, async (server, place) => {
	await server.begin();
	place.write(`docs/plans/${'0'.repeat(64)}.md`, 'no plan\n');
	const { envelope } = await server.call('verify_workspace_integrity');
	same([envelope.error_code, envelope.invariant_id], ['INVARIANT_VIOLATION', 'PLANS_WELL_FORMED']);
	check(/^invariant PLANS_WELL_FORMED \(0{64}: line 1: plan does not begin .+\) does not hold$/.test(envelope.human_message), envelope.human_message);
	same(JSON.parse(envelope.cause).map(({ invariant }) => invariant), ['PLANS_WELL_FORMED']);
}));

test('kaiza: a rate limit was INSUFFICIENT_PERMISSIONS; it is UNKNOWN_TOOL_FAILURE with the canonical error beside it', async () => {
	const wire = new Wire(['serve', '--stdio', '--audit', 'off', '--incidents', 'off', '--log', 'off', '--run', 'thread', '--sandbox', 'off', '-l', 'calls_per_second=1', '-l', 'calls_burst=1'], bin);
	await wire.initialize();
	let answer;
	for (let i = 0; i < 20 && !answer?.result.isError; i++) answer = await wire.call('explain_error_code', { code: 'file.not_found' }, choose('kaiza'));
	const envelope = JSON.parse(text(answer));
	same([envelope.error_code, canonical(answer).code, canonical(answer).retry], ['UNKNOWN_TOOL_FAILURE', 'governance.rate_limited', 'backoff']);
	const back = JSON.parse(run(['convert', '--to', 'canonical'], { input: text(answer) }).out);
	same([back.code, back.retry], ['governance.rate_limited', 'backoff'], 'the cause has the code');
	await wire.end();
});

test('kaiza: a conflict that no hash found was HASH_MISMATCH; it is UNKNOWN_TOOL_FAILURE', async () => {
	const wire = new Wire(['serve', '--stdio', '--audit', 'off', '--incidents', 'off', '--log', 'off'], bin);
	await wire.initialize();
	const answer = await wire.call('raise_error', { code: 'resource.conflict' }, choose('kaiza'));
	same([JSON.parse(text(answer)).error_code, canonical(answer).code], ['UNKNOWN_TOOL_FAILURE', 'resource.conflict']);
	const taken = await wire.call('raise_error', { code: 'resource.already_exists' }, choose('kaiza'));
	same([JSON.parse(text(taken)).error_code, canonical(taken).code], ['FILE_ALREADY_EXISTS', 'resource.already_exists']);
	await wire.end();
});

test('an unknown prompt is an error of the protocol', () => session(async (wire) => {
	same(canonical(await wire.request('prompts/get', { name: 'nope' })).code, 'protocol.prompt_not_found');
}));

// ---- context-v0 --------------------------------------------------------------------

test('context-v0: an unknown tool or method was invalid_query; it is internal_error', () => session(async (wire) => {
	const meta = choose('context-v0');
	for (const answer of [await wire.call('no_such_tool', {}, meta), await wire.request('no/such/method', { _meta: meta })])
		same(answer.error.data.error, { error: { code: 'internal_error', message: 'Internal error' } }, JSON.stringify(answer));
}));

// ---- the deadline ---------------------------------------------------------------

test('--deadline did not shorten the limit that a tool has of its own', async () => {
	const place = new Place();
	const plan = place.plan();
	const server = await Server.start(place, 'stdio', { options: ['--preflight', 'sleep 60', '--deadline', '1'] });
	await server.ok('begin_session', { workspace_root: place.root });
	const { canonical: late } = await server.call('write_file', { path: place.path('src/a.txt'), content: 'new\n', plan });
	same([late.code, late.context.timeout_ms], ['runtime.timeout', 1000]);
	await server.close();
	place.drop();
});

// ---- convert ----------------------------------------------------------------------

test('convert --lines did not open JSON-RPC responses and results of tools', () => {
	const envelope = { type: 'NOT_FOUND', message: 'no such table', recoverable: false };
	const messages = [
		envelope,
		{ content: [{ type: 'text', text: JSON.stringify(envelope) }], isError: true },
		{ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: JSON.stringify(envelope) }], isError: true } },
		{ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'no such table', data: { error: envelope } } },
	];
	const input = messages.map((one) => `${JSON.stringify(one)}\n`).join('');
	const { status, out } = run(['convert', '--lines', '--to', 'toolerror'], { input });
	same([status, lines(out).map((line) => JSON.parse(line))], [0, messages.map(() => envelope)]);
	for (const one of messages) same(JSON.parse(run(['convert', '--to', 'toolerror'], { input: JSON.stringify(one) }).out), envelope);
});

test('convert took empty input for an error; it is an error of usage', () => {
	for (const input of ['', '\n', ' \n\t']) {
		const { status, out, err } = run(['convert', '--to', 'kaiza'], { input });
		same([status, out], [2, ''], JSON.stringify(input));
		match(err, /stdin is empty/);
	}
	same(run(['convert', '--to', 'kaiza', file('empty', '')]).status, 2);
	same([run(['convert', '--lines', '--to', 'kaiza'], { input: '' }).status], [0], 'no lines are no errors');
});

await finish();
