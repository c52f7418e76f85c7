/*
 * sweep.c - see sweep.h.
 */
#include "tools/code/semantic/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/candidates.h"
#include "tools/code/limits.h"
#include "tools/code/scan.h"
#include "tools/code/walk.h"
#include "tools/common/file.h"

#include <faultwire/raise.h>

enum { WORD_MAX = 200, BUFFER_BYTES = 256 * 1024 };

struct state {
	struct fw_semantic_sweep *sweep;
	struct fw_code_place place; /* the repository that is read */
	int64_t deadline_ms;
	bool is_late, has_no_memory;
	char word[WORD_MAX + 1]; /* in lower case if case is ignored */
	struct fw_scan scan;
	struct fw_literals literals;
	char *text;
	size_t room;
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

/* ---- files ---- */

static bool grow(struct state *s)
{
	char *more = fw__reallocate(s->text, 2 * s->room);

	if (!more) {
		s->has_no_memory = true;
		return false;
	}
	s->text = more;
	s->room *= 2;
	return true;
}

/* Reads a file to its end. False: it cannot be read, or is too large. */
static bool read_text(struct state *s, int fd, size_t *ret_len)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = read(fd, s->text + len, s->room - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			*ret_len = len;
			return got == 0;
		}
		len += (size_t)got;
		if (len < s->room)
			continue;
		/* A large binary file is not read to its end. */
		if (memchr(s->text, '\0', BUFFER_BYTES))
			return false;
		if (s->room >= FW_LIMIT_CODE_SWEEP_BYTES) {
			s->sweep->is_cut = true;
			return false;
		}
		if (!grow(s))
			return false;
	}
}

static bool see_open(struct state *s, int fd, const char *path, size_t path_len)
{
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1];
	size_t len = 0, skip;
	bool is_read;

	if (fd < 0)
		return !is_stopped(s);
	is_read = read_text(s, fd, &len);
	(void)close(fd);
	/* A byte order mark is not part of the first line, as in search_text. */
	skip = fw_file_mark(s->text, len);
	if (!is_read || !fw_scan_find(&s->scan, s->text, len) || memchr(s->text, '\0', len))
		return !is_stopped(s);
	(void)snprintf(shown, sizeof shown, "%s%.*s", s->place.repo->prefix, (int)path_len,
		       path);
	s->has_no_memory = !s->sweep->file(s->sweep->ctx, shown, s->text + skip, len - skip);
	return !is_stopped(s);
}

static bool file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	return see_open(ctx, openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC),
			path, len);
}

static bool candidate(void *ctx, const char *path, size_t len, struct fw_mapped *mapped)
{
	struct state *s = ctx;

	(void)mapped;
	return see_open(s,
			fw_root_open_canonical(s->place.root.fd, path, O_RDONLY | O_NONBLOCK),
			path, len);
}

/* ---- repositories ---- */

static fw_error *sweep_repo(struct state *s, const struct fw_code_repo *repo)
{
	const struct fw_walk walk = { .file = file, .is_stopped = is_stopped, .ctx = s };
	const struct fw_candidates candidates = {
		.place = &s->place, .literals = &s->literals, .file = candidate, .ctx = s
	};
	bool is_complete = true;
	fw_error *err = NULL;

	FW_TRY(fw_code_place_of(repo, &s->place));
	if (!fw_candidates_each(&candidates))
		err = fw_walk_run(&walk, s->place.root.fd, ".", ".", &is_complete);
	fw_code_place_close(&s->place);
	s->sweep->is_cut = s->sweep->is_cut || !is_complete;
	if (!err && s->has_no_memory)
		err = fw_raise_internal_out_of_memory();
	if (!err && s->is_late)
		err = fw_raise_search_timeout(s->sweep->word);
	return err;
}

static void prepare_word(struct state *s)
{
	bool ignores_case = s->sweep->ignores_case;
	size_t len = strlen(s->sweep->word);

	for (size_t i = 0; i < len; i++) {
		char c = s->sweep->word[i];

		s->word[i] = ignores_case && c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	fw_scan_init(&s->scan, s->word, len, ignores_case);
	fw_literals_of_text(s->word, len, ignores_case, &s->literals);
}

fw_error *fw_semantic_sweep(struct fw_semantic_sweep *sweep)
{
	struct state s = { .sweep = sweep,
			   .deadline_ms = fw_steady_ms() + sweep->code->search_ms,
			   .room = BUFFER_BYTES };
	fw_error *err = NULL;

	prepare_word(&s);
	s.text = fw__allocate(s.room);
	if (!s.text)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; !err && i < sweep->code->repos.count; i++)
		err = sweep_repo(&s, &sweep->code->repos.list[i]);
	fw__release(s.text);
	return err;
}
