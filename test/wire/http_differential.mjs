// Our HTTP server against Node's, over mutated requests: both get the same bytes in
// the same segments. The rules:
//
//   1. We never accept a request that Node refuses, and never see more requests.
//   2. A request that both accept has the same body.
//   3. We may refuse what Node accepts, but only for a reason in the table below.
//   4. A refusal is one well-formed response with an error of ours; nothing follows it.
//
// 5,000 cases; FW_LONG=1 tries 100,000. A failure names its case: FW_SEED and FW_CASE
// repeat it alone.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { serve } from './lib/http.mjs';
import { makeCase } from './lib/mutate.mjs';
import { ask } from './lib/nodehttp.mjs';
import { codeOf, readResponses, show } from './lib/raw.mjs';

const seed = Number(process.env.FW_SEED ?? 11);
const only = process.env.FW_CASE === undefined ? undefined : Number(process.env.FW_CASE);
const total = Number(process.env.FW_CASES ?? (process.env.FW_LONG ? 100000 : 5000));
const atOnce = 48;

let server;
before(async () => {
	server = await serve();
});
after(async () => {
	assert.equal(await server.stop(), 0);
});

// ---- where we are stricter than Node, and why --------------------------------------

const values = (request, name) => request.headers.filter((_, i) => i % 2 && request.headers[i - 1].toLowerCase() === name);
const count = (request, name) => values(request, name).length;
const [most, fields] = [4 << 20, 128];

