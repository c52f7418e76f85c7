/*
 * The official clients and a fleet of gateways behind a real haproxy: streams that go on at
 * another replica, and replicas that are killed under load.
 *
 * Short: 3 rounds of kill -9; with FW_LONG=1: 30.
 */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { root } from '../wire/lib/cli.mjs';
import { Place, ask, pause, until } from '../wire/lib/govern.mjs';
import { Engine, isLong, isUp, startHaproxy } from '../wire/lib/fleet.mjs';
import { clients } from './clients_lib.mjs';

const place = new Place('fleet-clients');
const engine = new Engine(place);
const upstream = join(root, 'test/wire/lib/fleet_upstream.mjs');
const log = place.file('calls');
let replicas, proxy, cutter;

// A new replica, at the address of another one that has ended.
const startGate = (where = '127.0.0.1:0', i = 0) =>
	place.start('gate', '--limits-store', engine.url(), '--fleet', 'judge', '--limits-wait', '20000', '--log', 'json', '--audit', place.file(`audit-${i}-${Date.now()}.jsonl`), '--sandbox', 'off', { http: where }, '--', process.execPath, upstream);

// Connections that a test can cut, in front of haproxy.
async function startCutter(target) {
	const sockets = new Set();
	const server = createServer((near) => {
		const far = connect(Number(new URL(target).port), '127.0.0.1');
		for (const [one, other] of [[near, far], [far, near]]) {
			sockets.add(one);
			one.on('error', () => {});
			one.on('close', () => {
				sockets.delete(one);
				other.destroy();
			});
			one.pipe(other);
		}
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return {
		url: `http://127.0.0.1:${server.address().port}`,
		cut: () => [...sockets].forEach((socket) => socket.destroy()),
		stop: () => server.close(),
	};
}

const patient = { reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 1.2, maxRetries: 200 } };
async function connected(kind, url) {
	const client = clients[kind]({});
	const transport = new (kind === 'v1' ? Http1 : Http2)(new URL(`${url}/mcp`), patient);
	client.onerror = () => {};
	await client.connect(transport);
	return { client, transport };
}
const announce = async (server, uri) => {
	const { client } = await connected('v1', server.url);
	await client.callTool({ name: 'announce', arguments: { kind: 'resource', uri } });
	await client.close();
};

before(async () => {
	await engine.start();
	replicas = await Promise.all([0, 1, 2].map((i) => startGate(undefined, i)));
	for (const server of replicas) await until(() => isUp(server, 3), 'three replicas');
	proxy = await startHaproxy(place, replicas);
	cutter = await startCutter(proxy.url);
});
after(async () => {
	cutter?.stop();
	await engine.stop();
	await place.end();
});
async function kill(i) {
	replicas[i].child.kill('SIGKILL');
	await replicas[i].ended;
}
async function revive(i) {
	replicas[i] = await startGate(replicas[i].url.replace('http://', ''), i);
	await until(() => isUp(replicas[i]), 'a new replica');
}

test('v1 resumes its stream on another replica when its own is killed: each change once', async () => {
	const { client, transport } = await connected('v1', proxy.url);
	const seen = [];
	client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void seen.push(params.uri));
	const uris = ['test://1', 'test://2', 'test://3', 'test://4', 'test://5', 'test://6', 'test://7'];
	for (const uri of uris) await client.subscribeResource({ uri });
	const session = transport.sessionId;
	await announce(replicas[2], uris[0]);
	await until(() => seen.includes(uris[0]), 'the first change');
	// Whichever replica has the stream, it is killed once.
	for (const i of [0, 1, 2]) {
		const other = replicas[(i + 1) % 3];
		const before = kill(i);
		await announce(other, uris[1 + 2 * i]);
		await before;
		await announce(other, uris[2 + 2 * i]);
		await until(() => seen.includes(uris[2 + 2 * i]), 'the changes after a kill');
		await revive(i);
	}
	assert.deepEqual(seen, uris);
	assert.equal(transport.sessionId, session);
	await client.close();
});

test('v1 resumes the stream of a call when its connection is cut: each event once, one answer', async () => {
	const { client } = await connected('v1', cutter.url);
	const file = place.file('steps');
	const seen = [];
	const count = 8;
	writeFileSync(file, '1\n');
	const called = client.callTool({ name: 'steps', arguments: { file, count } }, undefined, { onprogress: ({ progress }) => seen.push(progress) });
	for (let i = 1; i <= count; i++) {
		await until(() => seen.includes(i), `step ${i}`);
		cutter.cut();
		appendFileSync(file, `${i + 1}\n`);
	}
	const result = await called;
	assert.equal(result.content[0].text, `${count} steps`);
	assert.deepEqual(seen, Array.from({ length: count }, (_, i) => i + 1));
	await client.close();
});

