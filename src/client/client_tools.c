/*
 * client_tools.c - lists, and what a client has to know about tools: whether they are
 * idempotent, and which arguments a modern HTTP server wants as headers.
 */
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/client_impl.h"
#include "rpc/header.h"
#include "rpc/names.h"

#define ANNOTATION "x-mcp-header"

/* ---- tools ------------------------------------------------------------------------- */

yyjson_val *fw_client__tool(const fw_client *client, const char *name)
{
	yyjson_val *tools = fw_json_member(yyjson_doc_get_root(client->tools), "tools"), *tool;
	size_t index, max;

	yyjson_arr_foreach(
		tools, index, max,
		tool) if (yyjson_equals_str(fw_json_member(tool, "name"), name)) return tool;
	return NULL;
}

bool fw_client__is_idempotent(yyjson_val *tool)
{
	yyjson_val *hints = fw_json_member(tool, "annotations");

	return yyjson_is_true(fw_json_member(hints, "idempotentHint")) ||
	       yyjson_is_true(fw_json_member(hints, "readOnlyHint"));
}

/* ---- headers ------------------------------------------------------------------------- */

/* A name of a header field, RFC 9110. */
static bool is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!fw_is_digit(text[i]) && !fw_is_lower(text[i]) && !fw_is_upper(text[i]) &&
		    !(text[i] && strchr("!#$%&'*+-.^_`|~", text[i])))
			return false;
	return len > 0;
}

static bool is_valid_annotation(yyjson_val *property, yyjson_val *header)
{
	static const char *const types[] = { "string", "integer", "boolean" };
	yyjson_val *type = fw_json_member(property, "type");

	if (!yyjson_is_str(header) || !is_token(yyjson_get_str(header), yyjson_get_len(header)))
		return false;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (yyjson_equals_str(type, types[i]))
			return true;
	return false;
}

static bool has_valid_headers(yyjson_val *tool)
{
	yyjson_val *properties =
		fw_json_member(fw_json_member(tool, "inputSchema"), "properties");
	const char *seen[FW_CLIENT_PARAMS_MAX], *name;
	yyjson_val *key, *property;
	size_t index, max, count = 0;

	yyjson_obj_foreach(fw_json_or_empty(properties), index, max, key, property)
	{
		yyjson_val *header = fw_json_member(property, ANNOTATION);

		if (!header)
			continue;
		if (!is_valid_annotation(property, header) || count == FW_CLIENT_PARAMS_MAX)
			return false;
		name = yyjson_get_str(header); /* a token, so it has no NUL */
		for (size_t i = 0; i < count; i++)
			if (strcasecmp(seen[i], name) == 0)
				return false;
		seen[count++] = name;
	}
	return true;
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len == 0 ||
	       (text[0] != ' ' && text[len - 1] != ' ' && strncmp(text, "=?base64?", 9) != 0);
}

static void put_value(struct fw_buf *out, const char *text, size_t len)
{
	size_t start;

	if (is_plain(text, len)) {
		fw_buf_put(out, text, len);
		return;
	}
	FW_BUF(out, "=?base64?");
	start = out->len;
	fw_base64url_put(out, (const unsigned char *)text, len);
	/* Headers have the usual alphabet, with padding. */
	for (size_t i = start; i < out->len; i++)
		if (out->text[i] == '-' || out->text[i] == '_')
			out->text[i] = out->text[i] == '-' ? '+' : '/';
	while (out->state == FW_BUF_OK && (out->len - start) % 4)
		FW_BUF(out, "=");
	FW_BUF(out, "?=");
}

static void put_param(struct fw_client_params *params, const char *name, yyjson_val *value)
{
	struct fw_buf *out = &params->text;

	if (!value || yyjson_is_null(value) || yyjson_is_ctn(value) ||
	    params->count == FW_CLIENT_PARAMS_MAX)
		return;
	if (!yyjson_is_bool(value) && yyjson_get_len(value) > FW_HEADER_VALUE_MAX / 2)
		return;
	params->starts[params->count++] = out->len;
	FW_BUF(out, FW_HEADER_PARAM_PREFIX);
	fw_buf_str(out, name);
	/* libcurl sends a header without a value only if it ends with a semicolon. */
	if (yyjson_is_str(value) && yyjson_get_len(value) == 0) {
		FW_BUF(out, ";");
	} else {
		FW_BUF(out, ": ");
		if (yyjson_is_bool(value))
			fw_buf_str(out, yyjson_get_bool(value) ? "true" : "false");
		else if (yyjson_is_raw(value))
			fw_buf_put(out, yyjson_get_raw(value), yyjson_get_len(value));
		else
			put_value(out, yyjson_get_str(value), yyjson_get_len(value));
	}
	fw_buf_put(out, "", 1);
}

bool fw_client__put_params(yyjson_val *tool, yyjson_val *arguments,
			   struct fw_client_params *ret_params)
{
	yyjson_val *properties =
		fw_json_member(fw_json_member(tool, "inputSchema"), "properties");
	yyjson_val *key, *property;
	size_t index, max;

