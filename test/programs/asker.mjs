// A small MCP server for tests of the gateway whose tools ask their client something. Its argument is its era: legacy, modern, or
// both, which is that of the first handshake and does not change. With ROOTS=1 it asks for the roots as soon as it is connected, as some servers do.

import { createInterface } from 'node:readline';

let era = process.argv[2] ?? 'legacy';
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const text = (id, words, more) => send({ id, result: { content: [{ type: 'text', text: typeof words === 'string' ? words : JSON.stringify(words) }], ...(era === 'modern' && { resultType: 'complete' }), ...more } });
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const sample = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 };

let capabilities;
let listening;
let early = 'not asked';
let number = 0;
let runs = 0;
const waiting = new Map();
const ask = (method, params, id = `ask-${++number}`) =>
	new Promise((done) => {
		waiting.set(id, done);
		send({ id, method, ...(params && { params }) });
	});
// Of the tools `lingers` and `waits`, while they run.
let onCancelled;
let onOutcome;
const failed = (id, { error }) => text(id, `Error: ${error.message}`, { isError: true });

const legacy = {
	capabilities: (id) => text(id, capabilities),
	era: (id) => text(id, `legacy ${process.pid}`),
	who: async (id) => {
		const reply = await ask('elicitation/create', form);
		if (reply.error) failed(id, reply);
		else text(id, `hello ${reply.result.content?.name ?? reply.result.action}`);
	},
	twice: async (id) => {
		const first = await ask('elicitation/create', form);
		const second = await ask('sampling/createMessage', sample);
		text(id, [first.result?.content?.name, second.result?.content?.text]);
	},
	roots: async (id) => text(id, await ask('roots/list')),
	ping: async (id) => text(id, await ask('ping')),
	strange: async (id) => failed(id, await ask('own/question', {})),
	tolerant: async (id) => text(id, (await ask('sampling/createMessage', sample)).error ? 'went on without' : 'sampled'),
	// The id of its question is longer than the gateway keeps.
	wordy: async (id) => {
		const run = ++runs;
		const reply = await ask('elicitation/create', form, 'x'.repeat(1000));
		text(id, `${reply.error ? 'refused' : 'answered'} in run ${run} of ${runs}`);
	},
	impatient: (id) => {
		void ask('elicitation/create', form);
		setTimeout(() => text(id, 'did not wait'), 50);
	},
	dies: () => {
		void ask('elicitation/create', form);
		setTimeout(() => process.exit(3), 50);
	},
	many: async (id) => {
		for (let i = 0; i < 40; i++) if ((await ask('sampling/createMessage', sample)).error) return text(id, `refused after ${i}`);
		text(id, 'asked 40 times');
	},
	together: async (id) => text(id, (await Promise.all([1, 2, 3].map((maxTokens) => ask('sampling/createMessage', { ...sample, maxTokens })))).map(({ result, error }) => result?.content.text ?? error.message)),
	// It does not want the answer to its first question.
	withdraws: async (id, { arguments: { then } = {} }) => {
		void ask('elicitation/create', form, 'first');
		send({ method: 'notifications/cancelled', params: { requestId: 'first', reason: 'late' } });
		if (then === 'asks') text(id, (await ask('elicitation/create', form, 'second')).result?.content.name ?? 'refused');
		if (then === 'replies') text(id, 'went on');
	},
	// It asks when it is cancelled.
	lingers: () => {
		onCancelled = async () => onOutcome((await ask('elicitation/create', form)).error?.message ?? 'asked');
	},
	waits: (id) => {
		onOutcome = (words) => text(id, words);
	},
	running: (id) => text(id, onCancelled && onOutcome ? 'both' : 'not yet'),
	slow: (id) => setTimeout(() => text(id, 'slow'), 300),
	early: (id) => text(id, early),
};

const required = (id, inputRequests, requestState) => send({ id, result: { resultType: 'input_required', ...(inputRequests && { inputRequests }), requestState } });
const modern = {
	era: (id) => text(id, `modern ${process.pid}`),
	listens: (id) => text(id, listening),
	capabilities: (id, params) => text(id, params._meta['io.modelcontextprotocol/clientCapabilities']),
	who: (id, { requestState, inputResponses }) => {
		if (!requestState) required(id, { name: { method: 'elicitation/create', params: form } }, 'one');
		else text(id, [requestState, inputResponses.name.content?.name ?? inputResponses.name.action]);
	},
	twice: (id, { requestState, inputResponses }) => {
		if (!requestState) required(id, { name: { method: 'elicitation/create', params: form }, roots: { method: 'roots/list' } }, 'one');
		else if (requestState === 'one') required(id, { model: { method: 'sampling/createMessage', params: sample } }, `two ${inputResponses.name.content.name} ${inputResponses.roots.roots.length}`);
		else text(id, [requestState, Object.keys(inputResponses), inputResponses.model.content.text]);
	},
	state_only: (id, { requestState }) => (requestState === 'again' ? text(id, 'came back') : required(id, undefined, 'again')),
	strange: (id) => required(id, { x: { method: 'own/question', params: {} } }, 's'),
	endless: (id) => required(id, undefined, 'again'),
};

createInterface({ input: process.stdin }).on('line', async (line) => {
	const message = JSON.parse(line);
	const { id, method, params } = message;
	if (era === 'both' && method === 'server/discover') era = 'modern';
	if (era === 'both' && method === 'initialize') era = 'legacy';
	const tools = era === 'modern' ? modern : legacy;
	if (!method) {
		waiting.get(id)?.(message);
		waiting.delete(id);
	} else if (method === 'server/discover' && era === 'modern')
		send({ id, result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: { subscribe: true } }, ttlMs: 0, cacheScope: 'private' } });
	else if (method === 'initialize' && era === 'legacy') {
		capabilities = params.capabilities;
		send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'asker', version: '1' } } });
	} else if (method === 'notifications/cancelled') onCancelled?.();
	else if (method === 'notifications/initialized' && process.env.ROOTS) early = await ask('roots/list');
	else if (method === 'subscriptions/listen') listening = params.notifications.resourceSubscriptions;
	else if (method === 'tools/list') send({ id, result: { ...(era === 'modern' && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }), tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) } });
	else if (method === 'tools/call' && tools[params.name]) tools[params.name](id, params);
	else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
});
