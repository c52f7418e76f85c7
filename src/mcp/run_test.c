/*
 * run_test.c - handlers on the loop, on threads and asynchronously: each call is answered
 * once, whenever its handler ends.
 */
#include "mcp/run.h"

#include "mcp/exchange_fake.h"

#include "mcp/call.h"
#include "test/memory.h"

static fw_call *running;      /* of the tool "later" */
static atomic_uint started;   /* handlers on threads */
static atomic_bool may_go_on; /* they wait for it */
static unsigned resumed;

static fw_error *work(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "worked");
	return NULL;
}

static fw_error *break_off(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return fw_raise_file_not_found("a");
}

static fw_error *later(fw_call *call, void *ctx)
{
	(void)ctx;
	running = call;
	return NULL;
}

static fw_error *wait_on_thread(fw_call *call, void *ctx)
{
	(void)ctx;
	assert_false(fw_call_is_on_loop(call));
	atomic_fetch_add(&started, 1);
	while (!atomic_load(&may_go_on))
		(void)uv_sleep(1);
	fw_call_text(call, fw_call_is_cancelled(call) ? "cancelled" : "worked");
	return NULL;
}

static void resume(fw_call *call, void *ctx)
{
	(void)ctx;
	resumed++;
	fw_call_text(call, "resumed");
	fw_call_finish(call, NULL);
}

static fw_error *sleep_for(fw_call *call, void *ctx)
{
	fw_call_after(call, *(const uint32_t *)ctx, resume, NULL);
	return NULL;
}

static uint32_t sleep_ms;

static int setup(void **state)
{
	fw_tool tool = FW_TOOL_INIT;

	(void)state;
	fake_server_begin();
	fake_add_tool("work", work, FW_RUN_INLINE);
	fake_add_tool("break", break_off, FW_RUN_INLINE);
	fake_add_tool("later", later, FW_RUN_ASYNC);
	fake_add_tool("thread", wait_on_thread, FW_RUN_THREAD);
	tool.name = "sleep";
	tool.handler = sleep_for;
	tool.run = FW_RUN_ASYNC;
	tool.ctx = &sleep_ms;
	assert_null(fw_server_add_tool(server, &tool));
	tool.name = "late";
	tool.handler = later;
	tool.deadline_ms = 1;
	assert_null(fw_server_add_tool(server, &tool));
	running = NULL;
	atomic_store(&started, 0);
	atomic_store(&may_go_on, false);
	resumed = 0;
	sleep_ms = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_server_end();
	return 0;
}

#define CALL(tool) \
	FAKE_REQUEST("7", "tools/call", "{\"name\":\"" tool "\"," FAKE_META("{}") "}")

static void await_started(unsigned wanted)
{
	for (int i = 0; i < 20000 && atomic_load(&started) < wanted; i++)
		(void)uv_sleep(1);
	assert_int_equal(atomic_load(&started), wanted);
}

static void test_run__on_the_loop_answers_at_once(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("work"));
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "worked"));
	fake_receive(&fake, CALL("break"));
	assert_int_equal(fake.replies, 2);
	assert_true(fake_has(&fake, "file.not_found"));
	fw_exchange_gone(&fake.exchange);
}

static void test_run__asynchronous_answers_when_it_is_finished(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("later"));
	assert_int_equal(fake.replies, 0);
	assert_int_equal(server->calls.count, 1);
	fw_call_text(running, "done");
	fw_call_finish(running, NULL);
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "done"));
	fw_exchange_gone(&fake.exchange);
}

static void finish_elsewhere(void *ctx)
{
	fw_call_text(ctx, "from a thread");
	fw_call_finish(ctx, NULL);
}

static void test_run__finished_by_another_thread_is_answered_on_the_loop(void **state)
{
	uv_thread_t thread;
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("later"));
	assert_int_equal(uv_thread_create(&thread, finish_elsewhere, running), 0);
	(void)uv_thread_join(&thread);
	assert_int_equal(fake.replies, 0);
	fake_await(&fake.replies, 1);
	assert_true(fake_has(&fake, "from a thread"));
	fw_exchange_gone(&fake.exchange);
}

static void test_run__a_deadline_answers_and_the_late_result_is_dropped(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("late"));
	fake_await(&fake.replies, 1);
	assert_true(fake_has(&fake, "runtime.timeout"));
	assert_true(fw_call_is_cancelled(running));
	assert_int_equal(server->calls.count, 0);
	fw_call_text(running, "too late");
	fw_call_finish(running, fw_raise_file_not_found("a"));
	assert_int_equal(fake.replies, 1);
	fw_exchange_gone(&fake.exchange);
}

