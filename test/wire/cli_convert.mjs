// faultwire convert: any contract into any other, one error or a million.

import { spawn } from 'node:child_process';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, contracts, env, file, finish, lines, match, run, same, scratch, shell, start, test } from './lib/cli.mjs';

const notFound = '{"type":"NOT_FOUND","message":"no such table","recoverable":false}';
const fixed = ['--now', '2026-01-15T12:00:00.250Z', '--incident-id', 'inc_20260115_abcdefghijklmnopqrstuvwxyz'];

function examples(contract) {
	const canonical = run(['registry', '--examples']).out;
	return run(['convert', '--lines', '--to', contract], { input: canonical });
}

test('an error in one contract comes out in another', () => {
	const { status, out, err } = run(['convert', '--to', 'kaiza', '--tool', 'query', ...fixed], { input: notFound });
	same([status, err], [0, '']);
	const envelope = JSON.parse(out);
	same(envelope.human_message, 'no such table');
	same(envelope.tool_name, 'query');
	same(envelope.timestamp, '2026-01-15T12:00:00.250Z');
	same(lines(out).length, 1);
});

test('every code goes to every contract, one line each', () => {
	const count = lines(run(['registry', '--examples']).out).length;
	check(count > 100, `${count} codes`);
	for (const contract of contracts) {
		const { status, out, err } = examples(contract);
		same([status, err], [0, ''], contract);
		const texts = lines(out);
		same(texts.length, count, contract);
		for (const text of texts) JSON.parse(text);
	}
});

test('from a contract to the same contract gives the same bytes', () => {
	for (const contract of contracts) {
		const once = examples(contract).out;
		for (const from of [contract, 'auto']) {
			const again = run(['convert', '--lines', '--from', from, '--to', contract], { input: once });
			same(again.status, 0, again.err);
			same(again.out, once, `${from} to ${contract}`);
		}
	}
});

