// Toolsets plug in: the program with examples/toolset, added by one line of the build
// file, lists it everywhere; and nothing in src/cli names a toolset.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bin, check, env, finish, match, root, run, same, scratch, test } from './lib/cli.mjs';
import { Wire, canonical, modern, text } from './lib/mcp.mjs';

const example = join(dirname(bin), 'faultwire_example');
const names = (program) => [...ask(program, ['serve', '--help']).match(/^Toolsets:\n([^]*?)\n\n/m)[1].matchAll(/^ {2}(\S+)/gm)].map((m) => m[1]);

function ask(program, args) {
	const { status, stdout, stderr } = spawnSync(program, args, { env, cwd: scratch() });
	same([status, stderr.toString()], [0, ''], args.join(' '));
	return stdout.toString();
}

async function serve(args, body) {
	const wire = new Wire(['serve', '--log', 'off', '--audit', 'off', '--incidents', 'off', ...args], example);
	try {
		await body(wire);
	} finally {
		await wire.end();
	}
}

test('the shipped program does not contain the example', () => {
	same(names(bin), ['diag', 'workspace', 'context', 'code', 'reserve']);
	const { status, err } = run(['serve', '--tools', 'greeting']);
	same(status, 2);
	match(err, /there is no toolset "greeting"/);
});

test('a toolset of the build file is in serve --help, with its options', () => {
	same(names(example), [...names(bin), 'greeting']);
	const help = ask(example, ['serve', '--help']);
	match(help, /^ {2}greeting +an example: greets somebody by name$/m);
	match(help, /Options of toolset greeting:\n +--greeting TEXT +What to say before the name/);
	match(help, /Any of: diag, workspace, context,\s+code,\s+reserve,\s+greeting\./);
});

test('it is in the completion scripts and on the man page', () => {
	match(ask(example, ['completion', 'bash']), /--tools\) COMPREPLY=.*'diag workspace context code reserve greeting'/);
	match(ask(example, ['completion', 'bash']), / --greeting/);
	match(ask(example, ['completion', 'zsh']), /--greeting='\[What to say before the name/);
	const page = ask(example, ['man', 'serve']);
	match(page, /\.TP\n\\fBgreeting\\fR\nan example: greets somebody by name\n/);
	match(page, /\.SS Options of toolset greeting\n\.TP\n\\fB\\-\\-greeting\\fR \\fITEXT\\fR/);
});

test('its tools are listed, with the schema of its file, and can be called', async () => {
	await serve(['--tools', 'greeting', '--greeting', 'Welcome'], async (wire) => {
		const { result } = await wire.request('tools/list', { _meta: modern });
		same(result.tools.map((tool) => tool.name), ['greet']);
		same(result.tools[0].inputSchema, JSON.parse(readFileSync(join(root, 'examples/toolset/schemas/greet.input.json'))));
		same(text(await wire.call('greet', { name: 'Ada' }, modern)), 'Welcome, Ada!');
	});
});

test('it fails in its own contract', async () => {
	await serve(['--tools', 'greeting'], async (wire) => {
		const reply = await wire.call('greet', { name: 'nobody' }, modern);
		same(JSON.parse(text(reply)).type, 'NOT_FOUND');
		same(canonical(reply).code, 'resource.not_found');
		same(canonical(await wire.call('greet', {}, modern)).code, 'input.missing_field');
	});
});

test('it is served beside others, and its value is not that of another option', async () => {
	await serve(['--tools', 'greeting,reserve', '--greeting=Hi', '--agent-id', 'any', '--store', join(scratch(), 'store.db')], async (wire) => {
		const { result } = await wire.request('tools/list', { _meta: modern });
		check(result.tools.some((tool) => tool.name === 'greet') && result.tools.length > 1);
		same(text(await wire.call('greet', { name: 'Ada' }, modern)), 'Hi, Ada!');
	});
});

test('a word that an option of a toolset does not permit is refused', () => {
	const { status, err } = run(['serve', '--lock-on', 'nevr']);
	same(status, 2);
	match(err, /--lock-on must be one of integrity, any, never; found "nevr"/);
	match(err, /Did you mean never\?/);
});

test('no option of serve is declared twice', () => {
	const options = [...ask(example, ['serve', '--help']).matchAll(/^ {2}(?:-\w,| {3}) --([a-z-]+)/gm)].map((m) => m[1]);
	check(options.length > 20);
	same(options.length, new Set(options).size);
});

test('nothing in src/cli names a toolset but the commands about it', () => {
	const found = [];
	const visit = (folder) => {
		for (const entry of readdirSync(folder, { withFileTypes: true })) {
			const path = join(folder, entry.name);
			if (entry.isDirectory()) visit(path);
			else if (/(serve|options|completion|help|man)[^/]*\.[ch]$/.test(path))
				for (const line of readFileSync(path, 'utf8').split('\n'))
					if (/"(diag|workspace|context)\b|tools\/(diag|workspace|context)/.test(line)) found.push(`${path}: ${line}`);
		}
	};
	visit(join(root, 'src/cli'));
	same(found, []);
});

await finish();
