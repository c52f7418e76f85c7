/*
 * Pages with methods, parameters, bodies and callers; pages that answer later, from
 * another thread, or as a stream of events.
 */
#include "mcp/page_fake.h"

#include "mcp/post.h"
#include "mcp/principal.h"

/* ---- routes ------------------------------------------------------------------ */

static fw_page *kept;
static unsigned gone;
static bool finishes_when_gone;

static fw_error *tell(fw_page *page, void *ctx)
{
	const fw_principal *who = fw_page_principal(page);
	char text[512];
	size_t len = 0;
	const char *given = fw_page_body(page, &len);
	const char *name = fw_page_parameter(page, "name");
	const char *id = fw_page_parameter(page, "id");

	(void)snprintf(text, sizeof text, "%s %s %s name=%s id=%s body=%.*s who=%s by %s",
		       (const char *)ctx, fw_page_method(page), fw_page_path(page),
		       name ? name : "-", id ? id : "-", (int)len, given,
		       fw_principal_name(who), fw_proof_name(fw_principal_proof(who)));
	fw_page_write(page, text, strlen(text));
	return NULL;
}

static void note_gone(fw_page *page, void *ctx)
{
	(void)ctx;
	assert_true(fw_page_is_gone(page));
	gone++;
	if (finishes_when_gone)
		fw_page_finish(page, NULL);
}

static void route(const char *path, unsigned methods, fw_page_fn *handle, void *ctx)
{
	const fw_route made = { .struct_size = sizeof made,
				.path = path,
				.methods = methods,
				.body_bytes = 100,
				.deadline_ms = 50,
				.handle = handle,
				.gone = note_gone,
				.ctx = ctx };

	assert_null(fw_server_add_route(server, &made));
}

static void expect_text(const char *text)
{
	assert_int_equal(status, 200);
	assert_string_equal(body, text);
}

static void test_route__takes_methods_and_parameters(void **state)
{
	(void)state;
	route("/tools/{name}", FW_ROUTE_POST | FW_ROUTE_DELETE, tell, (void *)"one");
	route("/tools/{name}", FW_ROUTE_GET, tell, (void *)"show");
	route("/tools/{name}/runs/{id}", FW_ROUTE_PUT, tell, (void *)"run");
	route("/tools/list", FW_ROUTE_GET, tell, (void *)"list");
	route("/tools/", FW_ROUTE_GET, tell, (void *)"tree");
	ask_body("POST", "/tools/read_file", "{\"a\":1}");
	expect_text(
		"one POST /tools/read_file name=read_file id=- body={\"a\":1} who=anonymous "
		"by anonymous");
	ask_body("DELETE", "/tools/x", NULL);
	expect_text("one DELETE /tools/x name=x id=- body= who=anonymous by anonymous");
	get("/tools/x");
	expect_text("show GET /tools/x name=x id=- body= who=anonymous by anonymous");
	ask_body("PUT", "/tools/a b/runs/9", "");
	expect_text("run PUT /tools/a b/runs/9 name=a b id=9 body= who=anonymous by anonymous");
	get("/tools/a%2Fb%2fc");
	expect_text(
		"show GET /tools/a%2Fb%2fc name=a/b/c id=- body= who=anonymous by anonymous");
	ask_body("PUT", "/tools/%2F/runs/9%2", "");
	expect_text(
		"run PUT /tools/%2F/runs/9%2 name=/ id=9%2 body= who=anonymous by anonymous");
	get("/tools/a%252Fb%25");
	expect_text(
		"show GET /tools/a%252Fb%25 name=a%2Fb% id=- body= who=anonymous by anonymous");
	get("/tools/list");
	expect_text("list GET /tools/list name=- id=- body= who=anonymous by anonymous");
	get("/tools/x/y");
	expect_text("tree GET /tools/x/y name=- id=- body= who=anonymous by anonymous");
	get("/tools/");
	expect_text("tree GET /tools/ name=- id=- body= who=anonymous by anonymous");
}

