/*
 * asking.c - tools that ask the client: elicitation, sampling and roots. A handler returns
 * without a result if fw_call_ask() has no answer yet, and is run again with the answer.
 */
#include "everything.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_FORM(message) FORM(message, "\"name\":{\"type\":\"string\"}", "\"name\"")
#define CONFIRM_FORM FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")
#define SAMPLE(text, tokens)                                                                \
	"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text \
	"\"}}],\"maxTokens\":" tokens "}"

/* JSON text of a question that contains a string of the caller. */
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

fw_error *tool_sampling(fw_call *call, void *ctx)
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

fw_error *tool_elicitation(fw_call *call, void *ctx)
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

/* Asks with the form in `ctx`. */
fw_error *tool_form(fw_call *call, void *ctx)
{
	const char *answer = fw_call_ask(call, "form", "elicitation/create", ctx);

	if (answer)
		fw_call_textf(call, "Elicitation completed: %s", answer);
	return NULL;
}

fw_error *tool_missing_capability(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "llm_answer", "sampling/createMessage",
			SAMPLE("Reply with the single word: pong", "16")))
		fw_call_text(call, "sampling round-trip complete");
	return NULL;
}

fw_error *tool_ask_name(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "user_name", "elicitation/create",
			NAME_FORM("What is your name?")))
		fw_call_textf(call, "Hello, %s!",
			      or_empty(fw_call_answer(call, "user_name", "/content/name")));
	return NULL;
}

fw_error *tool_ask_model(fw_call *call, void *ctx)
{
	(void)ctx;
	if (fw_call_ask(call, "capital_question", "sampling/createMessage",
			SAMPLE("What is the capital of France?", "100")))
		fw_call_textf(
			call, "Sampling response: %s",
			or_empty(fw_call_answer(call, "capital_question", "/content/text")));
	return NULL;
}

fw_error *tool_ask_roots(fw_call *call, void *ctx)
{
	const char *answer = fw_call_ask(call, "client_roots", "roots/list", NULL);

	(void)ctx;
	if (answer)
		fw_call_textf(call, "Client exposed these roots: %s", answer);
	return NULL;
}

fw_error *tool_ask_confirmation(fw_call *call, void *ctx)
{
	if (fw_call_ask(call, "confirm", "elicitation/create", CONFIRM_FORM))
		fw_call_text(call, ctx);
	return NULL;
}

fw_error *tool_ask_all(fw_call *call, void *ctx)
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

fw_error *tool_ask_twice(fw_call *call, void *ctx)
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

fw_error *tool_ask_what_it_can(fw_call *call, void *ctx)
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

const char everything_defaults_form[] = FORM(
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

const char everything_enums_form[] = FORM(
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
