/*
 * preflight.c - see preflight.h.
 */
#include "tools/workspace/preflight.h"

#include <stdio.h>

#include "tools/common/command.h"

#include <faultwire/raise.h>

static fw_error *failed(const char *command, uint32_t limit_ms,
			const struct fw_command_result *result)
{
	fw_error *err = fw_raise_policy_preflight_failed(command, result->status);
	bool timed_out = result->status == FW_COMMAND_TIMED_OUT;

	if (timed_out) {
		fw_error_add_bool(err, "timed_out", true);
		fw_error_add_u64(err, "timeout_ms", limit_ms);
	}
	fw_error_add_cause(err, result->tail[0] ? result->tail : "the command said nothing",
			   timed_out ? "timed out" : "exit status", "preflight");
	return err;
}

fw_error *fw_ws_preflight(const struct fw_root *root, const char *command, uint32_t limit_ms,
			  const char *path)
{
	char variable[FW_PATH_SIZE + 16];
	char home[FW_PATH_SIZE + 8];
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
					    home, variable, NULL };
	const struct fw_command run = { .argv = argv,
					.environment = environment,
					.directory_fd = root->fd,
					.limit_ms = limit_ms };
	struct fw_command_result result;

	(void)snprintf(variable, sizeof variable, "FAULTWIRE_PATH=%s", path);
	(void)snprintf(home, sizeof home, "HOME=%s", root->path);
	FW_TRY(fw_command_run(&run, &result));
	return result.status ? failed(command, limit_ms, &result) : NULL;
}
