/*
 * violation.c - see violation.h.
 *
 * The validator describes what it expected tersely ("string", ">= 1", "match of ^[0-9]$"),
 * and so does the context of the error. The message is read by people and models, so it
 * is put in words here.
 */
#include "mcp/violation.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "core/error_own.h"
#include "core/redact.h"

struct report {
	struct fw_buf list;
	char keyword[32];
	char pointer[512];
	char expected[512];
	char found[512];
	char nearest[80];
	unsigned count;
	bool is_missing; /* the one that was chosen is a missing property */
};

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* ---- in words -------------------------------------------------------------------- */

/* "string or null" as "a string or null". */
static void put_types(const char *expected, char *words, size_t size)
{
	size_t len = 0;

	words[0] = '\0';
	while (*expected && len < size) {
		size_t n = strcspn(expected, ", ");
		bool is_type = n > 0 && strncmp(expected, "or", n) != 0 &&
			       strncmp(expected, "null", n) != 0;
		const char *article = !is_type ? "" : strchr("aeiou", *expected) ? "an " : "a ";

		len += (size_t)snprintf(words + len, size - len, "%s%.*s", article, (int)n,
					expected);
		expected += n;
		for (; (*expected == ',' || *expected == ' ') && len < size; expected++)
			len += (size_t)snprintf(words + len, size - len, "%c", *expected);
	}
}

/* Names of the usual sets of characters. */
static const char *set_name(const char *set, size_t len)
{
	static const struct {
		const char *set;
		const char *name;
	} sets[] = {
		{ "0-9a-f", "lower-case hexadecimal digits" },
		{ "a-f0-9", "lower-case hexadecimal digits" },
		{ "0-9A-F", "upper-case hexadecimal digits" },
		{ "A-F0-9", "upper-case hexadecimal digits" },
		{ "0-9a-fA-F", "hexadecimal digits" },
		{ "0-9A-Fa-f", "hexadecimal digits" },
		{ "a-fA-F0-9", "hexadecimal digits" },
		{ "0-9", "digits" },
		{ "a-z", "lower-case letters" },
		{ "A-Z", "upper-case letters" },
		{ "a-z0-9", "lower-case letters and digits" },
		{ "a-zA-Z0-9", "letters and digits" },
		{ "A-Za-z0-9", "letters and digits" },
	};

	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		if (strlen(sets[i].set) == len && memcmp(sets[i].set, set, len) == 0)
			return sets[i].name;
	return NULL;
}

/* ^[set]{n}$, ^[set]+$ or ^[set]*$; anything else is shown as it is. */
static void put_pattern(const char *pattern, char *words, size_t size)
{
	const char *end = strncmp(pattern, "^[", 2) == 0 ? strchr(pattern, ']') : NULL;
	const char *name = end ? set_name(pattern + 2, (size_t)(end - pattern) - 2) : NULL;
	size_t digits = end && end[1] == '{' ? strspn(end + 2, "0123456789") : 0;

	if (name && digits > 0 && digits < 8 && is(end + 2 + digits, "}$"))
		(void)snprintf(words, size, "%.*s %s", (int)digits, end + 2, name);
	else if (name && (is(end + 1, "+$") || is(end + 1, "*$")))
		(void)snprintf(words, size, "%s%s", end[1] == '+' ? "one or more " : "", name);
	else
		(void)snprintf(words, size, "text that matches %s", pattern);
}

/* How a keyword's text begins, and the words to use instead, before and after the rest. */
static const struct phrase {
	const char *keyword;
	const char *start;
	const char *before;
	const char *after;
} phrases[] = {
	{ "minimum", ">= ", "at least ", "" },
	{ "exclusiveMinimum", "> ", "more than ", "" },
	{ "maximum", "<= ", "at most ", "" },
	{ "exclusiveMaximum", "< ", "less than ", "" },
	{ "multipleOf", "", "a ", "" },
	{ "minLength", "", "", " long" },
	{ "maxLength", "", "", " long" },
	{ "minItems", "", "a list of ", "" },
	{ "maxItems", "", "a list of ", "" },
	{ "minProperties", "", "an object with ", "" },
	{ "maxProperties", "", "an object with ", "" },
	{ "uniqueItems", "items", "a list of items", "" },
	{ "format", "format ", "in the format ", "" },
};

void fw_violation_words(const char *keyword, const char *expected, char *ret_words, size_t size)
{
	bool is_choice = is(keyword, "anyOf") || is(keyword, "oneOf");

	if (is(keyword, "type") || (is_choice && strncmp(expected, "a match", 7) != 0)) {
		put_types(expected, ret_words, size);
		return;
	}
	if (is(keyword, "pattern") && strncmp(expected, "match of ", 9) == 0) {
		put_pattern(expected + 9, ret_words, size);
		return;
	}
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		size_t len = strlen(phrases[i].start);

		if (!is(keyword, phrases[i].keyword) ||
		    strncmp(expected, phrases[i].start, len) != 0)
			continue;
		(void)snprintf(ret_words, size, "%s%s%s", phrases[i].before, expected + len,
			       phrases[i].after);
		return;
	}
	(void)snprintf(ret_words, size, "%s", expected);
}

