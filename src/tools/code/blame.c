/*
 * blame.c - see blame.h. Reading and writing; blame_cache.c has the cache.
 *
 * `git blame --porcelain` describes a commit where it first appears, and later gives only
 * its hash, so the description of each commit is stored.
 */
#include "tools/code/blame.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/date.h"

void fw_blame_clear(struct fw_blame *blame)
{
	fw__release(blame->commits);
	fw__release(blame->lines);
	*blame = (struct fw_blame){ .commits = NULL };
}

/* ---- reading ---- */

static void copy_text(char to[FW_BLAME_TEXT_BYTES], const char *text, size_t len)
{
	char repaired[3 * FW_BLAME_TEXT_BYTES];
	size_t size;

	if (len > FW_BLAME_TEXT_BYTES)
		len = FW_BLAME_TEXT_BYTES;
	size = fw_utf8_repair(repaired, sizeof repaired, text, len);
	size = fw_utf8_cut(repaired, size, FW_BLAME_TEXT_BYTES - 1);
	memcpy(to, repaired, size);
	to[size] = '\0';
}

/* Finds the commit with this hash, and adds it if it is new. False: no memory. */
static bool find_commit(struct fw_blame *blame, const char *hash, size_t len)
{
	for (size_t i = blame->commit_count; i-- > 0;)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a count has commits */
		if (strncmp(blame->commits[i].hash, hash, len) == 0 &&
		    !blame->commits[i].hash[len]) {
			blame->current = i;
			return true;
		}
	if (blame->commit_count == blame->commit_room) {
		size_t room = blame->commit_room ? 2 * blame->commit_room : 16;
		struct fw_blame_commit *more =
			fw__reallocate(blame->commits, room * sizeof *more);

		if (!more)
			return false;
		blame->commits = more;
		blame->commit_room = room;
	}
	blame->current = blame->commit_count++;
	blame->commits[blame->current] = (struct fw_blame_commit){ .time = 0 };
	memcpy(blame->commits[blame->current].hash, hash, len);
	return true;
}

static bool add_line(struct fw_blame *blame)
{
	if (blame->line_count == blame->line_room) {
		size_t room = blame->line_room ? 2 * blame->line_room : 256;
		uint32_t *more = fw__reallocate(blame->lines, room * sizeof *more);

		if (!more)
			return false;
		blame->lines = more;
		blame->line_room = room;
	}
	blame->lines[blame->line_count++] = (uint32_t)blame->current;
	return true;
}

/* "HASH ORIGINAL-LINE FINAL-LINE [COUNT]" */
static bool read_head(struct fw_blame *blame, const char *text)
{
	size_t hash = strspn(text, "0123456789abcdef");
	int64_t line;
	char *end;

	if ((hash != 40 && hash != FW_GIT_HASH_SIZE - 1) || text[hash] != ' ')
		return true;
	(void)strtoll(text + hash, &end, 10);
	line = strtoll(end, NULL, 10);
	if (line < 1 || line > INT32_MAX)
		return true;
	if (!blame->line_count)
		blame->first = line;
	return find_commit(blame, text, hash);
}

bool fw_blame_read(struct fw_blame *blame, const char *text, size_t len)
{
	struct fw_blame_commit *commit =
		blame->commit_count ? &blame->commits[blame->current] : NULL;

	if (text[0] == '\t')
		return !commit || add_line(blame);
	if (commit && strncmp(text, "author ", 7) == 0)
		copy_text(commit->author, text + 7, len - 7);
	else if (commit && strncmp(text, "author-time ", 12) == 0)
		commit->time = strtoll(text + 12, NULL, 10);
	else if (commit && strncmp(text, "author-tz ", 10) == 0)
		commit->zone = (int)strtol(text + 10, NULL, 10);
	else if (commit && strncmp(text, "summary ", 8) == 0)
		copy_text(commit->message, text + 8, len - 8);
	else
		return read_head(blame, text);
	return true;
}

/* ---- writing ---- */

static void put_line(const struct fw_blame_commit *commit, int64_t line, struct fw_buf *out)
{
	char date[FW_CODE_DATE_SIZE];

	fw_code_date(commit->time, commit->zone, date);
	FW_BUF(out, "{\"line\":");
	fw_buf_i64(out, line);
	FW_BUF(out, ",\"commit\":");
	fw_buf_json_str(out, commit->hash);
	FW_BUF(out, ",\"author\":");
	fw_buf_json_str(out, commit->author);
	FW_BUF(out, ",\"date\":");
	fw_buf_json_str(out, date);
	FW_BUF(out, ",\"message\":");
	fw_buf_json_str(out, commit->message);
	FW_BUF(out, "}");
}

void fw_blame_put(const struct fw_blame *blame, int64_t start, int64_t end, struct fw_buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < blame->line_count; i++) {
		int64_t line = blame->first + (int64_t)i;

		if (line < start || line > end)
			continue;
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		put_line(&blame->commits[blame->lines[i]], line, out);
	}
}
