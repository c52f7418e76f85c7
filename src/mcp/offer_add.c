/*
 * offer_add.c - registration: offers are checked here once, so that mistakes are
 * found at start, and rendered as lists show them.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/out.h"
#include "base/text.h"
#include "core/options.h"
#include "core/redact.h"
#include "mcp/empty.h"
#include "mcp/offer.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "policy/breaker.h"
#include "schema/schema.h"

/* JSON of the program itself: schemas and annotations. */
static const struct fw_json_limits offer_json = { .bytes = FW_SCHEMA_BYTES_MAX,
						  .depth = FW_SCHEMA_DEPTH_MAX };

static fw_error *misuse(const char *function, const char *name, const char *reason)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "%s: %s", name ? name : "(no name)", reason);
	return fw_raise_internal_api_misuse(function, text);
}

static void put_member(struct fw_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	FW_BUF(out, ",\"");
	fw_buf_str(out, key);
	FW_BUF(out, "\":");
	fw_buf_json_str(out, text);
}

/* Writes `json` compactly as member `key`; false: it is not an object. Without memory the
 * state of `out` says so. */
static bool put_object(struct fw_buf *out, const char *key, const char *json)
{
	yyjson_read_err fault = { .code = 0 };
	yyjson_doc *doc;
	bool is_object;

	if (!json)
		return true;
	doc = fw_json_read(json, strlen(json), offer_json, YYJSON_READ_NUMBER_AS_RAW, NULL,
			   &fault);
	if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
		out->state = FW_BUF_NO_MEMORY;
		return true;
	}
	is_object = yyjson_is_obj(yyjson_doc_get_root(doc));
	if (is_object) {
		FW_BUF(out, ",\"");
		fw_buf_str(out, key);
		FW_BUF(out, "\":");
		fw_buf_value(out, yyjson_doc_get_root(doc));
	}
	yyjson_doc_free(doc);
	return is_object;
}

static fw_error *take_offer(struct fw_offers *offers, struct fw_offer *offer)
{
	if (fw_offers_add(offers, offer))
		return NULL;
	fw_offer_free(offer);
	return fw_raise_internal_out_of_memory();
}

static struct fw_offer *offer_new(enum fw_kind_of_offer kind, const char *name)
{
	struct fw_offer *offer = fw__allocate(sizeof *offer + sizeof *offer->load);

	if (!offer)
		return NULL;
	memset(offer, 0, sizeof *offer + sizeof *offer->load);
	offer->load = (struct fw_load *)(offer + 1);
	offer->kind = kind;
	offer->contract = FW_AUTO;
	offer->name = fw_strdup(name);
	offer->name_len = strlen(name);
	offer->is_plain_name = fw_out_is_plain(name, offer->name_len) &&
			       fw_redact_find(name, offer->name_len) == offer->name_len;
	if (!offer->name) {
		fw__release(offer);
		return NULL;
	}
	return offer;
}

/* Sets the pool of processes and the breaker, if the tool needs them. */
static fw_error *set_runner(fw_server *server, struct fw_offer *offer, fw_workers *workers)
{
	if (offer->run != FW_RUN_PROCESS)
		return NULL;
	if (server->state != FW_IDLE || server->is_prepared)
		return misuse("fw_server_add_tool", offer->name,
			      "workers are copies from before the server ran, and do not "
			      "know it");
	if (!workers && !server->runners.workers && !server->runners.make_workers)
		return misuse("fw_server_add_tool", offer->name,
			      "this server has no pool of worker processes");
	if (!workers && !server->runners.workers)
		FW_TRY(server->runners.make_workers(server, &server->runners.workers));
	offer->runner = workers ? &workers->runner : &server->runners.workers->runner;
	offer->breaker = fw__allocate(sizeof *offer->breaker);
	if (!offer->breaker)
		return fw_raise_internal_out_of_memory();
	memset(offer->breaker, 0, sizeof *offer->breaker);
	return NULL;
}

/* ---- tools --------------------------------------------------------------------- */

