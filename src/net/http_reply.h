/*
 * http_reply.h - the answer to a request.
 */
#ifndef FW_NET_HTTP_REPLY_H
#define FW_NET_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/transport.h"

struct fw_http_conn;

/* Who has the exchange of a request. */
enum fw_http_exchange {
	FW_HTTP_NOT_BEGUN,
	FW_HTTP_IN_CORE,  /* the core will reply to it or close it */
	FW_HTTP_ANSWERED, /* the core does not use it any more */
};

/* All zero at the start of a request. */
struct fw_http_answer {
	enum fw_http_exchange exchange;
	bool is_decided;   /* by the head alone: the body is dropped */
	bool is_immediate; /* a refusal does not wait for the end of the body */
	bool has_no_body;  /* to HEAD */
	bool is_stream;    /* of events */
	bool has_head;     /* the head of the stream was sent */
	bool is_complete;  /* the stream has its last event */
	bool has_end;      /* and its last chunk */
	bool is_probed;    /* something was written after the peer had closed its side */
	bool is_lost;      /* the peer is gone */
	bool must_close;   /* no further request on this connection */
	size_t close_at;   /* in the kept answer: where "Connection: close" belongs */
};

extern const struct fw_exchange_ops fw_http__exchange_ops;

/* The connection will close after the answer. An answer that is kept without saying
 * so gets the header. */
void fw_http__must_close(struct fw_http_conn *conn);
/* Puts a comment into the stream; an answer that is not a stream becomes one. */
void fw_http__keep_alive(struct fw_http_conn *conn);
/* Writes the events that have been collected. */
void fw_http__flush_stream(struct fw_http_conn *conn);

#endif
