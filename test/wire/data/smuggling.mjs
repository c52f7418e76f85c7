// Requests on which two HTTP parsers might disagree. http_smuggling.mjs sends each of
// them with another request behind it on the same connection, and checks the verdict:
//
//   one      exactly one request: it is answered, and so is the request behind it
//   refused  one response, which is an error of ours; the connection closes, and
//            the request behind it (the canary) is neither executed nor answered
//   closed   one response of any kind; then the same as for `refused`
//   either   any of these: the specification leaves the choice to the server
//
// A row is [name, verdict, bytes, statuses]; `statuses` lists what the first response
// may have, [400] if it is left out and the verdict is `refused`. Bytes are latin1.
// Section numbers are those of RFC 9112 unless another document is named.

const body = '{"jsonrpc":"2.0","id":"first","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}';
const size = body.length;
const hex = size.toString(16);
const common = ['Accept: application/json, text/event-stream', 'Content-Type: application/json', 'MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tools/list'];

// A POST whose framing headers are `lines`, then `payload` as it stands.
const sent = (lines, payload = body) => `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${[...common, ...lines].map((line) => `${line}\r\n`).join('')}\r\n${payload}`;
const withLength = (...lines) => sent([...lines, `Content-Length: ${size}`]);
const withLine = (line) => sent([`Content-Length: ${size}`, line]);
const chunk = `${hex}\r\n${body}\r\n`;
const chunked = (payload, coding = 'Transfer-Encoding: chunked') => sent([coding], payload);
const get = (line, ...lines) => `${[line, 'Host: localhost', ...lines].join('\r\n')}\r\n\r\n`;
const large = [400, 413];

// Requests that follow on the same connection: one that must be answered, and one that
// must never be executed. `raise_error` fails, so the audit log shows if it ran.
const following = (text, method, name) => `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${name ? `Mcp-Name: ${name}\r\n` : ''}Content-Length: ${text.length}\r\n\r\n${text}`;
export const probe = following(body.replace('first', 'probe'), 'tools/list');
export const canary = following('{"jsonrpc":"2.0","id":"canary","method":"tools/call","params":{"name":"raise_error","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}', 'tools/call', 'raise_error');

// ---- Content-Length (6.2, 6.3) -----------------------------------------------------

