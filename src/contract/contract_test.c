#include <faultwire/faultwire.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char text[8192];

static const char *encode(const fw_error *err, fw_contract contract,
			  const fw_encode_options *options)
{
	size_t len = fw_error_encode(err, contract, options, text, sizeof(text));

	assert_true(len < sizeof(text));
	assert_int_equal(strlen(text), len);
	return text;
}

static fw_error *decode(const char *from, fw_contract contract)
{
	fw_error *err = NULL,
		 *failed = fw_error_decode(from, strlen(from), contract, NULL, &err);

	if (failed)
		print_message("%s\n", fw_error_message(failed));
	assert_null(failed);
	return err;
}

/* `from` in `contract` is written as `to` in `target`. */
static void check(const char *from, fw_contract contract, fw_contract target, const char *to)
{
	fw_error *err = decode(from, contract);

	assert_string_equal(encode(err, target, NULL), to);
	fw_error_free(err);
}

static void refuse(const char *from, fw_contract contract, int code, const char *message)
{
	fw_error *err = NULL,
		 *failed = fw_error_decode(from, strlen(from), contract, NULL, &err);

	assert_non_null(failed);
	assert_null(err);
	assert_int_equal(fw_error_code(failed), code);
	assert_string_equal(fw_error_message(failed), message);
	fw_error_free(failed);
}

