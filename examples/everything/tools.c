/*
 * tools.c - the table of tools, and their registration.
 */
#include "everything.h"

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
	{ "test_simple_text", "Tests simple text content response", NONE, NULL,
	  tool_simple_text, NULL, FW_RUN_INLINE, 0 },
	{ "echo", "Answers with its text", TEXT, NULL, tool_echo, NULL, FW_RUN_INLINE, 0 },
	{ "fail", "Fails with its text", TEXT, NULL, tool_failing, NULL, FW_RUN_INLINE, 0 },
	{ "add", "Adds two integers; answers wrongly if asked to",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":"
	  "\"integer\"},\"wrong\":{\"type\":\"boolean\"}},\"required\":[\"a\",\"b\"]}",
	  "{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}},\"required\":["
	  "\"sum\"]}",
	  tool_add, NULL, FW_RUN_INLINE, 0 },
	{ "silent", "Returns neither a result nor an error", NONE, NULL, tool_silent, NULL,
	  FW_RUN_INLINE, 0 },
	{ "slow", "Sleeps on a thread", MS, NULL, tool_slow, NULL, FW_RUN_THREAD, 0 },
	{ "slow_with_deadline", "Sleeps on a thread, for 200 ms at most", MS, NULL, tool_slow,
	  NULL, FW_RUN_THREAD, 200 },
	{ "chatter", "Tells progress and logs, as fast as it can",
	  "{\"type\":\"object\",\"properties\":{\"count\":{\"type\":\"integer\"}}}", NULL,
	  tool_chatter, NULL, FW_RUN_THREAD, 0 },
	{ "later", "Answers later", MS, NULL, tool_later, NULL, FW_RUN_ASYNC, 0 },
	{ "test_x_mcp_header", "Tests SEP-2243 Mcp-Param-* server-side validation",
	  "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
	  "\"description\":"
	  "\"mirrored into Mcp-Param-Region\",\"x-mcp-header\":\"Region\"},\"level\":{\"type\":"
	  "\"integer\",\"description\":\"non-mirrored argument\"}}}",
	  NULL, tool_region, NULL, FW_RUN_INLINE, 0 },
	{ "test_missing_capability", "SEP-2575: requires the `sampling` client capability",
	  NONE, NULL, tool_missing_capability, NULL, FW_RUN_INLINE, 0 },
	{ "test_streaming_elicitation", "SEP-2575: a response stream without requests in it",
	  NONE, NULL, tool_streaming, NULL, FW_RUN_INLINE, 0 },
	{ "test_logging_tool", "SEP-2575: logs, for those who asked", NONE, NULL, tool_log_once,
	  NULL, FW_RUN_INLINE, 0 },
	{ "test_image_content", "Tests image content response", NONE, NULL, tool_image, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_audio_content", "Tests audio content response", NONE, NULL, tool_audio, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_embedded_resource", "Tests embedded resource content response", NONE, NULL,
	  tool_embedded, NULL, FW_RUN_INLINE, 0 },
	{ "test_multiple_content_types", "Tests response with multiple content types", NONE,
	  NULL, tool_mixed, NULL, FW_RUN_INLINE, 0 },
	{ "test_tool_with_logging", "Tests tool that emits log messages during execution", NONE,
	  NULL, tool_logging, NULL, FW_RUN_THREAD, 0 },
	{ "test_tool_with_progress", "Tests tool that reports progress notifications", NONE,
	  NULL, tool_progress, NULL, FW_RUN_THREAD, 0 },
	{ "test_error_handling", "Tests error response handling", NONE, NULL, tool_failing,
	  NULL, FW_RUN_INLINE, 0 },
	{ "test_reconnection", "Tests SSE stream disconnection and reconnection (SEP-1699)",
	  NONE, NULL, tool_reconnection, NULL, FW_RUN_THREAD, 0 },
	{ "test_sampling", "Tests server-initiated sampling",
	  ONE("prompt", "The prompt to send to the LLM"), NULL, tool_sampling, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_elicitation", "Tests server-initiated elicitation",
	  ONE("message", "The message to show the user"), NULL, tool_elicitation, NULL,
	  FW_RUN_INLINE, 0 },
	{ "test_elicitation_sep1034_defaults",
	  "Tests elicitation with default values (SEP-1034)", NONE, NULL, tool_form,
	  everything_defaults_form, FW_RUN_INLINE, 0 },
	{ "test_elicitation_sep1330_enums", "Tests elicitation with enum schemas (SEP-1330)",
	  NONE, NULL, tool_form, everything_enums_form, FW_RUN_INLINE, 0 },
	{ "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema_2020_12,
	  NULL, tool_echo_json, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_elicitation", "Asks for the caller's name", NONE, NULL,
	  tool_ask_name, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_sampling", "Asks for a completion", NONE, NULL,
	  tool_ask_model, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_list_roots", "Asks for the client's roots", NONE, NULL,
	  tool_ask_roots, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_request_state",
	  "Carries protected state to the next round", NONE, NULL, tool_ask_confirmation,
	  "state-ok: requestState verified and confirmation received", FW_RUN_INLINE, 0 },
	{ "test_input_required_result_multiple_inputs", "Asks three questions in one round",
	  NONE, NULL, tool_ask_all, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_multi_round", "Asks two questions in two rounds", NONE,
	  NULL, tool_ask_twice, NULL, FW_RUN_INLINE, 0 },
	{ "test_input_required_result_tampered_state", "Refuses a state that was changed", NONE,
	  NULL, tool_ask_confirmation, "integrity-ok: requestState verified", FW_RUN_INLINE,
	  0 },
	{ "test_input_required_result_capabilities", "Asks only what the client can answer",
	  NONE, NULL, tool_ask_what_it_can, NULL, FW_RUN_INLINE, 0 },
};

fw_error *everything_add_tools(fw_server *server)
{
	const fw_tool own = {
		.struct_size = sizeof(own),
		.name = "test_own_contract",
		.description = "Always fails, in a contract of its own choice",
		.input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
				"\"string\",\"pattern\":\"^[a-z]+$\"},\"text\":{\"type\":"
				"\"string\"}}}",
		.handler = tool_failing,
		.contract = FW_KAIZA,
	};
	fw_tool change = {
		FW_TOOL_DEFAULTS,
		.name = "test_trigger_tool_change",
		.description = "Tells listeners that the tools have changed",
		.input_schema = NONE,
		.handler = tool_tools_changed,
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
	change.handler = tool_prompts_changed;
	FW_TRY(fw_server_add_tool(server, &change));
	return fw_server_add_tool(server, &own);
}
