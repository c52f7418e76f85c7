/*
 * everything.c - a server with one of everything: what the official conformance
 * suite asks for, and two tools to measure with.
 *
 *     everything --stdio
 *     everything --http 127.0.0.1:4000        endpoint /mcp
 *
 * Options: --contract NAME, --token TOKEN, --limit NAME=VALUE (as often as there
 * are limits). Its URL goes to standard error.
 */
#include <faultwire/faultwire.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PNG                                                                                    \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJ" \
	"RU5ErkJggg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

static void sleep_ms(long ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&left, NULL);
}

/* ---- content -------------------------------------------------------------- */

static fw_error *simple_text(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "This is a simple text response for testing.");
	return NULL;
}

static fw_error *image(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_image(call, PNG, "image/png");
	return NULL;
}

static fw_error *audio(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_audio(call, WAV, "audio/wav");
	return NULL;
}

static fw_error *embedded(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_resource_text(call, "test://embedded-resource", "text/plain",
			      "This is an embedded resource content.");
	return NULL;
}

static fw_error *mixed(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "Multiple content types test:");
	fw_call_image(call, PNG, "image/png");
	fw_call_resource_text(call, "test://mixed-content-resource", "application/json",
			      "{\"test\":\"data\",\"value\":123}");
	return NULL;
}

static fw_error *echo(fw_call *call, void *ctx)
{
	size_t len;
	const char *text = fw_call_string(call, "text", &len);

	(void)ctx;
	fw_call_text_n(call, text, len);
	return NULL;
}

static fw_error *echo_json(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "JSON Schema 2020-12 tool called with: %s",
		      fw_call_json(call, NULL, NULL));
	return NULL;
}

static fw_error *region(fw_call *call, void *ctx)
{
	const char *name = fw_call_string(call, "region", NULL);

	(void)ctx;
	fw_call_textf(call, "region=%s", name ? name : "<none>");
	return NULL;
}

/* Sum of two integers, as structured content; wrong on purpose if asked. */
static fw_error *add(fw_call *call, void *ctx)
{
	long long sum = (long long)(fw_call_i64(call, "a", 0) + fw_call_i64(call, "b", 0));
	char json[64];
	int len = snprintf(json, sizeof json,
			   fw_call_bool(call, "wrong", false) ? "{\"sum\":\"%lld\"}"
							      : "{\"sum\":%lld}",
			   sum);

	(void)ctx;
	fw_call_structured(call, json, (size_t)len);
	return NULL;
}

/* ---- failures --------------------------------------------------------------- */

static fw_error *failing(fw_call *call, void *ctx)
{
	const char *text = fw_call_string(call, "text", NULL);

	(void)ctx;
	return fw_raise_tool_failed(
		text ? text : "This tool intentionally returns an error for testing");
}

static fw_error *silent(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

/* ---- on the way ---------------------------------------------------------------- */

static fw_error *logging(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool execution started");
	sleep_ms(50);
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool processing data");
	sleep_ms(50);
	fw_call_log(call, FW_LOG_INFO, NULL, "Tool execution completed");
	fw_call_text(call, "Tool with logging executed successfully");
	return NULL;
}

static fw_error *log_once(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_log(call, FW_LOG_INFO, "everything", "test_logging_tool was called");
	fw_call_text(call, "logged once, if you asked for it");
	return NULL;
}

static fw_error *progress(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_progress(call, 0, 100, NULL);
	sleep_ms(50);
	fw_call_progress(call, 50, 100, NULL);
	sleep_ms(50);
	fw_call_progress(call, 100, 100, NULL);
	fw_call_text(call, "Tool with progress executed successfully");
	return NULL;
}

/* As fast as it can: what is too much is the server's to know. */
static fw_error *chatter(fw_call *call, void *ctx)
{
	int64_t count = fw_call_i64(call, "count", 100);
	char text[201];

	(void)ctx;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (int64_t i = 1; i <= count && !fw_call_is_cancelled(call); i++) {
		fw_call_progress(call, (double)i, (double)count, NULL);
		fw_call_log(call, FW_LOG_INFO, "chatter", text);
	}
	fw_call_textf(call, "said it %lld times", (long long)count);
	return NULL;
}

static fw_error *reconnection(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_close_stream(call, 500);
	sleep_ms(100);
	fw_call_text(call,
		     "Reconnection test completed successfully. If you received this, the "
		     "client properly reconnected after stream closure.");
	return NULL;
}

/* Sleeps for `ms` on a thread; looks up now and then unless told not to. */
static fw_error *slow(fw_call *call, void *ctx)
{
	long left = (long)fw_call_i64(call, "ms", 0);
	bool is_deaf = fw_call_bool(call, "deaf", false);

	(void)ctx;
	for (; left > 0 && (is_deaf || !fw_call_is_cancelled(call)); left -= 10)
		sleep_ms(left < 10 ? left : 10);
	fw_call_text(call, "slept");
	return NULL;
}

static void wake(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "later");
	fw_call_finish(call, NULL);
}

