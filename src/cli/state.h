/*
 * state.h - the directory for persistent state, and the stores in it.
 */
#ifndef FW_CLI_STATE_H
#define FW_CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/faultwire.h>

#include "host/home.h"

struct fw_store;

enum { CLI_PATH_SIZE = FW_HOME_PATH_SIZE };

/**
 * The path of `name` in $XDG_STATE_HOME/faultwire or ~/.local/state/faultwire; "" if HOME
 * is not set. With `make` the directory is created, accessible only by its owner.
 */
FW_NODISCARD fw_error *cli_state_path(const char *name, bool make,
				      char ret_path[CLI_PATH_SIZE]);

/**
 * Opens the store `given` (a path or a URL; NULL: the file `name` in the state directory).
 * `ret_store` is NULL if that file does not exist: no server has written it yet.
 */
FW_NODISCARD fw_error *cli_store_open(const char *given, const char *name, bool is_reader,
				      struct fw_store **ret_store);

#endif
