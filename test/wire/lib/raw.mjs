// Raw bytes to a server and the bytes that come back: used by tests whose requests
// are malformed on purpose, and which must therefore read responses strictly.

import net from 'node:net';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

// Sends `segments` (a Buffer or a list of them, each written by itself) on a new
// connection. Resolves when the server has closed the connection, when `done(bytes)`
// returns true, or after `ms`. Without `done` the client waits for the server to close.
//   hasEnded: the server closed the connection   isReset: it did so by a reset
//   isLate: neither came in time
export function talk(port, segments, { done, ms = 5000, fin = false, localAddress } = {}) {
	return new Promise((resolve) => {
		const list = [segments].flat();
		const socket = net.connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true });
		const found = { bytes: Buffer.alloc(0), hasEnded: false, isReset: false, isLate: false, isRefused: false };
		let isOver = false;
		const finish = () => {
			if (isOver) return;
			isOver = true;
			clearTimeout(timer);
			socket.on('error', () => {});
			if (found.hasEnded) socket.destroy();
			else socket.resetAndDestroy();
			resolve(found);
		};
		const timer = setTimeout(() => {
			found.isLate = true;
			finish();
		}, ms);
		// Separate writes with setImmediate between them usually become separate reads.
		const next = (at) => {
			if (isOver || socket.destroyed) return;
			if (at < list.length) {
				socket.write(list[at]);
				if (at + 1 < list.length) setImmediate(next, at + 1);
				else if (fin) socket.end();
			}
		};
		socket.on('connect', () => next(0));
		socket.on('data', (bytes) => {
			found.bytes = found.bytes.length ? Buffer.concat([found.bytes, bytes]) : bytes;
			if (done?.(found.bytes)) finish();
		});
		socket.on('end', () => {
			found.hasEnded = true;
			finish();
		});
		socket.on('error', (error) => {
			found.hasEnded = true;
			found.isReset = error.code === 'ECONNRESET' || error.code === 'EPIPE';
			found.isRefused = error.code === 'ECONNREFUSED';
			// The bytes that came before the reset may still be on their way here.
			setImmediate(finish);
		});
	});
}

class Response {
	#json;
	constructor(status, headers, { body, end }) {
		Object.assign(this, { status, headers, body, length: end });
	}
	// Undefined if the body is not JSON; parsed when it is first asked for.
	get json() {
		return (this.#json ??= [parseJson(this.body)])[0];
	}
}

// One response at the start of `bytes`, read strictly: { status, headers, body, length },
// undefined if it is incomplete. Throws if it is not a well-formed HTTP/1.1 response.
export function readResponse(bytes, { isHead = false } = {}) {
	const end = bytes.indexOf('\r\n\r\n');
	if (end < 0) {
		if (bytes.length && !'HTTP/1.1 '.startsWith(bytes.toString('latin1', 0, Math.min(9, bytes.length)))) throw new Error(`not a response: ${show(bytes)}`);
		return undefined;
	}
	const [line, ...fields] = bytes.toString('latin1', 0, end).split('\r\n');
	const start = line.match(/^HTTP\/1\.1 ([1-5]\d\d) ([\x20-\x7e]*)$/);
	if (!start) throw new Error(`not a status line: ${show(line)}`);
	const status = Number(start[1]);
	const headers = {};
	for (const field of fields) {
		const colon = field.indexOf(':');
		const name = field.slice(0, colon).toLowerCase();
		const value = field.slice(colon + 1).trim();
		if (colon < 1 || !token.test(field.slice(0, colon))) throw new Error(`not a header: ${show(field)}`);
		if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Error(`not a header value: ${show(field)}`);
		if (name in headers) throw new Error(`two headers ${name}`);
		headers[name] = value;
	}
	const body = readBody(bytes, end + 4, status, headers, isHead);
	return body && new Response(status, headers, body);
}

function readBody(bytes, at, status, headers, isHead) {
	const length = headers['content-length'];
	const coding = headers['transfer-encoding'];
	if (length !== undefined && coding !== undefined) throw new Error('both Content-Length and Transfer-Encoding');
	if (status < 200 || status === 204) {
		// RFC 9110 8.6 and RFC 9112 6.1: these have neither.
		if (length !== undefined || coding !== undefined) throw new Error(`${status} with the length of a body`);
		return { body: '', end: at };
	}
	if (length === undefined && coding === undefined) throw new Error(`${status} without the length of its body`);
	if (length !== undefined && !/^\d+$/.test(length)) throw new Error(`Content-Length: ${length}`);
	if (isHead || status === 304) return { body: '', end: at };
	if (coding !== undefined) return readChunks(bytes, at);
	const end = at + Number(length);
	return bytes.length < end ? undefined : { body: bytes.toString('utf8', at, end), end };
}

function readChunks(bytes, at) {
	const parts = [];
	for (;;) {
		const line = bytes.indexOf('\r\n', at);
		if (line < 0) return undefined;
		const text = bytes.toString('latin1', at, line);
		if (!/^[0-9a-fA-F]{1,8}$/.test(text)) throw new Error(`not a chunk size: ${show(text)}`);
		const size = parseInt(text, 16);
		const end = line + 2 + size;
		if (bytes.length < end + 2) return undefined;
		if (bytes.toString('latin1', end, end + 2) !== '\r\n') throw new Error('a chunk does not end with CRLF');
		parts.push(bytes.subarray(line + 2, end));
		at = end + 2;
		if (!size) return { body: Buffer.concat(parts).toString('utf8'), end: at };
	}
}

function parseJson(body) {
	try {
		return JSON.parse(body);
	} catch {
		return undefined;
	}
}

// All final responses in `bytes` (1xx ones are counted apart), and what is left over;
// `fault` says what is malformed. heads[i]: the i-th request was HEAD, so its response
// has no body.
export function readResponses(bytes, heads = []) {
	const list = [];
	let interim = 0;
	let fault;
	try {
		while (bytes.length) {
			const response = readResponse(bytes, { isHead: heads[list.length] });
			if (!response) break;
			bytes = bytes.subarray(response.length);
			if (response.status < 200) interim++;
			else list.push(response);
		}
	} catch (error) {
		fault = error.message;
	}
	return { list, interim, rest: bytes, fault };
}

// The code of an error in either form in which HTTP refusals come: JSON-RPC or a
// problem document. Undefined if the body is not a complete error of our contract.
export function codeOf({ json, headers, status }) {
	const type = headers['content-type'];
	const canonical = json?.error?.data?.['dev.faultwire/error'];
	if (type === 'application/json' && json?.jsonrpc === '2.0' && canonical)
		return Number.isInteger(json.error.code) && canonical.message && canonical.incident_id && canonical.status === status ? canonical.code : undefined;
	if (type === 'application/problem+json') return json?.status === status && json.incident_id && json.type && json.title ? json.code : undefined;
	return undefined;
}

export const incidentOf = ({ json }) => json?.error?.data?.['dev.faultwire/error']?.incident_id ?? json?.incident_id;

// Bytes for a message of a failed test.
export function show(bytes, most = 600) {
	const text = typeof bytes === 'string' ? bytes : bytes.toString('latin1');
	return JSON.stringify(text.length > most ? `${text.slice(0, most)}...` : text).replace(/[\x7f-\xff]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
}
