/*
 * session.c - legacy sessions: created, found, ended; GET and DELETE.
 *
 * Sessions are kept in the order of their last use. Clients often leave without
 * DELETE; owner.c decides which session is evicted for a new one.
 */
#include <string.h>

#include <uv.h>
#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/id.h"
#include "base/mem.h"
#include "mcp/ask.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/follow.h"
#include "mcp/outcome.h"
#include "mcp/owner.h"
#include "mcp/principal.h"
#include "mcp/replica.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"
#include "rpc/names.h"
#include "rpc/version.h"

static void unlink_session(struct fw_session *session)
{
	if (session->previous)
		session->previous->next = session->next;
	else
		session->server->sessions.first = session->next;
	if (session->next)
		session->next->previous = session->previous;
}

static void link_session(struct fw_session *session)
{
	fw_server *server = session->server;

	session->previous = NULL;
	session->next = server->sessions.first;
	if (session->next)
		session->next->previous = session;
	server->sessions.first = session;
	session->used_ms = uv_now(server->loop);
}

bool fw_session_is_idle(const struct fw_session *session, uint64_t ms)
{
	return !session->wire && !session->calls && !session->get.exchange &&
	       uv_now(session->server->loop) - session->used_ms >= ms;
}

void fw_session_expire(fw_server *server)
{
	struct fw_session *next;

	for (struct fw_session *session = server->sessions.first; session; session = next) {
		next = session->next;
		if (fw_session_is_idle(session, server->limits.session_idle_ms))
			fw_session_free(session);
	}
}

struct fw_capabilities *fw_capabilities_ref(struct fw_capabilities *capabilities)
{
	capabilities->refs++;
	return capabilities;
}

void fw_capabilities_unref(struct fw_capabilities *capabilities)
{
	if (!capabilities || --capabilities->refs)
		return;
	yyjson_doc_free(capabilities->doc);
	fw__release(capabilities);
}

fw_error *fw_session_new(struct fw_exchange *exchange, struct fw_session **ret_session)
{
	fw_server *server = exchange->server;
	struct fw_owner *owner = fw_owner_of(exchange);
	struct fw_session *session;
	fw_error *err;

	if (!owner)
		return fw_raise_internal_out_of_memory();
	/* Counted before room is made, so that the owner is not freed with its last session. */
	owner->sessions++;
	err = fw_owner_make_room(server, owner);
	session = err ? NULL : fw__allocate(sizeof *session);
	if (!session) {
		fw_owner_leave(server, owner);
		return err ? err : fw_raise_internal_out_of_memory();
	}
	memset(session, 0, sizeof *session);
	session->refs = 1;
	session->owner = owner;
	session->principal = fw_principal_ref(exchange->principal);
	session->server = server;
	session->version = FW_V_NONE;
	session->get.session = session;
	fw_random_text(session->id, 33);
	fw_follow_begin_session(session);
	link_session(session);
	server->sessions.count++;
	*ret_session = session;
	return NULL;
}

static struct fw_session *look_up(const fw_server *server, const char *id)
{
	struct fw_session *session = server->sessions.first;

	while (session && (session->wire || strcmp(session->id, id) != 0))
		session = session->next;
	return session;
}

struct fw_session *fw_session_find(fw_server *server, const char *id)
{
	struct fw_session *session = look_up(server, id);

	if (!session)
		return NULL;
	if (server->sessions.first != session) {
		unlink_session(session);
		link_session(session);
	}
	session->used_ms = uv_now(server->loop);
	return session;
}

struct fw_session *fw_session_of(const struct fw_exchange *exchange, const char *id)
{
	const struct fw_session *session = look_up(exchange->server, id);

	if (!session || !fw_principal_is_same(session->principal, exchange->principal))
		return NULL;
	return fw_session_find(exchange->server, id);
}

const struct fw_session *fw_session_peek(const fw_server *server, const char *id)
{
	return look_up(server, id);
}

/* Fails each call that has no outcome yet. A held reply keeps its outcome; both stay on
 * the lists of server and exchange until they leave. */
static void fail_calls(struct fw_session *session)
{
	fw_server *server = session->server;
	fw_call *call = server->calls.first;

	while (call) {
		if (call->session != session || fw_call_is_over(call)) {
			call = call->next;
			continue;
		}
		(void)fw_call__ref(call);
		fw_mcp_fail(call, fw_raise_session_ended());
		fw_call__unref(call);
		/* Other calls may have ended too. */
		call = server->calls.first;
	}
	/* Streams end with the session; held replies then have no destination. */
	for (call = server->calls.first; call; call = call->next)
		if (call->session == session)
			call->stream = NULL;
}

void fw_session_free(struct fw_session *session)
{
	if (session->is_ended)
		return;
	session->is_ended = true;
	unlink_session(session);
	session->server->sessions.count--;
	fw_owner_leave(session->server, session->owner);
	session->owner = NULL;
	fail_calls(session);
	fw_streams_close(session);
	fw_ask_end(session);
	if (session->wire)
		session->wire->session = NULL;
	session->wire = NULL;
	if (session->id[0])
		fw_mcp_report_session_ended(session->server, session->id);
	fw_session_unref(session);
}

