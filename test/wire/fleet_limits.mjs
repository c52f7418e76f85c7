// Limits that replicas share through a real engine, behind a real haproxy: exact in script
// mode, within the stated bound in lease mode, and bounded while the engine is away.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { root, run } from './lib/cli.mjs';
import { Place, ask, canonical, inTime, isFine, mcp, pause, until } from './lib/govern.mjs';
import { Engine, isAway, isLong, isUp, parallel, ready, startHaproxy } from './lib/fleet.mjs';

const hazard = join(process.env.FW_BUILD ?? join(root, 'build'), 'hazard');
const place = new Place('fleet');
const PASSWORD = 'hunter2-s3cret%21';
const calls = isLong ? 10000 : 800;
const bucket = calls / 10;
const connections = isLong ? 500 : 150;
const slow = 0.000001;
const policy = {
	version: 1,
	clients: {
		exact: { calls_per_second: slow, burst: bucket },
		lease: { calls_per_second: slow, burst: bucket },
		paused: { calls_per_second: slow, burst: 30 },
		killed: { calls_per_second: slow, burst: 30 },
		flushed: { calls_per_second: slow, burst: 5 },
		steady: { calls_per_second: 1000, burst: 1000 },
		alone: { calls_per_second: slow, burst: 3 },
		parallel: { concurrent: 4, deadline_seconds: 1.5 },
	},
};
const token = {};
const engine = new Engine(place, { password: 'hunter2-s3cret!' });
let replicas, proxy;

const explain = (server, name) => mcp(server, 'explain_error_code', { code: 'file.not_found' }, { token: token[name] });
const url = () => `redis://default:${PASSWORD}@127.0.0.1:${engine.port}/0`;
// The machine may be busy, so a decision may take long, unless the test is about that.
const start = (fleet, ...more) =>
	place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--limits-store', url(), '--fleet', fleet, '--log', 'json', '--limit', 'client_in_flight=2000', '--limit', 'in_flight=4000', '--limit', 'http_connections=3000', ...more);
const three = async (fleet, ...more) => {
	const servers = await Promise.all([1, 2, 3].map(() => start(fleet, ...more)));
	for (const server of servers) await until(() => isUp(server, 3), 'three replicas');
	return servers;
};
const stop = async (servers) => {
	for (const server of servers) assert.equal(await server.stop(), 0, server.said);
};
const patient = ['--limits-wait', '30000'];

before(async () => {
	for (const name of Object.keys(policy.clients)) token[name] = place.token(name, 'admin');
	writeFileSync(place.file('policy.json'), JSON.stringify(policy));
	await engine.start();
	replicas = await three('main', ...patient);
	proxy = await startHaproxy(place, replicas);
});
after(async () => {
	engine.signal('SIGCONT');
	await engine.stop();
	await place.end();
});

test(`${calls} parallel calls on a bucket of ${bucket} through haproxy: exactly ${bucket} pass`, async () => {
	const replies = await parallel(calls, connections, () => explain(proxy, 'exact'));
	for (const reply of replies.filter((reply) => !isFine(reply))) {
		assert.equal(canonical(reply)?.code, 'governance.rate_limited', `${reply.status} ${reply.text}`);
		assert.ok(canonical(reply).retry_after > 1);
	}
	assert.equal(replies.filter(isFine).length, bucket);
	// All three have taken part, and no decision was made by one alone.
	for (const server of replicas) {
		const { text } = await ask(server, '/metrics', { token: token.exact });
		assert.match(text, /faultwire_fleet_decisions_total\{by="shared"\} [1-9]/);
		assert.match(text, /faultwire_fleet_decisions_total\{by="local"\} 0/);
		assert.match(text, /faultwire_fleet_replicas 3/);
		assert.match(text, /faultwire_fleet_engine_up 1/);
	}
});

