// Anchors of the audit log, in a file, in PostgreSQL and by a webhook: a log that was cut, written again
// with fresh hashes, or replaced by an older copy is intact, and is found all the same.

import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bin } from './lib/cli.mjs';
import { Place, mcp, until } from './lib/govern.mjs';
import { Postgres } from './lib/postgres.mjs';

const place = new Place('anchors');
const other = mkdtempSync(join(tmpdir(), 'fw-anchors-')); // the other disk
const postgres = new Postgres();
const log = place.file('audit-log.jsonl');
const file = `file:${join(other, 'anchors.jsonl')}`;
const copy = join(other, 'older.jsonl');

// The receiver of a webhook: it checks the signature, and appends what it gets to a file.
const received = join(other, 'received.jsonl');
const secret = 'a secret of both';
const receiver = createServer((request, response) => {
	let body = '';
	request.on('data', (bytes) => (body += bytes));
	request.on('end', () => {
		const signed = createHmac('sha256', secret).update(`${request.headers['faultwire-timestamp']}.${body}`).digest('hex');
		if (receiver.isDown) return response.writeHead(503).end();
		if (request.headers['faultwire-signature'] !== `sha256=${signed}`) return response.writeHead(403).end();
		appendFileSync(received, body);
		response.writeHead(204).end();
	});
});
let hook;

// In another state directory: only the anchors are known there.
function verify(url, ...more) {
	const { status, stdout, stderr } = spawnSync(bin, ['audit', 'verify', '--json', '--anchors', url, ...more, log], { env: { ...place.env, XDG_STATE_HOME: other }, encoding: 'utf8' });

	return { status, stderr, ...(stdout ? JSON.parse(stdout) : {}) };
}

const isPostgres = (url) => url.startsWith('postgresql:');
const more = (url) => (isPostgres(url) ? ['--sandbox', 'off'] : url === hook ? ['--alert-secret-file', place.file('secret')] : []);
async function serve(url, count) {
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--audit', log, '--audit-anchors', url, '--log', 'json', ...more(url));

	for (let i = 0; i < count; i++) await mcp(server, 'no_such_tool', {});
	assert.equal(await server.stop(), 0, server.said);
}

const lines = () => readFileSync(log, 'utf8').split('\n').slice(0, -1);
const write = (all) => writeFileSync(log, all.join('\n') + '\n');

// The whole chain again, with one record changed.
function rewrite() {
	let prev;

	write(
		lines().map((line, i) => {
			if (i === 3) line = line.replace('no_such_tool', 'no_such_tool'.toUpperCase());
			if (prev) line = line.replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${prev}"`);
			const body = line.replace(/,"hash":"[0-9a-f]{64}"}$/, '');
			prev = createHash('sha256').update(body + '}').digest('hex');
			return `${body},"hash":"${prev}"}`;
		}),
	);
}

before(async () => {
	await postgres.start();
	place.faultwire('store', 'migrate', postgres.url());
	writeFileSync(place.file('secret'), `${secret}\n`);
	await new Promise((done) => receiver.listen(0, '127.0.0.1', done));
	hook = `http://127.0.0.1:${receiver.address().port}/anchors`;
});
after(async () => {
	await place.end();
	receiver.closeAllConnections();
	receiver.close();
	rmSync(other, { recursive: true, force: true });
	await postgres.end();
});

// Where anchors are sent, and from where they are read.
for (const [name, to, url] of [['a file', () => file, file], ['PostgreSQL', () => postgres.url(), postgres.url()], ['a webhook', () => hook, `file:${received}`]]) {
	test(`${name}: a log that was not touched has all anchors`, async () => {
		await serve(to(), 12);
		copyFileSync(log, copy);
		await serve(to(), 8);
		const found = verify(url);
		assert.equal(found.status, 0, JSON.stringify(found));
		assert.equal(found.anchors.fault, null);
		assert.ok(found.anchors.checked >= 2);
	});

	const spoil = {
		'its end was cut off': ['cut', () => write(lines().slice(0, -2))],
		'it was written again with fresh hashes': ['rewritten', rewrite],
		'it was replaced by an older copy': ['cut', () => copyFileSync(copy, log)],
	};
	for (const [how, [fault, change]] of Object.entries(spoil))
		test(`${name}: ${how}`, () => {
			const before = readFileSync(log);

			change();
			const found = verify(url);
			writeFileSync(log, before);
			assert.equal(found.broken, undefined, 'the chain itself is intact');
			assert.equal(found.whole, false);
			assert.equal(found.anchors.fault, fault, JSON.stringify(found));
			assert.equal(found.status, 1);
		});
}

test('a log without anchors is not taken for a good one', () => {
	const found = verify(file, '--anchored-as', 'another:log');

	assert.equal(found.status, 1);
	assert.equal(found.anchors.fault, 'absent');
});

test('a rotation is anchored', async () => {
	const rotated = place.file('rotated.jsonl');
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--audit', rotated, '--audit-bytes', '64k', '--audit-anchors', file, '--log', 'json');
	const isThere = () => /"reason":"rotation"/.test(readFileSync(file.slice(5), 'utf8'));

	await until(async () => {
		for (let i = 0; i < 60; i++) await mcp(server, 'no_such_tool', {});
		return isThere();
	}, 'there is an anchor for the rotation', 60000);
	assert.ok(readdirSync(place.state).some((name) => /^rotated\.\d{6}\.jsonl$/.test(name)));
	assert.equal(await server.stop(), 0);
});

test('a server continues without its anchors, and says so', async () => {
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--audit', log, '--audit-anchors', `postgresql:///x?host=${other}`, '--sandbox', 'off', '--log', 'json');

	await mcp(server, 'no_such_tool', {});
	await until(() => /audit_anchors_down/.test(server.said), 'the log says so');
	const ready = await fetch(server.url + '/readyz');
	assert.match(await ready.text(), /audit anchors: cannot be written/);
	assert.equal(ready.status, 200);
	assert.equal(await server.stop(), 0);
});

test('a webhook that fails is tried again, and the server says so meanwhile', async () => {
	receiver.isDown = true;
	const server = await place.start('serve', '--tools', 'diag', '--run', 'inline', '--audit', log, '--audit-anchors', hook, '--log', 'json', ...more(hook));
	const metric = async (name) => Number((await (await fetch(`${server.url}/metrics`)).text()).match(new RegExp(`^${name} (\\d+)`, 'm'))[1]);

	await mcp(server, 'no_such_tool', {});
	await until(() => /audit_anchors_down/.test(server.said), 'the log says so');
	assert.match(await (await fetch(server.url + '/readyz')).text(), /audit anchors: cannot be written/);
	assert.ok((await metric('faultwire_audit_anchor_failures_total')) > 0);
	receiver.isDown = false;
	await until(() => /audit_anchors_restored/.test(server.said), 'it is delivered', 60000);
	assert.ok((await metric('faultwire_audit_anchored_seq')) > 0);
	assert.equal(await metric('faultwire_audit_anchors_lost_total'), 0);
	assert.equal(await server.stop(), 0);
	assert.equal(verify(`file:${received}`).status, 0);
});

test('anchors cannot be read from a webhook, and the error says from where', () => {
	const found = verify(hook);

	assert.equal(found.status, 1);
	assert.match(found.stderr, /file:PATH/);
});
