/*
 * carrier.c - errors inside MCP messages.
 *
 * A log rarely contains the bare envelope. It contains a JSON-RPC response, or the
 * result of a tool call with isError and arbitrary text. So a reader without a given
 * contract looks inside, one level deep: if faultwire wrote the message, it contains
 * the canonical error.
 */
#include "contract/contract_impl.h"

#define CANONICAL "dev.faultwire/error"

static yyjson_val *object_in(yyjson_val *object, const char *key)
{
	yyjson_val *value = yyjson_obj_get(object, key);

	return yyjson_is_obj(value) ? value : NULL;
}

/* {"code":-32603,"message":"...","data":{...}} */
static yyjson_val *open_error(yyjson_val *error)
{
	yyjson_val *data = object_in(error, "data");
	yyjson_val *inner = object_in(data, CANONICAL);

	if (!inner)
		inner = object_in(data, "error");
	if (!inner && data && fw_sniff_value(data) != FW_ANY_JSON)
		inner = data;
	return inner ? inner : error;
}

/* {"content":[{"type":"text","text":"..."}],"isError":true} */
static yyjson_val *open_result(yyjson_val *result)
{
	yyjson_val *inner = object_in(object_in(result, "_meta"), CANONICAL);
	yyjson_val *content = yyjson_obj_get(result, "content"), *part;
	size_t index, max;

	if (!yyjson_is_true(yyjson_obj_get(result, "isError")))
		return NULL;
	if (inner)
		return inner;
	yyjson_arr_foreach(content, index, max, part)
	{
		yyjson_val *text = yyjson_obj_get(part, "text");

		if (yyjson_equals_str(yyjson_obj_get(part, "type"), "text") &&
		    yyjson_is_str(text))
			return text;
	}
	return NULL;
}

yyjson_val *fw_carrier_open(yyjson_val *root)
{
	yyjson_val *error;

	if (!yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0"))
		return open_result(root);
	error = object_in(root, "error");
	return error ? open_error(error) : open_result(object_in(root, "result"));
}
