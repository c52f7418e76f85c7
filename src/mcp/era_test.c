/*
 * era_test.c - which protocol a request speaks: the first violation of its rules, for
 * requests over HTTP and over stdio.
 */
#include "mcp/era.h"

#include "mcp/exchange_fake.h"

static fw_error *work(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "worked");
	return NULL;
}

static int setup(void **state)
{
	(void)state;
	fake_server_begin();
	fake_add_tool("work", work, FW_RUN_INLINE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_server_end();
	return 0;
}

/* A request, and what must be in its reply. */
struct row {
	const char *headers[8];
	const char *text;
	const char *expected;
};

static void check_row(const struct row *row, bool is_http)
{
	struct fake fake;

	fake_init(&fake, is_http);
	memcpy(fake.headers, row->headers, sizeof fake.headers);
	fake_receive(&fake, row->text);
	assert_int_equal(fake.replies, 1);
	if (!fake_has(&fake, row->expected))
		fail_msg("%s\nexpected %s\nfound    %s", row->text, row->expected, fake.last);
	if (!is_http)
		fw_exchange_gone(&fake.exchange);
}

#define VERSION FW_HEADER_VERSION, FAKE_MODERN
#define LIST(meta) FAKE_REQUEST("1", "tools/list", "{" meta "}")
#define WORK FAKE_REQUEST("1", "tools/call", "{\"name\":\"work\"," FAKE_META("{}") "}")
#define CLAIM(members) "\"_meta\":{\"" FW_META_VERSION "\":" members "}"

static void test_era__a_modern_request_over_http_reports_its_first_violation(void **state)
{
	static const struct row ROWS[] = {
		{ { VERSION, FW_HEADER_METHOD, "tools/list" },
		  LIST(FAKE_META("{}")),
		  "\"result\":" },
		{ { FW_HEADER_METHOD, "tools/list" }, LIST(FAKE_META("{}")), "is missing" },
		{ { FW_HEADER_VERSION, "2025-06-18", FW_HEADER_METHOD, "tools/list" },
		  LIST(FAKE_META("{}")),
		  "protocol.version_conflict" },
		{ { VERSION, VERSION, FW_HEADER_METHOD, "tools/list" },
		  LIST(FAKE_META("{}")),
		  "protocol.header_mismatch" },
		{ { VERSION }, LIST(FAKE_META("{}")), FW_HEADER_METHOD },
		{ { VERSION, FW_HEADER_METHOD, "tools/call" },
		  LIST(FAKE_META("{}")),
		  "differs from the body" },
		/* The claim comes before the headers. */
		{ { NULL }, LIST(CLAIM("7")), "protocol.invalid_params" },
		{ { NULL }, LIST(CLAIM("\"2026\\u0000\"")), "protocol.invalid_params" },
		{ { NULL }, LIST(CLAIM("\"2026-07-28\"")), "clientCapabilities" },
		{ { NULL },
		  LIST(CLAIM("\"2026-07-28\",\"" FW_META_CLIENT_CAPABILITIES
			     "\":{},\"" FW_META_CLIENT_INFO "\":{\"name\":\"x\"}")),
		  "clientInfo" },
		{ { NULL },
		  LIST(CLAIM("\"2026-07-28\",\"" FW_META_CLIENT_CAPABILITIES
			     "\":{},\"" FW_META_LOG_LEVEL "\":\"loud\"")),
		  "logLevel" },
		{ { FW_HEADER_VERSION, "2099-01-01", FW_HEADER_METHOD, "tools/list" },
		  LIST(CLAIM("\"2099-01-01\",\"" FW_META_CLIENT_CAPABILITIES "\":{}")),
		  "protocol.unsupported_version" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		check_row(&ROWS[i], true);
}

static void test_era__the_name_header_mirrors_the_name_of_the_tool(void **state)
{
	static const struct row ROWS[] = {
		{ { VERSION, FW_HEADER_METHOD, "tools/call", FW_HEADER_NAME, "work" },
		  WORK,
		  "worked" },
		{ { VERSION, FW_HEADER_METHOD, "tools/call", FW_HEADER_NAME,
		    "=?base64?d29yaw==?=" },
		  WORK,
		  "worked" },
		{ { VERSION, FW_HEADER_METHOD, "tools/call", FW_HEADER_NAME, "=?base64?*?=" },
		  WORK,
		  "cannot be decoded" },
		{ { VERSION, FW_HEADER_METHOD, "tools/call", FW_HEADER_NAME, "other" },
		  WORK,
		  "differs from the body" },
		{ { VERSION, FW_HEADER_METHOD, "tools/call" }, WORK, FW_HEADER_NAME },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		check_row(&ROWS[i], true);
}

static void test_era__a_modern_header_without_a_claim_is_refused(void **state)
{
	static const struct row ROWS[] = {
		{ { VERSION, FW_HEADER_METHOD, "tools/list" },
		  LIST(""),
		  "protocol.invalid_params" },
		{ { VERSION, FW_HEADER_METHOD, "initialize" },
		  FAKE_REQUEST("1", "initialize", "{}"),
		  "protocol.header_mismatch" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		check_row(&ROWS[i], true);
}

static void test_era__a_legacy_request_over_http_belongs_to_a_session(void **state)
{
	static const struct row ROWS[] = {
		{ { NULL }, LIST(""), "session.missing" },
		{ { FW_HEADER_SESSION, "other" }, LIST(""), "session.unknown" },
		{ { FW_HEADER_VERSION, "1999-01-01" }, LIST(""), "unsupported_version" },
		{ { FW_HEADER_SESSION, "any" },
		  FAKE_REQUEST("1", "initialize", "{}"),
		  "protocol.invalid_request" },
	};
	struct fake fake, list;

	(void)state;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		check_row(&ROWS[i], true);
	fake_init(&fake, true);
	fake_initialize(&fake, "{}");
	fake_init(&list, true);
	list.headers[0] = FW_HEADER_SESSION;
	list.headers[1] = fake.session;
	fake_receive(&list, LIST(""));
	assert_true(fake_has(&list, "\"result\":"));
}

static void test_era__before_initialize_stdio_answers_ping_and_nothing_else(void **state)
{
	static const struct row ROWS[] = {
		{ { NULL }, FAKE_REQUEST("1", "ping", "{}"), "\"result\":{}" },
		{ { NULL }, LIST(""), "protocol.not_initialized" },
		{ { NULL },
		  FAKE_REQUEST("1", "server/discover", "{}"),
		  "protocol.method_not_found" },
		/* Without headers a modern request needs no more than its claim. */
		{ { NULL }, LIST(FAKE_META("{}")), "\"result\":" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		check_row(&ROWS[i], false);
}

static void test_era__one_stdio_connection_speaks_both_eras(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, false);
	fake_initialize(&fake, "{}");
	fake_receive(&fake, LIST(FAKE_META("{}")));
	assert_true(fake_has(&fake, "\"resultType\":\"complete\""));
	fake_receive(&fake, LIST(""));
	assert_true(fake_has(&fake, "\"tools\":"));
	assert_false(fake_has(&fake, "\"resultType\""));
	fw_exchange_gone(&fake.exchange);
}

static void test_era__log_levels_are_found_by_their_exact_name(void **state)
{
	static const char *const NAMES[] = { "debug", "info",     "notice", "warning",
					     "error", "critical", "alert",  "emergency" };

	(void)state;
	for (int i = 0; i < FW_LOG_LEVEL_COUNT; i++)
		assert_int_equal(
			fw_mcp_log_level((struct fw_text){ NAMES[i], strlen(NAMES[i]) }), i);
	assert_int_equal(fw_mcp_log_level((struct fw_text){ "info\0", 5 }), -1);
	assert_int_equal(fw_mcp_log_level((struct fw_text){ "Info", 4 }), -1);
	assert_int_equal(fw_mcp_log_level((struct fw_text){ "", 0 }), -1);
	assert_int_equal(fw_mcp_log_level((struct fw_text){ NULL, 0 }), -1);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(test_era__a_modern_request_over_http_reports_its_first_violation),
		WITH_SERVER(test_era__the_name_header_mirrors_the_name_of_the_tool),
		WITH_SERVER(test_era__a_modern_header_without_a_claim_is_refused),
		WITH_SERVER(test_era__a_legacy_request_over_http_belongs_to_a_session),
		WITH_SERVER(test_era__before_initialize_stdio_answers_ping_and_nothing_else),
		WITH_SERVER(test_era__one_stdio_connection_speaks_both_eras),
		WITH_SERVER(test_era__log_levels_are_found_by_their_exact_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
