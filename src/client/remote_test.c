/*
 * remote_test.c - a remote with a scripted link: matching, attribution, deadlines, and
 * the handshake in both eras.
 */
#include "client/remote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "client/link_impl.h"
#include "client/remote_impl.h"

static const char *const argv[] = { "x", NULL };

struct world {
	struct fw_loop loop;
	struct fw_remote *remote;
	struct fw_link link;
	char sent[8192];  /* every message, one per line */
	char seen[4096];  /* outcomes: "result|", "upstream.exited sent|" */
	char reason[256]; /* why it is down */
	bool is_broken;   /* sending fails */
};

static struct world *world_of(struct fw_link *link)
{
	return (struct world *)(void *)((char *)link - offsetof(struct world, link));
}

static fw_error *take(struct fw_link *link, const struct fw_link_message *message)
{
	struct world *world = world_of(link);
	size_t at = strlen(world->sent);

	if (world->is_broken) {
		fw_error *err = fw_raise_transport_broken_pipe("x");

		fw_error_set_delivery(err, FW_NOT_SENT);
		return err;
	}
	(void)snprintf(world->sent + at, sizeof world->sent - at, "%.*s\n", (int)message->len,
		       message->text);
	return NULL;
}

static void nothing(struct fw_link *link)
{
	(void)link;
}

static void note(struct world *world, const char *text)
{
	size_t at = strlen(world->seen);

	(void)snprintf(world->seen + at, sizeof world->seen - at, "%s|", text);
}

static void done(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	char text[128];

	if (err)
		(void)snprintf(text, sizeof text, "%s %s", fw_error_name(err),
			       fw_delivery_name(fw_error_delivery(err)));
	else
		(void)snprintf(text, sizeof text, "%s", reply->result.p ? "result" : "error");
	note(ctx, text);
	fw_error_free(err);
}

static void on_ready(void *ctx)
{
	note(ctx, "ready");
}

static void on_down(void *ctx, fw_error *err)
{
	char text[128];

	(void)snprintf(text, sizeof text, "down %s", fw_error_name(err));
	note(ctx, text);
	(void)snprintf(((struct world *)ctx)->reason, sizeof((struct world *)ctx)->reason, "%s",
		       fw_error_message(err));
	fw_error_free(err);
}

static void open_world(struct world *world)
{
	static const struct fw_link_ops ops = { .free = nothing, .send = take, .end = nothing };
	struct fw_remote_options options = { .target = { .name = "up", .argv = argv },
					     .on = { .ready = on_ready, .down = on_down },
					     .ctx = world };

	memset(world, 0, sizeof *world);
	assert_int_equal(fw_loop_init(&world->loop), 0);
	assert_null(fw_remote_new(&world->loop, NULL, &options, &world->remote));
	world->link = (struct fw_link){ .ops = &ops, .target = &world->remote->options.target };
	world->remote->link = &world->link;
	world->remote->state = FW_REMOTE_READY;
	world->remote->version = FW_V_2025_11_25;
}

static void close_world(struct world *world)
{
	fw_remote_free(world->remote);
	fw_loop_close(&world->loop);
}

static uint64_t call(struct world *world)
{
	uint64_t key = 0;

	assert_null(
		fw_remote_call(world->remote,
			       &(struct fw_remote_request){ .method = "tools/call",
							    .params = { "\"name\":\"x\"", 10 },
							    .done = done,
							    .ctx = world },
			       &key));
	return key;
}

static void hear(struct world *world, const char *line)
{
	fw_remote__callbacks.message(world->remote, 0, line, strlen(line));
}

static void test_remote__fails_a_call_as_soon_as_that_is_certain(void **state)
{
	static const struct {
		const char *line;
		const char *seen;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}", "result|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
		  "error|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"con",
		  "upstream.garbled replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}",
		  "upstream.wrong_id replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}",
		  "upstream.wrong_id replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", "upstream.invalid_reply replied|" },
		{ "{\"id\":1,\"result\":{\"content\":[]}}", "upstream.invalid_reply replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}",
		  "upstream.invalid_reply replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"resultType\":"
		  "\"x\"}}",
		  "upstream.invalid_reply replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}",
		  "upstream.invalid_reply replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}",
		  "error|" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]",
		  "upstream.invalid_reply replied|" },
		{ "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}",
		  "result|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]},\"error\":null}",
		  "result|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":{\"code\":1,"
		  "\"message\":\"\"}}",
		  "error|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":null}",
		  "upstream.invalid_reply replied|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":{\"content\":[]}}",
		  "upstream.invalid_reply replied|" },
		{ "[]", "" },
		{ "[INFO] ready", "" },
		{ "listening on port 3000", "" },
		{ "{\"level\":\"info\"}", "" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct world world;

		open_world(&world);
		assert_int_equal(call(&world), 1);
		hear(&world, rows[i].line);
		assert_string_equal(world.seen, rows[i].seen);
		close_world(&world);
	}
}

