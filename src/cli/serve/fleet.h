/*
 * fleet.h - the options of a fleet: which engine replicas share, and how.
 */
#ifndef FW_CLI_SERVE_FLEET_H
#define FW_CLI_SERVE_FLEET_H

#include "cli/serve/shared.h"
#include "fleet/engine_url.h"

/** Whether an engine was given. */
bool serve_is_fleet(const cli_args *args);

/** The engine. Raises cli.usage, input.invalid_value, internal.unsupported; none of them
 *  contains the URL. */
FW_NODISCARD fw_error *serve_fleet_url(const cli_args *args, struct fw_engine_url *ret_url);

/** Begins to connect, if an engine was given. Raises also what fw_fleet_new() raises. */
FW_NODISCARD fw_error *serve_fleet_begin(struct serve_shared *shared);

#endif
