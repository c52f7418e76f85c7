/*
 * state.c - see state.h.
 */
#include "cli/state.h"

fw_error *cli_state_path(const char *name, bool make, char ret_path[CLI_PATH_SIZE])
{
	return fw_home_path(NULL, name, make, ret_path);
}
