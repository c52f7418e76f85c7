// faultwire wrap: a client's configuration file, every server behind the gateway, and back.

import { createServer } from 'node:http';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, statSync, symlinkSync, lstatSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { check, finish, run, same, scratch, start, test } from './lib/cli.mjs';
import { files, read, servers } from './data/wrap.mjs';

function put(name, text) {
	const dir = mkdtempSync(join(scratch(), 'wrap-'));
	const path = join(dir, name);
	writeFileSync(path, text);
	return { dir, path, text: () => readFileSync(path, 'utf8') };
}

function wrap(...args) {
	const found = run(['wrap', ...args]);
	same(found.status, 0, `wrap ${args.slice(0, -1).join(' ')}: ${found.err}`);
	return found;
}

const isOurs = (entry) => typeof entry.command === 'string' && basename(entry.command) === 'faultwire' && entry.args?.[0] === 'gate';
const urlOf = (entry) => entry.url ?? entry.serverUrl;

// What an entry is after it was wrapped, by what it was before.
function checkEntry(path, before, after) {
	check(isOurs(after), `${path} is started through the gateway: ${JSON.stringify(after)}`);
	if (before.command !== undefined) {
		const at = after.args.indexOf('--');
		check(at > 0, `${path}: the command follows "--"`);
		same(after.args.slice(at + 1), [before.command, ...(before.args ?? [])], `${path}: its command is unchanged`);
	} else {
		same(after.args[after.args.indexOf('--url') + 1], urlOf(before), `${path}: its URL is unchanged`);
		check(after.type === undefined || after.type === 'stdio', `${path}: it is a program`);
		// Arguments are visible to every user of the machine; the environment is not.
		same(after.env, before.headers, `${path}: its headers are the environment`);
		const named = after.args.filter((_, i) => after.args[i - 1] === '--header-env');
		same(named, Object.keys(before.headers ?? {}), `${path}: and the gateway sends each of them`);
	}
	if (before.command !== undefined) same(after.env, before.env, `${path}: env is unchanged`);
	for (const key of ['cwd', 'disabled', 'disabledTools', 'timeout', 'autoApprove']) same(after[key], before[key], `${path}: ${key} is unchanged`);
}

