// The command line itself: help, exit statuses, streams, how errors are reported.

import { createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, contracts, file, finish, has, lines, match, run, same, scratch, shell, start, test } from './lib/cli.mjs';

const built = ['serve', 'convert', 'validate', 'explain', 'classify', 'registry', 'audit', 'alerts', 'incident', 'plan', 'context', 'index', 'completion', 'man', 'help'];

test('--version names the program and its version on one line', () => {
	const { status, out, err } = run(['--version']);
	same(status, 0);
	match(out, /^faultwire \d+\.\d+\.\d+\n$/);
	same(err, '');
	same(run(['-V']).out, out);
});

test('a command with actions names them if none or another one is given', () => {
	for (const name of ['audit', 'context', 'incident', 'index', 'plan', 'reserve', 'store', 'token']) {
		const none = run([name]);
		const other = run([name, 'lsit']);
		check(none.status > 0 && none.status === other.status, `${name}: ${none.status}, ${other.status}`);
		match(none.err, new RegExp(`^faultwire: faultwire ${name} takes \\w+(, \\w+)* or \\w+\\n`));
		match(other.err, new RegExp(`^faultwire: there is no faultwire ${name} lsit; it takes \\w+(, \\w+)* or \\w+\\n`));
	}
	match(run(['plan', 'lsit']).err, /Did you mean list/);
});

test('an option of a toolset that is not served is refused, of any kind', () => {
	const serve = (...args) => run(['serve', '--stdio', '--log', 'off', '--audit', 'off', '--incidents', 'off', ...args], { input: '' });
	for (const [toolset, ...args] of [['reserve', '--agent-id', 'x'], ['workspace', '--lock-on', 'any'], ['workspace', '--hard-links'], ['workspace', '--workspace', '.'], ['code', '--repo', '.']]) {
		const { status, err } = serve('--tools', 'diag', ...args);
		same(status, 2, args[0]);
		match(err, new RegExp(`${args[0]} needs the toolset "${toolset}"`));
	}
	// Both read it.
	same(serve('--tools', 'reserve', '--workspace', scratch(), '--store', join(scratch(), 'r.db')).status, 0);
});

test('--help lists every command', () => {
	const { status, out, err } = run(['--help']);
	same([status, err], [0, '']);
	match(out, /^Usage: faultwire /);
	for (const name of built) match(out, new RegExp(`^  ${name} `, 'm'));
	match(out, /^Exit status:$/m);
	same(run(['help']).out, out);
	same(run(['-h']).out, out);
});

for (const name of built) {
	test(`${name} --help has a usage line, options, exit statuses, and no line too long`, () => {
		const { status, out, err } = run([name, '--help']);
		same([status, err], [0, '']);
		match(out, new RegExp(`^Usage: faultwire ${name}`));
		match(out, /^Options:$/m);
		match(out, /^Examples:$/m);
		match(out, /^Exit status:\n  0 .*\n  1 .*\n  2 /m);
		const [, above] = /^Usage:.*\n([^]*?)\nExamples:/.exec(out);
		for (const line of lines(`${above}\n`)) check(line.length <= 78, `too long: ${line}`);
		same(run(['help', name]).out, out);
		same(run([name, '-h', '--bogus']).out, out, 'help wins over a mistake');
	});

	test(`the examples of ${name} run as they stand`, () => {
		const { out } = run([name, '--help']);
		const [, block] = /^Examples:\n([^]*?)\n\n/m.exec(out);
		let count = 0;
		for (const line of block.split('\n')) {
			if (line.startsWith('  #')) continue;
			if (/\bman -l\b/.test(line) && shell('command -v man').status !== 0) continue;
			const script = line.replace('~', '"$HOME"');
			const result = shell(`set -o pipefail; ${script} | cat`, { env: { HOME: file('x', '').slice(0, -2) } });
			count++;
			if (/incident show/.test(line)) {
				// Nothing has failed here yet.
				same(result.status, 1, line);
				match(result.err, /no incident has the id/);
				continue;
			}
			same([result.status, result.err], [0, ''], line);
			check(/completion/.test(line) || result.out.length > 0, `no output: ${line}`);
		}
		check(count > 0, 'there is an example');
	});
}

