// Nothing that an upstream has started outlives it or the gateway, however that ends: children, those in a session of their own, and
// those whose parent has ended.

import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { bin as faultwire, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';

process.env.XDG_STATE_HOME = scratch();
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];

const program = `
	const { spawn, spawnSync } = require('child_process');
	const pids = [process.pid];
	// A child, one in its own session, and one whose parent has ended, in its own session and without our environment.
	pids.push(spawn('sleep', ['1000'], { stdio: 'ignore' }).pid);
	pids.push(spawn('sleep', ['1000'], { stdio: 'ignore', detached: true }).pid);
	pids.push(Number(spawnSync('sh', ['-c', 'env -i setsid /bin/sleep 1000 >/dev/null 2>&1 </dev/null & echo $!'], { encoding: 'utf8' }).stdout));
	require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
		const { id, method, params } = JSON.parse(line);
		const send = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
		if (method === 'initialize') send({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } });
		else if (params?.name === 'pids') send({ content: [{ type: 'text', text: JSON.stringify(pids) }] });
		else if (params?.name === 'exit') process.exit(7);
		else if (params?.name === 'crash') process.kill(process.pid, 'SIGSEGV');
		else if (params?.name === 'ignore') { process.on('SIGTERM', () => {}); send({ content: [] }); }
	});`;

const isAlive = (pid) => {
	try {
		return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
	} catch {
		return false;
	}
};

async function gone(pids, ms = 5000) {
	for (let left = ms; left > 0 && pids.some(isAlive); left -= 20) await new Promise((done) => setTimeout(done, 20));
	return pids.filter((pid) => !isAlive(pid));
}

async function started() {
	const wire = new Wire(['gate', ...quiet, '--era', 'legacy', '--', 'node', '-e', program], faultwire);
	await wire.initialize();
	const pids = JSON.parse(text(await wire.call('pids')));
	assert.equal(pids.length, 4);
	assert.deepEqual(pids.map(isAlive), [true, true, true, true]);
	return { wire, pids };
}

// Children of a process, as the kernel knows them.
const children = (pid) =>
	readdirSync('/proc')
		.filter((name) => /^\d+$/.test(name))
		.filter((name) => {
			try {
				return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1] === String(pid);
			} catch {
				return false;
			}
		});

test('kill -9 of the gateway', async () => {
	const { wire, pids } = await started();
	const supervisor = children(wire.child.pid).map(Number);
	assert.equal(supervisor.length, 1);
	wire.child.kill('SIGKILL');
	await wire.exit;
	assert.deepEqual(await gone([...pids, ...supervisor]), [...pids, ...supervisor]);
});

test('the gateway ends in an orderly way', async () => {
	const { wire, pids } = await started();
	assert.deepEqual((await wire.end()).status, 0);
	assert.deepEqual(await gone(pids), pids);
});

test('SIGTERM to the gateway, and an upstream that ignores it', async () => {
	const { wire, pids } = await started();
	await wire.call('ignore');
	wire.child.kill('SIGTERM');
	await wire.exit;
	assert.deepEqual(await gone(pids), pids);
});

test('the upstream exits or crashes: the error has its status or signal, and the next one is new', async () => {
	for (const [tool, code, member, value] of [
		['exit', 'upstream.exited', 'exit_status', 7],
		['crash', 'upstream.crashed', 'signal', 'SIGSEGV'],
	]) {
		const { wire, pids } = await started();
		const error = canonical(await wire.call(tool));
		assert.deepEqual([error.code, error.context[member]], [code, value]);
		assert.deepEqual(await gone(pids), pids);
		const fresh = JSON.parse(text(await wire.call('pids')));
		assert.ok(!fresh.some((pid) => pids.includes(pid)));
		await wire.end();
		assert.deepEqual(await gone(fresh), fresh);
	}
});

test('the upstream itself is killed from outside', async () => {
	const { wire, pids } = await started();
	const pending = wire.call('wait');
	await wire.call('pids'); // it has read the call before
	process.kill(pids[0], 'SIGKILL');
	const error = canonical(await pending);
	assert.deepEqual([error.code, error.context.signal], ['upstream.crashed', 'SIGKILL']);
	assert.deepEqual(await gone(pids), pids);
	await wire.end();
});
