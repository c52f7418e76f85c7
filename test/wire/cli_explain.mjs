// faultwire explain and registry: every code, from whatever it is called.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, contracts, file, finish, lines, match, root, run, same, test } from './lib/cli.mjs';

const rows = JSON.parse(run(['registry', '--json']).out);

test('a code of any contract, a C name and a number are understood', () => {
	for (const [asked, code] of [
		['FILE_NOT_FOUND', 'file.not_found'],
		['file-not-found', 'file.not_found'],
		['file.not_found', 'file.not_found'],
		['FW_FILE_NOT_FOUND', 'file.not_found'],
		['2511', 'file.not_found'],
		['cache_missing', 'cache.missing'],
		['governance.rate_limited', 'governance.rate_limited'],
		['NOT_FOUND', null],
		['io_error', 'io.failed'],
		['internal_error', 'internal.unexpected'],
		['INTERNAL_ERROR', 'internal.unexpected'],
	]) {
		const { status, out, err } = run(['explain', asked, '--json']);
		same([status, err], [0, ''], asked);
		const answers = lines(out).map((line) => JSON.parse(line));
		same(answers.length, 1, asked);
		same(answers[0].asked, asked);
		if (code) same(answers[0].read_as, code, asked);
	}
});

test('explain shows meaning, advice, projections, class and examples', () => {
	const { status, out, err } = run(['explain', 'FILE_NOT_FOUND']);
	same([status, err], [0, '']);
	match(out, /^FILE_NOT_FOUND of contract kaiza is read as file\.not_found\.$/m);
	match(out, /^file\.not_found \(2511\): File Not Found$/m);
	match(out, /^  retry {9}Retry after changing something/m);
	for (const contract of contracts) match(out, new RegExp(`^  ${contract} +\\S+$`, 'm'));
	match(out, /^  category {6}validation$/m);
	match(out, /^  HTTP status {3}404$/m);
	match(out, /^  JSON-RPC {6}-32602$/m);
	const shown = [...out.matchAll(/^  (\S+)\n    (\{.*\})$/gm)];
	same(shown.map((m) => m[1]), contracts);
	for (const [, contract, text] of shown)
		same(run(['validate', '--contract', contract], { input: text }).status, 0, text);
	for (const line of lines(out)) check(line.length <= 78 || line.startsWith('    {'), `too long: ${line}`);
});

test('every code of the registry can be explained', () => {
	const codes = rows.map((row) => row.code);
	const { status, out, err } = run(['explain', ...codes]);
	same([status, err], [0, '']);
	for (const row of rows) check(out.includes(`${row.code} (${row.number}): ${row.title}\n`), row.code);
	for (const key of ['kaiza', 'context_v0', 'codeintel', 'type', 'number']) {
		const names = [...new Set(rows.map((row) => String(row[key])))];
		same(run(['explain', ...names]).status, 0, key);
	}
});

test('a code that stands for several says which it is read as, and the others', () => {
	const { out } = run(['explain', 'INSUFFICIENT_PERMISSIONS']);
	match(out, /is read as\s+auth\.insufficient_permissions\.\nIt also stands for [^]*upstream\.unauthorized[^]*with the retry class never/);
	const answer = JSON.parse(run(['explain', '--json', 'INSUFFICIENT_PERMISSIONS']).out);
	same(
		answer.also_stands_for,
		rows.filter((row) => row.kaiza === 'INSUFFICIENT_PERMISSIONS' && row.code !== answer.read_as).map((row) => row.code),
	);
});

test('--contract keeps to the codes of one contract', () => {
	same(run(['explain', '--contract', 'kaiza', 'FILE_NOT_FOUND']).status, 0);
	const { status, err } = run(['explain', '--contract', 'kaiza', 'file-not-found']);
	same(status, 1);
	match(err, /contract kaiza has no code file-not-found/);
	match(err, /FILE_NOT_FOUND/);
});

test('a whole error on standard input is explained', () => {
	const input = '{"error":{"code":"governance.rate_limited","message":"slow down","category":"governance","retryable":true,"incident_id":"inc_20260115_abcdefghijklmnopqrstuvwxyz","retry_after":30}}';
	const { status, out, err } = run(['explain', '-'], { input });
	same([status, err], [0, '']);
	match(out, /^An error in contract owlclaw:\n  message       slow down/);
	match(out, /^  retry after   30 s$/m);
	match(out, /^  incident      inc_20260115_/m);
	match(out, /^governance\.rate_limited \(\d+\): Rate Limited$/m);
	const json = JSON.parse(run(['explain', '-', '--json'], { input }).out);
	same([json.read_as, json.contract, json.error.retry_after], ['governance.rate_limited', 'owlclaw', 30]);
	same(run(['explain', '-'], { input: '{"error_code":' }).status === 0, true, 'plain text is what a tool threw');
	const broken = run(['explain', '-', '--contract', 'kaiza'], { input: '{"error_code":' });
	same(broken.status, 1);
	match(broken.err, /^faultwire: stdin: /);
});