	memset(ret_params, 0, sizeof *ret_params);
	fw_buf_init(&ret_params->text, FW_LIMIT_HELLO_BYTES);
	yyjson_obj_foreach(fw_json_or_empty(properties), index, max, key, property)
	{
		yyjson_val *header = fw_json_member(property, ANNOTATION);

		if (yyjson_is_str(header))
			put_param(ret_params, yyjson_get_str(header),
				  yyjson_obj_getn(arguments, yyjson_get_str(key),
						  yyjson_get_len(key)));
	}
	for (size_t i = 0; i < ret_params->count; i++)
		ret_params->lines[i] = ret_params->text.text + ret_params->starts[i];
	ret_params->lines[ret_params->count] = NULL;
	return ret_params->text.state == FW_BUF_OK;
}

/* ---- lists ------------------------------------------------------------------------------- */

/* "tools/list" has its items in "tools". */
static const char *items_of(const char *method)
{
	if (strcmp(method, FW_METHOD_TOOLS_LIST) == 0)
		return "tools";
	if (strcmp(method, FW_METHOD_RESOURCES_LIST) == 0)
		return "resources";
	if (strcmp(method, FW_METHOD_TEMPLATES_LIST) == 0)
		return "resourceTemplates";
	return strcmp(method, FW_METHOD_PROMPTS_LIST) == 0 ? "prompts" : NULL;
}

/* Appends the items of one page, and finds the cursor of the next. */
static bool add_page(const fw_client *client, const char *items, const fw_client_result *page,
		     struct fw_buf *all, struct fw_buf *cursor)
{
	struct fw_scan_member members[] = { { .name = items }, { .name = "nextCursor" } };
	bool is_modern = fw_remote_is_modern(client->remote);
	struct fw_slice key, item;
	const char *at = NULL;

	if (!fw_slice_members((struct fw_slice){ page->text, page->len }, members, 2))
		return false;
	while (fw_slice_is_array(members[0].value) &&
	       fw_slice_next(members[0].value, &at, &key, &item)) {
		yyjson_doc *doc = is_modern && strcmp(items, "tools") == 0
					  ? fw_json_read(item.p, item.n,
							 (struct fw_json_limits){ item.n, 0 },
							 0, NULL, NULL)
					  : NULL;
		bool is_usable = !doc || has_valid_headers(yyjson_doc_get_root(doc));

		yyjson_doc_free(doc);
		if (!is_usable)
			continue;
		if (all->len && all->text[all->len - 1] != '[')
			FW_BUF(all, ",");
		fw_buf_put(all, item.p, item.n);
	}
	fw_buf_reset(cursor, 0);
	if (fw_slice_is_string(members[1].value))
		fw_buf_put(cursor, members[1].value.p, members[1].value.n);
	return true;
}

static fw_error *list_pages(fw_client *client, const char *method, const char *items,
			    struct fw_buf *all, struct fw_buf *cursor)
{
	for (int page = 0; page < FW_CLIENT_PAGES_MAX; page++) {
		fw_client_result result = { .text = NULL };
		struct fw_buf params;
		fw_error *err;
		bool is_list;

		fw_buf_init(&params, FW_LIMIT_CHILD_LINE_BYTES);
		FW_BUF(&params, "{");
		if (cursor->len) {
			FW_BUF(&params, "\"cursor\":");
			fw_buf_put(&params, cursor->text, cursor->len);
		}
		FW_BUF(&params, "}");
		err = params.state == FW_BUF_OK && cursor->state == FW_BUF_OK
			      ? fw_client_request(client, method, params.text, params.len,
						  &result)
			      : fw_raise_internal_out_of_memory();
		fw_buf_clear(&params);
		if (err)
			return err;
		is_list = add_page(client, items, &result, all, cursor);
		fw_client_result_clear(&result);
		if (!is_list)
			return fw_raise_upstream_invalid_reply(client->options.name,
							       "it is not a list");
		if (!cursor->len)
			return NULL;
	}
	return fw_raise_upstream_invalid_reply(client->options.name, "its list has no end");
}

fw_error *fw_client_list(fw_client *client, const char *method, fw_client_result *ret_result)
{
	const char *items = items_of(method);
	struct fw_buf all, cursor;
	fw_error *err;

	if (!items)
		return fw_raise_internal_api_misuse("fw_client_list", "this is not a list");
	fw_buf_init(&all, FW_LIMIT_CHILD_LINE_BYTES);
	fw_buf_init(&cursor, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&all, "{\"");
	fw_buf_str(&all, items);
	FW_BUF(&all, "\":[");
	err = list_pages(client, method, items, &all, &cursor);
	FW_BUF(&all, "]}");
	fw_buf_clear(&cursor);
	if (!err && all.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	if (err) {
		fw_buf_clear(&all);
		return err;
	}
	*ret_result = (fw_client_result){ all.text, all.len, client->attempts };
	if (strcmp(items, "tools") == 0) {
		yyjson_doc_free(client->tools);
		client->tools =
			fw_json_read(all.text, all.len, (struct fw_json_limits){ all.len, 0 },
				     YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
	}
	return NULL;
}
