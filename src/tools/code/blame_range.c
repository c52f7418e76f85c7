/*
 * blame_range.c - the tool blame_range.
 *
 * `git blame --porcelain` describes a commit where it first appears, and later only names
 * it, so what was read of each commit is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/code.h"
#include "tools/code/date.h"
#include "tools/code/git.h"
#include "tools/code/limits.h"

#include <faultwire/raise.h>

enum { SHA_BYTES = 64, TEXT_BYTES = 512, LINE_BYTES = 2 * TEXT_BYTES };

struct commit {
	char sha[SHA_BYTES + 1];
	char author[TEXT_BYTES];
	char message[TEXT_BYTES];
	int64_t time;
	int zone; /* +0130 is 130 */
};

struct blame {
	fw_call *call;
	struct commit *commits;
	size_t count;
	size_t room;
	size_t current;      /* that the next line belongs to */
	int64_t line;        /* its number */
	struct fw_buf input; /* a line that is not complete */
	struct fw_buf out;
	bool has_no_memory;
};

/* ---- reading ---- */

static void copy_text(char to[TEXT_BYTES], const char *text, size_t len)
{
	char repaired[3 * TEXT_BYTES];
	size_t size;

	if (len > TEXT_BYTES)
		len = TEXT_BYTES;
	size = fw_utf8_repair(repaired, sizeof repaired, text, len);
	size = fw_utf8_cut(repaired, size, TEXT_BYTES - 1);
	memcpy(to, repaired, size);
	to[size] = '\0';
}

/* The commit with this hash, which is added if it is new. False: no memory. */
static bool find_commit(struct blame *b, const char *sha, size_t len)
{
	for (size_t i = b->count; i-- > 0;)
		if (strncmp(b->commits[i].sha, sha, len) == 0 && !b->commits[i].sha[len]) {
			b->current = i;
			return true;
		}
	if (b->count == b->room) {
		size_t room = b->room ? 2 * b->room : 16;
		struct commit *more = fw__reallocate(b->commits, room * sizeof *more);

		if (!more)
			return false;
		b->commits = more;
		b->room = room;
	}
	b->current = b->count++;
	b->commits[b->current] = (struct commit){ .time = 0 };
	memcpy(b->commits[b->current].sha, sha, len);
	return true;
}

static void put_line(struct blame *b)
{
	const struct commit *commit = &b->commits[b->current];
	char date[FW_CODE_DATE_SIZE];

	fw_code_date(commit->time, commit->zone, date);
	if (b->out.len && b->out.text[b->out.len - 1] != '[')
		FW_BUF(&b->out, ",");
	FW_BUF(&b->out, "{\"line\":");
	fw_buf_i64(&b->out, b->line);
	FW_BUF(&b->out, ",\"commit\":");
	fw_buf_json_str(&b->out, commit->sha);
	FW_BUF(&b->out, ",\"author\":");
	fw_buf_json_str(&b->out, commit->author);
	FW_BUF(&b->out, ",\"date\":");
	fw_buf_json_str(&b->out, date);
	FW_BUF(&b->out, ",\"message\":");
	fw_buf_json_str(&b->out, commit->message);
	FW_BUF(&b->out, "}");
}

/* "HASH ORIGINAL-LINE FINAL-LINE [COUNT]" */
static bool read_head(struct blame *b, const char *text)
{
	size_t sha = strspn(text, "0123456789abcdef");
	char *end;

	if ((sha != 40 && sha != SHA_BYTES) || text[sha] != ' ')
		return true;
	(void)strtoll(text + sha, &end, 10);
	b->line = strtoll(end, NULL, 10);
	return find_commit(b, text, sha);
}

static bool read_line(struct blame *b, const char *text, size_t len)
{
	struct commit *commit = b->count ? &b->commits[b->current] : NULL;

	if (text[0] == '\t') {
		if (commit)
			put_line(b);
	} else if (commit && strncmp(text, "author ", 7) == 0) {
		copy_text(commit->author, text + 7, len - 7);
	} else if (commit && strncmp(text, "author-time ", 12) == 0) {
		commit->time = strtoll(text + 12, NULL, 10);
	} else if (commit && strncmp(text, "author-tz ", 10) == 0) {
		commit->zone = (int)strtol(text + 10, NULL, 10);
	} else if (commit && strncmp(text, "summary ", 8) == 0) {
		copy_text(commit->message, text + 8, len - 8);
	} else {
		return read_head(b, text);
	}
	return true;
}

static bool take(void *ctx, const char *bytes, size_t len)
{
	struct blame *b = ctx;

	while (len) {
		const char *newline = memchr(bytes, '\n', len);
		size_t part = newline ? (size_t)(newline - bytes) : len;

		/* Of a line of the file only its first byte matters. */
		size_t room = LINE_BYTES - b->input.len;

		fw_buf_put(&b->input, bytes, part < room ? part : room);
		if (newline && b->input.len) {
			if (!read_line(b, b->input.text, b->input.len))
				b->has_no_memory = true;
			b->input.len = 0;
		}
		bytes += part + (newline != NULL);
		len -= part + (newline != NULL);
	}
	b->has_no_memory =
		b->has_no_memory || b->input.state != FW_BUF_OK || b->out.state != FW_BUF_OK;
	return !b->has_no_memory;
}

static bool is_cancelled(void *ctx)
{
	const struct blame *b = ctx;

	return fw_call_is_cancelled(b->call);
}

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

static fw_error *blame(struct blame *b, const struct fw_code_place *place)
{
	const int64_t start = fw_call_i64(b->call, "start_line", 0);
	const int64_t end = fw_call_i64(b->call, "end_line", 0);
	const char *fault = fault_of(start, end);
	char range[64];
	const char *const argv[] = {
		"--porcelain", "--no-textconv", "-L", range, "HEAD", NULL
	};
	const struct fw_git git = { place, "blame", argv, take, is_cancelled, b };

	if (fault)
		return fw_raise_input_invalid_line_range(place->shown, &start, &end, fault);
	(void)snprintf(range, sizeof range, "%lld,%lld", (long long)start, (long long)end);
	FW_BUF(&b->out, "{\"blame\":[");
	FW_TRY(reclassify(fw_git_run(&git), place, &start, &end));
	FW_BUF(&b->out, "]}");
	if (b->has_no_memory || b->out.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	fw_call_structured(b->call, b->out.text, b->out.len);
	return NULL;
}

fw_error *fw_code_blame_range(fw_call *call, void *ctx)
{
	const struct fw_code_set *code = ctx;
	size_t len = 0;
	const char *path = fw_call_string(call, "path", &len);
	struct blame b = { .call = call };
	struct fw_code_place place;
	fw_error *err;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	fw_buf_init(&b.input, LINE_BYTES + 1);
	fw_buf_init(&b.out, FW_LIMIT_CODE_RESULT_BYTES);
	err = blame(&b, &place);
	fw_buf_clear(&b.input);
	fw_buf_clear(&b.out);
	fw__release(b.commits);
	fw_code_place_close(&place);
	return err;
}
