/*
 * link_http.c - a link to a Streamable HTTP endpoint. Each message is a POST, whose
 * response is a JSON body or a stream of events. A GET stream carries the messages that
 * belong to no request.
 *
 * A callback may free the link. A post that is being read is then only marked as dropped,
 * and freed after the callback has returned.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/link_http.h"
#include "core/redact.h"
#include "rpc/names.h"

/* ---- posts ------------------------------------------------------------------------ */

static void post_free(struct fw_link_post *post)
{
	fw_sse_reader_clear(&post->events);
	fw_buf_clear(&post->body);
	fw__release(post);
}

/* Removes a post from its link. It is freed now, or when the callback that is reading it
 * returns. */
void fw_link__post_drop(struct fw_link_post *post)
{
	struct fw_link_post **at = &post->link->posts;

	while (*at != post)
		at = &(*at)->next;
	*at = post->next;
	post->link = NULL;
	fw_link__stop_timer(post);
	fw_fetch_cancel(post->fetch);
	if (!post->is_busy)
		post_free(post);
}

/* Called when a callback has returned. False: the callback dropped the post, and it is
 * freed now. */
static bool resume_post(struct fw_link_post *post)
{
	post->is_busy = false;
	if (post->link)
		return true;
	post_free(post);
	return false;
}

/* Replaces line breaks between the tokens of a message with blanks, because it may be
 * passed on as one line. Inside a string line breaks are not valid JSON, and stay. */
static void join_lines(const struct fw_link_http *link, struct fw_buf *text)
{
	bool is_string = false;

	if (!link->base.target->is_by_line ||
	    (!memchr(text->text, '\n', text->len) && !memchr(text->text, '\r', text->len)))
		return;
	for (size_t i = 0; i < text->len; i++) {
		char *at = &text->text[i];

		if (*at == '"')
			is_string = !is_string;
		else if (is_string && *at == '\\')
			i++;
		else if (!is_string && (*at == '\n' || *at == '\r'))
			*at = ' ';
	}
}

/* Messages are events of the type "message". Other types are used to keep a connection
 * alive, for instance. */
static bool is_message_event(const struct fw_sse_received *event)
{
	return event->len && event->type_len == 7 && memcmp(event->type, "message", 7) == 0;
}

/* A server should end the stream of a request after the answer. If it does not, open
 * connections must not accumulate, so the oldest of these streams is closed. */
static void limit_answered(struct fw_link_post *post)
{
	struct fw_link_http *link = post->link;
	struct fw_link_post *oldest = NULL;
	unsigned count = 0;

	if (!post->key || link->base.on.is_open(link->base.ctx, post->key))
		return;
	post->is_answered = true;
	/* The newest comes first. */
	for (struct fw_link_post *at = link->posts; at; at = at->next) {
		count += at->is_answered;
		if (at->is_answered)
			oldest = at;
	}
	if (count > FW_LINK_ANSWERED)
		fw_link__post_drop(oldest);
}

/* For a lost session the protocol requires 404, but some servers answer 200 with
 * {"error":"Session not found"}, which is not a message. */
static bool is_session_lost(const struct fw_link_post *post, const char *text, size_t len)
{
	enum { SHORT_BYTES = 1024 };
	char copy[SHORT_BYTES];

	if (!post->session || post->is_begun || post->resumptions || len >= sizeof copy ||
	    memmem(text, len, "jsonrpc", 7))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return strstr(copy, "\"error\"") && strcasestr(copy, "session");
}

static bool deliver(void *ctx, const struct fw_sse_received *event)
{
	struct fw_link_post *post = ctx;
	struct fw_link_http *link = post->link;

	/* An event without data only sets the id from which the stream can be resumed. */
	if (event->id_len < sizeof post->last_id && !memchr(event->id, '\0', event->id_len)) {
		memcpy(post->last_id, event->id, event->id_len);
		post->last_id[event->id_len] = '\0';
	}
	if (link && is_message_event(event))
		post->is_lost = is_session_lost(post, event->data, event->len);
	if (link && is_message_event(event) && !post->is_lost) {
		post->is_begun = true;
		join_lines(link, &post->events.data);
		link->base.on.message(link->base.ctx, post->key, event->data, event->len);
	}
	if (post->link)
		limit_answered(post);
	return post->link != NULL;
}

