// A policy file: rate, concurrency, budgets, deadlines, permitted tools and the breaker, by
// MCP and by the API, in `serve` and in `gate`; and that a changed file is read again.

// reaches: governance.rate_limited
// reaches: governance.budget_exceeded
// reaches: runtime.timeout
// reaches: dependency.unavailable

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { renameSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { root, run } from './lib/cli.mjs';
import { Place, api, ask, canonical, isFine, mcp, until } from './lib/govern.mjs';

const hazard = join(process.env.FW_BUILD ?? join(root, 'build'), 'hazard');
const place = new Place('policy');
const EXPLAIN = 'explain_error_code';
const CODE = { code: 'file.not_found' };
const names = ['fast', 'parallel', 'spender', 'costly', 'monthly', 'narrow', 'slow', 'broken', 'reloaded', 'by-scope', 'shared', 'api-spender', 'single'];
const token = {};
let server, gate;

const policy = {
	version: 1,
	costs: { '*': 1, raise_error: 3 },
	clients: {
		fast: { calls_per_second: 0.001, burst: 3 },
		parallel: { calls_per_second: 0.000001, burst: 100 },
		spender: { budget_per_day: 10 },
		'api-spender': { budget_per_day: 4 },
		costly: { budget_per_day: 7 },
		monthly: { budget_per_day: 1000, budget_per_month: 5 },
		narrow: { tools: ['explain_*'] },
		single: { concurrent: 1, deadline_seconds: 0.5 },
		slow: { deadline_seconds: 0.2 },
		shared: { budget_per_day: 200 },
		reloaded: { calls_per_second: 0.001, burst: 1 },
	},
	scopes: { 'toolset:diag': { calls_per_second: 0.001, burst: 2 } },
	breaker: { failures: 3, pause_seconds: 2 },
};

function write(text) {
	writeFileSync(place.file('policy.new'), typeof text === 'string' ? text : JSON.stringify(text, null, '\t'));
	renameSync(place.file('policy.new'), place.file('policy.json'));
}

before(async () => {
	for (const name of names) token[name] = place.token(name, ...(name === 'by-scope' ? ['toolset:diag'] : ['admin']));
	write(policy);
	server = await place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--log', 'json', '--limit', 'client_in_flight=2000', '--limit', 'in_flight=4000', '--limit', 'http_connections=3000');
	gate = await place.start('gate', '--tokens', '--clients', place.file('policy.json'), '--log', 'off', '--name', 'inner', '--', hazard);
});
after(() => place.end());

const as = (name) => ({ token: token[name] });
const explain = (name, to = server) => mcp(to, EXPLAIN, CODE, as(name));

test('a bucket refills slowly, and the refusal says when to come back', async () => {
	for (let i = 0; i < 3; i++) assert.ok(isFine(await explain('fast')));
	const refused = await explain('fast');
	assert.equal(canonical(refused).code, 'governance.rate_limited');
	assert.ok(canonical(refused).retry_after > 1);
	const page = await api(server, EXPLAIN, CODE, as('fast'));
	assert.equal(page.status, 429);
	assert.equal(page.json.code, 'governance.rate_limited');
	assert.ok(Number(page.headers.get('retry-after')) > 1);
});

test('1,000 parallel calls on a bucket of 100: exactly 100 pass', async () => {
	const calls = [];
	for (let i = 0; i < 1000; i++) calls.push(i % 2 ? explain('parallel') : api(server, EXPLAIN, CODE, as('parallel')));
	const replies = await Promise.all(calls);
	assert.equal(replies.filter(isFine).length, 100);
	for (const reply of replies.filter((reply) => !isFine(reply))) assert.equal(canonical(reply)?.code ?? reply.json.code, 'governance.rate_limited');
});

test('a budget is spent exactly, and the refusal says what is left and when it renews', async () => {
	const replies = await Promise.all(Array.from({ length: 25 }, () => explain('spender')));
	assert.equal(replies.filter(isFine).length, 10);
	const refused = canonical(replies.find((reply) => !isFine(reply)));
	assert.equal(refused.code, 'governance.budget_exceeded');
	assert.equal(refused.retryable, undefined);
	assert.equal(refused.context.left, 0);
	assert.match(refused.context.renews_at, /^\d{4}-\d{2}-\d{2}T00:00:00/);
	assert.ok(Date.parse(refused.context.renews_at) > Date.now());
});

test('the same by the API: 403', async () => {
	const replies = await Promise.all(Array.from({ length: 9 }, () => api(server, EXPLAIN, CODE, as('api-spender'))));
	assert.equal(replies.filter(isFine).length, 4);
	const refused = replies.find((reply) => !isFine(reply));
	assert.equal(refused.status, 403);
	assert.equal(refused.json.code, 'governance.budget_exceeded');
	assert.equal(refused.json.retryable, false);
	assert.equal(refused.json.details.period, 'day');
});

test('a tool has its cost; what is left is enough for a cheaper one', async () => {
	const raise = () => mcp(server, 'raise_error', CODE, as('costly'));
	assert.equal(canonical(await raise()).code, 'file.not_found');
	assert.equal(canonical(await raise()).code, 'file.not_found');
	const refused = canonical(await raise());
	assert.equal(refused.code, 'governance.budget_exceeded');
	assert.equal(refused.context.left, 1);
	assert.equal(refused.context.cost, 3);
	assert.ok(isFine(await explain('costly')));
	assert.equal(canonical(await explain('costly')).code, 'governance.budget_exceeded');
});

test('the smaller of two budgets counts', async () => {
	const replies = await Promise.all(Array.from({ length: 8 }, () => explain('monthly')));
	assert.equal(replies.filter(isFine).length, 5);
	assert.equal(canonical(replies.find((reply) => !isFine(reply))).context.period, 'month');
});

test('two servers share a budget, and a stop gives back what was reserved', async () => {
	const other = await place.start('serve', '--tools', 'diag', '--tokens', '--clients', place.file('policy.json'), '--log', 'off');
	for (let i = 0; i < 3; i++) assert.ok(isFine(await explain('shared', other)));
	assert.equal(await other.stop(), 0);
	const replies = [];
	for (let i = 0; i < 5; i++) replies.push(...(await Promise.all(Array.from({ length: 46 }, () => explain('shared')))));
	for (const reply of replies.filter((reply) => !isFine(reply))) assert.equal(canonical(reply)?.code, 'governance.budget_exceeded', reply.text);
	assert.equal(replies.filter(isFine).length, 197);
});

test('a client may call only the tools of its entry', async () => {
	assert.ok(isFine(await explain('narrow')));
	const refused = await mcp(server, 'raise_error', CODE, as('narrow'));
	assert.equal(canonical(refused).code, 'auth.forbidden');
});

test('an entry of a scope applies to clients without an entry of their own', async () => {
	assert.ok(isFine(await explain('by-scope')));
	assert.ok(isFine(await explain('by-scope')));
	assert.equal(canonical(await explain('by-scope')).code, 'governance.rate_limited');
});

test('a deadline ends a call: runtime.timeout, 504 by the API', async () => {
	const late = await api(gate, 'deaf', {}, as('slow'));
	assert.equal(late.status, 504, late.text);
	assert.equal(late.json.code, canonical(await mcp(gate, 'deaf', {}, as('slow'))).code);
	assert.equal(late.json.retryable, true);
});

test('a gateway: deadline, calls at once, and budget of its clients', async () => {
	const slow = await mcp(gate, 'deaf', {}, as('slow'));
	assert.equal(canonical(slow).code, 'runtime.timeout', slow.text);
	const both = (await Promise.all([mcp(gate, 'deaf', {}, as('single')), mcp(gate, 'deaf', {}, as('single'))])).map((reply) => canonical(reply).code);
	assert.deepEqual(both.sort(), ['governance.rate_limited', 'runtime.timeout']);
	const spent = await Promise.all(Array.from({ length: 9 }, () => mcp(gate, 'echo_inline', { text: 'x' }, as('monthly'))));
	// It was used up at the server: they share the store.
	assert.equal(spent.filter(isFine).length, 0);
	assert.equal(canonical(spent[0]).code, 'governance.budget_exceeded');
});

test('a breaker refuses a tool whose dependency is down, and tries again', async () => {
	const raise = (code) => mcp(server, 'raise_error', { code }, as('broken'));
	for (let i = 0; i < 3; i++) assert.equal(canonical(await raise('transport.connection_refused')).code, 'transport.connection_refused');
	const refused = canonical(await raise('file.not_found'));
	assert.equal(refused.code, 'dependency.unavailable');
	assert.equal(refused.delivery, 'not_sent');
	assert.ok(refused.retry_after > 0);
	const page = await api(server, 'raise_error', CODE, as('broken'));
	assert.equal(page.status, 503);
	assert.equal(page.json.code, 'dependency.unavailable');
	assert.ok(Number(page.headers.get('retry-after')) >= 1);
	assert.ok(isFine(await explain('broken')), 'other tools go on');
	await until(async () => canonical(await raise('file.not_found')).code === 'file.not_found', 'the end of the pause');
});

test('a changed policy is read without a restart; one that is not valid is rejected', async () => {
	assert.ok(isFine(await explain('reloaded')));
	assert.equal(canonical(await explain('reloaded')).code, 'governance.rate_limited');
	write({ ...policy, clients: { ...policy.clients, reloaded: { tools: [] } } });
	await until(async () => canonical(await explain('reloaded'))?.code === 'auth.forbidden', 'the new policy');
	write('{\n"version": 1,\n"clients": {\n"ada": { "burst": -1 } } }');
	await until(() => server.said.includes('policy_rejected'), 'the rejection');
	assert.match(server.said, /policy\.json:4: clients\.ada\.burst must be a whole number/);
	assert.equal(canonical(await explain('reloaded')).code, 'auth.forbidden');
	write({ version: 1 });
	await until(async () => isFine(await explain('reloaded')), 'no limits');
});

test('a policy that is not valid keeps a server from starting, with file, line and member', () => {
	for (const [text, expected] of [
		['{"version":1,\n "clients":{"a":{"calls_per_seconds":1}}}', /:2: clients\.a\.calls_per_seconds must be calls_per_second, /],
		['{"version":2}', /:1: version must be/],
		['{', /:1: the policy must be JSON/],
		['{"version":1,"scopes":{"write":{}}}', /scopes\.write must be a scope/],
		['{"version":1,"default":{"burst":5}}', /default must be an object that has calls_per_second/],
	]) {
		writeFileSync(place.file('bad.json'), text);
		const result = run(['serve', '--tools', 'diag', '--clients', place.file('bad.json')], { env: place.env });
		assert.equal(result.status, 1, result.err);
		assert.match(result.err, expected);
	}
});

test('refusals are in the metrics, and servers stop cleanly', async () => {
	const metrics = await ask(server, '/metrics', as('broken'));
	for (const code of ['governance.rate_limited', 'governance.budget_exceeded', 'dependency.unavailable', 'auth.forbidden']) assert.ok(metrics.text.includes(`code="${code}"`), code);
	assert.equal(await server.stop(), 0);
	assert.equal(await gate.stop(), 0);
});