static void expect_terms(const char *method, const char *path, bool takes, uint64_t bytes,
			 const char *allowed)
{
	struct fw_page_terms terms;

	fw_server__page_terms(server, method, path, &terms);
	assert_int_equal(terms.access, FW_PAGE_GUARDED);
	assert_int_equal(terms.takes_method, takes);
	assert_int_equal(terms.route != NULL, takes);
	assert_int_equal(terms.body_bytes, bytes);
	assert_string_equal(terms.allow, allowed);
}

static void test_route__a_method_that_is_not_taken_says_which_are(void **state)
{
	(void)state;
	route("/tools/{name}", FW_ROUTE_POST, tell, (void *)"");
	route("/tools/", FW_ROUTE_GET, tell, (void *)"");
	expect_terms("POST", "/tools/x", true, 100, "");
	/* Not by the tree, which is less specific. */
	expect_terms("GET", "/tools/x", false, 0, "POST");
	expect_terms("BREW", "/tools/x", false, 0, "POST");
	route("/tools/{name}", FW_ROUTE_GET | FW_ROUTE_DELETE, tell, (void *)"");
	expect_terms("HEAD", "/tools/x", true, 100, "");
	expect_terms("BREW", "/tools/x", false, 0, "GET, HEAD, POST, DELETE");
	assert_int_equal(access_of("/tool"), FW_PAGE_NONE);
}

/* A path shorter than the fixed part of a pattern, with as many slashes. */
static void test_route__a_pattern_takes_only_paths_of_its_segments(void **state)
{
	(void)state;
	route("/a_long_name/{id}", FW_ROUTE_GET, tell, (void *)"one");
	route("/x/{id}/below/", FW_ROUTE_GET, tell, (void *)"tree");
	assert_int_equal(access_of("/a/b"), FW_PAGE_NONE);
	assert_int_equal(access_of("/a_long_name/"), FW_PAGE_NONE);
	assert_int_equal(access_of("/a_long_name/b"), FW_PAGE_GUARDED);
	assert_int_equal(access_of("/a_long_name/b/c"), FW_PAGE_NONE);
	assert_int_equal(access_of("/x/b/below"), FW_PAGE_NONE);
	assert_int_equal(access_of("/x/b/below/"), FW_PAGE_GUARDED);
	assert_int_equal(access_of("/x/b/below/c/d"), FW_PAGE_GUARDED);
	assert_int_equal(access_of("/x//below/c"), FW_PAGE_NONE);
}

static void test_route__the_largest_body_is_at_most_a_message(void **state)
{
	fw_route made = { .struct_size = sizeof made,
			  .path = "/big",
			  .methods = FW_ROUTE_POST,
			  .body_bytes = UINT64_MAX,
			  .handle = tell };

	(void)state;
	assert_null(fw_server_add_route(server, &made));
	expect_terms("POST", "/big", true, server->limits.message_bytes, "");
}

static void refuse_route(fw_route made)
{
	fw_error *err = fw_server_add_route(server, &made);

	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	fw_error_free(err);
}

static void test_route__what_is_not_valid_is_refused(void **state)
{
	(void)state;
	route("/x/{a}", FW_ROUTE_GET, tell, NULL);
	refuse_route((fw_route){
		.struct_size = sizeof(fw_route), .path = "/x/{a}", .handle = tell });
	refuse_route((fw_route){ .struct_size = sizeof(fw_route), .path = "/y" });
	refuse_route((fw_route){ .struct_size = sizeof(fw_route), .handle = tell });
	refuse_route((fw_route){ .path = "/y", .handle = tell });
	refuse_route((fw_route){
		.struct_size = sizeof(fw_route), .path = "/y", .methods = 64, .handle = tell });
}