static fw_error *later(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_after(call, (uint32_t)fw_call_i64(call, "ms", 0), wake, NULL);
	return NULL;
}

static fw_error *tools_changed(fw_call *call, void *ctx)
{
	fw_server_tools_changed(ctx);
	fw_call_text(call, "tools_list_changed published");
	return NULL;
}

static fw_error *prompts_changed(fw_call *call, void *ctx)
{
	fw_server_prompts_changed(ctx);
	fw_call_text(call, "prompts_list_changed published");
	return NULL;
}

static fw_error *streaming(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "stream observed: result frames only, no top-level requests");
	return NULL;
}

/* ---- asking ---------------------------------------------------------------------- */

#define FORM(message, properties, required)                                       \
	"{\"message\":\"" message                                                 \
	"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties \
	"},\"required\":[" required "]}}"
#define NAME_FORM(message) FORM(message, "\"name\":{\"type\":\"string\"}", "\"name\"")
#define CONFIRM_FORM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")
#define SAMPLE(text, tokens)                                                                \
	"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text \
	"\"}}],\"maxTokens\":" tokens "}"

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* JSON text of a question with one string of the caller's in it. */
static char *with_text(const char *before, const char *text, const char *after)
{
	size_t size = strlen(before) + 2 * strlen(text) + strlen(after) + 1;
	char *json = malloc(size);
	char *at = json;

	if (!json)
		return NULL;
	at += snprintf(at, size, "%s", before);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*at++ = '\\';
		*at++ = (unsigned char)*text < 0x20 ? ' ' : *text;
	}
	(void)snprintf(at, strlen(after) + 1, "%s", after);
	return json;
}

static fw_error *sampling(fw_call *call, void *ctx)
{
	char *params = with_text(
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		"\"text\":\"",
		or_empty(fw_call_string(call, "prompt", NULL)), "\"}}],\"maxTokens\":100}");

	(void)ctx;
	if (params && fw_call_ask(call, "sample", "sampling/createMessage", params))
		fw_call_textf(call, "LLM response: %s",
			      or_empty(fw_call_answer(call, "sample", "/content/text")));
	free(params);
	return NULL;
}

static fw_error *elicitation(fw_call *call, void *ctx)
{
	char *params = with_text(
		"{\"message\":\"", or_empty(fw_call_string(call, "message", NULL)),
		"\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"username\":{"
		"\"type\":\"string\",\"description\":\"User's response\"},\"email\":{\"type\":"
		"\"string\",\"description\":\"User's email "
		"address\"}},\"required\":[\"username\","
		"\"email\"]}}");
	const char *answer =
		params ? fw_call_ask(call, "form", "elicitation/create", params) : NULL;

	(void)ctx;
	if (answer)
		fw_call_textf(call, "User response: %s", answer);
	free(params);
	return NULL;
}

/* A form whose whole text is `ctx`. */
static fw_error *form(fw_call *call, void *ctx)
{
	const char *answer = fw_call_ask(call, "form", "elicitation/create", ctx);

	if (answer)
		fw_call_textf(call, "Elicitation completed: %s", answer);
	return NULL;
}

static fw_error *missing_capability(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "llm_answer", "sampling/createMessage",
			SAMPLE("Reply with the single word: pong", "16")))
		fw_call_text(call, "sampling round-trip complete");
	return NULL;
}

