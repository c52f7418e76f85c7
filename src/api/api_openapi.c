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
#include "mcp/offer.h"
#include "mcp/server.h"

/* ---- fixed parts -------------------------------------------------------------------- */

#define REF(name) "{\"$ref\":\"#/components/schemas/" name "\"}"
#define JSON_OF(schema) "\"content\":{\"application/json\":{\"schema\":" schema "}}"
#define OK(schema) "\"200\":{\"description\":\"The result.\"," JSON_OF(schema) "}"
#define FAILURE "\"default\":{\"$ref\":\"#/components/responses/Problem\"}"
#define RESPONSES(schema) "\"responses\":{" OK(schema) "," FAILURE "}"
#define IN(place, name, schema) \
	"{\"name\":\"" name "\",\"in\":\"" place "\",\"schema\":{" schema "}}"
#define IN_PATH(name)                                                          \
	"{\"name\":\"" name "\",\"in\":\"path\",\"required\":true,\"schema\":" \
	"{\"type\":\"string\"}}"
#define TEXT "\"type\":\"string\""
#define VERSION "{\"$ref\":\"#/components/parameters/ApiVersion\"}"
#define GET(id, summary, parameters, schema)                         \
	"\"get\":{\"operationId\":\"" id "\",\"summary\":\"" summary \
	"\",\"parameters\":[" VERSION parameters "]," RESPONSES(schema) "}"
#define PATH(path) "\"" FW_API_PREFIX path "\":"
#define OBJECT "{\"type\":\"object\"}"
#define LIST_OF(member)                                  \
	"{\"type\":\"object\",\"properties\":{\"" member \
	"\":{\"type\":\"array\",\"items\":" OBJECT "}},\"required\":[\"" member "\"]}"

static const char fixed_paths[] = PATH(
	"tools") "{" GET("listTools", "All tools", "", LIST_OF("tools")) "}," PATH("registry") "{" GET("listCodes",
												       "All error codes",
												       "", LIST_OF("codes")) "}," PATH("registry/{code}") "{" GET("showCode", "One error code", "," IN_PATH("code"), OBJECT) "}," PATH("explain") "{" GET("explain", "What a code of any contract means", ",{\"name\":\"code\",\"in\":\"query\",\"required\":true,\"schema\":{" TEXT "}}," IN("query", "contract", TEXT), LIST_OF("meanings")) "}," PATH("convert") "{\"post\":{\"operationId\":\"convert\",\"summary\":\"An error in another "
																																																								    "contract\",\"parameters\":[" VERSION
																																																								    "," IN("query", "from", TEXT) "," IN("query",
																																																													 "to", TEXT) "],\"requestBody\":{\"required\":true," JSON_OF(OBJECT) "}," RESPONSES(OBJECT) "}}," PATH("incidents") "{" GET("listIncidents",
																																																																												    "The newest incidents", "," IN("query", "code", TEXT) "," IN("query", "tool", TEXT) "," IN("query", "limit", "\"type\":\"integer\",\"minimum\":1,\"maximum\":1000"), LIST_OF("incidents")) "}," PATH("incidents/{id}") "{" GET("showIncident", "One incident", "," IN_PATH("id"), OBJECT) "}," PATH("alerts") "{" GET("listAlerts", "What is firing", "", OBJECT) "}," PATH("events") "{\"get\":{\"operationId\":\"streamEvents\",\"summary\":\"Outcomes as they "
																																																																																																																											  "happen\",\"parameters\":[" VERSION
																																																																																																																											  "],\"responses\":{\"200\":{\"description\":"
																																																																																																																											  "\"Server-Sent Events.\",\"content\":{\"text/event-stream\":{\"schema\":{" TEXT "}}}}," FAILURE
																																																																																																																											  "}}},"
																																																																																																																											  "\"/healthz\":{\"get\":{\"operationId\":\"health\",\"security\":[],\"responses\":{\"200\":"
																																																																																																																											  "{\"description\":\"The process runs.\"}}}},"
																																																																																																																											  "\"/readyz\":{\"get\":{\"operationId\":\"readiness\",\"security\":[],\"responses\":{\"200\":"
																																																																																																																											  "{\"description\":\"Ready.\"},\"503\":{\"description\":\"Not ready.\"}}}}";

static const char fixed_components[] =
	"\"securitySchemes\":{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"}},"
	"\"parameters\":{\"ApiVersion\":{\"name\":\"" FW_API_VERSION_HEADER
	"\",\"in\":\"header\","
	"\"description\":\"Must agree with the path.\",\"schema\":{" TEXT "}},"
	"\"IdempotencyKey\":{\"name\":\"Idempotency-Key\",\"in\":\"header\",\"description\":"
	"\"A repeated request gets the answer of the first one for 24 "
	"hours.\",\"schema\":{" TEXT ",\"minLength\":1,\"maxLength\":255}}},"
	"\"responses\":{\"Problem\":{\"description\":\"A "
	"failure.\",\"headers\":{\"Retry-After\":{"
	"\"schema\":{\"type\":\"integer\"}}},\"content\":{\"application/problem+json\":{"
	"\"schema\":" REF(
		"Problem") "}}}},"
			   "\"schemas\":{\"ToolResult\":{\"type\":\"object\",\"properties\":{"
			   "\"content\":{\"type\":"
			   "\"array\",\"items\":" OBJECT
			   "},\"structuredContent\":{},\"isError\":{\"type\":"
			   "\"boolean\"}},\"required\":[\"content\"]},"
			   "\"Problem\":{\"type\":\"object\",\"properties\":{\"type\":{" TEXT
			   "},\"title\":{" TEXT
			   "},\"status\":{\"type\":\"integer\"},\"detail\":{" TEXT
			   "},\"instance\":{" TEXT "},\"code\":" REF(
				   "Code") ",\"category\":{" TEXT
					   "},\"retryable\":{\"type\":\"boolean\"},"
					   "\"incident_id\":{" TEXT "},\"details\":" OBJECT
					   ",\"retry_after\":{\"type\":\"number\"}},"
					   "\"required\":[\"type\",\"title\",\"status\","
					   "\"detail\",\"code\",\"category\","
					   "\"retryable\",\"incident_id\"]},\"Code\":{" TEXT
					   ",\"enum\":[";

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
	FW_BUF(out, "}}}," RESPONSES(REF("ToolResult")) "},\"get\":{\"operationId\":\"show_");
	put_segment(out, tool->name);
	FW_BUF(out,
	       "\",\"tags\":[\"tools\"],\"parameters\":[" VERSION "]," RESPONSES(OBJECT) "}}");
}

static void put_tools(struct fw_buf *out, const fw_server *server)
{
	const struct fw_offers *tools = &server->offers.tools;
	const struct fw_json_limits limits = { FW_API_LIST_BYTES, 128 };

	for (size_t i = 0; i < tools->count; i++) {
		const struct fw_offer *tool = tools->items[i];
		yyjson_doc *doc;

		if (tool->is_hidden)
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
	FW_BUF(&out, "},\"security\":[{\"bearer\":[]},{}],\"paths\":{");
	fw_buf_put(&out, fixed_paths, sizeof fixed_paths - 1);
	put_tools(&out, api->server);
	FW_BUF(&out, "},\"components\":{");
	fw_buf_put(&out, fixed_components, sizeof fixed_components - 1);
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (i)
			FW_BUF(&out, ",");
		fw_buf_json_str(&out, row->code);
	}
	FW_BUF(&out, "]}}}}");
	return fw_api_answer(page, &out);
}
