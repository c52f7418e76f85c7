/*
 * classify_test.c - rules, facts and the choice between them.
 */
#include <faultwire/classify.h>
#include <faultwire/faultwire.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"
#include "classify/rules.h"

static fw_classification classify(const fw_classifier *rules, const char *text)
{
	fw_flat_text flat = { .text = text, .len = strlen(text) };
	fw_classification found;

	fw_classify(rules, &flat, &found);
	return found;
}

static fw_classification builtin(const char *text)
{
	return classify(fw_classifier_builtin(), text);
}

/* ---- the built-in rules ---- */

static size_t examples, wrong;

static void check_example(void *ctx, const char *rule, const char *text, size_t len)
{
	fw_flat_text flat = { .text = text, .len = len };
	fw_classification found;

	(void)ctx;
	fw_classify(fw_classifier_builtin(), &flat, &found);
	examples++;
	if (found.rule && strcmp(found.rule, rule) == 0)
		return;
	wrong++;
	print_error("rule %s: \"%.*s\" is decided by %s\n", rule, (int)len, text,
		    found.rule ? found.rule : "no rule");
}

static void test_rules__each_example_is_decided_by_its_own_rule(void **state)
{
	(void)state;
	assert_non_null(fw_classifier_builtin());
	fw_rules_examples(fw_rules_builtin, fw_rules_builtin_len, check_example, NULL);
	assert_true(examples >= fw_classifier_builtin()->rule_count);
	assert_int_equal(wrong, 0);
}

/* ---- facts ---- */

static void test_facts__a_status_needs_a_sign_that_it_is_one(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "HTTP 404", 404 },
		{ "HTTP/1.1 503", 503 },
		{ "Request failed with status code 429", 429 },
		{ "API error (422)", 422 },
		{ "responded with status: 500", 500 },
		{ "502 Bad Gateway", 502 },
		{ "Forbidden", 403 },
		{ "statusCode=500", 500 },
		{ "status_code: 401, body: {}", 401 },
		{ "Error 403: no", 403 },
		{ "HTTP Error 502", 502 },
		{ "HTTP/2 503", 503 },
		{ "The server responded with a status of 404", 404 },
		{ "Failed to get the route: 404", 404 },
		{ "Error getting the outages: 403 {\"success\":false}", 403 },
		{ "GET https://api.example.com/v2/x: 404 No pipeline []", 404 },
		{ "401 Incorrect API key provided", 401 },
		{ "OpenAI: 429 You exceeded your quota", 429 },
		{ "The requested URL returned error: 403", 403 },
		{ "got 500 from the backend", 500 },
		{ "refused [503]", 503 },
		{ "409 /servers/a/configure: the object has been modified", 409 },
		{ "Failed to create media item: 404 - {\"title\":\"x\"}", 404 },
		{ "Failed to get route: 404\n    at Client.request (client.js:88)", 404 },
		{ "404 page not found", 404 },
		{ "Unsupported Media Type", 415 },
		{ "Payload too large: 5 MB", 413 },
		{ "request failed with status: https://api.example.com/v1 401", 401 },
		{ "Error listing feeds: 403 PERMISSION_DENIED: no", 403 },
		{ "translation failed, status code 456", 456 }, /* of no standard */
		{ "(HTTP code 304) container already started", 304 },
		{ "expected status 200, got 503", 503 },
		{ "Token API 401", 401 },
		{ "call of search: 504 upstream request timeout", 504 },
		{ "Method Not Allowed", 405 },
		{ "connect to 127.0.0.1:400 failed", 0 },
		{ "https://example.com/items/404 is gone", 0 },
		{ "received 404 rows", 0 },
		{ "error at line: 404", 0 },
		{ "dial tcp 10.0.0.1:500: i/o error", 0 },
		{ "(404 rows)", 0 },
		{ "item 500 of 502", 0 },
		{ "build 404 broke", 0 },
		{ "request-id 503a", 0 },
		{ "one of [400, 500]", 0 },
		{ "took 502 ms", 0 },
		{ "FileNotFoundError: a.txt", 0 },
		{ "read 404 rows from port 500", 0 },
		{ "error code 516", 0 },
		{ "line 404 of a.c", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fw_classification found = builtin(cases[i].text);

		if (found.http_status != cases[i].status)
			fail_msg("%s: %d", cases[i].text, found.http_status);
	}
	assert_int_equal(builtin("min_tokens (500) is greater than max_tokens").http_status, 0);
	assert_int_equal(builtin("check conflicts: server 503: try again").http_status, 503);
	assert_int_equal(builtin("could not start server 503 in this region").http_status, 0);
}

