/*
 * follow_test.c - streams whose events come from elsewhere: what a client that goes on at
 * this server gets. Replicas with a real engine are in test/wire/fleet_streams.mjs.
 */
#include "mcp/follow.h"

#include "mcp/exchange_fake.h"

#include "base/mem.h"
#include "mcp/replica.h"
#include "mcp/session.h"
#include "test/memory.h"

enum { NEWEST = 1000 };

/* What the replica was asked. */
static struct fw_reading *reading;
static size_t readings, kept;
static bool is_away;

static bool is_sharing(const struct fw_replica *replica)
{
	(void)replica;
	return !is_away;
}

static uint64_t newest(const struct fw_replica *replica)
{
	(void)replica;
	return NEWEST;
}

static bool keep(struct fw_replica *replica, const struct fw_stream *stream, const char *json,
		 size_t len, bool is_answer)
{
	(void)replica;
	(void)stream;
	(void)json;
	(void)len;
	(void)is_answer;
	kept++;
	return true;
}

static bool read_events(struct fw_replica *replica, struct fw_reading *asked)
{
	(void)replica;
	assert_null(reading);
	if (test_memory_refuses())
		return false;
	reading = asked;
	readings++;
	return true;
}

static void forget(struct fw_replica *replica, const char *id)
{
	(void)replica;
	(void)id;
}

static const struct fw_replica_ops ops = { .is_sharing = is_sharing,
					   .newest = newest,
					   .keep = keep,
					   .read = read_events,
					   .end = forget };
static struct fw_replica replica = { .ops = &ops };
static struct fake client;
static struct fw_session *session;

static int setup(void **state)
{
	(void)state;
	reading = NULL;
	readings = kept = 0;
	is_away = false;
	fake_server_begin();
	fw_server__set_replica(server, &replica);
	fake_init(&client, true);
	assert_null(fw_session_new(&client.exchange, &session));
	fw_follow_begin_session(session);
	session->version = FW_V_2025_11_25;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fw_exchange_gone(&client.exchange);
	fake_server_end();
	return 0;
}

static void event(uint64_t number, const char *json, bool is_answer)
{
	fw_reading_event(reading, number, json, strlen(json), is_answer);
}

static void end(enum fw_reading_result result)
{
	struct fw_reading *ended = reading;

	reading = NULL;
	fw_reading_end(ended, result, "7", 1);
}

static void test_follow__missed_events_come_once_and_in_order(void **state)
{
	(void)state;
	assert_true(fw_follow_open(session, &client.exchange, 5, 2));
	assert_int_equal(reading->after, 2);
	assert_true(fw_reading_found(reading, NEWEST));
	assert_int_equal(client.sends, 1); /* the head */
	event(2, "{\"old\":1}", false);
	assert_int_equal(client.sends, 1);
	event(3, "{\"a\":1}", false);
	event(3, "{\"a\":1}", false);
	assert_int_equal(client.sends, 2);
	end(FW_READING_MORE);
	assert_int_equal(readings, 2);
	assert_int_equal(reading->after, 3);
	assert_true(fw_reading_found(reading, NEWEST));
	event(4, "{\"result\":{}}", true);
	end(FW_READING_DONE);
	assert_int_equal(client.replies + client.closes, 1);
}

static void test_follow__news_during_a_reading_are_read_after_it(void **state)
{
	struct fw_stream *stream;

	(void)state;
	assert_true(fw_follow_open(session, &client.exchange, 5, 0));
	stream = reading->stream;
	fw_follow(stream);
	assert_int_equal(readings, 1);
	assert_true(fw_reading_found(reading, NEWEST));
	end(FW_READING_DONE);
	assert_int_equal(readings, 2);
	end(FW_READING_DONE);
	assert_int_equal(readings, 2);
}

static void expect_refusal(enum fw_reading_result result, int status, const char *code)
{
	assert_true(fw_follow_open(session, &client.exchange, 5, 0));
	end(result);
	assert_int_equal(client.replies, 1);
	assert_int_equal(client.status, status);
	assert_true(fake_has(&client, code));
}