test('v1 gets an error, once, for a call whose replica is killed', async () => {
	const { client } = await connected('v1', proxy.url);
	const file = place.file('killed');
	const seen = [];
	writeFileSync(file, '1\n2\n');
	let answers = 0;
	const called = client.callTool({ name: 'steps', arguments: { file, count: 9 } }, undefined, { onprogress: ({ progress }) => seen.push(progress) }).then(
		() => assert.fail('it cannot have ended'),
		(error) => {
			answers++;
			return error;
		},
	);
	await until(() => seen.length === 2, 'two steps');
	const busy = [];
	for (let i = 0; i < 3; i++) if (/faultwire_upstream_in_flight\S* [1-9]|faultwire_calls_in_progress\S* [1-9]/.test((await ask(replicas[i], '/metrics')).text)) busy.push(i);
	const which = busy.length === 1 ? busy : [0, 1, 2];
	// If it cannot be seen which one it is, two of them are killed in turn.
	for (const i of which) {
		await kill(i);
		await revive(i);
		if (answers) break;
	}
	const error = await called;
	assert.equal(error.data?.['dev.faultwire/error']?.code, 'transport.connection_reset', String(error));
	assert.equal(answers, 1);
	assert.deepEqual(seen, [1, 2]);
	await client.close();
});

test('replicas killed under load: clients of both eras go on, no call is answered twice', async () => {
	const rounds = isLong ? 30 : 3;
	const kinds = ['v1', 'v1', 'v2 modern', 'v2 modern'];
	const incidents = new Set();
	let isOver = false;
	let calls = 0;
	let repeated = 0;
	const sent = new Map();
	const work = async (kind, number) => {
		const { client, transport } = await connected(kind, proxy.url);
		const answered = new Map();
		const hear = transport.onmessage;
		transport.onmessage = (message, ...more) => {
			if (message.id !== undefined && !message.method) answered.set(message.id, (answered.get(message.id) ?? 0) + 1);
			return hear(message, ...more);
		};
		const session = transport.sessionId;
		for (let i = 0; !isOver; i++) {
			const text = `${number}-${i}`;
			for (let attempt = 1; ; attempt++) {
				sent.set(text, attempt);
				const result = await client.callTool(i % 5 === 4 ? { name: 'refuse', arguments: {} } : { name: 'echo', arguments: { text, log } }).catch((error) => error);
				const error = result?._meta?.['dev.faultwire/error'] ?? result?.data?.['dev.faultwire/error'];
				if (error) {
					incidents.add(error.incident_id);
					if (i % 5 === 4) break;
				}
				if (result?.content?.[0]?.text === text) break;
				assert.ok(attempt < 300, `${kind}: ${text}: ${result instanceof Error ? result.stack : JSON.stringify(result)}`);
				repeated++;
				await pause(20);
			}
			calls++;
		}
		// The same session all the time, and one answer each.
		assert.equal(transport.sessionId, session);
		for (const [id, count] of answered) assert.equal(count, 1, `${kind}, ${id}`);
		await client.close();
	};
	const working = Promise.all(kinds.map(work));
	for (let round = 0; round < rounds; round++) {
		const before = calls;
		await until(() => calls > before + 20, 'calls before a kill');
		await kill(round % 3);
		const during = calls;
		await until(() => calls > during + 20, 'calls after a kill');
		await revive(round % 3);
	}
	isOver = true;
	await working;
	// A call was run as often as it was sent, at most: nothing was sent twice by anybody else.
	const ran = new Map();
	for (const line of readFileSync(log, 'utf8').split('\n').filter(Boolean)) ran.set(line, (ran.get(line) ?? 0) + 1);
	let twice = 0;
	for (const [text, count] of ran) {
		assert.ok(count <= sent.get(text), `${text}: ${count} of ${sent.get(text)}`);
		twice += count > 1;
	}
	// Every incident that a client has seen is in an audit log: answers wait for it.
	const audit = readdirSync(place.state).filter((name) => name.startsWith('audit-')).map((name) => readFileSync(place.file(name), 'utf8')).join('');
	for (const id of incidents) assert.ok(audit.includes(id), id);
	// And in the store that the replicas share, also those of the last milliseconds before a kill.
	const stored = () => new Set(JSON.parse(place.faultwire('incident', 'list', '--json', '--limit', '1000000')).map(({ id }) => id));
	await until(() => [...incidents].every((id) => stored().has(id)), 'all incidents are stored');
	assert.ok(incidents.size > rounds);
	console.log(`# ${calls} calls, ${rounds} kills, ${repeated} repeated by clients, ${twice} of them run twice, ${incidents.size} incidents`);
});
