/*
 * sse.h - Server-Sent Events (WHATWG HTML, section 9.2), written and read.
 *
 * A server writes events into a buffer. A client pushes the bytes of a response
 * into a reader as they arrive, cut anywhere, and gets one callback per event.
 *
 * The one rule to remember: the reader keeps at most `max` bytes of one event.
 * A larger event ends the stream with FW_SSE_TOO_LARGE; nothing of it is
 * delivered.
 */
#ifndef FW_RPC_SSE_H
#define FW_RPC_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* ---- writing --------------------------------------------------------------- */

/* `data` is one line: it holds neither CR nor LF. An empty one primes the
 * stream: a client remembers its id and delivers nothing. */
struct fw_sse_event {
	const char *data;
	size_t len;
	const char *id;    /* NULL: none */
	uint32_t retry_ms; /* 0: none */
	const char *name;  /* its type; NULL: "message" */
};

/* Appends one whole event. A failure is in the buffer's state. */
void fw_sse_put(struct fw_buf *out, const struct fw_sse_event *event);
/* Appends a comment, which clients ignore: it keeps the connection in use. */
void fw_sse_put_comment(struct fw_buf *out);

/* ---- reading --------------------------------------------------------------- */

enum fw_sse_status {
	FW_SSE_OK,
	FW_SSE_TOO_LARGE, /* an event, or one of its lines, is larger than `max` */
	FW_SSE_NO_MEMORY,
	FW_SSE_STOPPED /* the callback returned false */
};

/* What a reader delivers. All of it is borrowed for the time of the callback,
 * and none of it is NUL-free or UTF-8 until checked. */
struct fw_sse_received {
	const char *type; /* "message" if the event names none */
	size_t type_len;
	const char *data;
	size_t len;
	const char *id; /* the last event id of the stream; "": none yet */
	size_t id_len;
};

/* False stops the reader: it ignores later input. */
typedef bool fw_sse_fn(void *ctx, const struct fw_sse_received *event);

struct fw_sse_reader {
	fw_sse_fn *deliver;
	void *ctx;
	enum fw_sse_status status;
	bool has_begun;    /* past a byte order mark */
	bool was_cr;       /* a line ended in CR: an LF that follows belongs to it */
	bool has_data;     /* the event has a data field, even an empty one */
	bool has_retry;    /* the stream has set retry_ms */
	uint32_t retry_ms; /* how long to wait before reconnecting */
	struct fw_buf line;
	struct fw_buf data;
	struct fw_buf type;
	struct fw_buf id;      /* of the stream, once its event was dispatched */
	struct fw_buf next_id; /* of the event being read */
};

/* Embedded; fw_sse_reader_clear() frees. `max` bounds one event. */
void fw_sse_reader_init(struct fw_sse_reader *reader, size_t max, fw_sse_fn *deliver,
			void *ctx);
void fw_sse_reader_clear(struct fw_sse_reader *reader);

/* Takes the next bytes, and delivers the events that they complete. Any status
 * but FW_SSE_OK is final. */
enum fw_sse_status fw_sse_reader_push(struct fw_sse_reader *reader, const char *bytes,
				      size_t len);

/* Does the reader hold the beginning of an event that was not delivered? True
 * at the end of a stream means that the stream was cut. */
bool fw_sse_reader_is_partial(const struct fw_sse_reader *reader);

#endif