static void test_facts__a_delay_is_found_in_every_unit(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} cases[] = {
		{ "Rate limit exceeded. Try again in 60 seconds", 60 },
		{ "429 Too Many Requests\nRetry-After: 120", 120 },
		{ "rate limited, retry after 1.5s", 1.5 },
		{ "rate limit reached: please try again in 6m0s", 360 },
		{ "{\"error\":\"rate_limited\",\"retry_after\":12}", 12 },
		{ "{\"error\":\"rate_limited\",\"retryAfterMs\":1500}", 1.5 },
		{ "Too many requests, wait 2 minutes", 120 },
		{ "Too Many Requests: retry after 5", 5 },
		{ "Down for maintenance, back in 10 minutes", 600 },
		{ "Quota per minute used up; resets in 1 hour", 3600 },
		{ "Rate limited: retryDelay: 34.5s", 34.5 },
		{ "Rate limited. Retry-After header: 60", 60 },
		{ "429 Too Many Requests, ratelimit-reset-after: 3.5", 3.5 },
		{ "Rate limit reached, try again in about an hour", 3600 },
		{ "Rate limit reached, try again in half an hour", 1800 },
		{ "Overloaded, retry in one minute", 60 },
		{ "Overloaded, wait two minutes", 120 },
		{ "Too many requests, retry in 1 minute 30 seconds", 90 },
		{ "Too many requests, retry in 1 minute and 30 seconds", 90 },
		{ "Too many requests, retry in 1h 5m", 3900 },
		{ "Throttled. Expected available in 42 seconds.", 42 },
		{ "Rate limited, wait 250ms", 0.25 },
		{ "Too many requests. Please retry your request after 20 s.", 20 },
		{ "Service unavailable, try again after 5 minutes", 300 },
		{ "Slow down: retry after 1 day", 86400 },
		{ "A wait of 43 seconds is required", 43 },
		{ "Rate limited; next attempt allowed in thirty seconds", 30 },
		{ "Rate limit exceeded, resets at 1731900000", -1 },
		{ "Rate limited until Wed, 21 Oct 2026 07:28:00 GMT", -1 },
		{ "Rate limited, retry after Wed, 21 Oct 2026 07:28:00 GMT", -1 },
		{ "Too many requests: limit is 100 per 15 minutes", -1 },
		{ "Unavailable; please try again in a few minutes", -1 },
		{ "Timed out waiting for the page after 5 minutes", -1 },
		{ "The retry timed out after 30 seconds", -1 },
		{ "Rate limited (retry 3 of 5)", -1 },
		{ "Request timed out after 30 seconds", -1 },
		{ "server is paused; retry after 2026-07-04T05:24:59Z", -1 },
		{ "unreachable; retry after 3 attempts", -1 },
		{ "Not found: try again in 5 seconds", -1 }, /* not to be repeated */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fw_classification found = builtin(cases[i].text);

		if (found.retry_after != cases[i].seconds)
			fail_msg("%s: %g", cases[i].text, found.retry_after);
	}
}

static void test_facts__a_text_may_forbid_to_retry(void **state)
{
	(void)state;
	assert_int_equal(builtin("Service unavailable").retry, FW_RETRY_BACKOFF);
	assert_int_equal(builtin("Service unavailable. Do NOT retry.").retry, FW_RETRY_NEVER);
	assert_int_equal(builtin("{\"error\":\"overloaded\",\"retryable\":false}").retry,
			 FW_RETRY_NEVER);
}