void fw_link__read_events(struct fw_link_post *post)
{
	fw_sse_reader_init(&post->events, post->link->base.message_bytes, deliver, post);
}

struct fw_link_post *fw_link__post_new(struct fw_link_http *link, uint64_t key)
{
	struct fw_link_post *post = fw__allocate(sizeof *post);

	if (!post)
		return NULL;
	memset(post, 0, sizeof *post);
	post->link = link;
	post->key = key;
	fw_buf_init(&post->body, link->base.message_bytes);
	fw_link__read_events(post);
	post->next = link->posts;
	link->posts = post;
	return post;
}

static fw_error *send_post(struct fw_link *base, const struct fw_link_message *message)
{
	struct fw_link_http *link = (struct fw_link_http *)base;
	struct fw_link_post *post = fw_link__post_new(link, message->key);
	fw_error *err;

	if (!post)
		return fw_raise_internal_out_of_memory();
	post->is_initialize =
		message->method && strcmp(message->method, FW_METHOD_INITIALIZE) == 0;
	err = fw_link__fetch(post, message);
	if (err)
		fw_link__post_drop(post);
	return err;
}

/* ---- the response ------------------------------------------------------------------- */

static bool is_type(const char *type, const char *wanted)
{
	size_t len = strlen(wanted);

	return type && strncasecmp(type, wanted, len) == 0 &&
	       (type[len] == '\0' || type[len] == ';' || type[len] == ' ');
}

void fw_link__on_head(void *ctx, struct fw_fetch *fetch)
{
	struct fw_link_post *post = ctx;
	const char *type = fw_fetch_header(fetch, "Content-Type");
	const char *session = fw_fetch_header(fetch, FW_HEADER_SESSION);
	int status = fw_fetch_status(fetch);

	if (status >= 200 && status < 300) {
		if (is_type(type, "text/event-stream"))
			post->form = FW_POST_EVENTS;
		else if (is_type(type, "application/json"))
			post->form = FW_POST_BODY;
		else
			post->form = FW_POST_OTHER;
		if (post->is_initialize && session &&
		    strlen(session) < sizeof post->link->session) {
			(void)snprintf(post->link->session, sizeof post->link->session, "%s",
				       session);
			post->link->sessions++;
		}
	} else {
		post->form = FW_POST_FAILED;
	}
}

bool fw_link__on_body(void *ctx, const char *bytes, size_t len)
{
	struct fw_link_post *post = ctx;
	enum fw_sse_status status;

	if (post->form != FW_POST_EVENTS) {
		/* Of an error page, which may be a proxy's, the beginning is enough. */
		if (post->form == FW_POST_BODY || post->body.len + len < FW_LIMIT_TEXT_BYTES)
			fw_buf_put(&post->body, bytes, len);
		return post->body.state == FW_BUF_OK;
	}
	post->is_busy = true;
	status = fw_sse_reader_push(&post->events, bytes, len);
	if (!resume_post(post))
		return false;
	return status == FW_SSE_OK;
}

/* ---- its end ------------------------------------------------------------------------ */

static fw_error *invalid(const struct fw_link_http *link, const char *reason)
{
	fw_error *err = fw_raise_upstream_invalid_reply(link->base.target->name, reason);

	fw_error_set_delivery(err, FW_REPLIED);
	return err;
}

static bool mentions_session(const struct fw_link_post *post)
{
	return post->body.len && strcasestr(post->body.text, "session");
}

/* The session that the request was sent in. Another request may have begun a new one since.
 * Servers of the Rust SDK answer 401 where the protocol wants 404. */
static bool is_unknown_session(const struct fw_link_post *post, int status)
{
	if (!post->session || post->resumptions)
		return false;
	return status == 404 || (status == 400 && mentions_session(post)) ||
	       (status == 401 && post->body.len &&
		strcasestr(post->body.text, "session not found"));
}

