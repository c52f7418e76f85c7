/*
 * govern.c - see govern.h.
 */
#include "cli/serve/govern.h"

#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/terminal/report.h"
#include "govern/govern.h"

fw_error *serve_governance_path(const char *given, char path[CLI_PATH_SIZE],
				const char **ret_path)
{
	*ret_path = given;
	if (given)
		return NULL;
	FW_TRY(cli_state_path("governance.db", false, path));
	if (!path[0])
		return cli_usage("there is no state directory: give --governance");
	*ret_path = path;
	return NULL;
}

bool serve_is_governed(const cli_args *args)
{
	return serve_value(args, SERVE_TOKENS) || serve_value(args, SERVE_POLICY);
}

fw_error *serve_govern_begin(struct serve_shared *shared)
{
	const cli_args *args = shared->args;
	char path[CLI_PATH_SIZE];
	struct fw_govern_options how = {
		.loop = &shared->loop,
		.uses_tokens = serve_value(args, SERVE_TOKENS) != NULL,
		.policy_file = serve_value(args, SERVE_POLICY),
	};

	if (!serve_is_governed(args)) {
		if (serve_value(args, SERVE_GOVERNANCE))
			return cli_usage("--governance requires --tokens or --policy");
		return NULL;
	}
	if (how.uses_tokens && !serve_value(args, SERVE_HTTP))
		return cli_usage("--tokens requires --http");
	FW_TRY(serve_governance_path(serve_value(args, SERVE_GOVERNANCE), path, &how.store));
	return fw_govern_new(shared->server, &how, &shared->govern);
}