test('keys have the prefix of the fleet, an expiry, and no name of a client', async () => {
	const keys = [...(await engine.command('KEYS', '*')).matchAll(/^faultwire:\S+/gm)].map((match) => match[0]);
	assert.ok(keys.some((key) => /^faultwire:main:bucket:[0-9a-f]{32}$/.test(key)), keys.join(' '));
	for (const key of keys) {
		assert.match(key, /^faultwire:main:(bucket:[0-9a-f]{32}|calls:[0-9a-f]{32}|alive:[0-9a-f]{16}|replicas|number|changes|notices)$/);
		assert.match(await engine.command('PTTL', key), /^(\+OK\r\n)?:[1-9]/);
	}
});

test('lease mode lets pass no more than the bucket, and at most an eighth less', async () => {
	const servers = await three('leased', '--limits-lease', '20', ...patient);
	const balanced = await startHaproxy(place, servers);
	const replies = await parallel(calls, connections, () => explain(balanced, 'lease'));
	const passed = replies.filter(isFine).length;
	assert.ok(passed <= bucket, `${passed} of ${bucket}`);
	assert.ok(passed >= bucket - bucket / 8, `${passed} of ${bucket}`);
	let leased = 0;
	for (const server of servers) leased += Number((await ask(server, '/metrics', { token: token.lease })).text.match(/decisions_total\{by="leased"\} (\d+)/)[1]);
	assert.ok(leased > 0, `${leased} without asking`);
	// What is not used is given back, so in the end all of it is used.
	let rest = passed;
	await until(async () => {
		rest += (await parallel(30, 10, (i) => explain(servers[i % 3], 'lease'))).filter(isFine).length;
		return rest === bucket;
	}, 'the rest of the bucket');
	assert.ok(!isFine(await explain(servers[0], 'lease')));
	await balanced.stop();
	await stop(servers);
});

test('calls in progress are counted over all replicas', async () => {
	const gates = await Promise.all(
		[1, 2, 3].map((i) => place.start('gate', '--tokens', '--clients', place.file('policy.json'), '--log', 'json', '--limits-store', url(), '--fleet', 'gates', ...patient, '--name', `g${i}`, '--', hazard)),
	);
	for (const gate of gates) await until(() => isUp(gate, 3), 'three gateways');
	const replies = await parallel(30, 30, (i) => mcp(gates[i % 3], 'deaf', {}, { token: token.parallel }));
	const codes = replies.map((reply) => canonical(reply).code);
	assert.equal(codes.filter((code) => code === 'runtime.timeout').length, 4, codes.join());
	assert.equal(codes.filter((code) => code === 'governance.rate_limited').length, 26);
	// They have ended, so there is room again.
	assert.ok(isFine(await mcp(gates[0], 'echo_inline', { text: 'x' }, { token: token.parallel })));
	await stop(gates);
});

test('calls that end while the engine has no memory are not counted afterwards', async () => {
	const gate = await place.start('gate', '--tokens', '--clients', place.file('policy.json'), '--log', 'json', '--limits-store', url(), '--fleet', 'full', ...patient, '--', hazard);
	await until(() => isUp(gate, 1), 'the gateway');
	const deaf = () => mcp(gate, 'deaf', {}, { token: token.parallel });
	const counted = async () => {
		const [key] = (await engine.command('KEYS', 'faultwire:full:calls:*')).match(/^faultwire:\S+/m) ?? [];
		return key ? Number((await engine.command('HVALS', key)).match(/(\d+)\r\n$/)?.[1] ?? 0) : 0;
	};
	const first = deaf();
	await until(async () => (await counted()) === 1, 'the first call');
	await pause(500);
	const second = deaf();
	await until(async () => (await counted()) === 2, 'the second call');
	await engine.command('CONFIG', 'SET', 'maxmemory', '1');
	try {
		assert.equal(canonical(await first).code, 'runtime.timeout');
		// The engine cannot decide, so the gateway does.
		assert.ok(isFine(await mcp(gate, 'echo_inline', { text: 'x' }, { token: token.parallel })));
	} finally {
		await engine.command('CONFIG', 'SET', 'maxmemory', '0');
	}
	assert.equal(canonical(await second).code, 'runtime.timeout');
	await until(async () => (await counted()) === 0, 'none is counted', 10000);
	assert.equal(await gate.stop(), 0);
});