static fw_error *ask_name(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "user_name", "elicitation/create",
			NAME_FORM("What is your name?")))
		fw_call_textf(call, "Hello, %s!",
			      or_empty(fw_call_answer(call, "user_name", "/content/name")));
	return NULL;
}

static fw_error *ask_model(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "capital_question", "sampling/createMessage",
			SAMPLE("What is the capital of France?", "100")))
		fw_call_textf(
			call, "Sampling response: %s",
			or_empty(fw_call_answer(call, "capital_question", "/content/text")));
	return NULL;
}

static fw_error *ask_roots(fw_call *call, void *ctx)
{
	const char *answer = fw_call_ask(call, "client_roots", "roots/list", NULL);

	(void)ctx;
	if (answer)
		fw_call_textf(call, "Client exposed these roots: %s", answer);
	return NULL;
}

static fw_error *ask_confirmation(fw_call *call, void *ctx)
{
	if (fw_call_ask(call, "confirm", "elicitation/create", CONFIRM_FORM))
		fw_call_text(call, ctx);
	return NULL;
}

static fw_error *ask_all(fw_call *call, void *ctx)
{
	const char *name = fw_call_ask(call, "user_name", "elicitation/create",
				       NAME_FORM("What is your name?"));
	const char *greeting = fw_call_ask(call, "greeting", "sampling/createMessage",
					   SAMPLE("Generate a greeting", "50"));
	const char *roots = fw_call_ask(call, "client_roots", "roots/list", NULL);

	(void)ctx;
	if (name && greeting && roots)
		fw_call_textf(call, "%s %s: %s",
			      or_empty(fw_call_answer(call, "greeting", "/content/text")),
			      or_empty(fw_call_answer(call, "user_name", "/content/name")),
			      roots);
	return NULL;
}

static fw_error *ask_twice(fw_call *call, void *ctx)
{
	(void)ctx;
	if (!fw_call_ask(call, "step1", "elicitation/create",
			 NAME_FORM("Step 1: What is your name?")))
		return NULL;
	if (!fw_call_ask(call, "step2", "elicitation/create",
			 FORM("Step 2: What is your favorite color?",
			      "\"color\":{\"type\":\"string\"}", "\"color\"")))
		return NULL;
	fw_call_textf(call, "Multi-round complete: %s likes %s",
		      or_empty(fw_call_answer(call, "step1", "/content/name")),
		      or_empty(fw_call_answer(call, "step2", "/content/color")));
	return NULL;
}

static fw_error *ask_what_it_can(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_client_can(call, "elicitation"))
		(void)fw_call_ask(call, "user_name", "elicitation/create",
				  NAME_FORM("What is your name?"));
	if (fw_call_client_can(call, "sampling"))
		(void)fw_call_ask(call, "greeting", "sampling/createMessage",
				  SAMPLE("Generate a short greeting", "50"));
	if (fw_call_client_can(call, "roots"))
		(void)fw_call_ask(call, "client_roots", "roots/list", NULL);
	fw_call_text(call, "asked what the client can answer");
	return NULL;
}

static const char defaults_form[] = FORM(
	"Please review and update the form fields with defaults",
	"\"name\":{\"type\":\"string\",\"description\":\"User name\",\"default\":\"John Doe\"},"
	"\"age\":{\"type\":\"integer\",\"description\":\"User age\",\"default\":30},"
	"\"score\":{\"type\":\"number\",\"description\":\"User score\",\"default\":95.5},"
	"\"status\":{\"type\":\"string\",\"description\":\"User status\",\"enum\":[\"active\","
	"\"inactive\",\"pending\"],\"default\":\"active\"},"
	"\"verified\":{\"type\":\"boolean\",\"description\":\"Verification "
	"status\",\"default\":"
	"true}",
	"");

