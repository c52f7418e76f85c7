// Vectors by an embedding service: what is sent to it, and everything that can go wrong with one.
// reaches: search.embedding_failed

import { createServer } from 'node:http';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, check, env, match, same, test } from './lib/cli.mjs';
import { end, repository, serve, useState, write } from './lib/code.mjs';
import { spawn } from 'node:child_process';

const state = useState();
const key = 'sk-embeddings-0123456789abcdef';
let behave = null; // what the service does instead of answering well
const requests = [];

// Vectors of 8 numbers: how many of some words a text has.
const axes = ['token', 'queue', 'header', 'lamp', 'elephant', 'zebra', 'index', 'client'];
const vectorOf = (text) => axes.map((word) => text.toLowerCase().split(word).length - 1 + (word === 'elephant' && /pachyderm/.test(text) ? 3 : 0) + 0.01);
const service = createServer((request, response) => {
	let body = '';
	request.on('data', (bytes) => (body += bytes));
	request.on('end', () => {
		const asked = JSON.parse(body);
		requests.push({ headers: request.headers, url: request.url, ...asked });
		if (behave) return behave(response, asked);
		response.setHeader('content-type', 'application/json');
		// In another order: the index counts.
		const data = asked.input.map((text, i) => ({ object: 'embedding', index: i, embedding: vectorOf(text) })).reverse();
		response.end(JSON.stringify({ object: 'list', data, model: asked.model }));
	});
});
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
const { port } = service.address();
const settings = {
	FAULTWIRE_EMBEDDINGS_URL: `http://127.0.0.1:${port}/v1/embeddings`, FAULTWIRE_EMBEDDINGS_MODEL: 'tiny-model', FAULTWIRE_EMBEDDINGS_KEY: key,
	FAULTWIRE_EMBEDDINGS_TIMEOUT_MS: '1500',
};
Object.assign(process.env, settings);

// Not spawnSync: this process is the service.
const index = (action, dir, more = {}) => new Promise((resolve) => {
	const child = spawn(bin, ['index', action, '--repo', dir, '--json'], { env: { ...env, XDG_STATE_HOME: state, ...settings, ...more } });
	let out = '', err = '';
	child.stdout.on('data', (bytes) => (out += bytes));
	child.stderr.on('data', (bytes) => (err += bytes));
	child.on('exit', (status) => resolve({ status, out, err }));
});
const dir = repository({
	'zoo.txt': 'The elephant eats apples.\n', 'stripes.txt': 'A zebra has stripes.\n', 'job.c': 'int queue_push(struct queue *queue);\n', 'net.c': 'int header_parse(const char *header);\n',
});

test('build sends the chunks with model and key; a second build asks for new contents only', async () => {
	const first = await index('build', dir);
	same(first.status, 0, first.err);
	same([requests[0].url, requests[0].model, requests[0].headers.authorization, requests[0].encoding_format], ['/v1/embeddings', 'tiny-model', `Bearer ${key}`, 'float']);
	same(requests.flatMap((request) => request.input).length, 4);
	const { out } = await index('status', dir);
	same([JSON.parse(out).embedder, JSON.parse(out).dimensions], [`tiny-model at 127.0.0.1:${port}`, 8]);
	check(!out.includes(key), 'no key in the status');
	requests.length = 0;
	writeFileSync(join(dir, 'lamp.txt'), 'A lamp for the client.\n');
	same((await index('build', dir)).status, 0);
	same(requests.flatMap((request) => request.input), ['A lamp for the client.\n']);
	requests.length = 0;
	same(JSON.parse((await index('build', dir)).out).unchanged, true);
	same(requests.length, 0);
});

const server = await serve(dir, '--semantic-index', 'off');

test('a query is found by its vector alone', async () => {
	const { findings } = await server.call('semantic_search', { query: 'pachyderm' });
	same(findings[0].path, 'zoo.txt');
	same(findings[0].why.terms, []);
	check(findings[0].why.similarity > 0.5, JSON.stringify(findings[0].why));
	same(requests.at(-1).input, ['pachyderm']);
});