static void test_follow__a_stream_that_nobody_has_is_405(void **state)
{
	(void)state;
	expect_refusal(FW_READING_NONE, 405, "protocol.http_method_not_allowed");
}

static void test_follow__an_engine_that_fails_is_503(void **state)
{
	(void)state;
	expect_refusal(FW_READING_FAILED, 503, "dependency.unavailable");
}

static void expect_answer(enum fw_reading_result result, const char *code)
{
	assert_true(fw_follow_open(session, &client.exchange, 5, 0));
	assert_true(fw_reading_found(reading, NEWEST));
	event(1, "{\"a\":1}", false);
	end(result);
	assert_int_equal(client.replies, 1);
	assert_true(fake_has(&client, "\"id\":7"));
	assert_true(fake_has(&client, code));
	assert_int_equal(kept, 1); /* the next reader gets the same */
}

static void test_follow__a_call_whose_replica_has_ended_is_answered(void **state)
{
	(void)state;
	expect_answer(FW_READING_ORPHAN, "transport.connection_reset");
}

static void test_follow__an_answer_that_was_too_large_is_an_error(void **state)
{
	(void)state;
	expect_answer(FW_READING_LARGE, "tool.result_too_large");
}

static void test_follow__a_reader_that_left_gets_nothing(void **state)
{
	(void)state;
	assert_true(fw_follow_open(session, &client.exchange, 5, 0));
	fw_exchange_gone(&client.exchange);
	assert_false(fw_reading_found(reading, NEWEST));
	event(1, "{\"a\":1}", true);
	end(FW_READING_DONE);
	assert_int_equal(client.sends + client.replies, 0);
}

static void test_follow__a_session_that_ended_during_a_reading_is_not_used(void **state)
{
	(void)state;
	assert_true(fw_follow_open(session, &client.exchange, 5, 0));
	fw_session_free(session);
	assert_null(reading->stream);
	assert_false(fw_reading_found(reading, NEWEST));
	event(1, "{\"a\":1}", true);
	end(FW_READING_ORPHAN);
}

static void test_follow__without_an_engine_streams_are_those_of_one_server(void **state)
{
	(void)state;
	is_away = true;
	assert_false(fw_follow_is_on(server));
	assert_false(fw_follow_open(session, &client.exchange, 5, 0));
	assert_false(fw_follow_keep(&session->get, "{}", 2, false));
	assert_int_equal(readings + kept, 0);
}

static void test_follow__a_number_of_the_future_does_not_hide_events(void **state)
{
	(void)state;
	session->get.sent = NEWEST * 2;
	session->get.exchange = &client.exchange;
	client.exchange.streaming = session;
	fw_follow(&session->get);
	assert_true(fw_reading_found(reading, NEWEST));
	event(NEWEST + 1, "{\"a\":1}", false);
	assert_int_equal(client.sends, 1);
	end(FW_READING_DONE);
}

static void open_and_leave(void)
{
	struct fake other;
	struct fw_session *made = NULL;
	fw_error *err;

	fake_init(&other, true);
	err = fw_session_new(&other.exchange, &made);
	if (!err) {
		fw_follow_begin_session(made);
		if (fw_follow_open(made, &other.exchange, 5, 0)) {
			(void)fw_reading_found(reading, NEWEST);
			event(1, "{\"a\":1}", false);
			end(FW_READING_MORE);
			if (reading)
				end(FW_READING_DONE);
		}
		fw_exchange_gone(&other.exchange);
		fw_session_free(made);
	}
	fw_error_free(err);
}

static void test_follow__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(open_and_leave);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_follow__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(missed_events_come_once_and_in_order),
		TEST(news_during_a_reading_are_read_after_it),
		TEST(a_stream_that_nobody_has_is_405),
		TEST(an_engine_that_fails_is_503),
		TEST(a_call_whose_replica_has_ended_is_answered),
		TEST(an_answer_that_was_too_large_is_an_error),
		TEST(a_reader_that_left_gets_nothing),
		TEST(a_session_that_ended_during_a_reading_is_not_used),
		TEST(without_an_engine_streams_are_those_of_one_server),
		TEST(a_number_of_the_future_does_not_hide_events),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
