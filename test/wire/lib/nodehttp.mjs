// Node's own HTTP server as a reference: which requests does it see in these bytes?
// The bytes reach it through a stream and not a socket (server.emit('connection') is
// documented for that), so that each segment is one read of the parser, and no time
// is lost on connections.

import http from 'node:http';
import { Duplex } from 'node:stream';

class Connection extends Duplex {
	requests = [];
	begun = 0;
	refusal = undefined;
	_read() {}
	_write(chunk, encoding, done) {
		done();
	}
	setTimeout() {}
	setNoDelay() {}
	setKeepAlive() {}
}

const collect = (req, res) => {
	const parts = [];
	const { socket } = req;
	socket.begun++;
	req.on('error', () => {});
	req.on('data', (part) => parts.push(part));
	req.on('end', () => {
		socket.requests.push({ method: req.method, url: req.url, version: req.httpVersion, headers: req.rawHeaders, body: Buffer.concat(parts) });
		res.end();
	});
};

const server = http.createServer({ requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: 1 << 20, requireHostHeader: false }, collect);
server.on('checkExpectation', collect);
server.on('connect', (req, socket) => (socket.refusal = 'CONNECT'));
// The connection is left open, so that the requests before the malformed one come to
// their end.
server.on('clientError', (error, socket) => (socket.refusal ??= error.code));

const turn = () => new Promise((done) => setImmediate(done));

// { requests, refusal, begun }: the complete requests in their order, why the rest was
// refused, if it was, and how many requests had a head that was accepted. As by default in Node, HTTP/1.1 without Host is refused; here,
// and not by the server, because Node goes on to the next request after that answer.
export async function ask(segments) {
	const connection = new Connection();

	connection.on('error', () => {});
	server.emit('connection', connection);
	for (const segment of segments) {
		if (connection.destroyed || connection.refusal) break;
		connection.push(segment);
		await turn();
	}
	for (let i = 0; i < 3; i++) await turn();
	connection.destroy();
	return cut(connection);
}

const hasHost = ({ headers }) => headers.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');

function cut({ requests, refusal, begun }) {
	const at = requests.findIndex((one) => one.version === '1.1' && !hasHost(one));
	return at < 0 ? { requests, refusal, begun } : { requests: requests.slice(0, at), refusal: 'no Host', begun: at };
}

const has = ({ headers }, name, pattern) => headers.some((key, i) => i % 2 === 0 && key.toLowerCase() === name && pattern.test(headers[i + 1]));

const isUpgrade = (request) => has(request, 'upgrade', /./) && has(request, 'connection', /upgrade/i);

// Node ignores an Upgrade that nobody listens for, and drops the rest of the segment.
export function skips({ requests }) {
	const last = requests.at(-1);
	return last && isUpgrade(last) ? 'Node drops what follows an Upgrade that it ignores' : undefined;
}

// With the next segment it goes on.
export const dropsAfter = ({ requests }) => requests.findIndex(isUpgrade);
