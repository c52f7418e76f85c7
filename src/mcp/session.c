/*
 * session.c - legacy sessions, and the streams that outlive a connection.
 *
 * Sessions are kept in the order of their last use, so that expiry and making
 * room look at the end of the list alone. Clients that leave without DELETE
 * are usual: a full table lets go of the one that was idle longest, and
 * refuses only when none has been idle for a while.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "mcp/impl.h"

static void unlink_session(struct fw_session *session)
{
	if (session->previous)
		session->previous->next = session->next;
	else
		session->server->sessions = session->next;
	if (session->next)
		session->next->previous = session->previous;
}

static void link_session(struct fw_session *session)
{
	fw_server *server = session->server;

	session->previous = NULL;
	session->next = server->sessions;
	if (session->next)
		session->next->previous = session;
	server->sessions = session;
	session->used_ms = uv_now(&server->loop);
}

static bool is_idle(const struct fw_session *session, uint64_t ms)
{
	return !session->wire && !session->calls && !session->get.exchange &&
	       uv_now(&session->server->loop) - session->used_ms >= ms;
}

static struct fw_session *longest_idle(fw_server *server, uint64_t ms)
{
	struct fw_session *found = NULL;

	for (struct fw_session *session = server->sessions; session; session = session->next)
		if (is_idle(session, ms))
			found = session;
	return found;
}

void fw_session_expire(fw_server *server)
{
	struct fw_session *next;

	for (struct fw_session *session = server->sessions; session; session = next) {
		next = session->next;
		if (is_idle(session, server->limits.session_idle_ms))
			fw_session_free(session);
	}
}

struct fw_client *fw_client_ref(struct fw_client *client)
{
	client->refs++;
	return client;
}

void fw_client_unref(struct fw_client *client)
{
	if (!client || --client->refs)
		return;
	yyjson_doc_free(client->capabilities);
	fw__release(client);
}

fw_error *fw_session_new(fw_server *server, struct fw_session **ret_session)
{
	struct fw_session *session;

	if (server->session_count >= server->limits.sessions) {
		session = longest_idle(server, server->limits.session_spare_ms);
		if (!session)
			return fw_raise_session_limit_reached(server->limits.sessions);
		fw_session_free(session);
	}
	session = fw__allocate(sizeof *session);
	if (!session)
		return fw_raise_internal_out_of_memory();
	memset(session, 0, sizeof *session);
	session->refs = 1;
	session->server = server;
	session->version = FW_V_NONE;
	session->get.session = session;
	fw_random_text(session->id, 33);
	link_session(session);
	server->session_count++;
	*ret_session = session;
	return NULL;
}

struct fw_session *fw_session_find(fw_server *server, const char *id)
{
	for (struct fw_session *session = server->sessions; session; session = session->next) {
		if (session->wire || strcmp(session->id, id) != 0)
			continue;
		if (server->sessions != session) {
			unlink_session(session);
			link_session(session);
		}
		session->used_ms = uv_now(&server->loop);
		return session;
	}
	return NULL;
}

/* Each call that has no outcome yet fails. One whose reply is held keeps its
 * outcome; both stay on the lists of server and exchange until they leave. */
static void fail_calls(struct fw_session *session)
{
	fw_server *server = session->server;
	fw_call *call = server->calls;

	while (call) {
		if (call->session != session || fw_call_is_over(call)) {
			call = call->next;
			continue;
		}
		(void)fw_call__ref(call);
		fw_mcp_fail(call, fw_raise_session_ended());
		fw_call__unref(call);
		/* Other calls may have left with it. */
		call = server->calls;
	}
	/* Streams go with the session; what is held has nowhere to go then. */
	for (call = server->calls; call; call = call->next)
		if (call->session == session)
			call->stream = NULL;
}

static void close_stream(struct fw_stream *stream)
{
	struct fw_exchange *exchange = stream->exchange;

	stream->exchange = NULL;
	if (exchange) {
		exchange->streaming = NULL;
		exchange->ops->close(exchange);
	}
	fw_stream_clear(stream);
}

