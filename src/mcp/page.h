/*
 * page.h - a request for a page, from the call of its handler until it is answered, and
 * the pages that every server has.
 *
 * States:
 *   HANDLING   the handler runs
 *   PENDING    the handler has returned and has kept the page; has a deadline
 *   STREAMING  at least one event was sent; ends by itself, or when the server stops
 *   OVER       answered, failed, or its client has gone; has no exchange any more
 *
 * HANDLING goes to any other state, PENDING to STREAMING or OVER, STREAMING to OVER.
 * A page in OVER lives on while its handler has it (fw_page_keep()) or while the call
 * that carries its failure is held; what the handler does with it has no effect.
 *
 * The one rule to remember: between fw_page_keep() and fw_page_finish() the answer (out,
 * headers, status, type) belongs to the handler's thread. The loop only touches the rest.
 */
#ifndef FW_MCP_PAGE_H
#define FW_MCP_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/page.h>
#include <faultwire/serve.h>

#include "base/buf.h"

struct fw_exchange;
struct fw_post;

enum fw_page_state { FW_PAGE_HANDLING, FW_PAGE_PENDING, FW_PAGE_STREAMING, FW_PAGE_OVER };

/* What a handler answers with. */
struct fw_page_answer {
	int status;
	char type[128];
	struct fw_buf headers; /* lines with CR LF */
	bool has_cache_control;
	struct fw_buf out;
	fw_error *err;        /* given to fw_page_finish() while the handler runs */
	fw_contract contract; /* of failures; FW_AUTO: a problem document */
};

struct fw_page {
	atomic_int refs; /* only the loop drops the last one */
	fw_server *server;
	struct fw_exchange *exchange; /* NULL: the client is gone */
	fw_page *next;                /* in the server's list of open pages */
	fw_page *previous;
	enum fw_page_state state;
	bool is_listed;
	bool is_kept;     /* by its handler */
	bool is_finished; /* by its handler */
	bool is_head;     /* a HEAD request: headers only */
	atomic_bool is_gone;
	atomic_size_t queued_bytes; /* of events that wait for the loop */
	uint64_t deadline_ms;       /* 0: none */
	uint32_t limit_ms;
	struct fw_post *end; /* allocated by fw_page_keep(), so that finishing cannot fail */
	fw_principal *principal;
	void (*gone)(fw_page *page, void *ctx);
	void *ctx;
	/* The request: texts that follow the struct. */
	const char *pattern; /* of the route */
	const char *method;
	const char *path;
	const char *parts; /* of the path, decoded, each ended by a NUL */
	const char *body;
	size_t body_len;
	struct fw_page_answer answer;
	bool outlives_client; /* its call continues if the client goes away */
	void *note;           /* of the handler */
};

fw_page *fw_page_ref(fw_page *page);
void fw_page_unref(fw_page *page);

/* On the loop: what other threads have posted. */
void fw_page_end(fw_page *page, fw_error *err);
bool fw_page_send_now(fw_page *page, const fw_page_event *event);
/* The exchange is gone. */
void fw_page_lose(fw_page *page);
/* Answers the exchange with `err` (consumed), through the boundary. `page` (may be NULL)
 * has the headers of the answer. */
void fw_exchange_fail_page(struct fw_exchange *exchange, fw_page *page, fw_error *err);

/*
 * Calls a tool; its result or its error becomes the answer of the page. `text` is the
 * arguments as JSON, and is copied as far as it is kept. It is a call like those of the
 * protocol: same limits, checks, observers and runners. Only in the handler, which
 * returns NULL afterwards, or while the page is kept; the headers that the page has set
 * are sent with the answer. False: out of memory; then the page is answered, and no
 * observer gets to see it.
 */
bool fw_page_call_tool(fw_page *page, const char *name, const char *text, size_t len);
/* The name must outlive the call. */
bool fw_exchange_call_tool(struct fw_exchange *exchange, fw_page *page, const char *name,
			   const char *text, size_t len);
/* Fails if the request names an unknown contract. It was read when the page was made. */
fw_error *fw_page_check_contract(fw_page *page);

/* Fails pages whose deadline has passed; returns the next deadline, 0: there is none. */
uint64_t fw_pages_expire(fw_server *server, uint64_t now_ms);
/* Fails those that are pending: the server stops. */
void fw_pages_refuse(fw_server *server);
/* Ends the streams of clients whose token is not valid any more. */
void fw_pages_end_invalid(fw_server *server, int64_t now_ms);
/* Ends all pages, streams too. */
void fw_pages_end(fw_server *server);
void fw_pages_clear(fw_server *server);

/*
 * For /readyz: whether this part of the server is ready. Writes its state as one short
 * line without a newline.
 */
typedef bool fw_check_fn(void *ctx, char *text, size_t size);
fw_error *fw_server__add_check(fw_server *server, fw_check_fn *check, void *ctx);

/* Pages below "/problems/": the meaning of a code, for people and programs. */
fw_error *fw_page_problem(fw_page *page, void *ctx);

/* ---- files that are part of the program (page_file.c) ------------------------- */

/* Written by tools/embed -f; the list ends with a path of NULL. */
struct fw_page_file {
	const char *path; /* "style.css" */
	const char *type; /* media type */
	const char *etag; /* with quotes, made from the content */
	const unsigned char *bytes;
	size_t len;
};

/* Serves every file below `prefix` ("/assets/"), which ends in a slash; a path that ends
 * in a slash is its index.html. The list must outlive the server. */
fw_error *fw_server__add_files(fw_server *server, const char *prefix, bool is_open,
			       const struct fw_page_file *files);
/* "/" shows a browser the index.html of these files, which must outlive the server. */
void fw_server__set_root(fw_server *server, const struct fw_page_file *files);
fw_error *fw_page_serve_file(fw_page *page, const struct fw_page_file *files, const char *name);
/* What every server has below "/assets/". */
extern const struct fw_page_file fw_page_assets[];
fw_error *fw_page_asset(fw_page *page, void *ctx);

#endif
