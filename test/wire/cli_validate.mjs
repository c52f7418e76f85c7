// faultwire validate: checks errors against a contract.

import { check, contracts, file, finish, lines, match, run, same, test } from './lib/cli.mjs';

const kaiza = {
	error_code: 'FILE_NOT_FOUND',
	human_message: 'File not found: a.txt',
	role: null,
	session_id: null,
	workspace_root: null,
	tool_name: 'read_file',
	invariant_id: null,
	phase_id: null,
	plan_hash: null,
	cause: null,
	timestamp: '2026-01-15T12:00:00.000Z',
};
const valid = JSON.stringify(kaiza);
const invalid = JSON.stringify({ ...kaiza, error_code: 'NO_SUCH', human_message: 5 });

test('a valid error takes one line', () => {
	for (const contract of ['kaiza', 'auto']) {
		const { status, out, err } = run(['validate', '--contract', contract], { input: valid });
		same([status, out, err], [0, 'stdin: valid kaiza\n', '']);
	}
});

test('each violation has a place, a pointer, a rule, and what was found', () => {
	const path = file('bad.json', invalid);
	const { status, out, err } = run(['validate', '--contract', 'kaiza', path]);
	same([status, err], [1, '']);
	for (const line of lines(out)) match(line, /^[^:]+\/bad\.json: (\(whole\)|\/\S+): [a-z-]+: expected .+, found .+$/);
	match(out, /: \/error_code: /);
	match(out, /: \/human_message: type: expected string, found number 5$/m);
});

test('a missing member is a violation, too', () => {
	const { human_message, ...rest } = kaiza;
	check(human_message);
	const { status, out } = run(['validate', '--contract', 'kaiza'], { input: JSON.stringify(rest) });
	same(status, 1);
	match(out, /required: expected .*human_message/);
});

test('all that we write is valid, in every contract', () => {
	const examples = run(['registry', '--examples']).out;
	for (const contract of contracts) {
		const input = run(['convert', '--lines', '--to', contract], { input: examples }).out;
		const { status, out, err } = run(['validate', '--lines', '--contract', contract], { input });
		same([status, err], [0, ''], out);
		same(out, `stdin: ${lines(input).length} lines, all valid ${contract}\n`);
		const found = run(['validate', '--lines', '--contract', 'auto'], { input });
		same([found.status, found.err], [0, ''], `${contract} found out: ${found.out}`);
	}
});

test('--lines names the line', () => {
	const input = `${valid}\n${invalid}\n${valid}\nnot JSON\n\n`;
	const { status, out, err } = run(['validate', '--lines', '--contract', 'kaiza'], { input });
	same(status, 1);
	check(lines(out).length > 0);
	for (const line of lines(out)) match(line, /^stdin:2: /);
	match(err, /^faultwire: stdin:4: /m);
	match(err, /^faultwire: stdin:5: /m);
});

test('--json prints an object for each text', () => {
	const input = `${valid}\n${invalid}\nnot JSON\n`;
	const { status, out } = run(['validate', '--lines', '--json', '--contract', 'kaiza'], { input });
	same(status, 1);
	const [first, second, third] = lines(out).map((line) => JSON.parse(line));
	same(first, { file: 'stdin', line: 1, contract: 'kaiza', violations: [], valid: true });
	same([second.line, second.valid], [2, false]);
	check(second.violations.length >= 2);
	same(Object.keys(second.violations[0]), ['pointer', 'rule', 'expected', 'found']);
	same([third.line, third.valid, third.error.code], [3, false, 'contract.not_json']);
	const whole = JSON.parse(run(['validate', '--json', '--contract', 'auto'], { input: valid }).out);
	same(whole, { file: 'stdin', contract: 'kaiza', violations: [], valid: true });
});

test('JSON of no contract breaks them all', () => {
	const { status, out } = run(['validate', '--contract', 'auto'], { input: '{"hello":"world"}' });
	same(status, 1);
	match(out, /^stdin: \(whole\): contract: expected an error in one of the contracts, found /);
});

test('what is not JSON, or not there, cannot be judged: exit 1', () => {
	for (const contract of ['kaiza', 'auto']) {
		const { status, out, err } = run(['validate', '--contract', contract], { input: 'plain text' });
		same([status, out], [1, '']);
		match(err, /^faultwire: stdin: text is not JSON/);
	}
	const missing = run(['validate', '--contract', 'kaiza', '/no/such/file', file('good.json', valid)]);
	same(missing.status, 1);
	match(missing.err, /\/no\/such\/file/);
	match(missing.out, /good\.json: valid kaiza\n$/);
});

test('control bytes of the text do not reach the terminal', () => {
	const { out } = run(['validate', '--contract', 'kaiza'], {
		input: JSON.stringify({ ...kaiza, error_code: 'X\u001b[2J', ['\u001b[31m']: 1 }),
	});
	check(!out.includes('\u001b'), JSON.stringify(out));
});

test('--contract before the command is about reports, behind it about the text', () => {
	const { status, err } = run(['--contract', 'toolerror', 'validate', '--contract', 'kaiza'], { input: 'nope' });
	same(status, 1);
	same(JSON.parse(err).type, 'VALIDATION');
});

await finish();