const lengths = [
	['a plain length', 'one', withLength(), [200]],
	['a length with blanks around it (OWS, RFC 9110 5.5)', 'either', sent([`Content-Length: \t ${size} \t`]), [200, 400]],
	['a length with leading zeros', 'either', sent([`Content-Length: 000${size}`]), [200, 400]],
	['a length with a thousand leading zeros', 'either', sent([`Content-Length: ${'0'.repeat(1000)}${size}`]), [200, 400]],
	['a length of zero', 'one', sent(['Content-Length: 0'], ''), [400]],
	['no length at all', 'one', sent([], ''), [400, 411]],
	['a GET with a body', 'one', `${get('GET /healthz HTTP/1.1', 'Content-Length: 5')}hello`, [200]],
	['a GET whose body looks like a request', 'one', `${get('GET /healthz HTTP/1.1', `Content-Length: ${canary.length}`)}${canary}`, [200]],
	['a DELETE whose body looks like a request', 'one', `${get('DELETE /mcp HTTP/1.1', `Content-Length: ${canary.length}`)}${canary}`, [400, 404, 405]],
	...[
		['a plus sign', `+${size}`], ['a minus sign', `-${size}`], ['minus one', '-1'], ['two numbers', `${size} ${size}`], ['a list', `${size},${size}`],
		['a list with a blank', `${size}, ${size}`], ['a list of different numbers', `0, ${size}`], ['hexadecimal', `0x${hex}`], ['a fraction', `${size}.0`], ['an exponent', `${size}e0`],
		['nothing', ''], ['blanks only', '   '], ['a vertical tab behind it', `${size}\x0b`], ['a form feed before it', `\x0c${size}`], ['a NUL behind it', `${size}\0`], ['a NUL before it', `\0${size}`],
		['a semicolon', `${size};`], ['quotes', `"${size}"`], ['a letter behind it', `${size}a`], ['a letter before it', `a${size}`], ['full-width digits', '\xef\xbc\x95'],
		['an underscore', `1_${size}`], ['a non-breaking space', `\xa0${size}`], ['a negative zero', '-0'], ['a carriage return behind it', `${size}\r`],
	].map(([what, value]) => [`Content-Length with ${what}`, 'refused', sent([`Content-Length: ${value}`])]),
	...[
		['2^63', '9223372036854775808'], ['2^64 - 1', '18446744073709551615'], ['2^64', '18446744073709551616'],
		['2^64 + the length', (2n ** 64n + BigInt(size)).toString()], ['2^32 + the length', (2 ** 32 + size).toString()], ['thirty nines', '9'.repeat(30)], ['a thousand nines', '9'.repeat(1000)],
	].map(([what, value]) => [`Content-Length of ${what}`, 'refused', sent([`Content-Length: ${value}`]), large]),
	['two lengths, the same', 'refused', sent([`Content-Length: ${size}`, `Content-Length: ${size}`])],
	['two lengths, the first shorter', 'refused', sent(['Content-Length: 0', `Content-Length: ${size}`])],
	['two lengths, the second shorter', 'refused', sent([`Content-Length: ${size}`, 'Content-Length: 0'])],
	['two lengths in different case', 'refused', sent([`content-length: ${size}`, 'CONTENT-LENGTH: 0'])],
	['two lengths, one of them empty', 'refused', sent([`Content-Length: ${size}`, 'Content-Length:'])],
	['two lengths with other headers between', 'refused', sent([`Content-Length: ${size}`, 'X-Between: 1', 'Content-Length: 1'])],
	['a length with a blank before the colon (5.1)', 'refused', sent([`Content-Length : ${size}`])],
	['a length with a tab before the colon', 'refused', sent([`Content-Length\t: ${size}`])],
	['a length behind a blank', 'refused', sent([` Content-Length: ${size}`])],
	['a folded length (5.2)', 'refused', sent([`Content-Length:\r\n ${size}`])],
	['a length folded by a tab', 'refused', sent([`Content-Length:\r\n\t${size}`])],
	['a length continued on a second line', 'refused', sent([`Content-Length: ${size}\r\n 0`])],
	['a length whose second line is blank', 'refused', sent([`Content-Length: ${size}\r\n `])],
	['a length hidden in a folded header', 'refused', sent([`X-Fold: a\r\n Content-Length: ${size}`])],
	['a length without a colon', 'refused', sent([`Content-Length ${size}`])],
	['a length behind a bare LF (2.2)', 'refused', sent([`X-Line: a\nContent-Length: ${size}`])],
	['a length behind a bare CR (2.2)', 'refused', sent([`X-Line: a\rContent-Length: ${size}`])],
	['a length behind a NUL', 'refused', sent([`X-Line: a\0Content-Length: ${size}`])],
	['a length with an underscore is another header', 'one', withLine('Content_Length: 0'), [200]],
];

// ---- Transfer-Encoding (6.1) -------------------------------------------------------