const stricter = [
	['more than one Host (RFC 9112 3.2)', (one) => count(one, 'host') > 1],
	['a Host that is empty or no host (RFC 9112 3.2)', (one) => values(one, 'host').some((host) => !/^([A-Za-z0-9._~-]+|\[[0-9a-fA-F:.]+\])(:\d*)?$/.test(host))],
	['a version other than 1.0 and 1.1 (RFC 9110 2.5)', (one) => !['1.0', '1.1'].includes(one.version)],
	['a Transfer-Encoding other than chunked, once (RFC 9112 6.1)', (one) => count(one, 'transfer-encoding') > 1 || values(one, 'transfer-encoding').some((coding) => coding.toLowerCase() !== 'chunked')],
	['Transfer-Encoding in HTTP/1.0 (RFC 9112 6.1)', (one) => one.version === '1.0' && count(one, 'transfer-encoding') > 0],
	['more than one header that may come once (RFC 9110 5.3)', (one) => ['authorization', 'content-type', 'content-length', 'mcp-session-id', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'last-event-id', 'origin'].some((name) => count(one, name) > 1)],
	['a length beyond message_bytes', (one) => values(one, 'content-length').some((length) => Number(length) > most)],
	['more headers than http_fields', (one) => one.headers.length / 2 > fields],
	['an Expect that is not 100-continue (RFC 9110 10.1.1)', (one) => values(one, 'expect').some((expect) => expect.toLowerCase() !== '100-continue')],
	['a target that is no path, no http URI and no asterisk (RFC 9112 3.2)', (one) => !/^(\/|https?:\/\/[^/?#]|\*$)/i.test(one.url)],
	['a target with a byte that no URI has, or with a fragment (RFC 3986 2)', (one) => !/^([A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=|^`{}"<>\\]|%[0-9A-Fa-f]{2})*$/.test(one.url) || one.url.includes('%00')],
	['the methods of other protocols', (one) => !['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'].includes(one.method)],
];

// ---- what we did -------------------------------------------------------------------

// The bytes of a case to our server. When all that Node accepted is answered, or at
// once if the case says so, our end is closed; then the server closes its own.
function send({ segments, hasFin }, requests) {
	const heads = requests.map(({ method }) => method === 'HEAD');
	return new Promise((resolve) => {
		const socket = net.connect({ port: server.port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (atLocal++ % 100)}`, allowHalfOpen: true, noDelay: true });
		const found = { bytes: Buffer.alloc(0), isLate: false };
		let hasSent = false;
		const finish = () => {
			clearTimeout(timer);
			socket.destroy();
			resolve({ ...readAll(found.bytes, heads), ...found });
		};
		const close = () => hasSent && !socket.writableEnded && socket.end();
		const isAnswered = () => !requests.length || hasFin || readResponses(found.bytes, heads).list.length >= requests.length;
		const timer = setTimeout(() => {
			found.isLate = true;
			finish();
		}, 10000);
		const next = (at) => {
			if (socket.destroyed) return;
			socket.write(segments[at]);
			hasSent = at === segments.length - 1;
			if (!hasSent) setImmediate(next, at + 1);
			else if (isAnswered()) close();
		};
		socket.on('connect', () => next(0));
		socket.on('data', (bytes) => {
			found.bytes = Buffer.concat([found.bytes, bytes]);
			if (isAnswered()) close();
		});
		socket.on('end', finish);
		socket.on('error', (error) => {
			found.error = error.code;
			setImmediate(finish);
		});
	});
}
let atLocal = 0;

// A refused request may have been HEAD, which Node does not tell: then its response,
// the last one, has no body.
function readAll(bytes, heads) {
	const found = readResponses(bytes, heads);
	const { length } = found.list;
	if (found.fault || !found.rest.length || length < heads.length || !found.rest.subarray(-4).equals(Buffer.from('\r\n\r\n'))) return found;
	return { ...readResponses(bytes, [...heads, ...Array(length - heads.length), true]), isBodiless: true };
}

const parse = (body) => {
	try {
		return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
	} catch {
		return undefined;
	}
};

// Refused as HTTP, and not by what its body says: the connection closes, and no
// id was read. A body that is no JSON-RPC may be refused in the same words.
function isRefusal(response, request) {
	if (!request && response.status >= 400 && response.headers.connection?.toLowerCase() === 'close') return true;
	if ([408, 411, 413, 414, 417, 431, 501, 503, 505].includes(response.status)) return true;
	if (response.status !== 400 || response.headers.connection?.toLowerCase() !== 'close' || codeOf(response) !== 'protocol.invalid_request' || 'id' in (response.json ?? {})) return false;
	return !request || request.method !== 'POST' || parse(request.body)?.jsonrpc === '2.0' || stricter.some(([, applies]) => applies(request));
}

// The same body? Seen where the answer repeats a part of it.
function bodyFault(response, request) {
	const message = parse(request.body);
	const content = response.json?.result?.content?.[0]?.text;
	const code = codeOf(response);
	if (content !== undefined && content !== message?.params?.arguments?.text) return `the body was "${show(content)}" for us, "${show(request.body)}" for Node`;
	if (response.json?.id !== undefined && response.json.id !== message?.id) return `the id was ${response.json.id} for us, "${show(request.body)}" for Node`;
	if (code === 'protocol.parse_error' && message !== undefined && !/\\u/.test(request.body)) return `no JSON for us, "${show(request.body)}" for Node`;
	return undefined;
}

const isUpgrade = (request) => request && count(request, 'upgrade') > 0 && values(request, 'connection').some((value) => /upgrade/i.test(value));

// A client that expects 100 and gets an error need not send the body: where the next
// request begins is then not known.
const mayClose = (response, request) => response?.status >= 400 && response.headers.connection?.toLowerCase() === 'close' && count(request, 'expect') > 0;

// ---- the verdict -------------------------------------------------------------------

const tally = { cases: 0, requests: 0, 'refused by both': 0 };
const add = (what) => void (tally[what] = (tally[what] ?? 0) + 1);

function judge(node, ours) {
	if (ours.fault) return `a malformed response: ${ours.fault}`;
	if (ours.isLate) return `the connection stays open, ${ours.list.length} responses, Node has ${node.requests.length}`;
	const refusal = ours.list.length && isRefusal(ours.list.at(-1), node.requests[ours.list.length - 1]) ? ours.list.at(-1) : undefined;
	const accepted = refusal ? ours.list.slice(0, -1) : ours.list;
	if (ours.rest.length) return `an incomplete response: ${show(ours.rest)}`;
	if (refusal && !codeOf(refusal) && !(ours.isBodiless && /json$/.test(refusal.headers['content-type']))) return `a refusal that is no error of ours: ${refusal.status} ${refusal.body.slice(0, 200)}`;
	if (accepted.length > node.requests.length && isUpgrade(node.requests.at(-1))) return add('Node drops what follows an Upgrade that it ignores');
	if (accepted.length > node.requests.length) return `we accepted ${accepted.length} requests, Node ${node.requests.length} (${node.refusal ?? 'incomplete'}): ${accepted.map(({ status, body }) => `${status} ${body.slice(0, 160)}`).join(' | ')}`;
	for (const [i, response] of accepted.entries()) {
		const fault = bodyFault(response, node.requests[i]);
		if (fault) return fault;
	}
	tally.requests += accepted.length;
	if (accepted.length === node.requests.length) {
		if (node.refusal) add(refusal ? 'refused by both' : 'refused by Node, closed by us');
		else if (refusal) add('refused by us, not complete for Node');
		return undefined;
	}
	const reason = stricter.find(([, applies]) => applies(node.requests[accepted.length]));
	if (!refusal && mayClose(accepted.at(-1), node.requests[accepted.length - 1])) return add('closed instead of sending 100 (RFC 9110 10.1.1)');
	if (!refusal) return `we answered ${accepted.length} requests of ${node.requests.length} and closed the connection${ours.error ? ` (${ours.error})` : ''}`;
	if (!reason) return `we refused what Node accepts, for no known reason: ${refusal.status} ${refusal.body.slice(0, 300)}`;
	add(`stricter: ${reason[0]}`);
	return undefined;
}

async function run(number) {
	const one = makeCase(seed, number);
	const node = await ask(one.segments);
	let fault;
	try {
		fault = judge(node, await send(one, node.requests)) || undefined;
	} catch (error) {
		fault = error.message;
	}
	tally.cases++;
	return fault && `FW_SEED=${seed} FW_CASE=${number}: ${fault}\n  sent${one.hasFin ? ' (then half-closed)' : ''}: ${one.segments.map((segment) => show(segment, 1200)).join(' + ')}`;
}

test(`${only === undefined ? total : 1} mutated requests: never more than Node, never another body`, { timeout: 600000 }, async (t) => {
	const begun = Date.now();
	const faults = [];
	let next = only ?? 0;
	const end = only === undefined ? total : only + 1;
	const lane = async () => {
		while (next < end && faults.length < 20) {
			const fault = await run(next++);
			if (fault) faults.push(fault);
		}
	};

	await Promise.all(Array.from({ length: atOnce }, lane));
	for (const [what, number] of Object.entries(tally)) t.diagnostic(`${number} ${what}`);
	t.diagnostic(`${((Date.now() - begun) / 1000).toFixed(1)} s, llhttp ${process.versions.llhttp} of Node ${process.version}`);
	assert.equal(faults.length, 0, `${faults.length} differences:\n${faults.join('\n')}`);
	assert.ok(only !== undefined || (tally.requests > total / 2 && tally['refused by both'] > total / 10), 'the mutations are neither all valid nor all invalid');
});
