/*
 * preflight.c - see preflight.h.
 */
#include "tools/workspace/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "tools/common/command.h"
#include "tools/common/fence.h"
#include "tools/common/tree.h"
#include "tools/workspace/file_ops.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#define PATHS_NAME "faultwire-paths"

struct run {
	const struct fw_root *root;
	const struct fw_ws_preflight *preflight;
	int above; /* FW_WS_TEMP_DIR */
	int temp;  /* the directory of this run, in it */
	char name[FW_WS_ID_SIZE];
	int fence;
	int64_t until;
};

/* ---- temporary files ---- */

/* What a command leaves may be more than is counted while it runs. */
enum { REMOVE_MAX = 8 * FW_LIMIT_PREFLIGHT_TEMP_FILES };

static bool fits(void *ctx)
{
	const struct run *run = ctx;

	return !fw_tree_exceeds(run->temp, FW_LIMIT_PREFLIGHT_TEMP_FILES,
				FW_LIMIT_PREFLIGHT_TEMP_BYTES);
}

static fw_error *open_temp(struct run *run)
{
	FW_TRY(fw_root_open_dir(run->root, FW_WS_TEMP_DIR, true, &run->above));
	fw_tree_clear(run->above, REMOVE_MAX);
	fw_random_hex(run->name, sizeof run->name);
	if (mkdirat(run->above, run->name, 0700) != 0)
		return fw_path_errno(errno, FW_WS_TEMP_DIR, true);
	run->temp =
		openat(run->above, run->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return run->temp < 0 ? fw_path_errno(errno, FW_WS_TEMP_DIR, true) : NULL;
}

static void close_temp(struct run *run)
{
	if (run->temp >= 0) {
		fw_tree_clear(run->temp, REMOVE_MAX);
		(void)close(run->temp);
		(void)unlinkat(run->above, run->name, AT_REMOVEDIR);
	}
	if (run->above >= 0)
		(void)close(run->above);
}

static fw_error *write_paths(const struct run *run, const char *const *paths, size_t count)
{
	struct fw_place place = { .dir = run->temp, .path = FW_WS_TEMP_DIR };
	struct fw_buf text;
	fw_error *err;

	fw_buf_init(&text, FW_LIMIT_WORKSPACE_FILES * (size_t)FW_PATH_SIZE);
	for (size_t i = 0; i < count; i++) {
		fw_buf_str(&text, paths[i]);
		FW_BUF(&text, "\n");
	}
	err = text.state == FW_BUF_OK ? fw_ws_file_create(&place, PATHS_NAME, NULL,
							  text.len ? text.text : "", text.len)
				      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&text);
	return err;
}

/* ---- running ---- */

static fw_error *failed(const struct fw_ws_preflight *preflight,
			const struct fw_command_result *result)
{
	fw_error *err = fw_raise_policy_preflight_failed(preflight->command, result->status);
	bool timed_out = result->status == FW_COMMAND_TIMED_OUT;
	bool stopped = result->status == FW_COMMAND_STOPPED;

	if (timed_out) {
		fw_error_add_bool(err, "timed_out", true);
		fw_error_add_u64(err, "timeout_ms", preflight->limit_ms);
	}
	fw_error_add_cause(err,
			   stopped ? "its temporary files exceeded 1 GiB or 65536 files"
			   : result->tail[0] ? result->tail
					     : "the command said nothing",
			   timed_out ? "timed out" : "exit status", "preflight");
	return err;
}

/* `path` NULL: several files. */
static fw_error *run_once(struct run *run, const char *path)
{
	const struct fw_root *root = run->root;
	char variable[FW_PATH_SIZE + 16] = "LANG=C.UTF-8";
	char home[FW_PATH_SIZE + 8];
	char temp[FW_PATH_SIZE + 64];
	char paths[FW_PATH_SIZE + 96];
	const char *const argv[] = { "/bin/sh", "-c", run->preflight->command, NULL };
	const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
					    "LANG=C.UTF-8",
					    home,
					    temp,
					    paths,
					    path ? variable : NULL,
					    NULL };
	int64_t left = run->until - fw_steady_ms();
	const struct fw_command command = { .argv = argv,
					    .environment = environment,
					    .directory_fd = root->fd,
					    .limit_ms = left > 1 ? (uint32_t)left : 1,
					    .fence = run->fence,
					    .may_continue = fits,
					    .ctx = run };
	struct fw_command_result result;

	if (path)
		(void)snprintf(variable, sizeof variable, "FAULTWIRE_PATH=%s", path);
	(void)snprintf(home, sizeof home, "HOME=%s", root->path);
	(void)snprintf(temp, sizeof temp, "TMPDIR=%s/" FW_WS_TEMP_DIR "/%s", root->path,
		       run->name);
	(void)snprintf(paths, sizeof paths,
		       "FAULTWIRE_PATHS=%s/" FW_WS_TEMP_DIR "/%s/" PATHS_NAME, root->path,
		       run->name);
	FW_TRY(fw_command_run(&command, &result));
	return result.status ? failed(run->preflight, &result) : NULL;
}

/* Does the command look at one file at a time? */
static bool is_for_one_path(const char *command)
{
	return strstr(command, "FAULTWIRE_PATH") && !strstr(command, "FAULTWIRE_PATHS");
}

static fw_error *run_all(struct run *run, const char *const *paths, size_t count)
{
	if (run->preflight->is_fenced) {
		run->fence = fw_fence_open(run->root->fd);
		if (run->fence < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
			return fw_error_from_errno(FW_HERE, errno, "the fence of the command");
	}
	FW_TRY(open_temp(run));
	FW_TRY(write_paths(run, paths, count));
	if (count <= 1 || !is_for_one_path(run->preflight->command))
		return run_once(run, count == 1 ? paths[0] : NULL);
	for (size_t i = 0; i < count; i++)
		FW_TRY(run_once(run, paths[i]));
	return NULL;
}

fw_error *fw_ws_preflight_run(const struct fw_root *root,
			      const struct fw_ws_preflight *preflight, const char *const *paths,
			      size_t count)
{
	struct run run = { .root = root,
			   .preflight = preflight,
			   .above = -1,
			   .temp = -1,
			   .fence = -1,
			   .until = fw_steady_ms() + preflight->limit_ms };
	fw_error *err = run_all(&run, paths, count);

	close_temp(&run);
	if (run.fence >= 0)
		(void)close(run.fence);
	return err;
}
