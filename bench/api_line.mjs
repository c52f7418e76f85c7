// bench/api_line.mjs - a connection that sends prepared requests one at a time, and the
// same call of a tool as a request of the API and of MCP.

import { connect } from 'node:net';

function request(url, path, body, headers) {
	const text = JSON.stringify(body);
	return Buffer.from(`POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`);
}

const args = { code: 'file.not_found' };
const meta = {
	'io.modelcontextprotocol/protocolVersion': '2026-07-28',
	'io.modelcontextprotocol/clientCapabilities': {},
	'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
};

export const requests = (url) => ({
	api: request(url, '/api/v1/tools/explain_error_code', args, ''),
	mcp: request(url, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'explain_error_code', arguments: args, _meta: meta } },
		'Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: explain_error_code\r\n'),
});

// The replies to one request all have the same length, so only the first is read: the client's
// work per call does not depend on where a reply has its Content-Length.
export class Line {
	static async open(url) {
		const line = new Line();
		line.socket = connect(Number(url.port), url.hostname);
		line.socket.setNoDelay(true);
		line.lengths = new Map();
		line.socket.on('data', (bytes) => line.take(bytes));
		await new Promise((done) => line.socket.once('connect', done));
		return line;
	}

	take(bytes) {
		this.parts.push(bytes);
		this.received += bytes.length;
		let length = this.lengths.get(this.request);
		if (!length) {
			const text = Buffer.concat(this.parts).toString('latin1');
			const end = text.indexOf('\r\n\r\n');
			if (end < 0) return;
			length = end + 4 + Number(/content-length: (\d+)/i.exec(text)[1]);
		}
		if (this.received < length) return;
		if (this.received > length) throw new Error(`a reply of ${this.received} bytes instead of ${length}`);
		this.lengths.set(this.request, length);
		this.waiting(this.parts);
	}

	// Resolves to the parts of the reply.
	call(text) {
		return new Promise((done) => {
			this.request = text;
			this.parts = [];
			this.received = 0;
			this.waiting = done;
			this.socket.write(text);
		});
	}

	end() {
		this.socket.destroy();
	}
}
