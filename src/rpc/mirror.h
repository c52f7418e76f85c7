/*
 * mirror.h - the arguments of a tool that modern HTTP clients send as headers, too:
 * `x-mcp-header` in the inputSchema names the header "Mcp-Param-NAME".
 *
 * The one rule to remember: a tool with an annotation that breaks the rules of the
 * protocol is not valid as a whole. A client leaves it out of its list.
 */
#ifndef FW_RPC_MIRROR_H
#define FW_RPC_MIRROR_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include <faultwire/error.h>

#include "base/buf.h"

enum { FW_MIRRORS_MAX = 32 }; /* of one tool */

struct fw_mirror {
	char *header;  /* "Mcp-Param-Region" */
	char *pointer; /* into the arguments */
};

/* All zero is empty. */
struct fw_mirrors {
	struct fw_mirror *items;
	size_t count;
};

/* Reads the annotations of an inputSchema. *ret_fault says what is wrong with them, a static
 * text; NULL: nothing, and then `ret_mirrors` is set. Raises internal.out_of_memory. */
fw_error *fw_mirrors_read(yyjson_val *schema, const char **ret_fault,
			  struct fw_mirrors *ret_mirrors);
void fw_mirrors_clear(struct fw_mirrors *mirrors);

/* Header lines of one call, for libcurl; the strings are in `text`, which the caller clears. */
struct fw_mirror_lines {
	struct fw_buf text;
	size_t starts[FW_MIRRORS_MAX];
	const char *lines[FW_MIRRORS_MAX + 1]; /* ends with NULL */
	size_t count;
};

/* Arguments that are absent or null have no header. Numbers are raw texts. False: no memory. */
bool fw_mirrors_put(const struct fw_mirrors *mirrors, yyjson_val *arguments,
		    struct fw_mirror_lines *ret_lines);

#endif
