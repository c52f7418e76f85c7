/*
 * history.c - see history.h.
 *
 * `git log -z --name-only`: fields end with NUL. A commit begins with the byte 1, which no hash
 * has, and "<" if it does not belong to the history any more: the range is `old...HEAD`, since
 * commits are amended and rebased, and branches switched. The names of its files follow its
 * fields.
 *
 * The thread keeps the commits in memory, four texts each: the database belongs to the thread
 * that opened it.
 */
#include "tools/code/semantic/history.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/git.h"
#include "tools/code/semantic/limits.h"

#include <faultwire/raise.h>

enum {
	FIELD_BYTES = 4096,
	PATHS_BYTES = 64 * 1024,
	SUBJECT_BYTES = 512,
	/* Nobody waits for it, and the history of a large repository on a slow disk is long. */
	LIMIT_MS = 10 * 60 * 1000
};

enum part { SHA, TIME, SUBJECT, PATHS };

struct reading {
	bool (*is_cancelled)(void *ctx);
	void *ctx;
	enum part part;
	size_t count; /* of commits */
	bool is_gone; /* from the history */
	char sha[FW_SEMANTIC_SHA_SIZE];
	int64_t time_s;
	char subject[SUBJECT_BYTES];
	struct fw_buf paths;
	struct fw_buf field;
	struct fw_buf kept; /* commits */
	char head[FW_SEMANTIC_SHA_SIZE];
};

struct fw_semantic_history {
	struct reading reading;
	const struct fw_code_place *place;
	char old[FW_SEMANTIC_SHA_SIZE]; /* the newest commit of the last time */
	char head[FW_SEMANTIC_SHA_SIZE];
	bool is_whole; /* `kept` is not what follows the old commits, but all there is */
	pthread_t thread;
	bool has_thread;
};

static void put_commit(struct reading *r)
{
	char time[24];

	if (!r->sha[0])
		return;
	if (!r->head[0])
		memcpy(r->head, r->sha, sizeof r->head);
	/* The oldest ones come last: if there are too many, they are left out. */
	if (r->paths.state == FW_BUF_OK && r->kept.state == FW_BUF_OK) {
		size_t len = r->kept.len;

		/* One that is gone has no time. */
		time[0] = '\0';
		if (!r->is_gone)
			(void)snprintf(time, sizeof time, "%" PRId64, r->time_s);
		fw_buf_put(&r->kept, r->sha, strlen(r->sha) + 1);
		fw_buf_put(&r->kept, time, strlen(time) + 1);
		fw_buf_put(&r->kept, r->subject, strlen(r->subject) + 1);
		fw_buf_put(&r->kept, r->paths.len ? r->paths.text : "", r->paths.len + 1);
		if (r->kept.state != FW_BUF_OK)
			r->kept.len = len;
	}
	fw_buf_reset(&r->paths, PATHS_BYTES);
	r->sha[0] = '\0';
}

static void take_field(struct reading *r, const char *text, size_t len)
{
	while (len && (*text == '\n')) {
		text++;
		len--;
	}
	if (len > 1 && *text == 1) {
		put_commit(r);
		r->count++;
		r->is_gone = text[1] == '<';
		len = len - 2 < sizeof r->sha ? len - 2 : sizeof r->sha - 1;
		memcpy(r->sha, text + 2, len);
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

		if (part)
			fw_buf_put(&r->field, bytes,
				   part < FIELD_BYTES - r->field.len
					   ? part
					   : FIELD_BYTES - r->field.len);
		if (end) {
			take_field(r, r->field.len ? r->field.text : "", r->field.len);
			fw_buf_reset(&r->field, FIELD_BYTES + 1);
		}
		bytes += part + (end != NULL);
		len -= part + (end != NULL);
	}
	return r->field.state == FW_BUF_OK;
}

static bool is_cancelled(void *ctx)
{
	const struct reading *r = ctx;

	return r->is_cancelled && r->is_cancelled(r->ctx);
}

/* Commits of `range`, with or without merges; false: git failed. */
static bool list(struct reading *r, const struct fw_code_place *place, const char *range,
		 const char *count, bool has_merges)
{
	const char *const argv[] = { "-z",
				     "--name-only",
				     has_merges ? "--no-max-parents" : "--no-merges",
				     "--no-renames",
				     "--no-ext-diff",
				     "--no-textconv",
				     "--no-show-signature",
				     "--no-notes",
				     "--no-color",
				     "--format=tformat:%x01%m%H%x00%ct%x00%s",
				     count,
				     range,
				     NULL };
	const struct fw_git git = { .place = place,
				    .command = "log",
				    .argv = argv,
				    .limit_ms = LIMIT_MS,
				    .take = take,
				    .is_cancelled = is_cancelled,
				    .ctx = r };
	fw_error *err = fw_git_run(&git);
	bool is_done = !err;

	fw_error_free(err);
	if (is_done)
		put_commit(r);
	return is_done;
}