test('SCRIPT FLUSH is not noticed', async () => {
	await engine.command('SCRIPT', 'FLUSH');
	const replies = await parallel(60, 20, () => explain(proxy, 'steady'));
	assert.equal(replies.filter(isFine).length, 60);
	for (const server of replicas) assert.match((await ask(server, '/metrics', { token: token.exact })).text, /by="local"\} 0/);
});

test('FLUSHALL fills the bucket of the engine, and not those of the replicas', async () => {
	for (let i = 0; i < 5; i++) assert.ok(isFine(await explain(replicas[0], 'flushed')));
	for (const server of replicas) assert.ok(!isFine(await explain(server, 'flushed')));
	await engine.command('FLUSHALL');
	// A replica that knows the bucket to be empty asks again after a second.
	await until(async () => isFine(await explain(replicas[1], 'flushed')), 'the bucket is full again');
	assert.ok(!isFine(await explain(replicas[0], 'flushed')), 'its own bucket is empty');
	let passed = 1;
	for (let i = 0; i < 12; i++) passed += isFine(await explain(replicas[1 + (i % 2)], 'flushed'));
	assert.equal(passed, 5);
});

test('a paused engine: calls are decided by shares of the limit, and its absence is reported', async () => {
	const servers = await three('paused', '--limits-wait', '200');
	engine.signal('SIGSTOP');
	try {
		const replies = await inTime(place, 200, () => Promise.all(servers.map((server) => explain(server, 'paused'))));
		replies.push(...(await parallel(147, 50, (i) => explain(servers[i % 3], 'paused'))));
		for (const server of servers) await until(() => isAway(server), 'the engine is away');
		const more = await parallel(150, 50, (i) => explain(servers[i % 3], 'paused'));
		const passed = [...replies, ...more].filter(isFine).length;
		// Before it was noticed, none was decided: the engine did not answer.
		assert.equal(passed, 30);
		for (const reply of [...replies, ...more].filter((reply) => !isFine(reply))) assert.equal(canonical(reply)?.code, 'governance.rate_limited', reply.text);
		assert.match(await ready(servers[0]), /limits store: away for \d+ s, limits are divided by 3/);
		assert.match(servers[0].said, /fleet_engine_lost/);
		assert.match((await ask(servers[0], '/metrics', { token: token.exact })).text, /faultwire_fleet_engine_up 0/);
	} finally {
		engine.signal('SIGCONT');
	}
	for (const server of servers) await until(() => isUp(server, 3), 'it is back');
	assert.match(servers[0].said, /fleet_engine_found/);
	await stop(servers);
});

test('a killed engine, and a new one on its port', async () => {
	const servers = await three('killed', ...patient);
	const used = await parallel(12, 12, (i) => explain(servers[i % 3], 'killed'));
	assert.equal(used.filter(isFine).length, 12);
	await engine.stop();
	for (const server of [...servers, ...replicas]) await until(() => isAway(server), 'the engine is away');
	const alone = await parallel(60, 30, (i) => explain(servers[i % 3], 'killed'));
	// 12 are in the buckets of the replicas already, and no share is more than 10.
	const passed = alone.filter(isFine).length;
	assert.ok(passed >= 1 && passed <= 30, `${passed}`);
	await engine.start();
	for (const server of servers) await until(() => isUp(server, 3), 'it is back');
	const replies = await parallel(200, 50, (i) => explain(servers[i % 3], 'killed'));
	assert.ok(replies.filter(isFine).length <= 30);
	await stop(servers);
});

test('a server starts without an engine, and with a wrong password, and says why', async () => {
	for (const [where, why] of [
		['redis://127.0.0.1:1/0', /refused/i],
		[`redis://:wrong-${PASSWORD}@127.0.0.1:${engine.port}/0`, /WRONGPASS|invalid/i],
		['redis://no-such-host.invalid:6379/0', /fleet_engine_lost/],
	]) {
		const server = await place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--limits-store', where, '--log', 'json');
		await until(() => server.said.includes('fleet_engine_lost'), 'the log');
		assert.match(server.said, why);
		const replies = await parallel(9, 9, () => explain(server, 'alone'));
		assert.equal(replies.filter(isFine).length, 3);
		assert.ok(await isAway(server));
		assert.equal((await ask(server, '/readyz')).status, 200);
		assert.equal(await server.stop(), 0);
	}
});

