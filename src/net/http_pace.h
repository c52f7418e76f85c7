/*
 * http_pace.h - time limits of connections.
 */
#ifndef FW_NET_HTTP_PACE_H
#define FW_NET_HTTP_PACE_H

#include <stdint.h>

#include <uv.h>

struct fw_http_conn;

/* The limits: the http_*_ms of struct fw_limits, and those of base/limits.h. Tests
 * shorten them. */
struct fw_http_pace {
	uint64_t idle_ms;
	uint64_t head_ms;
	uint64_t body_ms;
	uint64_t patience_ms;
	uint64_t silence_ms;
	uint64_t read_ms;
	uint64_t spare_ms;
	uint64_t linger_ms;        /* the longest time in CLOSING */
	uint64_t linger_silent_ms; /* the longest time in CLOSING without a byte */
	uint64_t sweep_ms;         /* between two looks at all connections */
};

/* When something last happened on a connection. */
struct fw_http_times {
	uint64_t since_ms;   /* it entered its state */
	uint64_t event_ms;   /* the last event was put into the stream */
	uint64_t stalled_ms; /* since when the peer does not read; 0: it does */
	uint64_t hung_up_ms; /* the peer closed its side */
	uint64_t dropped_ms; /* the last byte came that was dropped in CLOSING */
};

/* Checks the limits of all connections, now and as long as there are any. */
void fw_http__sweep(void *ctx);
/*
 * The peer has closed its side. A full close and a half close look the same
 * until something is written: a peer that is gone answers with a reset. So a
 * stream gets a comment at once. A request that waits for its answer gets
 * FW_LIMIT_HTTP_HALF_CLOSED_MS; then its answer becomes a stream, and gets the
 * comment too. A peer that still reads gets its answer. A request whose answer
 * cannot be a stream (a page, DELETE) gets four times as long and is then dropped.
 */
void fw_http__hung_up(struct fw_http_conn *conn);

#endif
