/*
 * session_test.c - legacy sessions: found, kept in the order of use, ended.
 */
#include "mcp/session.h"

#include "mcp/exchange_fake.h"

#include "mcp/call.h"
#include "test/memory.h"

static int setup(void **state)
{
	(void)state;
	fake_server_begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_server_end();
	return 0;
}

static struct fw_session *open_session(struct fake *fake)
{
	struct fw_session *session = NULL;

	assert_null(fw_session_new(&fake->exchange, &session));
	return session;
}

static void test_session__is_found_by_its_id_and_becomes_the_most_recent(void **state)
{
	struct fw_session *first, *second;
	struct fake fake;

	(void)state;
	fake_init(&fake, true);
	first = open_session(&fake);
	second = open_session(&fake);
	assert_int_equal(strlen(first->id), 32);
	assert_string_not_equal(first->id, second->id);
	assert_ptr_equal(server->sessions.first, second);
	assert_ptr_equal(fw_session_find(server, first->id), first);
	assert_ptr_equal(server->sessions.first, first);
	assert_ptr_equal(first->next, second);
	assert_ptr_equal(second->previous, first);
	assert_null(second->next);
	assert_null(fw_session_find(server, "no such id"));
	assert_int_equal(server->sessions.count, 2);
}

static void test_session__of_stdio_is_not_found_by_an_empty_id(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_initialize(&fake, "{}");
	assert_non_null(fake.exchange.session);
	assert_string_equal(fake.exchange.session->id, "");
	assert_null(fw_session_find(server, ""));
	/* It never expires. */
	fake.exchange.session->used_ms = 0;
	server->limits.session_idle_ms = 0;
	fw_session_expire(server);
	assert_int_equal(server->sessions.count, 1);
	fw_exchange_gone(&fake.exchange);
}

static void test_session__expires_unless_a_call_or_a_stream_uses_it(void **state)
{
	struct fw_session *idle, *busy, *watched;
	struct fake fake, get;
	fw_call *call;

	(void)state;
	fake_init(&fake, true);
	fake_init(&get, true);
	idle = open_session(&fake);
	busy = open_session(&fake);
	watched = open_session(&fake);
	call = fw_call_new(server);
	fw_call_join(call, busy);
	fw_call_enlist(call);
	get.headers[0] = FW_HEADER_SESSION;
	get.headers[1] = watched->id;
	fw_exchange_open_stream(&get.exchange);
	server->limits.session_idle_ms = 1000;
	fw_session_expire(server);
	assert_int_equal(server->sessions.count, 3);
	assert_false(fw_session_is_idle(idle, 1000));
	server->limits.session_idle_ms = 0;
	fw_session_expire(server);
	assert_int_equal(server->sessions.count, 2);
	fw_call_delist(call);
	fw_call__unref(call);
	fw_exchange_gone(&get.exchange);
	fw_session_expire(server);
	assert_int_equal(server->sessions.count, 0);
}

static void test_session__that_ended_lives_until_its_last_call_does(void **state)
{
	struct fw_session *session;
	struct fake fake;
	fw_call *call;

	(void)state;
	fake_init(&fake, true);
	session = open_session(&fake);
	call = fw_call_new(server);
	fw_call_join(call, session);
	fw_session_free(session);
	assert_true(session->is_ended);
	assert_null(session->owner);
	assert_null(server->sessions.first);
	/* Both do nothing: it has ended. */
	fw_session_free(session);
	fw_session_send(session, "{}", 2);
	assert_int_equal(fake.sends, 0);
	fw_call__unref(call);
}

static void test_session__of_one_client_displaces_its_own_and_not_that_of_another(void **state)
{
	struct fw_session *others, *oldest, *newest;
	struct fake mine, other;
	char oldest_id[40];

	(void)state;
	server->limits.client_sessions = 2;
	server->limits.session_spare_ms = 0;
	fake_init(&mine, true);
	fake_init(&other, true);
	mine.exchange.peer = "192.0.2.1";
	other.exchange.peer = "192.0.2.2";
	others = open_session(&other);
	oldest = open_session(&mine);
	memcpy(oldest_id, oldest->id, sizeof oldest_id);
	(void)open_session(&mine);
	newest = open_session(&mine);
	assert_int_equal(server->sessions.count, 3);
	assert_null(fw_session_find(server, oldest_id));
	assert_ptr_equal(fw_session_find(server, others->id), others);
	assert_ptr_equal(fw_session_find(server, newest->id), newest);
}

