/*
 * http_parse.c - parses a request with llhttp, and refuses what another parser could read
 * differently.
 *
 * llhttp runs without any lenient flag. It still accepts a few things that
 * another parser may read differently: more than one space in the request
 * line, other protocols than HTTP, HTTP/0.9. So the head is checked a second time,
 * line by line, and refused if a line does not match RFC 9112.
 *
 * The callbacks only record positions. The parser is paused at the end of the
 * head and at the end of the message; everything else happens outside it.
 */
#include "net/http_request.h"

#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "net/http_conn.h"

/* ---- callbacks ------------------------------------------------------------------ */

static void extend(struct fw_http_conn *conn, struct fw_http_span *span, const char *at,
		   size_t len)
{
	if (!span->len)
		span->at = (uint32_t)(at - conn->in.data);
	span->len += (uint32_t)len;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
	struct fw_http_conn *conn = parser->data;

	extend(conn, &conn->head.target, at, len);
	return 0;
}

/* Trailers and chunk extensions are ignored; their size is limited. */
static int on_extra(llhttp_t *parser, const char *at, size_t len)
{
	struct fw_http_conn *conn = parser->data;

	(void)at;
	conn->body.extra_bytes += len + 2;
	if (conn->body.extra_bytes <= conn->http->limits->http_head_bytes)
		return 0;
	conn->head.fault = "trailers or chunk extensions are too long";
	return -1;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
	struct fw_http_conn *conn = parser->data;

	if (conn->state == FW_HTTP_BODY)
		return on_extra(parser, at, len);
	if (!conn->head.field_count || conn->head.progress == FW_HTTP_IN_VALUE) {
		if (conn->head.field_count >= conn->http->limits->http_fields) {
			conn->head.fault = "there are too many headers";
			return -1;
		}
		memset(&conn->head.fields[conn->head.field_count++], 0,
		       sizeof(conn->head.fields[0]));
		conn->head.progress = FW_HTTP_IN_NAME;
	}
	extend(conn, &conn->head.fields[conn->head.field_count - 1].name, at, len);
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
	struct fw_http_conn *conn = parser->data;

	if (conn->state == FW_HTTP_BODY)
		return on_extra(parser, at, len);
	conn->head.progress = FW_HTTP_IN_VALUE;
	if (conn->head.field_count)
		extend(conn, &conn->head.fields[conn->head.field_count - 1].value, at, len);
	return 0;
}

/* llhttp does not call on_value() for an empty value. */
static int on_value_complete(llhttp_t *parser)
{
	struct fw_http_conn *conn = parser->data;

	if (conn->state != FW_HTTP_BODY)
		conn->head.progress = FW_HTTP_IN_VALUE;
	return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
	struct fw_http_conn *conn = parser->data;

	conn->head.progress = FW_HTTP_HEAD_COMPLETE;
	return HPE_PAUSED;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	return fw_http__take_body(parser->data, at, len) ? 0 : -1;
}

static int on_chunk_header(llhttp_t *parser)
{
	return fw_http__expect_chunk(parser->data, parser->content_length) ? 0 : -1;
}

static int on_message_complete(llhttp_t *parser)
{
	struct fw_http_conn *conn = parser->data;

	conn->head.progress = FW_HTTP_MESSAGE_COMPLETE;
	return HPE_PAUSED;
}

void fw_http__set_callbacks(llhttp_settings_t *settings)
{
	llhttp_settings_init(settings);
	settings->on_url = on_url;
	settings->on_header_field = on_field;
	settings->on_header_value = on_value;
	settings->on_header_value_complete = on_value_complete;
	settings->on_headers_complete = on_headers_complete;
	settings->on_body = on_body;
	settings->on_chunk_header = on_chunk_header;
	settings->on_chunk_extension_name = on_extra;
	settings->on_chunk_extension_value = on_extra;
	settings->on_message_complete = on_message_complete;
}

/* ---- refusing --------------------------------------------------------------------- */

/* Refuses a request that RFC 9112 does not allow. */
static void refuse(struct fw_http_conn *conn, int status, const char *reason)
{
	fw_http__refuse(conn, fw_http__malformed(status, reason));
}

