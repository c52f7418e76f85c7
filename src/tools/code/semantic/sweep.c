/*
 * sweep.c - see sweep.h.
 */
#include "tools/code/semantic/sweep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/walk.h"

#include <faultwire/raise.h>

enum { WORD_MAX = 200 };

struct state {
	const struct fw_semantic_sweep *sweep;
	struct fw_code_place place; /* the repository that is read */
	int64_t deadline_ms;
	bool is_late, has_no_memory;
	char *text;
};

fw_error *fw_semantic_sweep_word(const fw_call *call, const char **ret_word)
{
	size_t len = 0;
	const char *word = fw_call_string(call, "name", &len);

	if (!len || strcspn(word, " \t\r\n") < len)
		return fw_raise_input_invalid_value("name", "a name without spaces");
	if (len > WORD_MAX)
		return fw_raise_input_too_large("name", WORD_MAX);
	*ret_word = word;
	return NULL;
}

static bool is_stopped(void *ctx)
{
	struct state *s = ctx;

	s->is_late = s->is_late || fw_steady_ms() > s->deadline_ms;
	return s->is_late || s->has_no_memory || fw_call_is_cancelled(s->sweep->call);
}

static bool has_word(const struct state *s, size_t len)
{
	if (s->sweep->ignores_case)
		return strcasestr(s->text, s->sweep->word) != NULL;
	return memmem(s->text, len, s->sweep->word, strlen(s->sweep->word)) != NULL;
}

static bool see_file(void *ctx, int dir, const char *path, size_t path_len, const char *name)
{
	struct state *s = ctx;
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1];
	size_t len = 0;
	ssize_t got = 0;

	if (fd < 0)
		return !is_stopped(s);
	while (len < FW_SEMANTIC_LIMIT_FILE &&
	       (got = read(fd, s->text + len, FW_SEMANTIC_LIMIT_FILE - len)) > 0)
		len += (size_t)got;
	(void)close(fd);
	s->text[len] = '\0';
	if (got < 0 || memchr(s->text, '\0', len) || !has_word(s, len))
		return !is_stopped(s);
	(void)snprintf(shown, sizeof shown, "%s%.*s", s->place.repo->prefix, (int)path_len,
		       path);
	s->has_no_memory = !s->sweep->file(s->sweep->ctx, shown, s->text, len);
	return !is_stopped(s);
}

static fw_error *sweep_repo(struct state *s, const struct fw_code_repo *repo)
{
	const struct fw_walk walk = { .file = see_file, .is_stopped = is_stopped, .ctx = s };
	bool is_complete = true;
	fw_error *err;

	FW_TRY(fw_code_place_of(repo, &s->place));
	err = fw_walk_run(&walk, s->place.root.fd, ".", ".", &is_complete);
	fw_code_place_close(&s->place);
	if (!err && s->has_no_memory)
		err = fw_raise_internal_out_of_memory();
	if (!err && s->is_late)
		err = fw_raise_search_timeout(s->sweep->word);
	return err;
}

fw_error *fw_semantic_sweep(const struct fw_semantic_sweep *sweep)
{
	struct state s = { .sweep = sweep,
			   .deadline_ms = fw_steady_ms() + sweep->code->search_ms };
	fw_error *err = NULL;

	s.text = fw__allocate(FW_SEMANTIC_LIMIT_FILE + 1);
	if (!s.text)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; !err && i < sweep->code->repos.count; i++)
		err = sweep_repo(&s, &sweep->code->repos.list[i]);
	fw__release(s.text);
	return err;
}
