/*
 * api_openapi.c - the description of the API (OpenAPI 3.1), made from the tools and the
 * registry of this server.
 */
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>
#include <faultwire/registry.h>

#include "api/api_impl.h"
#include "base/json.h"
#include "mcp/authority.h"
#include "mcp/offer.h"
#include "mcp/server.h"

/* ---- fixed parts -------------------------------------------------------------------- */

/* The files of src/api/assets: a JSON object each. */
extern const char fw_api_openapi_paths[], fw_api_openapi_components[];
extern const size_t fw_api_openapi_paths_len, fw_api_openapi_components_len;

#define VERSION "{\"$ref\":\"#/components/parameters/ApiVersion\"}"
#define OBJECT "{\"type\":\"object\"}"
#define RESPONSES(schema)                                                       \
	"\"responses\":{\"200\":{\"description\":\"The result.\",\"content\":{" \
	"\"application/json\":{\"schema\":" schema "}}},\"default\":{\"$ref\":" \
	"\"#/components/responses/Problem\"}}"

/* A file without its last `levels` closing braces, so that more members can follow. */
static void put_open(struct fw_buf *out, const char *text, size_t len, int levels)
{
	while (len > 0 && levels > 0)
		levels -= text[--len] == '}';
	fw_buf_put(out, text, len);
}

/* ---- tools ------------------------------------------------------------------------------- */

/* A path may have letters, digits and these. */
static void put_segment(struct fw_buf *out, const char *name)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *name; name++) {
		unsigned char c = (unsigned char)*name;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr("-._~", c)) {
			fw_buf_put(out, name, 1);
		} else {
			const char escape[] = { '%', hex[c >> 4], hex[c & 15] };

			fw_buf_put(out, escape, sizeof escape);
		}
	}
}

/* References within a schema resolve against its own $id, not against this document. */
static void put_schema(struct fw_buf *out, yyjson_val *schema, const char *tool,
		       const char *part)
{
	yyjson_val *key;
	yyjson_obj_iter iter = yyjson_obj_iter_with(schema);
	bool is_first = true;

	if (!yyjson_is_obj(schema)) {
		FW_BUF(out, OBJECT);
		return;
	}
	FW_BUF(out, "{");
	if (!fw_json_member(schema, "$id") && fw_json_member(schema, "$defs")) {
		FW_BUF(out, "\"$id\":\"urn:faultwire:tool:");
		put_segment(out, tool);
		FW_BUF(out, ":");
		fw_buf_str(out, part);
		FW_BUF(out, "\"");
		is_first = false;
	}
	while ((key = yyjson_obj_iter_next(&iter))) {
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		fw_buf_value(out, key);
		FW_BUF(out, ":");
		fw_buf_value(out, yyjson_obj_iter_get_val(key));
	}
	FW_BUF(out, "}");
}

static void put_tool(struct fw_buf *out, const struct fw_offer *tool, yyjson_val *entry)
{
	yyjson_val *description = fw_json_member(entry, "description");

	FW_BUF(out, ",\"" FW_API_PREFIX "tools/");
	put_segment(out, tool->name);
	FW_BUF(out, "\":{\"post\":{\"operationId\":\"call_");
	put_segment(out, tool->name);
	FW_BUF(out, "\",\"tags\":[\"tools\"]");
	if (description) {
		FW_BUF(out, ",\"description\":");
		fw_buf_value(out, description);
	}
	FW_BUF(out, ",\"parameters\":[" VERSION);
	if (tool->changes)
		FW_BUF(out, ",{\"$ref\":\"#/components/parameters/IdempotencyKey\"}");
	FW_BUF(out, "],\"requestBody\":{\"content\":{\"application/json\":{\"schema\":");
	put_schema(out, fw_json_member(entry, "inputSchema"), tool->name, "input");
	FW_BUF(out, "}}}," RESPONSES(
			    "{\"$ref\":\"#/components/schemas/ToolResult\"}") "},\"get\":{"
									      "\"operationId\":"
									      "\"show_");
	put_segment(out, tool->name);
	FW_BUF(out,
	       "\",\"tags\":[\"tools\"],\"parameters\":[" VERSION "]," RESPONSES(OBJECT) "}}");
}

static void put_tools(struct fw_buf *out, const fw_server *server,
		      const fw_principal *principal)
{
	const struct fw_offers *tools = &server->offers.tools;
	const struct fw_json_limits limits = { FW_API_LIST_BYTES, 128 };

	for (size_t i = 0; i < tools->count; i++) {
		const struct fw_offer *tool = tools->items[i];
		yyjson_doc *doc;

		if (!fw_authority_shows_tool(server, principal, tool))
			continue;
		doc = fw_json_read(tool->json, strlen(tool->json), limits,
				   YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
		if (!doc) {
			out->state = FW_BUF_NO_MEMORY;
			return;
		}
		put_tool(out, tool, yyjson_doc_get_root(doc));
		yyjson_doc_free(doc);
	}
}

fw_error *fw_api_show_openapi(fw_page *page, void *ctx)
{
	const struct fw_api *api = ctx;
	const fw_row *row;
	struct fw_buf out;

	FW_TRY(fw_api_enter(api, page));
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":");
	fw_buf_json_str(&out, api->server->identity.name);
	FW_BUF(&out, ",\"version\":");
	fw_buf_json_str(&out, api->server->identity.version);
	FW_BUF(&out, "},\"security\":[{\"bearer\":[]},{}],\"paths\":");
	put_open(&out, fw_api_openapi_paths, fw_api_openapi_paths_len, 1);
	put_tools(&out, api->server, fw_page_principal(page));
	FW_BUF(&out, "},\"components\":");
	put_open(&out, fw_api_openapi_components, fw_api_openapi_components_len, 2);
	FW_BUF(&out, ",\"Code\":{\"type\":\"string\",\"enum\":[");
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (i)
			FW_BUF(&out, ",");
		fw_buf_json_str(&out, row->code);
	}
	FW_BUF(&out, "]}}}}");
	return fw_api_answer(page, &out);
}
