/*
 * What every official client must see of examples/everything, directly
 * (clients.test.mjs) and through the gateway (gate_clients.test.mjs).
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { Client as Client2 } from '@modelcontextprotocol/client';

const identity = { name: 'judge', version: '1' };
const v2 = (mode) => (capabilities) => new Client2(identity, { capabilities, versionNegotiation: { mode } });

export const clients = {
	v1: (capabilities) => new Client1(identity, { capabilities }),
	'v2 legacy': v2('legacy'),
	'v2 modern': v2({ pin: '2026-07-28' }),
	'v2 auto': v2('auto'),
};

/* The tests of one client over one transport. */
export function judgeClient(name, make, transport) {
	describe(name, () => {
		let client;
		before(async () => {
			client = make({});
			await client.connect(transport());
		});
		after(() => client.close());

		test(`${name}: lists and calls`, async () => {
			const { tools } = await client.listTools();
			assert.ok(tools.some((tool) => tool.name === 'echo'));
			const result = await client.callTool({ name: 'echo', arguments: { text: 'hello \u2028 "there"' } });
			assert.equal(result.content[0].text, 'hello \u2028 "there"');
			assert.ok(!result.isError);
		});

		test(`${name}: a failing tool shows its envelope, whole`, async () => {
			const result = await client.callTool({ name: 'fail', arguments: { text: 'x' } });
			assert.equal(result.isError, true);
			const envelope = JSON.parse(result.content[0].text);
			assert.deepEqual(Object.keys(envelope).slice(0, 3), ['type', 'message', 'recoverable']);
			const canonical = result._meta['dev.faultwire/error'];
			assert.equal(canonical.type, envelope.type);
			assert.equal(canonical.tool, 'fail');
			assert.match(canonical.incident_id, /^inc_\d{8}_[a-z2-7]+$/);
			assert.match(canonical.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
		});

		test(`${name}: arguments that break the schema are an error of the tool`, async () => {
			const result = await client.callTool({ name: 'echo', arguments: { text: 5 } });
			assert.equal(result.isError, true);
			const canonical = result._meta['dev.faultwire/error'];
			assert.equal(canonical.code, 'input.invalid_type');
			assert.equal(canonical.origin, 'client');
		});

		for (const contract of ['kaiza', 'context-v0', 'codeintel', 'toolerror', 'owlclaw'])
			test(`${name}: the request chooses ${contract}`, async () => {
				const result = await client.callTool({
					name: 'fail', arguments: { text: 'x' }, _meta: { 'dev.faultwire/contract': contract },
				});
				const envelope = JSON.parse(result.content[0].text);
				const sign = { kaiza: 'error_code', 'context-v0': 'error', codeintel: 'problem', toolerror: 'recoverable', owlclaw: 'error' };
				assert.ok(sign[contract] in envelope);
			});

		test(`${name}: progress arrives`, async () => {
			const seen = [];
			const result = await client.callTool({ name: 'test_tool_with_progress', arguments: {} },
				...(client instanceof Client1 ? [undefined] : []), { onprogress: (p) => seen.push(p.progress) });
			assert.ok(!result.isError);
			/* the v2 client drops one that comes in the same chunk as the result */
			assert.ok(seen.length >= 1, `saw ${seen}`);
		});

		test(`${name}: a tool with an outputSchema can fail without its error being hidden`, async () => {
			await client.listTools(); /* now the v1 client checks results by the schema */
			const right = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
			assert.deepEqual(right.structuredContent, { sum: 3 });
			for (const [args, code] of [[{ a: 1 }, 'input.missing_field'], [{ a: 1, b: 2, wrong: true }, 'tool.invalid_result']]) {
				const result = await client.callTool({ name: 'add', arguments: args });
				assert.equal(result.isError, true);
				assert.equal(result._meta['dev.faultwire/error'].code, code);
				assert.ok(JSON.parse(result.content[0].text).message);
			}
		});

		test(`${name}: a deadline is reported at once, and may be retried`, async () => {
			const result = await client.callTool({ name: 'slow_with_deadline', arguments: { ms: 5000 } });
			const canonical = result._meta['dev.faultwire/error'];
			assert.equal(canonical.code, 'runtime.timeout');
			assert.equal(canonical.retry, 'backoff');
		});

		test(`${name}: a call can be cancelled, and the connection is fine afterwards`, async () => {
			const abort = new AbortController();
			setTimeout(() => abort.abort('enough'), 100);
			const options = { signal: abort.signal };
			await assert.rejects(client.callTool({ name: 'slow', arguments: { ms: 10000 } },
				...(client instanceof Client1 ? [undefined] : []), options));
			const result = await client.callTool({ name: 'echo', arguments: { text: 'still here' } });
			assert.equal(result.content[0].text, 'still here');
		});

		test(`${name}: an unknown tool is an error of the protocol`, async () => {
			await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), (err) => {
				assert.equal(err.code, -32602);
				assert.equal(err.data?.['dev.faultwire/error']?.code, 'protocol.unknown_tool');
				return true;
			});
		});
	});
}