test('usage errors exit with 2, say what is wrong, and print nothing on stdout', () => {
	const cases = [
		[[], /no command is given/],
		[['frobnicate'], /there is no command frobnicate/],
		[['convret'], /Did you mean convert\?/],
		[['--bogus'], /there is no option --bogus/],
		[['convert'], /--to is missing/],
		[['convert', '--to'], /option --to needs CONTRACT/],
		[['convert', '--to', 'kaizza'], /--to must be one of canonical, kaiza, .*found "kaizza"[^]*Did you mean kaiza\?/],
		[['convert', '--to='], /--to must be one of/],
		[['convert', '--form', 'kaiza'], /there is no option --form[^]*Did you mean --from\?/],
		[['convert', '-z'], /there is no option -z/],
		[['convert', '--lines=yes', '--to', 'kaiza'], /--lines takes no value/],
		[['convert', '--to', 'auto'], /--to must be one of/],
		[['convert', '--to', 'kaiza', '--now', 'yesterday'], /--now must be a time/],
		[['convert', '--to', 'kaiza', '--now', '2026-02-30T00:00:00Z'], /--now must be a time/],
		[['convert', '--to', 'kaiza', '--now', '2026-02-03T00:00:00'], /--now must be a time/],
		[['convert', '--to', 'kaiza', '--operation', 'files'], /--operation must be CATEGORY:OPERATION/],
		[['convert', '--to', 'kaiza', '--incident-id', ''], /--incident-id must not be empty/],
		[['validate'], /--contract is missing/],
		[['validate', '--contract', 'text'], /--contract must be one of/],
		[['explain'], /no code is given/],
		[['registry', '--json', '--markdown'], /only one of/],
		[['registry', 'extra'], /takes no operand/],
		[['registry', '--schema', 'auto'], /--schema must be one of/],
		[['completion'], /bash or zsh/],
		[['completion', 'fish'], /bash or zsh/],
		[['man', 'nothing'], /there is no command nothing/],
		[['help', 'nothing'], /there is no command nothing/],
		[['--contract', 'nothing', 'registry'], /--contract must be one of/],
	];
	for (const [args, pattern] of cases) {
		const { status, out, err } = run(args);
		same([status, out], [2, ''], `faultwire ${args.join(' ')}`);
		match(err, pattern, `faultwire ${args.join(' ')}`);
		match(err, /^faultwire: /);
	}
});

test('options may stand anywhere, be joined, and end with --', () => {
	const text = '{"type":"NOT_FOUND","message":"m","recoverable":false}';
	const path = file('-t', text);
	check(path.endsWith('/-t'));
	const expected = `${text}\n`;
	for (const args of [
		['--to', 'toolerror', path],
		[path, '--to=toolerror'],
		[path, '-ttoolerror'],
		['-f', 'toolerror', path, '-t', 'toolerror'],
		['-lttoolerror', path],
		['--to', 'toolerror', '--', '-t'],
		['--to', 'kaiza', '--to', 'toolerror', path],
	])
		same(run(['convert', ...args]).out, expected, args.join(' '));
	same(run(['convert', '--to', 'toolerror', '-'], { input: text }).out, expected, 'a dash is standard input');
});

for (const contract of contracts) {
	test(`--contract ${contract} tells errors in that contract, one line on stderr`, () => {
		for (const [args, status] of [
			[['--contract', contract, 'frobnicate'], 2],
			[['--contract', contract, 'explain', 'NO_SUCH_CODE_AT_ALL'], 1],
			[['convert', '--bogus', '--contract', contract], 2],
			[['convert', '/no/such/file', '--to', 'kaiza', '--contract', contract], 1],
			[['--contract', contract, 'index', 'status', '--repo', '/nowhere'], 1],
		]) {
			const result = run(args);
			same([result.status, result.out], [status, ''], args.join(' '));
			same(lines(result.err).length, 1, result.err);
			JSON.parse(result.err);
			const verdict = run(['validate', '--contract', contract], { input: result.err });
			same(verdict.status, 0, `${result.err}\n${verdict.out}${verdict.err}`);
		}
	});
}

test('a report shows no control bytes of its text', () => {
	const { err } = run(['explain', 'EVIL\u001b[2J\u0007\u009b31m\u202ecode\nfaultwire: forged']);
	check(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(err), JSON.stringify(err));
	same(err.split('\n').filter((line) => line.startsWith('faultwire:')).length, 1, err);
});