static void test_facts__codes_of_the_caller_count(void **state)
{
	fw_flat_text flat = { .text = "nope", .len = 4, .jsonrpc_code = -32601 };
	fw_classification found;

	(void)state;
	fw_classify(fw_classifier_builtin(), &flat, &found);
	assert_int_equal(found.row->type, FW_TYPE_NOT_FOUND);
	flat = (fw_flat_text){ .text = "nope", .len = 4, .http_status = 503 };
	fw_classify(fw_classifier_builtin(), &flat, &found);
	assert_int_equal(found.row->type, FW_TYPE_TRANSIENT);
	assert_int_equal(found.http_status, 503);
}

/* ---- the choice ---- */

static void test_classify__what_no_rule_knows_is_permanent(void **state)
{
	fw_classification found = builtin("frobnication of the quux");

	(void)state;
	assert_null(found.rule);
	assert_string_equal(found.row->code, "tool.failed");
	assert_int_equal(found.retry, FW_RETRY_NEVER);
	assert_true(found.confidence == 0);
}

static void test_classify__no_classifier_and_no_text_are_answered(void **state)
{
	(void)state;
	assert_string_equal(classify(NULL, "HTTP 404").row->code, "tool.failed");
	assert_string_equal(builtin("").row->code, "tool.failed");
}

static void test_classify__another_type_that_matched_is_named(void **state)
{
	fw_classification found = builtin("HTTP 403: rate limit exceeded");

	(void)state;
	assert_int_equal(found.row->type, FW_TYPE_TRANSIENT);
	assert_non_null(found.contested_by);
	assert_true(found.confidence < builtin("rate limit exceeded").confidence);
}

static void test_classify__the_cause_counts_more_than_what_was_done(void **state)
{
	(void)state;
	assert_string_equal(builtin("Failed to connect to the server: 403 Forbidden").row->code,
			    "auth.forbidden");
	assert_string_equal(builtin("Failed to connect to the server: boom").row->code,
			    "transport.unreachable");
	assert_int_equal(builtin("Not found. Please check your password.").row->type,
			 FW_TYPE_NOT_FOUND);
	/* A mark before it does not hide what was being done. */
	assert_int_equal(builtin("\xe2\x9d\x8c Failed to connect to the API: Invalid API token")
				 .row->type,
			 FW_TYPE_PERMISSION);
}

static void test_classify__the_cause_may_be_in_the_next_line(void **state)
{
	(void)state;
	assert_int_equal(builtin("Internal error: Connection failed: [\n  {\n    \"message\": "
				 "\"expected string, received undefined\"\n  }\n]")
				 .row->type,
			 FW_TYPE_VALIDATION);
}

static void test_classify__internal_error_says_nothing_before_a_cause(void **state)
{
	(void)state;
	assert_int_equal(builtin("Internal error: query is required").row->type,
			 FW_TYPE_VALIDATION);
	assert_int_equal(builtin("Unexpected server error: permission denied").row->type,
			 FW_TYPE_PERMISSION);
	assert_int_equal(
		builtin("An unexpected error occurred: Positive number expected").row->type,
		FW_TYPE_VALIDATION);
	assert_int_equal(builtin("Internal error: frobnicated").row->type, FW_TYPE_INTERNAL);
}

static void test_classify__an_unsure_answer_is_permanent(void **state)
{
	/* Two hints of the same strength, of different types. */
	static const char text[] = "rule: one code: dependency.unavailable rank: 10\n"
				   "when: xyzzy\nexample: xyzzy\n"
				   "rule: two code: auth.forbidden rank: 9\n"
				   "when: xyzzy\nexample: xyzzy\n";
	fw_classifier *rules = NULL;
	fw_classification found;

	(void)state;
	assert_null(fw_classifier_new(text, sizeof text - 1, NULL, NULL, NULL, &rules));
	found = classify(rules, "xyzzy");
	assert_string_equal(found.rule, "one");
	assert_true(found.confidence > 0 && found.confidence < 0.45);
	assert_string_equal(found.row->code, "tool.failed");
	assert_int_equal(found.retry, FW_RETRY_NEVER);
	fw_classifier_free(rules);
}

