// A server of one's own gets the whole layer by one call: examples/notes.c, whose tools
// run in worker processes and have a code of their own.
//
// reaches: resource.not_found, resource.already_exists

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { bin, check, file, finish, match, root, run, same, scratch, test } from './lib/cli.mjs';
import { Wire, canonical, modern, text } from './lib/mcp.mjs';

const notes = join(dirname(bin), 'examples/notes');
const directory = join(scratch(), 'notes');
mkdirSync(directory);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function until(what, probe) {
	for (const late = Date.now() + 15000; ; await pause(30)) {
		const found = await probe();
		if (found) return found;
		if (Date.now() > late) throw new Error(`not within 15 s: ${what}`);
	}
}

// ---- over HTTP ----

const child = spawn(notes, [directory, '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
process.on('exit', () => child.kill('SIGKILL'));
const ended = new Promise((done) => child.on('exit', (status, signal) => done(signal ?? status)));
let said = '';
child.stderr.on('data', (bytes) => (said += bytes));
const log = () => said.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const started = await until('the server listens', () => log().find((line) => line.event === 'server_started'));
const endpoint = new URL(started.context.url);

function ask(path, message) {
	return new Promise((done, fail) => {
		const request = http.request({ host: endpoint.hostname, port: endpoint.port, path, method: message ? 'POST' : 'GET', headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...(message && { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': message.method, 'Mcp-Name': message.params?.name }) } }, (response) => {
			let body = '';
			response.on('data', (bytes) => (body += bytes));
			response.on('end', () => done({ status: response.statusCode, body }));
		});
		request.on('error', fail);
		request.end(message && JSON.stringify(message));
	});
}

let id = 0;
const call = async (name, args) => JSON.parse((await ask('/mcp', { jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { name, arguments: args, _meta: modern } })).body);

const failures = {};

test('the four tools work, and their failures have codes', async () => {
	same(text(await call('add_note', { title: 'a', text: 'one' })), 'added');
	same(text(await call('get_note', { title: 'a' })), 'one');
	same((await call('list_notes', {})).result.structuredContent, { notes: [{ title: 'a', length: 3 }] });
	same(text(await call('delete_note', { title: 'a' })), 'one');
	for (const title of ['a', 'b', 'c']) same(text(await call('add_note', { title, text: 'x' })), 'added');
	for (const [name, args, code] of [
		['add_note', { title: 'a', text: 'again' }, 'resource.already_exists'],
		['get_note', { title: 'missing' }, 'resource.not_found'],
		['delete_note', { title: 'missing' }, 'resource.not_found'],
		['add_note', { title: '', text: 'x' }, 'input.invalid_value'],
		['add_note', { title: 'd', text: 'x' }, 'notes.too_many'],
	]) {
		const err = canonical(await call(name, args));
		same(err.code, code, name);
		failures[code] = err;
	}
});

test('the origin of a local not-found is the tool', () => {
	same([failures['resource.not_found'].origin, failures['resource.already_exists'].origin], ['tool', 'tool']);
});

test('a code of its own keeps its row across the worker border', () => {
	const { category, type, severity, status, title, hint, context } = failures['notes.too_many'];
	same({ category, type, severity, status, title, hint, context }, { category: 'governance', type: 'CONFLICT', severity: 'critical', status: 409, title: 'Notebook Full', hint: 'Delete a note first.', context: { most: 3 } });
});

test('its failures are incidents', async () => {
	const store = join(directory, 'incidents.db');
	const list = await until('five incidents', () => {
		const { status, out } = existsSync(store) ? run(['incident', 'list', '--incidents', store, '--json']) : {};
		return status === 0 && JSON.parse(out).length >= 5 && JSON.parse(out);
	});
	same(list.map(({ code }) => code), ['notes.too_many', 'input.invalid_value', 'resource.not_found', 'resource.not_found', 'resource.already_exists']);
	const { incident_id } = failures['notes.too_many'];
	match(run(['incident', 'show', '--incidents', store, incident_id]).out, /there are 3 notes already/);
});

test('its failures and changes are in the audit log, which is intact', () => {
	const audit = join(directory, 'audit-log.jsonl');
	const records = readFileSync(audit, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
	const { incident_id } = failures['notes.too_many'];
	same(records.filter((record) => record.incident_id === incident_id).map(({ tool_name, message }) => [tool_name, message]), [['add_note', 'there are 3 notes already']]);
	// Five changes and five failures.
	same(records.length, 10);
	match(run(['audit', 'verify', audit]).out, /OK: 10 records in 1 file, chain intact/);
});

test('its failures are in the log', async () => {
	/* Lines are written by a thread, some milliseconds after the reply. */
	await until('five lines', () => log().filter((line) => line.error_code).length >= 5);
	same(log().filter((line) => line.error_code).map((line) => line.error_code).sort(), ['input.invalid_value', 'notes.too_many', 'resource.already_exists', 'resource.not_found', 'resource.not_found']);
});

test('its metrics are at /metrics', async () => {
	const { status, body } = await ask('/metrics');
	same(status, 200);
	match(body, /faultwire_\w+\{[^}]*notes\.too_many[^}]*\} 1/);
	match(body, /^faultwire_audit_up 1$/m);
	match(body, /^faultwire_workers [1-9]/m);
	match(body, /^faultwire_incidents_written_total 5$/m);
});

test('its alerts fire: in the log, at /alerts and in the state directory', async () => {
	const firing = await until('an alert', () => log().find((line) => line.event === 'alert_firing'));
	same(firing.context.error_code, 'notes.too_many');
	match((await ask('/alerts')).body, /notes\.too_many/);
	const [state] = readdirSync(join(directory, 'alerts'));
	match(await until('the file', () => readFileSync(join(directory, 'alerts', state), 'utf8')), /notes\.too_many/);
});

test('it is ready, and its own code has a page', async () => {
	match((await ask('/readyz')).body, /^ready\n[^]*audit: up/);
	same((await ask('/problems/notes.too_many')).status, 200);
});

test('docs/server.md names the call that observes, and every page of a server', async () => {
	const docs = readFileSync(join(root, 'docs/server.md'), 'utf8');
	const pages = (await ask('/')).body.match(/\/[a-z]+z?\/?(?=[ )])/g);
	check(pages.includes('/livez') && pages.includes('/healthz'), pages.join(' '));
	for (const page of [...pages, '/metrics', '/alerts']) {
		same((await ask(page)).status, 200, page);
		check(docs.includes(`\`${page}\``), `${page} in docs/server.md`);
	}
	check(docs.includes('fw_server_observe(server, NULL)'));
});

test('it stops, and writes what was queued', async () => {
	child.kill('SIGTERM');
	same(await ended, 0, 'exit status');
	check(log().some((line) => line.event === 'server_stopped'));
	same(readdirSync(join(directory, 'alerts')), []);
});

// ---- over standard input and output ----

test('over stdio it has the same, without pages', async () => {
	const other = join(scratch(), 'stdio');
	mkdirSync(other);
	const wire = new Wire([other], notes);
	same(canonical(await wire.call('get_note', { title: 'x' }, modern)).code, 'resource.not_found');
	same((await wire.end()).status, 0);
	match(readFileSync(join(other, 'audit-log.jsonl'), 'utf8'), /note \\"x\\" not found/);
	same(JSON.parse(run(['incident', 'list', '--json', '--incidents', join(other, 'incidents.db')]).out).length, 1);
});

test('a state directory that cannot be written is reported at the start', async () => {
	const wire = new Wire([file('no-directory', '')], notes);
	same((await wire.end()).status, 1);
	match(wire.err, /notes: .*no-directory/);
});

test('the example is under 200 lines', () => {
	check(readFileSync(join(root, 'examples/notes.c'), 'utf8').split('\n').length <= 200);
});

finish();