for (const { name, text, wrapped } of files) {
	test(`${name}: every server goes through the gateway, the rest stays`, () => {
		const file = put(name, text);
		wrap(file.path);
		const before = new Map(servers(read(text)));
		const after = servers(read(file.text()));
		same(after.map(([path]) => path), [...before.keys()], 'servers, in their order');
		same(after.filter(([, entry]) => isOurs(entry)).length, wrapped, 'servers wrapped');
		for (const [path, entry] of after) checkEntry(path, before.get(path), entry);
	});

	test(`${name}: comments, line ends and other members keep their bytes`, () => {
		const file = put(name, text);
		wrap(file.path);
		const now = file.text();
		for (const comment of text.match(/\/\/ [^\n\r"]*|\/\*.*?\*\//g) ?? []) check(now.includes(comment), `the comment ${comment}`);
		same(/\r\n/.test(now), /\r\n/.test(text), 'CRLF');
		check(!/\r\n/.test(text) || !/[^\r]\n/.test(now), 'no bare LF in a file with CRLF');
		same(now.startsWith('\uFEFF'), text.startsWith('\uFEFF'), 'byte order mark');
		same(now.endsWith('\n'), text.endsWith('\n'), 'last newline');
		// Up to the first server, and after the last one.
		const first = text.search(/"(mcpServers|servers)"/);
		same(now.slice(0, first), text.slice(0, first), 'what is before the servers');
	});

	test(`${name}: wrapping twice is wrapping once`, () => {
		const file = put(name, text);
		wrap(file.path);
		const once = file.text();
		const { out, err } = wrap(file.path);
		same(file.text(), once, 'the file');
		check(!/\bwrapped [1-9]/.test(out + err), `it says that nothing changed: ${out}${err}`);
	});

	test(`${name}: --undo gives the bytes back`, () => {
		const file = put(name, text);
		wrap(file.path);
		wrap('--undo', file.path);
		same(file.text(), text);
	});

	test(`${name}: a backup has the original`, () => {
		const file = put(name, text);
		wrap(file.path);
		const others = readdirSync(file.dir).filter((other) => other !== name);
		check(others.some((other) => readFileSync(join(file.dir, other), 'utf8') === text), `a copy of the original beside it: ${others}`);
	});

	test(`${name}: --dry-run prints the change and writes nothing`, () => {
		const file = put(name, text);
		const { out, err } = wrap('--dry-run', file.path);
		same(file.text(), text);
		same(readdirSync(file.dir), [name], 'no other file');
		check((out + err).includes('gate'), `the change is printed: ${out}${err}`);
	});
}

const one = (entry) => `{\n  "mcpServers": {\n    "x": ${entry}\n  }\n}\n`;

test('secrets of the file are not printed', () => {
	const file = put('c.json', files[0].text);
	const { out, err } = wrap(file.path);
	check(!(out + err).includes('ghp_0123456789'), out + err);
});

test('an entry that starts the gateway already is left alone', () => {
	const text = one('{ "command": "faultwire", "args": ["gate", "--deadline", "5000", "--", "npx", "server"] }');
	const file = put('c.json', text);
	wrap(file.path);
	same(file.text(), text);
});

test('a file that the client wrote again in its own layout is unwrapped, too', () => {
	for (const { name, text } of files) {
		const file = put(name, text);
		wrap(file.path);
		writeFileSync(file.path, JSON.stringify(read(file.text()), null, 2));
		const again = file.text();
		wrap(file.path);
		same(file.text(), again, `${name}: it is still known as wrapped`);
		wrap('--undo', file.path);
		same(read(file.text()), read(text), name);
	}
});

for (const [what, entry] of [
	['the transport of 2024', '{ "type": "sse", "url": "https://example.com/sse" }'],
	['a URL of another scheme', '{ "url": "ws://example.com/" }'],
	['a command and a URL', '{ "command": "x", "url": "https://example.com/" }'],
	['headers and an environment', '{ "url": "https://example.com/", "headers": {"A": "b"}, "env": {"C": "d"} }'],
	['neither a command nor a URL', '{ "note": "later" }'],
])
	test(`${what}: left unchanged, and it says why`, () => {
		const file = put('c.json', one(entry));
		const { err } = wrap(file.path);
		same(file.text(), one(entry));
		check(/x: left unchanged: /.test(err), err);
	});

test('odd layouts of a remote server come back to the byte', () => {
	for (const entry of [
		'{"headers" : {\n"A":"b" , /* c */ "D-E":"f",} ,"url"\t:\r\n"https://example.com/a?b=\\u0063" // d\n,}',
		'{ "url": "${BASE}/mcp", "type" : "streamable-http", "headers": { } }',
		'{ "type": "streamableHttp", "headers": {}, "serverUrl": "http://127.0.0.1:1/", "disabled": true }',
	])
		for (const name of ['x', '--url', '--', '\\u0022']) {
			const text = one(entry).replace('"x"', `"${name}"`);
			const file = put('c.json', text);
			wrap(file.path);
			check(isOurs(Object.values(read(file.text()).mcpServers)[0]), `${name}: wrapped: ${file.text()}`);
			wrap('--undo', file.path);
			same(file.text(), text, entry);
		}
});

test('a wrapped remote server gets its headers, and they are not in the arguments', async () => {
	const seen = [];
	const server = createServer((request, response) => {
		seen.push(request.headers);
		response.writeHead(401).end();
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const url = `http://127.0.0.1:${server.address().port}/mcp`;
	const file = put('c.json', one(`{ "type": "http", "url": "${url}", "headers": { "Authorization": "Bearer s3cret", "X-Team": "a=b: c" } }`));
	const { out, err } = wrap(file.path);
	check(!(out + err).includes('s3cret'), out + err);
	const { args, env } = read(file.text()).mcpServers.x;
	check(!args.join(' ').includes('s3cret'), args.join(' '));
	const gate = start([...args, '--log', 'off', '--audit', 'off', '--incidents', 'off'], { env });
	gate.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'wire', version: '1' } } })}\n${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })}\n`);
	gate.stdout.resume();
	await once(gate, 'exit');
	server.close();
	check(seen.length > 0, 'the server was asked');
	for (const headers of seen) same([headers.authorization, headers['x-team']], ['Bearer s3cret', 'a=b: c']);
});

test('a header whose variable is not set is an error', () => {
	const { status, err } = run(['gate', '--url', 'http://127.0.0.1:1/mcp', '--header-env', 'Authorization=NO_SUCH_VARIABLE']);
	check(status !== 0 && err.includes('NO_SUCH_VARIABLE'), err);
	same(run(['gate', '--header-env', 'A', '--', 'cat']).status, 2, 'a program has no headers');
});

test('--undo keeps what was edited since', () => {
	const file = put('c.json', files[0].text);
	wrap(file.path);
	writeFileSync(file.path, file.text().replace('Ctrl+Space', 'Alt+Space').replace('/home/ada/My Files', '/srv/shared'));
	wrap('--undo', file.path);
	same(file.text(), files[0].text.replace('Ctrl+Space', 'Alt+Space').replace('/home/ada/My Files', '/srv/shared'));
});

test('--undo of a file that was never wrapped changes nothing', () => {
	const file = put('c.json', files[0].text);
	wrap('--undo', file.path);
	same(file.text(), files[0].text);
});

test('mode and symbolic link of the file are kept', () => {
	const file = put('real.json', files[0].text);
	chmodSync(file.path, 0o600);
	const link = join(file.dir, 'link.json');
	symlinkSync('real.json', link);
	wrap(link);
	check(lstatSync(link).isSymbolicLink(), 'still a link');
	same(statSync(file.path).mode & 0o777, 0o600, 'mode');
	check(file.text().includes('gate'), 'the file behind the link is wrapped');
	for (const other of readdirSync(file.dir)) same(statSync(join(file.dir, other)).mode & 0o077, 0, `nobody else reads ${other}`);
});

for (const [what, text] of [
	['a file that is not JSON', '{"mcpServers": {"x": {"command": }}'],
	['a file that is cut', files[0].text.slice(0, 200)],
	['an array', '[]'],
	['an empty file', ''],
	['a command that is not a string', one('{ "command": 5 }')],
	['arguments that are no array', one('{ "command": "x", "args": "y" }')],
])
	test(`${what}: an error, and the file stays as it was`, () => {
		const file = put('c.json', text);
		const { status, err } = run(['wrap', file.path]);
		check(status !== 0, 'it fails');
		check(err.length > 0, 'and says why');
		same(file.text(), text);
		same(readdirSync(file.dir), ['c.json'], 'no other file');
	});

test('servers in the settings of VS Code', () => {
	const text = `{\n\t"editor.fontSize": 12, // mine\n\t"mcp": {"inputs": [], "servers": {"x": {"command": "npx", "args": ["s"]}}}\n}\n`;
	const file = put('settings.json', text);
	check(/^faultwire: x: wrapped$/m.test(wrap(file.path).err), 'it says so');
	check(isOurs(read(file.text()).mcp.servers.x), file.text());
	wrap('--undo', file.path);
	same(file.text(), text);
});

