/*
 * list_paths.c - the tool list_paths.
 *
 * `total` counts every path that matches, even beyond max_results, so the walk always
 * continues to the end. stat() is called only for the paths that are shown.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "tools/code/limits.h"
#include "base/mem.h"
#include "tools/code/arguments.h"
#include "tools/code/code.h"
#include "tools/code/walk.h"
#include "tools/common/globs.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { SHOWN = 1000 };

struct listing {
	fw_call *call;
	const char *prefix; /* prefix of the repository that is being listed */
	struct fw_globs *include, *exclude;
	int64_t left; /* paths that may still be shown */
	int64_t shown;
	int64_t total;
	bool is_cut;
	struct fw_buf out;
};

static void put_item(struct listing *l, const char *path, const struct stat *st)
{
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1];
	char time[FW_TIME_SIZE];

	l->total++;
	l->left--;
	l->shown++;
	(void)fw_time_text((int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
			   time);
	(void)snprintf(shown, sizeof shown, "%s%s", l->prefix, path);
	if (l->out.len && l->out.text[l->out.len - 1] != '[')
		FW_BUF(&l->out, ",");
	FW_BUF(&l->out, "{\"path\":");
	fw_buf_json_str(&l->out, shown);
	FW_BUF(&l->out, ",\"size\":");
	fw_buf_i64(&l->out, (int64_t)st->st_size);
	FW_BUF(&l->out, ",\"modified\":");
	fw_buf_json_str(&l->out, time);
	FW_BUF(&l->out, "}");
}

static bool file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	struct listing *l = ctx;
	struct stat st;

	if (!fw_code_globs_admit(l->include, l->exclude, l->prefix, path, len))
		return true;
	if (!l->left)
		l->total++;
	else if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		put_item(l, path, &st); /* otherwise it has just been removed */
	return l->out.state == FW_BUF_OK;
}

static bool is_stopped(void *ctx)
{
	const struct listing *l = ctx;

	return fw_call_is_cancelled(l->call);
}

static fw_error *walk(struct listing *l, const struct fw_code_place *place)
{
	const struct fw_walk how = { .file = file, .is_stopped = is_stopped, .ctx = l };
	bool is_complete = true;

	l->prefix = place->repo->prefix;
	FW_TRY(fw_walk_run(&how, place->root.fd, place->path,
			   place->shown[0] ? place->shown : ".", &is_complete));
	l->is_cut = l->is_cut || !is_complete;
	return NULL;
}

static fw_error *walk_one(struct listing *l, const struct fw_code_set *code, const char *path,
			  size_t len)
{
	struct fw_code_place place;
	struct stat st;
	fw_error *err = NULL;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	/* The path of a file lists just that file. */
	l->prefix = place.repo->prefix;
	if (!fw_code_place_is_file(&place, &st))
		err = walk(l, &place);
	else if (fw_code_globs_admit(l->include, l->exclude, l->prefix, place.path,
				     strlen(place.path)))
		put_item(l, place.path, &st);
	fw_code_place_close(&place);
	return err;
}

static fw_error *walk_all(struct listing *l, const struct fw_code_set *code)
{
	for (size_t i = 0; i < code->repos.count; i++) {
		struct fw_code_place place;
		fw_error *err;

		FW_TRY(fw_code_place_of(&code->repos.list[i], &place));
		err = walk(l, &place);
		fw_code_place_close(&place);
		FW_TRY(err);
	}
	return NULL;
}

static fw_error *list(struct listing *l, const struct fw_code_set *code)
{
	size_t len = 0;
	const char *path = fw_call_string(l->call, "path", &len);

	FW_TRY(fw_code_globs(l->call, "include_globs", l->include));
	FW_TRY(fw_code_globs(l->call, "exclude_globs", l->exclude));
	FW_TRY(fw_code_max_results(l->call, "max_results", SHOWN, FW_LIMIT_CODE_PATHS,
				   &l->left));
	FW_BUF(&l->out, "{\"items\":[");
	FW_TRY(path && strcmp(path, ".") != 0 && path[0] ? walk_one(l, code, path, len)
							 : walk_all(l, code));
	l->is_cut = l->is_cut || l->total > l->shown;
	FW_BUF(&l->out, "],\"total\":");
	fw_buf_i64(&l->out, l->total);
	FW_BUF(&l->out, ",\"truncated\":");
	fw_buf_str(&l->out, l->is_cut ? "true}" : "false}");
	return fw_reply_structured(l->call, &l->out);
}

fw_error *fw_code_list_paths(fw_call *call, void *ctx)
{
	struct listing l = { .call = call };
	struct fw_globs *globs = fw__allocate(2 * sizeof *globs);
	fw_error *err;

	if (!globs)
		return fw_raise_internal_out_of_memory();
	globs[0].count = globs[1].count = 0;
	l.include = &globs[0];
	l.exclude = &globs[1];
	fw_buf_init(&l.out, FW_LIMIT_CODE_RESULT_BYTES);
	err = list(&l, ctx);
	fw_buf_clear(&l.out);
	fw_globs_clear(&globs[0]);
	fw_globs_clear(&globs[1]);
	fw__release(globs);
	return err;
}
