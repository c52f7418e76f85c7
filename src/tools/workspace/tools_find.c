/*
 * tools_find.c - list_files and search_files.
 *
 * They show what read_file would read, without following links, and leave out the
 * directories of version control and of this program. Everything is bounded: entries that
 * are looked at, bytes that are read, time, and the size of the result. A result that was
 * cut says so ("complete": false).
 */
#define PCRE2_CODE_UNIT_WIDTH 8

#include <errno.h>
#include <fcntl.h>
#include <pcre2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/common/file.h"
#include "tools/common/glob.h"
#include "tools/common/reply.h"
#include "tools/common/tree.h"
#include "tools/workspace/data.h"
#include "tools/workspace/journal.h"

#include <faultwire/raise.h>

enum {
	RESULT_BYTES = 1024 * 1024,
	PREVIEW_BYTES = 200,
	LINES = 100,
	MATCH_LIMIT = 1000000,
	DEPTH_LIMIT = 1000,
	HEAP_KIB = 20000
};

struct finding {
	fw_call *call;
	const struct fw_root *root;
	const char *glob; /* NULL: all files */
	size_t glob_len;
	int64_t left; /* results */
	int64_t until;
	struct fw_buf out;
	bool is_cut;
	fw_error *err;
	/* For search_files. */
	pcre2_code *code; /* NULL: list only */
	pcre2_match_data *data;
	pcre2_match_context *context;
	uint64_t bytes;
	size_t skipped; /* files that are not text, or too large */
};

/* ---- which files ---- */

