// Settings of single upstreams in a configuration file, and options of the gateway that change how results are read.

// reaches: upstream.busy, upstream.reply_too_large, upstream.unknown

import test from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, run, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';
import { web, words } from '../programs/web.mjs';

process.env.XDG_STATE_HOME = scratch();
const upstream = join(root, 'test/programs/upstream.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, ...args], faultwire);
	await wire.initialize();
	return wire;
}

function config(servers) {
	const path = join(mkdtempSync(join(scratch(), 'settings-')), 'mcp.json');
	writeFileSync(path, JSON.stringify({ mcpServers: servers }));
	return path;
}

const node = (name, own) => ({ command: 'node', args: [upstream, name], ...(own && { faultwire: own }) });

test('each setting holds for its own upstream', async () => {
	const silent = await web(() => {}, (req, res, { id, method }) => method === 'tools/list' && Boolean(res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'silence', inputSchema: { type: 'object' } }] } }))));
	const wire = await started(
		'--config',
		config({
			quick: { url: silent.url, faultwire: { deadline: 1.5 } },
			kaiza: node('kaiza', { contract: 'kaiza' }),
			narrow: node('narrow', { allow: ['ok', 'flat'], deny: ['flat'] }),
			plain: node('plain'),
		}),
	);
	const timeout = canonical(await wire.call('quick__silence'));
	assert.deepEqual([timeout.code, timeout.context.timeout_ms], ['upstream.timeout', 1500]);
	const flat = await wire.call('kaiza__flat');
	assert.equal(typeof JSON.parse(text(flat)).error_code, 'string');
	// The client's own choice counts more, and other upstreams keep their text.
	const chosen = await wire.call('kaiza__flat', undefined, { 'dev.faultwire/contract': 'owlclaw' });
	assert.equal(JSON.parse(text(chosen)).error_code, undefined);
	assert.match(text(await wire.call('plain__flat')), /^Error: rate limit/);
	const names = (await wire.request('tools/list', {})).result.tools.map(({ name }) => name);
	assert.deepEqual(
		names.filter((name) => name.startsWith('narrow__')),
		['narrow__ok'],
	);
	assert.equal(text(await wire.call('narrow__ok')), 'hello from narrow');
	assert.equal(canonical(await wire.call('narrow__flat')).code, 'protocol.unknown_tool');
	assert.equal(canonical(await wire.call('narrow__crash')).code, 'protocol.unknown_tool');
	// A prefix that no upstream has.
	const unknown = await wire.call('narow__ok');
	assert.equal(unknown.error.code, -32602);
	assert.deepEqual([canonical(unknown).code, canonical(unknown).context.upstream], ['upstream.unknown', 'narow']);
	await wire.end();
	await silent.stop();
});

test('a rate limits calls to one upstream', async () => {
	const wire = await started('--config', config({ a: node('a', { limits: { calls_per_second: 2 } }), b: node('b') }));
	await wire.request('tools/list', {});
	const replies = await Promise.all(Array.from({ length: 20 }, () => wire.call('a__ok')));
	const refused = replies.map(canonical).filter(Boolean);
	assert.ok(refused.length >= 15, `${refused.length} refused`);
	for (const error of refused) {
		assert.deepEqual([error.code, error.origin, error.delivery, error.retry, error.context.upstream], ['governance.rate_limited', 'gateway', 'not_sent', 'backoff', 'a']);
		assert.ok(error.retry_after > 0 && error.retry_after <= 1);
	}
	for (const reply of await Promise.all(Array.from({ length: 20 }, () => wire.call('b__ok')))) assert.equal(text(reply), 'hello from b');
	await wire.end();
});

test('a limit of calls in flight refuses more, and is free again after them', async () => {
	const held = [];
	const server = await web((req, res, { id }) => held.push(() => words(res, id, 'done')));
	const wire = await started('--config', config({ a: { url: server.url, faultwire: { limits: { in_flight: 2 } } } }));
	const first = [wire.call('t'), wire.call('t')];
	while (held.length < 2) await new Promise((done) => setTimeout(done, 10));
	const { code, origin, delivery, retry, context } = canonical(await wire.call('t'));
	assert.deepEqual([code, origin, delivery, retry, context.upstream, context.limit], ['server.overloaded', 'gateway', 'not_sent', 'backoff', 'a', 2]);
	held.forEach((answer) => answer());
	for (const reply of await Promise.all(first)) assert.equal(text(reply), 'done');
	held.length = 0;
	const again = wire.call('t');
	while (!held.length) await new Promise((done) => setTimeout(done, 10));
	held[0]();
	assert.equal(text(await again), 'done');
	assert.equal(server.calls(), 3);
	await wire.end();
	await server.stop();
});