static const char enums_form[] = FORM(
	"Please select options from the enum fields",
	"\"untitledSingle\":{\"type\":\"string\",\"description\":\"Select one "
	"option\",\"enum\":["
	"\"option1\",\"option2\",\"option3\"]},"
	"\"titledSingle\":{\"type\":\"string\",\"description\":\"Select one option with "
	"titles\","
	"\"oneOf\":[{\"const\":\"value1\",\"title\":\"First Option\"},{\"const\":\"value2\","
	"\"title\":\"Second Option\"},{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
	"\"legacyEnum\":{\"type\":\"string\",\"description\":\"Select one option (legacy)\","
	"\"enum\":[\"opt1\",\"opt2\",\"opt3\"],\"enumNames\":[\"Option One\",\"Option Two\","
	"\"Option Three\"]},"
	"\"untitledMulti\":{\"type\":\"array\",\"description\":\"Select multiple options\","
	"\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":\"string\",\"enum\":[\"option1\","
	"\"option2\",\"option3\"]}},"
	"\"titledMulti\":{\"type\":\"array\",\"description\":\"Select multiple options with "
	"titles\",\"minItems\":1,\"maxItems\":3,\"items\":{\"anyOf\":[{\"const\":\"value1\","
	"\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{"
	"\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",
	"");

/* ---- resources ---------------------------------------------------------------------- */

static fw_error *read_text(fw_call *call, void *ctx)
{
	fw_call_resource_text(call, fw_call_name(call), "text/plain", ctx);
	return NULL;
}

static fw_error *read_binary(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_resource_blob(call, fw_call_name(call), "image/png", PNG);
	return NULL;
}

static fw_error *read_template(fw_call *call, void *ctx)
{
	const char *id = fw_call_string(call, "id", NULL);
	char json[512];

	(void)ctx;
	(void)snprintf(
		json, sizeof json,
		"{\"id\":\"%.64s\",\"templateTest\":true,\"data\":\"Data for ID: %.64s\"}", id,
		id);
	fw_call_resource_text(call, fw_call_name(call), "application/json", json);
	return NULL;
}

/* ---- prompts ------------------------------------------------------------------------- */

static fw_error *simple_prompt(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "This is a simple prompt for testing.");
	return NULL;
}

static fw_error *prompt_with_arguments(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
		      fw_call_string(call, "arg1", NULL), fw_call_string(call, "arg2", NULL));
	return NULL;
}

static fw_error *complete_argument(fw_call *call, void *ctx)
{
	static const char *const values[] = { "paris", "park", "party", "test", "testing" };
	const char *value = fw_call_string(call, "value", NULL);

	(void)ctx;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strncmp(values[i], value, strlen(value)) == 0)
			fw_call_value(call, values[i]);
	return NULL;
}

static fw_error *prompt_with_resource(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_resource_text(call, fw_call_string(call, "resourceUri", NULL), "text/plain",
			      "Embedded resource content for testing.");
	fw_call_text(call, "Please process the embedded resource above.");
	return NULL;
}

static fw_error *prompt_with_image(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_image(call, PNG, "image/png");
	fw_call_text(call, "Please analyze the image above.");
	return NULL;
}

static fw_error *prompt_that_asks(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "user_context", "elicitation/create",
			FORM("What context should the prompt use?",
			     "\"context\":{\"type\":\"string\"}", "\"context\"")))
		fw_call_textf(
			call, "Use the following context: %s",
			or_empty(fw_call_answer(call, "user_context", "/content/context")));
	return NULL;
}

/* ---- registration ----------------------------------------------------------------------- */

#define NONE "{\"type\":\"object\",\"properties\":{}}"
#define TEXT                                                                                  \
	"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[" \
	"\"text\"]}"
#define ONE(name, description)                                                                \
	"{\"type\":\"object\",\"properties\":{\"" name                                        \
	"\":{\"type\":\"string\",\"description\":\"" description "\"}},\"required\":[\"" name \
	"\"]}"
#define MS                                                                                  \
	"{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\",\"minimum\":0}," \
	"\"deaf\":{\"type\":\"boolean\"}},\"required\":[\"ms\"]}"

static const char schema_2020_12[] =
	"{\"type\":\"object\",\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":"
	"{"
	"\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{"
	"\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{"
	"\"type\":\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{"
	"\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{\"properties\":{"
	"\"contactMethod\":{\"const\":\"phone\"}},\"required\":[\"contactMethod\"]},\"then\":{"
	"\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
	"\"additionalProperties\":false}";

