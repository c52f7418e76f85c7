/*
 * http_request.c - a request, from its first byte up to the core.
 *
 * libmicrohttpd calls fw_http__handle once with the headers, then for each
 * piece of the body, then once more, and again whenever the connection is
 * woken. Everything that the headers alone decide is decided at the first
 * call, before a byte of the body is kept: where, who from, who, how, what.
 *
 * A refusal is made at once but told after the body, which is read and thrown
 * away: a socket that is closed with bytes unread resets the connection, and
 * the client would see that and not the refusal. Not so where the client waits
 * for leave to send, or announces more than we care to read.
 *
 * libmicrohttpd 0.9.75 lets through a second Host or Content-Length, a length
 * beside a transfer coding, and blanks at the end of a value: two readers of
 * such a request may not see the same one, so it is refused here.
 */
#include "net/http.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "net/http_check.h"

/* ---- headers ---------------------------------------------------------------- */

static bool is_named(const struct fw_http_field *field, const char *name)
{
	return strlen(name) == field->name_len &&
	       strncasecmp(field->name, name, field->name_len) == 0;
}

static void keep_first(const char **kept, unsigned *count, const char *value)
{
	if (!(*count)++)
		*kept = value;
}

/* The ones that the transport itself goes by. */
static void note_field(struct fw_http_peer *peer, const struct fw_http_field *field)
{
	switch (field->name_len) {
	case 4:
		if (is_named(field, "Host"))
			keep_first(&peer->host, &peer->host_count, field->value);
		break;
	case 6:
		if (is_named(field, "Origin"))
			keep_first(&peer->origin, &peer->origin_count, field->value);
		else if (is_named(field, "Accept")) {
			peer->accepts |= fw_http_accept_read(field->value);
			peer->accept_count++;
		} else if (is_named(field, "Expect"))
			peer->expects = true;
		break;
	case 12:
		if (is_named(field, "Content-Type"))
			peer->type = field->value;
		break;
	case 13:
		if (is_named(field, "Authorization"))
			peer->authorization = field->value;
		break;
	case 14:
		if (is_named(field, "Content-Length"))
			keep_first(&peer->length, &peer->length_count, field->value);
		break;
	case 17:
		if (is_named(field, "Transfer-Encoding"))
			keep_first(&peer->coding, &peer->coding_count, field->value);
		break;
	default: break;
	}
}

static enum MHD_Result take_field(void *cls, enum MHD_ValueKind kind, const char *name,
				  size_t name_len, const char *value, size_t len)
{
	struct fw_http_peer *peer = cls;
	struct fw_http_field *field = &peer->fields[peer->field_count];

	(void)kind;
	if (!value) {
		value = "";
		len = 0;
	}
	if (peer->field_count >= peer->http->limits->http_fields || memchr(name, 0, name_len) ||
	    memchr(value, 0, len) || (name_len && memchr(" \t", name[name_len - 1], 2))) {
		peer->is_malformed = true;
		return MHD_NO;
	}
	while (len && memchr(" \t", value[len - 1], 2))
		len--;
	/*
	 * The daemon's own copy, in memory that it writes itself; newer versions
	 * have put the NUL there already.
	 */
	if (value[len])
		((char *)value)[len] = 0;
	field->name = name;
	field->name_len = name_len;
	field->value = value;
	while (*field->value == ' ' || *field->value == '\t')
		field->value++;
	peer->field_count++;
	note_field(peer, field);
	return MHD_YES;
}

/* ---- what the headers decide ------------------------------------------------ */

/* One message and one only, whoever reads it; NULL or what is wrong. */
static const char *find_ambiguity(struct fw_http_peer *peer, const char *version)
{
	bool is_old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;

	if (peer->is_spaced)
		return "the target has a blank in it";
	if (peer->is_malformed)
		return "a header is malformed, or there are too many";
	if (peer->host_count > 1 || (!peer->host_count && !is_old))
		return "there must be one Host header";
	if (peer->length_count > 1 || (peer->length_count && peer->coding_count))
		return "the length of the body is given more than once";
	if (peer->length && !fw_http_length_read(peer->length, &peer->body_length))
		return "Content-Length is not a number";
	if (peer->coding_count > 1 ||
	    (peer->coding && strcasecmp(peer->coding, "chunked") != 0))
		return "the only Transfer-Encoding is chunked";
	return NULL;
}

/*
 * A web page can reach this machine's servers under a name of its own choice
 * (DNS rebinding), but it cannot forge Host or Origin. Where a token is asked
 * for on a public address, any name will do: the page has no token.
 */
