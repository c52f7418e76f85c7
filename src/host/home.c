/*
 * home.c - see home.h.
 */
#include "host/home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <faultwire/raw.h>

/* Creates the directory of `path` and its parents. */
static fw_error *make_directory(char *path)
{
	fw_error *err = NULL;

	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST && !strchr(at + 1, '/'))
			err = fw_error_from_errno(FW_HERE, errno, path);
		*at = '/';
		if (err)
			return err;
	}
	return NULL;
}

fw_error *fw_home_path(const char *dir, const char *name, bool make,
		       char ret_path[FW_HOME_PATH_SIZE])
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int len;

	ret_path[0] = '\0';
	if (dir)
		len = snprintf(ret_path, FW_HOME_PATH_SIZE, "%s/%s", dir, name);
	else if (state && state[0] == '/')
		len = snprintf(ret_path, FW_HOME_PATH_SIZE, "%s/faultwire/%s", state, name);
	else if (home && home[0] == '/')
		len = snprintf(ret_path, FW_HOME_PATH_SIZE, "%s/.local/state/faultwire/%s",
			       home, name);
	else
		return NULL;
	if (len < 0 || len >= FW_HOME_PATH_SIZE)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "the state directory");
	return make ? make_directory(ret_path) : NULL;
}