static void refuse_size(struct fw_http_conn *conn)
{
	uint64_t limit = conn->http->limits->http_head_bytes;
	bool is_target = conn->head.target.len > FW_LIMIT_HTTP_TARGET_BYTES ||
			 !memchr(conn->in.data, '\n', conn->in.len);
	fw_error *err =
		fw_raise_input_too_large(is_target ? "request target" : "request head", limit);

	fw_error_set_status(err, is_target ? 414 : 431);
	fw_http__refuse(conn, err);
}

static const char *describe(llhttp_errno_t what)
{
	switch (what) {
	case HPE_INVALID_METHOD: return "the method is malformed or not implemented";
	case HPE_INVALID_URL: return "the request target is malformed";
	case HPE_INVALID_CONSTANT:
	case HPE_INVALID_VERSION: return "the request line is malformed";
	case HPE_INVALID_HEADER_TOKEN: return "a header is malformed";
	case HPE_CR_EXPECTED:
	case HPE_LF_EXPECTED:
	case HPE_STRICT: return "a line does not end in CR LF";
	case HPE_UNEXPECTED_CONTENT_LENGTH:
		return "the length of the body is given more than once";
	case HPE_INVALID_CONTENT_LENGTH:
		return "the length of the body is malformed or given more than once";
	case HPE_INVALID_TRANSFER_ENCODING: return "the only Transfer-Encoding is chunked";
	case HPE_INVALID_CHUNK_SIZE: return "a chunk is malformed";
	default: return "it is not HTTP/1.1";
	}
}

static void refuse_fault(struct fw_http_conn *conn)
{
	llhttp_errno_t what = llhttp_get_errno(&conn->parser);
	const llhttp_t *parser = &conn->parser;
	int status = 400;

	if (conn->head.fault) {
		refuse(conn, 400, conn->head.fault);
		return;
	}
	if (what == HPE_INVALID_METHOD && conn->in.data[0] >= 'A' && conn->in.data[0] <= 'Z')
		status = 501;
	else if (what == HPE_PAUSED_H2_UPGRADE ||
		 (what == HPE_INVALID_VERSION &&
		  (parser->http_major != 1 || parser->http_minor > 1)))
		status = 505;
	refuse(conn, status,
	       status == 505 ? "the only versions are HTTP/1.1 and HTTP/1.0" : describe(what));
}

/* ---- the lines of the head -------------------------------------------------------------- */

static bool is_token_byte(unsigned char byte)
{
	static const char OTHERS[] = "!#$%&'*+-.^_`|~";

	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr(OTHERS, byte));
}