static fw_error *sample(void)
{
	int64_t start = 0, end = 10;
	fw_error *err = fw_raise_input_invalid_line_range(
		"src/main.py", &start, &end, "start_line must be a positive integer");

	fw_error_fill_scope(err, &(fw_scope){ .tool = "open_file", .role = "windsurf" });
	fw_error_set_incident_id(err, "inc_20260226_001");
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static void test_contract__one_error_in_all_contracts(void **state)
{
	fw_error *err = sample();

	(void)state;
	assert_string_equal(
		encode(err, FW_KAIZA, NULL),
		"{\"error_code\":\"INVALID_INPUT_VALUE\",\"human_message\":\"start_line must "
		"be a "
		"positive "
		"integer\",\"role\":\"WINDSURF\",\"session_id\":null,\"workspace_root\":"
		"null,\"tool_name\":\"open_file\",\"invariant_id\":null,\"phase_id\":null,"
		"\"plan_hash\":null,\"cause\":{\"message\":\"Invalid Parameter\",\"code\":"
		"\"input.invalid_line_range\",\"name\":\"fw_error\"},\"timestamp\":"
		"\"2026-01-19T15:32:10.123Z\"}");
	assert_string_equal(
		encode(err, FW_CONTEXT_V0, NULL),
		"{\"error\":{\"code\":\"invalid_query\",\"message\":\"Query is invalid\"}}\n");
	assert_string_equal(
		encode(err, FW_CODEINTEL, NULL),
		"{\"path\":\"\",\"content\":\"\",\"lines\":0,\"size\":0,\"error\":\"start_line "
		"must be a positive integer\",\"problem\":{\"type\":\"https://kgfoundry.dev/"
		"problems/invalid-parameter\",\"title\":\"Invalid Parameter\",\"status\":400,"
		"\"detail\":\"start_line must be a positive integer\",\"instance\":"
		"\"urn:codeintel:files:open_file\",\"code\":\"invalid-parameter\","
		"\"extensions\":{\"path\":\"src/main.py\",\"start_line\":0,\"end_line\":10}}}");
	assert_string_equal(
		encode(err, FW_TOOLERROR, NULL),
		"{\"type\":\"VALIDATION\",\"message\":\"start_line must be a positive "
		"integer\","
		"\"recoverable\":false,\"data\":{\"path\":\"src/main.py\",\"start_line\":0,"
		"\"end_line\":10}}");
	assert_string_equal(
		encode(err, FW_OWLCLAW, NULL),
		"{\"error\":{\"code\":\"input.invalid_line_range\",\"message\":\"start_line "
		"must "
		"be a positive integer\",\"category\":\"validation\",\"retryable\":false,"
		"\"incident_id\":\"inc_20260226_001\",\"details\":{\"path\":\"src/main.py\","
		"\"start_line\":0,\"end_line\":10}}}");
	assert_string_equal(
		encode(err, FW_OWLCLAW_API, NULL),
		"{\"type\":\"https://owlclaw.dev/problems/input-invalid-line-range\",\"title\":"
		"\"Invalid Parameter\",\"status\":400,\"detail\":\"start_line must be a "
		"positive "
		"integer\",\"instance\":\"urn:owlclaw:incident:inc_20260226_001\",\"code\":"
		"\"input.invalid_line_range\",\"category\":\"validation\",\"retryable\":false,"
		"\"incident_id\":\"inc_20260226_001\",\"details\":{\"path\":\"src/main.py\","
		"\"start_line\":0,\"end_line\":10}}");
	fw_error_free(err);
}

static void test_contract__encode_null_is_still_an_error(void **state)
{
	(void)state;
	assert_non_null(strstr(encode(NULL, FW_KAIZA, NULL), "INTERNAL_ERROR"));
}

static void test_contract__to_text_owns_its_memory(void **state)
{
	fw_error *err = sample();
	char *copy = NULL;
	size_t len = 0;

	(void)state;
	assert_null(fw_error_to_text(err, FW_TOOLERROR, NULL, &copy, &len));
	assert_string_equal(copy, encode(err, FW_TOOLERROR, NULL));
	assert_int_equal(strlen(copy), len);
	fw_free(copy);
	fw_error_free(err);
}

/* ---- kaiza ---- */

#define KAIZA(code, message, cause)                                                         \
	"{\"error_code\":\"" code "\",\"human_message\":\"" message                         \
	"\",\"role\":null,\"session_id\":null,\"workspace_root\":null,\"tool_name\":"       \
	"\"t\",\"invariant_id\":null,\"phase_id\":null,\"plan_hash\":null,\"cause\":" cause \
	",\"timestamp\":\"2026-01-19T15:32:10.123Z\"}"

static void test_kaiza__causes_come_back_as_they_were(void **state)
{
	(void)state;
	check(KAIZA("FILE_READ_FAILED", "m", "null"), FW_KAIZA, FW_KAIZA,
	      KAIZA("FILE_READ_FAILED", "m", "null"));
	check(KAIZA("FILE_READ_FAILED", "m", "\"why\""), FW_KAIZA, FW_KAIZA,
	      KAIZA("FILE_READ_FAILED", "m", "\"why\""));
	check(KAIZA("FILE_READ_FAILED", "m",
		    "{\"message\":\"x\",\"deep\":[1,2.50,9007199254740993]}"),
	      FW_KAIZA, FW_KAIZA,
	      KAIZA("FILE_READ_FAILED", "m",
		    "{\"message\":\"x\",\"deep\":[1,2.50,9007199254740993]}"));
}

static void test_kaiza__a_thrown_string_is_the_cause_here_and_the_message_elsewhere(
	void **state)
{
	static const char envelope[] =
		KAIZA("UNKNOWN_TOOL_FAILURE", "An unexpected error occurred", "\"boom\"");

	(void)state;
	check(envelope, FW_KAIZA, FW_KAIZA, envelope);
	check(envelope, FW_KAIZA, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"boom\",\"recoverable\":false}");
}

static void test_kaiza__a_wrapped_error_is_message_code_name(void **state)
{
	fw_error *err = fw_raise_file_not_found("a");

	(void)state;
	err = fw_error_wrap(err, FW_HERE, "could not start");
	assert_non_null(strstr(encode(err, FW_KAIZA, NULL),
			       "\"human_message\":\"could not start: File not found: a\""));
	assert_non_null(strstr(text, "\"cause\":{\"message\":\"File not found: a\",\"code\":"
				     "\"file.not_found\",\"name\":\"fw_error\"}"));
	fw_error_free(err);
}

/* Reads what `err` (consumed) is in `contract`. */
static fw_error *read_back(fw_error *err, fw_contract contract)
{
	fw_error *read = NULL;

	(void)encode(err, contract, NULL);
	fw_error_free(err);
	assert_null(fw_error_decode(text, strlen(text), contract, NULL, &read));
	return read;
}

static void comes_back(fw_error *err, fw_contract contract, int code, fw_retry retry)
{
	fw_error *read = read_back(err, contract);

	assert_int_equal(fw_error_code(read), code);
	assert_int_equal(fw_error_retry(read), retry);
	fw_error_free(read);
}

static void test_kaiza__a_shared_code_comes_back_by_the_cause(void **state)
{
	fw_error *err;

	(void)state;
	comes_back(fw_raise_io_no_space("a"), FW_KAIZA, FW_IO_NO_SPACE, FW_RETRY_NEVER);
	assert_non_null(strstr(text, "\"cause\":{\"message\":\"No Space Left\",\"code\":"
				     "\"io.no_space\",\"name\":\"fw_error\"}"));
	comes_back(fw_raise_runtime_timeout(5), FW_KAIZA, FW_RUNTIME_TIMEOUT, FW_RETRY_BACKOFF);
	comes_back(fw_error_wrap(fw_raise_runtime_timeout(5), FW_HERE, "could not wait"),
		   FW_KAIZA, FW_RUNTIME_TIMEOUT, FW_RETRY_BACKOFF);
	/* The cause is not shown twice. */
	err = read_back(fw_raise_runtime_timeout(5), FW_KAIZA);
	assert_int_equal(fw_error_cause_count(err), 0);
	fw_error_free(err);
}

static void test_kaiza__the_code_of_another_error_is_only_a_cause(void **state)
{
	(void)state;
	comes_back(fw_error_caused_by(fw_raise_tool_failed("x: call timed out"),
				      fw_raise_runtime_timeout(5)),
		   FW_KAIZA, FW_TOOL_FAILED, FW_RETRY_NEVER);
	comes_back(fw_error_caused_by(fw_raise_audit_log_failed("full"),
				      fw_raise_runtime_timeout(5)),
		   FW_KAIZA, FW_AUDIT_LOG_FAILED, FW_RETRY_NEVER);
}

static void test_contract__a_retry_that_was_forbidden_stays_forbidden(void **state)
{
	(void)state;
	for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
		for (int wrapped = 0; wrapped < 2; wrapped++) {
			fw_error *err = fw_raise_upstream_timeout("files", 5);
			fw_error *read;

			fw_error_set_retry(err, FW_RETRY_NEVER);
			if (wrapped)
				err = fw_error_wrap(err, FW_HERE, "could not read");
			read = read_back(err, (fw_contract)contract);
			assert_int_not_equal(fw_error_retry(read), FW_RETRY_BACKOFF);
			fw_error_free(read);
		}
}

static void test_context_v0__io_error_is_not_retried_since_it_may_be_a_full_disk(void **state)
{
	(void)state;
	comes_back(fw_raise_io_no_space("a"), FW_CONTEXT_V0, FW_IO_FAILED, FW_RETRY_NEVER);
	comes_back(fw_raise_io_failed(), FW_CONTEXT_V0, FW_IO_FAILED, FW_RETRY_NEVER);
}

static void test_kaiza__stack_trace_only_when_asked(void **state)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	fw_error *err = fw_raise_file_not_found("a");

	(void)state;
	assert_null(strstr(encode(err, FW_KAIZA, NULL), "stack_trace"));
	assert_non_null(strstr(encode(err, FW_KAIZA, &options), "contract_test.c:"));
	fw_error_free(err);
}

