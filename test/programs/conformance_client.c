/*
 * conformance_client.c - a client on <faultwire/client.h> for the official conformance
 * suite, which starts it with the URL of its server as the last argument, and the name of
 * the scenario and its parameters in the environment.
 */
#include <faultwire/client.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

static const char *scenario;

/* An elicitation is accepted with the defaults of its schema. */
static const char *answer(void *ctx, const char *method, const char *params, size_t len)
{
	static char text[4096];
	yyjson_doc *doc = yyjson_read(params, len, 0);
	yyjson_val *schema = yyjson_obj_get(yyjson_doc_get_root(doc), "requestedSchema");
	yyjson_val *key, *property;
	size_t index, max, used;

	(void)ctx;
	if (strcmp(method, "elicitation/create") != 0) {
		yyjson_doc_free(doc);
		return NULL;
	}
	used = (size_t)snprintf(text, sizeof text, "{\"action\":\"accept\",\"content\":{");
	yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), index, max, key, property)
	{
		char *value = yyjson_val_write(yyjson_obj_get(property, "default"), 0, NULL);

		if (value && used < sizeof text)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\":%s",
						 text[used - 1] == '{' ? "" : ",",
						 yyjson_get_str(key), value);
		free(value);
	}
	yyjson_doc_free(doc);
	if (used + 3 > sizeof text)
		return NULL;
	memcpy(text + used, "}}", 3);
	return text;
}

static int failed(fw_error *err)
{
	(void)fprintf(stderr, "%s: %s: %s\n", scenario, fw_error_name(err),
		      fw_error_message(err));
	fw_error_free(err);
	return 1;
}

static int call(fw_client *client, const char *tool, const char *arguments)
{
	fw_client_result result = { .text = NULL };
	fw_error *err = fw_client_call(client, tool, arguments,
				       arguments ? strlen(arguments) : 0, &result);

	fw_client_result_clear(&result);
	return err ? failed(err) : 0;
}

/* Calls that the scenario asks for in its context. */
static int call_given(fw_client *client)
{
	const char *context = getenv("MCP_CONFORMANCE_CONTEXT");
	yyjson_doc *doc = context ? yyjson_read(context, strlen(context), 0) : NULL;
	yyjson_val *calls = yyjson_obj_get(yyjson_doc_get_root(doc), "toolCalls"), *one;
	size_t index, max;
	int status = 0;

	yyjson_arr_foreach(calls, index, max, one)
	{
		char *arguments = yyjson_val_write(yyjson_obj_get(one, "arguments"), 0, NULL);

		status |= call(client, yyjson_get_str(yyjson_obj_get(one, "name")), arguments);
		free(arguments);
	}
	yyjson_doc_free(doc);
	return status;
}

/* Arguments for a tool by the types of its schema. */
static char *sample(yyjson_val *tool)
{
	yyjson_val *schema = yyjson_obj_get(tool, "inputSchema"), *key, *property;
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	size_t index, max;
	char *text;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_obj_foreach(yyjson_obj_get(schema, "properties"), index, max, key, property)
	{
		const char *name = yyjson_get_str(key);

		if (yyjson_equals_str(yyjson_obj_get(property, "type"), "string"))
			yyjson_mut_obj_add_str(doc, root, name, "x");
		else if (yyjson_equals_str(yyjson_obj_get(property, "type"), "number") ||
			 yyjson_equals_str(yyjson_obj_get(property, "type"), "integer"))
			yyjson_mut_obj_add_int(doc, root, name, 3);
	}
	text = yyjson_mut_write(doc, 0, NULL);
	yyjson_mut_doc_free(doc);
	return text;
}

/* Lists the tools and calls each of them. */
static int call_all(fw_client *client)
{
	fw_client_result list = { .text = NULL };
	fw_error *err = fw_client_list(client, "tools/list", &list);
	yyjson_doc *doc = err ? NULL : yyjson_read(list.text, list.len, 0);
	yyjson_val *tool;
	size_t index, max;
	int status = err ? failed(err) : 0;

	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "tools"), index, max, tool)
	{
		char *arguments = sample(tool);

		status |= call(client, yyjson_get_str(yyjson_obj_get(tool, "name")), arguments);
		free(arguments);
	}
	yyjson_doc_free(doc);
	fw_client_result_clear(&list);
	return status;
}