static fw_error *raise_lost(void)
{
	fw_error *err = fw_raise_session_unknown();

	fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	fw_error_set_delivery(err, FW_REPLIED);
	return err;
}

static fw_error *raise_refused(const struct fw_link_http *link, struct fw_fetch *fetch)
{
	fw_error *err = fw_raise_upstream_unauthorized(link->base.target->name);
	const char *challenge = fw_fetch_header(fetch, "WWW-Authenticate");
	char text[512];

	fw_error_set_status(err, fw_fetch_status(fetch));
	if (challenge) {
		(void)fw_redact_copy(text, sizeof text, challenge, strlen(challenge));
		fw_error_add_string(err, "www_authenticate", text);
	}
	return err;
}

static const char path_hint[] =
	"Have the operator check the path of the URL: the endpoint of an MCP server often ends "
	"in /mcp.";
static const char method_hint[] =
	"Have the operator check the path of the URL: this one takes no POST. The transport of "
	"2024 (often /sse) "
	"is "
	"not supported; use the Streamable HTTP endpoint of the server (often /mcp).";
static const char redirect_hint[] =
	"If the server has moved, use its new URL; if it redirects to a login, it needs "
	"credentials in a header.";
static const char page_hint[] = "Have the operator check the URL: a web page is there, or the "
				"page of a proxy or a login, not an MCP "
				"server.";

/* The error for a response that is neither a success nor a message. `reason` is why a
 * redirect was not followed. */
static fw_error *raise_status(const struct fw_link_post *post, struct fw_fetch *fetch,
			      const char *reason)
{
	const struct fw_link_http *link = post->link;
	const char *name = link->base.target->name;
	int status = fw_fetch_status(fetch);
	const char *after = fw_fetch_header(fetch, "Retry-After");
	char text[512];
	fw_error *err;

	if (is_unknown_session(post, status)) {
		err = raise_lost();
	} else if (status == 401 || status == 403) {
		err = raise_refused(link, fetch);
	} else if (status == 429) {
		double delay = after ? fw_retry_after_parse(after, fw_unix_ms()) : -1;

		err = fw_raise_upstream_rate_limited(name);
		if (delay >= 0)
			fw_error_set_retry_after(err, delay);
	} else if (status >= 300 && status < 400) {
		err = fw_raise_transport_protocol_violation(name, reason);
		fw_error_set_hint(err, redirect_hint);
	} else {
		(void)snprintf(text, sizeof text, "endpoint of %s", name);
		err = fw_error_from_http(FW_HERE, status, after, fw_unix_ms(),
					 status == 404 || status == 410 ? text : name);
		fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	}
	if ((status == 404 || status == 410) && !post->session) {
		fw_error_set_hint(err, path_hint);
		fw_error_add_string(err, FW_LINK_ENDPOINT, "none");
	} else if (status == 405) {
		fw_error_set_hint(err, method_hint);
		fw_error_add_string(err, FW_LINK_ENDPOINT, "no POST");
	}
	fw_error_add_i64(err, "http_status", status);
	fw_error_set_delivery(err, FW_REPLIED);
	if (post->body.len) {
		(void)fw_redact_copy(text, sizeof text, post->body.text, post->body.len);
		fw_error_set_detail(err, text);
	}
	return err;
}

/* In the modern era some errors are sent as 400 or 404 with a message. Some servers also
 * use 422 or 500 for every error. */
static bool is_message(const struct fw_link_post *post, int status)
{
	return (status == 400 || status == 404 || status == 422 || status == 500) &&
	       post->body.len && post->body.text[0] == '{' &&
	       strstr(post->body.text, "\"jsonrpc\"");
}