void fw_session__destroy(struct fw_session *session)
{
	for (size_t i = 0; i < session->subscription_count; i++)
		fw__release(session->subscriptions[i]);
	fw__release(session->subscriptions);
	fw__release(session->client);
	fw_capabilities_unref(session->capabilities);
	fw_principal_unref(session->principal);
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

/* ---- GET and DELETE ---------------------------------------------------------------- */

/* "3_17": stream 3, after event 17. */
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

static fw_error *session_of(struct fw_exchange *exchange, struct fw_session **ret_session)
{
	const char *id = exchange->ops->header(exchange, FW_HEADER_SESSION, NULL);

	if (!id)
		return fw_raise_session_missing();
	*ret_session = fw_session_of(exchange, id);
	return *ret_session ? NULL : fw_raise_session_unknown();
}

/* GET and DELETE are about sessions, which modern versions do not have. */
static fw_error *check_version(const char *version, const char *method)
{
	switch (fw_version_named(version)) {
	case FW_V_NONE: return fw_raise_protocol_unsupported_version(fw_version_list, version);
	case FW_V_2026_07_28: return fw_raise_protocol_http_method_not_allowed(method, "POST");
	default: return NULL;
	}
}

/* The event that a reader without Last-Event-ID begins after. */
static uint64_t unread(const struct fw_session *session)
{
	const struct fw_stream *stream = &session->get;

	if (fw_follow_is_on(session->server))
		return stream->sent;
	return stream->first && !stream->exchange ? stream->first->number - 1 : stream->last;
}

static void resume(struct fw_session *session, struct fw_exchange *exchange, const char *last)
{
	struct fw_stream *stream;
	uint64_t number = 0;
	uint64_t after = 0;
	bool is_id = parse_event_id(last, &number, &after);

	stream = is_id ? fw_stream_find(session, number) : NULL;
	if (is_id && (!stream || stream->is_remote) &&
	    fw_follow_open(session, exchange, number, after))
		return;
	/* 405 makes the official clients stop asking for a stream that no longer exists, or
	 * of which they have all; 404 would end their session. */
	if (!stream || stream->is_remote || (stream->is_over && after >= stream->last)) {
		fw_exchange_refuse(exchange, fw_raise_protocol_http_method_not_allowed(
						     "GET", "POST, DELETE"));
		return;
	}
	/* Events of another replica: numbers continue after the last that the client
	 * has. */
	if (stream == &session->get && after > stream->last)
		stream->last = after;
	fw_stream_attach(stream, exchange, after < stream->last ? after : stream->last);
}

void fw_exchange_open_stream(struct fw_exchange *exchange)
{
	const char *version = exchange->ops->header(exchange, FW_HEADER_VERSION, NULL);
	const char *last = exchange->ops->header(exchange, FW_HEADER_LAST_EVENT, NULL);
	struct fw_session *session = NULL;
	fw_error *err = NULL;

	if (version)
		err = check_version(version, "GET");
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	if (exchange->server->state != FW_RUNNING)
		err = fw_raise_server_shutting_down();
	else
		err = session_of(exchange, &session);
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	if (last)
		resume(session, exchange, last);
	else
		fw_stream_attach(&session->get, exchange, unread(session));
}

void fw_exchange_end_session(struct fw_exchange *exchange)
{
	static const struct fw_reply ended = { .status = 200 };
	const char *version = exchange->ops->header(exchange, FW_HEADER_VERSION, NULL);
	struct fw_session *session = NULL;
	fw_error *err = version ? check_version(version, "DELETE") : NULL;

	if (!err)
		err = session_of(exchange, &session);
	if (err) {
		fw_exchange_refuse(exchange, err);
		return;
	}
	fw_replica_end(session);
	fw_session_free(session);
	exchange->ops->reply(exchange, &ended);
}

fw_error *fw_session_subscribe(struct fw_session *session, const char *uri)
{
	const uint64_t most = session->server->limits.subscriptions;
	char **more;

	if (fw_session_subscribes(session, uri))
		return NULL;
	if (session->subscription_count >= most)
		return fw_raise_server_overloaded(most, "subscriptions of one session");
	more = fw__reallocate(session->subscriptions,
			      (session->subscription_count + 1) * sizeof *more);
	if (!more)
		return fw_raise_internal_out_of_memory();
	session->subscriptions = more;
	more[session->subscription_count] = fw_strdup(uri);
	if (!more[session->subscription_count])
		return fw_raise_internal_out_of_memory();
	session->subscription_count++;
	return NULL;
}

void fw_session_unsubscribe(struct fw_session *session, const char *uri)
{
	for (size_t i = 0; i < session->subscription_count; i++) {
		if (strcmp(session->subscriptions[i], uri) != 0)
			continue;
		fw__release(session->subscriptions[i]);
		session->subscriptions[i] =
			session->subscriptions[--session->subscription_count];
		return;
	}
}
