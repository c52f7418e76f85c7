/*
 * toolset.c - the descriptor of the toolset reserve.
 */
#include "tools/reserve/reserve_impl.h"

#include <faultwire/raise.h>

enum { AGENT_ID, ROOT, OPTION_COUNT };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[AGENT_ID] = { "agent-id", "NAME", 0, FW_TOOLSET_TEXT,
		       .help = "Name of the agent that uses this server, for callers that "
			       "neither have "
			       "a token of their own nor give agent_id.",
		       .also = "workspace" },
	[ROOT] = { "reserve-root", "DIR", 0, FW_TOOLSET_PATH,
		   .help = "Directory that patterns are relative to; by default that of "
			   "--workspace, or the current directory.",
		   .also = "workspace" },
};

static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	struct fw_reserve *reserve;
	fw_error *err;

	FW_TRY(fw_reserve_get(host, &reserve));
	if (!reserve)
		return fw_raise_cli_usage("the reserve toolset needs a store (--store FILE)");
	err = reserve->root_errno
		      ? fw_error_from_errno(FW_HERE, reserve->root_errno, reserve->root)
		      : fw_reserve_add_tools(reserve);
	if (err) {
		fw_reserve_unref(reserve);
		return err;
	}
	*ret_instance = reserve;
	return NULL;
}

static void stop(void *instance)
{
	fw_reserve_stop(instance);
}

static void release(void *instance)
{
	fw_reserve_unref(instance);
}

static const char *instructions(const char *role)
{
	(void)role;
	return "Before you change files that other agents may change, too, reserve them with "
	       "reserve_files, and release them with release_files when you are done. When "
	       "you get CONFLICT, data.conflicts says who holds which files and until when: "
	       "work on something else, ask the holder, or come back after data.retry_after "
	       "seconds.";
}

const struct fw_toolset fw_toolset_reserve = {
	.name = "reserve",
	.summary = "file reservations between agents, shared by the servers of a store",
	.contract = FW_TOOLERROR,
	.options = options,
	.option_count = OPTION_COUNT,
	.add = add,
	.stop = stop,
	.instructions = instructions,
	.free = release,
};