test('an entry with an envFile is left alone: the gateway does not know the names of its variables', () => {
	const file = put('mcp.json', one('{"command": "npx", "envFile": ".env"}'));
	const before = file.text();
	check(wrap(file.path).err.includes('envFile'), 'it says why');
	same(file.text(), before);
});

test('the backup is the text before the last wrap, also after an --undo and a change', () => {
	const file = put('c.json', one('{"command": "a"}'));
	const backup = () => readFileSync(`${file.path}.before-faultwire`, 'utf8');
	wrap(file.path);
	wrap('--undo', file.path);
	const changed = one('{"command": "b"}');
	writeFileSync(file.path, changed);
	wrap(file.path);
	same(backup(), changed);
	// One more server in a wrapped file: the backup stays what it was.
	writeFileSync(file.path, file.text().replace('"x":', '"y": {"command": "c"}, "x":'));
	wrap(file.path);
	same(backup(), changed);
});

test('a file without servers: nothing to do, and it says so', () => {
	for (const text of ['{}\n', '{"mcpServers":{}}\n']) {
		const file = put('c.json', text);
		const { out, err } = run(['wrap', file.path]);
		same(file.text(), text);
		check((out + err).length > 0, 'it says something');
	}
});

test('a file that does not exist is an error', () => {
	const { status, err } = run(['wrap', join(scratch(), 'no-such-file.json')]);
	check(status !== 0 && err.includes('no-such-file.json'), err);
	check(!existsSync(join(scratch(), 'no-such-file.json')), 'it is not created');
});

await finish();
