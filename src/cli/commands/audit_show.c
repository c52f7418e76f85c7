/*
 * audit_show.c - see audit_show.h.
 *
 * For speed, a line is parsed only if it contains the bytes that are searched for.
 */
#include "cli/commands/audit_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/limits.h"
#include "cli/stamp.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

enum { PATHS_SHOWN = 3 };

/* Only members of the record are read, so its depth does not matter. */
static const struct fw_json_limits audit_line = { .bytes = FW_LIMIT_AUDIT_LINE_BYTES };

/* ---- filtering ------------------------------------------------------------ */

/* Whether `word` can be a value in the line. Words that JSON escapes always may be. */
static bool may_hold(const char *line, size_t len, const char *word)
{
	for (const char *at = word; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == '"' || *at == '\\' || *at == 0x7f)
			return true;
	return memmem(line, len, word, strlen(word)) != NULL;
}

static bool is_member(yyjson_val *record, const char *key, const char *wanted)
{
	const char *text = yyjson_get_str(yyjson_obj_get(record, key));

	return text && strcmp(text, wanted) == 0;
}

static bool is_in_time(const cli_audit_filter *filter, yyjson_val *record)
{
	const char *text = yyjson_get_str(yyjson_obj_get(record, "timestamp"));
	int64_t unix_ms;

	if (!filter->has_since && !filter->has_until)
		return true;
	return text && cli_time_read(text, &unix_ms) &&
	       (!filter->has_since || unix_ms >= filter->since_ms) &&
	       (!filter->has_until || unix_ms <= filter->until_ms);
}

bool cli_audit_filter_takes(const cli_audit_filter *filter, const char *line, size_t len)
{
	const struct {
		const char *wanted;
		const char *key;
		const char *other;
	} members[] = {
		{ filter->code, "error_code", "code" },
		{ filter->tool, "tool_name", NULL },
		{ filter->session, "session_id", NULL },
		{ filter->incident, "incident_id", NULL },
	};
	const size_t count = sizeof members / sizeof *members;
	yyjson_doc *doc;
	yyjson_val *record;
	bool matches;

	for (size_t i = 0; i < count; i++)
		if (members[i].wanted && !may_hold(line, len, members[i].wanted))
			return false;
	doc = fw_json_read(line, len, audit_line, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	record = yyjson_doc_get_root(doc);
	matches = yyjson_is_obj(record) && is_in_time(filter, record);
	for (size_t i = 0; i < count && matches; i++)
		matches = !members[i].wanted ||
			  is_member(record, members[i].key, members[i].wanted) ||
			  (members[i].other &&
			   is_member(record, members[i].other, members[i].wanted));
	yyjson_doc_free(doc);
	return matches;
}

bool cli_audit_time_read(const char *text, int64_t *ret_unix_ms)
{
	char day[32];

	if (cli_time_read(text, ret_unix_ms))
		return true;
	if (strlen(text) == 10) {
		(void)snprintf(day, sizeof day, "%sT00:00:00Z", text);
		if (cli_time_read(day, ret_unix_ms))
			return true;
	}
	return cli_ago_read(text, 100000000, ret_unix_ms);
}

/* ---- printing ------------------------------------------------------------- */

static void put_word(yyjson_val *record, const char *key, const char *before)
{
	const char *text = yyjson_get_str(yyjson_obj_get(record, key));

	if (!text)
		return;
	cli_puts(before);
	cli_put_harmless(text);
}

static const char *text_of(yyjson_val *record, const char *key)
{
	return yyjson_get_str(yyjson_obj_get(record, key));
}

/* Of a call that is about several: the first ones. */
static bool put_paths(yyjson_val *record)
{
	yyjson_val *paths = yyjson_obj_get(record, "paths");
	size_t count = yyjson_arr_size(paths);

	for (size_t i = 0; i < count && i < PATHS_SHOWN; i++) {
		const char *path = yyjson_get_str(yyjson_arr_get(paths, i));

		cli_puts(i ? ", " : "  paths ");
		cli_put_harmless(path ? path : "?");
	}
	if (count > PATHS_SHOWN)
		cli_printf(" and %zu more", count - PATHS_SHOWN);
	return count > 0;
}

/* What failed. Older records have no message; their cause says most. */
static void put_message(yyjson_val *record)
{
	yyjson_val *cause = yyjson_obj_get(record, "cause");
	const char *text = text_of(record, "message");
	const char *path = text_of(record, "path");

	if (!text)
		text = yyjson_get_str(yyjson_is_obj(cause) ? yyjson_obj_get(cause, "message")
							   : cause);
	if (text) {
		cli_puts(": ");
		cli_put_harmless(text);
	}
	if (!put_paths(record) && path && !(text && strstr(text, path)))
		put_word(record, "path", "  path ");
	put_word(record, "intent", "  intent: ");
}

/* Numbers are printed with the digits of the file. */
static void put_number(yyjson_val *record, const char *key, const char *before,
		       const char *behind)
{
	const char *text = yyjson_get_raw(yyjson_obj_get(record, key));

	if (text)
		cli_printf("%s%.*s%s", before, (int)strspn(text, "0123456789"), text, behind);
}

static void put_note(yyjson_val *record)
{
	bool is_count = yyjson_obj_get(record, "count") != NULL;

	put_word(record, "reason", "  ");
	put_number(record, "count", ": ", "");
	put_word(record, "file", ": ");
	put_word(record, "since", is_count ? " since " : ", not since ");
	put_word(record, "failure", ": ");
	put_number(record, "lost", ", ", " lost");
}

void cli_audit_show(const char *line, size_t len, bool json)
{
	yyjson_doc *doc = json ? NULL
			       : fw_json_read(line, len, audit_line, YYJSON_READ_NUMBER_AS_RAW,
					      NULL, NULL);
	yyjson_val *record = yyjson_doc_get_root(doc);
	const char *event = yyjson_get_str(yyjson_obj_get(record, "event"));

	if (!event) {
		/* A line that is not a record is printed unchanged rather than skipped. */
		if (json) {
			cli_put_json(line, len);
		} else {
			char *text = strndup(line, len);

			if (text)
				cli_put_harmless(text);
			free(text);
		}
	} else {
		const char *seq = yyjson_get_raw(yyjson_obj_get(record, "seq"));
		char number[24];

		(void)snprintf(number, sizeof number, "%s", seq ? seq : "?");
		number[strspn(number, "0123456789?")] = '\0';
		cli_printf("%6s", number);
		put_word(record, "timestamp", "  ");
		cli_printf("  %-7s", event);
		if (strcmp(event, "note") == 0)
			put_note(record);
		put_word(record, "tool_name", "  ");
		/* The canonical code: several share one of kaiza's. */
		put_word(record, text_of(record, "code") ? "code" : "error_code", "  ");
		put_message(record);
		put_word(record, "incident_id", "  ");
		put_word(record, "session_id", "  session ");
	}
	cli_putc('\n');
	yyjson_doc_free(doc);
}