/* The error that a complete response amounts to. NULL: none. */
static fw_error *judge(struct fw_link_post *post, struct fw_fetch *fetch, const char *redirect)
{
	struct fw_link_http *link = post->link;
	const struct fw_link_callbacks *on = &link->base.on;
	int status = fw_fetch_status(fetch);
	const char *type = fw_fetch_header(fetch, "Content-Type");
	char reason[256];
	fw_error *err;

	switch (post->form) {
	case FW_POST_BODY:
		if (!post->body.len)
			return invalid(link, "its body is empty");
		if (is_session_lost(post, post->body.text, post->body.len))
			return raise_lost();
		join_lines(link, &post->body);
		on->message(link->base.ctx, post->key, post->body.text, post->body.len);
		return NULL;
	case FW_POST_EVENTS:
		if (post->is_lost)
			return raise_lost();
		if (fw_sse_reader_is_partial(&post->events))
			on->noise(link->base.ctx, post->key, FW_LINK_CUT,
				  post->events.data.len ? post->events.data.text : "",
				  post->events.data.len);
		return NULL;
	case FW_POST_FAILED:
		/* What a GET is refused with is no answer to a request. */
		if (!post->is_listener && !post->resumptions &&
		    !is_unknown_session(post, status) && is_message(post, status)) {
			join_lines(link, &post->body);
			on->message(link->base.ctx, post->key, post->body.text, post->body.len);
			return NULL;
		}
		return raise_status(post, fetch, redirect);
	case FW_POST_OTHER: break;
	}
	if (!post->body.len) {
		(void)snprintf(reason, sizeof reason, "HTTP status %d with an empty body",
			       status);
	} else {
		(void)snprintf(reason, sizeof reason, "its content type is %.100s",
			       type ? type : "not stated");
	}
	err = invalid(link, reason);
	if (is_type(type, "text/html")) {
		fw_error_set_hint(err, page_hint);
		fw_error_add_string(err, FW_LINK_ENDPOINT, "web page");
	}
	return err;
}

/* The error of a request that libcurl ended. Consumes `err`. */
static fw_error *judge_broken(struct fw_link_post *post, fw_error *err)
{
	struct fw_link_http *link = post->link;

	/* Our own callback refused to read on: the response is too large. */
	if (fw_error_code(err) == FW_RUNTIME_CANCELLED) {
		fw_error_free(err);
		link->base.on.noise(link->base.ctx, post->key, FW_LINK_TOO_LARGE, "", 0);
		return NULL;
	}
	/* The upstream has answered, but not in HTTP. */
	if (fw_error_code(err) == FW_TRANSPORT_PROTOCOL_VIOLATION)
		fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	/* A server sends the head of a stream before the call is done, so it has the call
	 * but not yet replied. */
	if (post->form == FW_POST_EVENTS)
		fw_error_set_delivery(err, FW_SENT);
	return err;
}

/* The server had begun to answer, and the rest could not be fetched: whatever the reason, the
 * outcome of the request is not known. Consumes `err`. */
static fw_error *raise_unresumed(const struct fw_link_http *link, fw_error *err)
{
	fw_error *closed = fw_raise_upstream_closed(link->base.target->name);

	fw_error_set_delivery(closed, FW_SENT);
	return fw_error_caused_by(closed, err);
}

void fw_link__end_post(struct fw_link_post *post, fw_error *err)
{
	struct fw_link_http *link = post->link;
	uint64_t key = post->key;

	if (err && post->resumptions)
		err = raise_unresumed(link, err);
	post->fetch = NULL;
	fw_link__post_drop(post);
	if (key)
		link->base.on.failed(link->base.ctx, key, err);
	else
		fw_error_free(err);
}

void fw_link__on_end(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	struct fw_link_post *post = ctx;
	int status = fw_fetch_status(fetch);
	const char *redirect = "it redirects elsewhere";

	if (!err && status >= 300 && status < 400 && fw_link__redirects(post, fetch, &redirect))
		return;
	/* fw_link__on_head() runs with the first byte of the body, and none has come. */
	if (err && status && post->form == FW_POST_OTHER)
		fw_link__on_head(post, fetch);
	/* The fetch has ended, so it cannot be cancelled any more. */
	post->fetch = NULL;
	post->is_busy = true;
	err = err ? judge_broken(post, err) : judge(post, fetch, redirect);
	if (!resume_post(post))
		fw_error_free(err);
	else if (!post->is_lost && fw_link__may_resume(post, status))
		fw_error_free(err);
	else
		fw_link__end_post(post, err);
}

