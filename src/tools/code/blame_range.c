/*
 * blame_range.c - the tool blame_range.
 *
 * The whole file is blamed and kept, because that costs by the depth of its history and not by
 * its length: the next range of it is read from the cache. If git cannot be asked for the
 * commit and the content, or the file is large, only the range is blamed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "tools/code/blame.h"
#include "tools/code/code.h"
#include "tools/code/git_graph.h"
#include "tools/code/git_read.h"
#include "tools/code/limits.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { LINE_BYTES = 2 * FW_BLAME_TEXT_BYTES, KEY_SIZE = FW_PATH_SIZE + 400, MAP_SIZE = 80 };

struct range {
	fw_call *call;
	const struct fw_code_place *place;
	int64_t start;
	int64_t end;
	struct fw_git_object head; /* "": not known */
	struct fw_git_object file;
	char mailmap[MAP_SIZE]; /* changes with it */
	struct fw_git_graph graph;
};

/* ---- the tool ---- */

static const char *fault_of(int64_t start, int64_t end)
{
	if (start <= 0)
		return "start_line must be a positive integer";
	if (end <= 0)
		return "end_line must be a positive integer";
	if (start > end)
		return "start_line must be less than or equal to end_line";
	if (end - start >= FW_LIMIT_CODE_BLAME_LINES)
		return "a range has at most 5000 lines";
	return NULL;
}

/* git says so if the range begins behind the end of the file. */
static fw_error *reclassify(fw_error *err, const struct fw_code_place *place,
			    const int64_t *start, const int64_t *end)
{
	const char *lines = err ? strstr(fw_error_message(err), " has only ") : NULL;
	char reason[96];

	if (!lines)
		return err;
	(void)snprintf(reason, sizeof reason, "start_line is beyond the end: the file%.40s",
		       lines);
	fw_error_free(err);
	return fw_raise_input_invalid_line_range(place->shown, start, end, reason);
}

/* ---- git ---- */

static bool record(void *ctx, const char *text, size_t len)
{
	return !len || fw_blame_read(ctx, text, len);
}

static fw_error *run_blame(const struct range *r, bool is_whole, struct fw_blame *blame)
{
	char lines[64];
	const char *const whole[] = { "--porcelain", "--no-textconv", r->head.hash, NULL };
	const char *const part[] = {
		"--porcelain", "--no-textconv", "-L", lines, "HEAD", NULL
	};
	const struct fw_git git = { .place = r->place,
				    .command = "blame",
				    .argv = is_whole ? whole : part,
				    .directory = is_whole ? r->graph.directory : NULL,
				    .head = r->head.hash };
	const struct fw_git_reader reader = { r->call, '\n', LINE_BYTES, record, blame };

	(void)snprintf(lines, sizeof lines, "%lld,%lld", (long long)r->start,
		       (long long)r->end);
	return fw_git_read(&git, &reader);
}

static bool take_hash(void *ctx, const char *text, size_t len)
{
	char *hash = ctx;

	(void)snprintf(hash, FW_GIT_HASH_SIZE, "%.*s", (int)len, text);
	return true;
}

/* The last commit that touched the file; "" if there is none. */
static fw_error *find_last(const struct range *r, char ret_hash[FW_GIT_HASH_SIZE])
{
	const char *const argv[] = { "-1", "--format=%H", "--no-show-signature", r->head.hash,
				     NULL };
	const struct fw_git git = { .place = r->place,
				    .command = "log",
				    .argv = argv,
				    .directory = r->graph.directory };
	const struct fw_git_reader reader = { r->call, '\n', LINE_BYTES, take_hash, ret_hash };

	ret_hash[0] = '\0';
	return fw_git_read(&git, &reader);
}

/* ---- the cache ---- */

static void find_mailmap(struct range *r)
{
	struct fw_git_object object;
	struct stat st;

	if (fw_git_is_bare(r->place)) {
		if (fw_git_ask(r->place, "HEAD:.mailmap", &object))
			(void)snprintf(r->mailmap, sizeof r->mailmap, "%s", object.hash);
		return;
	}
	if (fstatat(r->place->root.fd, ".mailmap", &st, AT_SYMLINK_NOFOLLOW) == 0)
		(void)snprintf(r->mailmap, sizeof r->mailmap, "%lld %lld.%09ld %lld.%09ld",
			       (long long)st.st_size, (long long)st.st_mtim.tv_sec,
			       st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec,
			       st.st_ctim.tv_nsec);
}

