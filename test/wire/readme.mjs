// README.md and docs/clients.md promise what is there: their commands are run, their
// configurations start a server.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, finish, root, same, scratch, shell, test } from './lib/cli.mjs';
import { Wire } from './lib/mcp.mjs';

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const clients = readFileSync(join(root, 'docs/clients.md'), 'utf8');
const blocks = (text, language) => [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map((match) => match[1]);

// Ids are different each time, and rules of the classifier are tuned.
const lasting = (text) => text.replaceAll(/inc_\d{8}_[a-z2-7]+/g, 'inc_ID').replaceAll(/^ +rule: .*$/gm, '  rule: ...').trimEnd();

test('the first example of README.md goes through classify, and prints what it shows', () => {
	const [first] = blocks(readme, 'console');
	const steps = first.split(/^\$ /m).slice(1);
	check(steps[0].includes('faultwire classify'));
	for (const step of steps) {
		const [command, ...said] = step.split('\n');
		const { status, out, err } = shell(command);
		same([status, err, lasting(out)], [0, '', lasting(said.join('\n'))], command);
	}
});

test('five clients are named, and every configuration is JSON', () => {
	for (const client of ['Claude Desktop', 'Claude Code', 'Cursor', 'VS Code', 'Windsurf']) {
		check(new RegExp(`^## ${client}$`, 'm').test(clients), client);
		check(readme.includes(client), client);
	}
	same(blocks(clients, 'json').length, 6);
	for (const text of [...blocks(clients, 'json'), ...blocks(readme, 'json')]) JSON.parse(text);
});

test('every configuration that starts a command starts a server that answers', async () => {
	const configured = [...blocks(clients, 'json'), ...blocks(readme, 'json')].flatMap((text) => {
		const { mcpServers, servers } = JSON.parse(text);
		return Object.values(mcpServers ?? servers ?? {});
	});
	let started = 0;
	for (const { command, args } of configured) {
		if (!command) continue;
		same(command, 'faultwire');
		const wire = new Wire(args.map((arg) => arg.replace('/home/me', scratch())), bin);
		const { serverInfo } = await wire.initialize();
		same(serverInfo.name, 'faultwire');
		await wire.end();
		started++;
	}
	same(started, 6);
});

finish();
