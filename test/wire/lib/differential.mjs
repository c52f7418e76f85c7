// Our HTTP server and another one get the same mutated requests in the same segments.
// The rules:
//
//   1. We never accept a request that the other refuses, and never see more requests.
//   2. A request that both accept has the same body.
//   3. We may refuse what the other accepts, but only for a reason in the table below.
//   4. A refusal is one well-formed response with an error of ours; nothing follows it.

import net from 'node:net';
import { makeCase } from './mutate.mjs';
import { codeOf, readResponses, show } from './raw.mjs';

// ---- where we are stricter than other servers, and why --------------------------------------

const values = (request, name) => request.headers.filter((_, i) => i % 2 && request.headers[i - 1].toLowerCase() === name);
const count = (request, name) => values(request, name).length;
const [most, fields] = [4 << 20, 128];
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
// Header names in lower case, each as often as it is there.
const namesOf = (request) => request.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());

// Each row: why, and whether it applies to the request that the other accepted; `text` is all
// that was sent, `before` the request before it. A row names what is wrong with exactly that
// request: one that were true of too much would hide a request that is read differently.

const stricter = [
	['more than one Host (RFC 9112 3.2)', (one) => count(one, 'host') > 1],
	['a Host that is empty or no host (RFC 9112 3.2)', (one) => values(one, 'host').some((host) => !/^([A-Za-z0-9._~-]+|\[[0-9a-fA-F:.]+\])(:\d*)?$/.test(host))],
	['a version other than 1.0 and 1.1 (RFC 9110 2.5)', (one) => !['1.0', '1.1'].includes(one.version)],
	['a Transfer-Encoding other than chunked, once (RFC 9112 6.1)', (one) => count(one, 'transfer-encoding') > 1 || values(one, 'transfer-encoding').some((coding) => coding.toLowerCase() !== 'chunked')],
	['Transfer-Encoding in HTTP/1.0 (RFC 9112 6.1)', (one) => one.version === '1.0' && count(one, 'transfer-encoding') > 0],
	['more than one header that may come once (RFC 9110 5.3)', (one) => ['authorization', 'content-type', 'content-length', 'mcp-session-id', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'last-event-id', 'origin'].some((name) => count(one, name) > 1)],
	['more than one header of MCP, known or not', (one) => namesOf(one).some((name, i, names) => name.startsWith('mcp-') && names.indexOf(name) !== i)],
	['a length beyond message_bytes', (one) => values(one, 'content-length').some((length) => Number(length) > most)],
	['more headers than http_fields', (one) => one.headers.length / 2 > fields],
	['an Expect that is not 100-continue, or more than one (RFC 9110 10.1.1)', (one) => count(one, 'expect') > 1 || values(one, 'expect').some((expect) => expect.toLowerCase() !== '100-continue')],
	['a target that is no path, no http URI and no asterisk (RFC 9112 3.2)', (one) => !/^(\/|https?:\/\/[^/?#]|\*$)/i.test(one.url)],
	['an absolute target whose host is not the Host header (RFC 9112 3.2.2)', (one) => /^https?:\/\//i.test(one.url) && one.url.split(/[/?#]/)[2].toLowerCase() !== values(one, 'host')[0]?.toLowerCase()],
	['a target with a byte that no URI has, or with a fragment (RFC 3986 2)', (one) => !/^([A-Za-z0-9\-._~:/?[\]@!$&'()*+,;=|^`{}"<>\\]|%[0-9A-Fa-f]{2})*$/.test(one.url) || one.url.includes('%00')],
	['a bare CR or LF before the request line (RFC 9112 2.2)', (one, text) => /(^|[^\r])\n|\r(?!\n)/.test(text)],
	['a bare LF before the request line, its CR being the last byte of the body before (RFC 9112 2.2)', (one, text, before) => before?.body.at(-1) === 13 && count(before, 'content-length') === 1 && text.includes(`${before.body.toString('latin1')}\n`)],
	['more than one blank in the request line (RFC 9112 3)', (one, text) => new RegExp(`${one.method}( {2,}${escaped(one.url)} +| +${escaped(one.url)} {2,})HTTP/`).test(text)],
	['the request lines of RTSP and ICE', (one, text) => / (RTSP|ICE)\/1/.test(text)],
	['the methods of other protocols', (one) => !['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'].includes(one.method)],
];

// ---- what we did -------------------------------------------------------------------

// The bytes of a case to our server. When all that the other accepted is answered, or at
// once if the case says so, our end is closed; then the server closes its own.
function send(port, { segments, hasFin }, requests) {
	const heads = requests.map(({ method }) => method === 'HEAD');
	return new Promise((resolve) => {
		const socket = net.connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${2 + (atLocal++ % 100)}`, allowHalfOpen: true, noDelay: true });
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

// Whether the request of the last response was HEAD may be known to one side only: if
// it was refused before its method was read, or refused by the other. Then the bytes
// show whether the response has a body.
function readAll(bytes, heads) {
	const found = readResponses(bytes, heads);
	const last = found.fault ? found.list.length - 1 : found.list.length;
	if (!found.fault && !found.rest.length) return found;
	const others = [...heads.slice(0, last), !heads[last]];
	const again = readResponses(bytes, Array.from({ length: last + 1 }, (_, i) => others[i]));
	return again.fault || again.rest.length || again.list.length !== last + 1 ? found : again;
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
function isRefusal(response, request, text, before) {
	if (!request && response.status >= 400 && response.headers.connection?.toLowerCase() === 'close') return true;
	if ([408, 411, 413, 414, 417, 431, 501, 503, 505].includes(response.status)) return true;
	if (response.status === 400 && !response.body && /json$/.test(response.headers['content-type'])) return true;
	if (response.status !== 400 || response.headers.connection?.toLowerCase() !== 'close' || codeOf(response) !== 'protocol.invalid_request' || 'id' in (response.json ?? {})) return false;
	return !request || request.method !== 'POST' || parse(request.body)?.jsonrpc === '2.0' || stricter.some(([, applies]) => applies(request, text, before));
}

// The same body? Seen where the answer repeats a part of it.
function bodyFault(response, request) {
	const message = parse(request.body);
	const content = response.json?.result?.isError ? undefined : response.json?.result?.content?.[0]?.text;
	const code = codeOf(response);
	if (content !== undefined && content !== message?.params?.arguments?.text) return `the body was "${show(content)}" for us, "${show(request.body)}" for the other`;
	if (response.json?.id !== undefined && response.json.id !== message?.id) return `the id was ${response.json.id} for us, "${show(request.body)}" for the other`;
	if (code === 'protocol.parse_error' && message !== undefined && !/\\u/.test(request.body)) return `no JSON for us, "${show(request.body)}" for the other`;
	return undefined;
}

// A client that expects 100 and gets an error need not send the body: where the next
// request begins is then not known.
// Nor need a connection of HTTP/1.0 be kept, or one that was to become a tunnel.
const mayClose = (response, request) => response?.headers.connection?.toLowerCase() === 'close' && (request.version === '1.0' || request.method === 'CONNECT' || (response.status >= 400 && count(request, 'expect') > 0));

// What the head alone decides, a page or an error, may be answered although the body
// is malformed or does not come to its end. Nothing is executed then.
const isHeadAlone = (other, accepted) => other.begun > other.requests.length && accepted.length === other.requests.length + 1 && !accepted.at(-1).json?.result;

// ---- the verdict -------------------------------------------------------------------

// The other dropped the rest of a segment and went on with the next: it saw fewer requests,
// and those that it saw are ours, at the beginning and at the end. No more may be missing than
// request lines follow in that segment. `dropsAfter`: after which request it does so.
function isDropped(other, accepted, segments, dropsAfter) {
	const last = dropsAfter(other);
	if (last < 0) return false;
	const missing = accepted.length - other.requests.length;
	const dropped = segments.map((segment) => segment.toString('latin1').split(/^Upgrade:/im).slice(1).join('').match(/ HTTP\/1\.[01]\r\n/g)?.length ?? 0);
	const rest = other.requests.slice(last + 1);
	const pairs = [...other.requests.slice(0, last + 1).map((request, i) => [accepted[i], request]), ...rest.map((request, i) => [accepted[accepted.length - rest.length + i], request])];
	return missing <= Math.max(...dropped) && pairs.every(([response, request]) => !bodyFault(response, request));
}

function judge({ text, segments }, other, ours, tally, { mustHaveReason, skips, dropsAfter }) {
	const add = (what) => void (tally[what] = (tally[what] ?? 0) + 1);
	if ((ours.fault || ours.rest.length) && skips?.(other)) return add(skips(other));
	if (ours.fault) return `a malformed response: ${ours.fault}`;
	if (ours.isLate) return `the connection stays open, ${ours.list.length} responses, the other has ${other.requests.length}`;
	const refusal = ours.list.length && isRefusal(ours.list.at(-1), other.requests[ours.list.length - 1], text, other.requests[ours.list.length - 2]) ? ours.list.at(-1) : undefined;
	const accepted = refusal ? ours.list.slice(0, -1) : ours.list;
	if (ours.rest.length) return `an incomplete response: ${show(ours.rest)}`;
	if (refusal && !codeOf(refusal) && (refusal.body || !/json$/.test(refusal.headers['content-type']))) return `a refusal without a canonical error: ${refusal.status} ${refusal.body.slice(0, 200)}`;
	if (isHeadAlone(other, accepted)) return add('answered by the head alone, the body being incomplete or malformed');
	if (accepted.length > other.requests.length && skips?.(other)) return add(skips(other));
	if (accepted.length > other.requests.length && dropsAfter && isDropped(other, accepted, segments, dropsAfter)) return add('the other drops the rest of a segment after an Upgrade, and goes on with the next');
	if (accepted.length > other.requests.length) return `we accepted ${accepted.length} requests, the other ${other.requests.length} (${other.refusal ?? 'incomplete'}): ${accepted.map(({ status, body }) => `${status} ${body.slice(0, 160)}`).join(' | ')}`;
	for (const [i, response] of accepted.entries()) {
		const fault = bodyFault(response, other.requests[i]);
		if (fault) return fault;
	}
	tally.requests += accepted.length;
	if (accepted.length === other.requests.length) {
		if (other.refusal) add(refusal ? 'refused by both' : 'refused by the other, closed by us');
		else if (refusal) add('refused by us, not complete for the other');
		return undefined;
	}
	const reason = stricter.find(([, applies]) => applies(other.requests[accepted.length], text, other.requests[accepted.length - 1]));
	if (!refusal && mayClose(accepted.at(-1), other.requests[accepted.length - 1])) return add('closed after HTTP/1.0, after CONNECT, or instead of sending 100');
	if (!refusal) return `we answered ${accepted.length} requests of ${other.requests.length} and closed the connection${ours.error ? ` (${ours.error})` : ''}`;
	if (!mustHaveReason) return add('refused by us alone');
	if (!reason) return `we refused what the other accepts, for no known reason: ${refusal.status} ${refusal.body.slice(0, 300)}`;
	add(`stricter: ${reason[0]}`);
	return undefined;
}

async function run(port, seed, number, reference, tally) {
	const one = makeCase(seed, number);
	const other = await reference.ask(one.segments);
	const fault = judge(one, other, await send(port, one, other.requests), tally, reference);

	tally.cases++;
	return fault && `FW_SEED=${seed} FW_CASE=${number}: ${fault}\n  sent${one.hasFin ? ' (then half-closed)' : ''}: ${one.segments.map((segment) => show(segment, 1200)).join(' + ')}`;
}

// Runs cases [from, to) of a seed against the server at `port` and the reference:
//   ask(segments)    { requests: [{ method, url, version, headers, body }], refusal, begun }
//   skips(answer)    a known weakness of the reference, if the answer shows one
//   dropsAfter(answer) the index of the request after which it drops the rest of a segment
//                    without saying so; -1: none
//   mustHaveReason   what only we refuse needs a reason in the table above
// Stops at twenty differences.
export async function compare(port, seed, from, to, reference, atOnce = 48) {
	const tally = { cases: 0, requests: 0, 'refused by both': 0 };
	const faults = [];
	let next = from;
	const lane = async () => {
		while (next < to && faults.length < 20) {
			const fault = await run(port, seed, next++, reference, tally);
			if (fault) faults.push(fault);
		}
	};

	await Promise.all(Array.from({ length: atOnce }, lane));
	return { tally, faults };
}