static void test_page__knows_who_is_calling(void **state)
{
	static const char *const scopes[] = { "incidents", "tool:echo" };

	(void)state;
	assert_null(fw_principal_new(FW_PROOF_TOKEN, "ada", scopes, 2, &caller));
	assert_true(fw_principal_has_scope(caller, "tool:echo"));
	assert_false(fw_principal_has_scope(caller, "tool:ech"));
	assert_string_equal(fw_principal_scope_at(caller, 1), "tool:echo");
	assert_null(fw_principal_scope_at(caller, 2));
	route("/who", 0, tell, (void *)"");
	get("/who");
	expect_text(" GET /who name=- id=- body= who=ada by token");
	fw_principal_unref(caller);
	assert_true(fw_principal_has_scope(fw_principal_process(), "anything"));
	assert_false(fw_principal_has_scope(fw_principal_anonymous(), "read"));
}

/* ---- later --------------------------------------------------------------------- */

static fw_error *keep(fw_page *page, void *ctx)
{
	(void)ctx;
	fw_page_set_header(page, "X-Kept", "yes");
	FW_TRY(fw_page_keep(page));
	kept = page;
	return NULL;
}

static void open_later(void)
{
	route("/later", FW_ROUTE_GET | FW_ROUTE_POST, keep, NULL);
	server->state = FW_RUNNING;
	ask_body("POST", "/later", "held");
	assert_int_equal(status, 0);
	assert_true(fw_exchange_is_busy(&exchange));
	assert_false(fw_page_is_gone(kept));
}

static int end_later(void **state)
{
	assert_null(server->pages.open);
	assert_int_equal(server->pages.pending, 0);
	assert_int_equal(server->pages.streams, 0);
	return end(state);
}

static int begin_later(void **state)
{
	gone = 0;
	finishes_when_gone = false;
	return begin(state);
}

static void write_kept(const char *text)
{
	fw_page_write(kept, text, strlen(text));
}

static void test_page__may_answer_later(void **state)
{
	size_t len = 0;

	(void)state;
	open_later();
	assert_string_equal(fw_page_body(kept, &len), "held");
	assert_int_equal(len, 4);
	write_kept("done");
	fw_page_finish(kept, NULL);
	expect_text("done");
	assert_string_equal(headers, "X-Kept: yes\r\n");
	assert_false(fw_exchange_is_busy(&exchange));
	assert_int_equal(gone, 0);
}

static void finish_elsewhere(void *arg)
{
	write_kept("from a thread");
	fw_page_finish(kept, arg);
}

static void run_elsewhere(void (*work)(void *), void *arg)
{
	uv_thread_t thread;

	assert_int_equal(uv_thread_create(&thread, work, arg), 0);
	assert_int_equal(uv_thread_join(&thread), 0);
}

static void test_page__may_answer_from_another_thread(void **state)
{
	(void)state;
	open_later();
	run_elsewhere(finish_elsewhere, NULL);
	assert_int_equal(status, 0);
	fw_server__take_posts(server);
	expect_text("from a thread");
}

static void test_page__may_fail_from_another_thread(void **state)
{
	(void)state;
	open_later();
	run_elsewhere(finish_elsewhere, fw_raise_server_overloaded(1, "pages"));
	fw_server__take_posts(server);
	expect_problem("server.overloaded", 503);
	assert_string_equal(headers, "X-Kept: yes\r\n");
}

static void test_page__its_client_goes_away(void **state)
{
	(void)state;
	open_later();
	fw_exchange_gone(&exchange);
	memset(&exchange, 0xFF, sizeof exchange);
	assert_int_equal(gone, 1);
	assert_true(fw_page_is_gone(kept));
	write_kept("for nobody");
	assert_false(fw_page_send(kept, &(fw_page_event){ .data = "x", .len = 1 }));
	fw_page_finish(kept, fw_raise_server_overloaded(1, "pages"));
	assert_int_equal(status, 0);
}

