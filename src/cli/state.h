/*
 * state.h - the directory for persistent state.
 */
#ifndef FW_CLI_STATE_H
#define FW_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

#include "host/home.h"

enum { CLI_PATH_SIZE = FW_HOME_PATH_SIZE };

/**
 * The path of `name` in $XDG_STATE_HOME/faultwire or ~/.local/state/faultwire; "" if HOME
 * is not set. With `make` the directory is created, accessible only by its owner.
 */
FW_NODISCARD fw_error *cli_state_path(const char *name, bool make,
				      char ret_path[CLI_PATH_SIZE]);

#endif
