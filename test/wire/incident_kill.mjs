// Three servers that share a store fail calls, and are killed with kill -9 under load and
// started again: every incident that a client got is in the store afterwards, once. The
// last ones before a kill were in no batch yet; they are in the mirrors of the queue.
// 6 kills per store; 60 with FW_LONG=1.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Place, canonical, mcp, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const KILLS = process.env.FW_LONG ? 60 : 6;

async function judge(place, start, stored, folder) {
	try {
		await killUnderLoad(start, stored, folder);
	} finally {
		await place.end();
	}
}

async function killUnderLoad(start, stored, folder) {
	const servers = await Promise.all([start(), start(), start()]);
	const seen = [];
	let isOver = false;
	const fail = async (i) => {
		while (!isOver) {
			// The connection of a killed server breaks: its client saw no incident.
			const reply = await mcp(servers[i], 'no_such_tool', {}).catch(() => undefined);
			if (!reply) continue;
			const id = canonical(reply)?.incident_id;
			assert.ok(id, reply.text);
			seen.push(id);
		}
	};
	const working = Promise.all([0, 1, 2].flatMap((i) => [fail(i), fail(i)]));
	for (let kill = 0; kill < KILLS; kill++) {
		const before = seen.length;
		await until(() => seen.length > before + 20 + kill, 'failures before a kill');
		servers[kill % 3].child.kill('SIGKILL');
		await servers[kill % 3].ended;
		servers[kill % 3] = await start();
	}
	isOver = true;
	await working;
	const missing = () => {
		const ids = new Set(stored());
		return seen.filter((id) => !ids.has(id));
	};
	await until(() => missing().length === 0, 'all incidents are stored').catch(() => assert.deepEqual(missing(), []));
	// The ids of the servers are unique, so one that occurs twice was stored twice.
	const all = stored();
	assert.equal(new Set(all).size, all.length);
	for (const server of servers) assert.equal(await server.stop(), 0);
	assert.deepEqual(readdirSync(folder()).filter((name) => name.endsWith('.waiting')), []);
	console.log(`# ${seen.length} incidents seen, ${all.length} stored, ${KILLS} kills`);
}

test('SQLite: no incident is lost that a client saw', async () => {
	const place = new Place('incident-kill');
	const stored = () => JSON.parse(place.faultwire('incident', 'list', '--json', '--limit', '1000000')).map(({ id }) => id);

	await judge(place, () => place.start('serve', '--tools', 'diag', '--run', 'inline', '--log', 'json'), stored, () => place.file('faultwire'));
});

test('PostgreSQL: no incident is lost that a client saw', async () => {
	const place = new Place('incident-kill');
	const postgres = new Postgres();
	const stored = () => postgres.sql('SELECT id FROM faultwire.incident').split('\n').filter(Boolean);

	await postgres.start();
	try {
		place.faultwire('store', 'migrate', postgres.url());
		await judge(place, () => place.start('serve', '--tools', 'diag', '--run', 'inline', '--sandbox', 'off', '--store', postgres.url(), '--log', 'json'), stored, () => place.file('faultwire/incidents-waiting'));
	} finally {
		await postgres.end();
	}
});
