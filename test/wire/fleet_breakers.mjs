// Breakers of upstreams that gateways share through a real engine: one suspends an upstream,
// all do; one of them tries it again.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Place, ask, canonical, isFine, mcp, until } from './lib/govern.mjs';
import { Engine, isAway, isUp } from './lib/fleet.mjs';

const place = new Place('breakers');
const engine = new Engine(place);
let gates, upstream;
// What the upstream does with calls: 'work', 'fail' (the connection is closed), 'hold'.
let mode = 'work';
let calls = 0;
const held = [];

const reply = (response, message) => response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', ...message }));
function serve(request, response) {
	let text = '';
	request.on('data', (bytes) => (text += bytes));
	request.on('end', () => {
		if (request.method !== 'POST') return response.writeHead(405).end();
		const { id, method } = JSON.parse(text);
		if (id === undefined) return response.writeHead(202).end();
		if (method === 'initialize') return reply(response, { id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
		if (method === 'tools/list') return reply(response, { id, result: { tools: [{ name: 'work', inputSchema: { type: 'object' } }] } });
		if (method !== 'tools/call') return reply(response, { id, result: {} });
		calls++;
		const work = () => reply(response, { id, result: { content: [{ type: 'text', text: 'done' }] } });
		if (mode === 'fail') request.socket.destroy();
		else if (mode === 'hold') held.push(work);
		else work();
	});
}

const work = (gate) => mcp(gate, 'work');
const metric = async (gate, pattern) => Number((await ask(gate, '/metrics')).text.match(pattern)?.[1]);
const isIn = async (gate, state) => (await metric(gate, new RegExp(`faultwire_upstream_breaker\\{[^}]*"${state}"[^}]*\\} (\\d)`))) === 1;

before(async () => {
	upstream = createServer(serve);
	await new Promise((done) => upstream.listen(0, '127.0.0.1', done));
	await engine.start();
	const url = `http://127.0.0.1:${upstream.address().port}/mcp`;
	writeFileSync(place.file('gate.json'), JSON.stringify({ mcpServers: { tested: { url, faultwire: { breaker: { failures: 3, pause: 2 }, retry: 0 } } } }));
	gates = await Promise.all([1, 2, 3].map(() => place.start('gate', '--era', 'legacy', '--config', place.file('gate.json'), '--limits-store', engine.url(), '--fleet', 'breakers', '--limits-wait', '20000', '--log', 'json')));
	for (const gate of gates) await until(() => isUp(gate, 3), 'three gateways');
	for (const gate of gates) assert.ok(isFine(await work(gate)));
});
after(async () => {
	for (const one of held.splice(0)) one();
	upstream?.closeAllConnections();
	upstream?.close();
	await engine.stop();
	await place.end();
});

async function suspend(gate) {
	mode = 'fail';
	await until(async () => canonical(await work(gate))?.code === 'upstream.suspended', 'the breaker is open');
}

test('what one gateway suspends is suspended at all, without a call of theirs', async () => {
	await suspend(gates[0]);
	const before = calls;
	for (const gate of gates.slice(1)) {
		await until(() => isIn(gate, 'open'), 'the breaker of the others');
		assert.equal(await metric(gate, /faultwire_fleet_breakers_total (\d+)/), 1);
	}
	assert.equal(calls, before);
	const key = (await engine.command('KEYS', '*breaker*')).match(/faultwire:breakers:breaker:[0-9a-f]{32}/)[0];
	assert.match(await engine.command('PTTL', key), /^:[1-9]/);
});

test('after the pause one call of one gateway tries it, and when it works, all go on', async () => {
	mode = 'hold';
	const before = calls;
	let isOver = false;
	const replies = [];
	// Calls at all gateways, all the time; those that are refused come again.
	const working = gates.map(async (gate) => {
		while (!isOver) {
			replies.push(await work(gate));
			await new Promise((next) => setTimeout(next, 20));
		}
	});
	await until(() => held.length, 'a trial');
	// Two beats more: nobody else tries while it is in progress.
	const refused = replies.length;
	await until(() => replies.length > refused + 100, 'refused calls');
	assert.equal(calls, before + 1);
	mode = 'work';
	held.splice(0)[0]();
	for (const gate of gates) await until(() => isIn(gate, 'closed'), 'it is closed');
	isOver = true;
	await Promise.all(working);
	for (const one of replies.filter((one) => !isFine(one))) assert.equal(canonical(one)?.code, 'upstream.suspended', one.text);
	for (const gate of gates) assert.ok(isFine(await work(gate)));
});

test('without the engine each gateway has its own breaker', async () => {
	await engine.stop();
	for (const gate of gates) await until(() => isAway(gate), 'the engine is away');
	await suspend(gates[0]);
	mode = 'work';
	assert.ok(isFine(await work(gates[1])));
	assert.ok(await isIn(gates[2], 'closed'));
	await until(async () => isFine(await work(gates[0])), 'its own trial');
	await engine.start();
	for (const gate of gates) await until(() => isUp(gate, 3), 'it is back');
	await suspend(gates[1]);
	for (const gate of gates) await until(() => isIn(gate, 'open'), 'shared again');
	for (const gate of gates) assert.equal(await gate.stop(), 0, gate.said);
});