/* What the file and the commit are now. False: they are not known, or not worth keeping. */
static bool ask(struct range *r)
{
	char name[FW_PATH_SIZE + 8];

	if (!r->place->repo->index[0] || strcmp(r->place->path, ".") == 0 ||
	    !fw_git_ask(r->place, "HEAD", &r->head) || !r->head.hash[0])
		return false;
	(void)snprintf(name, sizeof name, "HEAD:%s", r->place->path);
	if (!fw_git_ask(r->place, name, &r->file) || strcmp(r->file.type, "blob") != 0 ||
	    r->file.size > FW_LIMIT_CODE_BLAME_BYTES)
		return false;
	find_mailmap(r);
	return fw_git_graph_find(r->place, r->head.hash, &r->graph);
}

/* From the cache, or by git. */
static fw_error *find(const struct range *r, struct fw_blame *blame)
{
	const struct fw_code_repo *repo = r->place->repo;
	char by_head[KEY_SIZE], by_content[KEY_SIZE];
	char last[FW_GIT_HASH_SIZE];

	(void)snprintf(by_head, sizeof by_head, "head\n%s\n%s\n%s\n%s", r->place->path,
		       r->head.hash, r->mailmap, r->graph.source);
	if (fw_blame_load(repo, by_head, blame))
		return NULL;
	FW_TRY(find_last(r, last));
	(void)snprintf(by_content, sizeof by_content, "content\n%s\n%s\n%s\n%s\n%s",
		       r->place->path, r->file.hash, last, r->mailmap, r->graph.source);
	if (!last[0] || !fw_blame_load(repo, by_content, blame)) {
		FW_TRY(run_blame(r, true, blame));
		if (last[0] && !fw_call_is_cancelled(r->call))
			fw_blame_keep(repo, by_content, blame);
	}
	if (!fw_call_is_cancelled(r->call))
		fw_blame_keep(repo, by_head, blame);
	return NULL;
}

static fw_error *beyond(const struct range *r, const struct fw_blame *blame)
{
	char reason[96];

	(void)snprintf(reason, sizeof reason,
		       "start_line is beyond the end: the file has only %zu line%s",
		       blame->line_count, blame->line_count == 1 ? "" : "s");
	return fw_raise_input_invalid_line_range(r->place->shown, &r->start, &r->end, reason);
}

static fw_error *put(struct range *r, const struct fw_blame *blame)
{
	struct fw_buf out;

	fw_buf_init(&out, FW_LIMIT_CODE_RESULT_BYTES);
	FW_BUF(&out, "{\"blame\":[");
	fw_blame_put(blame, r->start, r->end, &out);
	FW_BUF(&out, "]}");
	return fw_reply_structured(r->call, &out);
}

static fw_error *answer(struct range *r, struct fw_blame *blame)
{
	const char *fault = fault_of(r->start, r->end);

	if (fault)
		return fw_raise_input_invalid_line_range(r->place->shown, &r->start, &r->end,
							 fault);
	if (!ask(r)) {
		FW_TRY(reclassify(run_blame(r, false, blame), r->place, &r->start, &r->end));
		return put(r, blame);
	}
	FW_TRY(find(r, blame));
	if (r->start > (int64_t)blame->line_count && !fw_call_is_cancelled(r->call))
		return beyond(r, blame);
	return put(r, blame);
}

fw_error *fw_code_blame_range(fw_call *call, void *ctx)
{
	const struct fw_code_set *code = ctx;
	size_t len = 0;
	const char *path = fw_call_string(call, "path", &len);
	struct fw_blame blame = { .commits = NULL };
	struct fw_code_place place;
	struct range r = { .call = call,
			   .place = &place,
			   .start = fw_call_i64(call, "start_line", 0),
			   .end = fw_call_i64(call, "end_line", 0) };
	fw_error *err;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	err = answer(&r, &blame);
	fw_blame_clear(&blame);
	fw_code_place_close(&place);
	return err;
}
