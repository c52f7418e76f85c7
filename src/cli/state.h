/*
 * state.h - where the program keeps what outlives it.
 */
#ifndef FW_CLI_STATE_H
#define FW_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

enum { CLI_PATH_SIZE = 4096 };

/**
 * $XDG_STATE_HOME/faultwire, or ~/.local/state/faultwire, and `name` in it;
 * "" where there is no home. `make`: the directory is made, for its owner alone.
 */
FW_NODISCARD fw_error *cli_state_path(const char *name, bool make,
				      char ret_path[CLI_PATH_SIZE]);

#endif
