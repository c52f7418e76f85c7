/*
 * limit.h - the limits of a server on the command line: shown, and set.
 *
 * The one rule to remember: a name says its unit. What ends in _bytes takes k
 * and m, what ends in _ms takes ms and s.
 */
#ifndef FW_CLI_LIMIT_H
#define FW_CLI_LIMIT_H

#include <stdbool.h>

#include "options.h"

/** Sets what the settings of the command line say. Raises cli.usage. */
FW_NODISCARD fw_error *cli_limits_set(fw_server *server, const cli_args *args);

/** All limits, as a table or as JSON. */
void cli_limits_put(bool as_json);

#endif