// Through script(1), so that standard output is a terminal.
test('no C1, bidi or invisible character of a peer reaches a terminal', () => {
	if (!has('script')) return;
	const never = /[\u0080-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
	const evil = 'a\u009b31mb\u202ec\u200bd\u2028e\u2066f\u061cg\ufeffh';
	const error = run(['convert', '--from', 'text', '--to', 'canonical'], { input: evil }).out;
	check(never.test(error), 'to a file the text goes as it is');
	const name = join(scratch(), 'evil.json');
	writeFileSync(name, error);
	for (const command of [`convert --to canonical ${name}`, `convert --to kaiza ${name}`, `explain - <${name}`, `validate --contract kaiza ${name}`]) {
		const { out } = shell(`script -qec '${bin} ${command}' /dev/null </dev/null`);
		check(!never.test(out), `${command}: ${JSON.stringify(out)}`);
	}
	const { out } = shell(`script -qec '${bin} convert --to canonical ${name}' /dev/null </dev/null`);
	same(JSON.parse(out).message, evil, 'it is the same JSON');
});

test('a file that is not there is an error with its name, exit 1', () => {
	const { status, out, err } = run(['convert', '--to', 'kaiza', '/no/such/file']);
	same([status, out], [1, '']);
	match(err, /^faultwire: .*\/no\/such\/file/);
	match(err, /ENOENT|No such file/);
});

test('a directory is an error, not an endless read', () => {
	const { status, out, err } = run(['convert', '--to', 'kaiza', '/']);
	same([status, out], [1, '']);
	match(err, /^faultwire: /);
});

test('help lists no part of the codes', () => {
	for (const command of ['audit', 'incident']) check(!run([command, '--help']).out.includes('input.missing_field'), command);
});

test('output that cannot be written is an error, exit 1', () => {
	for (const args of ['registry', '--help', 'explain FILE_NOT_FOUND', 'man', 'completion bash']) {
		const { status, err } = shell(`faultwire ${args} > /dev/full`);
		same(status, 1, args);
		match(err, /^faultwire: could not write to standard output/);
		match(err, /[Nn]o space|ENOSPC/);
	}
	const closed = shell('faultwire registry >&-');
	same(closed.status, 1);
	match(closed.err, /^faultwire: could not write/);
});

test('a million lines to a full disk stop at once', () => {
	const { status, err } = shell(
		`yes '{"type":"NOT_FOUND","message":"m","recoverable":false}' | faultwire convert --lines --to kaiza > /dev/full`,
	);
	same(status, 1);
	match(err, /could not write to standard output/);
});

test('a reader that disconnects is not reported', async () => {
	for (const script of [
		'faultwire registry --json | head -c 10 >/dev/null',
		`yes '{"type":"NOT_FOUND","message":"m","recoverable":false}' | faultwire convert --lines --to kaiza | head -1 >/dev/null`,
	]) {
		const { err } = shell(script);
		same(err, '', script);
		const ignoring = shell(`trap '' PIPE; ${script.replace(/yes '([^']*)'/, "for i in {1..20000}; do echo '$1'; done 2>/dev/null")}`);
		same(ignoring.err.replace(/^.*Broken pipe\n?$/gm, ''), '', `with SIGPIPE ignored: ${script}`);
	}
	const child = start(['registry', '--json']);
	child.stdout.destroy();
	let err = '';
	child.stderr.on('data', (data) => (err += data));
	await new Promise((done) => child.on('close', done));
	same(err, '');
});

test('reports are words with causes and a hint, or nothing but JSON', () => {
	const { err } = run(['explain', 'FILE_NOT_FUOND']);
	match(err, /^faultwire: code is not registered: FILE_NOT_FUOND\n  hint: Did you mean FILE_NOT_FOUND/);
	check(!err.includes('\u001b'), 'no colours off a terminal');
});

test('DEBUG_STACK=true shows where an error was raised', () => {
	const plain = run(['explain', 'NOTHING_LIKE_IT']).err;
	const traced = run(['explain', 'NOTHING_LIKE_IT'], { env: { DEBUG_STACK: 'true' } }).err;
	check(!/\.c:\d+/.test(plain), plain);
	match(traced, /lookup\.c:\d+/);
});

test('an option of another action is refused, not ignored: token rotate --scope narrows nothing', () => {
	for (const args of [
		['token', 'rotate', 'x', '--scope', 'read'],
		['token', 'list', '--expires=1d'],
		['plan', 'show', 'x', '--title', 't'],
		['audit', 'verify', 'x', '--count', '3'],
		['incident', 'show', 'x', '--tool', 't'],
		['store', 'check', 'x', '--runtime-role', 'r'],
	]) {
		const { status, err } = run(args);
		same(status, 2);
		match(err, new RegExp(`option --[a-z-]+ has no effect on ${args[0]} ${args[1]}\n`));
	}
	same(run(['token', 'rotate', '--scope', 'read', '--help']).status, 0);
	same(run(['reserve', 'list', '--agent', 'a']).status, 0);
	same(run(['reserve', 'release', '--agent', 'a']).status, 0);
});

test('serve names the address that is already in use', async () => {
	const taken = createServer();
	await new Promise((done) => taken.listen(0, '127.0.0.1', done));
	const { port } = taken.address();
	const { status, err } = run(['serve', '--http', `127.0.0.1:${port}`, '--log', 'off']);
	taken.close();
	same(status, 1);
	match(err, new RegExp(`^faultwire: 127\\.0\\.0\\.1:${port} is already in use\n`));
});

await finish();
