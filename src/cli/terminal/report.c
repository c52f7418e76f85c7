/*
 * report.c - see report.h.
 *
 * A report is written with one write(), so that reports of two processes on one terminal
 * do not mix. Much of an error was written by a peer, so only printable characters reach
 * the terminal: an escape sequence could hide or forge a report.
 */
#include "cli/terminal/report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/stamp.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/text.h"

enum { REPORT_MAX = 16 << 10, PART_MAX = 4 << 10 };

static bool in_contract;
static fw_contract report_contract;

void cli_report_in(fw_contract contract)
{
	in_contract = true;
	report_contract = contract;
}

void cli_report_by_default_in(fw_contract contract)
{
	if (!in_contract)
		cli_report_in(contract);
}

bool cli_reports_in_contract(void)
{
	return in_contract;
}

bool cli_stack_is_wanted(void)
{
	const char *value = getenv("DEBUG_STACK");

	return value && strcmp(value, "true") == 0;
}

/* ---- in words ----------------------------------------------------------- */

struct report {
	char text[REPORT_MAX];
	size_t len;
	bool colours;
};

static void put(struct report *r, const char *text, size_t len)
{
	/* Leaves one byte for the newline at the end. */
	size_t room = sizeof r->text - 1 - r->len;

	if (len > room)
		len = room;
	memcpy(r->text + r->len, text, len);
	r->len += len;
}

static void puts_plain(struct report *r, const char *text)
{
	put(r, text, strlen(text));
}

static void colour(struct report *r, const char *sequence)
{
	if (r->colours)
		puts_plain(r, sequence);
}

/* Untrusted text: without control characters, and truncated. */
static void put_safely(struct report *r, const char *text)
{
	size_t left = strlen(text);
	size_t shown = 0;

	while (left > 0 && shown < PART_MAX) {
		size_t n = cli_text_harmless(text, left);

		if (n > 0)
			put(r, text, n);
		else
			put(r, *text == '\n' || *text == '\t' ? " " : "?", 1);
		n = n ? n : fw_printable_step(text, left);
		text += n;
		left -= n;
		shown += n;
	}
	if (left > 0)
		puts_plain(r, " ...");
}

static void put_place(struct report *r, const char *file, uint64_t line)
{
	char number[32];

	if (!file)
		return;
	put_safely(r, file);
	(void)snprintf(number, sizeof number, ":%llu", (unsigned long long)line);
	if (line > 0)
		puts_plain(r, number);
	puts_plain(r, ": ");
}

static void put_cause(struct report *r, const fw_error *err, const char *text, const char *code)
{
	/* The message of a wrapped error contains the original one. */
	if (strstr(fw_error_message(err), text))
		return;
	colour(r, "\033[2m");
	puts_plain(r, "\n  because: ");
	colour(r, "\033[0m");
	put_safely(r, text);
	if (code && !strstr(text, code)) {
		puts_plain(r, " (");
		put_safely(r, code);
		puts_plain(r, ")");
	}
}

/* Peers write causes as objects in many ways; most have a message. */
static void put_json_cause(struct report *r, const fw_error *err, const char *json)
{
	yyjson_doc *doc = fw_json_read(json, strlen(json), FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);
	const char *message = yyjson_get_str(fw_json_member(root, "message"));

	if (message)
		put_cause(r, err, message, yyjson_get_str(fw_json_member(root, "code")));
	else
		put_cause(r, err, json, NULL);
	yyjson_doc_free(doc);
}

static void put_causes(struct report *r, const fw_error *err)
{
	fw_cause cause;

	for (size_t i = 0; fw_error_cause(err, i, &cause); i++) {
		if (cause.message)
			put_cause(r, err, cause.message, cause.code);
		else if (cause.json)
			put_json_cause(r, err, cause.json);
		else
			put_cause(r, err, cause.code ? cause.code : "no reason given", NULL);
	}
}

