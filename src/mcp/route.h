/*
 * route.h - which handler gets which path and method.
 */
#ifndef FW_MCP_ROUTE_H
#define FW_MCP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/page.h>
#include <faultwire/serve.h>

#include "mcp/transport.h"

struct fw_route_entry {
	const char *path; /* outlives every page of the route */
	size_t len;
	size_t literal; /* its bytes that are not part of a parameter */
	size_t fixed;   /* those before the first parameter */
	size_t slashes;
	bool is_tree; /* ends in a slash: includes everything below it */
	bool has_parameters;
	enum fw_page_access access;
	unsigned methods;
	bool takes_cookie;
	uint64_t body_bytes;
	uint32_t deadline_ms;
	fw_page_fn *handle;
	void (*gone)(fw_page *page, void *ctx);
	void *ctx;
};

/* The routes that every server has: page_builtin.c. */
extern const struct fw_route_entry fw_route_builtin[];
extern const size_t fw_route_builtin_count;

/* What a path has if no entry takes the method. */
struct fw_route_others {
	const struct fw_route_entry *any; /* NULL: there is no such path */
	unsigned methods;                 /* those that it takes */
};

/* The entry for a path and a method. NULL: there is none; then `*ret_others` (may be
 * NULL) says why. */
const struct fw_route_entry *fw_route_find(const fw_server *server, const char *method,
					   const char *path,
					   struct fw_route_others *ret_others);
/* FW_ROUTE_* of "GET", "HEAD"...; 0: no route can take it. */
unsigned fw_route_method(const char *name);
/* Whether `segment` (of that length) of a pattern is the parameter `name`. */
bool fw_route_is_parameter(const char *segment, size_t len, const char *name);

void fw_routes_clear(fw_server *server);

#endif
