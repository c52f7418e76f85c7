/*
 * examples_test.c - the examples of the contract documents, raised in C: the
 * constructors, the scope and the encoders together make the documents' bytes.
 */
#include "support.h"

/* Consumes `err`. */
static void assert_writes(fw_error *err, fw_contract contract, const fw_encode_options *options,
			  const char *expected)
{
	char text[4096];
	size_t len = fw_error_encode(err, contract, options, text, sizeof(text));

	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
	fw_error_free(err);
}

static fw_error *within(fw_error *err, const char *tool, const char *operation)
{
	const fw_scope scope = { .tool = tool, .operation = operation };

	fw_error_fill_scope(err, &scope);
	return err;
}

static void test_codeintel__file_not_found(void **state)
{
	(void)state;
	assert_writes(
		within(fw_raise_file_not_found("src/main.py"), "open_file", "files:open_file"),
		FW_CODEINTEL, NULL,
		"{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0,"
		"\"error\":\"File not found: src/main.py\",\"problem\":{"
		"\"type\":\"https://kgfoundry.dev/problems/file-not-found\","
		"\"title\":\"File Not Found\",\"status\":404,"
		"\"detail\":\"File not found: src/main.py\","
		"\"instance\":\"urn:codeintel:files:open_file\","
		"\"code\":\"file-not-found\","
		/* The example has none; FR-ERR-009 wants the path. */
		"\"extensions\":{\"path\":\"src/main.py\"}}}");
}

static void test_codeintel__invalid_line_range(void **state)
{
	const int64_t start = 0, end = 10;

	(void)state;
	assert_writes(within(fw_raise_input_invalid_line_range(
				     "src/main.py", &start, &end,
				     "start_line must be a positive integer"),
			     "open_file", "files:open_file"),
		      FW_CODEINTEL, NULL,
		      "{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0,"
		      "\"error\":\"start_line must be a positive integer\",\"problem\":{"
		      "\"type\":\"https://kgfoundry.dev/problems/invalid-parameter\","
		      "\"title\":\"Invalid Parameter\",\"status\":400,"
		      "\"detail\":\"start_line must be a positive integer\","
		      "\"instance\":\"urn:codeintel:files:open_file\","
		      "\"code\":\"invalid-parameter\",\"extensions\":{"
		      "\"path\":\"src/main.py\",\"start_line\":0,\"end_line\":10}}}");
}

static void test_codeintel__search_timeout(void **state)
{
	(void)state;
	assert_writes(within(fw_raise_search_timeout("def main"), "search_text", "search:text"),
		      FW_CODEINTEL, NULL,
		      "{\"matches\":[],\"total\":0,\"truncated\":false,"
		      "\"error\":\"Search timeout\",\"problem\":{"
		      "\"type\":\"https://kgfoundry.dev/problems/vector-search-error\","
		      "\"title\":\"Vector Search Error\",\"status\":503,"
		      "\"detail\":\"Search timeout\","
		      "\"instance\":\"urn:codeintel:search:text\","
		      "\"code\":\"vector-search-error\",\"extensions\":{"
		      "\"query\":\"def main\"}}}");
}

static void test_context_v0__six_codes(void **state)
{
	(void)state;
	assert_writes(fw_raise_cache_missing(), FW_CONTEXT_V0, NULL,
		      "{\"error\":{\"code\":\"cache_missing\",\"message\":\"Cache does not "
		      "exist\"}}\n");
	assert_writes(fw_raise_cache_invalid(), FW_CONTEXT_V0, NULL,
		      "{\"error\":{\"code\":\"cache_invalid\","
		      "\"message\":\"Cache exists but is invalid\"}}\n");
	assert_writes(
		fw_raise_input_invalid_query(), FW_CONTEXT_V0, NULL,
		"{\"error\":{\"code\":\"invalid_query\",\"message\":\"Query is invalid\"}}\n");
	assert_writes(fw_raise_input_invalid_budget(), FW_CONTEXT_V0, NULL,
		      "{\"error\":{\"code\":\"invalid_budget\",\"message\":\"Budget is "
		      "invalid\"}}\n");
	assert_writes(
		fw_raise_io_failed(), FW_CONTEXT_V0, NULL,
		"{\"error\":{\"code\":\"io_error\",\"message\":\"I/O error occurred\"}}\n");
	assert_writes(
		fw_raise_internal_unexpected(NULL), FW_CONTEXT_V0, NULL,
		"{\"error\":{\"code\":\"internal_error\",\"message\":\"Internal error\"}}\n");
	/* whatever else the error knows, no diagnostics */
	assert_writes(
		sample_error(), FW_CONTEXT_V0, NULL,
		"{\"error\":{\"code\":\"io_error\",\"message\":\"I/O error occurred\"}}\n");
}

static const char conflicts[] =
	"[{\"agent_id\":\"agent-2\",\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\"}]";

static fw_error *reservation_conflict(void)
{
	fw_error *err = fw_raise_reservation_conflict(2, conflicts);

	/* the holders are known, so it may be worked around */
	fw_error_set_recoverable(err, true);
	return err;
}