static void test_kaiza__refuses_what_is_not_registered(void **state)
{
	(void)state;
	refuse(KAIZA("NO_SUCH_CODE", "m", "null"), FW_KAIZA, FW_REGISTRY_CODE_UNREGISTERED,
	       "code is not registered: NO_SUCH_CODE");
}

static void test_kaiza__a_rate_limit_is_not_a_lack_of_permissions(void **state)
{
	(void)state;
	assert_string_equal(fw_registry_find(NULL, "governance.rate_limited")->kaiza,
			    "UNKNOWN_TOOL_FAILURE");
	assert_string_equal(fw_registry_find(NULL, "resource.conflict")->kaiza,
			    "UNKNOWN_TOOL_FAILURE");
	comes_back(fw_raise_governance_rate_limited(), FW_KAIZA, FW_GOVERNANCE_RATE_LIMITED,
		   FW_RETRY_BACKOFF);
}

/* ---- codeintel ---- */

/* What a client sees of `err` (consumed). */
static void shown(fw_error *err, const char *code, const char *extensions)
{
	char expected[512];

	(void)snprintf(expected, sizeof(expected), "\"code\":\"%s\",\"extensions\":%s}}", code,
		       extensions);
	(void)encode(err, FW_CODEINTEL, NULL);
	if (!strstr(text, expected))
		fail_msg("%s is not in %s", expected, text);
	fw_error_free(err);
}

