/*
 * registry_load_test.c - a user's rows: what is accepted, and how faults are
 * reported.
 */
#include "core/registry_table.h"

#include <faultwire/faultwire.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The members of a valid row, to be changed one at a time. */
struct member {
	const char *key, *json;
};

static const struct member valid[] = {
	{ "code", "\"billing.card_declined\"" },
	{ "title", "\"Card Declined\"" },
	{ "category", "\"dependency\"" },
	{ "type", "\"PERMISSION\"" },
	{ "retry", "\"after_fix\"" },
	{ "recoverable", "false" },
	{ "status", "402" },
	{ "severity", "\"warning\"" },
	{ "kaiza", "\"UNKNOWN_TOOL_FAILURE\"" },
	{ "context_v0", "\"internal_error\"" },
	{ "message", "\"card ending in {last4} was declined: {bank_reason}\"" },
	{ "hint", "\"Ask the customer for another card.\"" },
	{ "params", "[{\"name\":\"last4\",\"type\":\"string\"},"
		    "{\"name\":\"bank_reason\",\"type\":\"string\",\"message_only\":true},"
		    "{\"name\":\"attempt\",\"type\":\"u64\",\"optional\":true}]" },
};

/* The valid row with `key` set to `json`; NULL omits the key. */
static char *row_with(const char *key, const char *json)
{
	char *text = malloc(65536);
	size_t len = 0;
	bool found = false;

	assert_non_null(text);
	text[len++] = '{';
	for (size_t i = 0; i < COUNT(valid); i++) {
		const char *value = valid[i].json;

		if (key && strcmp(valid[i].key, key) == 0) {
			found = true;
			value = json;
		}
		if (!value)
			continue;
		len += (size_t)snprintf(text + len, 65536 - len, "%s\"%s\":%s",
					len > 1 ? "," : "", valid[i].key, value);
	}
	if (key && !found && json)
		len += (size_t)snprintf(text + len, 65536 - len, ",\"%s\":%s", key, json);
	(void)snprintf(text + len, 65536 - len, "}");
	return text;
}

/* ---- reported faults ---- */

struct reported {
	size_t count;
	char last[1024]; /* message */
	char all[4096];
	uint64_t row;
	char code[64];
};

static void remember(void *ctx, const fw_error *problem)
{
	struct reported *reported = ctx;
	size_t len = strlen(reported->all);
	fw_field field;

	reported->count++;
	(void)snprintf(reported->last, sizeof(reported->last), "%s", fw_error_message(problem));
	(void)snprintf(reported->all + len, sizeof(reported->all) - len, "%s\n",
		       reported->last);
	reported->row = fw_error_find_field(problem, "row", &field) ? field.u64 : 999;
	reported->code[0] = '\0';
	if (fw_error_find_field(problem, "code", &field))
		(void)snprintf(reported->code, sizeof(reported->code), "%s", field.string);
	assert_int_equal(fw_error_code(problem), FW_REGISTRY_INVALID_ROW);
}

static fw_error *load(const char *json, struct reported *reported, fw_registry **ret_registry)
{
	memset(reported, 0, sizeof(*reported));
	return fw_registry_load(json, strlen(json), remember, reported, ret_registry);
}

/* The array is refused, and one of the faults contains these words. */
static void assert_refused(const char *json, const char *words)
{
	fw_registry *registry = (fw_registry *)(uintptr_t)&valid;
	struct reported reported;
	fw_error *err = load(json, &reported, &registry);

	if (!err || !strstr(reported.all, words))
		print_message("%s\n  reported: %s  not: %s\n", json, reported.all, words);
	assert_non_null(err);
	assert_non_null(strstr(reported.all, words));
	assert_int_equal(fw_error_code(err), FW_REGISTRY_INVALID_ROW);
	assert_ptr_equal(registry, &valid); /* untouched */
	fw_error_free(err);
}