static void test_page__is_finished_when_its_client_goes_away(void **state)
{
	(void)state;
	finishes_when_gone = true;
	open_later();
	fw_exchange_gone(&exchange);
	assert_int_equal(gone, 1);
	assert_int_equal(status, 0);
}

static void test_page__its_client_goes_away_while_another_thread_answers(void **state)
{
	(void)state;
	open_later();
	run_elsewhere(finish_elsewhere, NULL);
	fw_exchange_gone(&exchange);
	memset(&exchange, 0xFF, sizeof exchange);
	fw_server__take_posts(server);
	assert_int_equal(status, 0);
}

static void wait_for_answer(void)
{
	for (int i = 0; i < 60000 && !status; i++)
		if (uv_run(server->loop, UV_RUN_NOWAIT) && !status)
			uv_sleep(1);
}

static void test_page__that_never_answers_is_too_late(void **state)
{
	(void)state;
	open_later();
	wait_for_answer();
	expect_problem("runtime.timeout", 504);
	assert_int_equal(gone, 1);
	/* Its own answer comes too late, and is not sent. */
	status = 0;
	write_kept("too late");
	fw_page_finish(kept, NULL);
	assert_int_equal(status, 0);
}

static void test_page__has_the_time_of_a_limit_unless_its_route_says(void **state)
{
	const fw_route made = { .struct_size = sizeof made, .path = "/slow", .handle = keep };

	(void)state;
	server->limits.page_ms = 20;
	assert_null(fw_server_add_route(server, &made));
	get("/slow");
	wait_for_answer();
	expect_problem("runtime.timeout", 504);
	fw_page_finish(kept, NULL);
}

static fw_error *answer_twice(fw_page *page, void *ctx)
{
	FW_TRY(fw_page_keep(page));
	fw_page_write(page, "first", 5);
	fw_page_finish(page, ctx ? fw_raise_server_overloaded(1, "x") : NULL);
	return fw_raise_internal_unexpected("second");
}

static fw_error *keep_and_fail(fw_page *page, void *ctx)
{
	(void)ctx;
	FW_TRY(keep(page, NULL));
	return fw_raise_server_overloaded(1, "x");
}

static fw_error *keep_twice(fw_page *page, void *ctx)
{
	(void)ctx;
	FW_TRY(fw_page_keep(page));
	fw_page_finish(page, fw_page_keep(page));
	return NULL;
}

static void test_page__of_two_answers_the_first_counts(void **state)
{
	(void)state;
	route("/twice", 0, answer_twice, NULL);
	route("/fail-twice", 0, answer_twice, &status);
	route("/kept-twice", 0, keep_twice, NULL);
	route("/kept-and-failed", 0, keep_and_fail, NULL);
	get("/twice");
	expect_text("first");
	get("/fail-twice");
	expect_problem("server.overloaded", 503);
	get("/kept-twice");
	expect_problem("internal.api_misuse", 500);
	get("/kept-and-failed");
	expect_problem("server.overloaded", 503);
	status = 0;
	fw_page_finish(kept, NULL);
	assert_int_equal(status, 0);
}

static void test_page__the_server_stops_before_it_answers(void **state)
{
	(void)state;
	open_later();
	fw_pages_refuse(server);
	expect_problem("server.shutting_down", 503);
	assert_int_equal(gone, 1);
	fw_page_finish(kept, NULL);
}

static fw_error *bad_header(fw_page *page, void *ctx)
{
	fw_page_set_header(page, "X-Bad", ctx);
	return NULL;
}

static void test_page__a_header_cannot_begin_another(void **state)
{
	static char long_value[FW_LIMIT_PAGE_HEADER_BYTES + 1];

	(void)state;
	memset(long_value, 'x', sizeof long_value - 1);
	route("/split", 0, bad_header, (void *)"a\r\nSet-Cookie: b");
	route("/long", 0, bad_header, long_value);
	get("/split");
	expect_problem("internal.unexpected", 500);
	assert_null(strstr(headers, "Cookie"));
	get("/long");
	expect_problem("internal.unexpected", 500);
}