static void test_classify__the_end_of_a_long_text_counts(void **state)
{
	size_t len = 4 * 1024 * 1024;
	char *text = malloc(len + 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', len);
	for (size_t i = 9; i < len; i += 10)
		text[i] = ' ';
	memcpy(text + len - 20, " connection refused ", 20);
	text[len] = '\0';
	assert_string_equal(builtin(text).row->code, "transport.connection_refused");
	free(text);
}

static void test_classify__an_error_has_the_text_and_the_advice(void **state)
{
	const char *text = "Too many requests, retry in 7 seconds";
	fw_flat_text flat = { .text = text, .len = strlen(text), .tool = "search" };
	fw_error *err = fw_error_classify(FW_HERE, fw_classifier_builtin(), &flat);

	(void)state;
	assert_string_equal(fw_error_name(err), "upstream.rate_limited");
	assert_string_equal(fw_error_message(err), text);
	assert_int_equal(fw_error_retry(err), FW_RETRY_BACKOFF);
	assert_true(fw_error_retry_after(err) == 7);
	assert_int_equal(fw_error_status(err), 429);
	assert_string_equal(fw_error_scope(err).tool, "search");
	assert_int_equal(fw_error_cause_count(err), 1);
	fw_error_free(err);
}

/* ---- rules of a user ---- */

static const char own_rules[] = "# of a shop\n"
				"rule: declined  code: auth.forbidden  rank: 95\n"
				"when: card|payment .. declined\n"
				"unless: not declined\n"
				"example: The card 4242 was declined.\n";

static void test_rules__a_user_adds_rules(void **state)
{
	fw_classifier *rules = NULL;

	(void)state;
	assert_null(
		fw_classifier_new(own_rules, sizeof own_rules - 1, NULL, NULL, NULL, &rules));
	assert_string_equal(classify(rules, "The card 4242 was declined.").rule, "declined");
	assert_null(classify(rules, "card was not declined").rule);
	assert_string_equal(classify(rules, "HTTP 404").rule, "http-404");
	fw_classifier_free(rules);
}

static void test_rules__a_user_replaces_a_built_in_rule(void **state)
{
	static const char text[] = "rule: http-404 code: auth.forbidden rank: 50\n"
				   "when: http:404\nexample: HTTP 404\n";
	fw_classifier *rules = NULL;

	(void)state;
	assert_null(fw_classifier_new(text, sizeof text - 1, NULL, NULL, NULL, &rules));
	assert_string_equal(classify(rules, "HTTP 404").row->code, "auth.forbidden");
	fw_classifier_free(rules);
}

static void test_rules__a_set_stands_for_its_words(void **state)
{
	static const char text[] = "set: fruit apple|pear\n"
				   "set: fruit plum\n"
				   "rule: eaten code: resource.conflict rank: 96\n"
				   "when: @fruit was eaten @number times\n"
				   "example: the plum was eaten 3 times\n";
	fw_classifier *rules = NULL;

	(void)state;
	assert_null(fw_classifier_new(text, sizeof text - 1, NULL, NULL, NULL, &rules));
	assert_string_equal(classify(rules, "The Apple was eaten 2 times").rule, "eaten");
	assert_string_equal(classify(rules, "plum was eaten 12 times").rule, "eaten");
	assert_null(classify(rules, "nut was eaten 2 times").rule);
	assert_null(classify(rules, "plum was eaten several times").rule);
	fw_classifier_free(rules);
}

struct mistakes {
	char text[2048];
	size_t len;
};

static void note_mistake(void *ctx, const fw_error *problem)
{
	struct mistakes *seen = ctx;
	fw_field row = { .u64 = 0 };

	assert_string_equal(fw_error_name(problem), "registry.invalid_row");
	assert_true(fw_error_find_field(problem, "row", &row));
	seen->len += (size_t)snprintf(seen->text + seen->len, sizeof seen->text - seen->len,
				      "%llu ", (unsigned long long)row.u64);
}

static void test_rules__every_mistake_is_reported_with_its_line(void **state)
{
	static const char text[] =
		"when: a\n"                                         /* 1 */
		"rule: a code: no.such rank: 50\n"                  /* 2 */
		"when: Has_Underscore\n"                            /* 3 */
		"rule: b code: auth.forbidden rank: 100\n"          /* 4 */
		"when: .. x\n"                                      /* 5 */
		"nonsense\n"                                        /* 6 */
		"rule: b code: auth.forbidden rank: 5 http: 200\n"; /* 7, 7 */
	struct mistakes seen = { .len = 0 };
	fw_classifier *rules = NULL;
	fw_error *err =
		fw_classifier_new(text, sizeof text - 1, NULL, note_mistake, &seen, &rules);

	(void)state;
	assert_non_null(err);
	assert_null(rules);
	assert_string_equal(seen.text, "1 2 3 4 5 6 7 7 ");
	fw_error_free(err);
}

static void test_rules__a_set_must_be_known_and_have_words(void **state)
{
	static const char text[] = "set: empty\n"                            /* 1 */
				   "set: Bad_Name a\n"                       /* 2 */
				   "set: ok a|B_c\n"                         /* 3 */
				   "rule: a code: auth.forbidden rank: 50\n" /* 4 */
				   "when: x @nowhere\n"                      /* 5 */
				   "example: x\n";
	struct mistakes seen = { .len = 0 };
	fw_classifier *rules = NULL;
	fw_error *err =
		fw_classifier_new(text, sizeof text - 1, NULL, note_mistake, &seen, &rules);

	(void)state;
	assert_non_null(err);
	assert_string_equal(seen.text, "1 2 3 5 ");
	fw_error_free(err);
}

static void test_rules__a_rule_without_when_or_example_is_refused(void **state)
{
	static const char text[] = "rule: a code: auth.forbidden rank: 50\nexample: x\n"
				   "rule: b code: auth.forbidden rank: 50\nwhen: x\n";
	struct mistakes seen = { .len = 0 };
	fw_classifier *rules = NULL;
	fw_error *err =
		fw_classifier_new(text, sizeof text - 1, NULL, note_mistake, &seen, &rules);

	(void)state;
	assert_non_null(err);
	assert_string_equal(seen.text, "1 3 ");
	fw_error_free(err);
}

static void load_and_classify(void)
{
	fw_classifier *rules = NULL;
	fw_error *err =
		fw_classifier_new(own_rules, sizeof own_rules - 1, NULL, NULL, NULL, &rules);
	fw_flat_text flat = { .text = "HTTP 404", .len = 8 };

	assert_true(!err == !!rules);
	fw_error_free(err);
	err = fw_error_classify(FW_HERE, rules, &flat);
	assert_non_null(err);
	fw_error_free(err);
	fw_classifier_free(rules);
}

static void test_rules__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(load_and_classify);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules__each_example_is_decided_by_its_own_rule),
		cmocka_unit_test(test_facts__a_status_needs_a_sign_that_it_is_one),
		cmocka_unit_test(test_facts__a_delay_is_found_in_every_unit),
		cmocka_unit_test(test_facts__a_text_may_forbid_to_retry),
		cmocka_unit_test(test_facts__codes_of_the_caller_count),
		cmocka_unit_test(test_classify__what_no_rule_knows_is_permanent),
		cmocka_unit_test(test_classify__no_classifier_and_no_text_are_answered),
		cmocka_unit_test(test_classify__another_type_that_matched_is_named),
		cmocka_unit_test(test_classify__the_cause_counts_more_than_what_was_done),
		cmocka_unit_test(test_classify__the_cause_may_be_in_the_next_line),
		cmocka_unit_test(test_classify__internal_error_says_nothing_before_a_cause),
		cmocka_unit_test(test_classify__an_unsure_answer_is_permanent),
		cmocka_unit_test(test_classify__the_end_of_a_long_text_counts),
		cmocka_unit_test(test_classify__an_error_has_the_text_and_the_advice),
		cmocka_unit_test(test_rules__a_user_adds_rules),
		cmocka_unit_test(test_rules__a_set_stands_for_its_words),
		cmocka_unit_test(test_rules__a_user_replaces_a_built_in_rule),
		cmocka_unit_test(test_rules__every_mistake_is_reported_with_its_line),
		cmocka_unit_test(test_rules__a_set_must_be_known_and_have_words),
		cmocka_unit_test(test_rules__a_rule_without_when_or_example_is_refused),
		cmocka_unit_test(test_rules__each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