static bool is_hidden(const char *name)
{
	static const char *const names[] = {
		".git", ".hg", ".svn", ".bzr", ".jj", FW_WS_OWN_DIR
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return strncmp(name, ".faultwire-", 11) == 0;
}

/* A name that is not a path for read_file cannot be shown. */
static bool is_shown(const struct finding *f, const struct fw_tree_entry *entry)
{
	fw_error *err;

	if (!S_ISREG(entry->stat.st_mode) ||
	    (f->glob && !fw_glob_match(f->glob, f->glob_len, entry->path)))
		return false;
	err = fw_path_check(entry->path, strlen(entry->path));
	if (!err)
		err = fw_file_check(f->root, &entry->stat, entry->path);
	fw_error_free(err);
	return !err;
}

/* ---- searching a file ---- */

static void put_match(struct finding *f, const char *path, const char *text, size_t len,
		      size_t line_at, size_t line, size_t column)
{
	const char *from = text + line_at;
	const char *end = memchr(from, '\n', len - line_at);
	size_t preview = end ? (size_t)(end - from) : len - line_at;

	if (preview > PREVIEW_BYTES) {
		preview = PREVIEW_BYTES;
		while (preview && ((unsigned char)from[preview] & 0xc0) == 0x80)
			preview--;
	}
	if (f->out.len && f->out.text[f->out.len - 1] != '[')
		FW_BUF(&f->out, ",");
	FW_BUF(&f->out, "{\"path\":");
	fw_buf_json_str(&f->out, path);
	FW_BUF(&f->out, ",\"line\":");
	fw_buf_i64(&f->out, (int64_t)line);
	FW_BUF(&f->out, ",\"column\":");
	fw_buf_i64(&f->out, (int64_t)column);
	FW_BUF(&f->out, ",\"text\":");
	fw_buf_json(&f->out, from, preview);
	FW_BUF(&f->out, "}");
	f->left--;
}

/* True if another result would not fit. */
static bool is_full(struct finding *f)
{
	if (f->left > 0 && f->out.len < RESULT_BYTES && fw_steady_ms() < f->until &&
	    !fw_call_is_cancelled(f->call))
		return false;
	f->is_cut = true;
	return true;
}

/* One result per line. */
static void search_text(struct finding *f, const char *path, const char *text, size_t len)
{
	size_t line = 1, line_at = 0, at = 0;

	while (at <= len && !f->err) {
		int found = pcre2_match(f->code, (PCRE2_SPTR)text, len, at, PCRE2_NO_UTF_CHECK,
					f->data, f->context);
		size_t start;
		const char *end;

		if (found == PCRE2_ERROR_NOMATCH)
			return;
		if (found < 0) {
			f->err = fw_raise_input_invalid_value(
				"query",
				"a regular expression that can be matched within its limits");
			return;
		}
		if (is_full(f))
			return;
		start = pcre2_get_ovector_pointer(f->data)[0];
		for (size_t i = line_at; i < start; i++)
			if (text[i] == '\n') {
				line++;
				line_at = i + 1;
			}
		put_match(f, path, text, len, line_at, line, start - line_at + 1);
		end = memchr(text + start, '\n', len - start);
		if (!end)
			return;
		at = (size_t)(end - text) + 1;
	}
}

static void search_file(struct finding *f, const struct fw_tree_entry *entry)
{
	int fd = openat(entry->dir, entry->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t len = 0;
	fw_error *err;

	if (fd < 0)
		return;
	/* It may have been replaced since it was looked at. */
	err = fstat(fd, &st) == 0 ? fw_file_check(f->root, &st, entry->path)
				  : fw_path_errno(errno, entry->path, false);
	if (!err)
		err = fw_file_read_all(fd, entry->path, FW_WS_READ_BYTES, &text, &len);
	(void)close(fd);
	if (err && fw_error_code(err) == FW_INTERNAL_OUT_OF_MEMORY) {
		f->err = err;
		return;
	}
	f->bytes += len;
	if (err || memchr(text, '\0', len) || fw_utf8_valid(text, len) != len)
		f->skipped++;
	else
		search_text(f, entry->path, text, len);
	fw_error_free(err);
	fw__release(text);
}

/* ---- the walk ---- */

static void put_file(struct finding *f, const struct fw_tree_entry *entry)
{
	if (f->out.len && f->out.text[f->out.len - 1] != '[')
		FW_BUF(&f->out, ",");
	FW_BUF(&f->out, "{\"path\":");
	fw_buf_json_str(&f->out, entry->path);
	FW_BUF(&f->out, ",\"size\":");
	fw_buf_i64(&f->out, (int64_t)entry->stat.st_size);
	FW_BUF(&f->out, "}");
	f->left--;
}

static enum fw_tree_step visit(void *ctx, const struct fw_tree_entry *entry)
{
	struct finding *f = ctx;

	if (is_hidden(entry->name))
		return FW_TREE_SKIP;
	if (!is_shown(f, entry))
		return fw_steady_ms() < f->until ? FW_TREE_CONTINUE
						 : (f->is_cut = true, FW_TREE_STOP);
	if (f->code) {
		if (f->bytes > FW_LIMIT_WORKSPACE_SEARCH_BYTES)
			f->is_cut = true;
		else
			search_file(f, entry);
	} else if (!is_full(f)) {
		put_file(f, entry);
	}
	return f->err || f->is_cut || f->out.state != FW_BUF_OK ? FW_TREE_STOP
								: FW_TREE_CONTINUE;
}

static fw_error *open_start(const struct finding *f, char ret_path[FW_PATH_SIZE], int *ret_fd)
{
	size_t len = 0;
	const char *path = fw_call_string(f->call, "path", &len);

	memcpy(ret_path, ".", 2);
	if (path)
		FW_TRY(fw_root_normalize(f->root, path, len, ret_path));
	FW_TRY(fw_root_open_dir(f->root, ret_path, false, ret_fd));
	if (strcmp(ret_path, ".") == 0)
		ret_path[0] = '\0';
	return NULL;
}

static fw_error *read_glob(struct finding *f)
{
	char expected[192];
	const char *fault;

	f->glob = fw_call_string(f->call, "glob", &f->glob_len);
	fault = f->glob ? fw_glob_fault(f->glob, f->glob_len) : NULL;
	if (!fault)
		return NULL;
	(void)snprintf(expected, sizeof expected, "a glob; %s", fault);
	return fw_raise_input_invalid_value("glob", expected);
}

static fw_error *find(struct finding *f, bool *ret_is_complete)
{
	const struct fw_tree_walk walk = { .visit = visit,
					   .ctx = f,
					   .limit = FW_LIMIT_WORKSPACE_WALK };
	char path[FW_PATH_SIZE];
	fw_error *err;
	int fd;

	FW_TRY(read_glob(f));
	FW_TRY(open_start(f, path, &fd));
	f->until = fw_steady_ms() + FW_LIMIT_WORKSPACE_SEARCH_MS;
	err = fw_tree_walk(&walk, fd, path, ret_is_complete);
	(void)close(fd);
	*ret_is_complete = *ret_is_complete && !f->is_cut;
	if (!err && f->err)
		return f->err;
	fw_error_free(err ? f->err : NULL);
	return err;
}

static fw_error *finish(struct finding *f, bool is_complete)
{
	FW_BUF(&f->out, "],");
	if (f->code) {
		FW_BUF(&f->out, "\"skipped\":");
		fw_buf_i64(&f->out, (int64_t)f->skipped);
		FW_BUF(&f->out, ",");
	}
	FW_BUF(&f->out, "\"complete\":");
	fw_buf_str(&f->out, is_complete ? "true}" : "false}");
	return fw_reply_structured(f->call, &f->out);
}

static fw_error *run(struct finding *f, const fw_workspace *ws, const char *list)
{
	struct fw_root root = FW_ROOT_INIT;
	bool is_complete = true;
	fw_error *err;

	FW_TRY(fw_ws_session_enter_unlocked(ws, f->call, &root));
	/* cppcheck-suppress autoVariables; both are gone when the call ends */
	f->root = &root;
	fw_buf_init(&f->out, 2 * (size_t)RESULT_BYTES);
	fw_buf_str(&f->out, list);
	err = f->out.state == FW_BUF_OK ? find(f, &is_complete)
					: fw_raise_internal_out_of_memory();
	if (!err)
		err = finish(f, is_complete);
	fw_buf_clear(&f->out);
	fw_root_close(&root);
	return err;
}

fw_error *fw_ws_list_files(fw_call *call, void *ctx)
{
	struct finding f = { .call = call,
			     .left = fw_call_i64(call, "limit", FW_LIMIT_WORKSPACE_FOUND) };

	return run(&f, ctx, "{\"files\":[");
}

/* ---- search_files ---- */

static fw_error *compile(struct finding *f)
{
	size_t len = 0;
	const char *query = fw_call_string(f->call, "query", &len);
	bool is_regex = fw_call_bool(f->call, "regex", false);
	uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_UCHAR words[128];
	char expected[256];
	size_t at = 0;
	int error = 0;

	options = is_regex ? options | PCRE2_MULTILINE : PCRE2_UTF | PCRE2_LITERAL;
	if (fw_call_bool(f->call, "ignore_case", false))
		options |= PCRE2_CASELESS;
	f->code = pcre2_compile((PCRE2_SPTR)query, len, options, &error, &at, NULL);
	if (!f->code) {
		(void)pcre2_get_error_message(error, words, sizeof words);
		(void)snprintf(expected, sizeof expected,
			       "a regular expression; at character %zu: %s", at,
			       (const char *)words);
		return fw_raise_input_invalid_value("query", expected);
	}
	f->data = pcre2_match_data_create(1, NULL);
	f->context = pcre2_match_context_create(NULL);
	if (!f->data || !f->context)
		return fw_raise_internal_out_of_memory();
	(void)pcre2_set_match_limit(f->context, MATCH_LIMIT);
	(void)pcre2_set_depth_limit(f->context, DEPTH_LIMIT);
	(void)pcre2_set_heap_limit(f->context, HEAP_KIB);
	return NULL;
}

fw_error *fw_ws_search_files(fw_call *call, void *ctx)
{
	struct finding f = { .call = call, .left = fw_call_i64(call, "limit", LINES) };
	struct fw_ws_session session;
	fw_error *err = NULL;

	fw_ws_session_read(call, &session);
	if (session.id[0] && session.locked_by[0])
		err = fw_raise_session_locked(session.locked_by);
	if (!err)
		err = compile(&f);
	if (!err)
		err = run(&f, ctx, "{\"matches\":[");
	pcre2_code_free(f.code);
	pcre2_match_data_free(f.data);
	pcre2_match_context_free(f.context);
	return err;
}
