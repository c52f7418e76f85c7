// What stands around the program: completion, man pages, terminals.

import { spawn, spawnSync } from 'node:child_process';
import { bin, check, contracts, env, file, finish, has, lines, match, run, same, scratch, shell, skip, test } from './lib/cli.mjs';

// --- bash --------------------------------------------------------------------------

// What bash offers for this line, with the cursor at its end.
function bash(line) {
	const words = line.split(/ +|(?==)|(?<==)/);
	const { status, out, err } = shell(`
		source <(faultwire completion bash)
		COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
		COMP_CWORD=${words.length - 1}
		COMP_LINE='${line}'
		COMP_POINT=\${#COMP_LINE}
		_faultwire
		printf '%s\\n' "\${COMPREPLY[@]}"
	`);
	same([status, err], [0, ''], line);
	return out.split('\n').filter(Boolean);
}

test('bash completes commands', () => {
	same(bash('faultwire conv'), ['convert']);
	check(bash('faultwire ').includes('explain'));
	same(bash('faultwire --vers'), ['--version']);
	same(bash('faultwire --contract kaiza expl'), ['explain']);
	same(bash('faultwire --contract=kaiza expl'), ['explain']);
});

test('bash completes options and what they may be', () => {
	check(bash('faultwire convert --').includes('--to'));
	check(bash('faultwire convert --').includes('--help'));
	same(bash('faultwire convert --go'), ['--go-escape']);
	same(bash('faultwire convert --to '), contracts);
	same(bash('faultwire convert --to owl'), ['owlclaw', 'owlclaw-api']);
	same(bash('faultwire convert --to=ka'), ['kaiza']);
	same(bash('faultwire convert --to='), contracts);
	same(bash('faultwire convert -t ka'), ['kaiza']);
	check(bash('faultwire validate --contract ').includes('auto'));
	same(bash('faultwire registry --schema code'), ['codeintel']);
});

test('bash completes codes, shells, commands and files', () => {
	same(bash('faultwire explain FILE_NOT'), ['FILE_NOT_FOUND']);
	same(bash('faultwire explain file.not'), ['file.not_found']);
	same(bash('faultwire explain cache_m'), ['cache_missing']);
	same(bash('faultwire completion '), ['bash', 'zsh']);
	same(bash('faultwire man conv'), ['convert']);
	const path = file('some-error.json', '{}');
	same(bash(`faultwire convert ${path.slice(0, -6)}`), [path]);
	same(bash(`faultwire convert --registry ${path.slice(0, -6)}`), [path]);
});

// --- zsh ---------------------------------------------------------------------------

// A shell on a terminal, as a person has it: types, and waits for what must appear.
async function zsh(setup, steps) {
	const child = spawn('script', ['-qec', 'zsh -f -i', '/dev/null'], { env: { ...env, TERM: 'dumb' }, cwd: scratch() });
	let seen = '';
	child.stdout.on('data', (data) => (seen += data));
	const closed = new Promise((done) => child.on('close', done));
	const appears = async (text) => {
		for (let waited = 0; !seen.includes(text); waited += 50) {
			check(waited < 20000, `zsh does not show ${JSON.stringify(text)}: ${JSON.stringify(seen.slice(-500))}`);
			await new Promise((done) => setTimeout(done, 50));
		}
		seen = '';
	};
	try {
		child.stdin.write(`PS1='rea''dy> '; ${setup}; print all-''set\n`);
		await appears('all-set');
		for (const [typed, expected] of steps) {
			child.stdin.write(typed);
			await appears(expected);
		}
	} finally {
		child.stdin.end('\u0003\nexit\n');
		const timer = setTimeout(() => child.kill('SIGKILL'), 3000);
		await closed;
		clearTimeout(timer);
	}
}