const cases = [
	['429 with Retry-After', (response) => response.writeHead(429, { 'retry-after': '7' }).end('slow down'), 'the service answered with HTTP status 429', 7],
	['429 without it', (response) => response.writeHead(429).end(), 'the service answered with HTTP status 429'],
	['503', (response) => response.writeHead(503, { 'Retry-After': '2' }).end(), 'the service answered with HTTP status 503', 2],
	['401', (response) => response.writeHead(401).end(`{"error":"bad key ${key}"}`), 'the service answered with HTTP status 401'],
	['a redirect', (response) => response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(), 'the service answered with HTTP status 302'],
	['slow', () => {}, 'the service did not answer in time'],
	['wrong dimension', (response, asked) => response.end(JSON.stringify({ data: asked.input.map((_, i) => ({ index: i, embedding: [1, 2, 3] })) })), 'the service gave vectors of 3 numbers instead of 8'],
	['not JSON', (response) => response.end('<html>hello</html>'), 'the answer of the service is not JSON'],
	['nothing', (response) => response.end(), 'the answer of the service is not JSON'],
	['another JSON', (response) => response.end('{"data":{}}'), 'the answer of the service has not as many vectors as texts'],
	['too few vectors', (response) => response.end('{"data":[]}'), 'the answer of the service has not as many vectors as texts'],
	['no vectors', (response) => response.end('{"data":[{"index":0}]}'), 'the answer of the service has no vectors'],
	['words for numbers', (response) => response.end('{"data":[{"index":0,"embedding":[1,2,3,4,5,6,7,"8"]}]}'), 'the answer of the service has an invalid vector'],
	['an index out of range', (response) => response.end('{"data":[{"index":5,"embedding":[1,2,3,4,5,6,7,8]}]}'), 'the answer of the service has an invalid vector'],
	['a broken connection', (response) => response.socket.destroy(), undefined],
];
for (const [name, how, reason, after] of cases)
	test(`embedding-error: ${name}`, async () => {
		behave = how;
		const { error, problem } = await server.fail('semantic_search', { query: 'token' }, 'embedding-error', 503, reason === undefined ? undefined : `could not embed the query: ${reason}`);
		match(error, /^could not embed the query: /);
		same(problem.extensions.embedder, `tiny-model at 127.0.0.1:${port}`);
		same(problem.extensions.retry_after, after);
		check(!JSON.stringify(problem).includes(key), 'no key in the error');
		behave = null;
		same((await server.call('semantic_search', { query: 'zebra' })).findings[0].path, 'stripes.txt', 'works again');
	});

test('a build that the service fails says so, and the old index stays', async () => {
	writeFileSync(join(dir, 'more.txt'), 'Something else.\n');
	behave = (response) => response.writeHead(429, { 'retry-after': '3' }).end();
	const { status, err } = await index('build', dir);
	same(status, 1);
	match(err, /could not embed the query: the service answered with HTTP status 429/);
	behave = null;
	same((await server.call('semantic_search', { query: 'zebra' })).findings[0].path, 'stripes.txt');
	same((await index('build', dir)).status, 0);
});

test('a server whose index cannot be built says why in its log, once', async () => {
	behave = (response) => response.writeHead(401).end();
	const { wire } = await serve(repository({ 'a.txt': 'an elephant\n' }), '--log', 'json');
	const told = () => wire.err.split('\n').filter((line) => line.includes('tool_stderr')).map((line) => JSON.parse(line).context.text);
	for (let i = 0; i < 400 && !told().length; i++) await new Promise((resolve) => setTimeout(resolve, 50));
	const asked = requests.length;
	for (let i = 0; i < 400 && requests.length === asked; i++) await new Promise((resolve) => setTimeout(resolve, 50));
	behave = null;
	same(told(), ['semantic index: not built: could not embed the query: the service answered with HTTP status 401']);
	check(!wire.err.includes(key), 'no key in the log');
	await wire.end();
});

test('two vectors of the same number are refused: another one would be missing', async () => {
	behave = (response, asked) => response.end(JSON.stringify({ data: asked.input.map(() => ({ index: 0, embedding: vectorOf('zebra') })) }));
	write(dir, { 'twins.txt': 'A line of several chunks.\n'.repeat(120) });
	const { status, err } = await index('build', dir);
	behave = null;
	check(status !== 0);
	match(err, /has an invalid vector/);
	rmSync(join(dir, 'twins.txt'));
});

test('an index of the repository\'s own analysis is not used with a service', async () => {
	const none = { FAULTWIRE_EMBEDDINGS_URL: '' };
	same((await index('build', dir, none)).status, 0);
	await server.fail('semantic_search', { query: 'zebra' }, 'vector-search-error', 503, 'search failed: the index was made by another embedder');
	same((await index('build', dir)).status, 0);
});

test('settings that cannot be used', async () => {
	for (const [more, text] of [
		[{ FAULTWIRE_EMBEDDINGS_URL: 'ftp://x/' }, /not an http or https URL/],
		[{ FAULTWIRE_EMBEDDINGS_MODEL: '' }, /FAULTWIRE_EMBEDDINGS_MODEL is not set/],
		[{ FAULTWIRE_EMBEDDINGS_TIMEOUT_MS: '0' }, /TIMEOUT_MS takes/],
	]) {
		const { status, err } = await index('build', dir, more);
		same(status, 2);
		match(err, text);
	}
});

test('refused: the service is gone', async () => {
	service.closeAllConnections();
	await new Promise((resolve) => service.close(resolve));
	const { problem } = await server.fail('semantic_search', { query: 'token' }, 'embedding-error', 503, 'could not embed the query: the service refused the connection');
	same(problem.extensions.embedder, `tiny-model at 127.0.0.1:${port}`);
});

test('the end', () => server.end());
await end();
