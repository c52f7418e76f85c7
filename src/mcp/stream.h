/*
 * stream.h - a stream of events to one client. Its events are kept, so that a
 * client whose connection broke can resume it.
 */
#ifndef FW_MCP_STREAM_H
#define FW_MCP_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_exchange;
struct fw_reading;
struct fw_session;

/* One event. */
struct fw_stored {
	struct fw_stored *next;
	uint64_t number;
	size_t len;
	char json[];
};

/* Number 0 is the session's GET stream, others belong to single calls. */
struct fw_stream {
	struct fw_stream *next;
	struct fw_session *session;
	uint64_t number;
	uint64_t last;                /* number of the newest event */
	struct fw_exchange *exchange; /* the connection that reads it; NULL: none */
	struct fw_stored *first;
	struct fw_stored *newest;
	size_t count;
	size_t bytes;
	uint64_t sent; /* number of the newest event that its last reader got */
	bool is_over;  /* the reply is among the events, or there is none */
	/* Of replicas that share events, see follow.h: */
	bool is_remote;             /* another replica writes it; nothing is kept here */
	bool is_unopened;           /* its reader has received nothing, not even the head */
	struct fw_reading *reading; /* events that were asked for; NULL: none */
};

/* A stream for the reply of one call; NULL: too many are kept, or no memory. */
struct fw_stream *fw_stream_new(struct fw_session *session);
struct fw_stream *fw_stream_find(struct fw_session *session, uint64_t number);
/* The id of an event, for Last-Event-ID. */
enum { FW_STREAM_ID_SIZE = 48 };
void fw_stream_event_id(const struct fw_stream *stream, uint64_t number,
			char ret_id[FW_STREAM_ID_SIZE]);
/* Sends an event to the reader, which exists, unless it has it. The reply is the last
 * event. */
void fw_stream_deliver(struct fw_stream *stream, uint64_t number, const char *json, size_t len,
		       bool is_last);
/* Closes the connection of the reader, if any. */
void fw_stream_detach(struct fw_stream *stream);
/* The call is over without a reply: there is nothing to wait for. */
void fw_stream_end(struct fw_stream *stream);
/* Numbers the event, keeps it, and sends it if a connection reads the stream. */
void fw_stream_send(struct fw_stream *stream, const char *json, size_t len, bool is_answer);
void fw_stream_clear(struct fw_stream *stream);
/* `exchange` reads the events after number `after`, and replaces any earlier reader. */
void fw_stream_attach(struct fw_stream *stream, struct fw_exchange *exchange, uint64_t after);
/* Closes connections whose client's token is not valid any more, unless they wait for the
 * reply to a call of their own. */
void fw_streams_end_invalid(struct fw_session *session, int64_t now_ms);
/* Closes and frees all streams of the session. */
void fw_streams_close(struct fw_session *session);

#endif
