/*
 * ask_test.c - questions of a handler to its client, in both eras: asked, answered,
 * refused, and beyond their limits.
 */
#include "mcp/ask.h"

#include "mcp/exchange_fake.h"

#include "mcp/call.h"
#include "mcp/session.h"

static unsigned runs;
static unsigned questions; /* that the tool asks at once */
static const char *params; /* of each question */
static const char *key;    /* of a question, followed by its number */
static bool has_one_key;   /* all have the same */
static char heard[256];    /* the answers */
static bool asks_more;     /* another question in each run */

static fw_error *ask(fw_call *call, void *ctx)
{
	unsigned count = asks_more ? runs + 1 : questions;
	bool is_complete = true;

	(void)ctx;
	runs++;
	heard[0] = '\0';
	for (unsigned i = 0; i < count; i++) {
		char name[128];
		size_t len = strlen(heard);

		(void)snprintf(name, sizeof name, "%s%u", key, has_one_key ? 0 : i);
		if (!fw_call_ask(call, name, "elicitation/create", params)) {
			is_complete = false;
			continue;
		}
		(void)snprintf(heard + len, sizeof heard - len, "%s,",
			       fw_call_answer(call, name, "/content/a"));
	}
	if (is_complete)
		fw_call_textf(call, "heard %s", heard);
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	fake_server_begin();
	fake_add_tool("ask", ask, FW_RUN_INLINE);
	runs = 0;
	questions = 1;
	params = NULL;
	key = "q";
	has_one_key = false;
	asks_more = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_server_end();
	return 0;
}

#define ELICITATION "{\"elicitation\":{}}"
#define CALL FAKE_REQUEST("7", "tools/call", "{\"name\":\"ask\"}")
#define MODERN(more) \
	FAKE_REQUEST("7", "tools/call", "{\"name\":\"ask\"" more "," FAKE_META(ELICITATION) "}")

/* ---- legacy ------------------------------------------------------------------------- */

static void begin_legacy(struct fake *fake)
{
	fake_init(fake, false);
	fake_initialize(fake, ELICITATION);
	fake->replies = 0;
	fake_receive(fake, CALL);
}

static void answer(struct fake *fake, unsigned id, const char *result)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,%s}", id, result);
	fake_receive(fake, text);
}