static void test_codeintel__an_unknown_failure_does_not_show_what_the_tool_said(void **state)
{
	static const char *const thrown[][2] = {
		{ "\"password of root is hunter2\"", "{\"exception_type\":\"string\"}" },
		{ "{\"name\":\"TypeError\",\"message\":\"hunter2\"}",
		  "{\"exception_type\":\"TypeError\"}" },
		{ "{\"message\":\"hunter2\"}", "{\"exception_type\":\"object\"}" },
		{ "null", "{\"exception_type\":\"tool.failed\"}" },
	};
	static char once[sizeof(text)];

	(void)state;
	for (size_t i = 0; i < sizeof(thrown) / sizeof(thrown[0]); i++) {
		shown(fw_error_from_json(FW_HERE, thrown[i][0], strlen(thrown[i][0])),
		      "internal-error", thrown[i][1]);
		assert_null(strstr(text, "hunter2"));
		assert_non_null(strstr(text, "\"error\":\"An unexpected error occurred\""));
		assert_non_null(strstr(text, "\"status\":500"));
		memcpy(once, text, sizeof(text));
		check(once, FW_CODEINTEL, FW_CODEINTEL, once);
	}
	shown(fw_error_wrap(fw_raise_tool_failed("hunter2"), FW_HERE, "could not"),
	      "internal-error", "{\"exception_type\":\"fw_error\"}");
	assert_null(strstr(text, "hunter2"));
}

static void test_codeintel__a_missing_file_has_its_path(void **state)
{
	(void)state;
	shown(fw_raise_file_not_found("src/main.py"), "file-not-found",
	      "{\"path\":\"src/main.py\"}");
	shown(fw_raise_file_unsupported_encoding("a.png", "utf-8", "invalid start byte"),
	      "unsupported-encoding",
	      "{\"path\":\"a.png\",\"encoding\":\"utf-8\",\"reason\":"
	      "\"invalid start byte\"}");
	shown(fw_raise_file_operation_failed("src", "path is not a file"),
	      "file-operation-failed", "{\"path\":\"src\"}");
	assert_non_null(strstr(text, "\"status\":400"));
}

/* ---- toolerror ---- */

static void test_toolerror__examples_of_the_contract(void **state)
{
	static const char *const examples[] = {
		"{\"type\":\"NOT_FOUND\",\"message\":\"agent \\\"fd-safety\\\" not "
		"registered\","
		"\"recoverable\":false}",
		"{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: 2 conflicts\","
		"\"recoverable\":true,\"data\":{\"conflicts\":[{\"agent_id\":\"agent-2\","
		"\"pattern\":\"src/*.go\",\"held_by\":\"agent-2\"}]}}",
		"{\"type\":\"TRANSIENT\",\"message\":\"rate limited\",\"recoverable\":true,"
		"\"data\":{\"retry_after\":30}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		check(examples[i], FW_AUTO, FW_TOOLERROR, examples[i]);
}

static void test_toolerror__go_escape_sorts_and_escapes(void **state)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .go_escape = true };
	fw_error *err = decode("{\"type\":\"TRANSIENT\",\"message\":\"a<b>&c\",\"recoverable\":"
			       "true,\"data\":{\"z\":{\"y\":1,\"x\":\"<\"},\"a\":true,"
			       "\"retry_after\":0.5,\"s\":\"t\"}}",
			       FW_TOOLERROR);

	(void)state;
	assert_string_equal(encode(err, FW_TOOLERROR, &options),
			    "{\"type\":\"TRANSIENT\",\"message\":\"a\\u003cb\\u003e\\u0026c\","
			    "\"recoverable\":true,\"data\":{\"a\":true,\"retry_after\":0.5,"
			    "\"s\":\"t\",\"z\":{\"x\":\"\\u003c\",\"y\":1}}}");
	fw_error_free(err);
}

static void test_toolerror__string_form_is_read(void **state)
{
	(void)state;
	check("[CONFLICT] held by another\n", FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"CONFLICT\",\"message\":\"held by another\",\"recoverable\":false}");
}

