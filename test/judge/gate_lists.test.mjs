/*
 * Lists that the official client rejects as a whole because of one mistake, through the gateway: the client gets the
 * list, without the items that cannot be corrected.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { env, faultwire, quiet } from './gate_lib.mjs';

// Answers each list with LISTS[method], as it is; "page" is answered with the cursor of the request.
const program = (lists) => `
	const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
	const lists = ${JSON.stringify(lists)};
	require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
		const { id, method, params } = JSON.parse(line);
		if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: { name: 'x', version: '1' } } });
		else if (lists[method]) send({ id, result: lists[method] });
		else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
	});`;

async function connected(command, args) {
	const client = new Client({ name: 'judge', version: '1' });
	await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }));
	return client;
}

async function all(client) {
	const pages = [];
	let cursor;
	do {
		const page = await client.listTools(cursor === undefined ? undefined : { cursor });
		pages.push(page.tools);
		cursor = page.nextCursor;
	} while (cursor !== undefined && pages.length < 5);
	return pages;
}

const object = { type: 'object' };
const good = { name: 'good', inputSchema: object };
const rows = [
	['the cursor is null', { tools: [good], nextCursor: null }, ['good']],
	['a tool has no inputSchema', { tools: [good, { name: 'odd' }] }, ['good', 'odd']],
	['the inputSchema of a tool is empty', { tools: [good, { name: 'odd', inputSchema: {} }] }, ['good', 'odd']],
	['an inputSchema has two types', { tools: [good, { name: 'odd', inputSchema: { type: ['object', 'null'], properties: { a: { default: null } } } }] }, ['good', 'odd']],
	['the arguments of a tool are a string', { tools: [good, { name: 'odd', inputSchema: { type: 'string' } }] }, ['good']],
	['members of a tool are null', { tools: [good, { name: 'odd', title: null, description: null, annotations: { title: null }, outputSchema: null, _meta: null, inputSchema: object }] }, ['good', 'odd']],
	['an outputSchema is none', { tools: [good, { name: 'odd', inputSchema: object, outputSchema: { type: 'object', properties: { a: { type: 'wrong' } } } }] }, ['good', 'odd']],
	['a tool has no name', { tools: [good, { inputSchema: object }] }, ['good']],
	['a tool is not an object', { tools: [good, 'odd', null] }, ['good']],
];

for (const [what, list, names] of rows)
	test(`${what}: the other tools can be used`, async () => {
		const code = program({ 'tools/list': list });
		const direct = await connected(process.execPath, ['-e', code]);
		await assert.rejects(direct.listTools(), 'the client accepts it without the gateway');
		await direct.close();
		for (const more of [[], ['--trust-annotations']]) {
			const client = await connected(faultwire, ['gate', ...quiet, '--era', 'legacy', ...more, '--', process.execPath, '-e', code]);
			const [tools] = await all(client);
			assert.deepEqual(tools.map(({ name }) => name), names);
			for (const { inputSchema } of tools) assert.equal(inputSchema.type, 'object');
			assert.equal(tools.find(({ name }) => name === 'odd')?.inputSchema.properties?.a.default, what.includes('two types') ? null : undefined);
			await client.close();
		}
	});

test('a cursor that does not advance ends the list', async () => {
	for (const nextCursor of ['again', '']) {
		const code = program({ 'tools/list': { tools: [good], nextCursor } });
		const client = await connected(faultwire, ['gate', ...quiet, '--era', 'legacy', '--', process.execPath, '-e', code]);
		assert.equal((await all(client)).length, 2);
		await client.close();
		const merged = await connected(faultwire, ['gate', ...quiet, '--era', 'legacy', '--trust-annotations', '--', process.execPath, '-e', code]);
		assert.deepEqual((await all(merged)).map((page) => page.length), [1]);
		await merged.close();
	}
});

test('a result without a list is an error, not an empty list', async () => {
	for (const list of [{}, { tools: {} }, { tools: null }])
		for (const more of [[], ['--trust-annotations']]) {
			const client = await connected(faultwire, ['gate', ...quiet, '--era', 'legacy', ...more, '--', process.execPath, '-e', program({ 'tools/list': list })]);
			await assert.rejects(client.listTools(), (error) => error.data['dev.faultwire/error'].code === 'upstream.invalid_reply' && error.message.includes('it has no array "tools"'));
			await client.close();
		}
});

test('members of prompts and resources that are null, and resources without a name', async () => {
	const code = program({
		'prompts/list': { prompts: [{ name: 'ask', description: null, arguments: [{ name: 'a', description: null, required: null }] }], nextCursor: null },
		'resources/list': { resources: [{ uri: 'file:///a', description: null, mimeType: null, annotations: null }, { name: 'lost' }] },
		'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'file:///{x}', name: null }] },
	});
	const client = await connected(faultwire, ['gate', ...quiet, '--era', 'legacy', '--', process.execPath, '-e', code]);
	assert.deepEqual((await client.listPrompts()).prompts, [{ name: 'ask', arguments: [{ name: 'a' }] }]);
	assert.deepEqual((await client.listResources()).resources, [{ uri: 'file:///a', name: 'file:///a' }]);
	assert.deepEqual((await client.listResourceTemplates()).resourceTemplates, [{ uriTemplate: 'file:///{x}', name: 'file:///{x}' }]);
	await client.close();
});
