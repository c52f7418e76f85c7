// Incidents: every failure that a client got can be looked up by its id, also
// after a kill -9; and whatever happens to the database while the server runs, calls
// go on, and the log says so once.
//
// reaches: incident.not_found, incident.store_failed

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files, records, verify } from './lib/audit.mjs';
import { bin, check, finish, has, match, root, run, same, skip, test } from './lib/cli.mjs';

const top = mkdtempSync(join(tmpdir(), 'fw-incident-'));
process.on('exit', () => rmSync(top, { recursive: true, force: true }));
const servers = [];
let places = 0;
const place = () => {
	const dir = join(top, String(++places));
	mkdirSync(dir);
	return dir;
};
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// faultwire serve over stdio, with a state directory of its own.
class Server {
	constructor(dir, args = []) {
		this.dir = dir;
		this.database = join(dir, 'faultwire/incidents.db');
		this.child = spawn(bin, ['serve', '--stdio', '--log', 'json', ...args], { env: { ...process.env, XDG_STATE_HOME: dir } });
		servers.push(this);
		this.replies = new Map();
		this.waiting = new Map();
		this.err = '';
		let rest = '';
		this.child.stdout.on('data', (bytes) => {
			const lines = (rest + bytes).split('\n');
			rest = lines.pop();
			for (const line of lines) {
				const reply = JSON.parse(line);
				this.replies.set(reply.id, reply);
				this.waiting.get(reply.id)?.(reply);
				this.waiting.delete(reply.id);
			}
		});
		this.child.stderr.on('data', (bytes) => (this.err += bytes));
		this.child.stdin.on('error', () => {});
		this.closed = new Promise((done) => this.child.on('close', (status, signal) => done(signal ?? status)));
		this.last = 0;
	}
	send(name, args, meta = {}) {
		const id = ++this.last;
		const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'wire', version: '1' }, ...meta };
		this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, _meta } }) + '\n');
		return id;
	}
	call(name, args, meta) {
		const id = this.send(name, args, meta);
		return new Promise((done, fail) => {
			this.waiting.set(id, done);
			this.closed.then((how) => fail(new Error(`the server ended: ${how}`)));
		});
	}
	// A failure with an incident of its own: the argument is missing.
	async fail(meta) {
		return canonical(await this.call('raise_error', {}, meta));
	}
	events(name) {
		return this.err.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).filter((line) => line.event === name);
	}
	async until(what, condition) {
		for (let i = 0; i < 400; i++) {
			if (condition()) return;
			await pause(25);
		}
		throw new Error(`never: ${what}\n${this.err.slice(-2000)}`);
	}
	list(...args) {
		const found = run(['incident', 'list', '--json', '--limit', '0', '--incidents', this.database, ...args]);
		same(found.status, 0, found.err);
		return JSON.parse(found.out);
	}
	async end() {
		this.child.stdin.end();
		return this.closed;
	}
}

const canonical = (reply) => reply.result?._meta['dev.faultwire/error'] ?? reply.error.data['dev.faultwire/error'];

const ajv = (() => {
	const require = createRequire(join(root, 'test/judge/package.json'));
	const Ajv = require('ajv/dist/2020').default;
	return new Ajv({ strict: false, validateFormats: false });
})();

