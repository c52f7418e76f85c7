// HTTP requests, mutated: the same number gives the same bytes on every machine.

import { call, modern, post, request } from './http.mjs';
import { generator } from './random.mjs';

export function random(seed) {
	const next = generator(seed);
	const below = (most) => next() % most;
	return { below, pick: (list) => list[below(list.length)], chance: (part) => below(1000) < part * 1000 };
}

// ---- seeds -------------------------------------------------------------------------

const chunkedOf = (bytes, sizes, extension = '', trailer = '') => {
	const [head, body] = bytes.toString('latin1').split('\r\n\r\n');
	let text = `${head.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')}\r\n\r\n`;
	let at = 0;
	for (const size of [...sizes, body.length]) {
		const part = body.slice(at, at + size);
		if (part) text += `${part.length.toString(16)}${extension}\r\n${part}\r\n`;
		at += size;
	}
	return `${text}0\r\n${trailer}\r\n`;
};

const echo = (random) => call('echo', { text: `text ${random.below(1e6)}` }, {}, random.below(1e6));
const plain = (random) => echo(random).toString('latin1');
const page = (path, method = 'GET', headers = {}) => request(method, { Accept: '*/*', ...headers }, undefined, path).toString('latin1');

// Each makes one request.
const seeds = [
	plain,
	plain,
	(random) => chunkedOf(echo(random), [5, 20]),
	(random) => chunkedOf(echo(random), [1, 2, 3], ';a=b', 'X-Trailer: 1\r\n'),
	(random) => chunkedOf(echo(random), []),
	(random) => plain(random).replace('HTTP/1.1\r\n', 'HTTP/1.0\r\nConnection: keep-alive\r\n'),
	(random) => plain(random).replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'),
	(random) => plain(random).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'),
	(random) => plain(random).replace('POST /mcp', 'POST http://localhost/mcp'),
	() => page('/healthz'),
	() => page('/healthz', 'HEAD'),
	() => page('/healthz?a=b', 'GET', { 'Content-Length': 0 }),
	() => page('/nothing', 'DELETE'),
	() => page('/healthz', 'GET', { Connection: 'Upgrade', Upgrade: 'h2c' }),
	(random) => post({ jsonrpc: '2.0', id: random.below(1e6), method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': modern, 'io.modelcontextprotocol/clientCapabilities': {} } } }, { 'MCP-Protocol-Version': modern, 'Mcp-Method': 'tools/list' }).toString('latin1'),
];

// ---- mutations ---------------------------------------------------------------------

const bytes = ['\0', '\x01', '\t', '\n', '\x0b', '\x0c', '\r', '\x1b', ' ', '"', '#', '%', '(', '+', ',', '-', '.', '/', '0', '1', '9', ':', ';', '=', '?', '@', 'A', 'a', 'f', 'g', 'x', '_', '|', '~', '\x7f', '\x80', '\xa0', '\xff', '\r\n', '\n\r', '\r\r', '\n\n', '\r\n\r\n', '\r\n ', '\r\n\t', '  '];
const ends = ['\n', '\r', '\r\r\n', '\n\r', '\r\n\r\n', '\r\n ', '\r\n\t', '', ' \r\n', '\t\r\n', '\0\r\n', '\x0b\r\n', '\n\n'];
const methods = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE', 'PATCH', 'PRI', 'get', 'P0ST', 'SOURCE', 'M-SEARCH', 'QUERY', 'DESCRIBE', ''];
const targets = ['/', '*', '/mcp', '/mcp?x', '/healthz', 'http://localhost/mcp', 'http://evil.example/mcp', 'localhost:80', 'mcp', '/mcp#x', '/mcp%00', '//mcp', '/m\xe4p', 'http://', 'http:///mcp', 'http://[::1]/mcp', 'https://localhost/mcp', '?', '/mcp%2'];
const versions = ['HTTP/1.0', 'HTTP/1.1', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/1', 'HTTP/11.1', 'http/1.1', 'RTSP/1.0', 'ICE/1.0', ''];
const lengths = ['0', '1', '5', '+5', '-1', '5 5', '5,5', '5, 5', '0x5', '', '00', '007', '4294967296', '18446744073709551615', '18446744073709551616', '99999999999999999999', '5;', '"5"', '5\t', ' 5'];
const codings = ['chunked', 'Chunked', 'chunked, chunked', 'identity', 'gzip, chunked', 'chunked, gzip', 'xchunked', 'chunked ', '\tchunked', '', ',', 'chunked;a', 'chunke', 'chunked\x0b', 'trailers'];
const chunkSizes = ['0', '00', '5', '0x5', '+5', '-5', ' 5', '5 ', '5\t', 'g', '', ';', '5;', '5;a', '5;a="b', '5;\t', 'ffffffffffffffff', '10000000000000005', '0000000000000000000005', '5\n', '5\r', '0;a\n', '0\r'];
const extra = ['Host: localhost', 'Host: evil.example', 'Host:', 'Connection: close', 'Connection: keep-alive', 'Connection: Upgrade', 'Connection: close, keep-alive', 'Upgrade: websocket', 'Expect: 100-continue', 'Expect: x', 'Content-Length: 0', 'Content-Length: 3', 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity', 'Transfer-Encoding:', 'TE: trailers', 'Trailer: X', 'X', ': x', 'X :y', ' X: y', '\tX: y', 'X\0: y', 'X: \0', 'X: a\rb', 'X: a\nb', 'X: \xe4', 'X: \x7f', 'X(: y', 'Keep-Alive: timeout=5', 'Proxy-Connection: close', 'Content-Type: text/plain', 'Authorization: Bearer x', 'Content-Encoding: gzip', 'Origin: http://evil.example'];

const splice = (text, at, count, put) => text.slice(0, at) + put + text.slice(at + count);

// The start of a random line of the head: [its offset, its length].
function line(text, random, first = 1) {
	const end = text.indexOf('\r\n\r\n');
	const lines = text.slice(0, end < 0 ? text.length : end).split('\r\n');
	const which = Math.min(lines.length - 1, first + random.below(Math.max(1, lines.length - first)));
	let at = 0;
	for (let i = 0; i < which; i++) at += lines[i].length + 2;
	return [at, lines[which].length];
}

// Most mutations go to the head: an offset there, or anywhere.
function place(text, random) {
	const end = text.indexOf('\r\n\r\n');
	return random.below(Math.max(1, end > 0 && random.chance(0.7) ? end + 4 : text.length));
}

function setHeader(text, name, value) {
	const found = new RegExp(`(${name}: *)[^\\r\\n]*`, 'i').exec(text);
	return found ? splice(text, found.index, found[0].length, found[1] + value) : text.replace('\r\n', () => `\r\n${name}: ${value}\r\n`);
}

const word = (text, random, list, pattern) => text.replace(pattern, (...found) => found[1] + random.pick(list) + found[2]);

const mutations = [
	(text, random) => { const at = place(text, random); return splice(text, at, 1, String.fromCharCode((text.charCodeAt(at) ^ (1 << random.below(8))) & 255)); },
	(text, random) => splice(text, place(text, random), 1, random.pick(bytes)),
	(text, random) => splice(text, place(text, random), 0, random.pick(bytes)),
	(text, random) => splice(text, place(text, random), 1, String.fromCharCode(random.below(256))),
	(text, random) => splice(text, place(text, random), 1 + random.below(random.chance(0.2) ? 30 : 2), ''),
	(text, random) => { const [at, length] = line(text, random); return splice(text, at, 0, `${text.slice(at, at + length)}\r\n`); },
	(text, random) => { const [at, length] = line(text, random); const moved = text.slice(at, at + length + 2); const rest = splice(text, at, length + 2, ''); return splice(rest, line(rest, random)[0], 0, moved); },
	(text, random) => { const [at, length] = line(text, random, 0); return splice(text, at + length, 2, random.pick(ends)); },
	(text, random) => { const [at] = line(text, random); return splice(text, at, 0, `${random.pick(extra)}\r\n`); },
	(text, random) => { const [at, length] = line(text, random); const colon = text.slice(at, at + length).indexOf(':'); return colon < 0 ? text : splice(text, at + colon, random.below(2), random.pick([' :', '\t:', '\0:', ':', '::', ': \t', ':\t', ':\r\n ', ';', ''])); },
	(text, random) => { const [at, length] = line(text, random); const mixed = [...text.slice(at, at + length)].map((c) => (random.chance(0.5) ? c.toUpperCase() : c)).join(''); return splice(text, at, length, mixed); },
	(text, random) => setHeader(text, 'Content-Length', random.pick(lengths)),
	(text, random) => { const found = text.match(/Content-Length: (\d+)/); return found ? setHeader(text, 'Content-Length', Math.max(0, Number(found[1]) + random.below(7) - 3)) : text; },
	(text, random) => setHeader(text, 'Transfer-Encoding', random.pick(codings)),
	(text, random) => word(text, random, methods, /^()[^ ]*( )/),
	(text, random) => word(text, random, targets, /^([^ ]* )[^ ]*( )/),
	(text, random) => word(text, random, versions, /^([^\r\n]* )[^ \r\n]*(\r)/),
	(text, random) => { const at = [...text.matchAll(/\r\n[0-9a-f]+(;[^\r\n]*)?\r\n/g)]; return at.length ? ((one) => splice(text, one.index + 2, one[0].length - 4, random.pick(chunkSizes)))(random.pick(at)) : text; },
	(text, random) => text.slice(0, 1 + random.below(text.length)),
	(text, random) => text + random.pick(['\r\n', '\n', '\r', '\0', 'x', ' ', '\r\n\r\n', 'GET']),
	(text, random) => random.pick(['\r\n', '\n', '\r', ' ', '\r\n\r\n', '\0', '\t']) + text,
];

// Case number `number` of the run `seed`: { text, segments, hasFin }. Text is latin1.
export function makeCase(seed, number) {
	const choose = random((seed * 0x9e3779b1 + number * 0x85ebca6b) >>> 0);
	const parts = Array.from({ length: choose.pick([1, 1, 1, 2, 2, 3]) }, () => choose.pick(seeds)(choose));
	for (let i = choose.pick([0, 1, 1, 1, 2, 2, 3]); i > 0; i--) {
		const which = choose.below(parts.length);
		parts[which] = choose.pick(mutations)(parts[which], choose) || '\r\n';
	}
	const text = parts.join('');
	const cuts = Array.from({ length: choose.pick([0, 0, 1, 2, 3]) }, () => choose.below(text.length)).filter(Boolean).sort((a, b) => a - b);
	const whole = Buffer.from(text, 'latin1');
	const segments = [...cuts, whole.length].map((end, i, all) => whole.subarray(i ? all[i - 1] : 0, end)).filter((part) => part.length);
	return { number, text, segments, hasFin: choose.chance(0.25) };
}