static void assert_member_refused(const char *key, const char *value, const char *words)
{
	char *row = row_with(key, value);
	char *json = malloc(strlen(row) + 3);

	assert_non_null(json);
	(void)snprintf(json, strlen(row) + 3, "[%s]", row);
	assert_refused(json, words);
	free(json);
	free(row);
}

static fw_registry *load_valid(const char *json)
{
	fw_registry *registry = NULL;
	struct reported reported;
	fw_error *err = load(json, &reported, &registry);

	if (err)
		print_message("%s\n%s\n", reported.all, fw_error_message(err));
	assert_null(err);
	assert_non_null(registry);
	assert_int_equal(reported.count, 0);
	return registry;
}

static int no_error_is_left(void **state)
{
	(void)state;
	assert_int_equal(fw_error_live(), 0);
	return 0;
}

/* ---- tests ---- */

static fw_registry *load_one(const char *key, const char *value)
{
	char *row = row_with(key, value);
	char *json = malloc(strlen(row) + 3);
	fw_registry *registry;

	assert_non_null(json);
	(void)snprintf(json, strlen(row) + 3, "[%s]", row);
	registry = load_valid(json);
	/* The text is no longer needed. */
	memset(json, 'X', strlen(json));
	free(json);
	free(row);
	return registry;
}

static void test_load__takes_a_valid_row(void **state)
{
	fw_registry *registry = load_one(NULL, NULL);
	const fw_row *row = fw_registry_find(registry, "billing.card_declined");

	(void)state;
	assert_non_null(row);
	assert_int_equal(row->number, 100000);
	assert_string_equal(row->title, "Card Declined");
	assert_int_equal(row->category, FW_DEPENDENCY);
	assert_int_equal(row->type, FW_TYPE_PERMISSION);
	assert_int_equal(row->retry, FW_RETRY_AFTER_FIX);
	assert_false(row->recoverable);
	assert_int_equal(row->status, 402);
	assert_int_equal(row->severity, FW_WARNING);
	assert_int_equal(row->jsonrpc, -32603);
	assert_int_equal(row->origin, FW_ORIGIN_TOOL);
	assert_string_equal(row->kaiza, "UNKNOWN_TOOL_FAILURE");
	assert_string_equal(row->context_v0, "internal_error");
	assert_string_equal(row->codeintel, "billing-card-declined");
	assert_int_equal(row->param_count, 3);
	assert_string_equal(row->params[2].name, "attempt");
	assert_int_equal(row->params[2].type, FW_PARAM_U64);
	assert_true(row->params[2].optional);
	assert_true(row->params[1].message_only);
	assert_string_equal(row->explanation, "");
	assert_string_equal(row->since, "");
	assert_string_equal(
		row->example,
		"{\"last4\":\"last4\",\"bank_reason\":\"bank_reason\",\"attempt\":1}");
	fw_registry_free(registry);
}

static void test_load__finds_own_rows_like_built_in_ones(void **state)
{
	fw_registry *registry = load_one(NULL, NULL);
	const fw_row *own = fw_registry_find(registry, "billing.card_declined");
	size_t count = fw_registry_count(registry);

	(void)state;
	assert_int_equal(count, fw__row_count + 1);
	assert_ptr_equal(fw_registry_at(registry, count - 1), own);
	assert_ptr_equal(fw_registry_number(registry, 100000), own);
	assert_ptr_equal(fw_registry_read(registry, FW_CODEINTEL, "billing-card-declined"),
			 own);
	assert_ptr_equal(fw_registry_read(registry, FW_OWLCLAW, "billing.card_declined"), own);
	assert_null(fw_registry_find(NULL, "billing.card_declined"));
	/* The closed sets stay with the built-in rows. */
	assert_string_equal(fw_registry_read(registry, FW_KAIZA, "UNKNOWN_TOOL_FAILURE")->code,
			    "tool.failed");
	for (size_t i = 0; i < fw__row_count; i++)
		assert_int_equal(fw_registry_find(registry, fw__rows[i].code)->number,
				 fw__rows[i].number);
	fw_registry_free(registry);
}