const listed = {
	type: 'object',
	required: ['id', 'time', 'code', 'severity', 'status', 'duration_ms', 'message'],
	additionalProperties: false,
	properties: {
		id: { type: 'string', pattern: '^inc_' },
		time: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' },
		code: { type: 'string', pattern: '^[a-z0-9]+\\.[a-z0-9_]+$' },
		severity: { enum: ['warning', 'critical'] },
		status: { type: 'integer', minimum: 400, maximum: 599 },
		tool: { type: 'string' },
		operation: { type: 'string' },
		client: { type: 'string' },
		session: { type: 'string' },
		trace_id: { type: 'string' },
		duration_ms: { type: 'number', minimum: 0 },
		message: { type: 'string', minLength: 1 },
	},
};
const shown = {
	...listed,
	required: [...listed.required, 'error', 'seen', 'title', 'explanation', 'advice'],
	properties: {
		...listed.properties,
		error: JSON.parse(readFileSync(join(root, 'docs/schemas/canonical.schema.json'), 'utf8')),
		contract: { enum: ['canonical', 'kaiza', 'context-v0', 'codeintel', 'toolerror', 'owlclaw', 'owlclaw-api'] },
		detail: { type: 'string' },
		seen: { type: 'object', required: ['count', 'first', 'last'], properties: { count: { type: 'integer', minimum: 1 } } },
		title: { type: 'string' },
		explanation: { type: 'string' },
		advice: { type: 'string' },
	},
};
const valid = (schema, value) => check(ajv.validate(schema, value), `${JSON.stringify(ajv.errors)}: ${JSON.stringify(value).slice(0, 600)}`);

test('what a client got can be looked up by its incident id, while the server runs', async () => {
	const server = new Server(place());
	const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
	const first = await server.fail({ traceparent: trace });
	const second = canonical(await server.call('no_such_tool', {}));
	await server.fail();
	await server.until('three are kept', () => existsSync(server.database) && server.list().length === 3);

	const list = server.list();
	for (const one of list) valid(listed, one);
	same(list.map((one) => one.code), ['input.missing_field', 'protocol.unknown_tool', 'input.missing_field']);
	same(server.list('--code', 'MISSING_REQUIRED_FIELD').length, 2, 'a code of another contract');
	same(server.list('--tool', 'no_such_tool').map((one) => one.id), [second.incident_id]);
	same(server.list('--client', 'wire').length, 3);
	same(server.list('--since', '1h').length, 3);
	same(server.list('--until', '1h').length, 0);
	same(server.list('--limit', '1').length, 1);

	const show = run(['incident', 'show', '--json', '--incidents', server.database, first.incident_id]);
	same(show.status, 0, show.err);
	const record = JSON.parse(show.out);
	valid(shown, record);
	same([record.id, record.trace_id, record.seen.count], [first.incident_id, trace, 2]);
	const { trail, ...error } = record.error;
	same(error, first, 'the canonical error, and its trail');
	match(trail[0], /^src\/\S+\.c:\d+ \w+$/);

	const page = run(['incident', 'show', '--incidents', server.database, first.incident_id.slice(0, -6)]).out;
	for (const part of [first.incident_id, 'input.missing_field', 'raise_error', 'wire', trace, '2 times', 'first', 'hint', 'retry', 'Trail', 'src/mcp/'])
		check(page.includes(part), `the page has ${part}:\n${page}`);
	const table = run(['incident', 'list', '--incidents', server.database]).out;
	match(table, /^TIME \(UTC\)\s+INCIDENT\s+CODE/);
	same(table.split('\n').length, 5);
	same(statSync(server.database).mode & 0o777, 0o600);
	same(statSync(join(server.dir, 'faultwire')).mode & 0o777, 0o700);
	same(await server.end(), 0);
});

test('an unknown id, an ambiguous prefix, and no database are distinguished', () => {
	const dir = place();
	const env = { XDG_STATE_HOME: dir };
	const none = run(['incident', 'list'], { env });
	same([none.status, none.out], [0, '']);
	check(none.err.includes(join(dir, 'faultwire/incidents.db')), none.err);
	same(JSON.parse(run(['incident', 'list', '--json'], { env }).out), []);
	const missing = run(['--contract', 'canonical', 'incident', 'show', 'inc_x'], { env });
	same([missing.status, JSON.parse(missing.err).code], [1, 'incident.not_found']);
	same(run(['incident', 'list', '--incidents', join(dir, 'none.db')], { env }).status, 1);
	writeFileSync(join(dir, 'text.db'), 'this is no database at all, but text');
	const text = run(['--contract', 'canonical', 'incident', 'list', '--incidents', join(dir, 'text.db')], { env });
	same([text.status, JSON.parse(text.err).code], [1, 'incident.store_failed']);
	for (const args of [[], ['lift'], ['show'], ['list', 'x'], ['list', '--since', 'soon'], ['list', '--limit', '-1']])
		same(run(['incident', ...args], { env }).status, 2, args.join(' '));
});

