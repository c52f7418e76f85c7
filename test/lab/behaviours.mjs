// The failure lab: every way in which an MCP server is known to fail, one row each.
//
// A row says how the server misbehaves (`act`, run by server.mjs) and what a client of
// the gateway must see. server.mjs is the server, peers is the same lab
// in front of other gateways, test/wire/gate_lab.mjs judges ours.
//
//   name     also the argument of the call: tools/call `fault` {do: name}
//   group    process, stream, http, answer, ours
//   does     one line for people
//   on       transports of the upstream: stdio, http
//   at       call (default): the call itself misbehaves; start: each start or handshake does,
//            until the file `healed` is in the state directory; spawn: there is no such
//            program or address; second: the call after it is the one that fails
//   tool     the tool to call: fault, or sum, which has an output schema
//   era      legacy or modern, if it matters which one the upstream speaks
//   expect   code, origin, delivery, retry of the canonical error; null: the call succeeds
//   soon     false: only the deadline can end it. Everything else is knowable at once
//   has      members of the error's context, or a function of the whole answer
//   open     why the gateway does not do this yet: the test is skipped
//   heals    false: nothing can make the next call work (the program does not exist);
//            'later': the next call may still meet the process that is ending, or what it left

import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { deflateSync, gzipSync } from 'node:zlib';

const STDIO = ['stdio'];
const HTTP = ['http'];
const BOTH = ['stdio', 'http'];

const fails = (code, origin, delivery, retry) => ({ code, origin, delivery, retry });
const exited = fails('upstream.exited', 'upstream', 'sent', 'backoff');
const crashed = fails('upstream.crashed', 'upstream', 'sent', 'backoff');
const notStarted = fails('upstream.start_failed', 'gateway', 'not_sent', 'backoff');
const cannotStart = fails('upstream.cannot_start', 'gateway', 'not_sent', 'never');
const closed = fails('upstream.closed', 'upstream', 'sent', 'backoff');
const late = fails('upstream.timeout', 'upstream', 'sent', 'backoff');
const garbled = fails('upstream.garbled', 'upstream', 'replied', 'never');
const invalid = fails('upstream.invalid_reply', 'upstream', 'replied', 'never');
const wrongId = fails('upstream.wrong_id', 'upstream', 'replied', 'never');
const tooLarge = fails('upstream.reply_too_large', 'upstream', 'replied', 'never');
const unauthorized = fails('upstream.unauthorized', 'upstream', 'replied', 'after_fix');
const limited = fails('upstream.rate_limited', 'upstream', 'replied', 'backoff');
const unavailable = fails('dependency.unavailable', 'upstream', 'replied', 'backoff');
const violation = fails('transport.protocol_violation', 'transport', 'sent', 'never');
const reset = fails('transport.connection_reset', 'transport', 'sent', 'backoff');

const answered = (code, retry) => ({ ...fails(code, 'upstream', 'replied', retry), anyOrigin: true });

const fine = (c) => c.reply(c.text('fine'));
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const failure = (words) => ({ ...text(words), isError: true });
const message = (c, rest) => JSON.stringify({ jsonrpc: '2.0', id: c.id, ...rest });

const framing = (name) => (answer) => JSON.stringify(answer).includes(`"framing":"${name}"`);

// ---- process ------------------------------------------------------------------------

