// Questions of upstreams (sampling, elicitation, roots) through the gateway, between the eras; and what cannot be passed on.

// reaches: upstream.not_bridged

import test from 'node:test';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, canonical, modern, text } from './lib/mcp.mjs';
import { served } from './lib/served.mjs';

process.env.XDG_STATE_HOME = scratch();
const asker = join(root, 'test/programs/asker.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];
const all = { elicitation: {}, sampling: {}, roots: { listChanged: true } };
const gate = (era, ...more) => new Wire(['gate', ...quiet, ...more, '--', 'node', asker, era], faultwire);
const end = async (wire) => assert.equal((await wire.end()).status, 0);
const meta = (capabilities) => ({ ...modern, 'io.modelcontextprotocol/clientCapabilities': capabilities });
const content = (name) => ({ action: 'accept', content: { name } });
const ask = (wire, name, more) => wire.request('tools/call', { name, ...more, _meta: meta(all) });
const question = (wire, method) => wire.next((message) => message.method === method && 'id' in message);
const answer = (wire, { id }, result) => wire.send({ jsonrpc: '2.0', id, result });

test('a modern client is asked by a legacy upstream, and calls again with the answer', async () => {
	const wire = gate('legacy');
	assert.deepEqual(JSON.parse(text(await ask(wire, 'capabilities'))), all);
	const { result } = await ask(wire, 'who');
	assert.equal(result.resultType, 'input_required');
	assert.deepEqual(Object.keys(result.inputRequests), ['q1']);
	assert.equal(result.inputRequests.q1.method, 'elicitation/create');
	assert.equal(result.inputRequests.q1.params.message, 'Who?');
	// The upstream is free for others meanwhile.
	assert.equal(text(await ask(wire, 'ping')), '{"jsonrpc":"2.0","id":"ask-2","result":{}}');
	const done = await ask(wire, 'who', { inputResponses: { q1: content('Ada') }, requestState: result.requestState });
	assert.equal(text(done), 'hello Ada');
	assert.equal(done.result.resultType, 'complete');
	// The state is used up.
	assert.equal(canonical(await ask(wire, 'who', { inputResponses: { q1: content('Eve') }, requestState: result.requestState })).code, 'protocol.state_tampered');
	await end(wire);
});

test('a question whose id is too long to be kept is refused, and the call runs once', async () => {
	const wire = gate('legacy');
	await wire.request('initialize', { protocolVersion: '2025-11-25', capabilities: all, clientInfo: { name: 'wire', version: '1' } });
	wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
	assert.equal(text(await wire.call('wordy')), 'refused in run 1 of 1');
	assert.equal(text(await wire.call('wordy')), 'refused in run 2 of 2');
	await end(wire);
	const second = gate('legacy');
	assert.equal(text(await ask(second, 'wordy')), 'refused in run 1 of 1');
	await end(second);
});

test('two questions are two rounds', async () => {
	const wire = gate('legacy');
	const first = await ask(wire, 'twice');
	const second = await ask(wire, 'twice', { inputResponses: { q1: content('Ada') }, requestState: first.result.requestState });
	assert.deepEqual(Object.keys(second.result.inputRequests), ['q2']);
	assert.equal(second.result.inputRequests.q2.method, 'sampling/createMessage');
	const done = await ask(wire, 'twice', { inputResponses: { q2: { role: 'assistant', model: 'm', content: { type: 'text', text: 'yes' } } }, requestState: second.result.requestState });
	assert.deepEqual(JSON.parse(text(done)), ['Ada', 'yes']);
	await end(wire);
});

test('a requestState that was changed, is of another call, or has no answers is refused', async () => {
	const wire = gate('legacy');
	const { requestState } = (await ask(wire, 'who')).result;
	const inputResponses = { q1: content('Ada') };
	const changed = requestState.slice(0, 8) + (requestState[8] === 'A' ? 'B' : 'A') + requestState.slice(9);
	for (const state of [changed, 'mine', 7, requestState + 'x']) {
		const reply = await ask(wire, 'who', { inputResponses, requestState: state });
		assert.equal(reply.error.code, -32602);
		assert.equal(canonical(reply).code, 'protocol.state_tampered');
	}
	assert.equal(canonical(await ask(wire, 'ping', { inputResponses, requestState })).code, 'protocol.state_tampered');
	assert.equal(canonical(await ask(wire, 'who', { arguments: { other: 1 }, inputResponses, requestState })).code, 'protocol.state_tampered');
	// Another job cannot be named by an answer.
	const forged = { ...inputResponses, 'dev.faultwire/job': { t: '00000000000000000000000000000000' } };
	assert.equal(canonical(await ask(wire, 'who', { inputResponses: { other: content('x') }, requestState })).code, 'protocol.invalid_params');
	assert.equal(text(await ask(wire, 'who', { inputResponses: forged, requestState })), 'hello Ada');
	await end(wire);
});

test('an outcome that comes while the client is away waits for it', async () => {
	const wire = gate('legacy');
	const first = await ask(wire, 'impatient');
	assert.equal(text(await ask(wire, 'slow')), 'slow');
	assert.equal(text(await ask(wire, 'impatient', { inputResponses: { q1: content('x') }, requestState: first.result.requestState })), 'did not wait');
	const dies = await ask(wire, 'dies');
	const failed = canonical(await ask(wire, 'slow'));
	assert.equal(failed.code, 'upstream.exited');
	const late = canonical(await ask(wire, 'dies', { inputResponses: { q1: content('x') }, requestState: dies.result.requestState }));
	assert.deepEqual([late.code, late.delivery], ['upstream.exited', 'sent']);
	await end(wire);
});

test('an unanswered question expires, and the upstream is free again', async () => {
	const wire = gate('legacy', '--limit', 'state_ms=1000');
	const { requestState } = (await ask(wire, 'who')).result;
	let reply;
	for (let i = 0; i < 100 && reply?.code !== 'protocol.state_tampered'; i++) {
		await new Promise((done) => setTimeout(done, 100));
		reply = canonical(await ask(wire, 'who', { inputResponses: { wrong: content('x') }, requestState }));
	}
	assert.equal(reply.code, 'protocol.state_tampered');
	assert.equal(text(await ask(wire, 'slow')), 'slow');
	await end(wire);
});

test('what a client cannot answer is refused, and named if the call then fails', async () => {
	for (const era of ['modern', 'legacy']) {
		const wire = gate('legacy');
		const call = (name) => (era === 'modern' ? wire.request('tools/call', { name, _meta: meta({}) }) : wire.call(name));
		if (era === 'legacy') await wire.initialize();
		assert.deepEqual(JSON.parse(text(await call('capabilities'))), {});
		const reply = await call('who');
		// The text of the upstream stays.
		assert.equal(text(reply), 'Error: the client does not support this request');
		const { code, origin, delivery, retry, message } = canonical(reply);
		assert.deepEqual([code, origin, delivery, retry], ['upstream.not_bridged', 'gateway', 'replied', 'never']);
		assert.match(message, /needs elicitation\/create/);
		assert.equal(canonical(await call('strange')).code, 'upstream.not_bridged');
		assert.equal(text(await call('tolerant')), 'went on without');
		await end(wire);
	}
});

test('a legacy client is asked by a modern upstream', async () => {
	const wire = gate('modern');
	await wire.initialize('2025-11-25', all);
	const who = wire.call('who');
	answer(wire, await question(wire, 'elicitation/create'), content('Ada'));
	assert.deepEqual(JSON.parse(text(await who)), ['one', 'Ada']);
	const twice = wire.call('twice');
	answer(wire, await question(wire, 'roots/list'), { roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }] });
	answer(wire, await question(wire, 'elicitation/create'), content('Ada'));
	answer(wire, await question(wire, 'sampling/createMessage'), { role: 'assistant', model: 'm', content: { type: 'text', text: 'yes' } });
	assert.deepEqual(JSON.parse(text(await twice)), ['two Ada 2', ['model'], 'yes']);
	// A state without questions is sent back without the client.
	assert.equal(text(await wire.call('state_only')), 'came back');
	assert.equal(canonical(await wire.call('endless')).code, 'upstream.not_bridged');
	assert.equal(canonical(await wire.call('strange')).code, 'upstream.not_bridged');
	// The client refuses: the modern era has no way to say so.
	const refused = wire.call('who');
	const { id } = await question(wire, 'elicitation/create');
	wire.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'no' } });
	const { code, message } = canonical(await refused);
	assert.equal(code, 'upstream.not_bridged');
	assert.match(message, /needs elicitation\/create/);
	assert.equal(text(await wire.call('state_only')), 'came back');
	await end(wire);
});