static void test_run__threads_beyond_the_limit_wait_for_a_free_one(void **state)
{
	struct fake fake;

	(void)state;
	server->limits.threads = 2;
	server->limits.threads_extra = 0;
	fake_init(&fake, false);
	for (int i = 0; i < 5; i++) {
		char text[512];

		(void)snprintf(text, sizeof text,
			       FAKE_REQUEST("%d", "tools/call",
					    "{\"name\":\"thread\"," FAKE_META("{}") "}"),
			       i);
		fake_receive(&fake, text);
	}
	await_started(2);
	assert_int_equal(server->calls.count, 5);
	atomic_store(&may_go_on, true);
	fake_await(&fake.replies, 5);
	assert_int_equal(atomic_load(&started), 5);
	assert_true(fake_has(&fake, "worked"));
	fw_exchange_gone(&fake.exchange);
}

static void test_run__a_waiting_call_that_is_cancelled_is_never_run(void **state)
{
	struct fake fake, waiting;

	(void)state;
	server->limits.threads = 1;
	server->limits.threads_extra = 0;
	fake_init(&fake, false);
	fake_init(&waiting, false);
	fake_receive(&fake, CALL("thread"));
	await_started(1);
	fake_receive(&waiting, CALL("thread"));
	assert_int_equal(server->calls.count, 2);
	/* A modern call ends with its connection. */
	fw_exchange_gone(&waiting.exchange);
	assert_int_equal(server->calls.count, 1);
	atomic_store(&may_go_on, true);
	fake_await(&fake.replies, 1);
	assert_int_equal(atomic_load(&started), 1);
	assert_int_equal(waiting.replies, 0);
	fw_exchange_gone(&fake.exchange);
}

static void test_run__a_timer_resumes_a_call(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("sleep"));
	assert_int_equal(fake.replies, 0);
	fake_await(&fake.replies, 1);
	assert_true(fake_has(&fake, "resumed"));
	assert_null(server->runners.laters);
	fw_exchange_gone(&fake.exchange);
}

static void test_run__timers_of_answered_calls_fire_when_the_server_is_freed(void **state)
{
	struct fake fake;

	(void)state;
	sleep_ms = 3600 * 1000;
	fake_init(&fake, false);
	fake_receive(&fake, CALL("sleep"));
	fw_exchange_gone(&fake.exchange);
	assert_int_equal(server->calls.count, 0);
	assert_int_equal(resumed, 0);
	fw_call_later_end(server);
	assert_int_equal(resumed, 1);
	assert_int_equal(fake.replies, 0);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* Only the calls lack memory, not the server. */
static void call_in_own_server(void)
{
	static const char *const CALLS[] = { CALL("work"), CALL("later") };
	fw_server *outer = server;
	size_t fail_at = test_memory.fail_at;
	struct fake fake;

	test_memory.fail_at = 0;
	fake_server_begin();
	fake_add_tool("work", work, FW_RUN_INLINE);
	fake_add_tool("later", later, FW_RUN_ASYNC);
	test_memory.calls = 0;
	test_memory.fail_at = fail_at;
	for (size_t i = 0; i < 2; i++) {
		fake_init(&fake, false);
		running = NULL;
		fake_receive(&fake, CALLS[i]);
		if (running)
			fw_call_finish(running, NULL);
		assert_int_equal(fake.replies, 1);
		fw_exchange_gone(&fake.exchange);
	}
	test_memory.fail_at = 0;
	fw_server_free(server);
	server = outer;
}

static void test_run__without_memory_each_call_is_answered_once(void **state)
{
	(void)state;
	each_allocation_fails(call_in_own_server);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: threads of the others may still release memory at their end. */
		WITH_SERVER(test_run__without_memory_each_call_is_answered_once),
		WITH_SERVER(test_run__on_the_loop_answers_at_once),
		WITH_SERVER(test_run__asynchronous_answers_when_it_is_finished),
		WITH_SERVER(test_run__finished_by_another_thread_is_answered_on_the_loop),
		WITH_SERVER(test_run__a_deadline_answers_and_the_late_result_is_dropped),
		WITH_SERVER(test_run__threads_beyond_the_limit_wait_for_a_free_one),
		WITH_SERVER(test_run__a_waiting_call_that_is_cancelled_is_never_run),
		WITH_SERVER(test_run__a_timer_resumes_a_call),
		WITH_SERVER(test_run__timers_of_answered_calls_fire_when_the_server_is_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
