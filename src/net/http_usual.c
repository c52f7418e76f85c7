/*
 * http_usual.c - recognises the usual request without a parser.
 *
 * Nearly every request is a POST to a plain path with ordinary headers, and arrives in
 * one piece. Such a request is recognised here in one pass. The rules are narrower than
 * those of http_parse.c: a request that is incomplete, uses anything else than
 * Content-Length to delimit its body, or has a byte that another parser could read
 * differently is left as it is, for llhttp and the check of its lines. So this file
 * never refuses anything, and every answer is the one that http_parse.c would lead to.
 */
#include "net/http_request.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "net/http_conn.h"

enum {
	TOKEN = 1, /* in the name of a header */
	PATH = 2,  /* in a path: unreserved characters and the slash */
	BOTH = TOKEN | PATH,
	LENGTH_DIGITS = 9,
};

static const unsigned char kinds[256] = {
	['a'] = BOTH,   ['b'] = BOTH,  ['c'] = BOTH,  ['d'] = BOTH,  ['e'] = BOTH,
	['f'] = BOTH,   ['g'] = BOTH,  ['h'] = BOTH,  ['i'] = BOTH,  ['j'] = BOTH,
	['k'] = BOTH,   ['l'] = BOTH,  ['m'] = BOTH,  ['n'] = BOTH,  ['o'] = BOTH,
	['p'] = BOTH,   ['q'] = BOTH,  ['r'] = BOTH,  ['s'] = BOTH,  ['t'] = BOTH,
	['u'] = BOTH,   ['v'] = BOTH,  ['w'] = BOTH,  ['x'] = BOTH,  ['y'] = BOTH,
	['z'] = BOTH,   ['A'] = BOTH,  ['B'] = BOTH,  ['C'] = BOTH,  ['D'] = BOTH,
	['E'] = BOTH,   ['F'] = BOTH,  ['G'] = BOTH,  ['H'] = BOTH,  ['I'] = BOTH,
	['J'] = BOTH,   ['K'] = BOTH,  ['L'] = BOTH,  ['M'] = BOTH,  ['N'] = BOTH,
	['O'] = BOTH,   ['P'] = BOTH,  ['Q'] = BOTH,  ['R'] = BOTH,  ['S'] = BOTH,
	['T'] = BOTH,   ['U'] = BOTH,  ['V'] = BOTH,  ['W'] = BOTH,  ['X'] = BOTH,
	['Y'] = BOTH,   ['Z'] = BOTH,  ['0'] = BOTH,  ['1'] = BOTH,  ['2'] = BOTH,
	['3'] = BOTH,   ['4'] = BOTH,  ['5'] = BOTH,  ['6'] = BOTH,  ['7'] = BOTH,
	['8'] = BOTH,   ['9'] = BOTH,  ['-'] = BOTH,  ['.'] = BOTH,  ['_'] = BOTH,
	['/'] = PATH,   ['~'] = BOTH,  ['!'] = TOKEN, ['#'] = TOKEN, ['$'] = TOKEN,
	['%'] = TOKEN,  ['&'] = TOKEN, ['*'] = TOKEN, ['+'] = TOKEN, ['^'] = TOKEN,
	['\''] = TOKEN, ['`'] = TOKEN, ['|'] = TOKEN,
};

static inline const char *skip(const char *at, const char *end, unsigned char kind)
{
	while (at < end && (kinds[(unsigned char)*at] & kind))
		at++;
	return at;
}

/* Skips printable ASCII and spaces. */
static inline const char *skip_value(const char *at, const char *end)
{
#ifdef __SSE2__
	for (; end - at >= 16; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		/* Signed: bytes from 0x80 on are negative. */
		__m128i printable =
			_mm_andnot_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)),
					 _mm_cmpgt_epi8(bytes, _mm_set1_epi8(0x1f)));
		unsigned other = ~(unsigned)_mm_movemask_epi8(printable) & 0xffff;

		if (other)
			return at + __builtin_ctz(other);
	}
#endif
	while (at < end && *at >= ' ' && *at < 0x7f)
		at++;
	return at;
}

/* A short decimal number above 0; false: it is something else. */
static bool read_length(const char *text, size_t len, size_t *ret_length)
{
	size_t length = 0;

	if (len > LENGTH_DIGITS)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		length = length * 10 + (size_t)(text[i] - '0');
	}
	*ret_length = length;
	return length > 0;
}

/* Whether a header leaves the framing and the connection as usual. `length` is 0 until
 * the length of the body is known. */