static void put_trail(struct report *r, const fw_error *err)
{
	char trail[PART_MAX];
	char *line = trail;

	if (!cli_stack_is_wanted() || fw_error_trail(err, trail, sizeof trail) == 0)
		return;
	while (*line) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		puts_plain(r, "\n  at: ");
		put_safely(r, line);
		line = end ? end + 1 : strchr(line, '\0');
	}
}

static void send(struct report *r)
{
	if (r->len == 0 || r->text[r->len - 1] != '\n')
		r->text[r->len++] = '\n';
	(void)!write(STDERR_FILENO, r->text, r->len);
}

static void begin(struct report *r)
{
	r->len = 0;
	r->colours = cli_colours_are_wanted(STDERR_FILENO);
	if (cli_progress_visible())
		puts_plain(r, "\r\033[K");
	colour(r, "\033[1;31m");
	puts_plain(r, "faultwire:");
	colour(r, "\033[0m");
	puts_plain(r, " ");
}

static void report_words(const fw_error *err, const char *file, uint64_t line)
{
	static struct report r;
	const char *hint = fw_error_hint(err);

	begin(&r);
	put_place(&r, file, line);
	put_safely(&r, fw_error_message(err));
	put_causes(&r, err);
	/* No hints for lines of a stream: there may be millions. */
	if (hint && *hint && line == 0) {
		colour(&r, "\033[2m");
		puts_plain(&r, "\n  hint: ");
		colour(&r, "\033[0m");
		put_safely(&r, hint);
	}
	put_trail(&r, err);
	send(&r);
}

/* ---- as JSON ------------------------------------------------------------ */

static void report_json(const fw_error *err)
{
	fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
				      .stack = cli_stack_is_wanted() };
	char *text = NULL;
	size_t len = 0;
	fw_error *failure = fw_error_to_text(err, report_contract, &options, &text, &len);

	if (failure) {
		/* Out of memory: the text form needs none. */
		report_words(failure, NULL, 0);
		fw_error_free(failure);
		return;
	}
	if (cli_progress_visible())
		(void)!write(STDERR_FILENO, "\r\033[K", 4);
	/* The newline replaces the NUL at the end. */
	if (len == 0 || text[len - 1] != '\n')
		text[len++] = '\n';
	(void)!write(STDERR_FILENO, text, len);
	fw_free(text);
}

/* ---- both --------------------------------------------------------------- */

int cli_fail_at(fw_error *err, const char *file, uint64_t line)
{
	int status = strcmp(fw_error_name(err), "cli.usage") == 0 ? CLI_MISUSED : CLI_FAILED;

	if (in_contract) {
		cli_stamp now = CLI_STAMP_NOW;

		cli_stamp_fill(&now, err);
		if (file)
			fw_error_add_string(err, "file", file);
		if (line > 0)
			fw_error_add_u64(err, "line", line);
	}
	if (in_contract)
		report_json(err);
	else
		report_words(err, file, line);
	fw_error_free(err);
	return status;
}

int cli_fail(fw_error *err)
{
	return cli_fail_at(err, NULL, 0);
}

/* A copy, because reporting adds members to the error. */
void cli_report(const fw_error *err, const char *file, uint64_t line)
{
	fw_error *copy = NULL;
	char *text = NULL;
	size_t len = 0;
	fw_error *failure = fw_error_to_text(err, FW_CANONICAL, NULL, &text, &len);

	if (!failure)
		failure = fw_error_decode(text, len, FW_CANONICAL, NULL, &copy);
	fw_free(text);
	(void)cli_fail_at(failure ? failure : copy, file, line);
}

void cli_remark(const char *fmt, ...)
{
	static struct report r;
	char text[512];
	va_list list;

	if (in_contract)
		return;
	va_start(list, fmt);
	(void)vsnprintf(text, sizeof text, fmt, list);
	va_end(list);
	begin(&r);
	put_safely(&r, text);
	send(&r);
}

fw_error *cli_usage(const char *fmt, ...)
{
	char text[1024];
	va_list list;

	va_start(list, fmt);
	(void)vsnprintf(text, sizeof text, fmt, list);
	va_end(list);
	return fw_raise_cli_usage(text);
}
