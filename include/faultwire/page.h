/*
 * page.h - what the HTTP endpoint serves beside the protocol, such as /metrics: a
 * document, an answer that comes later, or a stream of events.
 *
 * A handler runs on the server's thread and must not block. It answers in one of three
 * ways: it writes and returns; it keeps the page (fw_page_keep()) and finishes it
 * later, from any thread; or it keeps the page and sends events (fw_page_send()) until
 * it finishes. An error, returned or given to fw_page_finish(), is sent as a problem
 * document (RFC 9457), audited and counted like the failure of a tool.
 *
 * The one rule to remember: a page that was kept is finished exactly once, also after
 * its client has gone, and before fw_server_free().
 */
#ifndef FAULTWIRE_PAGE_H
#define FAULTWIRE_PAGE_H

#include <faultwire/error.h>
#include <faultwire/principal.h>

FW_EXTERN_C_BEGIN

/** One request. Borrowed for the time of the callback, unless it is kept. */
typedef struct fw_page fw_page;

/** On the server's thread; must not block. An error becomes a problem document. */
typedef fw_error *fw_page_fn(fw_page *page, void *ctx);

/** HTTP methods of a route; a route that takes GET takes HEAD too. */
enum {
	FW_ROUTE_GET = 1,
	FW_ROUTE_POST = 2,
	FW_ROUTE_PUT = 4,
	FW_ROUTE_PATCH = 8,
	FW_ROUTE_DELETE = 16
};

/** Which requests a handler gets. Begin with FW_ROUTE_INIT. Strings are copied. */
typedef struct fw_route {
	size_t struct_size;
	/** "/tools/{name}": a segment in braces is a parameter, and matches one segment
	 *  that is not empty. A path that ends in a slash includes everything below it.
	 *  The path with most literal characters wins. */
	const char *path;
	unsigned methods; /**< FW_ROUTE_*; 0: GET */
	bool is_open;     /**< without authentication */
	/** The largest request body; 0: the body is ignored. At most the limit
	 *  message_bytes. */
	uint64_t body_bytes;
	/** How long a kept page may take to answer; 0: the limit page_ms. Does not
	 *  apply to streams. */
	uint32_t deadline_ms;
	fw_page_fn *handle;
	/** The answer of a kept page is no longer needed: its client has gone, the
	 * deadline has passed, or the server stops. On the server's thread; the page must
	 * still be finished, now or later. NULL: not needed. */
	void (*gone)(fw_page *page, void *ctx);
	void *ctx;
	/** A browser that is signed in to the dashboard may make requests that are not
	 *  GET: they change nothing. */
	bool takes_cookie;
} fw_route;

#define FW_ROUTE_INIT FW_INIT(fw_route)

/* ---- the request ------------------------------------------------------------- */

/* These are valid as long as the page. */

/** "GET", "HEAD", "POST"... */
FW_API const char *fw_page_method(const fw_page *page);
/** Decoded, except that an escaped slash stays "%2F" and an escaped percent sign "%25". */
FW_API const char *fw_page_path(const fw_page *page);
/** The value of a parameter of the route, decoded, so it may contain a slash; NULL: the
 *  route has no such parameter. */
FW_API const char *fw_page_parameter(const fw_page *page, const char *name);
/** The body, followed by a NUL; "" if there is none. */
FW_API const char *fw_page_body(const fw_page *page, size_t *ret_len);
/** Who is calling. Never NULL. */
FW_API const fw_principal *fw_page_principal(const fw_page *page);

/* These only until the handler returns. */

/** A request header ("Accept"); NULL: absent. */
FW_API const char *fw_page_header(const fw_page *page, const char *name);
/** A parameter of the query, decoded; NULL: absent. */
FW_API const char *fw_page_query(const fw_page *page, const char *name);

/* ---- the answer ---------------------------------------------------------------- */

/* By the handler, or by one thread at a time that has a page that was kept. */

/** By default: 200 and "text/plain; charset=utf-8". */
FW_API void fw_page_status(fw_page *page, int status, const char *content_type);
/** Add a response header. One that is not valid, or too long, is an error of the page.
 *  Without a Cache-Control, the answer is not stored by caches. */
FW_API void fw_page_set_header(fw_page *page, const char *name, const char *value);
FW_API void fw_page_write(fw_page *page, const char *text, size_t len);

/** Answer later. Only in the handler. Raises internal.out_of_memory,
 *  internal.api_misuse; then the page is not kept. */
FW_API FW_NODISCARD fw_error *fw_page_keep(fw_page *page);

/** Answer with what was written, or with `err` (consumed); end a stream. Ends the use of
 *  a page that was kept. From any thread. */
FW_API void fw_page_finish(fw_page *page, fw_error *err);

/** True once the answer is no longer needed. From any thread. */
FW_API bool fw_page_is_gone(const fw_page *page);

/** One event of a stream (Server-Sent Events). */
typedef struct fw_page_event {
	const char *data; /**< without CR and LF */
	size_t len;
	const char *name; /**< NULL: "message" */
	const char *id;   /**< NULL: none */
} fw_page_event;

/**
 * Send an event; the first one makes the answer a stream. From any thread. False: it is
 * not sent, and the page should be finished: the client has gone or does not read
 * (more than http_queue_bytes wait), there is no memory, or the event is not valid.
 */
FW_API bool fw_page_send(fw_page *page, const fw_page_event *event);

FW_EXTERN_C_END

#endif
