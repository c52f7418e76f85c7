/*
 * redact_stream.h - secrets in text that comes in pieces and is too long to keep.
 *
 * Text goes in as it is read and comes out redacted, in whole lines as far as
 * possible. A secret may be spread over any number of pieces: of the text that
 * has come out already enough is remembered to know what follows, and a secret
 * that is longer than the window is followed to its end. Memory is bounded by
 * the window.
 */
#ifndef FW_CORE_REDACT_STREAM_H
#define FW_CORE_REDACT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

struct fw_redact_stream {
	char text[FW_LIMIT_REDACT_WINDOW_BYTES];
	size_t len;
	size_t done;  /* bytes that have come out; the rest waits */
	size_t open;  /* where the secret starts that had no end yet */
	bool is_open; /* there is one */
};

/* Redacted text, which is the callee's only until it returns. */
typedef void fw_redact_take_fn(void *ctx, const char *text, size_t len);

/* A stream is zero at first, and again after this. */
void fw_redact_stream_reset(struct fw_redact_stream *stream);

/* Takes text of any length; calls `take` for what is sure by now. */
void fw_redact_stream_add(struct fw_redact_stream *stream, const char *text, size_t len,
			  fw_redact_take_fn *take, void *ctx);

/* The end of the text, or of what belongs together: all that waits comes out. */
void fw_redact_stream_end(struct fw_redact_stream *stream, fw_redact_take_fn *take, void *ctx);

#endif