/* Sends the schema of one tool back as the argument of another. */
static int echo_schema(fw_client *client)
{
	fw_client_result list = { .text = NULL };
	fw_error *err = fw_client_list(client, "tools/list", &list);
	yyjson_doc *doc = err ? NULL : yyjson_read(list.text, list.len, 0);
	yyjson_val *tool;
	size_t index, max;
	int status = err ? failed(err) : 0;

	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), "tools"), index, max,
			   tool) if (yyjson_equals_str(yyjson_obj_get(tool, "name"),
						       "json_schema_2020_12_tool"))
	{
		char *schema = yyjson_val_write(yyjson_obj_get(tool, "inputSchema"), 0, NULL);
		size_t size = strlen(schema) + 32;
		char *arguments = malloc(size);

		(void)snprintf(arguments, size, "{\"schema\":%s}", schema);
		status |= call(client, "json_schema_echo", arguments);
		free(arguments);
		free(schema);
	}
	yyjson_doc_free(doc);
	fw_client_result_clear(&list);
	return status;
}

/* Lists resources or prompts, and gets each of them. */
static int get_all(fw_client *client, const char *kind, const char *method, const char *key)
{
	char list_method[64];
	fw_client_result list = { .text = NULL };
	fw_error *err;
	yyjson_doc *doc;
	yyjson_val *item;
	size_t index, max;
	int status;

	(void)snprintf(list_method, sizeof list_method, "%s/list", kind);
	err = fw_client_list(client, list_method, &list);
	doc = err ? NULL : yyjson_read(list.text, list.len, 0);
	status = err ? failed(err) : 0;
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), kind), index, max, item)
	{
		fw_client_result result = { .text = NULL };
		char params[512];

		(void)snprintf(params, sizeof params, "{\"%s\":\"%s\"}", key,
			       yyjson_get_str(yyjson_obj_get(item, key)));
		err = fw_client_request(client, method, params, strlen(params), &result);
		status |= err ? failed(err) : 0;
		fw_client_result_clear(&result);
	}
	yyjson_doc_free(doc);
	fw_client_result_clear(&list);
	return status;
}

static int play(fw_client *client)
{
	if (strcmp(scenario, "http-custom-headers") == 0)
		return call_given(client);
	if (strcmp(scenario, "json-schema-2020-12-preservation") == 0)
		return echo_schema(client);
	if (strcmp(scenario, "http-standard-headers") == 0)
		return call_all(client) |
		       get_all(client, "resources", "resources/read", "uri") |
		       get_all(client, "prompts", "prompts/get", "name");
	if (strcmp(scenario, "json-schema-ref-no-deref") == 0 ||
	    strcmp(scenario, "request-metadata") == 0 || strcmp(scenario, "initialize") == 0) {
		fw_client_result list = { .text = NULL };
		fw_error *err = fw_client_list(client, "tools/list", &list);

		fw_client_result_clear(&list);
		return err ? failed(err) : 0;
	}
	return call_all(client);
}

int main(int argc, char **argv)
{
	fw_client_options options = FW_CLIENT_OPTIONS_INIT;
	const char *version = getenv("MCP_CONFORMANCE_PROTOCOL_VERSION");
	fw_client *client = NULL;
	fw_error *err;
	int status;

	scenario = getenv("MCP_CONFORMANCE_SCENARIO");
	if (argc < 2 || !scenario) {
		(void)fputs("usage: MCP_CONFORMANCE_SCENARIO=NAME conformance_client URL\n",
			    stderr);
		return 2;
	}
	options.url = argv[argc - 1];
	options.capabilities = "{\"elicitation\":{\"form\":{\"applyDefaults\":true}}}";
	options.answer = answer;
	if (version)
		options.era =
			strcmp(version, "2026-07-28") < 0 ? FW_CLIENT_LEGACY : FW_CLIENT_MODERN;
	err = fw_client_new(&options, &client);
	status = err ? failed(err) : play(client);
	fw_client_free(client);
	return status;
}