test('after kill -9 under load the list is whole, and the server starts again', async () => {
	const dir = place();
	const rounds = Number(process.env.FW_KILLS ?? 3);
	let told = 0;

	for (let round = 0; round < rounds; round++) {
		const server = new Server(dir);
		await server.fail();
		for (let i = 0; i < 3000; i++) server.send('raise_error', {});
		await server.until('some replies', () => server.replies.size > 500);
		await pause(Math.random() * 60);
		server.child.kill('SIGKILL');
		await server.closed;
		told += server.replies.size;
		const list = server.list();
		check(list.length > 0, 'some are kept');
		for (const one of list.slice(0, 50)) valid(listed, one);
		same(new Set(list.map((one) => one.id)).size, list.length, 'each once');
	}
	const server = new Server(dir);
	const last = await server.fail();
	same(await server.end(), 0);
	check(server.list().some((one) => one.id === last.incident_id), 'the last is there');
	check(told > 500 * rounds, 'there was load');
});

test('deleted while serving, the database is made again', async () => {
	const server = new Server(place());
	await server.fail();
	await server.until('it is there', () => existsSync(server.database) && server.list().length === 1);
	for (const name of readdirSync(join(server.dir, 'faultwire')).filter((one) => one.startsWith('incidents'))) unlinkSync(join(server.dir, 'faultwire', name));
	const { incident_id } = await server.fail();
	await server.until('it is there again', () => existsSync(server.database) && server.list().length === 1);
	same(server.list()[0].id, incident_id);
	same(await server.end(), 0);
});

test('corrupted while serving, it is set aside and a new one begun', async () => {
	const server = new Server(place());
	for (let i = 0; i < 20; i++) await server.fail();
	await server.until('they are kept', () => existsSync(server.database) && server.list().length === 20);
	writeFileSync(server.database, Buffer.alloc(64 * 1024, 'corrupt '));
	for (let i = 0; i < 30 && !server.events('incidents_set_aside').length; i++) {
		await server.fail();
		await pause(60);
	}
	const { incident_id } = await server.fail();
	same(await server.end(), 0);
	same(server.events('incidents_set_aside').length, 1, server.err.slice(-1000));
	const names = readdirSync(join(server.dir, 'faultwire'));
	check(names.some((name) => /^incidents\.db\.corrupt-\d{8}T\d{6}Z$/.test(name)), names.join(' '));
	check(server.list().some((one) => one.id === incident_id), 'the new one is written to');
});

test('a file that is not a database at the start is set aside', async () => {
	const dir = place();
	mkdirSync(join(dir, 'faultwire'));
	writeFileSync(join(dir, 'faultwire/incidents.db'), 'not a database, but quite some text all the same');
	const server = new Server(dir);
	await server.fail();
	same(await server.end(), 0);
	same(server.list().length, 1);
	same(server.events('incidents_set_aside').length, 1);
});

test('where the database cannot be, calls go on, and the log says so once', async () => {
	const server = new Server(place(), ['--incidents', '/proc/no/such/incidents.db']);
	for (let i = 0; i < 5; i++) same((await server.fail()).code, 'input.missing_field');
	await server.until('it is reported', () => server.events('incidents_down').length > 0);
	await pause(1200);
	await server.fail();
	same(await server.end(), 0);
	same(server.events('incidents_down').length, 1);
	same(server.events('incidents_lost').length > 0, true, 'and what was lost at the end');
});