static void test_toolerror__an_invalid_delay_stays_data(void **state)
{
	static const char odd[] =
		"{\"type\":\"INTERNAL\",\"message\":\"m\",\"recoverable\":false,"
		"\"data\":{\"retry_after\":\"soon\",\"big\":123456789012345678901}}";

	(void)state;
	check(odd, FW_TOOLERROR, FW_TOOLERROR, odd);
}

/* ---- owlclaw ---- */

static void test_owlclaw__unsupported_version_is_the_contracts_example(void **state)
{
	fw_error *err = fw_raise_protocol_unsupported_version("[\"v1\"]", NULL);

	(void)state;
	fw_error_set_incident_id(err, "inc_20260226_001");
	assert_string_equal(
		encode(err, FW_OWLCLAW_API, NULL),
		"{\"type\":\"https://owlclaw.dev/problems/protocol-version\",\"title\":"
		"\"Unsupported protocol version\",\"status\":400,\"detail\":\"Unsupported "
		"protocol version\",\"instance\":\"urn:owlclaw:incident:inc_20260226_001\","
		"\"code\":\"protocol.unsupported_version\",\"category\":\"compatibility\","
		"\"retryable\":false,\"incident_id\":\"inc_20260226_001\",\"details\":"
		"{\"supported_versions\":[\"v1\"]}}");
	fw_error_free(err);
}

static void test_owlclaw__codes_of_others_survive(void **state)
{
	static const char foreign[] = "{\"error\":{\"code\":\"billing.card_declined\","
				      "\"message\":\"no\",\"category\":"
				      "\"governance\",\"retryable\":true,\"incident_id\":\"inc_"
				      "1\",\"retry_after\":5}}";

	(void)state;
	check(foreign, FW_AUTO, FW_OWLCLAW, foreign);
	refuse("{\"error\":{\"code\":\"Not A Code\",\"category\":\"auth\"}}", FW_OWLCLAW,
	       FW_CONTRACT_MALFORMED,
	       "envelope of contract owlclaw is malformed at \"/error/code\": must be "
	       "domain.reason in lower case");
}

static void test_owlclaw__base_of_the_type_can_be_chosen(void **state)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .problem_base = "http://127.0.0.1:8940/problems/" };
	fw_error *err = sample();

	(void)state;
	assert_non_null(strstr(encode(err, FW_OWLCLAW_API, &options),
			       "\"http://127.0.0.1:8940/problems/input-invalid-line-range\""));
	fw_error_free(err);
}

/* ---- codeintel ---- */

static void test_codeintel__the_tools_empty_result_comes_first(void **state)
{
	fw_error *err = fw_raise_search_timeout("def main");

	(void)state;
	fw_error_fill_scope(err, &(fw_scope){ .operation = "search:text" });
	assert_string_equal(
		encode(err, FW_CODEINTEL, NULL),
		"{\"matches\":[],\"total\":0,\"truncated\":false,\"error\":\"Search timeout\","
		"\"problem\":{\"type\":\"https://kgfoundry.dev/problems/vector-search-error\","
		"\"title\":\"Vector Search Error\",\"status\":503,\"detail\":\"Search "
		"timeout\","
		"\"instance\":\"urn:codeintel:search:text\",\"code\":\"vector-search-error\","
		"\"extensions\":{\"query\":\"def main\"}}}");
	fw_error_set_empty_result(err, "{ \"rows\" : [ ] }", 16);
	assert_memory_equal(encode(err, FW_CODEINTEL, NULL), "{\"rows\":[],\"error\":", 19);
	fw_error_free(err);
}

static void test_codeintel__titles_and_codes_of_others_survive(void **state)
{
	static const char foreign[] = "{\"x\":[1],\"error\":\"e\",\"problem\":{\"type\":"
				      "\"https://kgfoundry.dev/problems/"
				      "teapot\",\"title\":\"I Am A "
				      "Teapot\",\"status\":418,\"detail\":\"e\",\"instance\":"
				      "\"urn:codeintel:a:b\",\"code\":\"teapot\"}}";

	(void)state;
	check(foreign, FW_AUTO, FW_CODEINTEL, foreign);
}

/* ---- context-v0 ---- */

