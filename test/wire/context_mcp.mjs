// The context toolset over stdio and HTTP, in both eras: the same bytes as the
// command line, and each of the six errors through each of its conditions.
//
// reaches: cache.invalid, cache.missing, input.invalid_query, input.invalid_budget

import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, run, same, test } from './lib/cli.mjs';
import { assertError, assertText, cacheRoot, cli, end, errorText, stdio, transports } from './lib/context.mjs';

const place = cacheRoot();
const { root } = place;

const edit = (path, from, to) => {
	const text = readFileSync(path, 'utf8');
	check(text.includes(from), `${path} has ${from}`);
	writeFileSync(path, text.replace(from, to));
};
const first = (name) => join(root, name, 'documents', readdirSync(join(root, name, 'documents'))[0]);

// Caches that are broken, each in its own way.
const broken = {
	'no-manifest': (dir) => unlinkSync(join(dir, 'manifest.json')),
	'bad-manifest': (dir) => writeFileSync(join(dir, 'manifest.json'), '{'),
	'other-version': (dir) => edit(join(dir, 'manifest.json'), '"version": "1"', '"version": "2"'),
	'other-cache-version': (dir) => edit(join(dir, 'manifest.json'), /"sha256:[0-9a-f]{8}/.exec(readFileSync(join(dir, 'manifest.json'), 'utf8'))[0], '"sha256:00000000'),
	'document-missing': (dir, name) => unlinkSync(first(name)),
	'document-changed': (dir, name) => edit(join(dir, readFileSync(join(dir, 'index.json'), 'utf8').match(/"deployment.md": "([^"]+)"/)[1]), 'guide', 'GUIDE'),
	'document-of-another-id': (dir, name) => edit(first(name), '"id":"', '"id":"x'),
	'index-missing': (dir) => unlinkSync(join(dir, 'index.json')),
	'index-disagrees': (dir) => edit(join(dir, 'index.json'), 'deployment.md', 'deploymenu.md'),
	orphan: (dir) => writeFileSync(join(dir, 'documents', 'more.json'), '{}'),
	'no-documents': (dir) => rmSync(join(dir, 'documents'), { recursive: true }),
	empty: (dir) => {
		rmSync(dir, { recursive: true });
		mkdirSync(dir);
	},
};
for (const [name, damage] of Object.entries(broken)) {
	place.copy(name);
	damage(join(root, name), name);
}
writeFileSync(join(root, 'file'), '');
symlinkSync('docs', join(root, 'link'));

const ok = { cache: 'docs', query: 'deployment guide', budget: 4000 };
const without = (key) => Object.fromEntries(Object.entries(ok).filter(([name]) => name !== key));
const errors = [
	...[undefined, 5, null, true, ['deployment'], { a: 1 }, 'x'.repeat(16 * 1024 + 1)].map((query) => ['invalid_query', `a query that is ${JSON.stringify(query)?.slice(0, 20)}`, { ...without('query'), ...(query !== undefined && { query }) }]),
	...[undefined, '4000', null, true, -1, 1.5, 0.1, -0.5, 1e30, [], {}].map((budget) => ['invalid_budget', `a budget that is ${JSON.stringify(budget)}`, { ...without('budget'), ...(budget !== undefined && { budget }) }]),
	...[undefined, 5, null, '', '.', '..', '../caches/docs', 'docs/', 'docs/documents', '/etc', 'a\\b', 'nothing', 'file', 'link', 'a\u0000b', '\ufeffdocs', 'x'.repeat(5000)].map((cache) => ['cache_missing', `a cache that is ${JSON.stringify(cache)?.slice(0, 20)}`, { ...without('cache'), ...(cache !== undefined && { cache }) }]),
	...Object.keys(broken).map((cache) => ['cache_invalid', `a cache with ${cache}`, { ...ok, cache }]),
	['invalid_query', 'of several faults the query', { cache: 'nothing', query: 5, budget: -1 }],
	['invalid_budget', 'of several faults the budget before the cache', { cache: 'nothing', query: '', budget: -1 }],
	['invalid_query', 'no arguments at all', {}],
];

const queries = [
	['deployment guide', 4000], ['DEPLOYMENT', 10], ['', 4000], ['äpfel οδυσσευς, end', 100], ['guide\u3000Guide guide', 20], ['word', 1e6],
	['nothing of it', 0], ['a "quoted" \\ \u0001 text\u2028', 4000], ['word', 2500], [' ', 1], ['security', 4000.0],
];

for (const [name, open] of transports) {
	test(`${name}: every error, and the same server continues`, async () => {
		const server = await open(root);
		for (const [code, what, args] of errors) assertError(await server.call('context.resolve', args), code, what);
		assertText(await server.call('context.resolve', ok), 'afterwards');
		await server.end();
	});

	test(`${name}: the bytes of the command line`, async () => {
		const server = await open(root);
		for (const [query, budget] of queries) {
			const text = assertText(await server.call('context.resolve', { cache: 'docs', query, budget }), query);
			const told = cli(root, 'docs', query, budget);
			same([told.status, told.err], [0, '']);
			check(told.out === text, `${query}:\n${told.out}\n${text}`);
			same(Object.keys(JSON.parse(text)), ['documents', 'selection']);
		}
		const list = assertText(await server.call('context.list_caches', {}), 'list');
		same(list, run(['context', 'list', '--cache-root', root, '--json']).out);
		same(JSON.parse(list).caches.map((cache) => cache.path), [...Object.keys(broken), 'docs'].sort());
		same(JSON.parse(list).caches.filter((cache) => !cache.has_manifest).map((cache) => cache.path), ['empty', 'no-manifest']);
		const facts = assertText(await server.call('context.inspect_cache', { cache: 'docs' }), 'inspect');
		same(facts, run(['context', 'inspect', '--cache-root', root, '--cache', 'docs', '--json']).out);
		same(Object.keys(JSON.parse(facts)), ['cache_version', 'document_count', 'total_bytes', 'valid']);
		await server.end();
	});

	test(`${name}: inspect says what is not valid, and fails where nothing can be said`, async () => {
		const server = await open(root);
		const unreadable = ['no-manifest', 'bad-manifest', 'other-version', 'empty'];
		for (const cache of Object.keys(broken)) {
			const result = await server.call('context.inspect_cache', { cache });
			const told = run(['context', 'inspect', '--cache-root', root, '--cache', cache, '--json']);
			if (unreadable.includes(cache)) {
				assertError(result, 'cache_invalid', cache);
				same([told.status, told.out, told.err], [5, '', result.content[0].text]);
				continue;
			}
			const facts = JSON.parse(assertText(result, cache));
			same([facts.valid, facts.document_count], [false, 5], cache);
			same([told.status, told.out], [0, result.content[0].text], cache);
		}
		for (const cache of [undefined, 5, '..', 'nothing', 'file', 'link']) assertError(await server.call('context.inspect_cache', { cache }), 'cache_missing', cache);
		await server.end();
	});
}

test('a root that is not there: cache_missing for all three tools, until it is', async () => {
	const later = join(place.dir, 'later');
	const server = await stdio(later);
	assertError(await server.call('context.resolve', ok), 'cache_missing', 'resolve');
	assertError(await server.call('context.inspect_cache', { cache: 'docs' }), 'cache_missing', 'inspect');
	assertError(await server.call('context.list_caches', {}), 'cache_missing', 'list');
	mkdirSync(later);
	same(assertText(await server.call('context.list_caches', {}), 'list'), '{"caches":[]}\n');
	await server.end();
});

test('a cache that changes under a server is seen, and works again once repaired', async () => {
	place.copy('live');
	const server = await stdio(root);
	const args = { cache: 'live', query: 'security', budget: 7 };
	const good = assertText(await server.call('context.resolve', args), 'before');
	for (const damage of ['document-changed', 'orphan', 'index-disagrees', 'no-manifest']) {
		renameSync(join(root, 'live'), join(place.dir, 'aside'));
		assertError(await server.call('context.resolve', args), 'cache_missing', 'while it is away');
		renameSync(join(place.dir, 'aside'), join(root, 'live'));
		same(assertText(await server.call('context.resolve', args), damage), good);
		broken[damage](join(root, 'live'), 'live');
		assertError(await server.call('context.resolve', args), 'cache_invalid', damage);
		const built = run(['context', 'build', '--sources', place.sources, '--cache', join(root, 'live'), damage === 'no-manifest' ? '--json' : '--force']);
		if (damage === 'no-manifest') {
			same(built.status, 6, 'what is no cache is not replaced');
			rmSync(join(root, 'live'), { recursive: true });
			same(run(['context', 'build', '--sources', place.sources, '--cache', join(root, 'live')]).status, 0);
		}
		same(assertText(await server.call('context.resolve', args), damage), good);
	}
	await server.end();
});

test('1,000 calls give the same bytes', async () => {
	const server = await stdio(root);
	const expected = cli(root, 'docs', 'guide end word', 3000).out;
	const replies = await Promise.all(Array.from({ length: 100 }, () => server.call('context.resolve', { cache: 'docs', query: 'guide end word', budget: 3000 })));
	for (const reply of replies) same(assertText(reply, 'at once'), expected);
	for (let i = 0; i < 900; i++) same(assertText(await server.call('context.resolve', { cache: 'docs', query: 'guide end word', budget: 3000 }), 'in turn'), expected);
	await server.end();
});

test('the schema tells the truth, and another contract can be chosen', async () => {
	const server = await stdio(root);
	const { result } = await server.wire.request('tools/list');
	const { inputSchema } = result.tools.find((tool) => tool.name === 'context.resolve');
	same(inputSchema.required, ['cache', 'query', 'budget']);
	same([inputSchema.properties.budget.type, inputSchema.properties.budget.minimum, inputSchema.properties.query.type], ['integer', 0, 'string']);
	const reply = await server.call('context.resolve', { ...ok, budget: -1 }, { 'dev.faultwire/contract': 'toolerror' });
	same(JSON.parse(reply.content[0].text), { type: 'VALIDATION', message: 'Budget is invalid', recoverable: false });
	const told = await server.call('context.resolve', { ...ok, cache: 'orphan' });
	const { code, context } = told._meta['dev.faultwire/error'];
	same([code, context], ['cache.invalid', { rule: 'orphan_file', subject: 'more.json' }]);
	await server.end();
});

test('what fails before a tool is called is reported in this contract, too', async () => {
	const server = await stdio(root);
	const { error } = await server.wire.call('context.nothing', {});
	same([error.code, error.data.error], [-32602, JSON.parse(errorText('internal_error'))]);
	await server.end();
	const other = await stdio(root, { args: ['--contract', 'toolerror'] });
	const { error: told } = await other.wire.call('context.nothing', {});
	same([told.code, told.data.error.type], [-32602, 'NOT_FOUND']);
	await other.end();
});

test('a result beyond the limit of the server is internal_error', async () => {
	const server = await stdio(root, { args: ['--limit', 'result_bytes=2k'] });
	assertError(await server.call('context.resolve', { cache: 'docs', query: 'word', budget: 4000 }), 'internal_error', 'too large');
	assertText(await server.call('context.resolve', { cache: 'docs', query: 'guide', budget: 20 }), 'small enough');
	await server.end();
});

await end();
