/*
 * http_request.c - a request, from its head up to the core.
 *
 * Everything that the head decides is decided before a byte of the body is
 * kept: is it one request for every reader, is there a place for it, where does
 * it go, who sends it, in which form.
 *
 * A refusal is made at once but sent after the body, which is read and dropped:
 * the connection can be used again, and the client is not reset while it is
 * still sending. If the client waits for 100 Continue, announces more than
 * http_drain_bytes, or has sent what two readers may take differently, the
 * refusal is sent at once and the connection ends.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "net/http.h"
#include "net/http_check.h"

/* ---- headers ---------------------------------------------------------------- */

static bool is_named(const struct fw_http_conn *conn, const struct fw_http_field *field,
		     const char *name)
{
	return strncasecmp(fw_http__at(conn, field->name), name, field->name.len) == 0;
}

static void keep_first(struct fw_http_span *kept, unsigned *count,
		       const struct fw_http_field *field)
{
	if (!(*count)++)
		*kept = field->value;
}

/* The ones that the transport itself needs. */
static void note_field(struct fw_http_conn *conn, const struct fw_http_field *field)
{
	switch (field->name.len) {
	case 4:
		if (is_named(conn, field, "Host"))
			keep_first(&conn->host, &conn->host_count, field);
		break;
	case 6:
		if (is_named(conn, field, "Origin"))
			keep_first(&conn->origin, &conn->origin_count, field);
		else if (is_named(conn, field, "Accept")) {
			conn->accepts |= fw_http_accept_read(fw_http__at(conn, field->value));
			conn->accept_count++;
		} else if (is_named(conn, field, "Expect"))
			keep_first(&conn->expect, &conn->expect_count, field);
		break;
	case 12:
		if (is_named(conn, field, "Content-Type"))
			keep_first(&conn->type, &conn->type_count, field);
		break;
	case 13:
		if (is_named(conn, field, "Authorization"))
			keep_first(&conn->authorization, &conn->authorization_count, field);
		break;
	case 14:
		if (is_named(conn, field, "Content-Length"))
			keep_first(&conn->length, &conn->length_count, field);
		break;
	case 17:
		if (is_named(conn, field, "Transfer-Encoding"))
			keep_first(&conn->coding, &conn->coding_count, field);
		break;
	default: break;
	}
}

/* ---- one message only, whoever reads it --------------------------------------- */

static const char *find_framing_fault(struct fw_http_conn *conn)
{
	if (conn->length_count > 1 || (conn->length_count && conn->coding_count))
		return "the length of the body is given more than once";
	if (conn->length_count &&
	    !fw_http_length_read(fw_http__at(conn, conn->length), &conn->body_length))
		return "Content-Length is not a number";
	if (conn->coding_count > 1 || (conn->coding_count && conn->is_old))
		return "Transfer-Encoding is given more than once, or with HTTP/1.0";
	if (conn->coding_count && strcasecmp(fw_http__at(conn, conn->coding), "chunked") != 0)
		return "the only Transfer-Encoding is chunked";
	return NULL;
}

static bool is_same_name(struct fw_http_conn *conn, const struct fw_http_field *a,
			 const struct fw_http_field *b)
{
	return a->name.len == b->name.len &&
	       strncasecmp(fw_http__at(conn, a->name), fw_http__at(conn, b->name),
			   a->name.len) == 0;
}

/* Mcp-Method, Mcp-Name and the like: a proxy may decide by the first of two, and
 * the core by the last. */
static bool has_mcp_field_twice(struct fw_http_conn *conn)
{
	for (unsigned i = 0; i < conn->field_count; i++) {
		const struct fw_http_field *field = &conn->fields[i];

		if (field->name.len < 4 ||
		    strncasecmp(fw_http__at(conn, field->name), "Mcp-", 4) != 0)
			continue;
		for (unsigned k = 0; k < i; k++)
			if (is_same_name(conn, field, &conn->fields[k]))
				return true;
	}
	return false;
}