/* ---- streams ------------------------------------------------------------------------ */

static bool tick(void)
{
	return fw_page_send(
		kept, &(fw_page_event){ .data = "1", .len = 1, .name = "tick", .id = "7" });
}

static void tick_elsewhere(void *arg)
{
	*(bool *)arg = tick();
}

static void test_stream__events_come_from_any_thread(void **state)
{
	bool is_sent = false;

	(void)state;
	open_later();
	assert_true(tick());
	assert_string_equal(event, "tick|1|7");
	assert_string_equal(headers, "X-Kept: yes\r\n");
	assert_int_equal(server->pages.streams, 1);
	assert_int_equal(server->pages.pending, 0);
	run_elsewhere(tick_elsewhere, &is_sent);
	assert_true(is_sent);
	assert_int_equal(events, 1);
	fw_server__take_posts(server);
	assert_int_equal(events, 2);
	assert_false(fw_page_send(kept, &(fw_page_event){ .data = "a\nb", .len = 3 }));
	assert_false(fw_page_send(
		kept, &(fw_page_event){ .data = "", .len = 0, .name = "a\ndata: b" }));
	fw_page_finish(kept, NULL);
	assert_int_equal(closes, 1);
	assert_int_equal(status, 0);
}

static void test_stream__has_no_deadline_and_ends_with_the_server(void **state)
{
	(void)state;
	open_later();
	assert_true(tick());
	assert_int_equal(fw_pages_expire(server, UINT64_MAX), 0);
	fw_pages_refuse(server);
	assert_int_equal(closes, 0);
	fw_pages_end(server);
	assert_int_equal(closes, 1);
	assert_int_equal(gone, 1);
	fw_page_finish(kept, NULL);
}

static void test_stream__a_failure_is_its_last_event(void **state)
{
	(void)state;
	open_later();
	assert_true(tick());
	fw_page_finish(kept, fw_raise_server_overloaded(1, "x"));
	/* The transport sends a reply on a stream as its last event. */
	expect_problem("server.overloaded", 503);
}

static void test_stream__their_number_is_limited(void **state)
{
	(void)state;
	server->limits.page_streams = 0;
	open_later();
	assert_false(tick());
	expect_problem("server.overloaded", 503);
	assert_int_equal(retry_after, 1);
	fw_page_finish(kept, NULL);
}

static void test_stream__head_has_no_events(void **state)
{
	(void)state;
	route("/events", FW_ROUTE_GET, keep, NULL);
	ask_body("HEAD", "/events", NULL);
	assert_false(tick());
	assert_int_equal(status, 200);
	assert_string_equal(type, "text/event-stream");
	assert_int_equal(events, 0);
	fw_page_finish(kept, NULL);
}

static void flood_elsewhere(void *arg)
{
	unsigned *sent = arg;

	while (tick())
		++*sent;
}

static void test_stream__what_waits_for_the_loop_is_bounded(void **state)
{
	unsigned sent = 0;

	(void)state;
	server->limits.http_queue_bytes = 100;
	open_later();
	run_elsewhere(flood_elsewhere, &sent);
	assert_int_equal(sent, 51);
	fw_server__take_posts(server);
	assert_int_equal(events, 51);
	assert_true(tick());
	fw_page_finish(kept, NULL);
}

static void test_stream__its_client_goes_away(void **state)
{
	bool is_sent = false;

	(void)state;
	open_later();
	assert_true(tick());
	run_elsewhere(tick_elsewhere, &is_sent);
	fw_exchange_gone(&exchange);
	memset(&exchange, 0xFF, sizeof exchange);
	fw_server__take_posts(server);
	assert_int_equal(events, 1);
	assert_int_equal(gone, 1);
	assert_false(tick());
	fw_page_finish(kept, NULL);
}