// A small disk of its own; needs the right to mount.
function mounted(body, size = '512k') {
	return async () => {
		const dir = place();
		const disk = join(dir, 'disk');
		mkdirSync(disk);
		try {
			execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0700`, 'tmpfs', disk], { stdio: 'pipe' });
		} catch {
			skip('mounting is not allowed here');
		}
		try {
			await body(disk, dir);
		} finally {
			execFileSync('umount', ['-l', disk]);
		}
	};
}

test('a full disk: calls go on, the log says so once, and once more when there is room', mounted(async (disk, dir) => {
	const server = new Server(dir, ['--incidents', join(disk, 'incidents.db')]);
	server.database = join(disk, 'incidents.db');
	await server.fail();
	await server.until('it is kept', () => existsSync(server.database) && server.list().length === 1);
	try {
		writeFileSync(join(disk, 'filler'), Buffer.alloc(1 << 20));
	} catch (error) {
		same(error.code, 'ENOSPC');
	}
	for (let i = 0; i < 300; i++) await server.fail();
	await server.until('it is reported', () => server.events('incidents_down').length > 0);
	for (let i = 0; i < 20; i++) await server.fail();
	unlinkSync(join(disk, 'filler'));
	await server.until('it is back', () => server.events('incidents_restored').length > 0);
	const { incident_id } = await server.fail();
	same(await server.end(), 0);
	check(server.list().some((one) => one.id === incident_id), 'written again');
	same([server.events('incidents_down').length, server.events('incidents_restored').length], [1, 1]);
}, '640k'));

test('a disk that is read-only: calls go on, and it comes back', mounted(async (disk, dir) => {
	execFileSync('mount', ['-o', 'remount,ro', disk]);
	const server = new Server(dir, ['--incidents', join(disk, 'incidents.db')]);
	server.database = join(disk, 'incidents.db');
	const { incident_id } = await server.fail();
	await server.until('it is reported', () => server.events('incidents_down').length > 0);
	execFileSync('mount', ['-o', 'remount,rw', disk]);
	await server.until('it is back', () => server.events('incidents_restored').length > 0);
	same(await server.end(), 0);
	same(server.list().map((one) => one.id), [incident_id], 'what waited is there');
}, '4m'));

test('a flood of failures: memory stays bounded, and what is lost is counted', async () => {
	const server = new Server(place());
	const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]);
	const count = Number(process.env.FW_FLOOD ?? 20000);
	await server.fail();
	const before = rss();
	const begun = Date.now();
	for (let i = 0; i < count; i++) {
		server.send('raise_error', {});
		if (i % 500 === 0) await server.until('it keeps up', () => server.replies.size > i - 2000);
	}
	await server.until('all are answered', () => server.replies.size === count + 1);
	const seconds = (Date.now() - begun) / 1000;
	const grown = rss() - before;
	same(await server.end(), 0);
	const kept = server.list().length;
	const lost = server.events('incidents_lost').reduce((sum, line) => sum + line.context.count, 0);
	console.log(`# ${Math.round(count / seconds)} failures/s, ${grown} KiB more, ${kept} kept, ${lost} lost`);
	same(kept + lost, count + 1, 'kept or counted');
	check(grown < 48 * 1024, `grown by ${grown} KiB`);
});

test('while the store is down the audit continues: every reply is on record', async () => {
	const dir = place();
	const server = new Server(dir, ['--incidents', '/dev/null/incidents.db']);
	const told = [];
	for (let i = 0; i < 20; i++) told.push(await server.fail());
	await server.until('it is reported', () => server.events('incidents_down').length === 1);
	same(server.events('audit_down'), []);
	same(await server.end(), 0);
	const log = join(dir, 'faultwire/audit-log.jsonl');
	same(records(log).map((record) => record.incident_id), told.map((error) => error.incident_id));
	verify(log);
});

test('while the audit is down the store continues: every reply can be looked up', async () => {
	if (!has('flock')) skip('there is no flock');
	const dir = place();
	const server = new Server(dir);
	await server.fail();
	const log = join(dir, 'faultwire/audit-log.jsonl');
	const holder = spawn('flock', ['--no-fork', log, 'sh', '-c', 'echo held; cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
	await new Promise((done) => holder.stdout.once('data', done));
	const told = await Promise.all(Array.from({ length: 5 }, () => server.fail()));
	same(new Set(told.map((error) => error.code)), new Set(['audit.lock_failed']));
	await server.until('they are kept', () => server.list().length === 6).finally(() => holder.kill('SIGKILL'));
	await server.until('it is reported', () => server.events('audit_down').length === 1);
	same(server.events('incidents_down'), []);
	const kept = new Map(server.list().map((one) => [one.id, one.code]));
	for (const error of told) same(kept.get(error.incident_id), 'audit.lock_failed');
	holder.stdin.destroy();
	await server.until('the audit is back', () => server.events('audit_restored').length === 1);
	same(server.events('audit_restored')[0].context.lost, 5);
	same(await server.end(), 0);
	verify(log);
});

test('retention is an option: by size and by age', async () => {
	const dir = place();
	const server = new Server(dir, ['--incidents-bytes', '1m', '--audit', 'off', '--log-level', 'critical']);
	const count = 4000;
	for (let i = 0; i < count; i++) {
		server.send('raise_error', {});
		if (i % 500 === 0) await server.until('it keeps up', () => server.replies.size > i - 2000);
	}
	await server.until('all are answered', () => server.replies.size === count);
	same(await server.end(), 0);
	const kept = server.list();
	check(kept.length > 10 && kept.length < count, `${kept.length} of ${count} are kept`);
	check(statSync(server.database).size < 2 * 1024 * 1024, `${statSync(server.database).size} bytes`);
	// Those that are left become old, by the clock of the database.
	if (!has('sqlite3')) return;
	execFileSync('sqlite3', [server.database, `UPDATE incident SET time = time - ${3 * 86400000}`]);
	const keeping = new Server(dir, ['--incidents-age', '4', '--audit', 'off']);
	await keeping.fail();
	same(await keeping.end(), 0);
	check(keeping.list().length > 10, 'three days are not four');
	const forgetting = new Server(dir, ['--incidents-age', '2', '--audit', 'off']);
	const { incident_id } = await forgetting.fail();
	same(await forgetting.end(), 0);
	same(forgetting.list().filter((one) => Date.parse(one.time) < Date.now() - 86400000), []);
	check(forgetting.list().some((one) => one.id === incident_id), 'the new one is there');
});

test('an invalid retention is reported: exit 2', () => {
	for (const args of [['--incidents-age', '0'], ['--incidents-age', 'soon'], ['--incidents-age', '99999'], ['--incidents-bytes', '5'], ['--incidents-bytes', '-1'], ['--incidents-bytes', '2x'], ['--audit-bytes', '1k'], ['--audit-bytes', '']]) {
		const { status, err } = run(['serve', '--stdio', ...args], { env: { ...process.env, XDG_STATE_HOME: place() } });
		same(status, 2, args.join(' '));
		match(err, new RegExp(`${args[0]} takes a number`));
	}
});

test('--audit-bytes begins another file, and the chain continues', async () => {
	const dir = place();
	const server = new Server(dir, ['--audit-bytes', '64k', '--audit-sync', 'off', '--incidents', 'off', '--log', 'off']);
	for (let i = 0; i < 300; i++) await server.fail();
	same(await server.end(), 0);
	const log = join(dir, 'faultwire/audit-log.jsonl');
	check(files(log).length > 2, `${files(log).length} files`);
	for (const file of files(log)) check(statSync(file).size < 70 * 1024, `${file}: ${statSync(file).size}`);
	check(verify(log) >= 300, 'all of them');
});

test('off is off', async () => {
	const server = new Server(place(), ['--incidents', 'off']);
	await server.fail();
	same(await server.end(), 0);
	check(!existsSync(server.database), 'no database');
});

await finish();
for (const server of servers) server.child.kill('SIGKILL');