static const char *find_ambiguity(struct fw_http_conn *conn)
{
	const char *fault = find_framing_fault(conn);

	if (fault)
		return fault;
	if (conn->host_count > 1 || (!conn->host_count && !conn->is_old))
		return "there must be one Host header";
	if (conn->authorization_count > 1)
		return "there is more than one Authorization header";
	if (conn->type_count > 1)
		return "there is more than one Content-Type header";
	if (conn->expect_count > 1 ||
	    (conn->expect_count &&
	     strcasecmp(fw_http__at(conn, conn->expect), "100-continue") != 0))
		return "the only expectation is 100-continue";
	if (has_mcp_field_twice(conn))
		return "a header of MCP is given more than once";
	return NULL;
}

fw_error *fw_http__malformed(int status, const char *reason)
{
	fw_error *err = fw_raise_protocol_invalid_request(reason);

	fw_error_set_hint(err, "Send HTTP/1.1 as RFC 9112 describes it, on a new connection.");
	if (status != 400)
		fw_error_set_status(err, status);
	return err;
}

/* A transfer coding that is simply not implemented. */
static bool is_unknown_coding(const struct fw_http_conn *conn)
{
	return conn->coding_count == 1 && !conn->length_count && !conn->is_old &&
	       !strcasestr(fw_http__at(conn, conn->coding), "chunked");
}

/* ---- the target ------------------------------------------------------------------ */

/*
 * The absolute form ("http://host/path") is for proxies, but a server must take
 * it. Its authority has to be the Host, so that there is one name to check.
 */
static bool skip_authority(struct fw_http_conn *conn)
{
	char *target = conn->in.data + conn->target.at;
	size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
			: strncasecmp(target, "https://", 8) == 0 ? 8
								  : 0;
	size_t len;

	if (!scheme)
		return false;
	len = strcspn(target + scheme, "/?");
	if (!len || len != conn->host.len ||
	    strncasecmp(target + scheme, fw_http__at(conn, conn->host), len) != 0)
		return false;
	/* An empty path is "/": the last byte of the authority makes room for it. */
	if (target[scheme + len] != '/') {
		len--;
		target[scheme + len] = '/';
	}
	conn->target.at += (uint32_t)(scheme + len);
	conn->target.len -= (uint32_t)(scheme + len);
	return true;
}

/* Parameters take the places behind the fields. False: there are too many. */
static bool split_query(struct fw_http_conn *conn)
{
	char *at = conn->in.data + conn->query.at;

	while (*at) {
		char *end = at + strcspn(at, "&");
		char *next = *end ? end + 1 : end;
		struct fw_http_field *field =
			&conn->fields[conn->field_count + conn->parameter_count];
		char *value;

		*end = 0;
		if (end != at) {
			if (conn->field_count + conn->parameter_count == FW_LIMIT_HTTP_FIELDS)
				return false;
			value = strchr(at, '=');
			if (value)
				*value++ = 0;
			else
				value = end;
			field->name.at = (uint32_t)(at - conn->in.data);
			field->name.len = (uint32_t)fw_http_escapes_decode(at, true);
			field->value.at = (uint32_t)(value - conn->in.data);
			field->value.len = (uint32_t)fw_http_escapes_decode(value, true);
			conn->parameter_count++;
		}
		at = next;
	}
	return true;
}

/* NULL, or what is wrong with the target. Afterwards it is a decoded path. */
static const char *read_target(struct fw_http_conn *conn)
{
	char *target = conn->in.data + conn->target.at;
	char *query;

	if (!fw_http_escapes_are_valid(target))
		return "the request target has an escape that is not valid";
	if (strchr(target, '#'))
		return "the request target has a fragment";
	if (target[0] != '/' && strcmp(target, "*") != 0 && !skip_authority(conn))
		return "the request target is not a path, or names another host";
	target = conn->in.data + conn->target.at;
	query = strchr(target, '?');
	if (query) {
		*query++ = 0;
		conn->query.at = (uint32_t)(query - conn->in.data);
		if (!split_query(conn))
			return "the request target has too many parameters";
	}
	conn->target.len = (uint32_t)fw_http_escapes_decode(target, false);
	return NULL;
}

/* ---- who asks, and for what ------------------------------------------------------- */

/*
 * A web page can reach this machine's servers under a name of its own choice
 * (DNS rebinding), but it cannot forge Host or Origin. On a public address with
 * a token any name will do: the page does not have the token.
 */