static bool is_usual(const char *data, const struct fw_http_field *field, size_t *length)
{
	const char *name = data + field->name.at, *value = data + field->value.at;

	switch (field->name.len) {
	case 6: return !FW_HTTP_NAME_IS(name, 6, "expect");
	case 7: return !FW_HTTP_NAME_IS(name, 7, "upgrade");
	case 10:
		return !FW_HTTP_NAME_IS(name, 10, "connection") ||
		       FW_HTTP_NAME_IS(value, field->value.len, "keep-alive");
	case 14:
		return !FW_HTTP_NAME_IS(name, 14, "content-length") ||
		       (!*length && read_length(value, field->value.len, length));
	case 16: return !FW_HTTP_NAME_IS(name, 16, "proxy-connection");
	case 17: return !FW_HTTP_NAME_IS(name, 17, "transfer-encoding");
	default: return true;
	}
}

/* Reads one line "name: value" at `at`; returns the next line, or NULL. */
static const char *read_field(const char *data, const char *at, const char *end,
			      struct fw_http_field *field)
{
	const char *name = at, *value, *value_end;

	at = skip(at, end, TOKEN);
	if (at == name || at == end || *at != ':')
		return NULL;
	field->name = (struct fw_http_span){ (uint32_t)(name - data), (uint32_t)(at - name) };
	at++;
	while (at < end && *at == ' ')
		at++;
	value = at;
	at = skip_value(at, end);
	if (end - at < 2 || at[0] != '\r' || at[1] != '\n' || at == value)
		return NULL;
	value_end = at;
	while (value_end[-1] == ' ')
		value_end--;
	field->value = (struct fw_http_span){ (uint32_t)(value - data),
					      (uint32_t)(value_end - value) };
	return at + 2;
}

/* Reads the headers into `fields`; returns the end of the head, or NULL. */
static const char *read_fields(const struct fw_http_conn *conn, const char *at,
			       struct fw_http_field *fields, unsigned *ret_count,
			       size_t *ret_length)
{
	const char *data = conn->in.data, *end = data + conn->in.len;
	const uint64_t most = conn->http->limits->http_fields;
	unsigned count = 0;

	*ret_length = 0;
	while (end - at >= 2 && *at != '\r') {
		if (count >= most)
			return NULL;
		at = read_field(data, at, end, &fields[count]);
		if (!at || !is_usual(data, &fields[count], ret_length))
			return NULL;
		count++;
	}
	*ret_count = count;
	return end - at >= 2 && at[1] == '\n' ? at + 2 : NULL;
}

/* Reads "POST /path HTTP/1.1"; returns the next line, or NULL. */
static const char *read_request_line(const struct fw_http_conn *conn,
				     struct fw_http_span *ret_target)
{
	static const char method[] = "POST ", version[] = " HTTP/1.1\r\n";
	const char *data = conn->in.data, *end = data + conn->in.len;
	const char *target = data + sizeof(method) - 1, *at;

	if (conn->in.len < 64 || memcmp(data, method, sizeof(method) - 1) != 0 ||
	    *target != '/')
		return NULL;
	at = skip(target, end, PATH);
	if ((size_t)(end - at) < sizeof(version) - 1 ||
	    at - target > FW_LIMIT_HTTP_TARGET_BYTES ||
	    memcmp(at, version, sizeof(version) - 1) != 0)
		return NULL;
	*ret_target =
		(struct fw_http_span){ (uint32_t)(target - data), (uint32_t)(at - target) };
	return at + sizeof(version) - 1;
}

/* Texts of the head become C strings, as http_parse.c leaves them. */
static void end_texts(char *data, struct fw_http_head *head)
{
	for (unsigned i = 0; i < head->field_count; i++)
		data[head->fields[i].value.at + head->fields[i].value.len] = 0;
	data[head->target.at + head->target.len] = 0;
	head->is_finished = true;
}

bool fw_http__take_usual(struct fw_http_conn *conn)
{
	struct fw_http_head *head = &conn->head;
	struct fw_http_span target;
	const char *at = read_request_line(conn, &target);
	size_t head_len, length;
	unsigned count;

	if (at)
		at = read_fields(conn, at, head->fields, &count, &length);
	if (!at)
		return false;
	head_len = (size_t)(at - conn->in.data);
	if (!length || conn->in.len - head_len < length ||
	    head_len > conn->http->limits->http_head_bytes)
		return false;
	head->target = target;
	head->field_count = count;
	head->whole_body = length;
	head->progress = FW_HTTP_HEAD_COMPLETE;
	end_texts(conn->in.data, head);
	conn->in.parsed = head_len;
	conn->parser.method = HTTP_POST;
	conn->parser.http_major = 1;
	conn->parser.http_minor = 1;
	return true;
}
