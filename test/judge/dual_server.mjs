/*
 * A server of both eras, built with the official SDK v2: `node dual_server.mjs stdio|http`. It
 * has the fixtures of the conformance suite for sampling and elicitation. Those of the legacy
 * era ask by a request, which the SDK refuses in a modern call; those of the modern era
 * answer with `input_required`. `place` wants its arguments as headers, too; the SDK refuses a
 * modern HTTP call without them. Over HTTP it prints its port.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, classifyInboundRequest, createMcpHandler, fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const none = fromJsonSchema({ type: 'object' });
const form = (properties, required = []) => ({ type: 'object', properties, required });
const choices = (kind, ...names) => ({ [kind]: names.map((name) => ({ const: name, title: `Choice ${name}` })) });
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const sample = (prompt) => ({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 });

const header = (type, name) => ({ type, 'x-mcp-header': name });
const place = fromJsonSchema(form({
	region: header('string', 'Region'),
	zone: header('integer', 'Zone'),
	spare: header('boolean', 'Spare'),
	at: form({ street: header('string', 'Street') }),
}));

const forms = {
	test_elicitation: form({ response: { type: 'string', description: 'The answer' } }, ['response']),
	test_elicitation_sep1034_defaults: form({
		name: { type: 'string', default: 'John Doe' },
		age: { type: 'integer', default: 30 },
		score: { type: 'number', default: 95.5 },
		status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
		verified: { type: 'boolean', default: true },
	}),
	test_elicitation_sep1330_enums: form({
		untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
		titledSingle: { type: 'string', ...choices('oneOf', 'value1', 'value2', 'value3') },
		legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
		untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
		titledMulti: { type: 'array', items: choices('anyOf', 'value1', 'value2', 'value3') },
	}),
};

function makeServer() {
	const server = new McpServer({ name: 'dual', version: '1.0.0' });
	const tool = (name, run) => server.registerTool(name, { description: name, inputSchema: none }, run);

	for (const [name, requestedSchema] of Object.entries(forms))
		tool(name, async (args, { mcpReq }) => {
			const { action, content } = await mcpReq.send({ method: 'elicitation/create', params: { message: args.message ?? name, requestedSchema } });
			return text(`action=${action}, content=${JSON.stringify(content ?? {})}`);
		});
	tool('test_sampling', async (args, { mcpReq }) => {
		const { content } = await mcpReq.send({ method: 'sampling/createMessage', params: sample(args.prompt) });
		return text(`LLM response: ${content.text}`);
	});
	tool('test_input_required_result_elicitation', async (args, { mcpReq }) => {
		const name = acceptedContent(mcpReq.inputResponses, 'user_name')?.name;
		if (typeof name === 'string') return text(`Hello, ${name}!`);
		return inputRequired({ inputRequests: { user_name: inputRequired.elicit({ message: 'What is your name?', requestedSchema: form({ name: { type: 'string' } }, ['name']) }) } });
	});
	tool('test_input_required_result_sampling', async (args, { mcpReq }) => {
		const answer = mcpReq.inputResponses?.capital_question;
		if (answer) return text(`Sampling response: ${answer.content?.text}`);
		return inputRequired({ inputRequests: { capital_question: inputRequired.createMessage(sample('What is the capital of France?')) } });
	});
	server.registerTool('place', { description: 'place', inputSchema: place }, async (args) => text(JSON.stringify(args)));
	return server;
}

/* As the SDK's own example: modern requests go to its handler, each legacy session has a transport. */
async function serveHttp() {
	const modern = toNodeHandler(createMcpHandler(makeServer));
	const sessions = {};
	const answer = async (req, res) => {
		const { 'mcp-session-id': session, 'mcp-protocol-version': protocolVersionHeader, 'mcp-method': mcpMethodHeader } = req.headers;
		const body = req.method === 'POST' ? await json(req) : undefined;

		if (req.method === 'POST' && classifyInboundRequest({ httpMethod: 'POST', protocolVersionHeader, mcpMethodHeader, body }).kind !== 'legacy') return modern(req, res, body);
		if (session) return sessions[session] ? sessions[session].handleRequest(req, res, body) : res.writeHead(404).end();
		const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => (sessions[id] = transport) });
		await makeServer().connect(transport);
		return transport.handleRequest(req, res, body);
	};
	const http = createServer((req, res) => answer(req, res).catch((err) => { console.error(err); res.destroy(); }));

	http.listen(0, '127.0.0.1', () => console.log(http.address().port));
}

if (process.argv[2] === 'http') await serveHttp();
else serveStdio(makeServer);