/* ---- tools --------------------------------------------------------------------------------- */

static fw_error *call_tool(fw_page *page, void *ctx)
{
	size_t len = 0;
	const char *text = fw_page_body(page, &len);

	(void)ctx;
	fw_page_set_header(page, "X-Called", "yes");
	(void)fw_page_call_tool(page, fw_page_parameter(page, "name"), text, len);
	return NULL;
}

static fw_error *greet(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_progress(call, 1, 2, "half");
	fw_call_log(call, FW_LOG_ALERT, NULL, "said");
	fw_call_textf(call, "hello %s", fw_call_string(call, "name", NULL));
	return NULL;
}

static fw_error *refuse(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return fw_raise_file_not_found("a.txt");
}

static fw_call *later_call;

static fw_error *greet_later(fw_call *call, void *ctx)
{
	(void)ctx;
	later_call = call;
	return NULL;
}

static void add_tool(const char *name, fw_handler *handler, fw_run run)
{
	const fw_tool tool = {
		FW_TOOL_DEFAULTS,
		.name = name,
		.handler = handler,
		.run = run,
		.input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
				"\"string\"}},\"required\":[\"name\"]}",
	};

	assert_null(fw_server_add_tool(server, &tool));
}

static void open_tools(void)
{
	route("/call/{name}", FW_ROUTE_POST, call_tool, NULL);
	add_tool("greet", greet, FW_RUN_INLINE);
	add_tool("refuse", refuse, FW_RUN_INLINE);
	add_tool("later", greet_later, FW_RUN_ASYNC);
	server->state = FW_RUNNING;
}

static void test_tool__its_result_is_the_answer_of_a_page(void **state)
{
	(void)state;
	open_tools();
	ask_body("POST", "/call/greet", "{\"name\":\"Ada\"}");
	expect_text("{\"content\":[{\"type\":\"text\",\"text\":\"hello Ada\"}]}");
	assert_string_equal(headers, "X-Called: yes\r\n");
	assert_int_equal(events, 0);
	ask_body("POST", "/call/greet", "{}");
	expect_problem("input.missing_field", 400);
	ask_body("POST", "/call/greet", "{\"name\"");
	expect_problem("protocol.parse_error", 400);
	ask_body("POST", "/call/greet", "7");
	expect_problem("protocol.invalid_params", 400);
	ask_body("POST", "/call/refuse", "{\"name\":\"x\"}");
	expect_problem("file.not_found", 404);
	assert_string_equal(headers, "X-Called: yes\r\n");
	ask_body("POST", "/call/nobody", "{}");
	expect_problem("protocol.unknown_tool", 404);
	server->limits.in_flight = 0;
	ask_body("POST", "/call/greet", "{\"name\":\"Ada\"}");
	expect_problem("server.overloaded", 503);
	server->state = FW_DRAINING;
	ask_body("POST", "/call/greet", "{\"name\":\"Ada\"}");
	expect_problem("server.shutting_down", 503);
	server->state = FW_IDLE;
}

static void test_tool__its_client_goes_away(void **state)
{
	(void)state;
	open_tools();
	ask_body("POST", "/call/later", "{\"name\":\"x\"}");
	assert_true(fw_exchange_is_busy(&exchange));
	fw_exchange_gone(&exchange);
	memset(&exchange, 0xFF, sizeof exchange);
	assert_true(fw_call_is_cancelled(later_call));
	fw_call_finish(later_call, NULL);
	assert_int_equal(status, 0);
	assert_null(server->calls.first);
}

/* ---- files, memory ---------------------------------------------------------------------- */

