/*
 * link_http.h - the internals of a link to an HTTP endpoint. link_request.c sends,
 * link_http.c reads, link_redirect.c follows redirects, link_resume.c resumes interrupted
 * streams.
 */
#ifndef FW_CLIENT_LINK_HTTP_H
#define FW_CLIENT_LINK_HTTP_H

#include <uv.h>

#include "base/buf.h"
#include "base/limits.h"
#include "client/link_impl.h"
#include "io/fetch.h"
#include "rpc/sse.h"

enum {
	FW_LINK_HEADERS = 64,
	FW_LINK_SESSION_BYTES = 512,
	FW_LINK_REDIRECTS = 5,
	FW_LINK_ANSWERED = 8 /* streams that are still open after their answer */
};

enum fw_link_form { FW_POST_OTHER, FW_POST_BODY, FW_POST_EVENTS, FW_POST_FAILED };

/* One HTTP request, and its response. */
struct fw_link_post {
	struct fw_link_post *next;
	struct fw_link_http *link; /* NULL: dropped, and freed when a callback returns */
	uint64_t key;
	struct fw_fetch *fetch; /* NULL: it has ended */
	enum fw_link_form form;
	bool is_initialize;
	bool is_listener; /* the GET stream */
	bool is_busy;     /* a callback is being called */
	bool is_answered; /* its stream may still be open */
	bool is_lost;     /* the answer is that there is no such session */
	bool is_begun;    /* a message has come: the server has taken the request */
	uint64_t session; /* that it was sent in, as in fw_link_session(); 0: none */
	struct fw_buf body;
	struct fw_sse_reader events;
	char last_id[FW_LIMIT_SSE_NAME_BYTES + 1];
	unsigned resumptions;
	unsigned redirects;                      /* redirects that were followed */
	uint64_t visited[FW_LINK_REDIRECTS + 1]; /* hashes of the URLs, to detect a loop */
	uv_timer_t *timer;                       /* until it is resumed; NULL: none */
};

struct fw_link_http {
	struct fw_link base;
	struct fw_loop *loop;
	struct fw_fetcher *fetcher;
	const char *version; /* NULL: none */
	bool is_modern;
	char session[FW_LINK_SESSION_BYTES]; /* "": none */
	uint64_t sessions;                   /* that it had; the number of this one */
	struct fw_link_post *posts;
	char *moved; /* where a permanent redirect has led; NULL: none */
};

/* ---- link_http.c ---- */

/* NULL: no memory. */
struct fw_link_post *fw_link__post_new(struct fw_link_http *link, uint64_t key);
void fw_link__post_drop(struct fw_link_post *post);
/* Prepares the reader for a stream of events. */
void fw_link__read_events(struct fw_link_post *post);
void fw_link__on_head(void *ctx, struct fw_fetch *fetch);
bool fw_link__on_body(void *ctx, const char *bytes, size_t len);
void fw_link__on_end(void *ctx, struct fw_fetch *fetch, fw_error *err);
/* Removes a post whose fetch has ended. Consumes `err`; NULL: nothing but its end. */
void fw_link__end_post(struct fw_link_post *post, fw_error *err);

/* ---- link_request.c ---- */

/* Begins the request. `message` NULL: a GET that opens a stream. */
fw_error *fw_link__fetch(struct fw_link_post *post, const struct fw_link_message *message);

/* ---- link_redirect.c ---- */

/* Why a redirect must not be followed. NULL: it may be. */
const char *fw_link__redirect_fault(const char *from, const char *to);
/* Follows a redirect. True: the request was sent to the new URL. Otherwise *ret_reason
 * says why not. */
bool fw_link__redirects(struct fw_link_post *post, struct fw_fetch *fetch,
			const char **ret_reason);

/* ---- link_resume.c ---- */

/* Called when the response has ended. True: it will be resumed after a delay. */
bool fw_link__may_resume(struct fw_link_post *post, int status);
void fw_link__stop_timer(struct fw_link_post *post);

#endif
