/*
 * follow.c - see follow.h.
 */
#include "mcp/follow.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/limits_fleet.h"
#include "base/mem.h"
#include "mcp/boundary.h"
#include "mcp/call.h"
#include "mcp/principal.h"
#include "mcp/replica.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"

static struct fw_replica *replica_of(const fw_server *server)
{
	struct fw_replica *replica = server->replica;

	return replica && replica->ops->is_sharing && replica->ops->is_sharing(replica)
		       ? replica
		       : NULL;
}

bool fw_follow_is_on(const fw_server *server)
{
	return replica_of(server) != NULL;
}

/* Whether events of the session are shared. */
static struct fw_replica *replica_for(const struct fw_session *session)
{
	return session->wire || !session->shared.digest[0] ? NULL : replica_of(session->server);
}

void fw_follow_begin_session(struct fw_session *session)
{
	const struct fw_replica *replica = session->server->replica;
	char digest[FW_SHA256_TEXT];

	if (!replica || !replica->ops->newest)
		return;
	fw_sha256_text(session->id, strlen(session->id), digest);
	(void)snprintf(session->shared.digest, sizeof session->shared.digest, "%.32s", digest);
	session->get.sent = replica->ops->newest(replica);
	session->get.last = session->get.sent;
}

/* ---- writing ------------------------------------------------------------------------------ */

void fw_follow_begin(struct fw_stream *stream, const fw_call *call)
{
	struct fw_replica *replica = replica_for(stream->session);

	if (replica)
		(void)replica->ops->begin(replica, stream, call->request.id.text,
					  call->request.id.len);
}

void fw_follow_call(fw_call *call)
{
	struct fw_session *session = call->session;
	struct fw_event priming = { .json = "" };
	struct fw_stream *stream;
	char id[FW_STREAM_ID_SIZE];

	if (call->stream || call->batch || !session || session->is_ended || !call->exchange ||
	    !call->exchange->is_http || call->exchange->streaming || call->request.is_modern ||
	    call->request.version < FW_V_2025_11_25 || !replica_for(session))
		return;
	stream = fw_stream_new(session);
	if (!stream)
		return;
	fw_follow_begin(stream, call);
	call->stream = stream;
	stream->exchange = call->exchange;
	call->exchange->streaming = session;
	fw_stream_event_id(stream, 0, id);
	priming.id = id;
	call->exchange->ops->send(call->exchange, &priming);
}

bool fw_follow_keep(struct fw_stream *stream, const char *json, size_t len, bool is_answer)
{
	struct fw_replica *replica = replica_for(stream->session);

	return replica && !stream->is_remote &&
	       replica->ops->keep(replica, stream, json, len, is_answer);
}

bool fw_follow_announce(fw_server *server, enum fw_change change, const char *uri)
{
	struct fw_replica *replica = server->replica;

	return replica && replica->ops->announce &&
	       replica->ops->announce(replica, change, uri);
}

/* ---- reading ------------------------------------------------------------------------------ */

void fw_follow_stop(struct fw_stream *stream)
{
	if (stream->reading)
		stream->reading->stream = NULL;
	stream->reading = NULL;
}

static bool read_on(struct fw_stream *stream)
{
	struct fw_replica *replica = replica_for(stream->session);
	struct fw_reading *reading = replica ? fw__allocate(sizeof *reading) : NULL;

	if (!reading)
		return false;
	*reading = (struct fw_reading){ .stream = stream, .after = stream->sent };
	stream->reading = reading;
	if (replica->ops->read(replica, reading))
		return true;
	stream->reading = NULL;
	fw__release(reading);
	return false;
}

void fw_follow(struct fw_stream *stream)
{
	if (!stream->exchange || (stream->number && !stream->is_remote) ||
	    (!stream->number && stream->session->shared.is_refreshing))
		return;
	if (stream->reading)
		stream->reading->is_again = true;
	else
		(void)read_on(stream);
}

bool fw_follow_open(struct fw_session *session, struct fw_exchange *exchange, uint64_t number,
		    uint64_t after)
{
	struct fw_stream *stream;

	if (!replica_for(session))
		return false;
	stream = fw_stream_find(session, number);
	if (!stream)
		stream = fw_stream_new(session);
	if (!stream)
		return false;
	fw_stream_detach(stream);
	fw_follow_stop(stream);
	stream->number = number;
	stream->is_remote = true;
	stream->is_unopened = true;
	stream->sent = after;
	stream->last = after;
	stream->exchange = exchange;
	exchange->streaming = session;
	if (read_on(stream))
		return true;
	stream->exchange = NULL;
	exchange->streaming = NULL;
	return false;
}

bool fw_reading_found(struct fw_reading *reading, uint64_t now)
{
	const struct fw_event open = { .json = "" };
	struct fw_stream *stream = reading->stream;

	if (!stream || !stream->exchange)
		return false;
	/* A number that no event can have had would hide those that come. */
	if (!stream->number && stream->sent > now)
		stream->sent = now;
	if (stream->is_unopened)
		stream->exchange->ops->send(stream->exchange, &open);
	stream->is_unopened = false;
	return true;
}

