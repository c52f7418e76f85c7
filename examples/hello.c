/*
 * hello.c - a whole MCP server: one tool, both protocol eras, errors that a
 * model can act on. Run it from any client: build/examples/hello
 */
#include <faultwire/faultwire.h>
#include <stdio.h>
#include <string.h>

static fw_error *greet(fw_call *call, void *ctx)
{
	const char *name = fw_call_string(call, "name", NULL);

	(void)ctx;
	if (strcmp(name, "nobody") == 0)
		return fw_raise_resource_not_found("somebody to greet");
	fw_call_textf(call, "Hello, %s!", name);
	return NULL;
}

int main(void)
{
	const fw_server_options options = {
		FW_SERVER_OPTIONS_DEFAULTS,
		.name = "hello",
		.version = "1.0.0",
	};
	const fw_tool tool = {
		FW_TOOL_DEFAULTS,
		.name = "greet",
		.description = "Greets somebody by name.",
		.input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{"
				"\"type\":\"string\"}},\"required\":[\"name\"]}",
		.handler = greet,
	};
	fw_server *server = NULL;
	fw_error *err;

	err = fw_server_new(&options, &server);
	if (!err)
		err = fw_server_add_tool(server, &tool);
	if (!err)
		err = fw_server_listen_stdio(server);
	if (!err)
		err = fw_server_run(server);
	if (err)
		(void)fprintf(stderr, "hello: %s\n", fw_error_message(err));
	fw_error_free(err);
	fw_server_free(server);
	return 0;
}
