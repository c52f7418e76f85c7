// A small MCP server on stdio that fails in the ways that test/wire/call.mjs asks for.
//
// usage: node call_server.mjs LOG     every message that arrives is appended to LOG, with the time

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const log = process.argv[2];
const counts = {};
const text = (words, isError = false) => ({ content: [{ type: 'text', text: words }], isError });
const tool = (name, properties = {}, more = {}) => ({ name, description: `The tool ${name}\nsecond line`, inputSchema: { type: 'object', properties, ...more }, ...(more.annotations && { annotations: more.annotations }) });
const tools = [
	tool('echo', { text: { type: 'string', description: 'What to say' }, times: { type: 'integer' } }, { required: ['text'] }),
	tool('flaky', { failures: { type: 'integer' } }),
	tool('say', { words: { type: 'string' } }),
	tool('hang'),
	tool('hang_safely', {}, { annotations: { readOnlyHint: true } }),
	tool('asks'),
	tool('samples'),
	tool('progress'),
	tool('refuses'),
	tool('exits'),
];
const waiting = new Map();

function send(message) {
	process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function call(id, { name, arguments: args, _meta }) {
	const answer = (result) => send({ id, result });
	counts[name] = (counts[name] ?? 0) + 1;
	if (name === 'echo') answer(text(args.text.repeat(args.times ?? 1)));
	else if (name === 'flaky') answer(counts[name] <= args.failures ? text('Too many requests, retry in 0.2 seconds', true) : text('at last'));
	else if (name === 'say') answer(text(args.words, true));
	else if (name === 'hang_safely' && counts[name] > 1) answer(text('second time'));
	else if (name === 'asks' || name === 'samples') {
		waiting.set('q1', (reply) => answer(text(`answered ${JSON.stringify(reply)}`)));
		send({ id: 'q1', method: name === 'asks' ? 'elicitation/create' : 'sampling/createMessage', params: { message: 'Your name?', requestedSchema: { type: 'object', properties: {} } } });
	} else if (name === 'progress') {
		send({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1, total: 2, message: 'half' } });
		send({ method: 'notifications/message', params: { level: 'info', data: 'a log line' } });
		answer(text('done'));
	} else if (name === 'refuses') send({ id, error: { code: -32602, message: 'Missing required parameter: where' } });
	else if (name === 'exits') process.exit(3);
}

for await (const line of createInterface({ input: process.stdin })) {
	appendFileSync(log, `${Date.now()} ${line}\n`);
	const { id, method, params, result, error } = JSON.parse(line);
	if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {}, prompts: {} }, serverInfo: { name: 'small', version: '1' } } });
	else if (method === 'tools/list') send({ id, result: params?.cursor ? { tools: tools.slice(3) } : { tools: tools.slice(0, 3), nextCursor: 'more' } });
	else if (method === 'tools/call') call(id, params);
	else if (method === 'resources/read') send({ id, result: { contents: [{ uri: params.uri, text: `content of ${params.uri}` }] } });
	else if (method === 'prompts/get') send({ id, result: { messages: [{ role: 'user', content: { type: 'text', text: `greet ${params.arguments.who}` } }] } });
	else if (method === undefined && waiting.has(id)) waiting.get(id)(result ?? error);
	else if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
}
