// bench/api_line.mjs - a connection that sends prepared requests one at a time, and the
// same call of a tool as a request of the API and of MCP.

import { connect } from 'node:net';

function request(url, path, body, headers) {
	const text = JSON.stringify(body);
	return `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`;
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

export class Line {
	static async open(url) {
		const line = new Line();
		line.socket = connect(Number(url.port), url.hostname);
		line.socket.setNoDelay(true);
		line.socket.setEncoding('latin1');
		line.seen = '';
		line.socket.on('data', (bytes) => line.take(bytes));
		await new Promise((done) => line.socket.once('connect', done));
		return line;
	}

	take(bytes) {
		this.seen += bytes;
		const end = this.seen.indexOf('\r\n\r\n');
		if (end < 0) return;
		const length = Number(/content-length: (\d+)/i.exec(this.seen)?.[1]);
		if (this.seen.length < end + 4 + length) return;
		const reply = this.seen;
		this.seen = '';
		this.waiting(reply);
	}

	call(text) {
		return new Promise((done) => {
			this.waiting = done;
			this.socket.write(text);
		});
	}

	end() {
		this.socket.destroy();
	}
}