static void prepare(struct reading *r)
{
	fw_buf_init(&r->paths, PATHS_BYTES);
	fw_buf_init(&r->field, FIELD_BYTES + 1);
	fw_buf_init(&r->kept, FW_SEMANTIC_LIMIT_TEXTS);
}

static void forget(struct reading *r)
{
	fw_buf_clear(&r->paths);
	fw_buf_clear(&r->field);
	fw_buf_clear(&r->kept);
}

static bool find_head(const struct reading *r, const struct fw_code_place *place,
		      char *ret_head)
{
	struct reading own = { .is_cancelled = r->is_cancelled, .ctx = r->ctx };
	bool is_done;

	prepare(&own);
	/* A merge may bring commits that are older than the last one that was known. */
	is_done = list(&own, place, "HEAD", "--max-count=1", true);
	memcpy(ret_head, own.head, FW_SEMANTIC_SHA_SIZE);
	forget(&own);
	return is_done && ret_head[0];
}

/* The thread. */
static void *read_new(void *ctx)
{
	struct fw_semantic_history *h = ctx;
	char range[FW_SEMANTIC_SHA_SIZE + 16], count[48];

	if (!find_head(&h->reading, h->place, h->head)) {
		h->head[0] = '\0';
		return NULL;
	}
	if (strcmp(h->old, h->head) == 0)
		return NULL;
	(void)snprintf(count, sizeof count, "--max-count=%d", FW_SEMANTIC_LIMIT_COMMITS);
	(void)snprintf(range, sizeof range, "%s...HEAD", h->old);
	if (h->old[0] && list(&h->reading, h->place, range, count, false) &&
	    h->reading.count < FW_SEMANTIC_LIMIT_COMMITS)
		return NULL;
	/* The first time, a commit that git has removed, or too much at once. */
	forget(&h->reading);
	prepare(&h->reading);
	h->reading.part = SHA;
	h->reading.sha[0] = '\0';
	h->is_whole = true;
	(void)list(&h->reading, h->place, "HEAD", count, false);
	return NULL;
}

fw_error *fw_semantic_history_begin(struct fw_semantic_data *data,
				    const struct fw_code_place *place,
				    bool (*is_stopped)(void *ctx), void *ctx,
				    struct fw_semantic_history **ret_history)
{
	struct fw_semantic_history *h;
	sigset_t all, before;
	const void *known;
	size_t len;

	FW_TRY(fw_semantic_data_meta(data, "head", &known, &len));
	h = fw__allocate(sizeof *h);
	if (!h)
		return fw_raise_internal_out_of_memory();
	fw__zero(h, sizeof *h);
	if (known && len < sizeof h->old)
		memcpy(h->old, known, len);
	h->place = place;
	h->reading.is_cancelled = is_stopped;
	h->reading.ctx = ctx;
	prepare(&h->reading);
	/* Signals are for the thread that waits for them. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	h->has_thread = pthread_create(&h->thread, NULL, read_new, h) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!h->has_thread)
		(void)read_new(h);
	*ret_history = h;
	return NULL;
}

static void join(struct fw_semantic_history *h)
{
	if (h->has_thread)
		(void)pthread_join(h->thread, NULL);
	h->has_thread = false;
}

static fw_error *keep(const struct reading *r, struct fw_semantic_data *data)
{
	const char *at = r->kept.len ? r->kept.text : "";
	const char *end = at + r->kept.len;

	while (at < end) {
		const char *texts[4];

		for (size_t i = 0; i < 4; i++) {
			texts[i] = at;
			at += strlen(at) + 1;
		}
		if (!texts[1][0]) {
			FW_TRY(fw_semantic_data_drop_commit(data, texts[0]));
			continue;
		}
		FW_TRY(fw_semantic_data_put_commit(
			data,
			&(struct fw_semantic_commit){ texts[0], strtoll(texts[1], NULL, 10),
						      texts[2], texts[3] }));
	}
	return NULL;
}

fw_error *fw_semantic_history_end(struct fw_semantic_history *history,
				  struct fw_semantic_data *data, bool *ret_is_changed,
				  char ret_head[FW_SEMANTIC_SHA_SIZE])
{
	join(history);
	memcpy(ret_head, history->head, FW_SEMANTIC_SHA_SIZE);
	*ret_is_changed = history->head[0] && strcmp(history->old, history->head) != 0;
	/* What was read until it was cancelled must not pass for the whole history. */
	if (!*ret_is_changed || is_cancelled(&history->reading))
		return NULL;
	if (history->is_whole)
		FW_TRY(fw_semantic_data_drop_commits(data));
	FW_TRY(keep(&history->reading, data));
	return fw_semantic_data_put_meta(data, "head", ret_head, strlen(ret_head));
}

void fw_semantic_history_free(struct fw_semantic_history *history)
{
	if (!history)
		return;
	join(history);
	forget(&history->reading);
	fw__release(history);
}