static const struct {
	const char *name;
	const char *description;
	const char *input;
	const char *output;
	fw_handler *handler;
	const void *ctx;
	fw_run run;
	uint32_t deadline_ms;
} tools[] = {
	{ "test_simple_text", "Tests simple text content response", NONE, NULL, simple_text,
	  NULL, FW_RUN_INLINE, 0 },
	{ "echo", "Answers with its text", TEXT, NULL, echo, NULL, FW_RUN_INLINE, 0 },
	{ "fail", "Fails with its text", TEXT, NULL, failing, NULL, FW_RUN_INLINE, 0 },
	{ "add", "Adds two integers; answers wrongly if asked to",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
	  "\"integer\"},\"wrong\":{\"type\":\"boolean\"}},\"required\":[\"a\",\"b\"]}",
	  "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}},\"required\":["
	  "\"sum\"]}",
	  add, NULL, FW_RUN_INLINE, 0 },
	{ "silent", "Returns neither a result nor an error", NONE, NULL, silent, NULL,
	  FW_RUN_INLINE, 0 },
	{ "slow", "Sleeps on a thread", MS, NULL, slow, NULL, FW_RUN_THREAD, 0 },
	{ "slow_with_deadline", "Sleeps on a thread, for 200 ms at most", MS, NULL, slow, NULL,
	  FW_RUN_THREAD, 200 },
	{ "chatter", "Tells progress and logs, as fast as it can",
	  "{\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\"}}}", NULL,
	  chatter, NULL, FW_RUN_THREAD, 0 },
	{ "later", "Answers later", MS, NULL, later, NULL, FW_RUN_ASYNC, 0 },
	{ "test_x_mcp_header", "Tests SEP-2243 Mcp-Param-* server-side validation",
	  "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
	  "\"description\":"
	  "\"mirrored into Mcp-Param-Region\",\"x-mcp-header\":\"Region\"},\"level\":{\"type\":"
	  "\"integer\",\"description\":\"non-mirrored argument\"}}}",
	  NULL, region, NULL, FW_RUN_INLINE, 0 },
	{ "test_missing_capability", "SEP-2575: requires the `sampling` client capability",
	  NONE, NULL, missing_capability, NULL, FW_RUN_INLINE, 0 },
	{ "test_streaming_elicitation", "SEP-2575: a response stream without requests in it",
	  NONE, NULL, streaming, NULL, FW_RUN_INLINE, 0 },
	{ "test_logging_tool", "SEP-2575: logs, for those who asked", NONE, NULL, log_once,
	  NULL, FW_RUN_INLINE, 0 },
	{ "test_image_content", "Tests image content response", NONE, NULL, image, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_audio_content", "Tests audio content response", NONE, NULL, audio, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_embedded_resource", "Tests embedded resource content response", NONE, NULL,
	  embedded, NULL, FW_RUN_INLINE, 0 },
	{ "test_multiple_content_types", "Tests response with multiple content types", NONE,
	  NULL, mixed, NULL, FW_RUN_INLINE, 0 },
	{ "test_tool_with_logging", "Tests tool that emits log messages during execution", NONE,
	  NULL, logging, NULL, FW_RUN_THREAD, 0 },
	{ "test_tool_with_progress", "Tests tool that reports progress notifications", NONE,
	  NULL, progress, NULL, FW_RUN_THREAD, 0 },
	{ "test_error_handling", "Tests error response handling", NONE, NULL, failing, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_reconnection", "Tests SSE stream disconnection and reconnection (SEP-1699)",
	  NONE, NULL, reconnection, NULL, FW_RUN_THREAD, 0 },
	{ "test_sampling", "Tests server-initiated sampling",
	  ONE("prompt", "The prompt to send to the LLM"), NULL, sampling, NULL, FW_RUN_INLINE,
	  0 },
	{ "test_elicitation", "Tests server-initiated elicitation",
	  ONE("message", "The message to show the user"), NULL, elicitation, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_elicitation_sep1034_defaults",
	  "Tests elicitation with default values (SEP-1034)", NONE, NULL, form, defaults_form,
	  FW_RUN_INLINE, 0 },
	{ "test_elicitation_sep1330_enums", "Tests elicitation with enum schemas (SEP-1330)",
	  NONE, NULL, form, enums_form, FW_RUN_INLINE, 0 },
	{ "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema_2020_12,
	  NULL, echo_json, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_elicitation", "Asks for the caller's name", NONE, NULL,
	  ask_name, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_sampling", "Asks for a completion", NONE, NULL, ask_model,
	  NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_list_roots", "Asks for the client's roots", NONE, NULL,
	  ask_roots, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_request_state",
	  "Carries protected state to the next round", NONE, NULL, ask_confirmation,
	  "state-ok: requestState verified and confirmation received", FW_RUN_INLINE, 0 },
	{ "test_input_required_result_multiple_inputs", "Asks three questions in one round",
	  NONE, NULL, ask_all, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_multi_round", "Asks two questions in two rounds", NONE,
	  NULL, ask_twice, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_tampered_state", "Refuses a state that was changed", NONE,
	  NULL, ask_confirmation, "integrity-ok: requestState verified", FW_RUN_INLINE, 0 },
	{ "test_input_required_result_capabilities", "Asks only what the client can answer",
	  NONE, NULL, ask_what_it_can, NULL, FW_RUN_INLINE, 0 },
};

