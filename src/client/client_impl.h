/*
 * client_impl.h - declarations that the files of the client share.
 *
 * client.c has the lifecycle and the loop, client_request.c makes the attempts,
 * client_read.c decodes failures, client_ask.c answers the server, client_tools.c stores
 * the list of tools.
 */
#ifndef FW_CLIENT_CLIENT_IMPL_H
#define FW_CLIENT_CLIENT_IMPL_H

#include <stdatomic.h>

#include <yyjson.h>

#include <faultwire/client.h>

#include "base/buf.h"
#include "base/loop.h"
#include "client/remote.h"
#include "rpc/mirror.h"

enum {
	FW_CLIENT_ROUNDS_MAX = 10, /* results that require input, per call */
	FW_CLIENT_PAGES_MAX = 1000,
};

/* How the exchange in progress has ended. */
enum fw_client_outcome {
	FW_CLIENT_RUNNING,
	FW_CLIENT_RESULT, /* `text` is the result */
	FW_CLIENT_INPUT,  /* `text` is a result that requires input */
	FW_CLIENT_ERROR,  /* `text` is the error object of JSON-RPC */
	FW_CLIENT_TOOL,   /* `text` is a result with isError */
	FW_CLIENT_BROKEN, /* `err` */
};

struct fw_client {
	fw_client_options options;
	struct fw_loop loop;
	struct fw_fetcher *fetcher;
	struct fw_remote *remote;
	uv_timer_t timer;
	bool timer_fired;
	atomic_bool is_interrupted;
	/* The connection. */
	bool is_settled; /* the handshake has succeeded or failed */
	fw_error *down;  /* why it failed */
	/* The exchange. */
	enum fw_client_outcome outcome;
	struct fw_buf text;
	fw_error *err;
	uint64_t started_ms; /* start of the request's first attempt */
	fw_decision decision;
	unsigned attempts;
	char *failure;
	char *server;
	yyjson_doc *tools; /* of the last tools/list; NULL: not known */
};

/* One request, with all attempts. */
struct fw_client_order {
	const char *method;
	const char *name;       /* tool, prompt or URI; NULL: none */
	struct fw_slice params; /* members, without braces */
	struct fw_slice meta;
	const char *const *headers; /* Mcp-Param-* */
	bool is_idempotent;
};

/* ---- client.c ---- */

void fw_client__report(const fw_client *client, const fw_client_event *event);
/* Runs the loop until `*is_over`, the timer, or an interruption. `seconds` negative: no
 * timer. */
void fw_client__wait(fw_client *client, const bool *is_over, double seconds);
/* Waits a moment for HTTP requests in progress to end. */
void fw_client__flush(fw_client *client);
fw_error *fw_client__connect(fw_client *client);
/* Seconds until the deadline; false: there is none. */
bool fw_client__left(const fw_client *client, double *ret_seconds);

/* ---- client_request.c ---- */

fw_error *fw_client__run(fw_client *client, const struct fw_client_order *order,
			 fw_client_result *ret_result);

/* ---- client_read.c ---- */

/* Decodes the error in `client->text`. */
fw_error *fw_client__read(fw_client *client, const char *tool);

/* ---- client_ask.c ---- */

void fw_client__asked(void *ctx, uint64_t key, const struct fw_scan *message);
/* Appends the answers to the questions of `result` to `params`. */
fw_error *fw_client__answer_all(fw_client *client, struct fw_slice result,
				struct fw_buf *params);

/* ---- client_tools.c ---- */

yyjson_val *fw_client__tool(const fw_client *client, const char *name);
bool fw_client__is_idempotent(yyjson_val *tool);
/* Writes the Mcp-Param- headers of a call. `ret_lines->text` may be allocated even on
 * failure. */
fw_error *fw_client__put_params(yyjson_val *tool, yyjson_val *arguments,
				struct fw_mirror_lines *ret_lines);

#endif