/* ---- the link ------------------------------------------------------------------------ */

static void abort_post(struct fw_link *base, uint64_t key)
{
	struct fw_link_post *post = ((struct fw_link_http *)base)->posts;

	while (post && post->key != key)
		post = post->next;
	if (post)
		fw_link__post_drop(post);
}

static void free_link(struct fw_link *base)
{
	struct fw_link_http *link = (struct fw_link_http *)base;

	while (link->posts)
		fw_link__post_drop(link->posts);
	fw__release(link->moved);
	fw__release(link);
}

static bool ignore_body(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return true;
}

static void ignore_end(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	(void)ctx;
	(void)fetch;
	fw_error_free(err);
}

/* Deletes the session. The request outlives the link, and its response is ignored. */
static void end_link(struct fw_link *base)
{
	struct fw_link_http *link = (struct fw_link_http *)base;
	const struct fw_link_target *target = base->target;
	char session[sizeof link->session + sizeof FW_HEADER_SESSION + 2];
	char version[64];
	const char *lines[FW_LINK_HEADERS + 1] = { session };
	size_t n = 1;
	struct fw_fetch *fetch;

	if (!link->session[0])
		return;
	(void)snprintf(session, sizeof session, FW_HEADER_SESSION ": %s", link->session);
	if (link->version) {
		(void)snprintf(version, sizeof version, FW_HEADER_VERSION ": %s",
			       link->version);
		lines[n++] = version;
	}
	for (const char *const *more = target->headers; more && *more && n < FW_LINK_HEADERS;
	     more++)
		lines[n++] = *more;
	lines[n] = NULL;
	fw_error_free(fw_fetch_start(
		link->fetcher,
		&(struct fw_fetch_options){ .method = "DELETE",
					    .url = link->moved ? link->moved : target->url,
					    .headers = lines,
					    .total_ms = FW_LIMIT_PROBE_MS,
					    .on = { NULL, ignore_body, ignore_end } },
		&fetch));
	link->session[0] = '\0';
}

static void open_stream(struct fw_link *base)
{
	struct fw_link_http *link = (struct fw_link_http *)base;
	struct fw_link_post *post;
	fw_error *err;

	for (post = link->posts; post; post = post->next)
		if (post->is_listener)
			return;
	post = fw_link__post_new(link, 0);
	if (!post)
		return;
	post->is_listener = true;
	err = fw_link__fetch(post, NULL);
	if (err) {
		fw_error_free(err);
		fw_link__post_drop(post);
	}
}

void fw_link__set_version(struct fw_link *base, const char *version, bool is_modern)
{
	struct fw_link_http *link = (struct fw_link_http *)base;

	link->version = version;
	link->is_modern = is_modern;
}

/* The GET stream belongs to the session, and so do the numbers of its events. */
void fw_link__forget_session(struct fw_link *base)
{
	struct fw_link_http *link = (struct fw_link_http *)base;
	struct fw_link_post *post = link->posts;

	link->session[0] = '\0';
	while (post && !post->is_listener)
		post = post->next;
	if (post)
		fw_link__post_drop(post);
}

uint64_t fw_link__session(const struct fw_link *base)
{
	const struct fw_link_http *link = (const struct fw_link_http *)base;

	return link->session[0] ? link->sessions : 0;
}

fw_error *fw_link__open_http(struct fw_loop *loop, struct fw_fetcher *fetcher,
			     const struct fw_link *base, struct fw_link **ret_link)
{
	static const struct fw_link_ops ops = { .free = free_link,
						.send = send_post,
						.abort = abort_post,
						.listen = open_stream,
						.end = end_link };
	struct fw_link_http *link;

	if (!fetcher || !base->target->url)
		return fw_raise_internal_api_misuse("fw_link_open",
						    "there is no fetcher or URL");
	link = fw__allocate(sizeof *link);
	if (!link)
		return fw_raise_internal_out_of_memory();
	memset(link, 0, sizeof *link);
	link->base = *base;
	link->base.ops = &ops;
	link->loop = loop;
	link->fetcher = fetcher;
	*ret_link = &link->base;
	return NULL;
}