test('a legacy client that lacks the capability gets a clear error of a modern upstream', async () => {
	const wire = gate('modern');
	await wire.initialize('2025-11-25', { sampling: {} });
	assert.deepEqual(JSON.parse(text(await wire.call('capabilities'))), { sampling: {} });
	const { code, delivery, message } = canonical(await wire.call('who'));
	assert.deepEqual([code, delivery], ['upstream.not_bridged', 'replied']);
	assert.match(message, /needs elicitation\/create/);
	await end(wire);
});

test('a legacy client is asked by a legacy upstream, and its refusal reaches it', async () => {
	const wire = gate('legacy');
	await wire.initialize('2025-11-25', all);
	assert.deepEqual(JSON.parse(text(await wire.call('capabilities'))), all);
	const who = wire.call('who');
	answer(wire, await question(wire, 'elicitation/create'), content('Ada'));
	assert.equal(text(await who), 'hello Ada');
	const again = wire.call('who');
	const { id } = await question(wire, 'elicitation/create');
	wire.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'the user is away' } });
	assert.equal(text(await again), 'Error: the user is away');
	assert.deepEqual(JSON.parse(text(await wire.call('ping'))).result, {});
	await end(wire);
});

test('a call of a legacy server can ask more often than it has rounds, and several things at once', async () => {
	const wire = gate('legacy');
	wire.patience = 20000;
	await wire.initialize('2025-11-25', all);
	const sampled = (wanted, words) => answer(wire, wanted, { role: 'assistant', model: 'm', content: { type: 'text', text: words } });
	const many = wire.call('many');
	for (let i = 0; i < 40; i++) sampled(await question(wire, 'sampling/createMessage'), 'yes');
	assert.equal(text(await many), 'asked 40 times');
	const together = wire.call('together');
	const asked = [];
	while (asked.length < 3) asked.push(await question(wire, 'sampling/createMessage'));
	for (const one of asked.reverse()) sampled(one, `answer ${one.params.maxTokens}`);
	assert.deepEqual(JSON.parse(text(await together)), ['answer 1', 'answer 2', 'answer 3']);
	await end(wire);
});