/* Reads a code of kaiza with the registry. */
static fw_retry read_class(const fw_registry *registry, const char *code)
{
	fw_decode_options options = FW_DECODE_OPTIONS_INIT;
	fw_error *read = NULL;
	fw_retry retry;
	char text[128];

	(void)snprintf(text, sizeof(text), "{\"error_code\":\"%s\",\"human_message\":\"m\"}",
		       code);
	options.registry = registry;
	assert_null(fw_error_decode(text, strlen(text), FW_KAIZA, &options, &read));
	retry = fw_error_retry(read);
	fw_error_free(read);
	return retry;
}

static void test_load__a_row_makes_the_code_that_it_shares_no_more_retryable(void **state)
{
	fw_registry *registry = load_one("kaiza", "\"AUDIT_LOCK_FAILED\"");
	const fw_row *reader = fw_registry_read(registry, FW_KAIZA, "AUDIT_LOCK_FAILED");

	(void)state;
	assert_string_equal(reader->code, "audit.lock_failed");
	assert_int_equal(fw_row_retry_in(reader, FW_KAIZA), FW_RETRY_AFTER_FIX);
	assert_int_equal(fw_row_retry_in(reader, FW_CODEINTEL), FW_RETRY_BACKOFF);
	assert_int_equal(read_class(registry, "AUDIT_LOCK_FAILED"), FW_RETRY_AFTER_FIX);
	/* Without the row, the code means what it meant. */
	assert_int_equal(read_class(NULL, "AUDIT_LOCK_FAILED"), FW_RETRY_BACKOFF);
	fw_registry_free(registry);
}

static void test_load__rows_can_be_raised(void **state)
{
	fw_registry *registry = load_one(NULL, NULL);
	const fw_row *row = fw_registry_find(registry, "billing.card_declined");
	const fw_field fields[] = {
		{ .key = "last4", .key_len = 5, .string = "4242", .string_len = 4 },
		{ .key = "bank_reason", .key_len = 11, .string = "no funds", .string_len = 8 },
	};
	fw_error *err = fw_raise_row(FW_HERE, row, fields, 2), *example = fw_row_example(row);

	(void)state;
	assert_string_equal(fw_error_message(err),
			    "card ending in 4242 was declined: no funds");
	assert_string_equal(fw_error_name(example), "billing.card_declined");
	fw_error_free(err);
	fw_error_free(example);
	fw_registry_free(registry);
}

