// The published schema of the policy file, by ajv, agrees with what the server accepts.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import { root, run } from '../wire/lib/cli.mjs';
import { Place } from '../wire/lib/govern.mjs';

const place = new Place('policy-schema');
after(() => place.end());

const schema = JSON.parse(readFileSync(join(root, 'docs/schemas/policy.schema.json'), 'utf8'));
const validate = new Ajv({ strict: true, strictTypes: false }).compile(schema);
const example = JSON.parse(readFileSync(join(root, 'docs/governance.md'), 'utf8').match(/```json\n([\s\S]*?)```/)[1]);

const valid = [
	{ version: 1 },
	example,
	{ version: 1, $schema: 'x', default: {} },
	{ version: 1, clients: { a: { budget_per_day: 0, tools: [] } }, scopes: { 'tool:x': { concurrent: 1 }, admin: {} } },
	{ version: 1, breaker: {}, costs: { '*': 0 }, oauth_scopes: { a: [], b: ['toolset:x'] } },
];
const invalid = [
	[], {}, { version: 2 }, { version: 1, other: 1 },
	{ version: 1, default: { burst: 3 } },
	{ version: 1, default: { calls_per_second: 0 } },
	{ version: 1, default: { calls_per_second: '1' } },
	{ version: 1, default: { concurrent: 0 } },
	{ version: 1, default: { deadline_seconds: 100000 } },
	{ version: 1, default: { budget_per_day: 1.5 } },
	{ version: 1, default: { tools: [''] } },
	{ version: 1, scopes: { write: {} } },
	{ version: 1, scopes: { 'tool:': {} } },
	{ version: 1, costs: { a: -1 } },
	{ version: 1, breaker: { failures: 0 } },
	{ version: 1, oauth_scopes: { a: ['x'] } },
];

function isAccepted(policy) {
	const file = place.file('policy.json');

	writeFileSync(file, JSON.stringify(policy));
	return run(['serve', '--tools', 'diag', '--run', 'inline', '--log', 'off', '--clients', file], { env: place.env }).status === 0;
}

test('what the schema accepts, the server accepts', () => {
	for (const policy of valid) {
		assert.ok(validate(policy), JSON.stringify(validate.errors));
		assert.ok(isAccepted(policy), JSON.stringify(policy));
	}
});

test('what the schema refuses, the server refuses', () => {
	for (const policy of invalid) {
		assert.ok(!validate(policy), JSON.stringify(policy));
		assert.ok(!isAccepted(policy), JSON.stringify(policy));
	}
});