static fw_error *check_sender(struct fw_http_conn *conn)
{
	const struct fw_http *http = conn->http;
	bool is_local = http->is_loopback || http->is_wildcard;
	const char *host = conn->host_count ? fw_http__at(conn, conn->host) : "";
	const char *origin;

	if (!fw_http_host_is_listed(host, http->allowed_hosts) &&
	    !(is_local && fw_http_host_is_loopback(host)) &&
	    !(!http->is_loopback && !http->allowed_hosts && http->bearer_token))
		return fw_raise_auth_origin_not_allowed(host);
	if (!conn->origin_count)
		return NULL;
	origin = fw_http__at(conn, conn->origin);
	if (conn->origin_count == 1 &&
	    (fw_http_origin_is_listed(origin, http->allowed_origins) ||
	     (http->is_loopback && fw_http_origin_is_loopback(origin))))
		return NULL;
	return fw_raise_auth_origin_not_allowed(origin);
}

static fw_error *check_token(struct fw_http_conn *conn)
{
	if (!conn->http->bearer_token)
		return NULL;
	if (!conn->authorization_count ||
	    !fw_http_bearer_is(fw_http__at(conn, conn->authorization),
			       conn->http->bearer_token))
		return fw_raise_auth_unauthorized();
	conn->exchange.principal = "bearer";
	return NULL;
}

static fw_error *check_method(struct fw_http_conn *conn)
{
	switch (conn->parser.method) {
	case HTTP_POST: conn->method = FW_HTTP_POST; return NULL;
	case HTTP_GET: conn->method = FW_HTTP_GET; return NULL;
	case HTTP_DELETE: conn->method = FW_HTTP_DELETE; return NULL;
	default:
		return fw_raise_protocol_http_method_not_allowed(
			llhttp_method_name(conn->parser.method), "GET, POST, DELETE");
	}
}

static fw_error *check_form(struct fw_http_conn *conn)
{
	unsigned both = FW_HTTP_ACCEPTS_JSON | FW_HTTP_ACCEPTS_EVENTS;
	const char *type = conn->type_count ? fw_http__at(conn, conn->type) : NULL;
	uint64_t limit = conn->http->limits->message_bytes;

	/* Without the header everything is accepted. */
	if (!conn->accept_count)
		conn->accepts = both;
	if (conn->method == FW_HTTP_GET && !(conn->accepts & FW_HTTP_ACCEPTS_EVENTS))
		return fw_raise_protocol_not_acceptable("text/event-stream");
	if (conn->method != FW_HTTP_POST)
		return NULL;
	if (conn->accepts != both)
		return fw_raise_protocol_not_acceptable(
			"application/json and text/event-stream");
	if (!type || !fw_http_type_is_json(type))
		return fw_raise_protocol_unsupported_media_type(type ? type : "nothing");
	if (conn->body_length > limit)
		return fw_raise_input_too_large("request body", limit);
	return NULL;
}

/* Further documents, beside the endpoint. */
static fw_error *check_page(struct fw_http_conn *conn, const char *path)
{
	enum fw_page_access access = fw_server__page_access(conn->http->base.server, path);
	uint8_t method = conn->parser.method;

	if (access == FW_PAGE_NONE)
		return fw_raise_protocol_path_not_found(path);
	if (access != FW_PAGE_UNCHECKED)
		FW_TRY(check_sender(conn));
	if (access == FW_PAGE_GUARDED)
		FW_TRY(check_token(conn));
	if (method != HTTP_GET && method != HTTP_HEAD)
		return fw_raise_protocol_http_method_not_allowed(llhttp_method_name(method),
								 "GET, HEAD");
	return NULL;
}

static fw_error *check_message(struct fw_http_conn *conn)
{
	FW_TRY(check_sender(conn));
	FW_TRY(check_token(conn));
	FW_TRY(check_method(conn));
	return check_form(conn);
}

static fw_error *check_place(struct fw_http_conn *conn)
{
	fw_error *err;

	if (fw_http__admit(conn))
		return NULL;
	conn->must_linger = true;
	err = fw_raise_server_overloaded(conn->http->connections_most, "connections");
	fw_error_set_retry_after(err, 1);
	return err;
}

/* What may be read differently elsewhere; the connection ends with it. */
static fw_error *check_head(struct fw_http_conn *conn)
{
	const char *ambiguity;
	fw_error *err = NULL;

	if (conn->parser.method == HTTP_CONNECT)
		err = fw_raise_protocol_http_method_not_allowed("CONNECT", "GET, POST, DELETE");
	else if ((ambiguity = find_ambiguity(conn)) || (ambiguity = read_target(conn)))
		err = fw_http__malformed(is_unknown_coding(conn) ? 501 : 400, ambiguity);
	if (err)
		conn->must_linger = true;
	return err;
}