const process_ = [
	{ name: 'not_found', does: 'the program does not exist', on: STDIO, at: 'spawn', command: ['/nonexistent/mcp-server'], expect: cannotStart, heals: false },
	{ name: 'not_executable', does: 'the program is not executable', on: STDIO, at: 'spawn', command: ['/etc/passwd'], expect: cannotStart, heals: false },
	{ name: 'exits_at_start', does: 'exits with status 3 before the handshake', on: STDIO, at: 'start', act: () => process.exit(3), expect: notStarted },
	{ name: 'killed_at_start', does: 'dies of SIGKILL before the handshake', on: STDIO, at: 'start', act: () => process.kill(process.pid, 'SIGKILL'), expect: notStarted },
	{ name: 'closes_at_start', does: 'closes stdout before the handshake and stays', on: STDIO, at: 'start', act: (c) => c.closeOut(), expect: notStarted },
	{ name: 'hangs_at_start', does: 'never answers the handshake', on: BOTH, at: 'start', act: () => {}, expect: { ...notStarted, also: ['upstream.timeout'] }, soon: false },
	{ name: 'error_at_start', does: 'answers the handshake with an error', on: BOTH, at: 'start', act: (c) => c.error(-32603, 'database is not configured'), expect: notStarted },
	{ name: 'version_at_start', does: 'answers the handshake with an unknown protocol version', on: BOTH, at: 'start', act: (c) => c.reply({ ...c.hello(), protocolVersion: '1999-01-01', supportedVersions: ['1999-01-01'] }), expect: notStarted },
	{ name: 'old_version', does: 'answers the handshake with 2024-11-05, as servers of an old SDK do', on: BOTH, at: 'start', act: (c) => (c.request.method === 'initialize' ? c.reply({ ...c.hello(), protocolVersion: '2024-11-05' }) : c.error(-32601, 'Method not found')), expect: null },
	{ name: 'garbage_at_start', does: 'answers the handshake with a cut message', on: BOTH, at: 'start', act: (c) => c.body(message(c, { result: c.hello() }).slice(0, 40)), expect: { ...notStarted, also: ['upstream.garbled'] } },
	{ name: 'exits_0', does: 'exits with status 0 in a call', on: STDIO, act: () => process.exit(0), expect: exited, has: { exit_status: 0 } },
	{ name: 'exits_42', does: 'writes to stderr and exits with status 42 in a call', on: STDIO, act: () => {
		process.stderr.write('fatal: token=hunter2secret rejected\n', () => process.exit(42));
	}, expect: exited, has: { exit_status: 42 } },
	{ name: 'segfault', does: 'dies of SIGSEGV in a call', on: STDIO, act: () => process.kill(process.pid, 'SIGSEGV'), expect: crashed, has: { signal: 'SIGSEGV' } },
	{ name: 'killed', does: 'dies of SIGKILL in a call', on: STDIO, act: () => process.kill(process.pid, 'SIGKILL'), expect: crashed, has: { signal: 'SIGKILL' } },
	{ name: 'aborts', does: 'dies of SIGABRT in a call', on: STDIO, act: () => process.kill(process.pid, 'SIGABRT'), expect: crashed, has: { signal: 'SIGABRT' } },
	{ name: 'closes_stdout', does: 'closes stdout in a call and stays', on: STDIO, act: (c) => c.closeOut(), expect: closed },
	{ name: 'closes_stdin', does: 'closes stdin after a call and stays', on: STDIO, at: 'second', act: (c) => {
		// Node itself never closes it.
		process.stdin.pause();
		closeSync(0);
		setInterval(() => {}, 1000);
		fine(c);
	}, expect: { ...fails('transport.broken_pipe', 'transport', 'not_sent', 'backoff'), orNull: true } },
	{ name: 'cut_then_exits', does: 'writes half a reply without a newline and exits', on: STDIO, act: (c) => c.raw(message(c, { result: text('fine') }).slice(0, 40), () => process.exit(7)), expect: exited, has: { exit_status: 7 } },
	{ name: 'child_keeps_stdout', does: 'exits while a child of it keeps stdout open', on: STDIO, act: () => {
		spawn('sleep', ['3'], { stdio: ['ignore', 'inherit', 'ignore'], detached: true }).unref();
		setTimeout(() => process.exit(9), 20);
	}, expect: exited, has: { exit_status: 9 } },
	{ name: 'replies_then_exits', does: 'replies and exits at once', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') })}\n`, () => process.exit(0)), expect: null, heals: 'later' },
	{ name: 'replies_then_crashes', does: 'replies and dies of SIGSEGV', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') })}\n`, () => process.kill(process.pid, 'SIGSEGV')), expect: null, heals: 'later' },
	{ name: 'floods_stderr', does: 'writes 1 MiB to stderr, then replies', on: STDIO, act: (c) => process.stderr.write('x'.repeat(1 << 20), () => fine(c)), expect: null },
];

// ---- stream: what a message must be -----------------------------------------------------

const stream = [
	{ name: 'log_line', does: 'prints a log line before the reply', on: STDIO, act: (c) => {
		c.raw('2026-11-17 12:00:00 INFO handling the call\n');
		fine(c);
	}, expect: null },
	{ name: 'json_log_line', does: 'prints a log line in JSON before the reply', on: STDIO, act: (c) => {
		c.raw('{"level":"info","msg":"handling the call"}\n');
		fine(c);
	}, expect: null },
	{ name: 'bracket_log', does: 'prints "[INFO] ..." and an object as Node prints it before the reply', on: STDIO, act: (c) => {
		c.raw("[INFO] handling the call\n{ name: 'fault', arguments: { do: 'x' } }\n");
		setTimeout(() => fine(c), 20);
	}, expect: null },
	{ name: 'banner_at_start', does: 'prints a banner before the handshake', on: STDIO, at: 'start', act: (c) => {
		c.raw('Example MCP server v1.2 running on stdio\n\n');
		c.proceed();
	}, expect: null },
	{ name: 'traceback', does: 'prints a traceback instead of a reply and stays', on: STDIO, act: (c) => c.raw('Traceback (most recent call last):\n  File "server.py", line 7, in call\nKeyError: \'id\'\n'), expect: fails('upstream.garbled', 'upstream', 'sent', 'never') },
	{ name: 'cut_line', does: 'replies with a line that is cut in the middle', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') }).slice(0, 50)}\n`), expect: garbled },
	{ name: 'cut_no_newline', does: 'replies with half a line and falls silent', on: STDIO, act: (c) => c.raw(message(c, { result: text('fine') }).slice(0, 50)), expect: late, soon: false, heals: 'later' },
	// The byte after the newline of UTF-16 is left out, so that it does not spoil the next row.
	{ name: 'utf16', does: 'replies in UTF-16, as a redirect in a Windows shell does', on: STDIO, act: (c) => c.raw(Buffer.from(`\ufeff${message(c, { result: text('fine') })}\r\n`, 'utf16le').subarray(0, -1)), expect: garbled, has: framing('UTF-16') },
	{ name: 'utf16_at_start', does: 'answers the handshake in UTF-16', on: STDIO, at: 'start', act: (c) => c.raw(Buffer.from(`${message(c, { result: c.hello() })}\n`, 'utf16le').swap16()), expect: cannotStart, has: (answer) => JSON.stringify(answer).includes('writes UTF-16'), heals: false },
	{ name: 'gzip', does: 'replies in gzip', on: STDIO, act: (c) => c.raw(gzipSync(`${message(c, { result: text('fine') })}\n`)), expect: garbled, has: framing('compression') },
	{ name: 'deflate', does: 'replies in the format of zlib', on: STDIO, act: (c) => c.raw(deflateSync(`${message(c, { result: text('fine') })}\n`)), expect: garbled, has: framing('compression') },
	{ name: 'gzip_at_start', does: 'answers the handshake in gzip', on: STDIO, at: 'start', act: (c) => c.raw(gzipSync(`${message(c, { result: c.hello() })}\n`)), expect: cannotStart, has: (answer) => JSON.stringify(answer).includes('compresses its output'), heals: false },
	{ name: 'cr_line_end', does: 'ends the reply with CR', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') })}\r`), expect: garbled, has: framing('CR line ends') },
	{ name: 'nul_line_end', does: 'ends the reply with a NUL byte', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') })}\0`), expect: garbled, has: framing('NUL line ends') },
	{ name: 'no_newline', does: 'replies without a newline', on: STDIO, act: (c) => c.raw(message(c, { result: text('fine') })), expect: garbled, has: framing('no newline') },
	{ name: 'no_newline_at_start', does: 'answers the handshake without a newline', on: STDIO, at: 'start', act: (c) => c.raw(message(c, { result: c.hello() })), expect: cannotStart, has: (answer) => JSON.stringify(answer).includes('without a newline'), heals: false },
	{ name: 'newline_later', does: 'replies, and sends the newline a moment later', on: STDIO, act: (c) => c.raw(message(c, { result: text('fine') }), () => setTimeout(() => c.raw('\n'), 100)), expect: null },
	{ name: 'two_without_newline', does: 'sends a notification and the reply without newlines', on: STDIO, act: (c) => c.raw(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"id":${c.id}}}}${message(c, { result: text('fine') })}`), expect: garbled, has: framing('no newline') },
	{ name: 'length_headers', does: 'replies with Content-Length headers, as language servers do', on: STDIO, act: (c) => c.raw(`Content-Length: 99\r\n\r\n${message(c, { result: text('fine') })}`, () => setTimeout(() => c.raw('\n'), 200)), expect: garbled, has: framing('Content-Length headers'), heals: 'later' },
	{ name: 'indented', does: 'replies with indented JSON', on: STDIO, act: (c) => c.raw(`${JSON.stringify(JSON.parse(message(c, { result: text('fine') })), null, 2)}\n`), expect: garbled, has: framing('several lines') },
	{ name: 'indented_log', does: 'prints the request and other objects as indented JSON before the reply', on: STDIO, act: (c) => {
		c.raw(`${JSON.stringify(c.request, null, 2)}\n${JSON.stringify({ jsonrpc: '2.0', result: { id: c.id } }, null, 2)}\n`);
		setTimeout(() => fine(c), 200);
	}, expect: null },
	{ name: 'broken_json', does: 'replies with single quotes for double ones', on: BOTH, act: (c) => c.body(message(c, { result: text('fine') }).replaceAll('"', "'")), expect: garbled },
	{ name: 'two_on_a_line', does: 'writes two replies on one line', on: BOTH, act: (c) => c.body(message(c, { result: text('fine') }) + message(c, { result: text('fine') })), expect: garbled },
	{ name: 'invalid_utf8', does: 'replies with bytes that are not UTF-8', on: BOTH, act: (c) => c.body(Buffer.from(message(c, { result: text('caf\xe9') }), 'latin1')), expect: garbled },
	{ name: 'nul_bytes', does: 'replies with NUL bytes in the line', on: BOTH, act: (c) => c.body(message(c, { result: text('fi\0ne') }).replace('\\u0000', '\0')), expect: garbled },
	{ name: 'too_large', does: 'replies with more than the gateway accepts', on: BOTH, act: (c) => c.body(message(c, { result: text('x'.repeat(c.size)) })), expect: tooLarge },
	{ name: 'too_deep', does: 'replies with 5,000 nested arrays', on: BOTH, act: (c) => c.body(message(c, { result: { ...text('fine'), structuredContent: 0 } }).replace('"structuredContent":0', `"structuredContent":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)), expect: { ...invalid, also: ['upstream.garbled'] } },
	{ name: 'no_result', does: 'replies with neither a result nor an error', on: BOTH, act: (c) => c.body(message(c, {})), expect: invalid },
	{ name: 'both', does: 'replies with a result and an error', on: BOTH, act: (c) => c.body(message(c, { result: text('fine'), error: { code: -32603, message: 'no' } })), expect: invalid },
	{ name: 'result_string', does: 'replies with a string as result', on: BOTH, act: (c) => c.body(message(c, { result: 'fine' })), expect: invalid },
	{ name: 'result_null', does: 'replies with null as result', on: BOTH, act: (c) => c.body(message(c, { result: null })), expect: invalid },
	{ name: 'result_array', does: 'replies with an array as result', on: BOTH, act: (c) => c.body(message(c, { result: [] })), expect: invalid },
	{ name: 'error_string', does: 'replies with a string as error', on: BOTH, act: (c) => c.body(message(c, { error: 'it broke' })), expect: invalid },
	{ name: 'error_null', does: 'replies with null as error', on: BOTH, act: (c) => c.body(message(c, { error: null })), expect: invalid },
	{ name: 'error_no_code', does: 'replies with an error that has no code', on: BOTH, act: (c) => c.body(message(c, { error: { message: 'it broke' } })), expect: invalid },
	{ name: 'error_text_code', does: 'replies with an error whose code is a string', on: BOTH, act: (c) => c.body(message(c, { error: { code: 'EBROKEN', message: 'it broke' } })), expect: invalid },
	{ name: 'wrong_id', does: 'replies with the id of another call', on: BOTH, act: (c) => c.body(message(c, { id: 987654321, result: text('fine') })), expect: wrongId },
	{ name: 'id_other_type', does: 'replies with the id as a string if it was a number, and the reverse', on: BOTH, act: (c) => c.body(message(c, { id: typeof c.id === 'number' ? `${c.id}` : 4711, result: text('fine') })), expect: wrongId },
	{ name: 'id_null', does: 'replies with a null id', on: BOTH, act: (c) => c.body(message(c, { id: null, result: text('fine') })), expect: { ...wrongId, also: ['upstream.invalid_reply'] } },
	{ name: 'id_missing', does: 'replies without an id', on: BOTH, act: (c) => c.body(JSON.stringify({ jsonrpc: '2.0', result: text('fine') })), expect: { ...wrongId, also: ['upstream.invalid_reply'] } },
	{ name: 'id_float', does: 'replies with the id as a float (1.0 for 1)', on: STDIO, act: (c) => c.body(message(c, { result: text('fine') }).replace(`"id":${c.id},`, `"id":${c.id}.0,`)), expect: { ...wrongId, orNull: true } },
	{ name: 'error_null_id', does: 'replies with an error whose id is null', on: BOTH, act: (c) => c.body(message(c, { id: null, error: { code: -32600, message: 'Invalid Request' } })), expect: { ...answered('upstream.failed', 'never'), also: ['tool.failed', 'protocol.invalid_request', 'protocol.invalid_params', 'input.invalid_value'], anyRetry: true } },
	{ name: 'duplicate', does: 'replies twice', on: STDIO, act: (c) => {
		fine(c);
		c.reply(c.text('again'));
	}, expect: null },
	{ name: 'stale', does: 'replies to an older call again, then to this one', on: STDIO, act: (c) => {
		c.raw(`${JSON.stringify({ jsonrpc: '2.0', id: c.previousId ?? 0, result: text('old') })}\n`);
		setTimeout(() => fine(c), 50);
	}, expect: { ...wrongId, orNull: true } },
	{ name: 'batch', does: 'replies with an array of one reply', on: BOTH, act: (c) => c.body(`[${message(c, { result: text('fine') })}]`), expect: invalid },
	{ name: 'scalar', does: 'replies with a number instead of a message', on: HTTP, act: (c) => c.body('42'), expect: invalid },
	{ name: 'scalar_line', does: 'prints a number on a line, which may be anything, and never replies', on: STDIO, act: (c) => c.body('42'), expect: late, soon: false },
	{ name: 'result_type', does: 'replies with a resultType that does not exist', on: BOTH, era: 'modern', act: (c) => c.body(message(c, { result: { ...text('fine'), resultType: 'perhaps' } })), expect: invalid },
	{ name: 'content_missing', does: 'replies without content', on: BOTH, act: (c) => c.reply({}), expect: invalid },
	{ name: 'content_string', does: 'replies with a string as content', on: BOTH, act: (c) => c.reply({ content: 'fine' }), expect: invalid },
	{ name: 'content_no_type', does: 'replies with a content item without a type', on: BOTH, act: (c) => c.reply({ content: [{ text: 'fine' }] }), expect: invalid },
	{ name: 'text_number', does: 'replies with a number as text', on: BOTH, act: (c) => c.reply({ content: [{ type: 'text', text: 42 }] }), expect: invalid },
	{ name: 'is_error_text', does: 'replies with isError "true" as a string', on: BOTH, act: (c) => c.reply({ ...text('fine'), isError: 'true' }), expect: invalid },
	{ name: 'output_schema', does: 'replies with structured content that breaks the output schema', on: BOTH, tool: 'sum', act: (c) => c.reply({ ...text('{"sum":"three"}'), structuredContent: { sum: 'three' } }), expect: { ...fails('upstream.invalid_result', 'upstream', 'replied', 'never') } },
	{ name: 'output_missing', does: 'replies without the structured content that the output schema requires', on: BOTH, tool: 'sum', act: (c) => c.reply(text('3')), expect: { ...fails('upstream.invalid_result', 'upstream', 'replied', 'never') } },
	{ name: 'pieces', does: 'writes the reply byte by byte', on: BOTH, act: (c) => c.pieces(message(c, { result: text('fine') })), expect: null },
	{ name: 'crlf', does: 'ends the line with CRLF', on: STDIO, act: (c) => c.raw(`${message(c, { result: text('fine') })}\r\n`), expect: null },
	{ name: 'blank_lines', does: 'writes blank lines around the reply', on: STDIO, act: (c) => c.raw(`\n\n${message(c, { result: text('fine') })}\n\n`), expect: null },
	{ name: 'with_notification', does: 'writes a notification and the reply at once', on: STDIO, act: (c) => c.raw(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })}\n${message(c, { result: text('fine') })}\n`), expect: null },
	{ name: 'unknown_request', does: 'sends a request of an unknown method, waits for its answer and replies', on: STDIO, era: 'legacy', act: (c) => c.ask('example/unknown', {}, () => fine(c)), expect: null },
	{ name: 'pings', does: 'pings, waits for the answer and replies', on: STDIO, era: 'legacy', act: (c) => c.ask('ping', undefined, () => fine(c)), expect: null },
	{ name: 'silence', does: 'never answers', on: BOTH, act: () => {}, expect: late, soon: false },
	{ name: 'drips', does: 'keeps writing blanks and never a newline', on: STDIO, act: (c) => c.every(20, () => c.raw(' ')), expect: late, soon: false },
	{ name: 'progress_only', does: 'sends progress and never a reply', on: STDIO, act: (c) => c.every(50, (n) => c.progress(n)), expect: late, soon: false },
	{ name: 'late', does: 'replies long after the deadline', on: BOTH, act: (c) => setTimeout(() => fine(c), c.lateMs), expect: late, soon: false },
];

// ---- HTTP -------------------------------------------------------------------------------

const status = (code, headers = {}, body = '', type = 'text/plain') => (c) => {
	c.res.writeHead(code, { 'content-type': type, ...headers });
	c.res.end(body);
};
const page = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>';
const inSeconds = (seconds) => new Date(Date.now() + seconds * 1000).toUTCString();
const notFound = fails('resource.not_found', 'upstream', 'replied', 'after_fix');

const http = [
	{ name: 'dns', does: 'the host name does not exist', on: HTTP, at: 'spawn', url: () => 'http://no-such-host.invalid/mcp', expect: fails('transport.name_not_resolved', 'transport', 'not_sent', 'backoff'), heals: false },
	{ name: 'refused', does: 'nothing listens on the port', on: HTTP, at: 'spawn', url: (lab) => `http://127.0.0.1:${lab.closedPort}/mcp`, expect: fails('transport.connection_refused', 'transport', 'not_sent', 'backoff'), heals: false },
	{ name: 'tls_to_plain', does: 'speaks plain HTTP on an https address', on: HTTP, at: 'spawn', url: (lab) => `https://127.0.0.1:${lab.port}/mcp`, expect: fails('transport.tls_failed', 'transport', 'not_sent', 'never'), heals: false },
	{ name: 'not_http', does: 'greets with another protocol', on: HTTP, at: 'spawn', url: (lab) => `http://127.0.0.1:${lab.otherPort}/mcp`, expect: cannotStart, heals: false },
	{ name: 'http_401_at_start', does: '401 to the handshake, with WWW-Authenticate', on: HTTP, at: 'start', act: status(401, { 'www-authenticate': 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"' }), expect: { ...unauthorized, anyDelivery: true }, has: (answer) => JSON.stringify(answer).includes('resource_metadata') },
	{ name: 'http_404_at_start', does: '404 to the handshake', on: HTTP, at: 'start', act: status(404), expect: cannotStart },
	{ name: 'http_405_at_start', does: '405 to the handshake', on: HTTP, at: 'start', act: status(405, { allow: 'GET' }), expect: cannotStart },
	{ name: 'http_410_at_start', does: '410 to the handshake', on: HTTP, at: 'start', act: status(410), expect: cannotStart },
	{ name: 'http_503_at_start', does: '503 to the handshake', on: HTTP, at: 'start', act: status(503), expect: notStarted },
	{ name: 'other_json_at_start', does: 'the JSON of another API to the handshake', on: HTTP, at: 'start', act: status(200, {}, '{"status":"ok"}', 'application/json'), expect: cannotStart },
	{ name: 'http_500_at_start', does: '500 to the handshake', on: HTTP, at: 'start', act: status(500), expect: notStarted },
	{ name: 'html_at_start', does: 'a page of HTML to the handshake', on: HTTP, at: 'start', act: status(200, {}, page, 'text/html'), expect: cannotStart },
	{ name: 'http_401', does: '401 with WWW-Authenticate', on: HTTP, act: status(401, { 'www-authenticate': 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource", scope="files:read"' }), expect: unauthorized, has: (answer) => JSON.stringify(answer).includes('files:read') },
	{ name: 'http_403', does: '403 insufficient_scope', on: HTTP, act: status(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="files:write"' }), expect: { ...unauthorized, also: ['auth.forbidden'] }, has: (answer) => JSON.stringify(answer).includes('files:write') },
	{ name: 'session_lost', does: '404 once, because it forgot the session', on: HTTP, era: 'legacy', act: (c) => (c.once('session_lost') ? c.forget() : fine(c)), expect: null },
	{ name: 'session_lost_always', does: '404 to every call of a session', on: HTTP, era: 'legacy', act: (c) => c.forget(), expect: { ...fails('session.unknown', 'upstream', 'replied', 'after_fix'), anyRetry: true } },
	{ name: 'session_lost_400', does: '400 "no valid session" once, where 404 is meant', on: HTTP, era: 'legacy', act: (c) => (c.once('session_lost_400') ? c.forget(400, '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}') : fine(c)), expect: { ...fails('session.unknown', 'upstream', 'replied', 'after_fix'), also: ['input.invalid_value', 'upstream.failed', 'protocol.invalid_request', 'upstream.invalid_reply', 'tool.failed', 'session.missing'], orNull: true, anyRetry: true } },
	{ name: 'http_404', does: '404 without a session', on: HTTP, era: 'modern', act: status(404), expect: { ...notFound, also: ['upstream.failed'], anyRetry: true } },
	{ name: 'http_400', does: '400 with a text', on: HTTP, act: status(400, {}, 'Bad Request'), expect: { ...fails('input.invalid_value', 'upstream', 'replied', 'after_fix'), also: ['protocol.invalid_request', 'upstream.failed'], anyRetry: true } },
	{ name: 'http_400_rpc', does: '400 with a JSON-RPC error', on: HTTP, act: (c) => status(400, {}, message(c, { error: { code: -32602, message: 'Invalid arguments: missing required field "path"' } }), 'application/json')(c), expect: { ...fails('input.schema_violation', 'upstream', 'replied', 'after_fix'), also: ['input.missing_field', 'protocol.invalid_params'] } },
	{ name: 'http_405', does: '405', on: HTTP, act: status(405, { allow: 'GET' }), expect: { ...fails('input.invalid_value', 'upstream', 'replied', 'after_fix'), also: ['protocol.http_method_not_allowed', 'upstream.failed', 'transport.protocol_violation'], anyRetry: true } },
	{ name: 'http_408', does: '408', on: HTTP, act: status(408), expect: fails('transport.timeout', 'upstream', 'replied', 'backoff') },
	{ name: 'http_409', does: '409', on: HTTP, act: status(409), expect: { ...fails('resource.conflict', 'upstream', 'replied', 'after_fix'), anyRetry: true } },
	{ name: 'http_410', does: '410', on: HTTP, act: status(410), expect: notFound },
	{ name: 'http_413', does: '413', on: HTTP, act: status(413), expect: { ...fails('input.too_large', 'upstream', 'replied', 'after_fix'), also: ['input.invalid_value'] } },
	{ name: 'http_429', does: '429 with Retry-After in seconds', on: HTTP, act: status(429, { 'retry-after': '7' }), expect: limited, has: ({ canonical }) => canonical.retry_after > 0 && canonical.retry_after <= 7 },
	{ name: 'http_429_date', does: '429 with Retry-After as a date', on: HTTP, act: (c) => status(429, { 'retry-after': inSeconds(20) })(c), expect: limited, has: ({ canonical }) => canonical.retry_after > 10 && canonical.retry_after <= 20 },
	{ name: 'http_500', does: '500 with a text', on: HTTP, act: status(500, {}, 'Internal Server Error'), expect: unavailable },
	{ name: 'http_500_rpc', does: '500 with a JSON-RPC error', on: HTTP, act: (c) => status(500, {}, message(c, { error: { code: -32603, message: 'the frobnicator is unhappy' } }), 'application/json')(c), expect: { ...unavailable, also: ['upstream.failed', 'tool.failed'], anyRetry: true } },
	{ name: 'http_502', does: '502 with a page of HTML', on: HTTP, act: status(502, {}, page, 'text/html'), expect: unavailable },
	{ name: 'http_503', does: '503 with Retry-After', on: HTTP, act: status(503, { 'retry-after': '3' }), expect: unavailable, has: ({ canonical }) => canonical.retry_after > 0 && canonical.retry_after <= 3 },
	{ name: 'http_504', does: '504', on: HTTP, act: status(504), expect: fails('transport.timeout', 'upstream', 'replied', 'backoff') },
	{ name: 'http_html', does: '200 with a page of HTML', on: HTTP, act: status(200, {}, page, 'text/html'), expect: invalid },
	{ name: 'http_empty', does: '200 with an empty body', on: HTTP, act: status(200, {}, '', 'application/json'), expect: invalid },
	{ name: 'http_202', does: '202 to a request', on: HTTP, act: status(202), expect: invalid },
	{ name: 'http_type', does: 'JSON as text/plain', on: HTTP, act: (c) => status(200, {}, message(c, { result: text('fine') }))(c), expect: invalid },
	{ name: 'http_no_type', does: 'JSON without a content type', on: HTTP, act: (c) => {
		c.res.writeHead(200);
		c.res.end(message(c, { result: text('fine') }));
	}, expect: invalid },
	{ name: 'http_cut_json', does: 'a JSON body that is cut', on: HTTP, act: (c) => status(200, {}, message(c, { result: text('fine') }).slice(0, 50), 'application/json')(c), expect: garbled },
	{ name: 'http_short', does: 'closes before all bytes of Content-Length came', on: HTTP, act: (c) => {
		c.res.writeHead(200, { 'content-type': 'application/json', 'content-length': '4096' });
		c.res.write(message(c, { result: text('fine') }), () => c.res.socket.end());
	}, expect: { ...reset, delivery: 'replied' } },
	{ name: 'reset', does: 'resets the connection before the response', on: HTTP, act: (c) => c.res.socket.resetAndDestroy(), expect: reset },
	{ name: 'reset_in_body', does: 'resets the connection in the body', on: HTTP, act: (c) => {
		c.res.writeHead(200, { 'content-type': 'application/json', 'content-length': '4096' });
		c.res.write('{"jsonrpc":', () => setTimeout(() => c.res.socket.resetAndDestroy(), 10));
	}, expect: { ...reset, delivery: 'replied' } },
	{ name: 'reset_in_sse', does: 'resets the connection in the event stream', on: HTTP, act: (c) => {
		c.sse(': hello\n\n');
		setTimeout(() => c.res.socket.resetAndDestroy(), 10);
	}, expect: reset },
	{ name: 'closes', does: 'closes the connection before the response', on: HTTP, act: (c) => c.res.socket.end(), expect: reset },
	{ name: 'sse', does: 'answers with an event stream, comments and a retry field', on: HTTP, act: (c) => {
		c.sse(`: hello\n\nretry: 500\n\nevent: message\ndata: ${message(c, { result: text('fine') })}\n\n`);
		c.res.end();
	}, expect: null },
	{ name: 'sse_ends', does: 'ends the event stream without the reply', on: HTTP, act: (c) => {
		c.sse(': hello\n\n');
		c.res.end();
	}, expect: closed },
	{ name: 'sse_cut', does: 'ends the event stream in the middle of the reply', on: HTTP, act: (c) => {
		c.sse(`event: message\ndata: ${message(c, { result: text('fine') }).slice(0, 50)}`);
		c.res.end();
	}, expect: garbled },
	{ name: 'sse_garbled', does: 'an event whose data is not JSON', on: HTTP, act: (c) => {
		c.sse(`event: message\ndata: ${message(c, { result: text('fine') }).slice(0, 50)}\n\n`);
		c.res.end();
	}, expect: garbled },
	{ name: 'sse_silence', does: 'opens the event stream and sends only comments', on: HTTP, act: (c) => {
		c.sse(': hello\n\n');
		c.every(50, () => c.res.write(': still here\n\n'));
	}, expect: late, soon: false },
	{ name: 'sse_resumed', does: 'ends the event stream and gives the reply when it is resumed by Last-Event-ID', on: HTTP, era: 'legacy', act: (c) => {
		c.keep(message(c, { result: text('fine') }));
		c.sse(`retry: 20\nid: ${c.eventId}\ndata: \n\n`);
		c.res.end();
	}, expect: null },
	{ name: 'redirect', does: '307 to another path of the same host', on: HTTP, act: (c) => (c.req.url.includes('moved') ? fine(c) : status(307, { location: '/mcp?moved' })(c)), expect: null },
	{ name: 'redirect_loop', does: '307 to itself', on: HTTP, act: status(307, { location: '/mcp' }), expect: { ...violation, delivery: 'replied' } },
	{ name: 'redirect_away', does: '307 to another host', on: HTTP, act: (c) => status(307, { location: `http://localhost:${c.req.socket.localPort}/elsewhere` })(c), expect: { ...violation, delivery: 'replied' } },
];

// ---- answers ------------------------------------------------------------------------------

const envelope = {
	kaiza: { error_code: 'PATH_NOT_FOUND', human_message: 'path does not exist: src/missing', role: 'WINDSURF', session_id: '550e8400-e29b-41d4-a716-446655440000', workspace_root: '/home/user/project', tool_name: 'open_file', invariant_id: null, phase_id: null, plan_hash: null, cause: null, timestamp: '2026-01-19T15:32:10.123Z' },
	'context-v0': { error: { code: 'io_error', message: 'I/O error occurred' } },
	codeintel: { path: '', content: '', lines: 0, size: 0, error: 'path does not exist: src/missing', problem: { type: 'https://kgfoundry.dev/problems/file-not-found', title: 'File Not Found', status: 404, detail: 'path does not exist: src/missing', instance: 'urn:codeintel:files:open_file', code: 'file-not-found', extensions: { path: 'src/missing' } } },
	toolerror: { type: 'TRANSIENT', message: 'the tracker does not answer', recoverable: true, data: { retry_after: 5 } },
	owlclaw: { error: { code: 'path.not_found', message: 'path does not exist: src/missing', category: 'validation', retryable: false, incident_id: 'inc_20260119_4k7m2q9x3vbn8t6w1zr5cdfghj', details: { path: 'src/missing' } } },
};
const kept = (words) => ({ answer }) => answer.result?.content?.some((item) => item.text === words);
const flat = (name, does, words, code, retry, more = {}) => ({ name, does, on: BOTH, act: (c) => c.reply(failure(words)), expect: answered(code, retry), has: kept(words), ...more });
const asJson = (contract, code, retry) => ({ name: `answer_${contract.replace('-', '_')}`, does: `isError with an error of the contract ${contract}`, on: BOTH, act: (c) => c.reply(failure(JSON.stringify(envelope[contract]))), expect: answered(code, retry) });

const answer = [
	flat('answer_rate_limit', 'isError: rate limit exceeded, try again in 30s', 'rate limit exceeded, try again in 30s', 'upstream.rate_limited', 'backoff'),
	flat('answer_forbidden', "isError: EACCES: permission denied", "EACCES: permission denied, open '/etc/shadow'", 'auth.forbidden', 'never'),
	flat('answer_refused', 'isError: connect ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:5432', 'transport.connection_refused', 'backoff'),
	flat('answer_missing_file', 'isError: ENOENT: no such file', "ENOENT: no such file or directory, open '/tmp/x'", 'file.not_found', 'after_fix'),
	flat('answer_arguments', 'isError: invalid arguments', 'Invalid arguments: missing required field "path"', 'input.schema_violation', 'after_fix'),
	flat('answer_full', 'isError: ENOSPC', 'ENOSPC: no space left on device, write', 'io.no_space', 'never', { expect: { ...answered('io.no_space', 'never'), anyRetry: true } }),
	{ name: 'answer_flat', does: 'isError with a text that says nothing', on: BOTH, act: (c) => c.reply(failure('the frobnicator is unhappy')), expect: { ...answered('upstream.failed', 'never'), also: ['tool.failed'] }, has: kept('the frobnicator is unhappy') },
	{ name: 'answer_empty', does: 'isError with empty content', on: BOTH, act: (c) => c.reply({ content: [], isError: true }), expect: { ...answered('upstream.failed', 'never'), also: ['tool.failed', 'tool.no_result'] } },
	asJson('kaiza', 'path.not_found', 'after_fix'),
	asJson('context-v0', 'io.failed', 'never'),
	asJson('codeintel', 'file.not_found', 'after_fix'),
	asJson('toolerror', 'dependency.unavailable', 'backoff'),
	asJson('owlclaw', 'path.not_found', 'after_fix'),
	{ name: 'rpc_internal', does: 'JSON-RPC error -32603 without data', on: BOTH, act: (c) => c.error(-32603, 'the frobnicator is unhappy'), expect: { ...answered('upstream.failed', 'never'), also: ['tool.failed'] } },
	{ name: 'rpc_rate_limit', does: 'JSON-RPC error -32000: rate limit exceeded, try again in 30s', on: BOTH, act: (c) => c.error(-32000, 'rate limit exceeded, try again in 30s'), expect: answered('upstream.rate_limited', 'backoff'), has: ({ canonical }) => canonical.retry_after === 30 },
	{ name: 'rpc_unknown_tool', does: 'JSON-RPC error -32602: Tool not found', on: BOTH, act: (c) => c.error(-32602, 'Tool fault not found'), expect: { ...answered('protocol.unknown_tool', 'after_fix'), also: ['protocol.invalid_params', 'resource.not_found', 'tool.failed', 'upstream.failed'], anyRetry: true } },
	{ name: 'rpc_no_method', does: 'JSON-RPC error -32601', on: BOTH, act: (c) => c.error(-32601, 'Method not found'), expect: { ...answered('protocol.method_not_found', 'after_fix'), anyRetry: true } },
	{ name: 'rpc_data', does: 'JSON-RPC error with an error of a contract in its data', on: BOTH, act: (c) => c.error(-32603, 'path does not exist: src/missing', envelope.owlclaw), expect: answered('path.not_found', 'after_fix') },
	{ name: 'rpc_faultwire', does: 'JSON-RPC error of another faultwire, canonical error in its data', on: BOTH, act: (c) => c.error(-32603, 'no space left', { 'dev.faultwire/error': { code: 'io.no_space', category: 'runtime', type: 'INTERNAL', retry: 'after_fix', recoverable: false, status: 507, severity: 'critical', title: 'No Space Left', message: 'no space left: /var', origin: 'tool', incident_id: 'inc_20260119_4k7m2q9x3vbn8t6w1zr5cdfghj', timestamp: '2026-01-19T15:32:10.123Z' } }), expect: { ...answered('io.no_space', 'after_fix'), anyRetry: true } },
	{ name: 'suspect_passes', does: 'a success whose text is an error, without --suspect', on: BOTH, act: (c) => c.reply(text('Error: connect ECONNREFUSED 127.0.0.1:5432')), expect: null },
	{ name: 'suspect', does: 'a success whose text is an error, with --suspect', on: BOTH, options: ['--suspect'], act: (c) => c.reply(text('Error: connect ECONNREFUSED 127.0.0.1:5432')), expect: answered('transport.connection_refused', 'backoff') },
];

const grouped = (group, rows) => rows.map((row) => ({ group, at: 'call', tool: 'fault', soon: true, heals: true, ...row }));

export const rows = [...grouped('process', process_), ...grouped('stream', stream), ...grouped('http', http), ...grouped('answer', answer)];
export const byName = new Map(rows.map((row) => [row.name, row]));
