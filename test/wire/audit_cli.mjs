// faultwire audit: verify finds what is wrong, tail follows, query finds.

import { appendFileSync, readFileSync, renameSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { check, finish, lines, match, run, same, shell, start, test } from './lib/cli.mjs';
import { argsHash, files, hash, place, records, started, verify } from './lib/audit.mjs';
import { canonical } from './lib/mcp.mjs';

async function written(count, ...args) {
	const log = join(place(), 'audit-log.jsonl');
	const wire = await started('--audit', log, ...args);
	const errors = [];
	for (let i = 0; i < count; i++) errors.push(canonical(await wire.call('fail', { text: `a/${i}` })));
	await wire.call('change', { text: 'c' });
	same((await wire.end()).status, 0);
	return { log, errors };
}

const { log: sample, errors } = await written(6, '--role', 'WINDSURF');
const whole = readFileSync(sample, 'utf8');
const copy = (text) => {
	const log = join(place(), 'audit-log.jsonl');
	writeFileSync(log, text);
	return log;
};

test('a record is what the documentation says', () => {
	const [first, second] = records(sample);
	same(Object.keys(first).join(), 'seq,timestamp,event,tool_name,error_code,code,message,path,intent,invariant_id,plan_hash,phase_id,session_id,role,workspace_root,client,incident_id,trace_id,cause,context,args_hash,prev_hash,hash');
	same([first.seq, first.event, first.tool_name, first.error_code, first.code], [1, 'failure', 'fail', 'FILE_NOT_FOUND', 'file.not_found']);
	same([first.incident_id, first.timestamp], [errors[0].incident_id, errors[0].timestamp]);
	same(first.args_hash, argsHash({ text: 'a/0' }));
	same([first.prev_hash, second.prev_hash], ['GENESIS', first.hash]);
	const last = records(sample).at(-1);
	same([last.event, last.tool_name, last.error_code, last.incident_id], ['change', 'change', null, null]);
	same([last.role, last.client], ['WINDSURF', 'wire/1']);
	same(verify(sample), 7);
});

test('a whole log: exit 0, its last hash; by file and by directory', () => {
	const { status, out, err } = run(['audit', 'verify', sample]);
	same([status, err], [0, '']);
	same(out, `OK: 7 records in 1 file, chain intact; records 1 to 7, last hash ${records(sample).at(-1).hash}\n`);
	same(run(['audit', 'verify', dirname(sample)]).out, out);
});

test('verify prints "1 record" for one record, not "1 records"', () => {
	const { status, out } = run(['audit', 'verify', copy(`${whole.split('\n')[0]}\n`)]);
	same([status, out], [0, `OK: 1 record in 1 file, chain intact; record 1, hash ${records(sample)[0].hash}\n`]);
});

test('a log that comes slowly through a pipe is waited for', () => {
	const slowly = shell(`(sleep 0.2; head -n 3 ${sample}; sleep 0.2; tail -n +4 ${sample}) | faultwire audit verify /dev/stdin`);
	same([slowly.status, slowly.err], [0, '']);
	match(slowly.out, /^OK: 7 records/);
});

// What is done to the log, and what verify says of it: line and kind.
const all = whole.split('\n').slice(0, -1);
const reseal = (record) => {
	const { hash: _, ...rest } = record;
	return JSON.stringify({ ...rest, hash: hash(JSON.stringify(rest)) });
};
const damage = [
	['a changed value', whole.replace('a/2', 'a/9').replace('"seq":3,"timestamp":"2', '"seq":3,"timestamp":"3'), 3, 'hash'],
	['a line that is no JSON', [...all.slice(0, 2), '{"seq":3,', ...all.slice(3), ''].join('\n'), 3, 'bad_json'],
	['JSON that is no record', [...all.slice(0, 2), '{"a":1}', ...all.slice(3), ''].join('\n'), 3, 'bad_json'],
	['JSON that is not an object', [...all.slice(0, 2), '[]', ...all.slice(3), ''].join('\n'), 3, 'bad_json'],
	['an empty line', [...all.slice(0, 2), '', ...all.slice(2), ''].join('\n'), 3, 'bad_json'],
	['a line that is gone', [...all.slice(0, 2), ...all.slice(3), ''].join('\n'), 3, 'sequence'],
	['a line that is there twice', [...all.slice(0, 3), ...all.slice(2), ''].join('\n'), 4, 'sequence'],
	['two lines exchanged', [all[0], all[2], all[1], ...all.slice(3), ''].join('\n'), 2, 'sequence'],
	['a first line that is gone', [...all.slice(1), ''].join('\n'), 1, 'start'],
	['a line rewritten with a new hash', [...all.slice(0, 2), reseal({ ...JSON.parse(all[2]), tool_name: 'other' }), ...all.slice(3), ''].join('\n'), 4, 'chain'],
	['a line of another log', [all[0], reseal({ ...JSON.parse(all[1]), prev_hash: 'a'.repeat(64) }), ''].join('\n'), 2, 'chain'],
	['a last line without its end', whole.slice(0, -1), 7, 'torn'],
	['half a last line', whole.slice(0, -50), 7, 'torn'],
	['NULs behind the end', `${whole}\0\0\0\0`, 8, 'torn'],
	['lines with CR LF', whole.replaceAll('\n', '\r\n'), 1, 'bad_json'],
];
for (const [what, text, line, how] of damage)
	test(`verify finds ${what}`, () => {
		const log = copy(text);
		const before = line === 2 ? '1 record before it is' : `${line - 1} records before it are`;
		const { status, out, err } = run(['audit', 'verify', log]);
		same([status, err], [1, '']);
		match(out, new RegExp(`^audit-log\\.jsonl:${line}: ${how}: .*\n${before} intact\n$`));
		const told = JSON.parse(run(['audit', 'verify', '--json', log]).out);
		same([told.whole, told.records, told.broken.file, told.broken.line, told.broken.how], [false, line - 1, 'audit-log.jsonl', line, how]);
	});

test('a cut end shows only to those who kept the last hash', () => {
	const log = copy(whole);
	const last = records(log).at(-1).hash;
	same(run(['audit', 'verify', '--contains', last, log]).status, 0);
	truncateSync(log, whole.length - all.at(-1).length - 1);
	same(run(['audit', 'verify', log]).status, 0);
	const { status, out } = run(['audit', 'verify', '--contains', last, log]);
	same(status, 1);
	match(out, /the log was truncated/);
	same(JSON.parse(run(['audit', 'verify', '--json', '--contains', last, log]).out).missing, last);
});

test('an empty log is whole; what is not there is an error', () => {
	same(run(['audit', 'verify', copy('')]).out, 'OK: 0 records in 1 file, chain intact\n');
	const { status, out, err } = run(['audit', 'verify', join(place(), 'audit-log.jsonl')]);
	same([status, out], [1, '']);
	match(err, /not found/i);
});

test('accept: a misspelt name was accepted as an empty log', () => {
	const { status, out, err } = run(['audit', 'accept', join(place(), 'misspelt.jsonl')]);
	same([status, out], [1, '']);
	match(err, /not found/i);
});

test('rotated files are one log: verify, tail and query go over them', async () => {
	const { log } = await written(20, '--rotate', '2500', '--sync', 'off');
	check(files(log).length > 4, 'there are several files');
	const count = verify(log);
	same(JSON.parse(run(['audit', 'verify', '--json', log]).out).files, files(log).length);
	const everything = lines(run(['audit', 'tail', '-n', '1000', '--json', log]).out);
	same(everything.length, count);
	same(everything.map((line) => JSON.parse(line).seq), Array.from({ length: count }, (_, i) => i + 1));
	for (const n of [0, 1, 3, 4, 5, 11, count]) same(lines(run(['audit', 'tail', '-n', String(n), '--json', log]).out), everything.slice(count - n));
	same(lines(run(['audit', 'query', '--tool', 'fail', '--json', log]).out).length, 20);
	match(run(['audit', 'tail', '-n', '100', log]).out, /note {5}log rotated: audit-log\.000001\.jsonl\n/);

	const [first, second, third] = files(log);
	renameSync(second, `${second}.gone`);
	match(run(['audit', 'verify', log]).out, /^audit-log\.000003\.jsonl:1: sequence: expected record \d+, found record \d+\n/);
	unlinkSync(first);
	same(run(['audit', 'verify', log]).status, 1);
	match(run(['audit', 'verify', log]).out, /^audit-log\.000003\.jsonl:1: start: /);
	same(run(['audit', 'verify', '--partial', log]).status, 0);
	check(statSync(third).size > 0);
});

test('tail prints a line per record, for people', () => {
	const { status, out, err } = run(['audit', 'tail', '-n', '2', sample]);
	same([status, err], [0, '']);
	const [failure, change] = lines(out);
	match(failure, /^ {5}6 {2}20\d\d-.*Z {2}failure {2}fail {2}file\.not_found: .* {2}inc_\d{8}_\w+/);
	match(change, /^ {5}7 {2}20\d\d-.*Z {2}change {3}change/);
	same(lines(run(['audit', 'tail', sample]).out).length, 7);
});

test('tail -f shows what is added, also after a rotation', async () => {
	const log = join(place(), 'audit-log.jsonl');
	const wire = await started('--audit', log, '--rotate', '1500', '--sync', 'off');
	await wire.call('fail', { text: 'first' });
	const follower = start(['audit', 'tail', '-f', '-n', '1', '--json', log]);
	let seen = '';
	let wake = () => {};
	follower.stdout.on('data', (bytes) => {
		seen += bytes;
		wake();
	});
	const until = async (count) => {
		const late = Date.now() + 10000;
		while (seen.split('\n').length - 1 < count) {
			check(Date.now() < late, `only ${seen.split('\n').length - 1} of ${count} records were shown`);
			await new Promise((done) => {
				wake = done;
				setTimeout(done, 100);
			});
		}
	};
	/* Many rotations, so that some happen while it goes from one file to the next. */
	try {
		await until(1);
		for (let i = 0; i < 120; i++) await wire.call('fail', { text: `${i}` });
		same((await wire.end()).status, 0);
		check(files(log).length > 30);
		await until(records(log).length);
		same(seen, files(log).map((name) => readFileSync(name, 'utf8')).join(''));
	} finally {
		follower.kill('SIGTERM');
	}
});

test('query by code, tool, session, incident and time', () => {
	const ask = (...args) => lines(run(['audit', 'query', '--json', ...args, sample]).out).map((line) => JSON.parse(line).seq);
	same(ask(), [1, 2, 3, 4, 5, 6, 7]);
	same(ask('--code', 'FILE_NOT_FOUND'), [1, 2, 3, 4, 5, 6]);
	same(ask('--code', 'file.not_found'), [1, 2, 3, 4, 5, 6]);
	same(ask('--code', 'io.failed'), []);
	same(ask('--tool', 'change'), [7]);
	same(ask('--incident', errors[3].incident_id), [4]);
	same(ask('--session', 'none'), []);
	same(ask('--since', '1h'), [1, 2, 3, 4, 5, 6, 7]);
	same(ask('--until', '1h'), []);
	same(ask('--since', errors[2].timestamp, '--tool', 'fail').at(0) <= 3, true);
	same(ask('--since', '2020-01-01', '--until', '2020-01-02'), []);
	same(run(['audit', 'query', '--incident', errors[3].incident_id, sample]).status, 0);
});

test('lines that we did not write are shown, and do no harm', () => {
	const log = copy(`${whole}\u001b[31mred\n`);
	appendFileSync(log, '{"seq":9,"event":"note","reason":"\\u001b[2J"}\n');
	const { status, out } = run(['audit', 'tail', '-n', '2', log]);
	same(status, 0);
	check(!out.includes('\u001b'), 'no escape sequence reaches the terminal');
});

test('a wrong request is reported: exit 2', () => {
	for (const args of [[], ['walk'], ['verify', '-f', sample], ['tail', '--code', 'x', sample], ['query', '-n', '3', sample], ['tail', '-n', 'x', sample], ['query', '--since', 'soon', sample], ['verify', '--contains', 'abc', sample], ['verify', sample, sample]]) {
		const { status, err } = run(['audit', ...args]);
		same([args.join(' '), status], [args.join(' '), 2]);
		match(err, /^faultwire: /);
	}
});

await finish();
