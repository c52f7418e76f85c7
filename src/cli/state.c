/*
 * state.c - see state.h.
 */
#include "cli/state.h"

#include <errno.h>
#include <unistd.h>

#include "store/store.h"

fw_error *cli_state_path(const char *name, bool make, char ret_path[CLI_PATH_SIZE])
{
	return fw_home_path(NULL, name, make, ret_path);
}

fw_error *cli_store_open(const char *given, const char *name, bool is_reader,
			 struct fw_store **ret_store)
{
	const struct fw_store_options how = { .is_reader = is_reader };
	char path[CLI_PATH_SIZE], shown[CLI_PATH_SIZE];

	*ret_store = NULL;
	if (!given) {
		FW_TRY(cli_state_path(name, false, path));
		if (!path[0] || access(path, F_OK) != 0)
			return NULL;
		given = path;
	}
	if (!fw_store_is_shared(given) && access(given, is_reader ? R_OK : R_OK | W_OK) != 0) {
		int error = errno;

		return fw_error_from_errno(FW_HERE, error, given);
	}
	fw_store_url_show(given, shown, sizeof shown);
	return fw_error_wrap(fw_store_open(given, &how, ret_store), FW_HERE,
			     "could not open %s", shown);
}