test('zsh takes the script, and completes with it', async () => {
	if (!has('zsh')) skip('zsh is not installed');
	if (!has('script')) skip('script is not installed');
	const path = file('_faultwire', run(['completion', 'zsh']).out);
	same(spawnSync('zsh', ['-n', path]).status, 0, 'syntax');
	await zsh(`autoload -Uz compinit; compinit -u -d ${scratch()}/zcompdump; source ${path}; bindkey '^I' complete-word`, [
		['faultwire conv\t', 'ert'],
		['--to ka\t', 'iza'],
		['--go-e\t', 'scape'],
		['\u0015faultwire explain FILE_NOT_FO\t', 'UND'],
		['\u0015faultwire --contract kaiza regi\t', 'stry'],
		['--schema con\t', 'text-v0'],
	]);
});

// --- man ---------------------------------------------------------------------------

for (const name of [undefined, 'convert', 'validate', 'explain', 'registry', 'audit', 'alerts', 'incident', 'plan', 'context', 'completion', 'man', 'help', 'serve']) {
	test(`the man page of ${name ?? 'the program'} is without a fault`, () => {
		if (!has('groff')) skip('groff is not installed');
		const page = run(name ? ['man', name] : ['man']);
		same([page.status, page.err], [0, '']);
		const { out, err } = shell('groff -man -Tascii -ww -rLL=78n', { input: page.out });
		same(err, '');
		const text = out.replaceAll(/.\u0008|\u001b\[[0-9;]*m/g, '');
		for (const part of ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'SEE ALSO'])
			match(text, new RegExp(`^${part}$`, 'm'));
		const help = run(name ? [name, '--help'] : ['--help']).out;
		for (const [option] of help.matchAll(/--[a-z][a-z-]+/g)) check(text.includes(option), `${option} is in it`);
	});
}

// --- terminals ----------------------------------------------------------------------

function terminal(command, extra = {}) {
	if (!has('script')) skip('script is not installed');
	const result = spawnSync('script', ['-qec', command, '/dev/null'], {
		env: { ...env, ...extra },
		cwd: scratch(),
		input: '',
	});
	return { status: result.status, out: result.stdout.toString() };
}

test('colours on a terminal, not with NO_COLOR, not on a dumb one', () => {
	const command = `${bin} explain NO_SUCH_THING`;
	match(terminal(command).out, /\u001b\[1;31mfaultwire:\u001b\[0m /);
	check(!terminal(command, { NO_COLOR: '1' }).out.includes('\u001b'));
	check(!terminal(command, { TERM: 'dumb' }).out.includes('\u001b'));
	match(terminal(command, { NO_COLOR: '' }).out, /\u001b\[/);
	check(!terminal(`${bin} explain NO_SUCH_THING 2>&1 | cat`).out.includes('\u001b'));
});

test('explain fills the width of the terminal', () => {
	const width = (columns) =>
		Math.max(
			...terminal(`stty cols ${columns}; ${bin} explain runtime.timeout`, { NO_COLOR: '1' })
				.out.split(/\r?\n/)
				.filter((line) => !line.startsWith('    {'))
				.map((line) => line.length),
		);
	const narrow = width(50);
	check(narrow <= 50, `${narrow} columns`);
	check(width(300) <= 100);
});

test('a progress bar on a terminal, if the output goes elsewhere; wiped at the end', () => {
	const path = file('many.jsonl', '{"type":"NOT_FOUND","message":"m","recoverable":false}\n'.repeat(400000));
	const { status, out } = terminal(`${bin} convert --lines --to kaiza ${path} > /dev/null`);
	same(status, 0);
	match(out, /\r\u001b\[K.*\d+ %.*lines\/s/);
	match(out, /\r\u001b\[K$/);
	const piped = terminal(`cat ${path} | ${bin} convert --lines --to kaiza > /dev/null`);
	match(piped.out, /lines\/s/);
	check(!terminal(`${bin} convert --lines --to kaiza ${path} 2>&1 >/dev/null | cat`).out.includes('lines/s'));
	check(!terminal(`head -n 30000 ${path} | ${bin} convert --lines --to context-v0`).out.includes('lines/s'));
});

await finish();
