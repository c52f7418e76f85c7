// The faulty server of the failure lab: behaves, except where behaviours.mjs says.
//
//   node server.mjs stdio|http [--start ROW] [--state DIR] [--era legacy|modern|both]
//                              [--size BYTES] [--late MS] [--name NAME]
//
// Over HTTP it prints its URL on stderr. With --state, calls of `count` append a line to
// DIR/effects, and a row that fails at the start does so until DIR/healed exists.

import { appendFileSync, closeSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { byName } from './behaviours.mjs';

const [transport, ...rest] = process.argv.slice(2);
const option = (name, otherwise) => (rest.includes(name) ? rest[rest.indexOf(name) + 1] : otherwise);
const state = option('--state');
const start = byName.get(option('--start'));
const era = option('--era', 'both');
const size = Number(option('--size', 1 << 20));
const lateMs = Number(option('--late', 1500));
const serverInfo = { name: option('--name', 'failure-lab'), version: '1' };

const isHealed = () => Boolean(state) && existsSync(`${state}/healed`);
const string = { type: 'object', properties: { do: { type: 'string' } } };
const tools = [
	{ name: 'echo', description: 'Answers with its text', inputSchema: { type: 'object', properties: { text: { type: 'string' } } }, annotations: { readOnlyHint: true } },
	{ name: 'fault', description: 'Misbehaves as it is asked to', inputSchema: string },
	{ name: 'read', description: 'The same, but says that it only reads', inputSchema: string, annotations: { readOnlyHint: true } },
	{ name: 'sum', description: 'Has an output schema, and misbehaves', inputSchema: string, outputSchema: { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] } },
	{ name: 'count', description: 'Has a side effect, then misbehaves', inputSchema: { type: 'object', properties: { key: { type: 'string' }, do: { type: 'string' }, before: { type: 'string' } } } },
];
const capabilities = { tools: {}, logging: {} };
const onces = new Set();
let previousId;

// What an act gets: the call, and the ways to answer it. `out` writes a whole message.
function context(request, out) {
	const isModern = Boolean(request.params?._meta?.['io.modelcontextprotocol/protocolVersion']);
	const c = {
		request,
		id: request.id,
		previousId,
		size,
		lateMs,
		isModern,
		text: (words) => ({ content: [{ type: 'text', text: words }] }),
		hello: () => hello(request),
		body: out,
		reply: (result) => out(JSON.stringify({ jsonrpc: '2.0', id: c.id, result: { ...result, ...(isModern && { resultType: 'complete' }) } })),
		error: (code, message, data) => out(JSON.stringify({ jsonrpc: '2.0', id: c.id, error: { code, message, ...(data && { data }) } })),
		once: (name) => !onces.has(name) && Boolean(onces.add(name)),
		every(ms, act) {
			let n = 0;
			const timer = setInterval(() => (++n > 200 ? clearInterval(timer) : act(n)), ms);
			c.stop = () => clearInterval(timer);
		},
	};
	return c;
}

function hello(request) {
	return request.method === 'initialize'
		? { protocolVersion: ['2025-03-26', '2025-06-18', '2025-11-25'].includes(request.params?.protocolVersion) ? request.params.protocolVersion : '2025-11-25', capabilities, serverInfo }
		: { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 0, cacheScope: 'private', _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } };
}

// A request, by the book.
function serve(request, c) {
	const { method, params } = request;

	if (c.isModern && era === 'legacy' && method === 'server/discover') return c.error(-32601, 'Method not found');
	if (method === 'initialize' && era === 'modern') return c.error(-32601, 'Method not found');
	if (method === 'initialize' || method === 'server/discover') {
		if (start && start.on.includes(transport) && !isHealed()) return start.act({ ...c, proceed: () => c.reply(hello(request)) });
		return c.reply(hello(request));
	}
	if (method === 'ping' || method === 'logging/setLevel') return c.reply({});
	if (method === 'tools/list') return c.reply({ tools, ...(c.isModern && { ttlMs: 0, cacheScope: 'private' }) });
	if (method !== 'tools/call') return c.error(-32601, `Method not found: ${method}`);
	const args = params.arguments ?? {};
	if (params.name === 'echo') return c.reply(c.text(args.text ?? ''));
	if (params.name === 'count') return count(args, c);
	if (!tools.some((tool) => tool.name === params.name)) return c.error(-32602, `Unknown tool: ${params.name}`);
	const row = byName.get(args.do);
	if (!row) return params.name === 'sum' ? c.reply({ ...c.text('{"sum":3}'), structuredContent: { sum: 3 } }) : c.reply(c.text('fine'));
	return row.act(c);
}

