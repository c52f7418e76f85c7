/*
 * http_request.c - a request, from its head to the call of the core.
 *
 * The head is checked before any byte of the body is kept: that it cannot be read
 * in two ways, that there is a slot for the connection, the path, the sender, the
 * method and the media types.
 *
 * A refusal is made at once but sent after the body, which is read and dropped:
 * so the connection can be used again, and the client is not reset while it is
 * still sending. If the client waits for 100 Continue, announces more than
 * http_drain_bytes, or has sent something ambiguous, the refusal is sent at once
 * and the connection closes.
 */
#include "net/http_request.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "mcp/principal.h"
#include "mcp/replica.h"
#include "net/http_auth.h"
#include "net/http_conn.h"
#include "net/http_check.h"

/* ---- headers ---------------------------------------------------------------- */

static void keep_first(struct fw_http_header *header, const struct fw_http_field *field)
{
	if (!header->count++)
		header->value = field->value;
}

/* Records the headers that the transport itself uses. */
static void note_field(struct fw_http_conn *conn, const struct fw_http_field *field)
{
	const char *name = fw_http__at(conn, field->name);

	switch (field->name.len) {
	case 4:
		if (FW_HTTP_NAME_IS(name, field->name.len, "host"))
			keep_first(&conn->head.host, field);
		break;
	case 6:
		if (FW_HTTP_NAME_IS(name, field->name.len, "origin"))
			keep_first(&conn->head.origin, field);
		else if (FW_HTTP_NAME_IS(name, field->name.len, "accept")) {
			conn->head.accepts |=
				fw_http_accept_read(fw_http__at(conn, field->value));
			conn->head.accept_count++;
		} else if (FW_HTTP_NAME_IS(name, field->name.len, "expect"))
			keep_first(&conn->head.expect, field);
		else if (FW_HTTP_NAME_IS(name, field->name.len, "cookie"))
			keep_first(&conn->head.cookie, field);
		break;
	case 12:
		if (FW_HTTP_NAME_IS(name, field->name.len, "content-type"))
			keep_first(&conn->head.type, field);
		break;
	case 13:
		if (FW_HTTP_NAME_IS(name, field->name.len, "authorization"))
			keep_first(&conn->head.authorization, field);
		break;
	case 14:
		if (FW_HTTP_NAME_IS(name, field->name.len, "content-length"))
			keep_first(&conn->head.length, field);
		break;
	case 17:
		if (FW_HTTP_NAME_IS(name, field->name.len, "transfer-encoding"))
			keep_first(&conn->head.coding, field);
		break;
	default: break;
	}
}

/* ---- requests that could be read in two ways --------------------------------------- */

