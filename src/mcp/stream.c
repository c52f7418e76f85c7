/*
 * stream.c - streams of a session. Their events are kept, so that a client whose
 * connection was closed can resume. What is kept is bounded per stream and per
 * session; streams that have their reply are evicted first.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/follow.h"
#include "mcp/principal.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/stream.h"
#include "mcp/transport.h"

static void drop_oldest(struct fw_stream *stream)
{
	struct fw_stored *oldest = stream->first;

	assert(oldest); /* the caller has seen that something is stored */
	stream->first = oldest->next;
	if (!stream->first)
		stream->newest = NULL;
	stream->count--;
	stream->bytes -= oldest->len;
	if (stream->number)
		stream->session->stream_bytes -= oldest->len;
	fw__release(oldest);
}

void fw_stream_clear(struct fw_stream *stream)
{
	while (stream->first)
		drop_oldest(stream);
}

void fw_stream_event_id(const struct fw_stream *stream, uint64_t number,
			char ret_id[FW_STREAM_ID_SIZE])
{
	(void)snprintf(ret_id, FW_STREAM_ID_SIZE, "%llu_%llu",
		       (unsigned long long)stream->number, (unsigned long long)number);
}

static void free_stream(struct fw_stream *stream)
{
	struct fw_session *session = stream->session;
	struct fw_stream **at = &session->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	session->stream_count--;
	fw_follow_stop(stream);
	fw_stream_clear(stream);
	fw__release(stream);
}

/* Evicts the oldest stream, which is the last on the list, among those that have their
 * reply, or are kept by another replica, and have no reader. False: there is none except
 * `except`. */
static bool evict_finished(struct fw_session *session, const struct fw_stream *except)
{
	struct fw_stream *found = NULL;

	for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
		if (stream != except && (stream->is_over || stream->is_remote) &&
		    !stream->exchange)
			found = stream;
	if (found)
		free_stream(found);
	return found;
}

struct fw_stream *fw_stream_new(struct fw_session *session)
{
	struct fw_stream *stream;

	if (session->stream_count >= session->server->limits.session_streams &&
	    !evict_finished(session, NULL))
		return NULL;
	stream = fw__allocate(sizeof *stream);
	if (!stream)
		return NULL;
	*stream = (struct fw_stream){ .session = session,
				      .number = ++session->last_stream,
				      .next = session->streams };
	session->streams = stream;
	session->stream_count++;
	return stream;
}

/* The newest event is always kept, even if it is too large: it may be the reply. */
static void trim(struct fw_stream *stream)
{
	const struct fw_limits *limits = &stream->session->server->limits;
	const struct fw_session *session = stream->session;

	while (session->stream_bytes > limits->session_stream_bytes &&
	       evict_finished(stream->session, stream))
		;
	while (stream->count > 1 &&
	       (stream->count > limits->stream_events || stream->bytes > limits->stream_bytes ||
		(stream->number && session->stream_bytes > limits->session_stream_bytes)))
		drop_oldest(stream);
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
	if (stream->number)
		stream->session->stream_bytes += len;
	trim(stream);
}

struct fw_stream *fw_stream_find(struct fw_session *session, uint64_t number)
{
	if (number == 0)
		return &session->get;
	for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
		if (stream->number == number)
			return stream;
	return NULL;
}

/* With the last event the connection is done. */
void fw_stream_deliver(struct fw_stream *stream, uint64_t number, const char *json, size_t len,
		       bool is_last)
{
	struct fw_exchange *exchange = stream->exchange;
	char id[FW_STREAM_ID_SIZE];

	if (number <= stream->sent)
		return;
	stream->sent = number;
	fw_stream_event_id(stream, number, id);
	if (is_last) {
		const struct fw_reply reply = { .status = 200,
						.json = json,
						.len = len,
						.event_id = id,
						.session_id = stream->session->id };

		stream->exchange = NULL;
		exchange->streaming = NULL;
		exchange->ops->reply(exchange, &reply);
	} else {
		const struct fw_event sent = { .json = json, .len = len, .id = id };

		exchange->ops->send(exchange, &sent);
	}
}

void fw_stream_detach(struct fw_stream *stream)
{
	struct fw_exchange *exchange = stream->exchange;

	stream->exchange = NULL;
	if (!exchange)
		return;
	exchange->streaming = NULL;
	/* The call whose response it was continues; its events are those of the
	 * stream. */
	while (exchange->calls)
		fw_call_detach(exchange->calls);
	exchange->ops->close(exchange);
}

void fw_stream_send(struct fw_stream *stream, const char *json, size_t len, bool is_answer)
{
	if (!stream->number && fw_follow_keep(stream, json, len, is_answer))
		return;
	stream->last++;
	stream->is_over = stream->is_over || is_answer;
	keep(stream, json, len);
	if (stream->number)
		(void)fw_follow_keep(stream, json, len, is_answer);
	if (stream->exchange && stream->newest && stream->newest->number == stream->last)
		fw_stream_deliver(stream, stream->last, json, len, is_answer);
	else if (is_answer)
		/* Out of memory: the client must not wait for a lost event. */
		fw_stream_detach(stream);
}

void fw_stream_end(struct fw_stream *stream)
{
	stream->is_over = true;
	(void)fw_follow_keep(stream, NULL, 0, true);
	fw_stream_detach(stream);
}

/* The first event says where the stream begins, so that a client that has not got another
 * one resumes there, too. Older clients take every event for a message. */
static void send_open(struct fw_stream *stream, uint64_t after)
{
	struct fw_event open = { .json = "" };
	char id[FW_STREAM_ID_SIZE];

	fw_stream_event_id(stream, after, id);
	if (stream->session->shared.digest[0] && stream->session->version >= FW_V_2025_11_25)
		open.id = id;
	stream->exchange->ops->send(stream->exchange, &open);
}

void fw_stream_attach(struct fw_stream *stream, struct fw_exchange *exchange, uint64_t after)
{
	struct fw_stored *next;

	fw_stream_detach(stream);
	fw_follow_stop(stream);
	stream->exchange = exchange;
	stream->sent = after;
	exchange->streaming = stream->session;
	send_open(stream, after);
	for (struct fw_stored *event = stream->first; event && stream->exchange; event = next) {
		next = event->next;
		fw_stream_deliver(stream, event->number, event->json, event->len,
				  stream->is_over && event == stream->newest);
	}
	/* It already has the reply: there is nothing to wait for. */
	if (stream->is_over)
		fw_stream_detach(stream);
	fw_follow(stream);
}

static void end_invalid(struct fw_stream *stream, int64_t now_ms)
{
	const struct fw_exchange *exchange = stream->exchange;

	if (exchange && !exchange->calls && !exchange->persistent &&
	    !fw_principal_is_valid(exchange->principal, now_ms))
		fw_stream_detach(stream);
}

void fw_streams_end_invalid(struct fw_session *session, int64_t now_ms)
{
	end_invalid(&session->get, now_ms);
	for (struct fw_stream *stream = session->streams; stream; stream = stream->next)
		end_invalid(stream, now_ms);
}

void fw_streams_close(struct fw_session *session)
{
	fw_stream_detach(&session->get);
	fw_follow_stop(&session->get);
	fw_stream_clear(&session->get);
	while (session->streams) {
		fw_stream_detach(session->streams);
		free_stream(session->streams);
	}
}
