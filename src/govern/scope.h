/*
 * scope.h - what a client may do: a word such as "read" or "tool:read_file".
 *
 *   tool:NAME     call this tool
 *   toolset:NAME  call the tools of this toolset; of a gateway: of this upstream
 *   read          call tools that change nothing, read resources and prompts
 *   incidents     see incidents, alerts, events and metrics
 *   admin         everything
 *
 * The one rule to remember: scopes restrict callers that have proven who they are by a
 * token. The parent of a stdio server, and callers of a server that requires no token,
 * are not restricted.
 */
#ifndef FW_GOVERN_SCOPE_H
#define FW_GOVERN_SCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/principal.h>

enum { FW_SCOPE_SIZE = 160, FW_SCOPES_MAX = 64 };

/* Whether it is one of the scopes above. */
bool fw_scope_is_valid(const char *scope);

/* Whether scopes restrict this caller. */
bool fw_scope_binds(const fw_principal *principal);

/* What a tool is known by. */
struct fw_scope_tool {
	const char *name;
	const char *toolset; /* NULL: none */
	bool changes;        /* it may change state */
};

/* Whether one of the caller's scopes covers the tool. */
bool fw_scope_covers_tool(const fw_principal *principal, const struct fw_scope_tool *tool);

/* The same for "read" and "incidents". */
bool fw_scope_covers(const fw_principal *principal, const char *scope);

#endif