static fw_error *check_sender(struct fw_http_peer *peer)
{
	const struct fw_http *http = peer->http;
	bool is_local = http->is_loopback || http->is_wildcard;
	const char *host = peer->host ? peer->host : "";

	if (!fw_http_host_is_listed(host, http->allowed_hosts) &&
	    !(is_local && fw_http_host_is_loopback(host)) &&
	    !(!http->is_loopback && !http->allowed_hosts && http->bearer_token))
		return fw_raise_auth_origin_not_allowed(host);
	if (!peer->origin_count)
		return NULL;
	if (peer->origin_count == 1 &&
	    (fw_http_origin_is_listed(peer->origin, http->allowed_origins) ||
	     (http->is_loopback && fw_http_origin_is_loopback(peer->origin))))
		return NULL;
	return fw_raise_auth_origin_not_allowed(peer->origin);
}

static fw_error *check_token(struct fw_http_peer *peer)
{
	if (!peer->http->bearer_token)
		return NULL;
	if (!peer->authorization ||
	    !fw_http_bearer_is(peer->authorization, peer->http->bearer_token))
		return fw_raise_auth_unauthorized();
	peer->exchange.principal = "bearer";
	return NULL;
}

static fw_error *check_method(struct fw_http_peer *peer, const char *method)
{
	if (strcmp(method, MHD_HTTP_METHOD_POST) == 0)
		peer->method = FW_HTTP_POST;
	else if (strcmp(method, MHD_HTTP_METHOD_GET) == 0)
		peer->method = FW_HTTP_GET;
	else if (strcmp(method, MHD_HTTP_METHOD_DELETE) == 0)
		peer->method = FW_HTTP_DELETE;
	else
		return fw_raise_protocol_http_method_not_allowed(method, "GET, POST, DELETE");
	return NULL;
}

static fw_error *check_form(struct fw_http_peer *peer)
{
	unsigned both = FW_HTTP_ACCEPTS_JSON | FW_HTTP_ACCEPTS_EVENTS;

	/* No such header takes everything. */
	if (!peer->accept_count)
		peer->accepts = both;
	if (peer->method == FW_HTTP_GET && !(peer->accepts & FW_HTTP_ACCEPTS_EVENTS))
		return fw_raise_protocol_not_acceptable("text/event-stream");
	if (peer->method != FW_HTTP_POST)
		return NULL;
	if (peer->accepts != both)
		return fw_raise_protocol_not_acceptable(
			"application/json and text/event-stream");
	if (!peer->type || !fw_http_type_is_json(peer->type))
		return fw_raise_protocol_unsupported_media_type(peer->type ? peer->type
									   : "nothing");
	if (peer->body_length > peer->http->limits->message_bytes)
		return fw_raise_input_too_large("request body",
						peer->http->limits->message_bytes);
	return NULL;
}

/* Further documents, beside the endpoint. */
static fw_error *check_page(struct fw_http_peer *peer, const char *url, const char *method)
{
	enum fw_page_access access = fw_server__page_access(peer->http->base.server, url);

	if (access == FW_PAGE_NONE)
		return fw_raise_protocol_path_not_found(url);
	if (access != FW_PAGE_UNCHECKED)
		FW_TRY(check_sender(peer));
	if (access == FW_PAGE_GUARDED)
		FW_TRY(check_token(peer));
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return fw_raise_protocol_http_method_not_allowed(method, "GET, HEAD");
	return NULL;
}

static fw_error *check_message(struct fw_http_peer *peer, const char *method)
{
	FW_TRY(check_sender(peer));
	FW_TRY(check_token(peer));
	FW_TRY(check_method(peer, method));
	return check_form(peer);
}

static void judge(struct fw_http_peer *peer, const char *url, const char *method,
		  const char *version)
{
	const char *ambiguity = find_ambiguity(peer, version);
	fw_error *err;

	peer->must_close = ambiguity != NULL;
	peer->exchange.is_page = strcmp(url, peer->http->path) != 0;
	if (!fw_http__admit(peer)) {
		peer->must_close = true;
		err = fw_raise_server_overloaded(peer->http->connections_most, "connections");
		fw_error_set_retry_after(err, 1);
	} else if (ambiguity)
		err = fw_raise_protocol_invalid_request(ambiguity);
	else if (peer->exchange.is_page)
		err = check_page(peer, url, method);
	else
		err = check_message(peer, method);
	if (!err && !peer->exchange.is_page)
		return;
	/* The answer may come later: somebody may want to write it down first. */
	peer->is_decided = true;
	peer->is_begun = true;
	if (err)
		fw_exchange_refuse(&peer->exchange, err);
	else
		fw_exchange_get_page(&peer->exchange, url);
}

/* ---- the stages of a request ------------------------------------------------ */

void fw_http__renew(struct fw_http_peer *peer)
{
	size_t zeroed = offsetof(struct fw_http_peer, response);

	memset((char *)peer + zeroed, 0, offsetof(struct fw_http_peer, fields) - zeroed);
	peer->drained = 0;
	peer->out_at = 0;
	peer->out.len = 0;
	peer->body.len = 0;
	memset(&peer->exchange, 0, sizeof(peer->exchange));
	fw_exchange_init(&peer->exchange, peer->http->base.server, &fw_http__exchange_ops,
			 true);
	peer->exchange.peer = peer->address;
	peer->owed_ms = 0;
}