test('an engine that answers nonsense is not believed', async () => {
	const lies = ['*3\r\n:-5\r\n:1\r\n:0\r\n', '*3\r\n:1000000\r\n:1\r\n:0\r\n', '+OK\r\n', '$-1\r\n', '*0\r\n', '*3\r\n$1\r\n1\r\n:1\r\n:0\r\n', '-ERR no\r\n'];
	// What no engine says: lengths without an end, deep arrays, pushes, bytes of another protocol.
	const garbage = [':-1\r\n', '>2\r\n$7\r\nmessage\r\n$1\r\nx\r\n', '$999999999999\r\n', '$-7\r\n', '*2000000000\r\n', '*1\r\n'.repeat(40), '\0\x01\x7f\r\n', '+OK\r\n+OK\r\n+OK\r\n', '$5\r\nab', 'HTTP/1.1 400 Bad Request\r\n\r\n', ''];
	for (const lie of [...lies, ...garbage]) {
		const sockets = [];
		const fake = createServer((socket) => {
			sockets.push(socket);
			// Before it was asked anything.
			if (lie === ':-1\r\n') socket.write('+hello\r\n');
			socket.on('error', () => {});
			socket.on('data', (bytes) => {
				for (const part of bytes.toString().split(/(?=\*\d+\r\n\$)/)) {
					if (/SCRIPT/.test(part)) socket.write(`$40\r\n${'a'.repeat(40)}\r\n`);
					else if (/SELECT|AUTH/.test(part)) socket.write('+OK\r\n');
					else if (/^\*7\r/.test(part)) socket.write('*1\r\n:1\r\n');
					else if (lie) socket.write(lie);
					else socket.destroy();
				}
			});
		});
		await new Promise((done) => fake.listen(0, '127.0.0.1', done));
		const server = await place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--limits-store', `redis://127.0.0.1:${fake.address().port}`, '--log', 'json', '--limits-wait', '300');
		await until(() => sockets.length, 'a connection');
		const replies = await parallel(9, 9, () => explain(server, 'alone'));
		assert.equal(replies.filter(isFine).length, 3, lie);
		assert.equal(await server.stop(), 0, server.said);
		for (const socket of sockets) socket.destroy();
		fake.close();
	}
});

test('options are checked, and no message has the URL in it', () => {
	for (const [args, expected] of [
		[['--limits-store', `http://u:${PASSWORD}@h/`], /--limits-store must be a URL such as/],
		[['--limits-store', `redis://u:${PASSWORD}@h:99999/`], /--limits-store must be a URL such as/],
		[['--limits-store', `redis://u:${PASSWORD}@h:1/x`], /--limits-store must be a URL such as/],
		[['--limits-store', `redis://${PASSWORD}@h:1/`], /--limits-store must be a URL such as/],
		[['--limits-store', `rediss://u:${PASSWORD}@h:1/`], /TLS/],
		[['--limits-lease', '5'], /--limits-lease requires --limits-store/],
		[['--limits-store', 'redis://h', '--fleet', 'a b'], /--fleet takes up to 48/],
		[['--limits-store', 'redis://h', '--limits-wait', '0'], /--limits-wait takes at least 1/],
	]) {
		const result = run(['serve', '--tools', 'diag', ...args], { env: place.env });
		assert.notEqual(result.status, 0);
		assert.match(result.err, expected);
		assert.ok(!result.err.includes('hunter2'), result.err);
	}
});

test('the secret is in no log line, and replicas stop cleanly', async () => {
	await proxy.stop();
	await stop(replicas);
	for (const server of place.servers) assert.ok(!server.said.includes('hunter2'), server.said);
});
