/*
 * empty.c - see empty.h. Called when a tool is registered, never for a call.
 */
#include "mcp/empty.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include "base/json.h"
#include "base/text.h"

enum { DEPTH_MOST = 8 };

static const struct fw_json_limits schema_json_limits = { .bytes = FW_SCHEMA_BYTES_MAX,
							  .depth = FW_SCHEMA_DEPTH_MAX };

static void put_empty(struct fw_buf *out, yyjson_val *root, yyjson_val *schema, int depth);

/* "#/$defs/x" in the same document; any other reference stays unresolved. */
static yyjson_val *follow(yyjson_val *root, yyjson_val *schema)
{
	const char *ref = fw_text_str(fw_text_of(fw_json_member(schema, "$ref")));

	if (!ref || ref[0] != '#')
		return schema;
	return yyjson_ptr_get(root, ref + 1);
}

static void put_object(struct fw_buf *out, yyjson_val *root, yyjson_val *schema, int depth)
{
	yyjson_val *properties = fw_json_member(schema, "properties"), *name;
	size_t i, count;

	FW_BUF(out, "{");
	yyjson_arr_foreach(fw_json_member(schema, "required"), i, count, name)
	{
		if (i > 0)
			FW_BUF(out, ",");
		fw_buf_value(out, name);
		FW_BUF(out, ":");
		put_empty(out, root,
			  yyjson_obj_getn(properties, fw_text_of(name).p, fw_text_of(name).n),
			  depth + 1);
	}
	FW_BUF(out, "}");
}

/* `type` may be a list; then null, if it is there, is the emptiest. */
static const char *type_of(yyjson_val *schema)
{
	yyjson_val *type = fw_json_member(schema, "type"), *one;
	size_t i, count;

	if (!yyjson_is_arr(type))
		return fw_text_str(fw_text_of(type));
	yyjson_arr_foreach(type, i, count, one)
	{
		if (yyjson_equals_str(one, "null"))
			return "null";
	}
	return fw_text_str(fw_text_of(yyjson_arr_get_first(type)));
}

static void put_number(struct fw_buf *out, yyjson_val *schema)
{
	yyjson_val *least = fw_json_member(schema, "minimum");

	if (yyjson_is_num(least) && yyjson_get_num(least) > 0)
		fw_buf_value(out, least);
	else
		FW_BUF(out, "0");
}

static void put_empty(struct fw_buf *out, yyjson_val *root, yyjson_val *schema, int depth)
{
	yyjson_val *fixed, *choice;
	const char *type;

	schema = follow(root, schema);
	choice = fw_json_member(schema, "anyOf");
	if (!choice)
		choice = fw_json_member(schema, "oneOf");
	fixed = fw_json_member(schema, "const");
	if (!fixed)
		fixed = fw_json_member(schema, "default");
	if (!fixed)
		fixed = yyjson_arr_get_first(fw_json_member(schema, "enum"));
	type = type_of(schema);
	if (fixed)
		fw_buf_value(out, fixed);
	else if (!type && choice && depth < DEPTH_MOST)
		put_empty(out, root, yyjson_arr_get_first(choice), depth + 1);
	else if (!type || strcmp(type, "null") == 0)
		FW_BUF(out, "null");
	else if (strcmp(type, "string") == 0)
		FW_BUF(out, "\"\"");
	else if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
		put_number(out, schema);
	else if (strcmp(type, "boolean") == 0)
		FW_BUF(out, "false");
	else if (strcmp(type, "array") == 0)
		FW_BUF(out, "[]");
	else if (depth < DEPTH_MOST)
		put_object(out, root, schema, depth);
	else
		FW_BUF(out, "{}");
}

void fw_mcp_derive_empty(const char *schema_json, struct fw_buf *out)
{
	yyjson_doc *doc = fw_json_read(schema_json, strlen(schema_json), schema_json_limits,
				       YYJSON_READ_NOFLAG, NULL, NULL);
	yyjson_val *root = yyjson_doc_get_root(doc);

	/* An envelope is always an object, even if the schema requires another type. */
	put_object(out, root, follow(root, root), 0);
	yyjson_doc_free(doc);
}

/* ---- the check -------------------------------------------------------------------- */

struct reason {
	char *text;
	size_t size;
};

static bool on_violation(void *ctx, const struct fw_violation *v)
{
	const struct reason *reason = ctx;

	(void)snprintf(reason->text, reason->size, "at \"%s\" expected %s, found %s",
		       v->instance_pointer, v->expected, v->found);
	return false;
}

bool fw_mcp_check_empty(const fw_schema *schema, const char *json, char *ret_reason,
			size_t size)
{
	static const char added[] =
		"\"error\":\"An unexpected error occurred\",\"problem\":{"
		"\"type\":\"https://kgfoundry.dev/problems/internal-error\","
		"\"title\":\"Internal Error\",\"status\":500,\"detail\":\"An unexpected error "
		"occurred\",\"instance\":\"urn:codeintel:tools:unknown\","
		"\"code\":\"internal-error\",\"extensions\":{\"exception_type\":\"string\"}}}";
	struct reason reason = { ret_reason, size };
	const fw_schema_run run = { .on_violation = on_violation, .ctx = &reason };
	size_t len = strlen(json);
	struct fw_buf envelope;
	yyjson_doc *doc;
	bool is_valid;

	(void)snprintf(ret_reason, size, "it is not a JSON object");
	fw_buf_init(&envelope, FW_SCHEMA_BYTES_MAX);
	while (len > 0 && json[len - 1] != '}')
		len--;
	fw_buf_put(&envelope, json, len ? len - 1 : 0);
	/* Not after the opening brace of {}. */
	if (envelope.len && envelope.text[envelope.len - 1] != '{')
		FW_BUF(&envelope, ",");
	fw_buf_put(&envelope, added, sizeof added - 1);
	doc = envelope.state != FW_BUF_OK
		      ? NULL
		      : fw_json_read(envelope.text, envelope.len, schema_json_limits,
				     YYJSON_READ_NOFLAG, NULL, NULL);
	is_valid = yyjson_is_obj(yyjson_doc_get_root(doc)) &&
		   fw_schema_check(schema, yyjson_doc_get_root(doc), &run);
	yyjson_doc_free(doc);
	fw_buf_clear(&envelope);
	return is_valid;
}
