/*
 * serve_workspace.c - see serve_workspace.h.
 */
#include "serve_workspace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "report.h"

enum { POLICY_MAX = 1 << 20 };

static fw_error *read_lock_on(const char *word, enum fw_ws_lock_on *ret)
{
	static const char *const words[] = { [FW_WS_LOCK_INTEGRITY] = "integrity",
					     [FW_WS_LOCK_ANY] = "any",
					     [FW_WS_LOCK_NEVER] = "never" };

	for (size_t i = 0; word && i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i], word) == 0) {
			*ret = (enum fw_ws_lock_on)i;
			return NULL;
		}
	}
	return word ? cli_usage("--lock-on takes integrity, any or never") : NULL;
}

static fw_error *read_sandbox(const char *word, fw_sandbox *ret)
{
	if (!word || strcmp(word, "best-effort") == 0)
		*ret = FW_SANDBOX_BEST_EFFORT;
	else if (strcmp(word, "required") == 0)
		*ret = FW_SANDBOX_REQUIRED;
	else if (strcmp(word, "off") == 0)
		*ret = FW_SANDBOX_OFF;
	else
		return cli_usage("--sandbox takes best-effort, required or off");
	return NULL;
}

static fw_error *read_seconds(const char *word, uint32_t *ret_ms)
{
	unsigned long seconds;
	char *end;

	if (!word)
		return NULL;
	errno = 0;
	seconds = strtoul(word, &end, 10);
	if (errno || end == word || *end || !seconds || seconds > 3600)
		return cli_usage("--preflight-timeout takes 1 to 3600 seconds");
	*ret_ms = (uint32_t)seconds * 1000;
	return NULL;
}

fw_error *cli_workspace_add(fw_server *server, const struct cli_workspace *how,
			    fw_workspace **ret_workspace)
{
	struct fw_workspace_options options = { .directory = how->directory,
						.role = how->role,
						.plan_key = how->plan_key,
						.preflight = how->preflight,
						.hard_links = how->hard_links };
	char *policy = NULL;
	size_t len = 0;
	fw_error *err;

	if (!how->role)
		return cli_usage("the workspace toolset needs --role windsurf or antigravity");
	FW_TRY(read_lock_on(how->lock_on, &options.lock_on));
	FW_TRY(read_sandbox(how->sandbox, &options.sandbox));
	FW_TRY(read_seconds(how->preflight_timeout, &options.preflight_ms));
	if (how->policy)
		FW_TRY(cli_read_file(how->policy, POLICY_MAX, &policy, &len));
	options.policy = policy;
	err = fw_workspace_add(server, &options, ret_workspace);
	free(policy);
	return err;
}
