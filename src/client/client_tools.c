/*
 * client_tools.c - fetches lists, and looks up what a client has to know about a tool:
 * whether it is idempotent, and which arguments a modern HTTP server requires as headers.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/limits.h"
#include "client/client_impl.h"
#include "rpc/names.h"

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

/* False: a client must leave the tool out. */
static bool has_valid_headers(yyjson_val *tool)
{
	struct fw_mirrors mirrors = { .items = NULL };
	const char *fault = NULL;

	fw_error_free(fw_mirrors_read(fw_json_member(tool, "inputSchema"), &fault, &mirrors));
	fw_mirrors_clear(&mirrors);
	return !fault;
}

fw_error *fw_client__put_params(yyjson_val *tool, yyjson_val *arguments,
				struct fw_mirror_lines *ret_lines)
{
	struct fw_mirrors mirrors = { .items = NULL };
	const char *fault = NULL;
	bool is_put;

	FW_TRY(fw_mirrors_read(fw_json_member(tool, "inputSchema"), &fault, &mirrors));
	is_put = fw_mirrors_put(&mirrors, arguments, ret_lines);
	fw_mirrors_clear(&mirrors);
	return is_put ? NULL : fw_raise_internal_out_of_memory();
}

/* ---- lists ------------------------------------------------------------------------------- */

/* The member with the items: "tools" for "tools/list". */
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

	if (!fw_slice_members((struct fw_slice){ page->text, page->len }, members, 2) ||
	    !fw_slice_is_array(members[0].value))
		return false;
	while (fw_slice_next(members[0].value, &at, &key, &item)) {
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

static fw_error *raise_invalid(fw_client *client, const char *reason)
{
	fw_error *err = fw_raise_upstream_invalid_reply(client->options.name, reason);

	fw_error_set_delivery(err, FW_REPLIED);
	client->decision = (fw_decision){ .action = FW_ACTION_GIVE_UP,
					  .reason = "the failure is permanent" };
	return err;
}

/* Some servers repeat the same cursor: `params` is the request that had it. */
static bool is_repeated(const struct fw_buf *params, const struct fw_buf *cursor)
{
	static const char before[] = "{\"cursor\":";

	return params->len == sizeof before - 1 + cursor->len + 1 &&
	       memcmp(params->text + sizeof before - 1, cursor->text, cursor->len) == 0;
}

static fw_error *list_pages(fw_client *client, const char *method, const char *items,
			    struct fw_buf *all, struct fw_buf *cursor)
{
	for (int page = 0; page < FW_CLIENT_PAGES_MAX; page++) {
		fw_client_result result = { .text = NULL };
		struct fw_buf params;
		fw_error *err;
		bool is_list;
		bool is_last;

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
		is_list = !err && add_page(client, items, &result, all, cursor);
		is_last = !cursor->len || is_repeated(&params, cursor);
		fw_buf_clear(&params);
		fw_client_result_clear(&result);
		if (err)
			return err;
		if (!is_list)
			return raise_invalid(client, "it is not a list");
		if (is_last)
			return NULL;
	}
	return raise_invalid(client, "its list has no end");
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