static void test_context_v0__has_six_fixed_messages(void **state)
{
	static const char *const six[] = {
		"{\"error\":{\"code\":\"cache_missing\",\"message\":\"Cache does not "
		"exist\"}}\n",
		"{\"error\":{\"code\":\"cache_invalid\",\"message\":\"Cache exists but is "
		"invalid\"}}\n",
		"{\"error\":{\"code\":\"invalid_query\",\"message\":\"Query is invalid\"}}\n",
		"{\"error\":{\"code\":\"invalid_budget\",\"message\":\"Budget is invalid\"}}\n",
		"{\"error\":{\"code\":\"io_error\",\"message\":\"I/O error occurred\"}}\n",
		"{\"error\":{\"code\":\"internal_error\",\"message\":\"Internal error\"}}\n",
	};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		check(six[i], FW_AUTO, FW_CONTEXT_V0, six[i]);
}

/* ---- canonical ---- */

static void test_canonical__has_every_member(void **state)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	fw_error *err = sample(), *again;
	char first[4096];

	(void)state;
	err = fw_error_wrap(err, FW_HERE, "outer");
	fw_error_add_cause(err, "Permission denied", "EACCES", "errno");
	fw_error_set_delivery(err, FW_SENT);
	fw_error_set_origin(err, FW_ORIGIN_UPSTREAM);
	fw_error_set_recoverable(err, true);
	fw_error_set_hint(err, "Do something else.");
	fw_error_set_detail(err, "for the operator");
	fw_error_set_status(err, 422);
	snprintf(first, sizeof(first), "%s", encode(err, FW_CANONICAL, &options));
	assert_null(strstr(first, "for the operator"));
	again = decode(first, FW_AUTO);
	assert_string_equal(encode(again, FW_CANONICAL, &options), first);
	assert_int_equal(fw_error_delivery(again), FW_SENT);
	assert_int_equal(fw_error_status(again), 422);
	fw_error_free(again);
	fw_error_free(err);
}

/* ---- sniff ---- */

static void test_sniff__distinguishes_the_contracts(void **state)
{
	static const struct {
		const char *text;
		fw_contract contract;
	} cases[] = {
		{ KAIZA("FILE_NOT_FOUND", "m", "null"), FW_KAIZA },
		{ "{\"error\":{\"code\":\"io_error\",\"message\":\"x\"}}", FW_CONTEXT_V0 },
		{ "{\"error\":{\"code\":\"other\",\"message\":\"x\"}}", FW_ANY_JSON },
		{ "{\"error\":{\"code\":-32602,\"message\":\"x\"},\"id\":1,\"jsonrpc\":\"2."
		  "0\"}",
		  FW_ANY_JSON },
		{ "{\"error\":{\"code\":\"a.b\",\"retryable\":false}}", FW_OWLCLAW },
		{ "{\"error\":\"x\",\"problem\":{\"code\":\"y\"}}", FW_CODEINTEL },
		{ "{\"error\":\"x\"}", FW_ANY_JSON },
		{ "{\"type\":\"CONFLICT\",\"message\":\"m\",\"recoverable\":true}",
		  FW_TOOLERROR },
		{ "{\"type\":\"about:blank\",\"message\":\"m\"}", FW_ANY_JSON },
		{ "[NOT_FOUND] x", FW_TOOLERROR },
		{ "{\"code\":\"a.b\",\"category\":\"auth\",\"retryable\":false,\"status\":401}",
		  FW_OWLCLAW_API },
		{ "{\"code\":\"a.b\",\"category\":\"auth\",\"type\":\"PERMISSION\",\"retry\":"
		  "\"never\",\"message\":\"m\"}",
		  FW_CANONICAL },
		{ "[]", FW_ANY_JSON },
		{ "\"text\"", FW_ANY_JSON },
		{ "17", FW_ANY_JSON },
		{ "", FW_PLAIN_TEXT },
		{ "connection refused", FW_PLAIN_TEXT },
		{ "{\"error_code\":", FW_PLAIN_TEXT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (fw_sniff(cases[i].text, strlen(cases[i].text)) != cases[i].contract)
			print_message("%s\n", cases[i].text);
		assert_int_equal(fw_sniff(cases[i].text, strlen(cases[i].text)),
				 cases[i].contract);
	}
}

/* ---- carriers ---- */

#define CONFLICT "{\"type\":\"CONFLICT\",\"message\":\"m\",\"recoverable\":true}"

static void test_decode__unpacks_mcp_messages(void **state)
{
	(void)state;
	/* the result of a tool, alone and in a response */
	check("{\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"[CONFLICT] "
	      "m\"}],"
	      "\"isError\":true}",
	      FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"CONFLICT\",\"message\":\"m\",\"recoverable\":false}");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
	      "\"text\":"
	      "\"{\\\"type\\\":\\\"CONFLICT\\\",\\\"message\\\":\\\"m\\\",\\\"recoverable\\\":"
	      "true}\"}],"
	      "\"isError\":true}}",
	      FW_AUTO, FW_TOOLERROR, CONFLICT);
	/* an error with our data, with that of a contract, and with neither */
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"x\","
	      "\"data\":{"
	      "\"dev.faultwire/"
	      "error\":{\"code\":\"resource.conflict\",\"category\":\"validation\","
	      "\"type\":\"CONFLICT\",\"retry\":\"after_fix\",\"recoverable\":true,\"message\":"
	      "\"m\"}}}}",
	      FW_AUTO, FW_TOOLERROR, CONFLICT);
	check("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"x\",\"data\":{"
	      "\"error\":" CONFLICT "}}}",
	      FW_AUTO, FW_TOOLERROR, CONFLICT);
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"rate "
	      "limit\"}}",
	      FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"rate limit\",\"recoverable\":false}");
	/* only one level: a message inside a message is plain JSON */
	check("{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
	      "\"{\\\"isError\\\":true,\\\"content\\\":[]}\"}]}",
	      FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"An unexpected error occurred\","
	      "\"recoverable\":false}");
}