static void test_ask__a_legacy_client_is_asked_and_the_handler_runs_again(void **state)
{
	struct fake fake;

	(void)state;
	questions = 2;
	params = "{ \"message\" : \"which?\" }";
	begin_legacy(&fake);
	assert_int_equal(fake.sends, 2);
	assert_non_null(strstr(fake.sent, "\"id\":2,\"method\":\"elicitation/create\","
					  "\"params\":{\"message\":\"which?\"}}"));
	assert_int_equal(fake.replies, 0);
	answer(&fake, 2, "\"result\":{\"content\":{\"a\":\"two\"}}");
	assert_int_equal(runs, 1);
	/* An answer that was given, and one to a question that nobody asked. */
	answer(&fake, 2, "\"result\":{\"content\":{\"a\":\"again\"}}");
	answer(&fake, 99, "\"result\":{}");
	assert_int_equal(runs, 1);
	answer(&fake, 1, "\"result\":{\"content\":{\"a\":\"one\"}}");
	assert_int_equal(runs, 2);
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "heard one,two,"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__a_refusal_of_a_legacy_client_fails_the_call(void **state)
{
	struct fake fake;

	(void)state;
	begin_legacy(&fake);
	answer(&fake, 1, "\"error\":{\"code\":-1,\"message\":\"no thanks\"}");
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "tool.failed"));
	assert_true(fake_has(&fake, "no thanks"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__an_answer_beyond_its_limit_fails_the_call(void **state)
{
	struct fake fake;

	(void)state;
	server->limits.answer_bytes = 64;
	begin_legacy(&fake);
	answer(&fake, 1,
	       "\"result\":{\"content\":{\"a\":\"0123456789012345678901234567890123"
	       "4567890123456789012345678901234567890123456789\"}}");
	assert_true(fake_has(&fake, "input.too_large"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__the_end_of_a_session_forgets_its_questions(void **state)
{
	struct fake fake;

	(void)state;
	begin_legacy(&fake);
	assert_non_null(fake.exchange.session->pending);
	fw_session_free(fake.exchange.session);
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "session.ended"));
	fw_exchange_gone(&fake.exchange);
}

/* ---- modern ------------------------------------------------------------------------- */

/* The value of `"requestState":"..."` in the last reply. */
static void copy_state(const struct fake *fake, char *ret_state, size_t size)
{
	const char *at = strstr(fake->last, "\"requestState\":\"");

	assert_non_null(at);
	at += strlen("\"requestState\":\"");
	(void)snprintf(ret_state, size, "%.*s", (int)strcspn(at, "\""), at);
}

static void call_again(struct fake *fake, const char *state_text, const char *answers)
{
	static char text[8192];

	(void)snprintf(text, sizeof text,
		       MODERN(",\"requestState\":\"%s\",\"inputResponses\":%s"), state_text,
		       answers);
	fake_receive(fake, text);
}

static void test_ask__a_modern_client_calls_again_with_state_and_answers(void **state)
{
	char request_state[4096];
	struct fake fake;

	(void)state;
	asks_more = true;
	fake_init(&fake, false);
	fake_receive(&fake, MODERN(""));
	assert_true(fake_has(&fake, "\"resultType\":\"input_required\""));
	assert_true(fake_has(&fake, "\"inputRequests\":{\"q0\":{\"method\":"
				    "\"elicitation/create\",\"params\":{}}}"));
	copy_state(&fake, request_state, sizeof request_state);
	call_again(&fake, request_state, "{\"q0\":{\"content\":{\"a\":\"one\"}}}");
	assert_true(fake_has(&fake, "\"inputRequests\":{\"q1\":"));
	/* The state holds the first answer; one that is not an object is asked for again. */
	copy_state(&fake, request_state, sizeof request_state);
	call_again(&fake, request_state, "{\"q1\":7}");
	assert_true(fake_has(&fake, "\"inputRequests\":{\"q1\":"));
	copy_state(&fake, request_state, sizeof request_state);
	asks_more = false;
	questions = 2;
	call_again(&fake, request_state, "{\"q1\":{\"content\":{\"a\":\"two\"}}}");
	assert_true(fake_has(&fake, "heard one,two,"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__answers_need_a_state_that_we_signed(void **state)
{
	char request_state[4096];
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake, MODERN(",\"inputResponses\":{}"));
	assert_true(fake_has(&fake, "protocol.invalid_params"));
	fake_receive(&fake, MODERN(",\"inputResponses\":[]"));
	assert_true(fake_has(&fake, "/params/inputResponses"));
	fake_receive(&fake, MODERN(",\"requestState\":7"));
	assert_true(fake_has(&fake, "protocol.state_tampered"));
	fake_receive(&fake, MODERN(""));
	copy_state(&fake, request_state, sizeof request_state);
	request_state[5] = request_state[5] == 'A' ? 'B' : 'A';
	call_again(&fake, request_state, "{}");
	assert_true(fake_has(&fake, "protocol.state_tampered"));
	fw_exchange_gone(&fake.exchange);
}

/* ---- limits and misuse ---------------------------------------------------------------- */

static void expect(const char *code)
{
	struct fake fake;

	fake_init(&fake, false);
	fake_receive(&fake, MODERN(""));
	if (!fake_has(&fake, code))
		fail_msg("expected %s\nfound    %s", code, fake.last);
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__questions_and_rounds_are_limited(void **state)
{
	struct fake fake;

	(void)state;
	server->limits.questions = 2;
	questions = 2;
	expect("input_required");
	questions = 3;
	expect("server.overloaded");
	server->limits.rounds = 2;
	server->limits.questions = 8;
	asks_more = true;
	runs = 0;
	begin_legacy(&fake);
	answer(&fake, 1, "\"result\":{\"content\":{\"a\":\"one\"}}");
	assert_int_equal(fake.sends, 2);
	answer(&fake, 2, "\"result\":{\"content\":{\"a\":\"two\"}}");
	assert_true(fake_has(&fake, "server.overloaded"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__a_client_that_cannot_answer_is_not_asked(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_receive(&fake,
		     FAKE_REQUEST("7", "tools/call", "{\"name\":\"ask\"," FAKE_META("{}") "}"));
	assert_true(fake_has(&fake, "protocol.missing_capability"));
	assert_true(fake_has(&fake, "elicitation"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__invalid_questions_are_misuse(void **state)
{
	(void)state;
	params = "[]";
	expect("internal.api_misuse");
	params = "{\"a\":";
	expect("internal.api_misuse");
	params = NULL;
	key = "\xff";
	expect("internal.api_misuse");
	/* No question can have that name. */
	key = "0123456789012345678901234567890123456789012345678901234567890123";
	expect("server.overloaded");
}

static void test_ask__a_question_with_the_same_key_is_asked_once(void **state)
{
	struct fake fake;

	(void)state;
	questions = 3;
	has_one_key = true;
	begin_legacy(&fake);
	assert_int_equal(fake.sends, 1);
	answer(&fake, 1, "\"result\":{\"content\":{\"a\":\"x\"}}");
	assert_true(fake_has(&fake, "heard x,x,x,"));
	fw_exchange_gone(&fake.exchange);
}

/* ---- questions that the server answers --------------------------------------------- */

static fw_call *asked;
static unsigned asked_count;
static bool answers_at_once;

static void answer_host(fw_call *call, const char *its_key, const char *its_params, void *ctx)
{
	assert_string_equal(its_key, "host:x");
	assert_string_equal(its_params, "{\"n\":1}");
	assert_ptr_equal(ctx, &asked);
	asked_count++;
	asked = call;
	if (answers_at_once)
		fw_call_supply(call, its_key, "{\"a\":\"me\"}", 10, NULL);
}

static fw_error *ask_host(fw_call *call, void *ctx)
{
	(void)ctx;
	runs++;
	if (fw_call_ask(call, "host:x", "test/host", "{\"n\": 1}"))
		fw_call_textf(call, "heard %s", fw_call_answer(call, "host:x", "/a"));
	return NULL;
}

static void begin_host(struct fake *fake, bool at_once)
{
	asked_count = 0;
	answers_at_once = at_once;
	server->state = FW_IDLE;
	assert_null(fw_server_add_answerer(server, "test/host", answer_host, &asked));
	fake_add_tool("host", ask_host, FW_RUN_INLINE);
	server->state = FW_RUNNING;
	fake_init(fake, false);
	fake_initialize(fake, "{}");
	fake->replies = 0;
	fake_receive(fake, FAKE_REQUEST("7", "tools/call", "{\"name\":\"host\"}"));
}

static void test_ask__the_server_answers_at_once_or_later(void **state)
{
	struct fake fake;

	(void)state;
	begin_host(&fake, true);
	assert_int_equal(fake.replies, 1);
	assert_int_equal(runs, 2);
	assert_int_equal(fake.sends, 0);
	assert_true(fake_has(&fake, "heard me"));
	answers_at_once = false;
	fake_receive(&fake, FAKE_REQUEST("8", "tools/call", "{\"name\":\"host\"}"));
	assert_int_equal(fake.replies, 1);
	fw_call_supply(asked, "host:x", "{\"a\":\"you\"}", 11, NULL);
	assert_int_equal(fake.replies, 2);
	assert_true(fake_has(&fake, "heard you"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__an_error_of_the_server_fails_the_call(void **state)
{
	struct fake fake;

	(void)state;
	begin_host(&fake, false);
	fw_call_supply(asked, "host:x", NULL, 0, fw_raise_dependency_unavailable("the store"));
	assert_int_equal(fake.replies, 1);
	assert_true(fake_has(&fake, "dependency.unavailable"));
	/* What is no JSON is a defect of the server. */
	fake_receive(&fake, FAKE_REQUEST("8", "tools/call", "{\"name\":\"host\"}"));
	fw_call_supply(asked, "host:x", "{", 1, NULL);
	assert_true(fake_has(&fake, "internal.unexpected"));
	fw_exchange_gone(&fake.exchange);
}

static void test_ask__no_client_answers_for_the_server(void **state)
{
	struct fake fake;

	(void)state;
	begin_host(&fake, false);
	answer(&fake, 1, "\"result\":{\"a\":\"forged\"}");
	assert_int_equal(fake.replies, 0);
	assert_int_equal(runs, 1);
	/* A question of its own may not have such a key, and a host's must. */
	fw_exchange_gone(&fake.exchange);
	fw_call_supply(asked, "host:x", "{\"a\":\"late\"}", 12, NULL);
	key = "host:";
	begin_legacy(&fake);
	assert_true(fake_has(&fake, "internal.api_misuse"));
	fw_exchange_gone(&fake.exchange);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_ask__a_legacy_client_is_asked_and_the_handler_runs_again),
		WITH_SERVER(test_ask__a_refusal_of_a_legacy_client_fails_the_call),
		WITH_SERVER(test_ask__an_answer_beyond_its_limit_fails_the_call),
		WITH_SERVER(test_ask__the_end_of_a_session_forgets_its_questions),
		WITH_SERVER(test_ask__a_modern_client_calls_again_with_state_and_answers),
		WITH_SERVER(test_ask__answers_need_a_state_that_we_signed),
		WITH_SERVER(test_ask__questions_and_rounds_are_limited),
		WITH_SERVER(test_ask__a_client_that_cannot_answer_is_not_asked),
		WITH_SERVER(test_ask__invalid_questions_are_misuse),
		WITH_SERVER(test_ask__a_question_with_the_same_key_is_asked_once),
		WITH_SERVER(test_ask__the_server_answers_at_once_or_later),
		WITH_SERVER(test_ask__an_error_of_the_server_fails_the_call),
		WITH_SERVER(test_ask__no_client_answers_for_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