const end = '0\r\n\r\n';
const both = `${chunk}${end}`;
const codings = [
	['chunked', 'one', chunked(both), [200]],
	['chunked in capitals', 'one', chunked(both, 'TRANSFER-ENCODING: CHUNKED'), [200]],
	['chunked behind two blanks (OWS)', 'either', chunked(both, 'Transfer-Encoding:  chunked'), [200, 400]],
	['chunked behind a tab (OWS)', 'either', chunked(both, 'Transfer-Encoding:\tchunked'), [200, 400]],
	['chunked before a blank (OWS)', 'either', chunked(both, 'Transfer-Encoding: chunked '), [200, 400, 501]],
	['chunked before a tab (OWS)', 'either', chunked(both, 'Transfer-Encoding: chunked\t'), [200, 400, 501]],
	['a coding with an underscore is another header', 'one', withLine('Transfer_Encoding: chunked'), [200]],
	['a trailing name of chunked is another header', 'one', withLine('Transfer-Encodings: chunked'), [200]],
	...[
		['chunked twice', 'chunked, chunked'], ['identity', 'identity'], ['identity behind chunked', 'chunked, identity'], ['identity before chunked', 'identity, chunked'], ['gzip', 'gzip'],
		['gzip before chunked', 'gzip, chunked'], ['gzip behind chunked', 'chunked, gzip'], ['xchunked', 'xchunked'], ['chunkedx', 'chunkedx'], ['chunke', 'chunke'], ['nothing', ''], ['a comma', ','],
		['a comma before it', ',chunked'], ['a comma behind it', 'chunked,'], ['a parameter', 'chunked;q=1'], ['quotes', '"chunked"'], ['a vertical tab', '\x0bchunked'], ['a form feed behind it', 'chunked\x0c'],
		['a NUL behind it', 'chunked\0'], ['a NUL before it', '\0chunked'], ['a NUL within', 'chun\0ked'], ['a non-breaking space', 'chunked\xa0'], ['a long s for no letter', 'chun\xc5\xbfked'],
		['a blank within', 'chun ked'], ['a carriage return behind it', 'chunked\r'], ['a bare LF behind it', 'chunked\n'], ['a bare CR and a header', 'x\rTransfer-Encoding: chunked'],
	].map(([what, value]) => [`Transfer-Encoding with ${what}`, 'refused', chunked(both, `Transfer-Encoding: ${value}`), [400, 501]]),
	['two codings, both chunked', 'refused', chunked(both, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'), [400, 501]],
	['two codings, identity last', 'refused', chunked(both, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'), [400, 501]],
	['two codings, identity first', 'refused', chunked(both, 'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked'), [400, 501]],
	['two codings, one of them empty', 'refused', chunked(both, 'Transfer-Encoding: chunked\r\nTransfer-Encoding:'), [400, 501]],
	['two codings, the second unknown', 'refused', chunked(both, 'Transfer-Encoding: chunked\r\nTransfer-Encoding: cow'), [400, 501]],
	['a coding and a length (CL.TE)', 'refused', sent(['Content-Length: 6', 'Transfer-Encoding: chunked'], `0\r\n\r\nG`)],
	['a length and a coding (TE.CL)', 'refused', sent(['Transfer-Encoding: chunked', 'Content-Length: 4'], both)],
	['a coding and a length of zero', 'refused', sent(['Content-Length: 0', 'Transfer-Encoding: chunked'], both)],
	['a length and an unknown coding', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding: cow']), [400, 501]],
	['a length and an identity coding', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding: identity']), [400, 501]],
	['a length and a coding with a blank before the colon', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding : chunked'])],
	['a length and a coding with a tab before the colon', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding\t: chunked'])],
	['a length and a coding with a NUL before the colon', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding\0: chunked'])],
	['a length and a coding behind a blank', 'refused', sent([`Content-Length: ${size}`, ' Transfer-Encoding: chunked'])],
	['a length and a folded coding', 'refused', sent([`Content-Length: ${size}`, 'Transfer-Encoding:\r\n chunked'])],
	['a folded coding', 'refused', chunked(both, 'Transfer-Encoding:\r\n chunked')],
	['a coding continued on a second line', 'refused', chunked(both, 'Transfer-Encoding: chunked\r\n , identity')],
	['a length and a coding behind a bare LF', 'refused', sent([`Content-Length: ${size}`, 'X-Line: a\nTransfer-Encoding: chunked'])],
	['a length and a coding behind a bare CR', 'refused', sent([`Content-Length: ${size}`, 'X-Line: a\rTransfer-Encoding: chunked'])],
	['a length and a coding behind LF CR', 'refused', sent([`Content-Length: ${size}`, 'X-Line: a\n\rTransfer-Encoding: chunked'])],
	['HTTP/1.0 with a coding (6.1)', 'closed', chunked(both).replace('HTTP/1.1', 'HTTP/1.0'), [200, 400]],
	['HTTP/1.0 with a coding, kept alive', 'closed', chunked(both, 'Transfer-Encoding: chunked\r\nConnection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0'), [200, 400]],
];

// ---- chunks (7.1) ------------------------------------------------------------------

const chunks = [
	['an extension', 'one', chunked(`${hex};name=value\r\n${body}\r\n${end}`), [200]],
	['a quoted extension', 'either', chunked(`${hex};name="a b;c"\r\n${body}\r\n${end}`), [200, 400]],
	['an extension of the last chunk', 'one', chunked(`${chunk}0;last\r\n\r\n`), [200]],
	['a size in capitals', 'one', chunked(`${hex.toUpperCase()}\r\n${body}\r\n${end}`), [200]],
	['a size with leading zeros', 'either', chunked(`0000${hex}\r\n${body}\r\n${end}`), [200, 400]],
	['a size with thirty leading zeros', 'either', chunked(`${'0'.repeat(30)}${hex}\r\n${body}\r\n${end}`), [200, 400]],
	['a size with 100,000 leading zeros', 'either', chunked(`${'0'.repeat(100000)}${hex}\r\n${body}\r\n${end}`), [200, 400, 413, 431]],
	['a last chunk of several zeros', 'either', chunked(`${chunk}000\r\n\r\n`), [200, 400]],
	['a trailer', 'one', chunked(`${chunk}0\r\nX-Trailer: 1\r\n\r\n`), [200]],
	...['Content-Length: 5', 'Transfer-Encoding: chunked', 'Host: evil.example', 'Authorization: Bearer x', 'Content-Type: text/plain', 'Connection: close', 'Mcp-Session-Id: x'].map((line) => [`the trailer ${line} has no effect (RFC 9110 6.5.1)`, 'either', chunked(`${chunk}0\r\n${line}\r\n\r\n`), [200, 400]]),
	...[
		['0x before it', `0x${hex}`], ['a plus sign', `+${hex}`], ['a minus sign', `-${hex}`], ['a blank before it', ` ${hex}`], ['a tab before it', `\t${hex}`], ['a blank behind it', `${hex} `], ['a tab behind it', `${hex}\t`],
		['a letter that is no digit', `${hex}g`], ['nothing', ''], ['an extension alone', ';a'], ['a NUL', `${hex}\0`], ['an underscore', `${hex[0]}_${hex.slice(1)}`], ['a fraction', `${hex}.0`], ['quotes', `"${hex}"`], ['a comma', `${hex},${hex}`],
		['two blanks and an extension', `${hex}  ;a`], ['a NUL in the extension', `${hex};a\0b`], ['a control byte in the extension', `${hex};a\x01b`], ['a bare CR in the extension', `${hex};a\rb`], ['a bare LF in the extension', `${hex};a\nb`],
		['a bare CR in a quoted extension', `${hex};a="\r"`], ['a bare LF in a quoted extension', `${hex};a="\n"`], ['a bare LF behind it', `${hex}\n${body.slice(0, 3)}`], ['CR CR LF', `${hex}\r`],
	].map(([what, line]) => [`chunk size with ${what}`, 'refused', chunked(`${line}\r\n${body}\r\n${end}`)]),
	...[['2^64 + the size', `1${hex.padStart(16, '0')}`], ['2^64 - 1', 'f'.repeat(16)], ['2^63', '8000000000000000'], ['thirty digits', 'f'.repeat(30)], ['2^32 + the size', `1${hex.padStart(8, '0')}`]].map(([what, line]) => [`chunk size of ${what}`, 'refused', chunked(`${line}\r\n${body}\r\n${end}`), large]),
	['a chunk line that ends with LF', 'refused', chunked(`${hex}\n${body}\r\n${end}`)],
	['a chunk that ends with LF', 'refused', chunked(`${hex}\r\n${body}\n${end}`)],
	['a chunk that ends with CR', 'refused', chunked(`${hex}\r\n${body}\r${end}`)],
	['a chunk without its CRLF', 'refused', chunked(`${hex}\r\n${body}${end}`)],
	['a chunk that is longer than its size', 'refused', chunked(`${hex}\r\n${body}x\r\n${end}`)],
	['a chunk that is shorter than its size', 'refused', chunked(`${(size + 1).toString(16)}\r\n${body}\r\n${end}`)],
	['a last chunk that ends with LF LF', 'refused', chunked(`${chunk}0\n\n`)],
	['a last chunk that ends with CRLF LF', 'refused', chunked(`${chunk}0\r\n\n`)],
	['a last chunk without its final CRLF', 'refused', chunked(`${chunk}0\r\n`)],
	['a last chunk that ends with CRLF CR', 'refused', chunked(`${chunk}0\r\n\r`)],
	['a negative last chunk', 'refused', chunked(`${chunk}-0\r\n\r\n`)],
	['a trailer behind a blank', 'refused', chunked(`${chunk}0\r\n X: y\r\n\r\n`)],
	['a trailer with a blank before the colon', 'refused', chunked(`${chunk}0\r\nX : y\r\n\r\n`)],
	['a trailer that ends with LF', 'refused', chunked(`${chunk}0\r\nX: y\n\r\n`)],
	['a folded trailer', 'refused', chunked(`${chunk}0\r\nX: y\r\n z\r\n\r\n`)],
	['a trailer without a colon', 'refused', chunked(`${chunk}0\r\nGET /healthz HTTP/1.1\r\n\r\n`)],
	['a trailer with a NUL', 'refused', chunked(`${chunk}0\r\nX: a\0b\r\n\r\n`)],
	// A request that its head has decided, refused or a page, whose body is malformed.
	['a malformed chunk of a request to no path', 'closed', chunked(`x\r\n${body}`).replace('/mcp', '/nothing'), [400, 404]],
	['a malformed second chunk of a request to no path', 'closed', chunked(`${chunk}x\r\n`).replace('/mcp', '/nothing'), [400, 404]],
	['a malformed chunk of another media type', 'closed', chunked(`x\r\n${body}`).replace('application/json\r\nMCP', 'text/plain\r\nMCP'), [400, 415]],
	['a malformed chunk for another Host', 'closed', chunked(`x\r\n${body}`).replace('localhost', 'evil.example'), [400, 403]],
	['a malformed chunk to a page', 'closed', chunked(`x\r\n${body}`).replace('POST /mcp', 'GET /healthz'), [200, 400]],
	['a malformed chunk of a HEAD', 'closed', chunked(`x\r\n${body}`).replace('POST /mcp', 'HEAD /healthz'), [200, 400]],
	['a malformed chunk of a DELETE', 'closed', chunked(`x\r\n${body}`).replace('POST', 'DELETE'), [400, 404, 405]],
	['trailers beyond the limit to a page', 'closed', chunked(`${chunk}0\r\nX: ${'y'.repeat(100000)}\r\n\r\n`).replace('POST /mcp', 'GET /healthz'), [200, 400, 413, 431]],
	['trailers beyond the limit to no path', 'closed', chunked(`${chunk}0\r\nX: ${'y'.repeat(100000)}\r\n\r\n`).replace('/mcp', '/nothing'), [400, 404, 413, 431]],
	['a chunk beyond the limit to no path', 'closed', chunked(`ffffffff\r\n${body}`).replace('/mcp', '/nothing'), [400, 404, 413]],
	['an extension of 100,000 bytes', 'refused', chunked(`${hex};${'x'.repeat(100000)}\r\n${body}\r\n${end}`), [400, 413, 431]],
	['a trailer of 100,000 bytes', 'refused', chunked(`${chunk}0\r\nX: ${'y'.repeat(100000)}\r\n\r\n`), [400, 413, 431]],
	['five thousand trailers', 'refused', chunked(`${chunk}0\r\n${'X: y\r\n'.repeat(5000)}\r\n`), [400, 413, 431]],
];

// ---- request lines (3) -------------------------------------------------------------

const version = [400, 505];
const method = [400, 501];
const lines = [
	['a plain line', 'one', get('GET /healthz HTTP/1.1'), [200]],
	['an empty line before it (2.2)', 'one', `\r\n${get('GET /healthz HTTP/1.1')}`, [200]],
	['a query', 'one', get('GET /healthz?a=b&c HTTP/1.1'), [200]],
	['the absolute form (3.2.2)', 'one', get('GET http://localhost/healthz HTTP/1.1'), [200]],
	['the absolute form in capitals', 'one', get('GET HTTP://LOCALHOST/healthz HTTP/1.1'), [200]],
	['the absolute form of another host', 'either', withLength().replace('POST /mcp', 'POST http://evil.example/mcp'), [400, 403, 404, 421]],
	['the absolute form of this host with another Host header', 'either', withLength().replace('POST /mcp', 'POST http://localhost/mcp').replace('Host: localhost', 'Host: evil.example'), [200, 400, 403, 404, 421]],
	['the absolute form with a user', 'either', withLength().replace('POST /mcp', 'POST http://localhost@evil.example/mcp'), [400, 403, 404, 421]],
	['the absolute form of another scheme', 'either', withLength().replace('POST /mcp', 'POST ftp://evil.example/mcp'), [400, 403, 404, 421]],
	['the asterisk form (3.2.4)', 'one', get('OPTIONS * HTTP/1.1'), [200, 204, 404, 405]],
	['the asterisk form with GET', 'either', get('GET * HTTP/1.1'), [400, 404, 405]],
	['a fragment', 'either', get('GET /healthz#x HTTP/1.1'), [200, 400, 404]],
	['HTTP/1.0', 'closed', get('GET /healthz HTTP/1.0'), [200]],
	['a method that does not exist', 'either', get('FROB /healthz HTTP/1.1'), [400, 405, 501]],
	['a method in small letters (RFC 9110 9.1)', 'either', get('get /healthz HTTP/1.1'), [400, 405, 501]],
	['the authority form (3.2.3)', 'refused', get('GET localhost:80 HTTP/1.1'), [400, 404, 405]],
	['CONNECT (RFC 9110 9.3.6)', 'refused', get('CONNECT localhost:80 HTTP/1.1'), [400, 405, 501]],
	['CONNECT to a path', 'refused', get('CONNECT /mcp HTTP/1.1'), [400, 405, 501]],
	['the preface of HTTP/2', 'refused', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 405, 501, 505]],
	['HTTP/0.9', 'refused', 'GET /healthz\r\n', version],
	...['HTTP/0.9', 'HTTP/1.2', 'HTTP/1.9', 'HTTP/2.0', 'HTTP/3.0', 'HTTP/9.9', 'HTTP/2', 'HTTP/1', 'HTTP/1.', 'HTTP/.1', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1.01', 'HTTP/11.1', 'HTTP/-1.1', 'HTTP/1,1', 'HTTP/1.1x', 'HTTP/1.1/', 'HTTP /1.1', 'HTTP/ 1.1', 'HTTP/1 .1', 'XTTP/1.1', 'http/1.1', 'HTTPS/1.1', 'ICE/1.0', 'RTSP/1.0', 'HTTP/1.1\0', 'HTTP/1.1\x0b', 'HTTP\\1.1', '', 'HTTP/1.1 HTTP/1.1'].map((word) => [`the version ${JSON.stringify(word)} (2.3)`, 'refused', get(`GET /healthz ${word}`), version]),
	['two blanks before the target', 'refused', get('GET  /healthz HTTP/1.1')],
	['two blanks before the version', 'refused', get('GET /healthz  HTTP/1.1')],
	['a blank behind the version', 'refused', get('GET /healthz HTTP/1.1 '), version],
	['a blank in the target', 'refused', get('GET /heal thz HTTP/1.1'), version],
	['a tab before the target', 'refused', get('GET\t/healthz HTTP/1.1'), method],
	['a tab before the version', 'refused', get('GET /healthz\tHTTP/1.1')],
	['a vertical tab before the target', 'refused', get('GET\x0b/healthz HTTP/1.1'), method],
	['a blank before the method', 'refused', get(' GET /healthz HTTP/1.1')],
	['a NUL before the method', 'refused', get('\0GET /healthz HTTP/1.1')],
	['a method with a NUL', 'refused', get('GE\0T /healthz HTTP/1.1'), method],
	['a method that is no token', 'refused', get('G(T /healthz HTTP/1.1'), [400, 405, 501]],
	['no method', 'refused', get('/healthz HTTP/1.1'), [400, 405, 501]],
	['a target without a slash', 'refused', get('GET healthz HTTP/1.1'), [400, 404]],
	['no target', 'refused', get('GET HTTP/1.1')],
	['a line that ends with LF', 'refused', 'GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n'],
	['a line that ends with CR', 'refused', 'GET /healthz HTTP/1.1\rHost: localhost\r\n\r\n'],
	['a line that ends with LF CR', 'refused', 'GET /healthz HTTP/1.1\n\rHost: localhost\r\n\r\n'],
	['lines that all end with LF', 'refused', 'GET /healthz HTTP/1.1\nHost: localhost\n\n'],
	['a head that ends with LF LF', 'refused', 'GET /healthz HTTP/1.1\r\nHost: localhost\n\n'],
	['a head that ends with CRLF LF', 'refused', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n'],
	['a head that ends with CRLF CR', 'refused', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r'],
	['a header line that ends with CR CR LF', 'refused', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\r\n\r\n'],
	...[0, 1, 7, 9, 11, 12, 27, 31, 127, 128, 160, 255].map((byte) => [`byte ${byte} in the target (RFC 3986 2)`, 'refused', get(`GET /healthz${String.fromCharCode(byte)}x HTTP/1.1`)]),
	['a TLS handshake', 'refused', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(64, '\x01')],
	['a JSON message without HTTP', 'refused', `${body}\r\n`],
	['a status line', 'refused', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', method],
];

// ---- targets -----------------------------------------------------------------------

const elsewhere = [400, 404];
const targets = [
	...['/mcp%00x', '/mcp%00', '/mcp%0d%0aX:%20y', '/mcp%0a', '/mcp;x', '/mcp/', '/mcp/.', '/mcp%2f', '//mcp', '/./mcp', '/x/../mcp', '/MCP', '/mcp%20', '/mcp%', '/mcp%zz', '/mcp%c0%80', '/mcp\\'].map((path) => [`the target ${path} is not the endpoint`, 'either', withLength().replace('/mcp', () => path), elsewhere]),
	['an encoded letter', 'either', withLength().replace('/mcp', '/%6dcp'), [200, 400, 404]],
	['an encoded NUL in the query', 'either', withLength().replace('/mcp', '/mcp?x=%00'), [200, 400]],
	['an encoded line break in the query', 'either', withLength().replace('/mcp', '/mcp?x=%0d%0aX:%20y'), [200, 400]],
	['an encoded NUL in a page', 'either', get('GET /healthz%00 HTTP/1.1'), elsewhere],
	['a target beyond the limit', 'refused', get(`GET /${'x'.repeat(20000)} HTTP/1.1`), [414]],
	['a query beyond the limit', 'refused', get(`GET /healthz?${'x'.repeat(20000)} HTTP/1.1`), [414]],
	['a target far beyond the limit', 'refused', get(`GET /${'x'.repeat(300000)} HTTP/1.1`), [414]],
	['a method beyond the limit', 'refused', get(`${'X'.repeat(20000)} / HTTP/1.1`), [400, 405, 414, 431, 501]],
	['a header beyond the limit', 'refused', withLength(`X-Long: ${'y'.repeat(20000)}`), [431]],
	['a header far beyond the limit', 'refused', withLength(`X-Long: ${'y'.repeat(300000)}`), [431]],
	['a header name beyond the limit', 'refused', withLength(`${'X'.repeat(20000)}: y`), [431]],
	['headers beyond the limit in sum', 'refused', withLength(...Array.from({ length: 100 }, (_, i) => `X-${i}: ${'y'.repeat(200)}`)), [431]],
	['too many headers', 'refused', withLength(...Array.from({ length: 200 }, (_, i) => `X-${i}: y`)), [400, 431]],
	['blanks beyond the limit', 'refused', withLength(`X-Long:${' '.repeat(20000)}y`), [431]],
];

// ---- headers (5) -------------------------------------------------------------------

const headers = [
	['a value with obs-text (RFC 9110 5.5)', 'one', withLength('X-Text: \xe4\xf6\xfc'), [200]],
	['an empty value', 'one', withLength('X-Empty:'), [200]],
	['no blank behind the colon', 'one', withLength('X-Tight:y'), [200]],
	['a tab within a value', 'one', withLength('X-Tab: a\tb'), [200]],
	['every byte of a token', 'one', withLength("!#$%&'*+-.^_`|~09azAZ: y"), [200]],
	['two headers of the same name', 'one', withLength('X-Twice: a', 'X-Twice: b'), [200]],
	['no name', 'refused', withLine(': x')],
	['no colon', 'refused', withLine('X-Alone')],
	['a name with a blank within', 'refused', withLine('X Y: z')],
	['a name behind a blank, first of all (2.2)', 'refused', withLength().replace('Host', ' Host')],
	['a blank line between the headers', 'refused', 'GET /healthz HTTP/1.1\r\n \r\nHost: localhost\r\n\r\n'],
	['a folded value (5.2)', 'refused', withLine('X-Fold: a\r\n b')],
	['a value folded by a tab', 'refused', withLine('X-Fold: a\r\n\tb')],
	['a folded name', 'refused', withLine('X-Fo\r\n ld: b')],
	['a fold behind the request line', 'refused', withLength().replace('HTTP/1.1\r\n', 'HTTP/1.1\r\n X: y\r\n')],
	...[0, 1, 9, 11, 12, 27, 31, 32, 34, 40, 41, 44, 47, 59, 60, 61, 64, 91, 92, 93, 123, 125, 127, 128, 160, 255].map((byte) => [`byte ${byte} in a name (RFC 9110 5.6.2)`, 'refused', withLine(`X-${String.fromCharCode(byte)}y: z`)]),
	...[0, 1, 7, 8, 10, 11, 12, 13, 27, 31, 127].map((byte) => [`byte ${byte} in a value (RFC 9110 5.5)`, 'refused', withLine(`X-Value: a${String.fromCharCode(byte)}b`)]),
	['no Host (3.2)', 'refused', withLength().replace('Host: localhost\r\n', '')],
	['two Hosts, the same', 'refused', withLine('Host: localhost')],
	['two Hosts', 'refused', withLine('Host: evil.example')],
	['two Hosts in different case', 'refused', withLine('hOST: evil.example')],
	['a Host folded to two', 'refused', withLength().replace('Host: localhost', 'Host: localhost\r\n evil.example')],
	['a Host with a NUL', 'refused', withLength().replace('Host: localhost', 'Host: localhost\0.evil.example')],
	...['', 'localhost, evil.example', 'localhost evil.example', 'localhost:port', 'localhost:99999999', '[::1', 'evil@localhost', 'localhost/x', 'localhost#', 'localhost?x', 'evil.example', 'local\xa0host', 'localhost.', '127.0.0.1.evil.example'].map((host) => [`the Host ${JSON.stringify(host)}`, 'either', withLength().replace('Host: localhost', () => `Host: ${host}`), [400, 403]]),
	['two Authorizations', 'refused', withLength('Authorization: Bearer a', 'Authorization: Bearer b')],
	['two Authorizations, the same', 'refused', withLength('Authorization: Bearer a', 'authorization: Bearer a')],
	['two Content-Types', 'refused', withLength('Content-Type: text/plain'), [400, 415]],
	['two Content-Types, the same', 'refused', withLength('Content-Type: application/json'), [400, 415]],
	['two Origins', 'either', withLength('Origin: http://localhost', 'Origin: http://evil.example'), [400, 403]],
	['two methods of MCP', 'either', withLength('Mcp-Method: tools/call'), [400]],
	['two versions of MCP', 'either', withLength('MCP-Protocol-Version: 2025-11-25'), [400]],
	['two sessions', 'either', withLength('Mcp-Session-Id: a', 'Mcp-Session-Id: b'), [200, 400, 404]],
	['another Expect (RFC 9110 10.1.1)', 'either', withLength('Expect: a-miracle'), [200, 400, 417]],
	['two Expects', 'either', withLength('Expect: 100-continue', 'Expect: 100-continue'), [200, 400, 417]],
];

// ---- connections (9) ---------------------------------------------------------------

const connections = [
	['Connection: close', 'closed', withLength('Connection: close'), [200]],
	['Connection: close in capitals', 'closed', withLength('Connection: CLOSE'), [200]],
	['Connection: close in a list', 'closed', withLength('Connection: x, close'), [200]],
	['Connection: close and keep-alive', 'closed', withLength('Connection: keep-alive, close'), [200]],
	['two Connections, one of them close', 'closed', withLength('Connection: keep-alive', 'Connection: close'), [200]],
	['Connection: keep-alive', 'one', withLength('Connection: keep-alive'), [200]],
	['Connection: closed is no close', 'one', withLength('Connection: closed'), [200]],
	['HTTP/1.0 that is kept alive', 'either', withLength('Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0'), [200]],
	['HTTP/1.0 without keep-alive', 'closed', withLength().replace('HTTP/1.1', 'HTTP/1.0'), [200]],
	['HTTP/1.0 with keep-alive and close', 'closed', withLength('Connection: keep-alive, close').replace('HTTP/1.1', 'HTTP/1.0'), [200]],
	['an upgrade to h2c that is ignored (RFC 9110 7.8)', 'one', get('GET /healthz HTTP/1.1', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'), [200]],
	['an upgrade to a web socket that is ignored', 'one', get('GET /healthz HTTP/1.1', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='), [200]],
	['an upgrade of a POST that is ignored', 'one', withLength('Connection: Upgrade', 'Upgrade: h2c'), [200]],
	['an upgrade of a POST in chunks that is ignored', 'one', chunked(both, 'Transfer-Encoding: chunked\r\nConnection: Upgrade\r\nUpgrade: h2c'), [200]],
	['an upgrade of a POST without a body', 'one', sent(['Connection: Upgrade', 'Upgrade: h2c', 'Content-Length: 0'], ''), [400]],
	['Connection names Content-Length', 'one', withLength('Connection: Content-Length'), [200]],
	['Connection names Transfer-Encoding', 'one', chunked(both, 'Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding'), [200]],
	['the method in a header', 'one', withLength('X-HTTP-Method-Override: DELETE'), [200]],
	['a request that is refused by its media type', 'one', withLength().replace('Content-Type: application/json', 'Content-Type: text/plain'), [415]],
	['a body that looks like a request, refused by its path', 'one', sent([`Content-Length: ${canary.length}`], canary).replace('/mcp', '/nothing'), [404]],
	['a body that looks like a request, refused by its media type', 'one', sent([`Content-Length: ${canary.length}`], canary).replace('Content-Type: application/json', 'Content-Type: text/plain'), [415]],
	['a body in chunks that looks like a request, refused by its path', 'one', chunked(`${canary.length.toString(16)}\r\n${canary}\r\n${end}`).replace('/mcp', '/nothing'), [404]],
	['a body that looks like a request, to a page', 'one', sent([`Content-Length: ${canary.length}`], canary).replace('POST /mcp', 'GET /healthz'), [200]],
	['HEAD with a body that looks like a request', 'one', sent([`Content-Length: ${canary.length}`], canary).replace('POST /mcp', 'HEAD /healthz'), [200]],
];

export const corpus = { lengths, codings, chunks, lines, targets, headers, connections };
