/*
 * gate_sandbox.c - see gate_sandbox.h.
 *
 * The rules are those of workers that may execute programs: the system's programs and
 * libraries can be read and executed, everything else only if it is named. They are made
 * once, and each program is started with them.
 */
#include "cli/serve/gate_sandbox.h"

#include <string.h>

#include <faultwire/workers.h>

#include "cli/terminal/report.h"

enum { PATHS_MOST = 64 + FW_GATE_UPSTREAMS };

static size_t add_list(const char **paths, size_t count, const char *const *more)
{
	for (; more && *more && count < PATHS_MOST; more++)
		paths[count++] = *more;
	return count;
}

fw_error *serve_gate_sandbox(const struct serve_sandbox *how, struct fw_sandbox_plan **ret_plan)
{
	fw_workers_options options = FW_WORKERS_INIT;
	const char *readable[PATHS_MOST + 1];
	size_t count = 0;

	*ret_plan = NULL;
	if (!how->how || strcmp(how->how, "off") == 0) {
		if ((how->readable && *how->readable) || (how->writable && *how->writable))
			return cli_usage(
				"--sandbox-read and --sandbox-write require --sandbox");
		return NULL;
	}
	count = add_list(readable, count, how->readable);
	for (size_t i = 0; i < how->count && count < PATHS_MOST; i++) {
		const char *const *argv = how->entries[i].target.argv;

		if (argv && strchr(argv[0], '/'))
			readable[count++] = argv[0];
	}
	readable[count] = NULL;
	options.sandbox = strcmp(how->how, "required") == 0 ? FW_SANDBOX_REQUIRED
							    : FW_SANDBOX_BEST_EFFORT;
	options.readable = readable;
	options.writable = how->writable;
	options.may_execute = true;
	options.may_connect = how->may_connect;
	return fw_sandbox_prepare(&options, ret_plan);
}