static void test_session__subscribes_to_the_exact_uri(void **state)
{
	char uri[] = "file:///a";
	char *uris[] = { uri };
	const struct fw_session session = { .subscriptions = uris, .subscription_count = 1 };

	(void)state;
	assert_true(fw_session_subscribes(&session, "file:///a"));
	assert_false(fw_session_subscribes(&session, "file:///"));
	assert_false(fw_session_subscribes(&session, "file:///ab"));
}

/* ---- GET and DELETE --------------------------------------------------------------- */

static void expect_end(const char *name, const char *value, int status, const char *code)
{
	struct fake fake;

	fake_init(&fake, true);
	fake.headers[0] = name;
	fake.headers[1] = value;
	fw_exchange_end_session(&fake.exchange);
	assert_int_equal(fake.replies, 1);
	assert_int_equal(fake.status, status);
	assert_true(fake_has(&fake, code));
}

static void test_session__DELETE_needs_the_id_of_an_open_session(void **state)
{
	struct fake fake;
	char id[40];

	(void)state;
	fake_init(&fake, true);
	memcpy(id, open_session(&fake)->id, sizeof id);
	expect_end(NULL, NULL, 400, "session.missing");
	expect_end(FW_HEADER_SESSION, "other", 404, "session.unknown");
	expect_end(FW_HEADER_VERSION, FAKE_MODERN, 405, "protocol.http_method_not_allowed");
	assert_int_equal(server->sessions.count, 1);
	expect_end(FW_HEADER_SESSION, id, 200, "");
	assert_int_equal(server->sessions.count, 0);
	expect_end(FW_HEADER_SESSION, id, 404, "session.unknown");
}

static void expect_stream(const char *id, const char *last_event, int status)
{
	struct fake fake;

	fake_init(&fake, true);
	fake.headers[0] = FW_HEADER_SESSION;
	fake.headers[1] = id;
	fake.headers[2] = last_event ? FW_HEADER_LAST_EVENT : NULL;
	fake.headers[3] = last_event;
	fw_exchange_open_stream(&fake.exchange);
	assert_int_equal(fake.status, status);
	assert_int_equal(fake.replies, status ? 1 : 0);
	fw_exchange_gone(&fake.exchange);
}

static void test_session__GET_refuses_an_event_id_that_names_no_stream(void **state)
{
	static const char *const INVALID[] = {
		"",
		"0",
		"_",
		"0_",
		"_0",
		"0_x",
		"a_1",
		"0_1_2",
		"1_1",
		"-1_0",
		"1234567890123456789_1",
		" 0_1",
	};
	struct fake fake;
	char id[40];

	(void)state;
	fake_init(&fake, true);
	memcpy(id, open_session(&fake)->id, sizeof id);
	for (size_t i = 0; i < sizeof INVALID / sizeof *INVALID; i++)
		expect_stream(id, INVALID[i], 405);
	expect_stream(id, "0_0", 0);
	expect_stream(id, NULL, 0);
	expect_stream("other", NULL, 404);
	server->state = FW_DRAINING;
	expect_stream(id, NULL, 503);
	server->state = FW_RUNNING;
}

/* ---- memory --------------------------------------------------------------------------- */

static void open_and_end(void)
{
	struct fw_session *session = NULL;
	struct fake fake;
	fw_error *err;

	fake_init(&fake, true);
	err = fw_session_new(&fake.exchange, &session);
	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	else
		fw_session_free(session);
	fw_error_free(err);
	assert_int_equal(server->sessions.count, 0);
	assert_null(server->sessions.owners);
}

static void test_session__without_memory_leaves_no_owner_behind(void **state)
{
	(void)state;
	each_allocation_fails(open_and_end);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_session__is_found_by_its_id_and_becomes_the_most_recent),
		WITH_SERVER(test_session__of_stdio_is_not_found_by_an_empty_id),
		WITH_SERVER(test_session__expires_unless_a_call_or_a_stream_uses_it),
		WITH_SERVER(test_session__that_ended_lives_until_its_last_call_does),
		WITH_SERVER(
			test_session__of_one_client_displaces_its_own_and_not_that_of_another),
		WITH_SERVER(test_session__subscribes_to_the_exact_uri),
		WITH_SERVER(test_session__DELETE_needs_the_id_of_an_open_session),
		WITH_SERVER(test_session__GET_refuses_an_event_id_that_names_no_stream),
		WITH_SERVER(test_session__without_memory_leaves_no_owner_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