static void test_remote__a_broken_line_fails_no_call_while_two_are_open(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	(void)call(&world);
	(void)call(&world);
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
	hear(&world, "{\"broken");
	assert_string_equal(world.seen, "");
	assert_int_equal(fw_remote_counts(world.remote)->unmatched, 1);
	/* A readable id is enough for attribution. */
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"cut");
	assert_string_equal(world.seen, "upstream.garbled replied|");
	close_world(&world);
}

static void turn(struct world *world)
{
	for (int i = 0; i < 200 && world->remote->alarm_ms; i++)
		(void)uv_run(&world->loop.uv, UV_RUN_ONCE);
}

/* The gateway once crashed if the program ended before the unfinished line was examined. */
static void test_remote__a_cancelled_call_leaves_no_unfinished_line_to_look_at(void **state)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
	struct world world;

	(void)state;
	open_world(&world);
	assert_int_equal(call(&world), 1);
	fw_remote__partial(world.remote, text, sizeof text - 1);
	assert_true(world.remote->alarm_ms > 0);
	fw_remote_cancel(world.remote, 1, "no longer needed");
	assert_int_equal(world.remote->alarm_ms, 0);
	assert_string_equal(world.seen, "");
	close_world(&world);
}

static void test_remote__a_reply_behind_other_text_is_not_waited_for(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	(void)call(&world);
	hear(&world, "sends {\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}");
	hear(&world, "got {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
	assert_int_equal(world.remote->alarm_ms, 0);
	hear(&world, "Ready.{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
	assert_string_equal(world.seen, "");
	turn(&world);
	assert_string_equal(world.seen, "upstream.garbled sent|");
	/* If the server had only logged the message, the answer follows and counts. */
	(void)call(&world);
	hear(&world, "sends {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}");
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}");
	assert_string_equal(world.seen, "upstream.garbled sent|result|");
	close_world(&world);
}

static void test_remote__a_crash_report_is_not_that_of_the_next_call(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	(void)call(&world);
	hear(&world, "Traceback (most recent call last):");
	(void)call(&world);
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
	turn(&world);
	assert_string_equal(world.seen, "result|");
	close_world(&world);
}

static void test_remote__cancels_and_drops_late_replies(void **state)
{
	struct world world;
	uint64_t key;

	(void)state;
	open_world(&world);
	key = call(&world);
	fw_remote_cancel(world.remote, key, "why");
	assert_non_null(strstr(world.sent,
			       "\"notifications/cancelled\",\"params\":{\"requestId\":1,"
			       "\"reason\":\"why\"}"));
	(void)call(&world);
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
	assert_string_equal(world.seen, "");
	assert_int_equal(fw_remote_counts(world.remote)->late, 1);
	close_world(&world);
}

static void test_remote__reports_the_end_of_the_process_to_each_call(void **state)
{
	const struct fw_link_ending ending = { .how = FW_LINK_CRASHED, .signum = 11 };
	struct world world;

	(void)state;
	open_world(&world);
	(void)call(&world);
	(void)call(&world);
	fw_remote__callbacks.ended(world.remote, &ending);
	assert_string_equal(
		world.seen,
		"down upstream.crashed|upstream.crashed sent|upstream.crashed sent|");
	assert_int_equal(fw_remote_state(world.remote), FW_REMOTE_DOWN);
	close_world(&world);
}

static void test_remote__greets_in_both_eras(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	world.remote->state = FW_REMOTE_GREETING;
	world.remote->version = FW_V_NONE;
	fw_remote__greet(world.remote);
	assert_non_null(strstr(world.sent, "\"server/discover\""));
	hear(&world,
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}}");
	assert_non_null(strstr(world.sent, "\"initialize\""));
	hear(&world,
	     "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"2025-06-18\"}}");
	assert_string_equal(world.seen, "ready|");
	assert_non_null(strstr(world.sent, "notifications/initialized"));
	assert_int_equal(fw_remote_version(world.remote), FW_V_2025_06_18);
	close_world(&world);
	open_world(&world);
	world.remote->state = FW_REMOTE_GREETING;
	world.remote->version = FW_V_NONE;
	fw_remote__greet(world.remote);
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2026-"
		     "07-28\"]}}");
	assert_string_equal(world.seen, "ready|");
	assert_true(fw_remote_is_modern(world.remote));
	(void)call(&world);
	assert_non_null(
		strstr(world.sent, "\"io.modelcontextprotocol/clientCapabilities\":{}"));
	close_world(&world);
}

