/*
 * limit.h - the limits of a server on the command line: shown, and set.
 *
 * The one rule to remember: a name says its unit. What ends in _bytes takes k
 * and m, what ends in _ms takes ms and s.
 */
#ifndef FW_CLI_SERVE_LIMIT_H
#define FW_CLI_SERVE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/** Sets what the settings of the command line say. Raises cli.usage. */
FW_NODISCARD fw_error *serve_limits_set(fw_server *server, const cli_args *args);

/** The value of an option that takes bytes, with k or m; NULL: `*ret_bytes` stays.
 *  Raises cli.usage, where it is not within the range. */
FW_NODISCARD fw_error *serve_bytes_read(const char *option, const char *text, uint64_t least,
					uint64_t most, uint64_t *ret_bytes);

/** All limits, as a table or as JSON. */
void serve_limits_put(bool as_json);

#endif