static enum MHD_Result begin(struct fw_http_peer *peer, const char *url, const char *method,
			     const char *version)
{
	fw_http__renew(peer);
	fw_http__enter(peer, FW_HTTP_BODY);
	(void)MHD_get_connection_values_n(peer->connection, MHD_HEADER_KIND, take_field, peer);
	judge(peer, url, method, version);
	if (!peer->is_decided)
		return MHD_YES;
	if (peer->must_close || peer->expects ||
	    peer->body_length > peer->http->limits->http_drain_bytes) {
		fw_http__enter(peer, FW_HTTP_ANSWERING);
		return fw_http__advance(peer);
	}
	return MHD_YES;
}

static enum MHD_Result take_body(struct fw_http_peer *peer, const char *data, size_t *len)
{
	struct fw_http_text *body = &peer->body;
	size_t expected = (size_t)peer->body_length > *len ? (size_t)peer->body_length : *len;

	if (peer->is_decided || peer->method != FW_HTTP_POST) {
		peer->drained += *len;
		*len = 0;
		return peer->drained > peer->http->limits->http_drain_bytes ? MHD_NO : MHD_YES;
	}
	if (body->len)
		expected = *len;
	if (!fw_http__text_reserve(body, expected, peer->http->limits->message_bytes)) {
		peer->drained = body->len;
		peer->is_decided = true;
		peer->is_begun = true;
		fw_exchange_refuse(&peer->exchange,
				   fw_raise_input_too_large("request body",
							    peer->http->limits->message_bytes));
		return take_body(peer, data, len);
	}
	memcpy(body->data + body->len, data, *len);
	body->len += *len;
	*len = 0;
	return MHD_YES;
}

static void dispatch(struct fw_http_peer *peer)
{
	peer->is_begun = true;
	switch (peer->method) {
	case FW_HTTP_POST:
		fw_exchange_receive(&peer->exchange, peer->body.data ? peer->body.data : "",
				    peer->body.len);
		/* The core keeps what it needs. */
		fw_http__text_reset(&peer->body);
		break;
	case FW_HTTP_GET: fw_exchange_open_stream(&peer->exchange); break;
	case FW_HTTP_DELETE: fw_exchange_end_session(&peer->exchange); break;
	}
}

enum MHD_Result fw_http__handle(void *cls, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *data,
				size_t *data_len, void **request)
{
	struct fw_http_peer *peer = *request;

	(void)cls;
	if (!peer) {
		peer = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			       ->socket_context;
		if (!peer)
			return MHD_NO;
		*request = peer;
		return begin(peer, url, method, version);
	}
	if (*data_len)
		return take_body(peer, data, data_len);
	if (peer->phase != FW_HTTP_ANSWERING) {
		fw_http__enter(peer, FW_HTTP_ANSWERING);
		if (!peer->is_decided)
			dispatch(peer);
	}
	return fw_http__advance(peer);
}

void *fw_http__first_line(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct fw_http_peer *peer =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;

	(void)cls;
	if (!peer)
		return NULL;
	peer->has_asked = true;
	peer->is_spaced = strchr(uri, ' ') != NULL;
	fw_http__enter(peer, FW_HTTP_HEAD);
	return NULL;
}

/*
 * The daemon takes an answer only after the whole of a request. So this one is
 * written past it, which can be done while it reads: it has nothing to write
 * then. Not so with TLS, whose state is the daemon's.
 */
void fw_http__too_slow(struct fw_http_peer *peer, const char *what, uint64_t limit_ms)
{
	if (peer->is_shouted)
		return;
	if (peer->http->is_tls || peer->has_hung_up || peer->http->is_closing ||
	    (peer->phase == FW_HTTP_BODY && peer->is_decided)) {
		fw_http__cut(peer);
		return;
	}
	if (peer->phase != FW_HTTP_BODY)
		fw_http__renew(peer);
	peer->is_shouted = true;
	peer->is_decided = true;
	peer->is_begun = true;
	fw_exchange_refuse(&peer->exchange, fw_raise_protocol_request_timeout(what, limit_ms));
}

void fw_http__completed(void *cls, struct MHD_Connection *connection, void **request,
			enum MHD_RequestTerminationCode how)
{
	struct fw_http_peer *peer = *request;

	(void)cls;
	(void)connection;
	(void)how;
	*request = NULL;
	if (!peer)
		return;
	if (peer->is_begun && !peer->is_answered) {
		peer->is_answered = true;
		fw_exchange_gone(&peer->exchange);
	}
	if (peer->response)
		MHD_destroy_response(peer->response);
	peer->response = NULL;
	fw_http__text_reset(&peer->body);
	fw_http__text_reset(&peer->out);
	fw_http__enter(peer, FW_HTTP_IDLE);
}
