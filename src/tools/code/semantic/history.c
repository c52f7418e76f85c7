/*
 * history.c - see history.h.
 *
 * `git log -z --name-only`: fields end with NUL. A commit begins with the byte 1, which no hash
 * has; the names of its files follow its fields.
 */
#include "tools/code/semantic/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "tools/code/git.h"
#include "tools/code/semantic/limits.h"

#include <faultwire/raise.h>

enum { FIELD_BYTES = 4096, PATHS_BYTES = 256 * 1024, SUBJECT_BYTES = 512 };

enum part { SHA, TIME, SUBJECT, PATHS };

struct reading {
	struct fw_semantic_data *data;
	bool (*is_cancelled)(void *ctx);
	void *ctx;
	enum part part;
	char sha[FW_SEMANTIC_SHA_SIZE];
	int64_t time_s;
	char subject[SUBJECT_BYTES];
	struct fw_buf paths;
	struct fw_buf field;
	size_t commits;
	char head[FW_SEMANTIC_SHA_SIZE];
	fw_error *err;
};

static void put_commit(struct reading *r)
{
	const struct fw_semantic_commit commit = { r->sha, r->time_s, r->subject,
						   r->paths.len ? r->paths.text : "" };

	if (!r->sha[0])
		return;
	if (!r->head[0])
		memcpy(r->head, r->sha, sizeof r->head);
	r->commits++;
	if (r->data && r->paths.state == FW_BUF_OK && !r->err)
		r->err = fw_semantic_data_put_commit(r->data, &commit);
	fw_buf_reset(&r->paths, PATHS_BYTES);
	r->sha[0] = '\0';
}

static void take_field(struct reading *r, const char *text, size_t len)
{
	while (len && (*text == '\n')) {
		text++;
		len--;
	}
	if (len && *text == 1) {
		put_commit(r);
		len = len - 1 < sizeof r->sha ? len - 1 : sizeof r->sha - 1;
		memcpy(r->sha, text + 1, len);
		r->sha[len] = '\0';
		r->part = TIME;
		return;
	}
	switch (r->part) {
	case SHA: break;
	case TIME:
		r->time_s = strtoll(text, NULL, 10);
		r->part = SUBJECT;
		break;
	case SUBJECT:
		len = fw_utf8_cut(text, len, sizeof r->subject - 1);
		memcpy(r->subject, text, len);
		r->subject[len] = '\0';
		r->part = PATHS;
		break;
	case PATHS:
		if (!len || memchr(text, '\n', len))
			break;
		fw_buf_put(&r->paths, text, len);
		fw_buf_put(&r->paths, "\n", 1);
		break;
	}
}

static bool take(void *ctx, const char *bytes, size_t len)
{
	struct reading *r = ctx;

	while (len) {
		const char *end = memchr(bytes, '\0', len);
		size_t part = end ? (size_t)(end - bytes) : len;

		fw_buf_put(&r->field, bytes,
			   part < FIELD_BYTES - r->field.len ? part
							     : FIELD_BYTES - r->field.len);
		if (end) {
			take_field(r, r->field.len ? r->field.text : "", r->field.len);
			r->field.len = 0;
			if (r->field.text)
				r->field.text[0] = '\0';
		}
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
	return !r->err && r->field.state == FW_BUF_OK;
}

static bool is_cancelled(void *ctx)
{
	const struct reading *r = ctx;

	return r->is_cancelled && r->is_cancelled(r->ctx);
}

/* Commits of `range`; false: git failed. */
static bool list(struct reading *r, const struct fw_code_place *place, const char *range,
		 const char *count)
{
	const char *const argv[] = { "-z",
				     "--name-only",
				     "--no-merges",
				     "--no-renames",
				     "--no-ext-diff",
				     "--no-textconv",
				     "--no-show-signature",
				     "--no-notes",
				     "--no-color",
				     "--format=tformat:%x01%H%x00%ct%x00%s",
				     count,
				     range,
				     NULL };
	const struct fw_git git = { .place = place,
				    .command = "log",
				    .argv = argv,
				    .take = take,
				    .is_cancelled = is_cancelled,
				    .ctx = r };
	fw_error *err = fw_git_run(&git);
	bool is_done = !err;

	fw_error_free(err);
	if (is_done && r->data)
		put_commit(r);
	return is_done;
}

static bool find_head(struct reading *r, const struct fw_code_place *place, char *ret_head)
{
	struct reading own = { .is_cancelled = r->is_cancelled, .ctx = r->ctx };
	bool is_done;

	fw_buf_init(&own.paths, PATHS_BYTES);
	fw_buf_init(&own.field, FIELD_BYTES + 1);
	is_done = list(&own, place, "HEAD", "--max-count=1");
	memcpy(ret_head, own.sha[0] ? own.sha : own.head, FW_SEMANTIC_SHA_SIZE);
	fw_buf_clear(&own.paths);
	fw_buf_clear(&own.field);
	return is_done && ret_head[0];
}

static fw_error *read_new(struct reading *r, const struct fw_code_place *place, const char *old)
{
	char range[FW_SEMANTIC_SHA_SIZE + 16], count[48];

	(void)snprintf(count, sizeof count, "--max-count=%d", FW_SEMANTIC_LIMIT_COMMITS);
	(void)snprintf(range, sizeof range, "%s..HEAD", old);
	if (old[0] && list(r, place, range, count))
		return r->err;
	/* The first time, or a commit that is gone since history was rewritten. */
	fw_error_free(r->err);
	r->err = NULL;
	r->part = SHA;
	FW_TRY(fw_semantic_data_drop_commits(r->data));
	(void)list(r, place, "HEAD", count);
	return r->err;
}

fw_error *fw_semantic_history_update(struct fw_semantic_data *data,
				     const struct fw_code_place *place,
				     bool (*is_stopped)(void *ctx), void *ctx,
				     bool *ret_is_changed, char ret_head[FW_SEMANTIC_SHA_SIZE])
{
	struct reading r = { .data = data, .is_cancelled = is_stopped, .ctx = ctx };
	char old[FW_SEMANTIC_SHA_SIZE] = "";
	const void *known;
	size_t len;
	fw_error *err;

	*ret_is_changed = false;
	ret_head[0] = '\0';
	if (!find_head(&r, place, ret_head))
		return NULL;
	FW_TRY(fw_semantic_data_meta(data, "head", &known, &len));
	if (known && len < sizeof old)
		memcpy(old, known, len);
	if (strcmp(old, ret_head) == 0)
		return NULL;
	*ret_is_changed = true;
	fw_buf_init(&r.paths, PATHS_BYTES);
	fw_buf_init(&r.field, FIELD_BYTES + 1);
	err = read_new(&r, place, old);
	fw_buf_clear(&r.paths);
	fw_buf_clear(&r.field);
	if (err)
		return err;
	return fw_semantic_data_put_meta(data, "head", ret_head, strlen(ret_head));
}