static void test_decode__takes_the_message_of_any_json(void **state)
{
	(void)state;
	check("{\"error\":\"no such table\"}", FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"no such table\",\"recoverable\":false}");
	check("{\"error\":{\"message\":\"no such table\"}}", FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"no such table\",\"recoverable\":false}");
	check("[1,2]", FW_AUTO, FW_TOOLERROR,
	      "{\"type\":\"INTERNAL\",\"message\":\"[1,2]\",\"recoverable\":false}");
}

/* ---- faults ---- */

static void test_decode__reports_the_fault_and_its_location(void **state)
{
	(void)state;
	refuse("{\"type\":\"CONFLICT\"}", FW_TOOLERROR, FW_CONTRACT_MALFORMED,
	       "envelope of contract toolerror is malformed at \"/message\": is missing");
	refuse("{\"type\":\"CONFLICT\",\"message\":5}", FW_TOOLERROR, FW_CONTRACT_MALFORMED,
	       "envelope of contract toolerror is malformed at \"/message\": must be a string");
	refuse("{\"type\":\"CONFLICT\",\"type\":\"CONFLICT\",\"message\":\"m\"}", FW_TOOLERROR,
	       FW_CONTRACT_MALFORMED,
	       "envelope of contract toolerror is malformed at \"/type\": key is there twice");
	refuse("{\"type\":\"CONFLICT\",\"message\":\"m\",\"data\":{\"a\":{\"b\":[{\"c\":1,"
	       "\"c\":2}]}}}",
	       FW_TOOLERROR, FW_CONTRACT_MALFORMED,
	       "envelope of contract toolerror is malformed at \"/data/a/b/0/c\": key is there "
	       "twice");
	refuse("{\"type\":\"CONFLICT\",\"message\":\"a\\u0000b\"}", FW_TOOLERROR,
	       FW_CONTRACT_MALFORMED,
	       "envelope of contract toolerror is malformed at \"/message\": string holds a "
	       "NUL");
	refuse("{\"type\":", FW_TOOLERROR, FW_CONTRACT_NOT_JSON,
	       "text is not JSON at byte 8: unexpected end of data");
	refuse("{\"type\":\"\xff\"}", FW_TOOLERROR, FW_INPUT_INVALID_ENCODING,
	       "text is not UTF-8 at byte 9");
}

/* ---- validate ---- */

static void collect(void *ctx, const fw_violation_info *violation)
{
	char *out = ctx;

	snprintf(out + strlen(out), 2048 - strlen(out), "%s|%s|%s|%s\n", violation->pointer,
		 violation->rule, violation->expected, violation->found);
}