static void test_load__takes_all_optional_members(void **state)
{
	static const struct member optional[] = {
		{ "jsonrpc", "-32001" },
		{ "origin", "\"upstream\"" },
		{ "codeintel", "\"card-declined\"" },
		{ "codeintel", "\"invalid-parameter\"" }, /* shared by others, so it
							   * is not read as ours */
		{ "explanation", "\"The bank refused. Nothing was booked.\\n\"" },
		{ "example", "{\"last4\":\"4242\",\"bank_reason\":\"x\",\"attempt\":"
			     "18446744073709551615}" },
		{ "example", "{\"last4\":\"4242\",\"bank_reason\":\"x\"}" },
		{ "title", "\"Größe\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(optional); i++)
		fw_registry_free(load_one(optional[i].key, optional[i].json));
}

static void test_load__takes_an_empty_array(void **state)
{
	fw_registry *registry = load_valid("[]");

	(void)state;
	assert_int_equal(fw_registry_count(registry), fw__row_count);
	fw_registry_free(registry);
}

static void test_load__gives_numbers_in_the_order_of_the_file(void **state)
{
	char *first = row_with("code", "\"z.one\""), *second = row_with("code", "\"a.two\"");
	char json[8192];
	fw_registry *registry;

	(void)state;
	(void)snprintf(json, sizeof(json), " [ %s , %s ] ", first, second);
	registry = load_valid(json);
	assert_int_equal(fw_registry_find(registry, "z.one")->number, 100000);
	assert_int_equal(fw_registry_find(registry, "a.two")->number, 100001);
	fw_registry_free(registry);
	free(first);
	free(second);
}

static void test_load__refuses_each_fault_of_a_member(void **state)
{
	static const struct {
		const char *key, *json, *words;
	} table[] = {
		/* missing */
		{ "code", NULL, "code is missing" },
		{ "title", NULL, "title is missing" },
		{ "category", NULL, "category is missing" },
		{ "type", NULL, "type is missing" },
		{ "retry", NULL, "retry is missing" },
		{ "recoverable", NULL, "recoverable is missing" },
		{ "status", NULL, "status is missing" },
		{ "severity", NULL, "severity is missing" },
		{ "kaiza", NULL, "kaiza is missing" },
		{ "context_v0", NULL, "context_v0 is missing" },
		{ "message", NULL, "message is missing" },
		{ "hint", NULL, "hint is missing" },
		/* types */
		{ "code", "5", "code must be a string, not a number" },
		{ "title", "null", "title must be a string, not null" },
		{ "category", "[]", "category must be a string" },
		{ "recoverable", "\"no\"", "recoverable must be true or false" },
		{ "status", "\"402\"", "status must be a whole number from 400 to 599" },
		{ "status", "402.5", "status must be a whole number" },
		{ "params", "{}", "params must be an array" },
		{ "params", "[5]", "parameter must be an object" },
		{ "example", "[]", "example must be an object" },
		{ "explanation", "{}", "explanation must be a string" },
		{ "title", "\"A\\u0000b\"", "title contains a NUL" },
		{ "title", "\"\"", "title is empty" },
		/* names */
		{ "category", "\"network\"",
		  "category must be one of validation, compatibility, " },
		{ "type", "\"OTHER\"",
		  "type must be one of NOT_FOUND, CONFLICT, VALIDATION, " },
		{ "retry", "\"later\"",
		  "retry must be one of never, after_fix, backoff, not \"later\"" },
		{ "severity", "\"info\"", "severity must be one of warning, critical" },
		{ "origin", "\"moon\"", "origin must be one of client, policy, tool, " },
		{ "kaiza", "\"NO_SUCH\"", "kaiza has no code \"NO_SUCH\"" },
		{ "context_v0", "\"nope\"", "context-v0 has no code \"nope\"" },
		{ "codeintel", "\"Not_Kebab\"", "is not in kebab-case" },
		/* ranges */
		{ "status", "399", "status must be a number from 400 to 599, not 399" },
		{ "status", "600", "not 600" },
		{ "status", "18446744073709551615", "status must be a number" },
		{ "status", "-402", "not -402" },
		{ "jsonrpc", "-31999", "jsonrpc must be a number from -32768 to -32000" },
		/* rules */
		{ "code", "\"nodot\"", "is not of the form domain.snake_case_reason" },
		{ "code", "\"Upper.case\"", "is not of the form" },
		{ "code", "\"two_words.x\"", "is not of the form" },
		{ "code", "\"a.b.c\"", "is not of the form" },
		{ "code", "\"a.b__c\"", "is not of the form" },
		{ "code", "\"a.\"", "is not of the form" },
		{ "code", "\"\"", "is not of the form" },
		{ "code", "\"file.not_found\"", "code file.not_found is built in" },
		{ "code", "\"invalid.parameter\"", "which is read as input.invalid_value" },
		{ "retry", "\"backoff\"", "retry backoff is for type TRANSIENT only" },
		{ "recoverable", "true", "recoverable must be false with type PERMISSION" },
		{ "type", "\"TRANSIENT\"", "recoverable must be true with type TRANSIENT" },
		{ "number", "5", "\"number\" is not a member of a row" },
		{ "mesage", "\"x\"", "\"mesage\" is not a member of a row" },
		{ "message", "\"open {brace\"", "a brace in the message has no counterpart" },
		{ "message", "\"close} brace\"", "a brace in the message has no counterpart" },
		{ "message", "\"a {{last4}}\"", "a brace in the message has no counterpart" },
		{ "message", "\"no {such} parameter\"",
		  "message names {such}, which is not a parameter" },
		{ "message", "\"{last4} {bank_reason} {attempt}\"",
		  "message names {attempt}, which is optional" },
		{ "message", "\"only {last4}\"", "\"bank_reason\" is for the message only" },
		/* parameters */
		{ "params", "[{\"type\":\"string\"}]", "parameter lacks its name" },
		{ "params", "[{\"name\":\"x\"}]", "parameter lacks its type" },
		{ "params", "[{\"name\":\"x\",\"type\":\"text\"}]",
		  "type of a parameter must be one of" },
		{ "params", "[{\"name\":\"X\",\"type\":\"i64\"}]", "is not in snake_case" },
		{ "params", "[{\"name\":\"x\",\"type\":\"i64\",\"opt\":true}]",
		  "no member \"opt\"" },
		{ "params", "[{\"name\":\"x\",\"name\":\"x\",\"type\":\"i64\"}]",
		  "has name twice" },
		{ "params",
		  "[{\"name\":\"x\",\"type\":\"i64\"},{\"name\":\"x\",\"type\":\"i64\"}]",
		  "parameter \"x\" is given twice" },
		{ "params", "[{\"name\":\"retry_after\",\"type\":\"f64\"}]",
		  "may not be called retry_after" },
		{ "params", "[1,2,3,4,5,6,7,8,9]", "the limit is 8" },
		{ "params",
		  "[{\"name\":\"x\",\"type\":\"i64\",\"optional\":true,\"message_only\":true}]",
		  "is optional and for the message" },
		{ "example", "{\"last4\":4242,\"bank_reason\":\"x\"}",
		  "example of \"last4\" is not of type string" },
		{ "example", "{\"last4\":\"4242\"}",
		  "example lacks a value for \"bank_reason\"" },
		{ "example", "{\"last4\":\"1\",\"bank_reason\":\"x\",\"y\":1}",
		  "more members than" },
		{ "example", "{\"last4\":\"1\",\"bank_reason\":\"x\",\"attempt\":-1}",
		  "not of type u64" },
		/* wording */
		{ "message", "\"card {last4}: {bank_reason}.\"", "message ends in a period" },
		{ "message", "\"Card {last4}: {bank_reason}\"",
		  "message does not begin in lower case" },
		{ "message", "\"unable to charge {last4}: {bank_reason}\"",
		  "uses the word \"unable\"" },
		{ "message", "\"can't charge {last4}: {bank_reason}\"", "has a contraction" },
		{ "message", "\"charge() of {last4}: {bank_reason}\"", "names a function" },
		{ "message", "\"an error occurred {last4} {bank_reason}\"", "say which" },
		{ "hint", "\"ask for another.\"", "hint does not begin in upper case" },
		{ "hint", "\"Ask for another\"", "hint does not end in a period" },
		{ "title", "\"card declined\"", "title does not begin in upper case" },
		{ "title", "\"A Title That Goes On For Longer Than Any Title Should\"",
		  "title is longer than 40" },
		{ "explanation", "\"A bad card. It's declined.\"", "uses the word \"bad\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++)
		assert_member_refused(table[i].key, table[i].json, table[i].words);
}

static void test_load__refuses_anything_but_an_array_of_rows(void **state)
{
	(void)state;
	assert_refused("{}", "registry must be an array of rows, not an object");
	assert_refused("null", "registry must be an array of rows, not null");
	assert_refused("[5]", "row must be an object, not a number");
	assert_refused("[[]]", "row must be an object, not an array");
	assert_refused("[{}]", "code is missing");
}

static void test_load__reports_duplicate_members(void **state)
{
	(void)state;
	assert_member_refused("x\":1,\"title", "\"Twice\"", "title is given twice");
}

static void test_load__reports_duplicate_codes(void **state)
{
	char *row = row_with(NULL, NULL);
	char json[8192];
	struct reported reported;
	fw_registry *registry = NULL;
	fw_error *err;

	(void)state;
	(void)snprintf(json, sizeof(json), "[%s,%s]", row, row);
	err = load(json, &reported, &registry);
	assert_non_null(err);
	assert_int_equal(reported.count, 1);
	assert_string_equal(reported.last,
			    "registry row 2: code billing.card_declined is also that of row 1");
	assert_int_equal(reported.row, 2);
	assert_string_equal(reported.code, "billing.card_declined");
	fw_error_free(err);
	free(row);
}

static void test_load__checks_all_rows_and_returns_the_first_fault(void **state)
{
	char *good = row_with(NULL, NULL), *wrong = row_with("status", "200");
	char json[8192];
	struct reported reported;
	fw_registry *registry = NULL;
	fw_error *err;

	(void)state;
	(void)snprintf(json, sizeof(json), "[%s,7,%s]", good, wrong);
	err = load(json, &reported, &registry);
	assert_non_null(err);
	assert_int_equal(reported.count, 3); /* no object, its status, its code again */
	assert_string_equal(fw_error_message(err),
			    "registry row 2: row must be an object, not a number");
	assert_null(registry);
	fw_error_free(err);
	err = fw_registry_load(json, strlen(json), NULL, NULL, &registry);
	assert_int_equal(fw_error_code(err), FW_REGISTRY_INVALID_ROW);
	fw_error_free(err);
	free(good);
	free(wrong);
}

static void test_load__refuses_what_is_not_json(void **state)
{
	static const char *const texts[] = { "", "[", "[1,]", "nul", "[\"\xff\"]", "// x\n[]" };
	fw_registry *registry = NULL;
	struct reported reported;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		fw_error *err = load(texts[i], &reported, &registry);

		assert_non_null(err);
		assert_int_equal(fw_error_code(err), FW_CONTRACT_NOT_JSON);
		assert_int_equal(reported.count, 0);
		fw_error_free(err);
	}
}

static void test_load__refuses_what_is_too_large(void **state)
{
	size_t len = 4 * 1024 * 1024 + 1;
	char *text = malloc(len);
	fw_registry *registry = NULL;
	fw_error *err;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', len);
	text[0] = '[';
	text[len - 1] = ']';
	err = fw_registry_load(text, len, NULL, NULL, &registry);
	assert_int_equal(fw_error_code(err), FW_INPUT_TOO_LARGE);
	fw_error_free(err);
	text[len - 2] = ']';
	err = fw_registry_load(text, len - 1, NULL, NULL, &registry);
	assert_null(err);
	fw_registry_free(registry);
	free(text);
}

/* `count` rows, each as short as possible. */
static char *many_rows(size_t count)
{
	char *text = malloc(count * 400 + 3);
	size_t len = 0;

	assert_non_null(text);
	text[len++] = '[';
	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(
			text + len, 400,
			"%s{\"code\":\"a.c%zu\",\"title\":\"T\",\"category\":\"auth\","
			"\"type\":\"CONFLICT\",\"retry\":\"never\",\"recoverable\":false,"
			"\"status\":400,\"severity\":\"warning\",\"kaiza\":\"INTERNAL_ERROR\","
			"\"context_v0\":\"io_error\",\"message\":\"m\",\"hint\":\"H.\"}",
			i ? "," : "", i);
	text[len++] = ']';
	text[len] = '\0';
	return text;
}

static void test_load__accepts_at_most_ten_thousand_rows(void **state)
{
	char *text = many_rows(10000);
	fw_registry *registry = load_valid(text);

	(void)state;
	assert_int_equal(fw_registry_count(registry), fw__row_count + 10000);
	for (int i = 0; i < 10000; i += 7) {
		const fw_row *row = fw_registry_number(registry, 100000 + i);

		assert_ptr_equal(fw_registry_find(registry, row->code), row);
		assert_ptr_equal(fw_registry_read(registry, FW_CODEINTEL, row->codeintel), row);
	}
	fw_registry_free(registry);
	free(text);
	text = many_rows(10001);
	assert_refused(text, "registry has 10001 rows; the limit is 10000");
	free(text);
}

static void test_load__takes_the_built_in_rows_renamed(void **state)
{
	/* The published rows have the same form, as docs/registry.md says. */
	const fw_row *row = fw_registry_find(NULL, "input.too_deep");
	char json[2048];

	(void)state;
	(void)snprintf(
		json, sizeof(json),
		"[{\"code\":\"my.too_deep\",\"title\":\"%s\",\"category\":\"%s\",\"type\":\"%"
		"s\","
		"\"retry\":\"%s\",\"recoverable\":false,\"status\":%d,\"severity\":\"%s\","
		"\"jsonrpc\":%d,\"origin\":\"%s\",\"kaiza\":\"%s\",\"context_v0\":\"%s\","
		"\"params\":[{\"name\":\"what\",\"type\":\"string\"},"
		"{\"name\":\"limit_levels\",\"type\":\"u64\"}],"
		"\"message\":\"%s\",\"hint\":\"%s\",\"example\":%s}]",
		row->title, fw_category_name(row->category), fw_type_name(row->type),
		fw_retry_name(row->retry), row->status, fw_severity_name(row->severity),
		row->jsonrpc, fw_origin_name(row->origin), row->kaiza, row->context_v0,
		row->message, row->hint, row->example);
	fw_registry_free(load_valid(json));
}

static void test_free__takes_null_and_the_built_in_one(void **state)
{
	(void)state;
	fw_registry_free(NULL);
	fw_registry_free((fw_registry *)(uintptr_t)fw_registry_builtin());
	assert_non_null(fw_registry_find(NULL, "file.not_found"));
}

/* ---- out of memory ---- */

static char json_without_memory[4096];

static void load_without_memory(void)
{
	fw_registry *registry = NULL;
	fw_error *err = fw_registry_load(json_without_memory, strlen(json_without_memory), NULL,
					 NULL, &registry);

	assert_true(!err == !!registry); /* exactly one of the two */
	fw_error_free(err);
	fw_registry_free(registry);
}

static void test_load__survives_every_allocation_failure(void **state)
{
	char *valid_row = row_with(NULL, NULL), *wrong = row_with("status", "1");

	(void)state;
	(void)snprintf(json_without_memory, sizeof(json_without_memory), "[%s]", valid_row);
	each_allocation_fails(load_without_memory);
	(void)snprintf(json_without_memory, sizeof(json_without_memory), "[%s,%s]", wrong,
		       wrong);
	each_allocation_fails(load_without_memory);
	free(valid_row);
	free(wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load__takes_a_valid_row),
		cmocka_unit_test(test_load__finds_own_rows_like_built_in_ones),
		cmocka_unit_test(
			test_load__a_row_makes_the_code_that_it_shares_no_more_retryable),
		cmocka_unit_test(test_load__rows_can_be_raised),
		cmocka_unit_test(test_load__takes_all_optional_members),
		cmocka_unit_test(test_load__takes_an_empty_array),
		cmocka_unit_test(test_load__gives_numbers_in_the_order_of_the_file),
		cmocka_unit_test(test_load__refuses_each_fault_of_a_member),
		cmocka_unit_test(test_load__refuses_anything_but_an_array_of_rows),
		cmocka_unit_test(test_load__reports_duplicate_members),
		cmocka_unit_test(test_load__reports_duplicate_codes),
		cmocka_unit_test(test_load__checks_all_rows_and_returns_the_first_fault),
		cmocka_unit_test(test_load__refuses_what_is_not_json),
		cmocka_unit_test(test_load__refuses_what_is_too_large),
		cmocka_unit_test(test_load__accepts_at_most_ten_thousand_rows),
		cmocka_unit_test(test_load__takes_the_built_in_rows_renamed),
		cmocka_unit_test(test_free__takes_null_and_the_built_in_one),
		cmocka_unit_test(test_load__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("registry_load", tests, NULL, no_error_is_left);
}