static void forget_questions(struct fw_session *session)
{
	while (session->pending) {
		struct fw_pending *pending = session->pending;

		session->pending = pending->next;
		fw__release(pending);
	}
}

void fw_session_free(struct fw_session *session)
{
	if (session->is_ended)
		return;
	session->is_ended = true;
	unlink_session(session);
	session->server->session_count--;
	fail_calls(session);
	close_stream(&session->get);
	while (session->streams) {
		struct fw_stream *stream = session->streams;

		session->streams = stream->next;
		close_stream(stream);
		fw__release(stream);
	}
	forget_questions(session);
	if (session->wire)
		session->wire->session = NULL;
	session->wire = NULL;
	fw_session_unref(session);
}

void fw_session_unref(struct fw_session *session)
{
	if (!session || --session->refs)
		return;
	for (size_t i = 0; i < session->subscription_count; i++)
		fw__release(session->subscriptions[i]);
	fw__release(session->subscriptions);
	fw__release(session->client);
	fw_client_unref(session->able);
	fw__release(session);
}

bool fw_session_subscribes(const struct fw_session *session, const char *uri)
{
	for (size_t i = 0; i < session->subscription_count; i++)
		if (strcmp(session->subscriptions[i], uri) == 0)
			return true;
	return false;
}

void fw_session_send(struct fw_session *session, const char *json, size_t len)
{
	if (session->is_ended)
		return;
	if (session->wire) {
		const struct fw_event event = { .json = json, .len = len };

		session->wire->ops->send(session->wire, &event);
		return;
	}
	fw_stream_send(&session->get, json, len, false);
}

/* ---- streams -------------------------------------------------------------------- */

static void drop_oldest(struct fw_stream *stream)
{
	struct fw_stored *oldest = stream->first;

	stream->first = oldest->next;
	if (!stream->first)
		stream->newest = NULL;
	stream->count--;
	stream->bytes -= oldest->len;
	fw__release(oldest);
}

void fw_stream_clear(struct fw_stream *stream)
{
	while (stream->first)
		drop_oldest(stream);
}

static void event_id(const struct fw_stream *stream, uint64_t number, char ret_id[48])
{
	(void)snprintf(ret_id, 48, "%llu_%llu", (unsigned long long)stream->number,
		       (unsigned long long)number);
}

static void keep(struct fw_stream *stream, const char *json, size_t len)
{
	const struct fw_limits *limits = &stream->session->server->limits;
	struct fw_stored *event;

	if (len > limits->stream_bytes && stream->number == 0)
		return;
	event = fw__allocate(sizeof *event + len);
	if (!event)
		return;
	event->next = NULL;
	event->number = stream->last;
	event->len = len;
	memcpy(event->json, json, len);
	if (stream->newest)
		stream->newest->next = event;
	else
		stream->first = event;
	stream->newest = event;
	stream->count++;
	stream->bytes += len;
	while (stream->count > 1 &&
	       (stream->count > limits->stream_events || stream->bytes > limits->stream_bytes))
		drop_oldest(stream);
}

/* The answer is the last event; who carried it is then done. */
static void deliver(struct fw_stream *stream, const struct fw_stored *event, bool is_last)
{
	struct fw_exchange *exchange = stream->exchange;
	char id[48];

	event_id(stream, event->number, id);
	if (is_last) {
		const struct fw_reply reply = { .status = 200,
						.json = event->json,
						.len = event->len,
						.event_id = id,
						.session_id = stream->session->id };

		stream->exchange = NULL;
		exchange->streaming = NULL;
		exchange->ops->reply(exchange, &reply);
	} else {
		const struct fw_event sent = { .json = event->json,
					       .len = event->len,
					       .id = id };

		exchange->ops->send(exchange, &sent);
	}
}

void fw_stream_send(struct fw_stream *stream, const char *json, size_t len, bool is_answer)
{
	stream->last++;
	stream->is_over = stream->is_over || is_answer;
	keep(stream, json, len);
	if (stream->exchange && stream->newest && stream->newest->number == stream->last)
		deliver(stream, stream->newest, is_answer);
}

