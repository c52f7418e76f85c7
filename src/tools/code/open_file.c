/*
 * open_file.c - the tool open_file.
 *
 * A file is read in pieces, and only up to the last requested line, so a few lines of a
 * large file cost little. The bytes that are read must be UTF-8. A small file is always
 * read to its end, so that a binary file is refused whichever lines are requested.
 *
 * The order of the checks is fixed by the contract: containment, existence, kind,
 * encoding, then the numbers of the lines.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "tools/code/limits.h"
#include "base/utf8.h"
#include "tools/code/code.h"
#include "tools/code/scan.h"
#include "tools/common/file.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { PIECE = 64 * 1024, CHECKED_WHOLE = 1024 * 1024, CHARACTER = 4 };

struct reading {
	int fd;
	const char *path;
	bool is_checked_whole;
	int64_t start; /* the first requested line */
	int64_t end;   /* the last requested line */
	int64_t line;  /* the line that the next byte belongs to */
	bool is_done;
	struct fw_buf content;
	int64_t lines; /* lines in `content` */
	char piece[PIECE + CHARACTER];
	size_t kept; /* bytes of an incomplete character at the end of a piece */
};

/* Copies the bytes of the requested lines. */
static void take(struct reading *r, const char *text, size_t len)
{
	if (r->start == 1 && r->end == INT64_MAX) {
		fw_buf_put(&r->content, text, len);
		return;
	}
	while (len && r->line <= r->end) {
		const char *newline = memchr(text, '\n', len);
		size_t part = newline ? (size_t)(newline - text) + 1 : len;

		if (r->line >= r->start)
			fw_buf_put(&r->content, text, part);
		r->line += newline != NULL;
		text += part;
		len -= part;
	}
	r->is_done = r->line > r->end && !r->is_checked_whole;
}

/* The error for the last piece, of `len` bytes, which is not text. */
static fw_error *not_text(const struct reading *r, size_t len)
{
	off_t end = lseek(r->fd, 0, SEEK_CUR);

	return fw_file_not_text(r->path, r->piece, len,
				end >= (off_t)len ? (uint64_t)end - len : 0);
}

/* Reads a piece; false at the end of the file. */
static fw_error *read_piece(struct reading *r, bool *ret_has_more)
{
	ssize_t got;
	size_t len, valid;

	do
		got = read(r->fd, r->piece + r->kept, PIECE);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		int error = errno;

		return fw_path_errno(error, r->path, false);
	}
	len = r->kept + (size_t)got;
	valid = fw_utf8_valid(r->piece, len);
	/* A character may be split at the end of a piece, but not at the end of the file. */
	if (len - valid >= CHARACTER || (valid != len && got == 0))
		return not_text(r, len);
	take(r, r->piece, valid);
	r->kept = len - valid;
	memmove(r->piece, r->piece + valid, r->kept);
	*ret_has_more = got > 0;
	return NULL;
}

static fw_error *read_lines(struct reading *r)
{
	bool has_more = true;

	while (has_more && !r->is_done && r->content.state == FW_BUF_OK)
		FW_TRY(read_piece(r, &has_more));
	if (r->content.state == FW_BUF_TOO_LARGE)
		return fw_raise_file_too_large(r->path, FW_LIMIT_CODE_FILE_BYTES);
	if (r->content.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	if (r->content.len)
		r->lines = (int64_t)fw_scan_lines(r->content.text, r->content.len);
	if (r->content.len && r->content.text[r->content.len - 1] != '\n')
		r->lines++;
	return NULL;
}

/* Why the numbers are not a valid range; NULL: they are. */
static const char *fault_of(const int64_t *start, const int64_t *end)
{
	if (start && *start <= 0)
		return "start_line must be a positive integer";
	if (end && *end <= 0)
		return "end_line must be a positive integer";
	if (start && end && *start > *end)
		return "start_line must be less than or equal to end_line";
	return NULL;
}

static fw_error *put_result(fw_call *call, const struct reading *r)
{
	struct fw_buf out;

	fw_buf_init(&out, 8 * (size_t)FW_LIMIT_CODE_FILE_BYTES);
	FW_BUF(&out, "{\"path\":");
	fw_buf_json_str(&out, r->path);
	FW_BUF(&out, ",\"content\":");
	fw_buf_json(&out, r->content.len ? r->content.text : "", r->content.len);
	FW_BUF(&out, ",\"lines\":");
	fw_buf_i64(&out, r->lines);
	FW_BUF(&out, ",\"size\":");
	fw_buf_i64(&out, (int64_t)r->content.len);
	FW_BUF(&out, "}");
	return fw_reply_structured(call, &out);
}

static fw_error *open_file(fw_call *call, const struct fw_code_place *place, struct reading *r)
{
	const int64_t start = fw_call_i64(call, "start_line", 0);
	const int64_t end = fw_call_i64(call, "end_line", 0);
	const int64_t *has_start = fw_call_has(call, "start_line") ? &start : NULL;
	const int64_t *has_end = fw_call_has(call, "end_line") ? &end : NULL;
	const char *fault = fault_of(has_start, has_end);
	struct stat st;
	fw_error *err;

	FW_TRY(fw_code_place_open(place, &r->fd, &st));
	r->path = place->shown;
	r->is_checked_whole = st.st_size <= CHECKED_WHOLE;
	r->start = has_start && !fault ? start : 1;
	r->end = fault ? 0 : has_end ? end : INT64_MAX;
	r->line = 1;
	err = read_lines(r);
	(void)close(r->fd);
	FW_TRY(err);
	if (fault)
		return fw_raise_input_invalid_line_range(r->path, has_start, has_end, fault);
	return put_result(call, r);
}

fw_error *fw_code_open_file(fw_call *call, void *ctx)
{
	const struct fw_code_set *code = ctx;
	size_t len = 0;
	const char *path = fw_call_string(call, "path", &len);
	struct fw_code_place place;
	struct reading r;
	fw_error *err;

	FW_TRY(fw_code_place_find(&code->repos, path, len, &place));
	memset(&r, 0, offsetof(struct reading, piece));
	r.kept = 0;
	fw_buf_init(&r.content, FW_LIMIT_CODE_FILE_BYTES);
	err = open_file(call, &place, &r);
	fw_buf_clear(&r.content);
	fw_code_place_close(&place);
	return err;
}
