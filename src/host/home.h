/*
 * home.h - the directory for persistent state of programs that serve.
 */
#ifndef FW_HOST_HOME_H
#define FW_HOST_HOME_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

enum { FW_HOME_PATH_SIZE = 4096 };

/*
 * The path of `name` in `dir`; with `dir` NULL in $XDG_STATE_HOME/faultwire or
 * ~/.local/state/faultwire, and "" if HOME is not set. With `make` the directory is
 * created, accessible only by its owner. Raises as errno.
 */
FW_NODISCARD fw_error *fw_home_path(const char *dir, const char *name, bool make,
				    char ret_path[FW_HOME_PATH_SIZE]);

#endif
