/*
 * roster_test.c - legacy sessions in an engine that fails, forgets and lies. Replicas with a
 * real one are in test/wire/fleet_sessions.mjs.
 */
#include "fleet/roster.h"

#include "fleet/engine_fake.h"
#include "mcp/exchange_fake.h"

#include "fleet/journal.h"
#include "mcp/call.h"
#include "mcp/relay.h"
#include "mcp/replica.h"
#include "mcp/server.h"
#include "mcp/session.h"

static const char OTHER[] = "0123456789abcdef0123456789abcdef";

static struct fw_journal *journal;
static struct fw_roster *roster;
static struct fake client;
static unsigned resumed;
static char saved[FAKE_TEXT]; /* the state of the first session */

static fw_error *make(void)
{
	const struct fw_journal_options options = { .server = server, .fleet = "f" };

	FW_TRY(fw_journal_new(&options, &journal));
	fw_journal_set_engine(journal, &fake_engine.first);
	return fw_roster_new(server, "f", &fake_engine.first, journal, &roster);
}

static void unmake(void)
{
	fw_roster_close(roster);
	fw_journal_close(journal);
	fw_server__set_replica(server, NULL);
	fw_roster_free(roster);
	fw_journal_free(journal);
	roster = NULL;
	journal = NULL;
}

/* Begins a session, which is stored before the client gets its id. */
static void begin_session(void)
{
	const char *state, *end;

	fake_receive(&client, FAKE_REQUEST("0", "initialize",
					   "{\"protocolVersion\":\"2025-06-18\","
					   "\"capabilities\":{},\"clientInfo\":{\"name\":"
					   "\"t\",\"version\":\"1\"}}"));
	assert_int_equal(client.replies, 0);
	assert_memory_equal(fake_engine_next(), "SET faultwire:f:session:", 24);
	state = strchr(fake_engine_next(), '{');
	end = strrchr(fake_engine_next(), '}');
	assert_true(state && end);
	fake_copy(saved, sizeof saved, state, (size_t)(end - state) + 1);
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_server_begin();
	resumed = 0;
	assert_null(make());
	fake_init(&client, true);
	begin_session();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unmake();
	fw_exchange_gone(&client.exchange);
	fake_server_end();
	return 0;
}

static void on_resume(struct fw_exchange *exchange)
{
	(void)exchange;
	resumed++;
}

static bool look_up(struct fake *fake, const char *id)
{
	fake_init(fake, true);
	fake->headers[0] = FW_HEADER_SESSION;
	fake->headers[1] = id;
	return fw_exchange_looks_up(&fake->exchange, on_resume);
}

static void expect_lookup(struct fake *fake, const char *id)
{
	unsigned before = resumed;

	assert_true(look_up(fake, id));
	assert_memory_equal(fake_engine_next(), "GETEX faultwire:f:session:", 26);
	assert_int_equal(resumed, before);
}

static void test_roster__initialize_is_answered_when_the_session_is_stored(void **state)
{
	(void)state;
	fake_engine_json("\"OK\"");
	assert_int_equal(client.replies, 1);
	assert_int_equal(strlen(client.session), 32);
}

static void test_roster__initialize_is_answered_when_the_engine_fails(void **state)
{
	(void)state;
	fake_engine_fail(false);
	assert_int_equal(client.replies, 1);
	assert_non_null(fw_session_find(server, client.session));
}

static void test_roster__a_session_of_another_replica_is_continued(void **state)
{
	struct fw_session *session;
	struct fake fake;

	(void)state;
	fake_engine_lose();
	fake_engine.first.is_up = true;
	expect_lookup(&fake, OTHER);
	{
		redisReply reply = { .type = REDIS_REPLY_STRING,
				     .str = saved,
				     .len = strlen(saved) };

		fake_engine_answer(&reply);
	}
	assert_int_equal(resumed, 1);
	session = fw_session_find(server, OTHER);
	assert_non_null(session);
	assert_string_equal(session->client, "t/1");
	/* Its client has ended it, at another replica. */
	expect_lookup(&fake, OTHER);
	fake_engine_json("\"ended\"");
	assert_int_equal(resumed, 2);
	assert_null(fw_session_find(server, OTHER));
}

static void expect_none(const char *text)
{
	redisReply reply = { .type = REDIS_REPLY_STRING, .len = strlen(text) };
	char bytes[FAKE_TEXT];
	struct fake fake;

	(void)snprintf(bytes, sizeof bytes, "%s", text);
	reply.str = bytes;
	expect_lookup(&fake, OTHER);
	fake_engine_answer(&reply);
	assert_null(fw_session_find(server, OTHER));
}

static void test_roster__a_state_that_is_not_valid_is_no_session(void **state)
{
	static const char *const members[][2] = {
		{ "\"version\":\"2025-06-18\"", "\"version\":\"2026-07-28\"" },
		{ "\"version\":\"2025-06-18\"", "\"version\":1" },
		{ "\"client\":\"t/1\"", "\"client\":null" },
		{ "\"capabilities\":{}", "\"capabilities\":[]" },
		/* Somebody else's. */
		{ "\"proof\":0", "\"proof\":1" },
		{ "\"proof\":0", "\"proof\":-1" },
	};

	(void)state;
	fake_engine_json("\"OK\"");
	expect_none("");
	expect_none("{");
	expect_none("[]");
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const char *at = strstr(saved, members[i][0]);
		char text[FAKE_TEXT];

		assert_non_null(at);
		(void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - saved), saved,
			       members[i][1], at + strlen(members[i][0]));
		expect_none(text);
	}
}