/* Exactly: method SP target SP HTTP/1.x */
static bool is_request_line(const char *line, size_t len)
{
	const char *first = memchr(line, ' ', len);
	const char *second =
		first ? memchr(first + 1, ' ', len - (size_t)(first + 1 - line)) : NULL;
	size_t version_len = second ? len - (size_t)(second + 1 - line) : 0;

	if (!second || first == line || second == first + 1 || version_len != 8 ||
	    memcmp(second + 1, "HTTP/", 5) != 0)
		return false;
	for (const char *at = first + 1; at < second; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
			return false;
	return true;
}

static bool is_field_line(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	if (!colon || colon == line)
		return false;
	for (const char *at = line; at < colon; at++)
		if (!is_token_byte((unsigned char)*at))
			return false;
	for (const char *at = colon + 1; at < line + len; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			return false;
	return true;
}

/* NULL, or what another parser could read differently. */
static const char *find_odd_line(const char *text, size_t len)
{
	const char *end = text + len;
	bool is_first = true;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line_len = newline ? (size_t)(newline - text) : 0;

		if (!line_len || text[line_len - 1] != '\r')
			return "a line does not end in CR LF";
		line_len--;
		if (!line_len)
			return newline + 1 == end ? NULL : "an empty line is in the head";
		if (is_first ? !is_request_line(text, line_len)
			     : !is_field_line(text, line_len))
			return is_first ? "the request line is malformed"
					: "a header is malformed";
		is_first = false;
		text = newline + 1;
	}
	return "the head does not end in an empty line";
}

/* Terminates each value with a NUL, in place of the blank or CR after it. */
static void finish_values(struct fw_http_conn *conn)
{
	char *data = conn->in.data;

	for (unsigned i = 0; i < conn->head.field_count; i++) {
		struct fw_http_field *field = &conn->head.fields[i];
		struct fw_http_span *value = &field->value;

		if (!value->len)
			/* Use the colon after the name. */
			value->at = field->name.at + field->name.len;
		while (value->len && memchr(" \t", data[value->at + value->len - 1], 2))
			value->len--;
		data[value->at + value->len] = 0;
	}
	data[conn->head.target.at + conn->head.target.len] = 0;
	conn->head.is_finished = true;
}

/* ---- parsing ------------------------------------------------------------------------ */

static enum fw_http_parsed head_complete(struct fw_http_conn *conn)
{
	const llhttp_t *parser = &conn->parser;
	const char *odd;

	if (conn->in.parsed > conn->http->limits->http_head_bytes) {
		refuse_size(conn);
		return FW_HTTP_PARSED_REFUSED;
	}
	if (parser->http_major != 1 || parser->http_minor > 1) {
		refuse(conn, parser->http_major ? 505 : 400,
		       "the only versions are HTTP/1.1 and HTTP/1.0");
		return FW_HTTP_PARSED_REFUSED;
	}
	odd = find_odd_line(conn->in.data, conn->in.parsed);
	if (odd) {
		refuse(conn, 400, odd);
		return FW_HTTP_PARSED_REFUSED;
	}
	if (conn->head.target.len > FW_LIMIT_HTTP_TARGET_BYTES) {
		fw_error *err =
			fw_raise_input_too_large("request target", FW_LIMIT_HTTP_TARGET_BYTES);

		fw_error_set_status(err, 414);
		fw_http__refuse(conn, err);
		return FW_HTTP_PARSED_REFUSED;
	}
	conn->head.is_http10 = parser->http_minor == 0;
	finish_values(conn);
	return FW_HTTP_PARSED_DONE;
}

enum fw_http_parsed fw_http__parse_head(struct fw_http_conn *conn)
{
	const char *from = conn->in.data + conn->in.parsed;
	llhttp_errno_t what;

	if (!conn->in.parsed && fw_http__take_usual(conn))
		return FW_HTTP_PARSED_DONE;
	what = llhttp_execute(&conn->parser, from, conn->in.len - conn->in.parsed);
	if (what == HPE_PAUSED && conn->head.progress == FW_HTTP_HEAD_COMPLETE) {
		conn->in.parsed = (size_t)(llhttp_get_error_pos(&conn->parser) - conn->in.data);
		return head_complete(conn);
	}
	if (what != HPE_OK) {
		refuse_fault(conn);
		return FW_HTTP_PARSED_REFUSED;
	}
	conn->in.parsed = conn->in.len;
	if (conn->in.len < conn->http->limits->http_head_bytes)
		return FW_HTTP_PARSED_MORE;
	refuse_size(conn);
	return FW_HTTP_PARSED_REFUSED;
}

/* A callback may have refused the request already. If the head had decided it, that
 * answer stays the only one. */
static enum fw_http_parsed end_bad_body(struct fw_http_conn *conn)
{
	if (conn->state == FW_HTTP_BODY && conn->answer.is_decided)
		fw_http__end_body(conn);
	else if (conn->state == FW_HTTP_BODY)
		refuse_fault(conn);
	return FW_HTTP_PARSED_REFUSED;
}

static enum fw_http_parsed take_whole_body(struct fw_http_conn *conn, const char *data)
{
	if (!fw_http__take_body(conn, data, conn->head.whole_body))
		return end_bad_body(conn);
	conn->head.progress = FW_HTTP_MESSAGE_COMPLETE;
	return FW_HTTP_PARSED_DONE;
}

enum fw_http_parsed fw_http__parse_body(struct fw_http_conn *conn, const char *data, size_t len,
					size_t *ret_used)
{
	llhttp_errno_t what;

	if (conn->head.whole_body) {
		*ret_used = conn->head.whole_body;
		return take_whole_body(conn, data);
	}
	if (llhttp_get_errno(&conn->parser) == HPE_PAUSED)
		llhttp_resume(&conn->parser);
	what = llhttp_execute(&conn->parser, data, len);
	*ret_used = len;
	if (what == HPE_OK)
		return FW_HTTP_PARSED_MORE;
	if (what == HPE_PAUSED && conn->head.progress == FW_HTTP_MESSAGE_COMPLETE) {
		*ret_used = (size_t)(llhttp_get_error_pos(&conn->parser) - data);
		return FW_HTTP_PARSED_DONE;
	}
	return end_bad_body(conn);
}