void fw_reading_event(struct fw_reading *reading, uint64_t number, const char *json, size_t len,
		      bool is_answer)
{
	struct fw_stream *stream = reading->stream;

	if (!stream || !stream->exchange)
		return;
	if (number > stream->last)
		stream->last = number;
	stream->is_over = stream->is_over || is_answer;
	fw_stream_deliver(stream, number, json, len, is_answer);
}

void fw_reading_change(struct fw_reading *reading, uint64_t number, enum fw_change change,
		       const char *uri)
{
	struct fw_stream *stream = reading->stream;
	struct fw_session *session = stream ? stream->session : NULL;

	if (!session || (change == FW_CHANGE_RESOURCE && !fw_session_subscribes(session, uri)))
		return;
	if (fw_listen_put(session->server, change, uri))
		fw_reading_event(reading, number, session->server->out.text,
				 session->server->out.len, false);
}

void fw_follow_change(struct fw_session *session, uint64_t number, const char *json, size_t len)
{
	struct fw_stream *stream = &session->get;

	/* A later reader finds it in the engine. */
	if (!stream->exchange || session->shared.is_refreshing)
		return;
	if (number > stream->last)
		stream->last = number;
	/* What is being read may be older. */
	if (stream->reading)
		stream->reading->is_again = true;
	else
		fw_stream_deliver(stream, number, json, len, false);
}

/* ---- the end of a reading ------------------------------------------------------------------ */

static void refuse(struct fw_stream *stream, fw_error *err)
{
	struct fw_exchange *exchange = stream->exchange;

	stream->exchange = NULL;
	exchange->streaming = NULL;
	fw_exchange_refuse(exchange, err);
}

/* This server answers a call of another replica: as its own from now on. */
static void answer(struct fw_stream *stream, fw_error *err, const char *id, size_t len)
{
	struct fw_session *session = stream->session;
	fw_call *call = fw_call_new(session->server);

	if (!call || len >= sizeof call->request.id.text) {
		fw_error_free(err);
		if (call)
			fw_call__unref(call);
		fw_stream_detach(stream);
		return;
	}
	stream->is_remote = false;
	stream->last = stream->sent > stream->last ? stream->sent : stream->last;
	call->stage = FW_STAGE_RUN;
	call->principal = fw_principal_ref(session->principal);
	call->request.version = session->version;
	call->request.has_id = true;
	memcpy(call->request.id.text, id, len);
	call->request.id.len = len;
	fw_call_join(call, session);
	call->stream = stream;
	fw_call_enlist(call);
	fw_mcp_fail(call, err);
}

void fw_reading_end(struct fw_reading *reading, enum fw_reading_result result, const char *id,
		    size_t len)
{
	struct fw_stream *stream = reading->stream;
	bool is_again = reading->is_again || result == FW_READING_MORE;

	fw__release(reading);
	if (!stream)
		return;
	stream->reading = NULL;
	/* It is answered whether its reader is still there or not. */
	if (result == FW_READING_ORPHAN || result == FW_READING_LARGE) {
		answer(stream,
		       result == FW_READING_LARGE
			       ? fw_raise_tool_result_too_large(FW_LIMIT_FLEET_EVENT_BYTES)
			       : fw_raise_transport_connection_reset("replica of the call"),
		       id, len);
		return;
	}
	if (!stream->exchange)
		return;
	if (stream->is_unopened)
		refuse(stream,
		       result == FW_READING_FAILED
			       ? fw_raise_dependency_unavailable("the engine of the fleet")
			       : fw_raise_protocol_http_method_not_allowed("GET",
									   "POST, DELETE"));
	else if (stream->number && (result == FW_READING_NONE || stream->is_over))
		fw_stream_detach(stream);
	else if (is_again)
		fw_follow(stream);
}

/* ---- what happens at other replicas --------------------------------------------------------- */

void fw_replica_begun(fw_server *server, uint64_t now)
{
	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next) {
		struct fw_stream *stream = &session->get;

		/* Numbers of this server alone are small. */
		if (stream->sent >= now / 2)
			continue;
		stream->sent = now;
		if (stream->last < now)
			stream->last = now;
	}
}

void fw_replica_woken(fw_server *server, const char *digest, uint64_t number)
{
	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next) {
		struct fw_stream *stream;

		if (digest && strcmp(session->shared.digest, digest) != 0)
			continue;
		if (digest && number == FW_FOLLOW_STATE) {
			fw_replica_refresh(session);
			return;
		}
		if (digest) {
			stream = fw_stream_find(session, number);
			if (stream)
				fw_follow(stream);
			return;
		}
		/* Its subscriptions may have changed, too. */
		if (session->get.exchange)
			fw_replica_refresh(session);
		fw_follow(&session->get);
		for (stream = session->streams; stream; stream = stream->next)
			fw_follow(stream);
	}
}

void fw_replica_changed(fw_server *server, enum fw_change change, const char *uri,
			uint64_t number)
{
	fw_listen_deliver(server, change, uri, number);
}

void fw_replica_check(fw_server *server)
{
	for (struct fw_session *session = server->sessions.first; session;
	     session = session->next)
		for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
			if (stream->is_remote)
				fw_follow(stream);
}