test('context-v0, which ends in a newline, gets no second one', () => {
	const { out } = run(['convert', '--to', 'context-v0'], { input: notFound });
	match(out, /^\{"error":\{"code":"[a-z_]+","message":"[^"]+"\}\}\n$/);
});

test('an error without time and incident id gets them; one with keeps its own', () => {
	const first = JSON.parse(run(['convert', '--to', 'canonical'], { input: notFound }).out);
	match(first.incident_id, /^inc_\d{8}_[a-z2-7]{26}$/);
	match(first.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	check(Math.abs(Date.parse(first.timestamp) - Date.now()) < 60e3, first.timestamp);
	same(first.incident_id.slice(4, 12), first.timestamp.slice(0, 10).replaceAll('-', ''));
	const again = JSON.parse(run(['convert', '--to', 'canonical', ...fixed], { input: JSON.stringify(first) }).out);
	same([again.incident_id, again.timestamp], [first.incident_id, first.timestamp]);
	const told = JSON.parse(run(['convert', '--to', 'canonical', ...fixed], { input: notFound }).out);
	same([told.incident_id, told.timestamp], [fixed[3], fixed[1]]);
});

test('incident ids do not repeat', () => {
	const input = `${notFound}\n`.repeat(2000);
	const ids = lines(run(['convert', '--lines', '--to', 'owlclaw'], { input }).out).map(
		(line) => JSON.parse(line).error.incident_id,
	);
	same(new Set(ids).size, 2000);
});

test('--now takes RFC 3339 with fractions and offsets', () => {
	for (const [given, expected] of [
		['2026-01-15T12:00:00Z', '2026-01-15T12:00:00.000Z'],
		['2026-01-15t12:00:00.5z', '2026-01-15T12:00:00.500Z'],
		['2026-01-15T12:00:00.123456789Z', '2026-01-15T12:00:00.123Z'],
		['2026-01-15T12:00:00+02:00', '2026-01-15T10:00:00.000Z'],
		['2024-02-29T23:59:59-01:30', '2024-03-01T01:29:59.000Z'],
		['1969-12-31T23:59:59.250Z', '1969-12-31T23:59:59.250Z'],
	]) {
		const { out, err } = run(['convert', '--to', 'canonical', '--now', given], { input: notFound });
		same(JSON.parse(out || 'null')?.timestamp, expected, given + err);
	}
});

test('--tool and --operation fill in what the error does not say', () => {
	const args = ['convert', '--to', 'canonical', '--tool', 'mine', '--operation', 'files:open_file'];
	const filled = JSON.parse(run(args, { input: notFound }).out);
	same([filled.tool, filled.operation], ['mine', 'files:open_file']);
	const kept = JSON.parse(run(args, { input: JSON.stringify({ ...filled, tool: 'theirs' }) }).out);
	same(kept.tool, 'theirs');
});

test('--go-escape, --problem-base and --keep-secrets reach the library', () => {
	const angled = '{"type":"VALIDATION","message":"a < b","recoverable":false}';
	match(run(['convert', '--to', 'toolerror'], { input: angled }).out, /a < b/);
	match(run(['convert', '--to', 'toolerror', '--go-escape'], { input: angled }).out, /a \\u003c b/);
	match(
		run(['convert', '--to', 'owlclaw-api', '--problem-base', 'https://example.org/p/'], { input: angled }).out,
		/"type":"https:\/\/example\.org\/p\//,
	);
	const secret = '{"type":"VALIDATION","message":"m","recoverable":false,"data":{"password":"hunter2"}}';
	check(!run(['convert', '--to', 'toolerror'], { input: secret }).out.includes('hunter2'));
	match(run(['convert', '--to', 'toolerror', '--keep-secrets'], { input: secret }).out, /hunter2/);
});

test('--stack, or DEBUG_STACK=true, shows the trail', () => {
	const input = 'something broke';
	const args = ['convert', '--to', 'kaiza'];
	same(JSON.parse(run(args, { input }).out).stack_trace, undefined);
	for (const traced of [run([...args, '--stack'], { input }), run(args, { input, env: { DEBUG_STACK: 'true' } })])
		same(typeof JSON.parse(traced.out).stack_trace, 'string');
});

test('JSON of no contract, and plain text, are what a tool threw', () => {
	for (const input of ['disk on fire', 'disk on fire\n', '"disk on fire"', '{"message":"disk on fire","code":5}', '[1,2]', '42', 'null']) {
		const { status, out, err } = run(['convert', '--to', 'canonical'], { input });
		same([status, err], [0, ''], input);
		same(JSON.parse(out).code, 'tool.failed', input);
	}
	check(!run(['convert', '--to', 'canonical'], { input: 'disk on fire\n' }).out.includes('fire\\n'), 'no line end in it');
});

test('several files give a line each; one that fails does not stop the others', () => {
	const a = file('a.json', notFound);
	const b = file('b.json', `${notFound.replace('no such table', 'second')}\n`);
	const good = run(['convert', '--to', 'toolerror', a, b]);
	same([good.status, lines(good.out).length], [0, 2]);
	const { status, out, err } = run(['convert', '--to', 'toolerror', a, '/no/such', b]);
	same([status, lines(out).length], [1, 2]);
	match(err, /\/no\/such/);
});

test('what cannot be read is an error with its place, exit 1', () => {
	for (const [input, pattern] of [
		['{"error_code":', /not JSON|byte/],
		['{"error_code":5}', /error_code|malformed/],
		['{"error_code":"NO_SUCH_CODE","human_message":"m"}', /NO_SUCH_CODE|malformed/],
	]) {
		const { status, out, err } = run(['convert', '--from', 'kaiza', '--to', 'owlclaw'], { input });
		same([status, out], [1, ''], JSON.stringify(input));
		match(err, /^faultwire: stdin: /);
		match(err, pattern);
	}
});

test('more than a mebibyte is refused without reading it all', () => {
	const { status, out, err } = shell('yes | faultwire convert --to kaiza');
	same([status, out], [1, '']);
	match(err, /^faultwire: stdin is larger than 1048576 bytes/);
});

// --- lines -----------------------------------------------------------------------

test('--lines: line n of the output belongs to line n of the input', () => {
	const good = (n) => JSON.stringify({ type: 'CONFLICT', message: `number ${n}`, recoverable: false });
	const input = [
		good(1),
		'{"type":"CONFLICT","mess',
		good(3),
		'',
		'not JSON at all',
		good(6),
		`"${'x'.repeat(1 << 20)}"`,
		good(8),
		'{"error_code":"FILE_NOT_FOUND","human_message":"File not found: a","role":null,"session_id":null,"workspace_root":null,"tool_name":"t","invariant_id":null,"phase_id":null,"plan_hash":null,"cause":null,"timestamp":"2026-01-15T12:00:00.000Z"}',
		'"\xff"',
		good(11),
	];
	const bytes = Buffer.from(`${input.join('\n')}`, 'latin1');
	for (const end of ['', '\n']) {
		const { status, out, err } = run(['convert', '--lines', '--to', 'canonical'], {
			input: Buffer.concat([bytes, Buffer.from(end)]),
		});
		same(status, 1);
		const found = lines(out).map((line) => JSON.parse(line));
		same(found.length, input.length);
		for (const n of [1, 3, 6, 8, 11]) same(found[n - 1].message, `number ${n}`);
		same(found[8].code, 'file.not_found');
		for (const n of [2, 4, 5]) same(found[n - 1].code, 'contract.not_json', `line ${n}`);
		same(found[6].code, 'input.too_large');
		same(found[9].code, 'input.invalid_encoding');
		for (const error of found) check(error.timestamp && error.incident_id, 'refusals are stamped, too');
		same(
			[...err.matchAll(/^faultwire: stdin:(\d+): /gm)].map((m) => Number(m[1])),
			[2, 4, 5, 7, 10],
			err,
		);
		match(err, /5 of 11 lines could not be read/);
	}
});

test('--lines answers in the contract asked for, also what it refuses', () => {
	for (const contract of contracts) {
		const { status, out } = run(['convert', '--lines', '--to', contract], { input: 'oops\n' });
		same(status, 1);
		const verdict = run(['validate', '--contract', contract], { input: out });
		same(verdict.status, 0, `${out}${verdict.out}${verdict.err}`);
	}
});

test('--lines --contract tells refusals as JSON with file and line', () => {
	const { err } = run(['convert', '--lines', '--to', 'kaiza', '--contract', 'canonical'], { input: `${notFound}\noops\n` });
	const told = lines(err).map((line) => JSON.parse(line));
	same(told.length, 1);
	same([told[0].code, told[0].context.file, told[0].context.line], ['contract.not_json', 'stdin', 2]);
});

test('--lines --from text takes every line as what a tool threw', () => {
	const { status, out } = run(['convert', '--lines', '--from', 'text', '--to', 'canonical'], { input: 'one\r\ntwo\n{"x":1}\n' });
	same(status, 0);
	same(lines(out).map((line) => JSON.parse(line).code), ['tool.failed', 'tool.failed', 'tool.failed']);
	check(!out.includes('\\r'), 'CR LF ends a line, too');
});

test('--lines of nothing gives nothing', () => {
	same(run(['convert', '--lines', '--to', 'kaiza'], { input: '' }), { status: 0, signal: null, out: '', err: '' });
});

test('--lines: a line of exactly the limit is read, one byte more is not', () => {
	const frame = '{"type":"NOT_FOUND","message":"","recoverable":false}';
	const fill = (size) => frame.replace('""', `"${'y'.repeat(size - frame.length)}"`);
	const input = `${fill(1 << 20)}\n${fill((1 << 20) + 1)}\n${frame}\n`;
	const { status, out, err } = run(['convert', '--lines', '--to', 'toolerror'], { input });
	same(status, 1);
	const found = lines(out).map((line) => JSON.parse(line));
	same(found.length, 3);
	same(found[0].type, 'NOT_FOUND');
	same(found[1].type, 'VALIDATION');
	same(found[2].type, 'NOT_FOUND');
	match(err, /^faultwire: stdin:2: /);
});

test('--lines answers each line as it comes', async () => {
	const child = start(['convert', '--lines', '--to', 'toolerror']);
	for (let i = 0; i < 3; i++) {
		const answer = new Promise((done, fail) => {
			const timer = setTimeout(() => fail(new Error('no answer within 5 s')), 5000);
			child.stdout.once('data', (data) => (clearTimeout(timer), done(data.toString())));
		});
		child.stdin.write(`${notFound}\n`);
		same(await answer, `${notFound}\n`);
	}
	child.stdin.end();
	same(await new Promise((done) => child.on('close', done)), 0);
});

// The peak of the program's memory: read while it waits for the rest of its input.
function peakKb(pid) {
	return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

async function stream(args, chunk, times) {
	const child = spawn(bin, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
	let count = 0;
	let last = '';
	let err = '';
	child.stdout.on('data', (data) => {
		for (let at = data.indexOf(10); at >= 0; at = data.indexOf(10, at + 1)) count++;
		last = data;
	});
	child.stderr.on('data', (data) => (err += data));
	const closed = new Promise((done) => child.on('close', done));
	let peak = 0;
	for (let i = 0; i < times; i++) {
		if (!child.stdin.write(chunk)) await new Promise((done) => child.stdin.once('drain', done));
		if (i % 16 === 0) peak = Math.max(peak, peakKb(child.pid));
	}
	peak = Math.max(peak, peakKb(child.pid));
	child.stdin.end();
	return { status: await closed, count, peak, err };
}

test('a million lines stream through in constant memory', async () => {
	const perChunk = 1000;
	const chunk = Buffer.from(`${notFound}\n`.repeat(perChunk));
	const short = await stream(['convert', '--lines', '--to', 'kaiza'], chunk, 20);
	same([short.status, short.count], [0, 20 * perChunk]);
	const before = Date.now();
	const long = await stream(['convert', '--lines', '--to', 'kaiza'], chunk, 1000);
	const seconds = (Date.now() - before) / 1000;
	console.log(`# a million lines: ${seconds.toFixed(1)} s, peak ${long.peak} kB (${short.peak} kB after 20000)`);
	same([long.status, long.count, long.err], [0, 1000 * perChunk, '']);
	check(long.peak < 16384, `peak ${long.peak} kB`);
	check(long.peak <= short.peak + 1024, `memory grows: ${short.peak} to ${long.peak} kB`);
	check(seconds < (process.env.FW_SLOW ? 120 : 20), `${seconds} s`);
});

test('a line of 100 MB is passed over in constant memory', async () => {
	const chunk = Buffer.alloc(1 << 20, 'x');
	const { status, count, peak, err } = await stream(['convert', '--lines', '--to', 'kaiza'], chunk, 100);
	same([status, count], [1, 1]);
	match(err, /stdin:1: /);
	check(peak < 16384, `peak ${peak} kB`);
});

await finish();