static void test_toolerror__conflict_and_rate_limited(void **state)
{
	const fw_encode_options go = { .struct_size = sizeof(fw_encode_options),
				       .go_escape = true };
	fw_error *limited = fw_raise_governance_rate_limited();

	(void)state;
	assert_writes(
		reservation_conflict(), FW_TOOLERROR, NULL,
		"{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: 2 conflicts\","
		"\"recoverable\":true,\"data\":{\"conflicts\":[{\"agent_id\":\"agent-2\","
		"\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\"}]}}");
	assert_writes(
		reservation_conflict(), FW_TOOLERROR, &go,
		"{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: 2 conflicts\","
		"\"recoverable\":true,\"data\":{\"conflicts\":[{\"agent_id\":\"agent-2\","
		"\"held_by\":\"agent-2\",\"pattern\":\"src/*.go\"}]}}");
	fw_error_set_retry_after(limited, 30);
	assert_writes(
		limited, FW_TOOLERROR, NULL,
		"{\"type\":\"TRANSIENT\",\"message\":\"rate limited\",\"recoverable\":true,"
		"\"data\":{\"retry_after\":30}}");
}

static void test_owlclaw__unsupported_version(void **state)
{
	fw_error *mcp =
		fw_raise_protocol_unsupported_version("[\"2025-06\",\"2025-03\"]", NULL);
	fw_error *api = fw_raise_protocol_unsupported_version("[\"v1\"]", NULL);

	(void)state;
	fw_error_set_incident_id(mcp, "inc_20260226_001");
	assert_writes(mcp, FW_OWLCLAW, NULL,
		      "{\"error\":{\"code\":\"protocol.unsupported_version\","
		      "\"message\":\"Unsupported protocol version\","
		      "\"category\":\"compatibility\",\"retryable\":false,"
		      "\"incident_id\":\"inc_20260226_001\","
		      "\"details\":{\"supported_versions\":[\"2025-06\",\"2025-03\"]}}}");
	fw_error_set_incident_id(api, "inc_20260226_001");
	assert_writes(
		api, FW_OWLCLAW_API, NULL,
		"{\"type\":\"https://owlclaw.dev/problems/protocol-version\","
		"\"title\":\"Unsupported protocol version\",\"status\":400,"
		"\"detail\":\"Unsupported protocol version\","
		"\"instance\":\"urn:owlclaw:incident:inc_20260226_001\","
		"\"code\":\"protocol.unsupported_version\",\"category\":\"compatibility\","
		"\"retryable\":false,\"incident_id\":\"inc_20260226_001\","
		"\"details\":{\"supported_versions\":[\"v1\"]}}");
}

static void test_kaiza__before_and_within_a_session(void **state)
{
	const fw_scope session = {
		.tool = "write_file",
		.role = "windsurf", /* as the server's flag spells it */
		.session_id = "550e8400-e29b-41d4-a716-446655440000",
		.workspace_root = "/home/user/project",
		.phase_id = "PHASE_5A",
		.plan_hash = "abc123def456",
		.invariant_id = "MANDATORY_DIAGNOSTICS",
	};
	fw_error *before =
		within(fw_raise_session_not_initialized("read_file"), "read_file", NULL);
	fw_error *inside = fw_raise_input_invalid_type("path", "a string", "number");

	(void)state;
	fw_error_set_time(before, INT64_C(1768836730123));
	assert_writes(before, FW_KAIZA, NULL,
		      "{\"error_code\":\"SESSION_NOT_INITIALIZED\","
		      "\"human_message\":\"no session: call begin_session before read_file\","
		      "\"role\":null,\"session_id\":null,\"workspace_root\":null,"
		      "\"tool_name\":\"read_file\",\"invariant_id\":null,\"phase_id\":null,"
		      "\"plan_hash\":null,\"cause\":null,"
		      "\"timestamp\":\"2026-01-19T15:32:10.123Z\"}");
	fw_error_add_cause(inside, "bad type", "ERR_TYPE", "TypeError");
	fw_error_fill_scope(inside, &session);
	fw_error_set_time(inside, INT64_C(1768836730123));
	assert_writes(inside, FW_KAIZA, NULL,
		      "{\"error_code\":\"INVALID_INPUT_TYPE\","
		      "\"human_message\":\"path must be a string\",\"role\":\"WINDSURF\","
		      "\"session_id\":\"550e8400-e29b-41d4-a716-446655440000\","
		      "\"workspace_root\":\"/home/user/project\",\"tool_name\":\"write_file\","
		      "\"invariant_id\":\"MANDATORY_DIAGNOSTICS\",\"phase_id\":\"PHASE_5A\","
		      "\"plan_hash\":\"abc123def456\",\"cause\":{\"message\":\"bad type\","
		      "\"code\":\"ERR_TYPE\",\"name\":\"TypeError\"},"
		      "\"timestamp\":\"2026-01-19T15:32:10.123Z\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codeintel__file_not_found),
		cmocka_unit_test(test_codeintel__invalid_line_range),
		cmocka_unit_test(test_codeintel__search_timeout),
		cmocka_unit_test(test_context_v0__six_codes),
		cmocka_unit_test(test_toolerror__conflict_and_rate_limited),
		cmocka_unit_test(test_owlclaw__unsupported_version),
		cmocka_unit_test(test_kaiza__before_and_within_a_session),
	};

	return cmocka_run_group_tests(tests, memory_setup, memory_teardown);
}