// The side effect happens before or after the fault; without a fault it just happens.
function count(args, c) {
	const effect = () => state && appendFileSync(`${state}/effects`, `${args.key}\n`);
	const first = byName.get(args.before);

	if (first) return first.act(c);
	effect();
	const row = byName.get(args.do);
	return row ? row.act(c) : c.reply(c.text(args.key ?? ''));
}

function overStdio() {
	const asked = new Map();
	let lastAsk = 0;
	let left = Buffer.alloc(0);
	const raw = (bytes, done) => process.stdout.write(bytes, done);
	const line = (bytes) => {
		raw(bytes);
		raw('\n');
	};

	process.stdout.on('error', () => {});
	const take = (text) => {
		const request = JSON.parse(text);
		if (!request.method) return asked.get(request.id)?.(request);
		if (request.id === undefined) return;
		const c = Object.assign(context(request, line), {
			raw,
			closeOut() {
				closeSync(1);
				setInterval(() => {}, 1000);
			},
			ask(method, params, then) {
				const id = `lab-${++lastAsk}`;
				asked.set(id, then);
				line(JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) }));
			},
			progress: (n) => request.params._meta?.progressToken !== undefined && line(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: request.params._meta.progressToken, progress: n } })),
			pieces(body) {
				const bytes = [...Buffer.from(`${body}\n`)];
				const next = () => bytes.length && raw(Buffer.from([bytes.shift()]), () => setImmediate(next));
				next();
			},
		});
		serve(request, c);
		previousId = request.id;
	};
	process.stdin.on('data', (bytes) => {
		left = Buffer.concat([left, bytes]);
		for (let at; (at = left.indexOf(10)) >= 0; ) {
			const text = left.toString('utf8', 0, at);
			left = left.subarray(at + 1);
			if (text.trim()) take(text);
		}
	});
	process.stdin.on('end', () => process.exit(0));
}

function overHttp() {
	const sessions = new Set();
	const kept = new Map(); // event id -> message
	let events = 0;

	const stream = (res, bytes) => {
		if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
		res.write(bytes);
	};
	const take = (req, res, text) => {
		const request = JSON.parse(text);
		if (request.id === undefined || !request.method) return res.writeHead(202).end();
		const session = req.headers['mcp-session-id'];
		const c = context(request, (bytes) => {
			if (res.destroyed) return;
			if (!res.headersSent) res.writeHead(200, { 'content-type': 'application/json' });
			res.end(bytes);
		});
		Object.assign(c, {
			req,
			res,
			eventId: `event-${++events}`,
			sse: (bytes) => stream(res, bytes),
			keep: (body) => kept.set(c.eventId, body),
			forget(status = 404, body = '') {
				sessions.delete(session);
				res.writeHead(status, { 'content-type': body ? 'application/json' : 'text/plain' });
				res.end(body);
			},
			pieces(body) {
				res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
				const bytes = [...Buffer.from(body)];
				const next = () => (bytes.length ? res.write(Buffer.from([bytes.shift()]), () => setImmediate(next)) : res.end());
				next();
			},
		});
		res.on('close', () => c.stop?.());
		if (request.method === 'initialize' && era !== 'modern') {
			const id = randomUUID();
			sessions.add(id);
			res.setHeader('mcp-session-id', id);
		} else if (!c.isModern && session !== undefined && !sessions.has(session)) return res.writeHead(404).end();
		serve(request, c);
		previousId = request.id;
	};
	const server = createServer((req, res) => {
		if (new URL(req.url, 'http://x').pathname !== '/mcp') return res.writeHead(404).end();
		res.on('error', () => {});
		if (req.method === 'DELETE') {
			sessions.delete(req.headers['mcp-session-id']);
			return res.writeHead(200).end();
		}
		if (req.method === 'GET') {
			const message = kept.get(req.headers['last-event-id']);
			if (!message) return res.writeHead(405, { allow: 'POST, DELETE' }).end();
			stream(res, `data: ${message}\n\n`);
			return res.end();
		}
		const parts = [];
		req.on('data', (part) => parts.push(part));
		req.on('error', () => {});
		req.on('end', () => take(req, res, Buffer.concat(parts).toString()));
	});
	server.keepAliveTimeout = 60000;
	server.listen(Number(option('--port', 0)), '127.0.0.1', () => process.stderr.write(`http://127.0.0.1:${server.address().port}/mcp\n`));
	if (rest.includes('--until-eof')) process.stdin.on('data', () => {}).on('end', () => process.exit(0));
}

if (transport === 'stdio' && start?.on.includes('stdio') && ['exits_at_start', 'killed_at_start'].includes(start.name) && !isHealed()) start.act();
if (transport === 'http') overHttp();
else overStdio();
