/*
 * config.h - reads a client's list of MCP servers as the upstreams of a gateway:
 * `{"mcpServers": {"github": {"command": "npx", "args": [...]}}}`.
 *
 * The members that clients know are read (command, args, env, cwd, url, headers, type,
 * disabled). Our own settings are in the member `faultwire`. Comments, trailing commas
 * and a byte order mark are accepted.
 *
 * The one rule to remember: an upstream gets only the environment variables that its
 * entry names, and those in fw_gate_environment.
 */
#ifndef FW_GATE_CONFIG_H
#define FW_GATE_CONFIG_H

#include <faultwire/error.h>

#include "gate/gate.h"

struct fw_gate_config;

/* Environment variables that every upstream gets if they are set. Ends with NULL. */
extern const char *const fw_gate_environment[];

/* `where` names the file in errors. Raises upstream.config_invalid, input.too_large,
 * internal.out_of_memory. */
fw_error *fw_gate_config_read(const char *text, size_t len, const char *where,
			      struct fw_gate_config **ret_config);
/* Makes an empty configuration, to be filled from a command line. */
fw_error *fw_gate_config_new(struct fw_gate_config **ret_config);
/* Adds an upstream: a program with its arguments, or a URL. Strings are copied. `names`
 * are variables to take from our environment, or NAME=VALUE. `headers` are "Name: value"
 * lines, or NAME[=VARIABLE] to take the value from that environment variable. Each list
 * ends with NULL, and may be NULL itself. Raises upstream.config_invalid,
 * internal.out_of_memory. */
fw_error *fw_gate_config_add(struct fw_gate_config *config, const char *name,
			     const char *const *argv, const char *url, const char *directory,
			     const char *const *names, const char *const *headers);
/* NULL is a no-op. */
void fw_gate_config_free(struct fw_gate_config *config);

struct yyjson_val;
/* Finds the object that lists the servers in the JSON of such a file. NULL: there is none. */
struct yyjson_val *fw_gate_config_servers(struct yyjson_val *root);

/* Borrowed from the configuration. */
const struct fw_gate_entry *fw_gate_config_entries(const struct fw_gate_config *config,
						   size_t *ret_count);

#endif