static fw_error *add_tools(fw_server *server)
{
	const fw_tool own = {
		.struct_size = sizeof(own),
		.name = "test_own_contract",
		.description = "Always fails, in a contract of its own choice",
		.input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
				"\"string\",\"pattern\":\"^[a-z]+$\"},\"text\":{\"type\":"
				"\"string\"}}}",
		.handler = failing,
		.contract = FW_KAIZA,
	};
	fw_tool change = {
		FW_TOOL_DEFAULTS,
		.name = "test_trigger_tool_change",
		.description = "Tells listeners that the tools have changed",
		.input_schema = NONE,
		.handler = tools_changed,
		.ctx = server,
	};

	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		const fw_tool tool = {
			FW_TOOL_DEFAULTS,
			.name = tools[i].name,
			.description = tools[i].description,
			.input_schema = tools[i].input,
			.output_schema = tools[i].output,
			.handler = tools[i].handler,
			.ctx = (void *)(uintptr_t)tools[i].ctx,
			.run = tools[i].run,
			.deadline_ms = tools[i].deadline_ms,
		};

		FW_TRY(fw_server_add_tool(server, &tool));
	}
	FW_TRY(fw_server_add_tool(server, &change));
	change.name = "test_trigger_prompt_change";
	change.description = "Tells listeners that the prompts have changed";
	change.handler = prompts_changed;
	FW_TRY(fw_server_add_tool(server, &change));
	return fw_server_add_tool(server, &own);
}

static fw_error *add_resources(fw_server *server)
{
	const fw_resource resources[] = {
		{ .struct_size = sizeof(fw_resource),
		  .uri = "test://static-text",
		  .name = "static-text",
		  .title = "Static Text Resource",
		  .description = "A static text resource for testing",
		  .mime_type = "text/plain",
		  .handler = read_text,
		  .ctx = (void *)"This is the content of the static text resource." },
		{ .struct_size = sizeof(fw_resource),
		  .uri = "test://static-binary",
		  .name = "static-binary",
		  .title = "Static Binary Resource",
		  .description = "A static binary resource (image) for testing",
		  .mime_type = "image/png",
		  .handler = read_binary },
		{ .struct_size = sizeof(fw_resource),
		  .uri = "test://watched-resource",
		  .name = "watched-resource",
		  .title = "Watched Resource",
		  .description = "For subscribing and unsubscribing",
		  .mime_type = "text/plain",
		  .handler = read_text,
		  .ctx = (void *)"Watched resource content" },
		{ .struct_size = sizeof(fw_resource),
		  .uri = "test://template/{id}/data",
		  .name = "template",
		  .title = "Resource Template",
		  .description = "A resource template with parameter substitution",
		  .mime_type = "application/json",
		  .handler = read_template },
	};

	for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
		FW_TRY(fw_server_add_resource(server, &resources[i]));
	return NULL;
}