test('a code of no contract: the nearest are named, exit 1', () => {
	for (const [asked, near] of [
		['FILE_NOT_FUOND', 'FILE_NOT_FOUND'],
		['cache_mising', 'cache_missing'],
		['file.notfound', 'file.not_found'],
		['governance.rate_limitted', 'governance.rate_limited'],
	]) {
		const { status, out, err } = run(['explain', asked]);
		same([status, out], [1, '']);
		match(err, new RegExp(`code is not registered: ${asked}\\n  hint: Did you mean ${near}`));
	}
	const far = run(['explain', 'zzzzzzzzzzzzzzzzzzzzzzzz']);
	same(far.status, 1);
	check(!far.err.includes('Did you mean'), far.err);
	const mixed = run(['explain', 'nothing_like_it', '2511']);
	same(mixed.status, 1);
	match(mixed.out, /file\.not_found/, 'the others are still explained');
	same(run(['explain', 'x'.repeat(100000)]).status, 1);
	same(run(['explain', '']).status, 1);
	same(run(['explain', '99999999999999999999']).status, 1);
});

// --- registry ----------------------------------------------------------------------

test('the table has a line for each code', () => {
	const { status, out, err } = run(['registry']);
	same([status, err], [0, '']);
	const table = lines(out);
	match(table[0], /^CODE +TYPE +RETRY +STATUS +KAIZA +TITLE$/);
	same(table.length, rows.length + 1);
	for (const [i, row] of rows.entries()) {
		const cells = table[i + 1].split(/ {2,}/);
		same(cells, [row.code, row.type, row.retry, String(row.status), row.kaiza, row.title]);
	}
});

test('--json says what docs/registry.json says', () => {
	const path = join(root, 'docs/registry.json');
	check(rows.length > 100);
	if (existsSync(path)) same(rows, JSON.parse(readFileSync(path, 'utf8')));
});

test('--examples is one canonical error per code, always the same', () => {
	const { out } = run(['registry', '--examples']);
	same(lines(out).map((line) => JSON.parse(line).code), rows.map((row) => row.code));
	same(run(['registry', '--examples']).out, out);
});

test('--markdown explains every code', () => {
	const { out } = run(['registry', '--markdown']);
	for (const row of rows) check(out.includes(`\n## ${row.code}\n`), row.code);
});

for (const contract of contracts) {
	test(`--schema ${contract} is a JSON Schema`, () => {
		const { status, out } = run(['registry', '--schema', contract]);
		same(status, 0);
		same(JSON.parse(out).$schema, 'https://json-schema.org/draft/2020-12/schema');
	});
}

test('--prometheus-rules has a rule for every code', () => {
	const { status, out, err } = run(['registry', '--prometheus-rules']);
	same([status, err], [0, '']);
	same((out.match(/^  - alert: Faultwire/gm) ?? []).length, rows.length);
});

test('--registry adds your own codes everywhere', () => {
	const mine = {
		code: 'acme.printer_on_fire',
		title: 'Printer On Fire',
		category: 'runtime',
		type: 'INTERNAL',
		retry: 'never',
		recoverable: false,
		status: 500,
		severity: 'critical',
		kaiza: 'UNKNOWN_TOOL_FAILURE',
		context_v0: 'internal_error',
		params: [{ name: 'room', type: 'string' }],
		message: 'printer in {room} is on fire',
		hint: 'Leave the building.',
		example: { room: '12b' },
	};
	const path = file('mine.json', JSON.stringify([mine]));
	const listed = run(['registry', '--registry', path]);
	same([listed.status, listed.err], [0, '']);
	match(listed.out, /^acme\.printer_on_fire /m);
	same(run(['registry', '--json', '--registry', path]).status, 0);
	same(JSON.parse(run(['registry', '--json', '--registry', path]).out).length, rows.length + 1);
	match(run(['explain', 'acme.printer_on_fire', '-r', path]).out, /Printer On Fire/);
	const canonical = lines(run(['registry', '--examples', '-r', path]).out).at(-1);
	const converted = run(['convert', '--to', 'owlclaw', '-r', path], { input: canonical });
	same([converted.status, converted.err], [0, '']);
	same(JSON.parse(converted.out).error.code, 'acme.printer_on_fire');
	same(run(['validate', '--contract', 'owlclaw', '-r', path], { input: converted.out }).status, 0);
	same(run(['explain', 'acme.printer_on_fire']).status, 1, 'without the file it is not there');
});

test('a registry with bad rows is refused, every row reported once', () => {
	const bad = [
		{ code: 'acme.one' },
		{ code: 'file.not_found' },
	];
	const path = file('bad.json', JSON.stringify(bad));
	const { status, out, err } = run(['registry', '--registry', path]);
	same([status, out], [1, '']);
	const told = err.split('\n').filter((line) => line.startsWith('faultwire:'));
	check(told.length >= 2, err);
	same(new Set(told).size, told.length, 'none twice');
	for (const line of told) match(line, /bad\.json: /);
	const json = run(['registry', '--registry', path, '--contract', 'canonical']).err;
	for (const line of lines(json)) same(JSON.parse(line).code, 'registry.invalid_row');
	for (const text of ['', 'nonsense', '{}', '[1]'])
		same(run(['registry', '--registry', file('worse.json', text)]).status, 1, text);
	same(run(['registry', '--registry', '/no/such/file']).status, 1);
});

await finish();