static struct fw_stream *find_stream(struct fw_session *session, uint64_t number)
{
	if (number == 0)
		return &session->get;
	for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
		if (stream->number == number)
			return stream;
	return NULL;
}

/* "3_17": stream 3 from behind event 17 on. */
static bool parse_event_id(const char *text, uint64_t *ret_stream, uint64_t *ret_event)
{
	uint64_t numbers[2] = { 0, 0 };
	size_t at = 0;

	for (size_t i = 0; i < 2; i++) {
		size_t digits = 0;

		for (; text[at] >= '0' && text[at] <= '9' && digits < 18; at++, digits++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(text[at] - '0');
		if (!digits || text[at] != (i == 0 ? '_' : '\0'))
			return false;
		at++;
	}
	*ret_stream = numbers[0];
	*ret_event = numbers[1];
	return true;
}

static void attach(struct fw_stream *stream, struct fw_exchange *exchange, uint64_t after)
{
	struct fw_exchange *older = stream->exchange;
	struct fw_event open = { .json = "" };
	struct fw_stored *next;

	if (older) {
		stream->exchange = NULL;
		older->streaming = NULL;
		older->ops->close(older);
	}
	stream->exchange = exchange;
	exchange->streaming = stream->session;
	exchange->ops->send(exchange, &open);
	for (struct fw_stored *event = stream->first; event && stream->exchange; event = next) {
		next = event->next;
		if (event->number > after)
			deliver(stream, event, stream->is_over && event == stream->newest);
	}
	/* It had the answer already: there is nothing to wait for. */
	if (stream->exchange && stream->is_over) {
		stream->exchange = NULL;
		exchange->streaming = NULL;
		exchange->ops->close(exchange);
	}
}

/* ---- GET and DELETE ---------------------------------------------------------------- */

static fw_error *session_of(struct fw_exchange *exchange, struct fw_session **ret_session)
{
	const char *id = exchange->ops->header(exchange, "Mcp-Session-Id", NULL);

	if (!id)
		return fw_raise_session_missing();
	*ret_session = fw_session_find(exchange->server, id);
	return *ret_session ? NULL : fw_raise_session_unknown();
}

void fw_exchange_open_stream(struct fw_exchange *exchange)
{
	const char *version = exchange->ops->header(exchange, "MCP-Protocol-Version", NULL);
	const char *last = exchange->ops->header(exchange, "Last-Event-ID", NULL);
	struct fw_session *session = NULL;
	struct fw_stream *stream;
	uint64_t number = 0;
	uint64_t after = 0;
	fw_error *err = NULL;

	if (version && fw_version_named(version) >= FW_V_2026_07_28)
		err = fw_raise_protocol_http_method_not_allowed("GET", "POST");
	else if (exchange->server->state != FW_RUNNING)
		err = fw_raise_server_shutting_down();
	else
		err = session_of(exchange, &session);
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	stream = &session->get;
	if (last) {
		/* 405 is what makes the official clients stop asking for a stream
		 * that is no more; 404 would end their session. */
		stream = parse_event_id(last, &number, &after) ? find_stream(session, number)
							       : NULL;
		if (!stream) {
			fw_exchange_refuse(exchange, fw_raise_protocol_http_method_not_allowed(
							     "GET", "POST, DELETE"));
			return;
		}
	} else {
		after = session->get.last;
		if (session->get.first && !session->get.exchange)
			after = session->get.first->number - 1;
	}
	attach(stream, exchange, after);
}

void fw_exchange_end_session(struct fw_exchange *exchange)
{
	static const struct fw_reply ended = { .status = 200 };
	const char *version = exchange->ops->header(exchange, "MCP-Protocol-Version", NULL);
	struct fw_session *session = NULL;
	fw_error *err;

	if (version && fw_version_named(version) >= FW_V_2026_07_28)
		err = fw_raise_protocol_http_method_not_allowed("DELETE", "POST");
	else
		err = session_of(exchange, &session);
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	fw_session_free(session);
	exchange->ops->reply(exchange, &ended);
}