static fw_error *add_prompts(fw_server *server)
{
	static const fw_prompt_argument two[] = { { "arg1", "First test argument", true },
						  { "arg2", "Second test argument", true } };
	static const fw_prompt_argument uri[] = { { "resourceUri",
						    "URI of the resource to embed", true } };
	const fw_prompt prompts[] = {
		{ .struct_size = sizeof(fw_prompt),
		  .name = "test_simple_prompt",
		  .title = "Simple Test Prompt",
		  .description = "A simple prompt without arguments",
		  .handler = simple_prompt },
		{ .struct_size = sizeof(fw_prompt),
		  .name = "test_prompt_with_arguments",
		  .title = "Prompt With Arguments",
		  .description = "A prompt with required arguments",
		  .arguments = two,
		  .argument_count = 2,
		  .handler = prompt_with_arguments,
		  .complete = complete_argument },
		{ .struct_size = sizeof(fw_prompt),
		  .name = "test_prompt_with_embedded_resource",
		  .title = "Prompt With Embedded Resource",
		  .description = "A prompt that includes an embedded resource",
		  .arguments = uri,
		  .argument_count = 1,
		  .handler = prompt_with_resource },
		{ .struct_size = sizeof(fw_prompt),
		  .name = "test_prompt_with_image",
		  .title = "Prompt With Image",
		  .description = "A prompt that includes image content",
		  .handler = prompt_with_image },
		{ .struct_size = sizeof(fw_prompt),
		  .name = "test_input_required_result_prompt",
		  .title = "Prompt That Asks",
		  .description = "A prompt that needs an answer before it can be made",
		  .handler = prompt_that_asks },
	};

	for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
		FW_TRY(fw_server_add_prompt(server, &prompts[i]));
	return NULL;
}

/* ---- the program -------------------------------------------------------------------------- */

static const char *option(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	return NULL;
}

static fw_error *set_limits(fw_server *server, int argc, char **argv)
{
	char name[64];

	for (int i = 1; i + 1 < argc; i++) {
		const char *equals = strchr(argv[i + 1], '=');

		if (strcmp(argv[i], "--limit") != 0 || !equals)
			continue;
		(void)snprintf(name, sizeof name, "%.*s", (int)(equals - argv[i + 1]),
			       argv[i + 1]);
		FW_TRY(fw_server_set_limit(server, name, strtoull(equals + 1, NULL, 10)));
	}
	return NULL;
}

static fw_error *listen_on(fw_server *server, const char *http, const char *token)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	const char *colon;
	char address[128];

	if (!http)
		return fw_server_listen_stdio(server);
	colon = strrchr(http, ':');
	if (!colon)
		return fw_raise_internal_api_misuse("everything", "--http takes ADDR:PORT");
	(void)snprintf(address, sizeof address, "%.*s", (int)(colon - http), http);
	options.address = address;
	options.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	options.bearer_token = token;
	FW_TRY(fw_server_listen_http(server, &options));
	(void)fprintf(stderr, "%s\n", fw_server_url(server));
	return NULL;
}

static fw_error *serve(int argc, char **argv, fw_server **ret_server)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const char *contract = option(argc, argv, "--contract");

	options.name = "faultwire-everything";
	options.version = fw_version();
	options.instructions = "One of everything, to test clients with.";
	if (contract && !fw_contract_from_name(contract, &options.contract))
		return fw_raise_internal_api_misuse("everything",
						    "--contract names no contract");
	FW_TRY(fw_server_new(&options, ret_server));
	FW_TRY(set_limits(*ret_server, argc, argv));
	FW_TRY(add_tools(*ret_server));
	FW_TRY(add_resources(*ret_server));
	FW_TRY(add_prompts(*ret_server));
	FW_TRY(listen_on(*ret_server, option(argc, argv, "--http"),
			 option(argc, argv, "--token")));
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	fw_server *server = NULL;
	fw_error *err = serve(argc, argv, &server);
	int status = err ? 1 : 0;

	if (err)
		(void)fprintf(stderr, "everything: %s\n", fw_error_message(err));
	fw_error_free(err);
	fw_server_free(server);
	return status;
}