static void test_file__is_sent_once_and_then_revalidated(void **state)
{
	char etag[64];
	const char *at;

	(void)state;
	get("/assets/page.css");
	assert_int_equal(status, 200);
	assert_string_equal(type, "text/css; charset=utf-8");
	assert_int_equal(body_len, fw_page_assets[0].len);
	assert_memory_equal(body, fw_page_assets[0].bytes, body_len);
	assert_non_null(strstr(headers, "Cache-Control: public, no-cache\r\n"));
	at = strstr(headers, "ETag: ");
	assert_non_null(at);
	(void)snprintf(etag, sizeof etag, "\"other\", W/%.*s", (int)strcspn(at + 6, "\r"),
		       at + 6);
	if_none_match = etag;
	get("/assets/page.css");
	assert_int_equal(status, 304);
	assert_int_equal(body_len, 0);
	if_none_match = "\"other\"";
	get("/assets/page.css");
	assert_int_equal(status, 200);
	get("/assets/../page.css");
	expect_problem("protocol.path_not_found", 404);
	get("/assets/");
	expect_problem("protocol.path_not_found", 404);
}

static void serve_without_memory(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const fw_route made = { .struct_size = sizeof made,
				.path = "/later/{x}",
				.methods = FW_ROUTE_POST,
				.handle = keep };
	fw_error *err;

	options.name = "test";
	options.version = "1";
	server = NULL;
	caller = NULL;
	kept = NULL;
	err = fw_server_new(&options, &server);
	if (!err)
		err = fw_server_add_route(server, &made);
	if (!err) {
		ask_body("POST", "/later/1", "body");
		if (kept) {
			write_kept("done");
			(void)tick();
			run_elsewhere(finish_elsewhere, NULL);
			fw_server__take_posts(server);
		}
		assert_true(status || closes);
	}
	fw_error_free(err);
	fw_server_free(server);
}

static void test_page__each_allocation_may_fail_and_there_is_an_answer(void **state)
{
	(void)state;
	each_allocation_fails(serve_without_memory);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, begin_later, end_later)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_route__takes_methods_and_parameters),
		WITH_SERVER(test_route__a_method_that_is_not_taken_says_which_are),
		WITH_SERVER(test_route__a_pattern_takes_only_paths_of_its_segments),
		WITH_SERVER(test_route__the_largest_body_is_at_most_a_message),
		WITH_SERVER(test_route__what_is_not_valid_is_refused),
		WITH_SERVER(test_page__knows_who_is_calling),
		WITH_SERVER(test_page__may_answer_later),
		WITH_SERVER(test_page__may_answer_from_another_thread),
		WITH_SERVER(test_page__may_fail_from_another_thread),
		WITH_SERVER(test_page__its_client_goes_away),
		WITH_SERVER(test_page__is_finished_when_its_client_goes_away),
		WITH_SERVER(test_page__its_client_goes_away_while_another_thread_answers),
		WITH_SERVER(test_page__that_never_answers_is_too_late),
		WITH_SERVER(test_page__has_the_time_of_a_limit_unless_its_route_says),
		WITH_SERVER(test_page__of_two_answers_the_first_counts),
		WITH_SERVER(test_page__the_server_stops_before_it_answers),
		WITH_SERVER(test_page__a_header_cannot_begin_another),
		WITH_SERVER(test_stream__events_come_from_any_thread),
		WITH_SERVER(test_stream__has_no_deadline_and_ends_with_the_server),
		WITH_SERVER(test_stream__a_failure_is_its_last_event),
		WITH_SERVER(test_stream__their_number_is_limited),
		WITH_SERVER(test_stream__head_has_no_events),
		WITH_SERVER(test_stream__what_waits_for_the_loop_is_bounded),
		WITH_SERVER(test_stream__its_client_goes_away),
		WITH_SERVER(test_tool__its_result_is_the_answer_of_a_page),
		WITH_SERVER(test_tool__its_client_goes_away),
		WITH_SERVER(test_file__is_sent_once_and_then_revalidated),
		cmocka_unit_test(test_page__each_allocation_may_fail_and_there_is_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
