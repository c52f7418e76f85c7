/*
 * api.h - the HTTP API beside the MCP endpoint: the same tools, incidents, codes and
 * alerts for programs that do not speak MCP. docs/api.md describes it.
 *
 * The one rule to remember: a tool call takes the same path through the server here as
 * over MCP. Nothing here checks, limits or records a call.
 */
#ifndef FW_API_API_H
#define FW_API_API_H

#include <stdbool.h>

#include <faultwire/serve.h>

#include "base/buf.h"
#include "base/loop.h"

struct fw_alerting;
struct fw_api;

/* Strings are copied. */
struct fw_api_options {
	struct fw_loop *loop; /* of the server */
	/* Answer 426 instead of 400 to a version that is not supported. */
	bool upgrade_required;
	const char *incident_file; /* NULL: incidents are not kept */
	/* Where answers are kept for repeated requests (Idempotency-Key); NULL: nowhere,
	 * and such requests are refused. */
	const char *store_file;
};

/* Adds the routes and the observer, as the last observer of the server. The API is yours,
 * for fw_api_free(). Raises internal.out_of_memory, and what adding raises. */
FW_NODISCARD fw_error *fw_api_new(fw_server *server, const struct fw_api_options *options,
				  struct fw_api **ret_api);
/* Once there are alerts. They are borrowed. */
void fw_api_set_alerting(struct fw_api *api, struct fw_alerting *alerting);
/* Writes a part of the overview as JSON. */
typedef void fw_api_put_fn(void *ctx, struct fw_buf *out);
/* The upstreams of a gateway, an array. `ctx` is borrowed. */
void fw_api_set_upstreams(struct fw_api *api, fw_api_put_fn *put, void *ctx);
/* What replicas share, an object or null. `ctx` is borrowed. */
void fw_api_set_fleet(struct fw_api *api, fw_api_put_fn *put, void *ctx);
/* After the server has stopped and before it is freed. NULL is a no-op. */
void fw_api_close(struct fw_api *api);
/* After the server was freed. NULL is a no-op. */
void fw_api_free(struct fw_api *api);

#endif
