/*
 * Pages: found, rendered, refused as problem documents. Those that answer later or
 * stream are in page_later_test.c.
 */
#include "base/json.h"
#include "mcp/page_fake.h"

/* ---- pages ------------------------------------------------------------------- */

static fw_error *greet(fw_page *page, void *ctx)
{
	fw_page_status(page, 201, "text/x-greeting");
	fw_page_write(page, ctx, strlen(ctx));
	fw_page_write(page, fw_page_query(page, "who"), 3);
	assert_null(fw_page_query(page, "what"));
	return NULL;
}

static fw_error *show_path(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_write(page, fw_page_path(page), strlen(fw_page_path(page)));
	return NULL;
}

static fw_error *break_off(fw_page *page, void *ctx)
{
	fw_error *err = fw_raise_server_overloaded(1, "pages");

	(void)ctx;
	fw_page_write(page, "half", 4);
	fw_error_set_retry_after(err, 1.2);
	return err;
}

static fw_error *flood(fw_page *page, void *ctx)
{
	static char block[1024 * 1024];

	(void)ctx;
	for (size_t i = 0; i <= server->limits.page_bytes; i += sizeof block)
		fw_page_write(page, block, sizeof block);
	return NULL;
}

static void add(const char *path, fw_page_fn *render, void *ctx)
{
	assert_null(fw_server_add_page(server, path, false, render, ctx));
}

static void test_page__is_rendered_with_its_status_and_type(void **state)
{
	(void)state;
	add("/hello", greet, (void *)"hello, ");
	get("/hello");
	assert_int_equal(status, 201);
	assert_string_equal(type, "text/x-greeting");
	assert_string_equal(body, "hello, you");
}

static void test_page__the_longest_path_wins_and_a_slash_takes_all_below(void **state)
{
	(void)state;
	add("/a/", show_path, NULL);
	add("/a/b", greet, (void *)"exact ");
	get("/a/x");
	assert_string_equal(body, "/a/x");
	get("/a/b");
	assert_string_equal(body, "exact you");
	get("/a/bc");
	assert_string_equal(body, "/a/bc");
	assert_int_equal(access_of("/a"), FW_PAGE_NONE);
	assert_int_equal(access_of("/a/"), FW_PAGE_GUARDED);
	assert_int_equal(access_of("/problems/x"), FW_PAGE_OPEN);
	assert_int_equal(access_of("/readyz"), FW_PAGE_OPEN);
	assert_int_equal(access_of("/healthz"), FW_PAGE_UNCHECKED);
}

static void test_page__a_failure_is_a_problem_document(void **state)
{
	(void)state;
	add("/fail", break_off, NULL);
	add("/flood", flood, NULL);
	get("/fail");
	expect_problem("server.overloaded", 503);
	assert_null(strstr(body, "half"));
	assert_int_equal(retry_after, 2);
	get("/nowhere");
	expect_problem("protocol.path_not_found", 404);
	assert_int_equal(retry_after, 0);
	get("/flood");
	expect_problem("tool.result_too_large", 500);
	fw_exchange_refuse(&exchange,
			   fw_raise_protocol_http_method_not_allowed("PUT", "GET, HEAD"));
	expect_problem("protocol.http_method_not_allowed", 405);
	assert_string_equal(allow, "GET, HEAD");
}

static fw_hold *held;

static bool hold_it(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	(void)ctx;
	assert_int_equal(outcome->kind, FW_OUTCOME_TRANSPORT_ERROR);
	assert_string_equal(outcome->method, "GET");
	held = hold;
	return true;
}

static void hold_replies(void)
{
	const fw_observer observer = { .struct_size = sizeof(fw_observer),
				       .replying = hold_it };

	assert_null(fw_server_add_observer(server, &observer));
}

static void test_page__a_refusal_that_is_held_leaves_when_it_is_let_go(void **state)
{
	(void)state;
	hold_replies();
	get("/nowhere");
	assert_int_equal(status, 0);
	fw_hold_release(held, NULL);
	expect_problem("protocol.path_not_found", 404);
	get("/nowhere");
	fw_hold_release(held, fw_raise_audit_log_failed("ENOSPC"));
	expect_problem("audit.log_failed", 500);
}

static void test_page__a_refusal_that_is_held_outlives_its_connection(void **state)
{
	(void)state;
	hold_replies();
	get("/nowhere");
	fw_exchange_gone(&exchange);
	memset(&exchange, 0xFF, sizeof exchange);
	fw_hold_release(held, NULL);
	assert_int_equal(status, 0);
}

/* A page that is there, some that every server has, one that is not. */
static void serve_without_memory(void)
{
	static const char *const paths[] = { "/here", "/readyz", "/problems/file-not-found",
					     "/nowhere" };
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_error *err;

	options.name = "test";
	options.version = "1";
	server = NULL;
	err = fw_server_new(&options, &server);
	if (!err)
		err = fw_server_add_page(server, "/here", true, show_path, NULL);
	for (size_t i = 0; !err && i < sizeof paths / sizeof *paths; i++) {
		get(paths[i]);
		assert_int_not_equal(status, 0);
		assert_true(body_len > 0);
	}
	fw_error_free(err);
	fw_server_free(server);
}

static void test_page__each_allocation_may_fail_and_everyone_has_an_answer(void **state)
{
	(void)state;
	each_allocation_fails(serve_without_memory);
}

static void refuse_path(const char *path, fw_page_fn *render)
{
	fw_error *err = fw_server_add_page(server, path, true, render, NULL);

	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
}