static bool is_tool_name(const char *name)
{
	size_t len = strspn(
		name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./");

	return len >= 1 && len <= 64 && name[len] == '\0';
}

static fw_error *compile(const fw_tool *tool, const char *json, bool is_input,
			 struct fw_offer *offer)
{
	const fw_schema_options options = { .assert_format = is_input,
					    .check_spelling = !tool->checks_arguments,
					    .alc = &fw__yyjson_alc };
	fw_schema_problem problem = { 0 };
	fw_schema *schema = fw_schema_compile(json, strlen(json), &options, &problem);
	yyjson_doc *doc;
	const char *reason = NULL;
	fw_error *err = NULL;
	char text[512];

	if (!schema && strcmp(problem.reason, "out of memory") == 0)
		return fw_raise_internal_out_of_memory();
	if (!schema) {
		(void)snprintf(text, sizeof text, "%s schema: %s at \"%s\" %s",
			       is_input ? "input" : "output", problem.reason, problem.pointer,
			       problem.detail);
		return misuse("fw_server_add_tool", tool->name, text);
	}
	doc = fw_json_read(json, strlen(json), offer_json, YYJSON_READ_NOFLAG, NULL, NULL);
	if (!doc) { /* it is JSON: it has been compiled */
		fw_schema_free(schema);
		return fw_raise_internal_out_of_memory();
	}
	if (is_input) {
		offer->input = schema;
		if (!yyjson_equals_str(fw_json_member(yyjson_doc_get_root(doc), "type"),
				       "object"))
			reason = "input schema: its type must be object";
		else
			err = fw_mirrors_read(yyjson_doc_get_root(doc), &reason,
					      &offer->mirrors);
	} else {
		offer->output = schema;
		offer->output_is_object = yyjson_equals_str(
			fw_json_member(yyjson_doc_get_root(doc), "type"), "object");
	}
	yyjson_doc_free(doc);
	if (err)
		return err;
	return reason ? misuse("fw_server_add_tool", tool->name, reason) : NULL;
}

static fw_error *render_tool(const fw_tool *tool, const char *input, bool with_output,
			     char **ret_json)
{
	struct fw_buf out;
	bool is_good;

	fw_buf_init(&out, FW_SCHEMA_BYTES_MAX);
	FW_BUF(&out, "{\"name\":");
	fw_buf_json_str(&out, tool->name);
	put_member(&out, "title", tool->title);
	put_member(&out, "description", tool->description);
	is_good = put_object(&out, "inputSchema", input);
	if (with_output)
		is_good = put_object(&out, "outputSchema", tool->output_schema) && is_good;
	is_good = put_object(&out, "annotations", tool->annotations) && is_good;
	FW_BUF(&out, "}");
	if (is_good && out.state == FW_BUF_OK) {
		*ret_json = out.text;
		return NULL;
	}
	fw_buf_clear(&out);
	return is_good ? fw_raise_internal_out_of_memory()
		       : misuse("fw_server_add_tool", tool->name,
				"schemas and annotations must be JSON objects");
}

static bool copy(char **ret_copy, const char *text)
{
	*ret_copy = text ? fw_strdup(text) : NULL;
	return !text || *ret_copy;
}

/* Copies the empty result of the tool compactly, without what an envelope adds. */
static fw_error *copy_empty(const fw_tool *tool, struct fw_buf *out)
{
	yyjson_doc *doc = fw_json_read(tool->empty_result, strlen(tool->empty_result),
				       offer_json, YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	yyjson_obj_iter iter = yyjson_obj_iter_with(yyjson_doc_get_root(doc));
	bool is_object = yyjson_is_obj(yyjson_doc_get_root(doc));
	yyjson_val *key;

	FW_BUF(out, "{");
	while ((key = yyjson_obj_iter_next(&iter))) {
		if (yyjson_equals_str(key, "error") || yyjson_equals_str(key, "problem"))
			continue;
		if (out->len > 1)
			FW_BUF(out, ",");
		fw_buf_value(out, key);
		FW_BUF(out, ":");
		fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	FW_BUF(out, "}");
	yyjson_doc_free(doc);
	return is_object ? NULL
			 : misuse("fw_server_add_tool", tool->name,
				  "empty_result must be a JSON object");
}

/*
 * The empty result of the tool, or one that is derived from the output schema. If the
 * schema allows none, there is none, and errors have no structured content: clients would
 * refuse it.
 */
static fw_error *set_empty(const fw_tool *tool, struct fw_offer *offer)
{
	char where[512], reason[640];
	struct fw_buf out;
	fw_error *err = NULL;

	if (!tool->empty_result && !offer->output)
		return NULL;
	fw_buf_init(&out, FW_SCHEMA_BYTES_MAX);
	if (tool->empty_result)
		err = copy_empty(tool, &out);
	else
		fw_mcp_derive_empty(tool->output_schema, &out);
	if (!err && out.state != FW_BUF_OK) {
		err = fw_raise_internal_out_of_memory();
	} else if (!err && (!offer->output ||
			    fw_mcp_check_empty(offer->output, out.text, where, sizeof where))) {
		offer->empty_result = out.text;
		return NULL;
	} else if (!err && tool->empty_result) {
		(void)snprintf(reason, sizeof reason,
			       "the output schema does not allow empty_result with error and "
			       "problem: %s",
			       where);
		err = misuse("fw_server_add_tool", tool->name, reason);
	}
	fw_buf_clear(&out);
	return err;
}

static fw_error *make_tool(const fw_tool *tool, struct fw_offer *offer)
{
	static const char any_object[] = "{\"type\":\"object\"}";
	const char *input = tool->input_schema ? tool->input_schema : any_object;

	if (!copy(&offer->operation, tool->operation))
		return fw_raise_internal_out_of_memory();
	offer->handler = tool->handler;
	offer->ctx = tool->ctx;
	offer->run = tool->run;
	offer->deadline_ms = tool->deadline_ms;
	offer->contract = tool->contract;
	offer->changes = tool->changes;
	offer->is_hidden = tool->is_hidden;
	offer->state = tool->state;
	offer->checks_arguments = tool->checks_arguments;
	offer->is_drill = tool->is_drill;
	offer->takes_nul = tool->takes_nul || tool->checks_arguments;
	FW_TRY(render_tool(tool, input, true, &offer->json));
	if (tool->input_schema)
		FW_TRY(compile(tool, input, true, offer));
	if (tool->output_schema) {
		FW_TRY(compile(tool, tool->output_schema, false, offer));
		if (!offer->output_is_object)
			FW_TRY(render_tool(tool, input, false, &offer->json_legacy));
	}
	return set_empty(tool, offer);
}

static fw_error *add_tool(fw_server *server, const fw_tool *tool)
{
	struct fw_offer *offer;
	fw_error *err;

	if (!server || !tool->name || !tool->handler)
		return misuse("fw_server_add_tool", tool->name,
			      "a tool has a name and a handler");
	if (!is_tool_name(tool->name))
		return misuse("fw_server_add_tool", tool->name,
			      "a name is 1 to 64 of A-Z a-z 0-9 _ - . /");
	if (fw_offers_find(&server->offers.tools, tool->name, strlen(tool->name)))
		return misuse("fw_server_add_tool", tool->name, "the name is taken");
	offer = offer_new(FW_OFFER_TOOL, tool->name);
	if (!offer)
		return fw_raise_internal_out_of_memory();
	err = make_tool(tool, offer);
	if (!err)
		err = set_runner(server, offer, tool->workers);
	if (err) {
		fw_offer_free(offer);
		return err;
	}
	return take_offer(&server->offers.tools, offer);
}

fw_error *fw_server_add_tool(fw_server *server, const fw_tool *tool)
{
	fw_tool known = FW_TOOL_INIT;

	FW_TRY(fw_options_read("fw_server_add_tool", tool, &known, sizeof(known)));
	return add_tool(server, &known);
}

/* ---- resources ------------------------------------------------------------------ */

static fw_error *add_resource(fw_server *server, const fw_resource *resource)
{
	struct fw_offers *offers;
	struct fw_offer *offer;
	struct fw_buf out;
	fw_error *err;
	bool is_template;
	bool is_good;

	if (!server || !resource->uri || !resource->name || !resource->handler)
		return misuse("fw_server_add_resource", resource->uri,
			      "a resource has a URI, a name and a handler");
	is_template = strchr(resource->uri, '{') != NULL;
	offers = is_template ? &server->offers.templates : &server->offers.resources;
	if (fw_offers_find(offers, resource->uri, strlen(resource->uri)))
		return misuse("fw_server_add_resource", resource->uri, "the URI is taken");
	offer = offer_new(is_template ? FW_OFFER_TEMPLATE : FW_OFFER_RESOURCE, resource->uri);
	if (!offer)
		return fw_raise_internal_out_of_memory();
	offer->handler = resource->handler;
	offer->complete = resource->complete;
	offer->ctx = resource->ctx;
	offer->run = resource->run;
	err = set_runner(server, offer, NULL);
	if (err) {
		fw_offer_free(offer);
		return err;
	}
	fw_buf_init(&out, FW_SCHEMA_BYTES_MAX);
	fw_buf_str(&out, is_template ? "{\"uriTemplate\":" : "{\"uri\":");
	fw_buf_json_str(&out, resource->uri);
	put_member(&out, "name", resource->name);
	put_member(&out, "title", resource->title);
	put_member(&out, "description", resource->description);
	put_member(&out, "mimeType", resource->mime_type);
	is_good = put_object(&out, "annotations", resource->annotations);
	FW_BUF(&out, "}");
	offer->json = out.text;
	if (!is_good || out.state != FW_BUF_OK ||
	    !copy(&offer->mime_type, resource->mime_type)) {
		fw_offer_free(offer);
		return is_good ? fw_raise_internal_out_of_memory()
			       : misuse("fw_server_add_resource", resource->uri,
					"annotations must be a JSON object");
	}
	server->offers.has_completion = server->offers.has_completion || resource->complete;
	return take_offer(offers, offer);
}

fw_error *fw_server_add_resource(fw_server *server, const fw_resource *resource)
{
	fw_resource known = FW_RESOURCE_INIT;

	FW_TRY(fw_options_read("fw_server_add_resource", resource, &known, sizeof(known)));
	return add_resource(server, &known);
}

/* ---- prompts --------------------------------------------------------------------- */

static bool put_arguments(struct fw_buf *out, const fw_prompt *prompt, struct fw_offer *offer)
{
	size_t bytes = (prompt->argument_count + 1) * sizeof *offer->required;
	size_t required = 0;

	offer->required = fw__allocate(bytes);
	if (!offer->required)
		return false;
	memset(offer->required, 0, bytes);
	if (!prompt->argument_count)
		return true;
	FW_BUF(out, ",\"arguments\":[");
	for (size_t i = 0; i < prompt->argument_count; i++) {
		const fw_prompt_argument *argument = &prompt->arguments[i];

		fw_buf_str(out, i ? ",{\"name\":" : "{\"name\":");
		fw_buf_json_str(out, argument->name);
		put_member(out, "description", argument->description);
		fw_buf_str(out,
			   argument->required ? ",\"required\":true}" : ",\"required\":false}");
		if (!argument->required)
			continue;
		if (!copy(&offer->required[required++], argument->name))
			return false;
	}
	FW_BUF(out, "]");
	return true;
}

static fw_error *add_prompt(fw_server *server, const fw_prompt *prompt)
{
	struct fw_offer *offer;
	struct fw_buf out;
	fw_error *err;
	bool is_good;

	if (!server || !prompt->name || !prompt->handler)
		return misuse("fw_server_add_prompt", prompt->name,
			      "a prompt has a name and a handler");
	for (size_t i = 0; i < prompt->argument_count; i++)
		if (!prompt->arguments[i].name)
			return misuse("fw_server_add_prompt", prompt->name,
				      "an argument has a name");
	if (fw_offers_find(&server->offers.prompts, prompt->name, strlen(prompt->name)))
		return misuse("fw_server_add_prompt", prompt->name, "the name is taken");
	offer = offer_new(FW_OFFER_PROMPT, prompt->name);
	if (!offer)
		return fw_raise_internal_out_of_memory();
	offer->handler = prompt->handler;
	offer->complete = prompt->complete;
	offer->ctx = prompt->ctx;
	offer->run = prompt->run;
	err = set_runner(server, offer, NULL);
	if (err) {
		fw_offer_free(offer);
		return err;
	}
	fw_buf_init(&out, FW_SCHEMA_BYTES_MAX);
	FW_BUF(&out, "{\"name\":");
	fw_buf_json_str(&out, prompt->name);
	put_member(&out, "title", prompt->title);
	put_member(&out, "description", prompt->description);
	is_good = put_arguments(&out, prompt, offer);
	FW_BUF(&out, "}");
	offer->json = out.text;
	if (!is_good || out.state != FW_BUF_OK) {
		fw_offer_free(offer);
		return fw_raise_internal_out_of_memory();
	}
	server->offers.has_completion = server->offers.has_completion || prompt->complete;
	return take_offer(&server->offers.prompts, offer);
}

fw_error *fw_server_add_prompt(fw_server *server, const fw_prompt *prompt)
{
	fw_prompt known = FW_PROMPT_INIT;

	FW_TRY(fw_options_read("fw_server_add_prompt", prompt, &known, sizeof(known)));
	return add_prompt(server, &known);
}