static const char *violations(const char *envelope, fw_contract contract)
{
	static char told[2048];
	size_t count = 0;

	told[0] = '\0';
	assert_null(
		fw_validate(envelope, strlen(envelope), contract, NULL, collect, told, &count));
	return told;
}

static void test_validate__reports_pointer_rule_expected_and_found(void **state)
{
	(void)state;
	assert_string_equal(violations("{\"type\":\"CONFLICT\",\"message\":\"m\","
				       "\"recoverable\":true}",
				       FW_TOOLERROR),
			    "");
	assert_string_equal(violations("{\"type\":\"CONFLICT\",\"message\":5}", FW_TOOLERROR),
			    "/message|type|string|number 5\n"
			    "|required|property \"recoverable\"|missing\n");
	assert_non_null(strstr(violations("{\"documents\":[],\"error\":{\"code\":\"io_error\","
					  "\"message\":\"x\"}}",
					  FW_CONTEXT_V0),
			       "/documents|additionalProperties|"));
}

static void test_validate__checks_what_a_schema_cannot_express(void **state)
{
	(void)state;
	assert_string_equal(violations("{\"error\":{\"code\":\"governance.rate_limited\","
				       "\"category\":\"auth\","
				       "\"retryable\":true,\"incident_id\":\"inc_1\"}}",
				       FW_OWLCLAW),
			    "/error/category|registry|\"governance\", as registered for the "
			    "code|\"auth\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract__one_error_in_all_contracts),
		cmocka_unit_test(test_contract__encode_null_is_still_an_error),
		cmocka_unit_test(test_contract__to_text_owns_its_memory),
		cmocka_unit_test(test_kaiza__causes_come_back_as_they_were),
		cmocka_unit_test(test_kaiza__a_shared_code_comes_back_by_the_cause),
		cmocka_unit_test(test_kaiza__the_code_of_another_error_is_only_a_cause),
		cmocka_unit_test(test_contract__a_retry_that_was_forbidden_stays_forbidden),
		cmocka_unit_test(
			test_context_v0__io_error_is_not_retried_since_it_may_be_a_full_disk),
		cmocka_unit_test(test_kaiza__a_rate_limit_is_not_a_lack_of_permissions),
		cmocka_unit_test(
			test_codeintel__an_unknown_failure_does_not_show_what_the_tool_said),
		cmocka_unit_test(test_codeintel__a_missing_file_has_its_path),
		cmocka_unit_test(
			test_kaiza__a_thrown_string_is_the_cause_here_and_the_message_elsewhere),
		cmocka_unit_test(test_kaiza__a_wrapped_error_is_message_code_name),
		cmocka_unit_test(test_kaiza__stack_trace_only_when_asked),
		cmocka_unit_test(test_kaiza__refuses_what_is_not_registered),
		cmocka_unit_test(test_toolerror__examples_of_the_contract),
		cmocka_unit_test(test_toolerror__go_escape_sorts_and_escapes),
		cmocka_unit_test(test_toolerror__string_form_is_read),
		cmocka_unit_test(test_toolerror__an_invalid_delay_stays_data),
		cmocka_unit_test(test_owlclaw__unsupported_version_is_the_contracts_example),
		cmocka_unit_test(test_owlclaw__codes_of_others_survive),
		cmocka_unit_test(test_owlclaw__base_of_the_type_can_be_chosen),
		cmocka_unit_test(test_codeintel__the_tools_empty_result_comes_first),
		cmocka_unit_test(test_codeintel__titles_and_codes_of_others_survive),
		cmocka_unit_test(test_context_v0__has_six_fixed_messages),
		cmocka_unit_test(test_canonical__has_every_member),
		cmocka_unit_test(test_sniff__distinguishes_the_contracts),
		cmocka_unit_test(test_decode__unpacks_mcp_messages),
		cmocka_unit_test(test_decode__takes_the_message_of_any_json),
		cmocka_unit_test(test_decode__reports_the_fault_and_its_location),
		cmocka_unit_test(test_validate__reports_pointer_rule_expected_and_found),
		cmocka_unit_test(test_validate__checks_what_a_schema_cannot_express),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
