// What new users try on the command line and in a browser.

import { spawn, spawnSync } from 'node:child_process';
import http from 'node:http';
import { bin, check, env, file, finish, has, match, run, same, scratch, shell, skip, test } from './lib/cli.mjs';

// --- explain: names of other software ------------------------------------------------

for (const [name, code, said] of [
	['ENOENT', 'file.not_found', /ENOENT is errno 2, no such file or directory\. It is reported as file\.not_found\./],
	['SIGSEGV', 'tool.crashed', /SIGSEGV is signal 11, segmentation fault\./],
	['404', 'resource.not_found', /404 is an HTTP status, Not Found\./],
	['503', 'dependency.unavailable', /Service Unavailable/],
	['-32602', 'protocol.invalid_params', /-32602 is a code of JSON-RPC, invalid params\./],
	['23505', 'resource.already_exists', /23505 is a SQLSTATE, unique violation\./],
	['CURLE_COULDNT_CONNECT', 'transport.connection_refused', /libcurl/],
])
	test(`explain knows ${name}`, () => {
		const shown = run(['explain', name]);
		same([shown.status, shown.err], [0, '']);
		match(shown.out.replaceAll(/\s+/g, ' '), said);
		same(JSON.parse(run(['explain', '--json', name]).out).read_as, code);
	});

test('explain still refuses unknown names', () => {
	for (const name of ['ENOENTT', 'ABCDE', '200', '-5']) same(run(['explain', name]).status, 1, name);
});

// --- validate with the wrong contract ---------------------------------------------------

test('validate with the wrong contract says first what it looks like', () => {
	const input = '{"type":"NOT_FOUND","message":"no","recoverable":false}\n';
	const { status, out } = run(['validate', '--contract', 'kaiza'], { input });
	same(status, 1);
	match(out.split('\n')[0], /^stdin: this looks like toolerror, not kaiza$/);
	check(out.split('\n').length > 3, out);
	same(JSON.parse(run(['validate', '--contract', 'kaiza', '--json'], { input }).out).looks_like, 'toolerror');
	check(!run(['validate', '--contract', 'toolerror'], { input }).out.includes('looks like'));
	// One that is in no contract looks like none.
	check(!run(['validate', '--contract', 'kaiza'], { input: '{"a":1}\n' }).out.includes('looks like'));
});

// --- completion ---------------------------------------------------------------------------

const complete = (words) => {
	const script = file('completion.bash', run(['completion', 'bash']).out);
	const list = words.map((word) => `'${word}'`).join(' ');
	return shell(`source ${script}; COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _faultwire; printf '%s\\n' "\${COMPREPLY[@]}"`).out.trim().split('\n');
};

test('bash completes actions, and values of options', () => {
	same(complete(['faultwire', 'audit', '']), ['verify', 'accept', 'tail', 'query']);
	same(complete(['faultwire', 'incident', 's']), ['show']);
	same(complete(['faultwire', 'plan', 'ap']), ['approve']);
	same(complete(['faultwire', 'context', 'res']), ['resolve']);
	same(complete(['faultwire', 'serve', '--hints', '']), ['on', 'off', 'auto']);
	same(complete(['faultwire', 'serve', '--log', 'j']), ['json', 'journald']);
	same(complete(['faultwire', 'serve', '--log-level', 'w']), ['warning']);
	same(complete(['faultwire', 'serve', '--audit-sync', 'i']), ['interval']);
	same(complete(['faultwire', 'serve', '--metrics', '']), ['on', 'off']);
	same(complete(['faultwire', 'serve', '--role', '']), ['executor', 'planner', 'windsurf', 'antigravity']);
});

test('after an action, bash completes files', () => {
	file('some-log.jsonl', '');
	check(complete(['faultwire', 'audit', 'verify', 'some-l']).includes('some-log.jsonl'));
});

