/*
 * resources.c - resources, a resource template and prompts, and their registration.
 */
#include "everything.h"

#include <stdio.h>
#include <string.h>

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

fw_error *everything_add_resources(fw_server *server)
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

fw_error *everything_add_prompts(fw_server *server)
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