static void test_roster__a_session_that_the_engine_lost_is_stored_again(void **state)
{
	struct fake fake;
	char id[40];

	(void)state;
	fake_engine_json("\"OK\"");
	memcpy(id, client.session, sizeof id);
	expect_lookup(&fake, id);
	fake_engine_json("null");
	assert_int_equal(resumed, 1);
	assert_memory_equal(fake_engine_next(), "SET faultwire:f:session:", 24);
	/* One that fails changes nothing. */
	fake_engine_json("\"OK\"");
	expect_lookup(&fake, id);
	fake_engine_fail(false);
	assert_int_equal(resumed, 2);
	assert_non_null(fw_session_find(server, id));
}

static void test_roster__without_an_engine_a_server_uses_what_it_knows(void **state)
{
	struct fake fake;

	(void)state;
	fake_engine_lose();
	assert_int_equal(client.replies, 1);
	assert_false(look_up(&fake, client.session));
	fake_engine.first.is_up = true;
	assert_false(look_up(&fake, "not an id"));
	assert_true(look_up(&fake, client.session));
	fake_engine_lose();
	assert_int_equal(resumed, 1);
}

static void test_roster__a_request_that_left_is_not_resumed(void **state)
{
	struct fake fake;

	(void)state;
	fake_engine_json("\"OK\"");
	expect_lookup(&fake, OTHER);
	fw_exchange_gone(&fake.exchange);
	fake_engine_json("null");
	assert_int_equal(resumed, 0);
}

/* ---- a relayed call whose result waits for the engine ---- */

static const fw_call *relayed;

static void answer_at_once(struct fw_relay *relay, fw_call *call)
{
	(void)relay;
	relayed = call;
	fw_relay_reply(call, (struct fw_slice){ NULL, 0 }, (struct fw_slice){ "{}", 2 });
}

static void ignore(struct fw_relay *relay, const fw_call *call)
{
	(void)relay;
	(void)call;
}

static bool is_unused(const fw_call *wanted)
{
	const fw_call *call = server->calls.unused;

	while (call && call != wanted)
		call = call->next;
	return call != NULL;
}

/* In the session of `client`. */
static void send_in_session(struct fake *fake, const char *message)
{
	fake_init(fake, true);
	fake->headers[0] = FW_HEADER_SESSION;
	fake->headers[1] = client.session;
	fake_receive(fake, message);
}

static void test_roster__a_call_that_is_cancelled_before_its_result_is_stored_is_freed(
	void **state)
{
	static const struct fw_relay_ops ops = { .take = answer_at_once, .notified = ignore };
	static struct fw_relay relay = { .ops = &ops };
	struct fake subscribes, cancels;

	(void)state;
	fake_engine_json("\"OK\"");
	fw_relay_attach(&relay, server);
	send_in_session(&cancels, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				  "initialized\"}");
	fake_engine_json("\"OK\"");
	send_in_session(&subscribes,
			FAKE_REQUEST("7", "resources/subscribe", "{\"uri\":\"x:///a\"}"));
	assert_non_null(relayed);
	assert_int_equal(subscribes.replies, 0);
	assert_false(is_unused(relayed));
	fw_exchange_gone(&cancels.exchange);
	send_in_session(&cancels, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				  "\"params\":{\"requestId\":7}}");
	assert_false(is_unused(relayed));
	fake_engine_json("\"OK\"");
	assert_true(is_unused(relayed));
	fw_exchange_gone(&subscribes.exchange);
	fw_exchange_gone(&cancels.exchange);
	server->relay = NULL;
}

static void take_over(void)
{
	redisReply reply = { .type = REDIS_REPLY_STRING, .str = saved, .len = strlen(saved) };
	struct fw_session *session;
	struct fake fake;
	fw_error *err;

	fake_engine_begin();
	err = make();
	if (!err && look_up(&fake, OTHER))
		fake_engine_answer(&reply);
	fw_error_free(err);
	session = fw_session_find(server, OTHER);
	if (session)
		fw_session_free(session);
	unmake();
}

static void test_roster__each_allocation_may_fail(void **state)
{
	(void)state;
	fake_engine_json("\"OK\"");
	unmake();
	each_allocation_fails(take_over);
	assert_null(make());
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_roster__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(initialize_is_answered_when_the_session_is_stored),
		TEST(initialize_is_answered_when_the_engine_fails),
		TEST(a_session_of_another_replica_is_continued),
		TEST(a_state_that_is_not_valid_is_no_session),
		TEST(a_session_that_the_engine_lost_is_stored_again),
		TEST(without_an_engine_a_server_uses_what_it_knows),
		TEST(a_request_that_left_is_not_resumed),
		TEST(a_call_that_is_cancelled_before_its_result_is_stored_is_freed),
		TEST(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
