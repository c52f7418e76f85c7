/*
 * file_history.c - the tool file_history.
 *
 * `git log -z` ends each commit with a NUL, and its fields are separated by NULs, which
 * no text of a commit can contain: every fifth text is the last one of a commit.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/arguments.h"
#include "tools/code/code.h"
#include "tools/code/git_ask.h"
#include "tools/code/git_graph.h"
#include "tools/code/git_read.h"
#include "tools/code/limits.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { SHOWN = 50, SHORT_SHA = 8, TEXT_BYTES = 4096 };

enum { SHA, AUTHOR, EMAIL, DATE, MESSAGE, FIELD_COUNT };

struct history {
	fw_call *call;
	unsigned field; /* that is being read */
	size_t commits;
	struct fw_buf out;
};

static void put_text(struct fw_buf *out, const char *key, const char *text, size_t len)
{
	char repaired[3 * TEXT_BYTES];
	size_t size = fw_utf8_repair(repaired, sizeof repaired, text, len);

	fw_buf_str(out, key);
	fw_buf_json(out, repaired, fw_utf8_cut(repaired, size, sizeof repaired));
}

static void put_field(struct history *h, const char *text, size_t len)
{
	static const char *const keys[FIELD_COUNT] = {
		[SHA] = ",\"full_sha\":", [AUTHOR] = ",\"author\":",   [EMAIL] = ",\"email\":",
		[DATE] = ",\"date\":",    [MESSAGE] = ",\"message\":",
	};

	if (h->field == SHA)
		put_text(&h->out, h->commits ? ",{\"sha\":" : "{\"sha\":", text,
			 len < SHORT_SHA ? len : SHORT_SHA);
	put_text(&h->out, keys[h->field], text, len);
	if (h->field == MESSAGE) {
		FW_BUF(&h->out, "}");
		h->commits++;
	}
	h->field = (h->field + 1) % FIELD_COUNT;
}

static bool record(void *ctx, const char *text, size_t len)
{
	struct history *h = ctx;

	put_field(h, text, len);
	return h->out.state == FW_BUF_OK;
}

static fw_error *nothing_found(const struct fw_code_place *place)
{
	struct stat st;

	if (fstatat(place->root.fd, place->path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fw_raise_file_not_found(place->shown);
	return fw_raise_git_operation_failed(place->shown, "log", "the path has no commits");
}

static fw_error *list(struct history *h, const struct fw_code_place *place)
{
	struct fw_git_object head;
	char count[32];
	const char *const argv[] = { "--follow",
				     "-z",
				     "--no-ext-diff",
				     "--no-textconv",
				     "--no-show-signature",
				     "--no-notes",
				     "--no-color",
				     "--format=tformat:%H%x00%aN%x00%aE%x00%aI%x00%s",
				     count,
				     head.hash,
				     NULL };
	struct fw_git_graph graph;
	struct fw_git git = {
		.place = place, .command = "log", .argv = argv, .head = head.hash
	};
	const struct fw_git_reader reader = { h->call, '\0', TEXT_BYTES, record, h };
	int64_t limit;

	FW_TRY(fw_code_max_results(h->call, "limit", SHOWN, FW_LIMIT_CODE_COMMITS, &limit));
	(void)snprintf(count, sizeof count, "--max-count=%lld", (long long)limit);
	if (!fw_git_ask(place, "HEAD", &head) || !head.hash[0])
		memcpy(head.hash, "HEAD", sizeof "HEAD"); /* git will say what is wrong */
	else if (fw_git_graph_find(place, head.hash, &graph))
		git.directory = graph.directory;
	FW_BUF(&h->out, "{\"commits\":[");
	FW_TRY(fw_git_read(&git, &reader));
	if (!h->commits) {
		/* --follow lists no merges, and a merge can be what created the file. */
		git.argv = argv + 1;
		FW_TRY(fw_git_read(&git, &reader));
	}
	if (!h->commits)
		return nothing_found(place);
	FW_BUF(&h->out, "]}");
	return fw_reply_structured(h->call, &h->out);
}

fw_error *fw_code_file_history(fw_call *call, void *ctx)
{
	const struct fw_code_set *code = ctx;
	size_t len = 0;
	const char *path = fw_call_string(call, "path", &len);
	struct history h = { .call = call };
	struct fw_code_place place;
	fw_error *err;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	fw_buf_init(&h.out, FW_LIMIT_CODE_RESULT_BYTES);
	err = list(&h, &place);
	fw_buf_clear(&h.out);
	fw_code_place_close(&place);
	return err;
}
