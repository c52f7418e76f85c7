/*
 * limit.h - shows and sets the limits of a server.
 *
 * The one rule to remember: the name determines the unit. Names in _bytes take k and m,
 * names in _ms take ms and s.
 */
#ifndef FW_CLI_SERVE_LIMIT_H
#define FW_CLI_SERVE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/** Applies the settings of the command line. Raises cli.usage. */
FW_NODISCARD fw_error *serve_limits_set(fw_server *server, const cli_args *args);

/** The value of an option that takes bytes, with k or m; NULL: `*ret_bytes` is
 *  unchanged. Raises cli.usage if it is not within the range. */
FW_NODISCARD fw_error *serve_bytes_read(const char *option, const char *text, uint64_t least,
					uint64_t most, uint64_t *ret_bytes);

/** Prints all limits, as a table or as JSON. */
void serve_limits_put(bool as_json);

#endif
