// Results of tools behind the gateway, against CallToolResult and the tool's outputSchema.

// reaches: upstream.invalid_result

import test from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin as faultwire, root, scratch } from './lib/cli.mjs';
import { Wire, canonical, text } from './lib/mcp.mjs';

process.env.XDG_STATE_HOME = scratch();
const typed = join(root, 'test/programs/typed.mjs');
const quiet = ['--log', 'off', '--audit', 'off', '--incidents', 'off'];

async function started(...args) {
	const wire = new Wire(['gate', ...quiet, ...args], faultwire);
	await wire.initialize();
	return wire;
}

async function check(wire, prefix = '') {
	const call = (name) => wire.call(prefix + name);
	assert.deepEqual((await call('good')).result.structuredContent, { total: 3 });
	assert.equal(text(await call('large')).length, 2000000);
	for (const [tool, pointer, expected, found] of [
		['wrong_type', '/total', 'integer', 'string "three"'],
		['missing_member', '', 'property "total"', 'missing'],
		['no_structure', '', 'structured content', 'none'],
	]) {
		const { result } = await call(tool);
		const error = canonical({ result });
		assert.equal(result.isError, true);
		assert.deepEqual([error.code, error.origin, error.delivery, error.retry], ['upstream.invalid_result', 'upstream', 'replied', 'never'], tool);
		assert.deepEqual([error.context.tool, error.context.pointer, error.context.expected, error.context.found], [tool, pointer, expected, found]);
	}
	const secret = await call('secret');
	assert.equal(canonical(secret).code, 'upstream.invalid_result');
	assert.ok(!JSON.stringify(secret).includes('hunter2secret'));
	// A failure need not keep to the schema.
	assert.notEqual(canonical(await call('failed')).code, 'upstream.invalid_result');
	assert.deepEqual((await call('no_schema')).result.structuredContent, { total: 'three' });
	assert.deepEqual((await call('unusable')).result.structuredContent, { total: 'three' });
}

test('a result that breaks the outputSchema of its tool is an error, and the tool runs once', async () => {
	const wire = await started('--trust-annotations', '--', 'node', typed);
	await wire.request('tools/list', {});
	await check(wire);
	assert.equal(text(await wire.call('runs')), '10');
	await wire.end();
});

test('the schema is known from a list of one upstream, of several, and without a list from the second result on', async () => {
	const one = await started('--', 'node', typed);
	assert.equal((await one.call('wrong_type')).result.structuredContent.total, 'three');
	let error;
	for (let i = 0; i < 100 && !error; i++) error = canonical(await one.call('wrong_type'));
	assert.equal(error.code, 'upstream.invalid_result');
	await one.end();
	const config = join(scratch(), 'typed.json');
	writeFileSync(config, JSON.stringify({ mcpServers: { a: { command: 'node', args: [typed] }, b: { command: 'node', args: [typed] } } }));
	const two = await started('--config', config);
	await check(two, 'b__');
	await two.end();
});

test('a result that is not a CallToolResult is an invalid reply', async () => {
	const wire = await started('--', 'node', typed);
	for (const tool of ['no_image', 'no_resource', 'no_link', 'array']) {
		const { code, delivery } = canonical(await wire.call(tool));
		assert.deepEqual([code, delivery], ['upstream.invalid_reply', 'replied'], tool);
	}
	// Kinds of blocks that come later pass.
	assert.equal((await wire.call('future')).result.content[0].type, 'hologram');
	await wire.end();
});