test('the zsh script has actions and values', () => {
	const { out } = run(['completion', 'zsh']);
	match(out, /'1: :\(verify accept tail query\)'/);
	match(out, /--hints=.*:\(on off auto\)'/);
});

// --- man on a terminal ---------------------------------------------------------------------

test('man goes through a pager on a terminal, and is the source elsewhere', () => {
	if (!has('script')) skip('script is not installed');
	const fake = file('man', '#!/bin/sh\necho "PAGER $*"; head -c 3; echo\n');
	spawnSync('chmod', ['+x', fake]);
	const paged = spawnSync('script', ['-qec', `${bin} man convert`, '/dev/null'], { env: { ...env, PATH: `${scratch()}:${env.PATH}` } }).stdout.toString();
	match(paged, /PAGER -l -\r?\n\.TH/);
	match(run(['man', 'convert']).out, /^\.TH FAULTWIRE/);
	// Without man(1), the source is better than nothing.
	const plain = spawnSync('script', ['-qec', `PATH=/nowhere ${bin} man convert`, '/dev/null'], { env }).stdout.toString();
	match(plain, /^\.TH FAULTWIRE/);
});

// --- /problems/ in a browser ----------------------------------------------------------------

const child = spawn(bin, ['serve', '--http', '127.0.0.1:0', '--log', 'off', '--audit', 'off', '--incidents', 'off', '--run', 'inline', '--problem-base', 'https://tools.example/problems/'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
process.on('exit', () => child.kill('SIGKILL'));
const base = await new Promise((done) => {
	let said = '';
	child.stderr.on('data', (bytes) => {
		said += bytes;
		const found = said.match(/http:\/\/[^/\s]+/);
		if (found) done(new URL(found[0]));
	});
});
const get = (path, accept) =>
	new Promise((done, fail) => {
		http.get({ host: base.hostname, port: base.port, path, headers: { Accept: accept } }, (response) => {
			let body = '';
			response.on('data', (bytes) => (body += bytes));
			response.on('end', () => done({ status: response.statusCode, type: response.headers['content-type'], body }));
		}).on('error', fail);
	});
const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';

test('the index of /problems/ is grouped and searchable', async () => {
	const all = await get('/problems/', browser);
	same([all.status, all.type], [200, 'text/html; charset=utf-8']);
	for (const domain of ['input', 'file', 'protocol', 'upstream']) check(all.body.includes(`<h2>${domain}</h2>`), domain);
	match(all.body, /<form action="\/problems\/"><input name="q"/);
	const found = await get('/problems/?q=FILE_NOT_FOUND', browser);
	check(found.body.includes('file.not_found') && !found.body.includes('tool.crashed'), found.body);
	check((await get('/problems/?q=zzzz', browser)).body.includes('Nothing matches'));
	same(JSON.parse((await get('/problems/?q=SIGSEGV', 'application/json')).body), []);
	check(JSON.parse((await get('/problems/?q=timeout', 'application/json')).body).length > 1);
	// What is searched for comes back as text.
	check(!(await get('/problems/?q=%3Cscript%3E', browser)).body.includes('<script>'));
});

test('explanations are rendered: paragraphs and code', async () => {
	const rows = JSON.parse(run(['registry', '--json']).out);
	const row = rows.find(({ explanation }) => explanation.includes('`'));
	const { body } = await get(`/problems/${row.code}`, browser);
	check(!body.slice(body.indexOf('</h1>'), body.indexOf('<h2>')).includes('`'), 'backticks');
	match(body, /<code>/);
});

test('a problem that does not exist is a page for people and a document for programs', async () => {
	const page = await get('/problems/no-such<thing', browser);
	same([page.status, page.type], [404, 'text/html; charset=utf-8']);
	check(page.body.includes('No Such Problem') && !page.body.includes('no-such<thing'));
	const document = await get('/problems/no-such-thing', 'application/json');
	same([document.status, document.type, JSON.parse(document.body).code], [404, 'application/problem+json', 'protocol.path_not_found']);
	// --problem-base
	same(JSON.parse(document.body).type, 'https://tools.example/problems/protocol-path-not-found');
});

test('--problem-base takes a URL that ends in a slash', () => {
	for (const value of ['x', 'ftp://x/', 'https://x/problems', 'https://x/ y/']) {
		const { status, err } = run(['serve', '--problem-base', value]);
		same(status, 2, value);
		match(err, /--problem-base takes an http or https URL that ends in a slash/);
	}
});

await finish();
child.kill('SIGTERM');