/* ---- the report ------------------------------------------------------------------- */

static void copy_text(char *to, size_t cap, const char *from)
{
	(void)snprintf(to, cap, "%s", from ? from : "");
}

static bool on_violation(void *ctx, const struct fw_violation *v)
{
	struct report *report = ctx;
	struct fw_buf *list = &report->list;
	bool is_missing = is(v->keyword, "required");
	/* A password that is too short is still a secret. */
	const char *found =
		fw_redact_pointer_is_secret(v->instance_pointer) ? FW_REDACTED : v->found;

	if (report->count == 0 || (is_missing && !report->is_missing)) {
		report->is_missing = is_missing;
		copy_text(report->keyword, sizeof report->keyword, v->keyword);
		copy_text(report->pointer, sizeof report->pointer, v->instance_pointer);
		copy_text(report->expected, sizeof report->expected, v->expected);
		copy_text(report->found, sizeof report->found, found);
		copy_text(report->nearest, sizeof report->nearest, v->nearest);
	}
	fw_buf_put(list, report->count++ == 0 ? "[" : ",", 1);
	FW_BUF(list, "{\"pointer\":");
	fw_buf_json_str(list, v->instance_pointer);
	FW_BUF(list, ",\"rule\":");
	fw_buf_json_str(list, v->keyword);
	FW_BUF(list, ",\"expected\":");
	fw_buf_json_str(list, v->expected);
	FW_BUF(list, ",\"found\":");
	fw_buf_json_str(list, found);
	FW_BUF(list, "}");
	return true;
}

/* A missing property "path" is reported with the property as its field, not its object. */
static void append_property(struct report *report)
{
	static const char start[] = "property \"";
	size_t len = strlen(report->expected);
	size_t at = strlen(report->pointer);

	if (strncmp(report->expected, start, sizeof start - 1) != 0 || len < sizeof start)
		return;
	(void)snprintf(report->pointer + at, sizeof report->pointer - at, "/%.*s",
		       (int)(len - sizeof start), report->expected + sizeof start - 1);
}

/* unknown argument "cod"; did you mean "code"? */
static void say_unknown(fw_error *err, const struct report *report, const char *field)
{
	char words[700];
	int len = snprintf(words, sizeof words, "unknown argument \"%s\"", field);

	if (report->nearest[0] && len > 0 && (size_t)len < sizeof words)
		len += snprintf(words + len, sizeof words - (size_t)len,
				"; did you mean \"%s\"?", report->nearest);
	fw__error_set_message(err, words,
			      (size_t)len < sizeof words ? (size_t)len : sizeof words - 1);
}

static fw_error *raise_violation(struct report *report)
{
	const char *field;
	char words[600];
	fw_error *err;

	if (report->is_missing)
		append_property(report);
	field = report->pointer[0] == '/' ? report->pointer + 1 : "arguments";
	fw_violation_words(report->keyword, report->expected, words, sizeof words);
	if (report->is_missing)
		err = fw_raise_input_missing_field(field);
	else if (is(report->keyword, "type"))
		err = fw_raise_input_invalid_type(field, words, report->found);
	else if (is(report->keyword, "format") || is(report->keyword, "pattern"))
		err = fw_raise_input_invalid_format(field, words);
	else
		err = fw_raise_input_invalid_value(field, words);
	if (strncmp(report->expected, "no property ", 12) == 0)
		say_unknown(err, report, field);
	fw_error_add_string(err, "pointer", report->pointer);
	fw_error_add_string(err, "expected", report->expected);
	fw_error_add_string(err, "found", report->found);
	fw_error_add_string(err, "rule", report->keyword);
	return err;
}

fw_error *fw_violation_check(const fw_schema *schema, yyjson_val *arguments,
			     uint32_t violations_most)
{
	struct report report;
	const fw_schema_run run = { .on_violation = on_violation,
				    .ctx = &report,
				    .max_violations = violations_most };
	fw_error *err;

	if (fw_schema_check(schema, arguments, NULL))
		return NULL;
	memset(&report, 0, sizeof report);
	fw_buf_init(&report.list, FW_LIMIT_TEXT_BYTES);
	(void)fw_schema_check(schema, arguments, &run);
	err = raise_violation(&report);
	FW_BUF(&report.list, "]");
	if (report.list.state == FW_BUF_OK && report.count)
		fw_error_add_json(err, "violations", report.list.text, report.list.len);
	fw_buf_clear(&report.list);
	return err;
}