static void test_page__a_path_is_plain_and_taken_once(void **state)
{
	char path[32];

	(void)state;
	refuse_path("metrics", greet);
	refuse_path("/a?b", greet);
	refuse_path("/a/{b", greet);
	refuse_path("/a/x{b}", greet);
	refuse_path("/a/{}", greet);
	refuse_path("/readyz", greet);
	refuse_path("/x", NULL);
	refuse_path(NULL, greet);
	add("/x", greet, NULL);
	refuse_path("/x", greet);
	for (int i = 1; i < FW_LIMIT_PAGES; i++) {
		(void)snprintf(path, sizeof path, "/p%d", i);
		add(path, greet, NULL);
	}
	refuse_path("/one-more", greet);
}

/* ---- those that every server has ------------------------------------------------ */

static bool check(void *ctx, char *text, size_t size)
{
	(void)snprintf(text, size, "disk: %s", *(bool *)ctx ? "fine" : "full");
	return *(bool *)ctx;
}

static void test_page__ready_says_what_is_not(void **state)
{
	bool is_fine = true;

	(void)state;
	assert_null(fw_server__add_check(server, check, &is_fine));
	get("/readyz");
	assert_int_equal(status, 503);
	assert_non_null(strstr(body, "not ready\ncalls: 0 of "));
	server->state = FW_RUNNING;
	get("/readyz");
	assert_int_equal(status, 200);
	assert_memory_equal(body, "ready\n", 6);
	assert_non_null(strstr(body, "\ndisk: fine\n"));
	is_fine = false;
	get("/readyz");
	assert_int_equal(status, 503);
	assert_memory_equal(body, "not ready\n", 10);
	assert_non_null(strstr(body, "\ndisk: full\n"));
	server->state = FW_IDLE;
	get("/healthz");
	assert_string_equal(body, "ok\n");
}

/* The last part of `type` in what an encoder writes leads to the row's page. */
static void follow(const fw_row *row, fw_contract contract)
{
	fw_error *err = fw_row_example(row);
	char text[16384], path[256] = "/problems/";
	const char *at, *last;
	size_t len = fw_error_encode(err, contract, NULL, text, sizeof text);

	assert_true(len < sizeof text);
	at = strstr(text, "\"type\":\"http");
	assert_non_null(at);
	at += strlen("\"type\":\"");
	last = strstr(at, "/problems/") + strlen("/problems/");
	memcpy(path + strlen(path), last, strcspn(last, "\""));
	get(path);
	assert_int_equal(status, 200);
	fw_error_free(err);
}

static void test_page__every_type_uri_has_a_page_that_explains_it(void **state)
{
	const fw_row *row;

	(void)state;
	accepts = "application/json";
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		char line[160];

		follow(row, FW_OWLCLAW_API);
		(void)snprintf(line, sizeof line, "\"code\":\"%s\"", row->code);
		assert_non_null(strstr(body, line));
		follow(row, FW_CODEINTEL);
		(void)snprintf(line, sizeof line, "\"codeintel\":\"%s\"",
			       fw_row_code_in(row, FW_CODEINTEL));
		assert_non_null(strstr(body, line));
	}
}

static void test_page__a_problem_is_sent_in_the_form_that_is_wanted(void **state)
{
	yyjson_doc *doc;

	(void)state;
	get("/problems/file-not-found");
	assert_string_equal(type, "text/html; charset=utf-8");
	assert_non_null(strstr(body, "<h1>File Not Found</h1>"));
	assert_null(strstr(body, "<style"));
	accepts = "text/plain";
	get("/problems/FILE_NOT_FOUND");
	assert_string_equal(type, "text/plain; charset=utf-8");
	assert_memory_equal(body, "File Not Found\n\n", 16);
	accepts = "application/problem+json, */*;q=0.1";
	get("/problems/file.not_found");
	assert_string_equal(type, "application/json");
	doc = yyjson_read(body, body_len, 0);
	assert_non_null(doc);
	assert_string_equal(
		yyjson_get_str(fw_json_member(
			fw_json_member(yyjson_doc_get_root(doc), "contracts"), "kaiza")),
		"FILE_NOT_FOUND");
	yyjson_doc_free(doc);
	get("/problems/");
	doc = yyjson_read(body, body_len, 0);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), fw_registry_count(NULL));
	yyjson_doc_free(doc);
	accepts = NULL;
	get("/problems/");
	assert_non_null(strstr(body, "<a href=\"/problems/file.not_found\">"));
	get("/problems/no-such");
	expect_problem("protocol.path_not_found", 404);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_page__is_rendered_with_its_status_and_type),
		WITH_SERVER(test_page__the_longest_path_wins_and_a_slash_takes_all_below),
		WITH_SERVER(test_page__a_failure_is_a_problem_document),
		WITH_SERVER(test_page__a_refusal_that_is_held_leaves_when_it_is_let_go),
		WITH_SERVER(test_page__a_refusal_that_is_held_outlives_its_connection),
		WITH_SERVER(test_page__a_path_is_plain_and_taken_once),
		cmocka_unit_test(
			test_page__each_allocation_may_fail_and_everyone_has_an_answer),
		WITH_SERVER(test_page__ready_says_what_is_not),
		WITH_SERVER(test_page__every_type_uri_has_a_page_that_explains_it),
		WITH_SERVER(test_page__a_problem_is_sent_in_the_form_that_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