static fw_error *check(struct fw_http_conn *conn)
{
	const char *path;

	FW_TRY(check_place(conn));
	FW_TRY(check_head(conn));
	path = fw_http__at(conn, conn->target);
	conn->exchange.is_page = strcmp(path, conn->http->path) != 0;
	return conn->exchange.is_page ? check_page(conn, path) : check_message(conn);
}

/* ---- the stages of a request ------------------------------------------------ */

void fw_http__renew(struct fw_http_conn *conn)
{
	size_t zeroed = offsetof(struct fw_http_conn, request_end);

	memset((char *)conn + zeroed, 0, offsetof(struct fw_http_conn, fields) - zeroed);
	conn->in.parsed = 0;
	conn->drained = 0;
	conn->owed_ms = 0;
	llhttp_reset(&conn->parser);
	memset(&conn->exchange, 0, sizeof(conn->exchange));
	fw_exchange_init(&conn->exchange, conn->http->base.server, &fw_http__exchange_ops,
			 true);
	conn->exchange.peer = conn->address_text;
}

void fw_http__refuse(struct fw_http_conn *conn, fw_error *err)
{
	conn->must_close = true;
	conn->must_linger = true;
	conn->is_decided = true;
	conn->is_begun = true;
	conn->is_head = conn->state != FW_HTTP_IDLE && conn->parser.method == HTTP_HEAD;
	conn->request_end = conn->in.len;
	fw_http__release_body(conn);
	fw_http__enter(conn, FW_HTTP_ANSWERING);
	fw_exchange_refuse(&conn->exchange, err);
}

static void say_continue(struct fw_http_conn *conn)
{
	static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec part = { text, sizeof(text) - 1 };

	/* Not if the body is already coming. */
	if (conn->expect_count && !conn->is_old && conn->in.len == conn->in.parsed &&
	    (conn->body_length || conn->coding_count))
		fw_http__write(conn, &part, 1);
}

/* Decided by the head: refused, or a page. The body is dropped. */
static void decide(struct fw_http_conn *conn, fw_error *err)
{
	bool is_at_once = conn->must_linger || conn->expect_count ||
			  conn->body_length > conn->http->limits->http_drain_bytes;

	if (err && is_at_once) {
		fw_http__refuse(conn, err);
		return;
	}
	conn->is_decided = true;
	conn->is_begun = true;
	fw_http__enter(conn, FW_HTTP_BODY);
	if (err)
		fw_exchange_refuse(&conn->exchange, err);
	else {
		say_continue(conn);
		fw_exchange_get_page(&conn->exchange, fw_http__at(conn, conn->target));
	}
}

void fw_http__judge(struct fw_http_conn *conn)
{
	fw_error *err;

	for (unsigned i = 0; i < conn->field_count; i++)
		note_field(conn, &conn->fields[i]);
	conn->has_asked = true;
	/* Upgrades are declined by going on in HTTP/1.1. */
	conn->parser.upgrade = 0;
	conn->is_head = conn->parser.method == HTTP_HEAD;
	conn->request_end = conn->in.parsed;
	conn->must_close = conn->is_old || !llhttp_should_keep_alive(&conn->parser);
	err = check(conn);
	if (err || conn->exchange.is_page) {
		decide(conn, err);
	} else {
		fw_http__enter(conn, FW_HTTP_BODY);
		say_continue(conn);
	}
}

void fw_http__dispatch(struct fw_http_conn *conn)
{
	struct fw_http_text *body = &conn->body;

	conn->is_begun = true;
	switch (conn->method) {
	case FW_HTTP_POST:
		if (!conn->body_at) {
			conn->body_at = body->len ? body->data : "";
			conn->body_len = body->len;
		}
		fw_exchange_receive(&conn->exchange, conn->body_at, conn->body_len);
		/* The core has copied what it needs. */
		conn->body_at = NULL;
		fw_http__release_body(conn);
		break;
	case FW_HTTP_GET: fw_exchange_open_stream(&conn->exchange); break;
	case FW_HTTP_DELETE: fw_exchange_end_session(&conn->exchange); break;
	}
}