test('retries and the breaker of one upstream', async () => {
	let failures = 2;
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res, { method }) => method === 'prompts/get' && failures-- > 0 && Boolean(res.writeHead(503).end()),
	);
	const wire = await started('--config', config({ a: { url: server.url, faultwire: { retry: 0 } } }));
	const once = canonical(await wire.request('prompts/get', { name: 'p' }));
	assert.deepEqual([once.code, once.context.attempts], ['dependency.unavailable', undefined]);
	await wire.end();
	failures = 100;
	const twice = await started('--config', config({ a: { url: server.url, faultwire: { retry: 1 } } }));
	assert.equal(canonical(await twice.request('prompts/get', { name: 'p' })).context.attempts, 2);
	await twice.end();
	await server.stop();
	const broken = await started('--config', config({ a: node('a', { breaker: { failures: 2, pause: 60 } }) }));
	await broken.call('crash');
	await broken.call('crash');
	const suspended = canonical(await broken.call('ok'));
	assert.deepEqual([suspended.code, suspended.context.failures, suspended.delivery], ['upstream.suspended', 2, 'not_sent']);
	assert.ok(suspended.retry_after > 30);
	await broken.end();
});

test('a call that was sent once is not said to be unsent when its retry is refused', async () => {
	const server = await web(
		(req, res, { id }) => words(res, id, 'fine'),
		(req, res, { method }) => method === 'prompts/get' && Boolean(req.socket.destroy()),
	);
	const wire = await started('--config', config({ a: { url: server.url, faultwire: { retry: 1, breaker: { failures: 1, pause: 60 } } } }));
	const failed = canonical(await wire.request('prompts/get', { name: 'p' }));
	assert.deepEqual([failed.code, failed.delivery], ['upstream.suspended', 'sent']);
	await wire.end();
	await server.stop();
});

test('a value that cannot be used is named with its entry and member', () => {
	for (const [own, words] of [
		[{ deadline: -1 }, 'faultwire.deadline of "srv" must be a number of seconds'],
		[{ deadline: '5' }, 'faultwire.deadline of "srv" must be a number of seconds'],
		[{ contract: 'kaizen' }, 'faultwire.contract of "srv" must be the name of a contract'],
		[{ contract: 1 }, 'faultwire.contract of "srv"'],
		[{ retry: 1.5 }, 'faultwire.retry of "srv" must be a whole number from 0 to 1000'],
		[{ breaker: 5 }, 'faultwire.breaker of "srv" must be an object'],
		[{ breaker: { failures: 0 } }, 'faultwire.breaker.failures of "srv" must be a whole number from 1'],
		[{ breaker: { pauze: 1 } }, 'faultwire.breaker.pauze of "srv" must be one of failures, pause'],
		[{ limits: { calls_per_second: 0 } }, 'faultwire.limits.calls_per_second of "srv" must be a whole number from 1'],
		[{ limits: { in_flight: 'x' } }, 'faultwire.limits.in_flight of "srv"'],
		[{ limits: { rate: 1 } }, 'faultwire.limits.rate of "srv" must be one of calls_per_second, in_flight'],
		[{ allow: 'ok' }, 'faultwire.allow of "srv" must be an array of strings'],
		[{ deny: [1] }, 'faultwire.deny of "srv" must be an array of strings'],
		[{ denny: [] }, 'faultwire.denny of "srv" must be one of deadline, contract'],
		[[], 'faultwire of "srv" must be an object'],
	]) {
		const { status, err } = run(['--contract', 'canonical', 'gate', ...quiet, '--config', config({ srv: { command: 'true', faultwire: own } })]);
		const error = JSON.parse(err);
		assert.deepEqual([status, error.code], [1, 'upstream.config_invalid'], JSON.stringify(own));
		assert.ok(error.message.includes(words), error.message);
	}
});

// ---- options

