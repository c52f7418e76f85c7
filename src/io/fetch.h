/*
 * fetch.h - HTTP requests on the event loop: an HTTP client that uses libcurl.
 *
 * A fetcher belongs to one loop and keeps connections open between requests.
 * A request reports its head, its body as it arrives, and its end. A response
 * with an error or redirect status is reported like any other. A redirect is followed
 * only if the caller says so, so no header is sent to a host that it did not name.
 *
 * The one rule to remember: `end` is called exactly once, and last, unless the
 * request is cancelled: then no callback is called any more.
 */
#ifndef FW_IO_FETCH_H
#define FW_IO_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"

struct fw_fetcher;
struct fw_fetch;

/* Raises internal.out_of_memory, internal.unsupported (no libcurl). The loop
 * outlives the fetcher. */
fw_error *fw_fetcher_new(struct fw_loop *loop, struct fw_fetcher **ret_fetcher);
/* Cancels every request and closes every connection. Not from within a
 * callback. Its handles are closed when the loop runs again, for example in
 * fw_loop_close(). NULL is a no-op. */
void fw_fetcher_free(struct fw_fetcher *fetcher);
/* Whether a request is in progress. */
bool fw_fetcher_is_busy(const struct fw_fetcher *fetcher);

/* A field of the error for an answer that no server of this URL gives: what is there instead. */
#define FW_FETCH_ENDPOINT "endpoint"

struct fw_fetch_callbacks {
	/* The head is complete. May be NULL. */
	void (*head)(void *ctx, struct fw_fetch *fetch);
	/* Bytes of the body. False ends the request with runtime.cancelled. */
	bool (*body)(void *ctx, const char *bytes, size_t len);
	/* The end. The callee owns `err`; NULL: the response is complete. An error has a
	 * delivery: not_sent, sent, or replied if the head was received. */
	void (*end)(void *ctx, struct fw_fetch *fetch, fw_error *err);
};

struct fw_fetch_options {
	const char *method; /* "POST" */
	const char *url;    /* http or https */
	/* Lines "Name: value", NULL at the end; NULL: none. They must not contain CR, LF
	 * or NUL. */
	const char *const *headers;
	const char *body; /* copied; NULL: none */
	size_t len;
	uint32_t connect_ms; /* 0: FW_LIMIT_FETCH_CONNECT_MS */
	uint32_t total_ms;   /* 0: no limit; for streams */
	uint32_t idle_ms;    /* without a byte; 0: no limit */
	struct fw_fetch_callbacks on;
	void *ctx;
};

/* Starts a request. Everything is copied. The fetch is borrowed until its `end`
 * has returned, or until it is cancelled. Raises internal.out_of_memory,
 * internal.api_misuse. A request that could not be started never calls back. */
fw_error *fw_fetch_start(struct fw_fetcher *fetcher, const struct fw_fetch_options *options,
			 struct fw_fetch **ret_fetch);
/* No callback is called any more, and the connection closes if the answer was not
 * complete. May be called from a callback. NULL is a no-op. */
void fw_fetch_cancel(struct fw_fetch *fetch);

/* From `head` on. 0: there was no response. */
int fw_fetch_status(const struct fw_fetch *fetch);
/* A response header, the last one of that name; NULL: absent. Borrowed until
 * the callback returns. */
const char *fw_fetch_header(const struct fw_fetch *fetch, const char *name);
/* Where a redirect leads, an absolute URL; NULL: nowhere. Borrowed until the callback
 * returns. */
const char *fw_fetch_location(const struct fw_fetch *fetch);
/* Within `end`: sends the same request to another URL; its head, body and end follow. False:
 * no memory. */
bool fw_fetch_follow(struct fw_fetch *fetch, const char *url);
/* How long the response asks to wait (Retry-After, seconds or a date); 0: it does not. */
uint32_t fw_fetch_retry_after_s(const struct fw_fetch *fetch);

#endif
