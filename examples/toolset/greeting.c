/*
 * greeting.c - a complete toolset for `faultwire serve`: one tool and one option.
 *
 * To add it to the program, add one line to `toolsets` in the top meson.build:
 *
 *   ['greeting', 'examples/toolset'],
 */
#include <string.h>

#include "tools/toolset.h"

enum { GREETING, OPTION_COUNT };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[GREETING] = { "greeting", "TEXT", 0, FW_TOOLSET_TEXT,
		       .help = "What to say before the name; by default Hello." },
};

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_greeting_schemas[];

static fw_error *greet(fw_call *call, void *ctx)
{
	const char *greeting = ctx;
	const char *name = fw_call_string(call, "name", NULL);

	if (strcmp(name, "nobody") == 0)
		return fw_raise_resource_not_found("somebody to greet");
	fw_call_textf(call, "%s, %s!", greeting ? greeting : "Hello", name);
	return NULL;
}

static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	const fw_tool tool = {
		FW_TOOL_DEFAULTS,
		.name = "greet",
		.title = "Greet",
		.description = "Greets somebody by name.",
		.input_schema = fw_toolset_input_schema(fw_greeting_schemas, "greet"),
		.handler = greet,
		.ctx = (void *)host->values[GREETING],
		.run = host->run,
		.workers = host->workers,
	};

	(void)ret_instance;
	return fw_server_add_tool(host->server, &tool);
}

const struct fw_toolset fw_toolset_greeting = {
	.name = "greeting",
	.summary = "an example: greets somebody by name",
	.contract = FW_TOOLERROR,
	.options = options,
	.option_count = OPTION_COUNT,
	.add = add,
};