static const char *find_framing_fault(struct fw_http_conn *conn)
{
	if (conn->head.length.count > 1 || (conn->head.length.count && conn->head.coding.count))
		return "the length of the body is given more than once";
	if (conn->head.length.count &&
	    !fw_http_length_read(fw_http__at(conn, conn->head.length.value),
				 &conn->body.announced))
		return "Content-Length is not a number";
	if (conn->head.coding.count > 1 || (conn->head.coding.count && conn->head.is_http10))
		return "Transfer-Encoding is given more than once, or with HTTP/1.0";
	if (conn->head.coding.count &&
	    strcasecmp(fw_http__at(conn, conn->head.coding.value), "chunked") != 0)
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

/* Mcp-Method, Mcp-Name and so on: a proxy may use the first of two, and the core
 * the last. */
static bool has_mcp_field_twice(struct fw_http_conn *conn)
{
	for (unsigned i = 0; i < conn->head.field_count; i++) {
		const struct fw_http_field *field = &conn->head.fields[i];

		if (field->name.len < 4 ||
		    !fw_http__same_name(fw_http__at(conn, field->name), "mcp-", 4))
			continue;
		for (unsigned k = 0; k < i; k++)
			if (is_same_name(conn, field, &conn->head.fields[k]))
				return true;
	}
	return false;
}

static const char *find_ambiguity(struct fw_http_conn *conn)
{
	const char *fault = find_framing_fault(conn);

	if (fault)
		return fault;
	if (conn->head.host.count > 1 || (!conn->head.host.count && !conn->head.is_http10))
		return "there must be one Host header";
	if (conn->head.authorization.count > 1)
		return "there is more than one Authorization header";
	if (conn->head.type.count > 1)
		return "there is more than one Content-Type header";
	if (conn->head.expect.count > 1 ||
	    (conn->head.expect.count &&
	     strcasecmp(fw_http__at(conn, conn->head.expect.value), "100-continue") != 0))
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

/* A valid transfer coding that is not implemented. */
static bool is_unknown_coding(const struct fw_http_conn *conn)
{
	return conn->head.coding.count == 1 && !conn->head.length.count &&
	       !conn->head.is_http10 &&
	       !strcasestr(fw_http__at(conn, conn->head.coding.value), "chunked");
}

/* ---- the target ------------------------------------------------------------------ */

/*
 * The absolute form ("http://host/path") is for proxies, but a server must accept
 * it. Its authority must equal the Host header, so that there is one name to check.
 */
static bool skip_authority(struct fw_http_conn *conn)
{
	char *target = conn->in.data + conn->head.target.at;
	size_t scheme = strncasecmp(target, "http://", 7) == 0    ? 7
			: strncasecmp(target, "https://", 8) == 0 ? 8
								  : 0;
	size_t len;

	if (!scheme)
		return false;
	len = strcspn(target + scheme, "/?");
	if (!len || len != conn->head.host.value.len ||
	    strncasecmp(target + scheme, fw_http__at(conn, conn->head.host.value), len) != 0)
		return false;
	/* An empty path is "/": write it over the last byte of the authority. */
	if (target[scheme + len] != '/') {
		len--;
		target[scheme + len] = '/';
	}
	conn->head.target.at += (uint32_t)(scheme + len);
	conn->head.target.len -= (uint32_t)(scheme + len);
	return true;
}

/* Stores the parameters in `fields`, after the headers. False: too many. */
static bool split_query(struct fw_http_conn *conn)
{
	char *at = conn->in.data + conn->head.query.at;

	while (*at) {
		char *end = at + strcspn(at, "&");
		char *next = *end ? end + 1 : end;
		struct fw_http_field *field =
			&conn->head.fields[conn->head.field_count + conn->head.parameter_count];
		char *value;

		*end = 0;
		if (end != at) {
			if (conn->head.field_count + conn->head.parameter_count ==
			    FW_LIMIT_HTTP_FIELDS)
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
			conn->head.parameter_count++;
		}
		at = next;
	}
	return true;
}

/* Decodes the path and the query. NULL, or what is wrong with the target. */
static const char *read_target(struct fw_http_conn *conn)
{
	char *target = conn->in.data + conn->head.target.at;
	char *query;

	/* A usual request has a plain path. */
	if (conn->head.whole_body)
		return NULL;
	if (!fw_http_escapes_are_valid(target))
		return "the request target has an escape that is not valid";
	if (strchr(target, '#'))
		return "the request target has a fragment";
	if (target[0] != '/' && strcmp(target, "*") != 0 && !skip_authority(conn))
		return "the request target is not a path, or names another host";
	target = conn->in.data + conn->head.target.at;
	query = strchr(target, '?');
	if (query) {
		*query++ = 0;
		conn->head.query.at = (uint32_t)(query - conn->in.data);
		if (!split_query(conn))
			return "the request target has too many parameters";
	}
	conn->head.target.len = (uint32_t)fw_http_escapes_decode(target, false);
	return NULL;
}

/* ---- sender, method and media types ------------------------------------------------------- */

/*
 * A web page can reach a server on this machine under any host name (DNS
 * rebinding), but it cannot forge Host or Origin. On a public address with a token
 * every name is accepted: the page does not have the token.
 */
static fw_error *check_sender(struct fw_http_conn *conn)
{
	const struct fw_http *http = conn->http;
	bool is_local = http->config.is_loopback || http->config.is_wildcard;
	const char *host =
		conn->head.host.count ? fw_http__at(conn, conn->head.host.value) : "";
	const char *origin;

	if (!fw_http_host_is_listed(host, http->config.allowed_hosts) &&
	    !(is_local && fw_http_host_is_loopback(host)) &&
	    !(!http->config.is_loopback && !http->config.allowed_hosts &&
	      fw_http__needs_token(http)))
		return fw_raise_auth_origin_not_allowed(host);
	if (!conn->head.origin.count)
		return NULL;
	origin = fw_http__at(conn, conn->head.origin.value);
	if (conn->head.origin.count == 1 &&
	    (fw_http_origin_is_listed(origin, http->config.allowed_origins) ||
	     (http->config.is_loopback && fw_http_origin_is_loopback(origin))))
		return NULL;
	return fw_raise_auth_origin_not_allowed(origin);
}

static fw_error *check_method(struct fw_http_conn *conn)
{
	switch (conn->parser.method) {
	case HTTP_POST: conn->head.method = FW_HTTP_POST; return NULL;
	case HTTP_GET: conn->head.method = FW_HTTP_GET; return NULL;
	case HTTP_DELETE: conn->head.method = FW_HTTP_DELETE; return NULL;
	default:
		return fw_raise_protocol_http_method_not_allowed(
			llhttp_method_name(conn->parser.method), "GET, POST, DELETE");
	}
}

/* A body of up to `limit` bytes is kept; 0: it is dropped. */
static fw_error *expect_body(struct fw_http_conn *conn, uint64_t limit)
{
	if (limit && conn->body.announced > limit)
		return fw_raise_input_too_large("request body", limit);
	conn->body.limit = limit;
	return NULL;
}

static fw_error *check_form(struct fw_http_conn *conn)
{
	unsigned both = FW_HTTP_ACCEPTS_JSON | FW_HTTP_ACCEPTS_EVENTS;
	const char *type =
		conn->head.type.count ? fw_http__at(conn, conn->head.type.value) : NULL;
	uint64_t limit = conn->http->limits->message_bytes;

	/* Without an Accept header the client accepts everything. */
	if (!conn->head.accept_count)
		conn->head.accepts = both;
	if (conn->head.method == FW_HTTP_GET && !(conn->head.accepts & FW_HTTP_ACCEPTS_EVENTS))
		return fw_raise_protocol_not_acceptable("text/event-stream");
	if (conn->head.method != FW_HTTP_POST)
		return NULL;
	if (conn->head.accepts != both)
		return fw_raise_protocol_not_acceptable(
			"application/json and text/event-stream");
	if (!type || !fw_http_type_is_json(type))
		return fw_raise_protocol_unsupported_media_type(type ? type : "nothing");
	return expect_body(conn, limit);
}

/* A request for a page, that is, for any path but the endpoint. */
static fw_error *check_page(struct fw_http_conn *conn, const char *path)
{
	const char *method = llhttp_method_name(conn->parser.method);
	struct fw_page_terms terms;

	conn->head.method = FW_HTTP_PAGE;
	fw_server__page_terms(conn->http->base.server, method, path, &terms);
	if (terms.access == FW_PAGE_NONE)
		return fw_raise_protocol_path_not_found(path);
	conn->exchange.route = terms.route;
	if (terms.access != FW_PAGE_UNCHECKED)
		FW_TRY(check_sender(conn));
	if (terms.access == FW_PAGE_GUARDED)
		FW_TRY(fw_http__authenticate(conn, terms.takes_cookie));
	if (!terms.takes_method)
		return fw_raise_protocol_http_method_not_allowed(method, terms.allow);
	return expect_body(conn, terms.body_bytes);
}

static fw_error *check_message(struct fw_http_conn *conn)
{
	FW_TRY(check_sender(conn));
	FW_TRY(fw_http__authenticate(conn, false));
	FW_TRY(check_method(conn));
	return check_form(conn);
}

static fw_error *check_admission(struct fw_http_conn *conn)
{
	fw_error *err;

	if (fw_http__admit(conn))
		return NULL;
	conn->answer.is_immediate = true;
	err = fw_raise_server_overloaded(conn->http->admission.admitted_max, "connections");
	fw_error_set_retry_after(err, 1);
	return err;
}

/* Refuses what another parser may read differently, and closes the connection. */
static fw_error *check_head(struct fw_http_conn *conn)
{
	const char *ambiguity;
	fw_error *err = NULL;

	if (conn->parser.method == HTTP_CONNECT)
		err = fw_raise_protocol_http_method_not_allowed("CONNECT", "GET, POST, DELETE");
	else if ((ambiguity = find_ambiguity(conn)) || (ambiguity = read_target(conn)))
		err = fw_http__malformed(is_unknown_coding(conn) ? 501 : 400, ambiguity);
	if (err)
		conn->answer.is_immediate = true;
	return err;
}

/* Before the target is decoded: a refusal has the form of what was asked for, if that can
 * be read. */
static bool is_for_page(const struct fw_http_conn *conn)
{
	const char *target = fw_http__at(conn, conn->head.target);
	const char *path = conn->http->config.path;
	size_t len = strcspn(target, "?#");

	return *target == '/' && target[len] != '#' && fw_http_escapes_are_valid(target) &&
	       (len != strlen(path) || memcmp(target, path, len) != 0);
}

static fw_error *check(struct fw_http_conn *conn)
{
	fw_error *err = check_admission(conn);
	const char *path;

	if (!err)
		err = check_head(conn);
	if (err) {
		conn->exchange.is_page = is_for_page(conn);
		return err;
	}
	path = fw_http__at(conn, conn->head.target);
	conn->exchange.is_page = strcmp(path, conn->http->config.path) != 0;
	return conn->exchange.is_page ? check_page(conn, path) : check_message(conn);
}

/* ---- the stages of a request ------------------------------------------------ */

void fw_http__reset_request(struct fw_http_conn *conn)
{
	size_t zeroed = offsetof(struct fw_http_conn, answer);

	assert(!conn->body.buf.cap);
	memset((char *)conn + zeroed, 0, offsetof(struct fw_http_conn, head.fields) - zeroed);
	conn->in.parsed = 0;
	conn->in.request_end = 0;
	conn->times.stalled_ms = 0;
	llhttp_reset(&conn->parser);
	fw_principal_unref(conn->exchange.principal);
	memset(&conn->exchange, 0, sizeof(conn->exchange));
	fw_exchange_init(&conn->exchange, conn->http->base.server, &fw_http__exchange_ops,
			 true);
	conn->exchange.peer = conn->address_text;
}

void fw_http__refuse(struct fw_http_conn *conn, fw_error *err)
{
	conn->answer.must_close = true;
	conn->answer.is_decided = true;
	conn->answer.exchange = FW_HTTP_IN_CORE;
	conn->answer.has_no_body =
		conn->state != FW_HTTP_IDLE && conn->parser.method == HTTP_HEAD;
	conn->in.request_end = conn->in.len;
	/* Values of an incomplete head are not NUL-terminated, so they must not be
	 * read. */
	if (!conn->head.is_finished)
		conn->head.field_count = 0;
	fw_http__release_body(conn);
	fw_http__enter(conn, FW_HTTP_ANSWERING);
	fw_exchange_refuse(&conn->exchange, err);
}

static void send_continue(struct fw_http_conn *conn)
{
	static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec part = { text, sizeof(text) - 1 };

	/* Not if bytes of the body are already here. */
	if (conn->head.expect.count && !conn->head.is_http10 &&
	    conn->in.len == conn->in.parsed &&
	    (conn->body.announced || conn->head.coding.count))
		fw_http__write(conn, &part, 1);
}

static void open_page(struct fw_http_conn *conn)
{
	const struct fw_page_request request = {
		.method = llhttp_method_name(conn->parser.method),
		.path = fw_http__at(conn, conn->head.target),
		.body = conn->body.data,
		.len = conn->body.len,
	};

	fw_exchange_open_page(&conn->exchange, &request);
}

/* The head decides the answer, a refusal or a page. The body is dropped. */
static void decide(struct fw_http_conn *conn, fw_error *err)
{
	bool is_immediate = conn->answer.is_immediate || conn->head.expect.count ||
			    conn->body.announced > conn->http->limits->http_drain_bytes;

	if (err && is_immediate) {
		fw_http__refuse(conn, err);
		return;
	}
	conn->answer.is_decided = true;
	conn->answer.exchange = FW_HTTP_IN_CORE;
	fw_http__enter(conn, FW_HTTP_BODY);
	if (err)
		fw_exchange_refuse(&conn->exchange, err);
	else {
		send_continue(conn);
		open_page(conn);
	}
}

void fw_http__take_head(struct fw_http_conn *conn)
{
	fw_error *err;

	for (unsigned i = 0; i < conn->head.field_count; i++)
		note_field(conn, &conn->head.fields[i]);
	conn->has_asked = true;
	/* Upgrades are declined: the connection stays HTTP/1.1. */
	conn->parser.upgrade = 0;
	conn->answer.has_no_body = conn->parser.method == HTTP_HEAD;
	conn->in.request_end = conn->in.parsed;
	conn->answer.must_close =
		conn->head.is_http10 || !llhttp_should_keep_alive(&conn->parser);
	err = check(conn);
	if (err || (conn->exchange.is_page && !conn->body.limit)) {
		decide(conn, err);
	} else {
		fw_http__enter(conn, FW_HTTP_BODY);
		send_continue(conn);
	}
}

/* The request is complete, and what the core has to know of its session is there. */
static void hand_over(struct fw_http_conn *conn)
{
	struct fw_buf *body = &conn->body.buf;

	if (conn->body.limit && !conn->body.data) {
		conn->body.data = body->len ? body->text : "";
		conn->body.len = body->len;
	}
	switch (conn->head.method) {
	case FW_HTTP_POST:
		fw_exchange_receive(&conn->exchange, conn->body.data, conn->body.len);
		break;
	case FW_HTTP_GET: fw_exchange_open_stream(&conn->exchange); break;
	case FW_HTTP_DELETE: fw_exchange_end_session(&conn->exchange); break;
	case FW_HTTP_PAGE: open_page(conn); break;
	}
	/* The core has copied what it needs. */
	conn->body.data = NULL;
	conn->body.len = 0;
	fw_http__release_body(conn);
}

/* The input may have moved while the session was looked up. */
static void resume(struct fw_exchange *exchange)
{
	struct fw_http_conn *conn = (struct fw_http_conn *)(void *)exchange;

	if (conn->body.len && !conn->body.buf.len)
		conn->body.data = conn->in.data + conn->body.at;
	hand_over(conn);
	fw_http__queue(conn);
}

void fw_http__dispatch(struct fw_http_conn *conn)
{
	conn->answer.exchange = FW_HTTP_IN_CORE;
	if (conn->head.method == FW_HTTP_PAGE ||
	    !fw_exchange_looks_up(&conn->exchange, resume)) {
		hand_over(conn);
		return;
	}
	if (conn->body.data)
		conn->body.at = (size_t)(conn->body.data - conn->in.data);
	conn->body.data = NULL;
}