static void begin_legacy_first(struct world *world)
{
	open_world(world);
	world->remote->state = FW_REMOTE_GREETING;
	world->remote->version = FW_V_NONE;
	fw_remote_prefer_legacy(world->remote);
	fw_remote__greet(world->remote);
	assert_non_null(strstr(world->sent, "\"initialize\""));
	assert_null(strstr(world->sent, "\"server/discover\""));
}

static void test_remote__a_legacy_client_comes_with_initialize_first(void **state)
{
	static const char refusal[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
		"\"message\":\"old\"}}";
	const struct fw_link_ending ending = { .how = FW_LINK_EXITED, .status = 1 };
	struct world world;

	(void)state;
	begin_legacy_first(&world);
	hear(&world,
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-11-25\"}}");
	assert_string_equal(world.seen, "ready|");
	assert_false(fw_remote_is_modern(world.remote));
	close_world(&world);

	/* A server of the modern era only. */
	begin_legacy_first(&world);
	hear(&world, refusal);
	assert_non_null(strstr(world.sent, "\"server/discover\""));
	hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"supportedVersions\":[\"2026-"
		     "07-28\"]}}");
	assert_string_equal(world.seen, "ready|");
	assert_true(fw_remote_is_modern(world.remote));
	close_world(&world);

	/* A server of neither era: the reason is its answer to initialize, even if it
	 * exits after that. */
	for (int exits = 0; exits < 2; exits++) {
		begin_legacy_first(&world);
		hear(&world, refusal);
		if (exits)
			fw_remote__callbacks.ended(world.remote, &ending);
		else
			hear(&world, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,"
				     "\"message\":\"new\"}}");
		assert_string_equal(world.seen, "down upstream.start_failed|");
		assert_non_null(strstr(world.reason, "it refused the handshake: old"));
		close_world(&world);
	}

	/* It is freed with the refusal. */
	begin_legacy_first(&world);
	hear(&world, refusal);
	close_world(&world);
}

static void test_remote__a_stream_is_not_a_reply(void **state)
{
	struct world world;

	(void)state;
	open_world(&world);
	assert_null(
		fw_remote_call(world.remote,
			       &(struct fw_remote_request){ .method = "subscriptions/listen",
							    .done = done,
							    .is_stream = true,
							    .ctx = &world },
			       NULL));
	assert_int_equal(fw_remote_outstanding(world.remote), 0);
	(void)call(&world);
	hear(&world, "{\"jsonrpc\":\"2.0\",\"cut");
	assert_string_equal(world.seen, "upstream.garbled replied|");
	close_world(&world);
}

static void test_remote__a_call_that_cannot_be_sent_is_refused(void **state)
{
	struct world world;
	fw_error *err;

	(void)state;
	open_world(&world);
	world.is_broken = true;
	err = fw_remote_call(world.remote,
			     &(struct fw_remote_request){
				     .method = "tools/call", .done = done, .ctx = &world },
			     NULL);
	assert_int_equal(fw_error_code(err), FW_TRANSPORT_BROKEN_PIPE);
	assert_int_equal(fw_error_delivery(err), FW_NOT_SENT);
	assert_int_equal(fw_remote_outstanding(world.remote), 0);
	assert_string_equal(world.seen, "");
	fw_error_free(err);
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remote__fails_a_call_as_soon_as_that_is_certain),
		cmocka_unit_test(test_remote__a_broken_line_fails_no_call_while_two_are_open),
		cmocka_unit_test(
			test_remote__a_cancelled_call_leaves_no_unfinished_line_to_look_at),
		cmocka_unit_test(test_remote__a_reply_behind_other_text_is_not_waited_for),
		cmocka_unit_test(test_remote__a_crash_report_is_not_that_of_the_next_call),
		cmocka_unit_test(test_remote__cancels_and_drops_late_replies),
		cmocka_unit_test(test_remote__reports_the_end_of_the_process_to_each_call),
		cmocka_unit_test(test_remote__greets_in_both_eras),
		cmocka_unit_test(test_remote__a_legacy_client_comes_with_initialize_first),
		cmocka_unit_test(test_remote__a_stream_is_not_a_reply),
		cmocka_unit_test(test_remote__a_call_that_cannot_be_sent_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
