/*
 * config.h - the file of a client that names its MCP servers, as the upstreams of a
 * gateway: `{"mcpServers": {"github": {"command": "npx", "args": [...]}}}`.
 *
 * Members that clients use are read (command, args, env, cwd, url, headers, type,
 * disabled); ours are under `faultwire`. Comments, trailing commas and
 * a byte order mark are accepted.
 *
 * The one rule to remember: an upstream gets only the environment that its entry names,
 * and the short list below.
 */
#ifndef FW_GATE_CONFIG_H
#define FW_GATE_CONFIG_H

#include <faultwire/error.h>

#include "gate/gate.h"

struct fw_gate_config;

/* What every upstream gets of the environment, if it is set. NULL at the end. */
extern const char *const fw_gate_environment[];

/* `where` names the file in errors. Raises upstream.config_invalid, input.too_large,
 * internal.out_of_memory. */
fw_error *fw_gate_config_read(const char *text, size_t len, const char *where,
			      struct fw_gate_config **ret_config);
/* An empty one, for a command line. */
fw_error *fw_gate_config_new(struct fw_gate_config **ret_config);
/* Adds an upstream: a program with its arguments, or a URL. Strings are copied. `names`
 * are variables to take from our environment, or NAME=VALUE; `headers` are lines, or
 * NAME[=VARIABLE] for a header whose value is that variable. Each ends with a NULL, and
 * may be NULL. Raises upstream.config_invalid, internal.out_of_memory. */
fw_error *fw_gate_config_add(struct fw_gate_config *config, const char *name,
			     const char *const *argv, const char *url, const char *directory,
			     const char *const *names, const char *const *headers);
/* NULL is a no-op. */
void fw_gate_config_free(struct fw_gate_config *config);

struct yyjson_val;
/* The object of servers in the JSON of such a file; NULL: there is none. */
struct yyjson_val *fw_gate_config_servers(struct yyjson_val *root);

/* Borrowed from the configuration. */
const struct fw_gate_entry *fw_gate_config_entries(const struct fw_gate_config *config,
						   size_t *ret_count);

#endif