test('a question that the server cancels, or whose call is over, is cancelled for the client, and the deadline runs again', async () => {
	const wire = gate('legacy', '--deadline', '3');
	wire.patience = 20000;
	await wire.initialize('2025-11-25', all);
	const cancelled = (id) => wire.next(({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
	const asks = wire.call('withdraws', { then: 'asks' });
	await cancelled((await question(wire, 'elicitation/create')).id);
	answer(wire, await question(wire, 'elicitation/create'), content('Ada'));
	assert.equal(text(await asks), 'Ada');
	const silent = wire.call('withdraws');
	await cancelled((await question(wire, 'elicitation/create')).id);
	assert.equal(canonical(await silent).code, 'upstream.timeout');
	const impatient = wire.call('impatient');
	await cancelled((await question(wire, 'elicitation/create')).id);
	assert.equal(text(await impatient), 'did not wait');
	await end(wire);
	// A modern client has its question as a result, and comes back with an answer that nobody wants.
	const second = gate('legacy');
	const { result } = await ask(second, 'withdraws', { arguments: { then: 'replies' } });
	assert.equal(text(await ask(second, 'withdraws', { arguments: { then: 'replies' }, inputResponses: { q1: content('Ada') }, requestState: result.requestState })), 'went on');
	assert.deepEqual(JSON.parse(text(await ask(second, 'ping'))).result, {});
	await end(second);
});

test('the deadline does not run while the client thinks', async () => {
	const wire = gate('legacy', '--deadline', '1');
	await wire.initialize('2025-11-25', all);
	const who = wire.call('who');
	const asked = await question(wire, 'elicitation/create');
	await new Promise((done) => setTimeout(done, 1500));
	answer(wire, asked, content('Ada'));
	assert.equal(text(await who), 'hello Ada');
	await end(wire);
});

test('roots that a server asks for outside of a call are those of the client', async () => {
	const wire = gate('legacy', '--env', 'ROOTS=1');
	await wire.initialize('2025-11-25', { roots: {} });
	answer(wire, await question(wire, 'roots/list'), { roots: [{ uri: 'file:///here' }] });
	let early;
	for (let i = 0; i < 50 && !early?.result; i++) early = JSON.parse(text(await wire.call('early')).replace(/^not asked$/, '{}'));
	assert.deepEqual(early.result, { roots: [{ uri: 'file:///here' }] });
	await end(wire);
});

test('with several clients, a question goes to the one whose call it is, or to none', async () => {
	const server = await served(faultwire, ['gate', '--audit', 'off', '--incidents', 'off', '--http', '127.0.0.1:0', '--', 'node', asker, 'legacy']);
	const post = async (name, more, capabilities = all, signal = undefined) => {
		const reply = await fetch(server.url, {
			method: 'POST',
			signal,
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
			body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, ...more, _meta: meta(capabilities) } }),
		});
		const body = await reply.text();
		return JSON.parse(body.startsWith('{') ? body : body.split('\n').findLast((line) => line.startsWith('data: {')).slice(6));
	};
	// One client alone is certain.
	const { result } = await post('who');
	assert.equal(result.resultType, 'input_required');
	assert.equal(text(await post('who', { inputResponses: { q1: content('Ada') }, requestState: result.requestState })), 'hello Ada');
	const [slow, who] = await Promise.all([post('slow'), post('who')]);
	assert.equal(text(slow), 'slow');
	assert.equal(canonical(who).code, 'upstream.not_bridged');
	assert.match(text(who), /several clients/);
	// A call that waits for its client disturbs nobody.
	const parked = await post('who');
	assert.equal((await post('who')).result.resultType, 'input_required');
	assert.equal(text(await post('who', { inputResponses: { q1: content('Bob') }, requestState: parked.result.requestState })), 'hello Bob');
	// Neither does a call get the question of one that another client has cancelled.
	const first = new AbortController();
	const cancelled = assert.rejects(post('lingers', {}, all, first.signal));
	const waits = post('waits');
	while (text(await post('running')) !== 'both') await new Promise((done) => setTimeout(done, 20));
	first.abort();
	await cancelled;
	assert.match(text(await waits), /several clients/);
	await server.stop();
});