test('--trust-annotations repeats a call after it was sent, if the tool says that it may be', async () => {
	for (const trusts of [false, true]) {
		const server = await web(
			(req, res, { id }) => (server.calls() % 2 ? req.socket.destroy() : words(res, id, 'second time')),
			(req, res, { id, method }) =>
				method === 'tools/list' && Boolean(res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [{ name: 'reads', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }, { name: 'writes', inputSchema: { type: 'object' } }] } }))),
		);
		const wire = await started(...(trusts ? ['--trust-annotations'] : []), '--url', server.url);
		const reads = await wire.call('reads');
		if (trusts) assert.equal(text(reads), 'second time');
		else assert.equal(canonical(reads).delivery, 'sent');
		assert.equal(server.calls(), trusts ? 2 : 1);
		if (!trusts) await wire.call('reads');
		// Never without the annotation.
		assert.equal(canonical(await wire.call('writes')).delivery, 'sent');
		assert.equal(server.calls(), 3);
		await wire.end();
		await server.stop();
	}
});

test('--suspect takes a success for the error that its text is', async () => {
	const texts = { words: 'Error: rate limit exceeded, retry after 7 seconds', envelope: '{"error":{"code":"cache_missing","message":"Cache does not exist"}}', fine: 'Errors are explained in the manual', long: 'Error: rate limit exceeded. ' + 'x'.repeat(3000) };
	const server = await web((req, res, { id, params }) => words(res, id, texts[params.name]));
	const plain = await started('--url', server.url);
	for (const name of Object.keys(texts)) assert.equal(canonical(await plain.call(name)), undefined, name);
	await plain.end();
	const wire = await started('--suspect', '--url', server.url);
	const found = await wire.call('words');
	assert.equal(found.result.isError, true);
	assert.equal(text(found), texts.words);
	assert.deepEqual([canonical(found).retry, canonical(found).context.suspected], ['backoff', true]);
	assert.equal(canonical(await wire.call('envelope')).context.suspected, true);
	for (const name of ['fine', 'long']) assert.equal(canonical(await wire.call(name)), undefined, name);
	await wire.end();
	await server.stop();
});

test('upstream.busy: a program that does not read is not given more than fits', async () => {
	const program = `
		let rest = '';
		process.stdin.on('data', (bytes) => {
			rest += bytes;
			const { id, method } = JSON.parse(rest.split('\\n')[0]);
			rest = rest.slice(rest.indexOf('\\n') + 1);
			if (method !== 'initialize') return;
			process.stdin.pause();
			console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } }));
		});
		setInterval(() => {}, 1000);`;
	const wire = await started('--era', 'legacy', '--deadline', '2', '--config', config({ deaf: { command: 'node', args: ['-e', program], faultwire: { retry: 0 } } }));
	const large = 'x'.repeat(900000);
	wire.patience = 60000;
	const replies = await Promise.all(Array.from({ length: 90 }, () => wire.call('t', { large })));
	const codes = replies.map((reply) => canonical(reply));
	const busy = codes.filter(({ code }) => code === 'upstream.busy');
	assert.ok(busy.length > 0, JSON.stringify([...new Set(codes.map(({ code }) => code))]));
	assert.deepEqual([busy[0].delivery, busy[0].retry, busy[0].retry_after], ['not_sent', 'backoff', 1]);
	// What was accepted ran into the deadline.
	assert.ok(codes.some(({ code }) => code === 'upstream.timeout'));
	wire.child.kill();
	await wire.exit;
});

test('upstream.reply_too_large: a reply beyond the limit is dropped, and the next call works', async () => {
	const program = `
		require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
			const { id, method, params } = JSON.parse(line);
			const send = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
			if (method === 'initialize') send({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
			else if (params?.name === 'small') send({ content: [{ type: 'text', text: 'small' }] });
			else if (method === 'tools/call') send({ content: [{ type: 'text', text: 'x'.repeat(17 << 20) }] });
		});`;
	const wire = await started('--era', 'legacy', '--', 'node', '-e', program);
	const { code, origin, delivery, retry, context } = canonical(await wire.call('large'));
	assert.deepEqual([code, origin, delivery, retry], ['upstream.reply_too_large', 'upstream', 'replied', 'never']);
	assert.equal(context.limit_bytes, 16 << 20);
	assert.equal(text(await wire.call('small')), 'small');
	await wire.end();
});
