/*
 * message.c - reads and classifies a JSON-RPC message.
 */
#include "rpc/message.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/out.h"
#include "base/text.h"
#include "base/utf8.h"

/* ---- text to JSON ------------------------------------------------------------- */

/* Longer messages do not fit the pool of a call. */
enum { POOLED_BYTES = 2048 };

/* How many bytes from the start are UTF-8. A NUL is valid UTF-8, although
 * fw_utf8_valid() stops there. */
static size_t valid_prefix(const char *text, size_t len)
{
	size_t valid = 0;

	while (valid < len) {
		valid += fw_utf8_valid(text + valid, len - valid);
		if (valid >= len || text[valid] != '\0')
			break;
		valid++;
	}
	return valid;
}

static fw_error *parse_error(const char *text, size_t len, const yyjson_read_err *fault)
{
	if (fault->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	if (fault->code == YYJSON_READ_ERROR_INVALID_STRING) {
		size_t valid = valid_prefix(text, len);

		if (valid < len)
			return fw_raise_input_invalid_encoding("message", valid);
	}
	return fw_raise_protocol_parse_error(fault->pos, fault->msg ? fault->msg : "empty");
}

fw_error *fw_message_parse(const char *text, size_t len, const struct fw_message_limits *limits,
			   yyjson_doc **ret_doc)
{
	static const yyjson_read_flag flags = YYJSON_READ_NUMBER_AS_RAW;
	/* The depth was checked. */
	const struct fw_json_limits checked = { .bytes = limits->bytes };
	yyjson_read_err fault = { 0 };
	yyjson_doc *doc = NULL;
	yyjson_alc pool;

	if (len > limits->bytes)
		return fw_raise_input_too_large("message", limits->bytes);
	if (fw_json_is_too_deep(text, len, limits->depth))
		return fw_raise_input_too_deep("message", limits->depth);
	if (len <= POOLED_BYTES &&
	    yyjson_alc_pool_init(&pool, limits->pool, limits->pool_bytes))
		doc = fw_json_read(text, len, checked, flags, &pool, &fault);
	else
		fault.code = YYJSON_READ_ERROR_MEMORY_ALLOCATION;
	if (!doc && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		doc = fw_json_read(text, len, checked, flags, NULL, &fault);
	if (!doc)
		return parse_error(text, len, &fault);
	*ret_doc = doc;
	return NULL;
}

/* ---- JSON to JSON-RPC ----------------------------------------------------------- */

struct members {
	yyjson_val *jsonrpc, *id, *method, *params, *result, *error;
};

static void find_members(yyjson_val *root, struct members *m)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(root);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *name = fw_text_of(key).p;
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		switch (yyjson_get_len(key)) {
		case 2:
			if (memcmp(name, "id", 2) == 0)
				m->id = value;
			break;
		case 5:
			if (memcmp(name, "error", 5) == 0)
				m->error = value;
			break;
		case 6:
			if (memcmp(name, "method", 6) == 0)
				m->method = value;
			else if (memcmp(name, "params", 6) == 0)
				m->params = value;
			else if (memcmp(name, "result", 6) == 0)
				m->result = value;
			break;
		case 7:
			if (memcmp(name, "jsonrpc", 7) == 0)
				m->jsonrpc = value;
			break;
		default: break;
		}
	}
}

/* A number stays as it is, without fraction and exponent. */
static bool read_number_id(yyjson_val *id, struct fw_message_id *ret_id)
{
	size_t len = yyjson_get_len(id);
	const char *raw = yyjson_get_raw(id);

	if (len > sizeof ret_id->text)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (raw[i] > '9' || raw[i] == '.')
			return false;
		ret_id->text[i] = raw[i];
	}
	ret_id->len = len;
	return true;
}

/* A string is escaped again, which may make it longer. */
static bool read_string_id(yyjson_val *id, struct fw_message_id *ret_id)
{
	struct fw_buf text;
	bool fits;

	if (yyjson_get_len(id) > sizeof ret_id->text)
		return false;
	fw_buf_init(&text, 6 * (size_t)FW_LIMIT_ID_BYTES + 2);
	fw_buf_json(&text, fw_text_of(id).p, yyjson_get_len(id));
	fits = text.state == FW_BUF_OK && text.len <= sizeof ret_id->text;
	if (fits) {
		memcpy(ret_id->text, text.text, text.len);
		ret_id->len = text.len;
	}
	fw_buf_clear(&text);
	return fits;
}

bool fw_message_read_id(yyjson_val *id, struct fw_message_id *ret_id)
{
	if (yyjson_is_raw(id))
		return read_number_id(id, ret_id);
	return yyjson_is_str(id) && read_string_id(id, ret_id);
}

static fw_error *invalid(const char *reason)
{
	return fw_raise_protocol_invalid_request(reason);
}

static fw_error *read_params(yyjson_val *params, struct fw_message *message)
{
	yyjson_val *meta;

	if (params && !yyjson_is_obj(params))
		return fw_raise_protocol_invalid_params("/params", "an object");
	message->params = params;
	meta = yyjson_obj_get(params, "_meta");
	message->meta = meta;
	if (meta && !yyjson_is_obj(meta))
		return fw_raise_protocol_invalid_params("/params/_meta", "an object");
	return NULL;
}

fw_error *fw_message_read(yyjson_val *root, struct fw_message *ret_message,
			  struct fw_message_id *ret_id)
{
	struct members m = { 0 };
	bool is_response;

	*ret_message = (struct fw_message){ .kind = FW_MESSAGE_NOTIFICATION };
	ret_id->len = 0;
	if (!yyjson_is_obj(root))
		return invalid("it is not an object");
	find_members(root, &m);
	is_response = !m.method && m.id && (m.result || m.error);
	ret_message->id = m.id;
	if (m.id && !is_response) {
		ret_message->kind = FW_MESSAGE_REQUEST;
		if (!fw_message_read_id(m.id, ret_id))
			return invalid("id must be a string or an integer, and not long");
	}
	if (!m.jsonrpc || !yyjson_equals_str(m.jsonrpc, "2.0"))
		return invalid("jsonrpc must be \"2.0\"");
	if (is_response) {
		ret_message->kind = FW_MESSAGE_RESPONSE;
		ret_message->result = m.result;
		ret_message->error = m.error;
		return NULL;
	}
	if (!yyjson_is_str(m.method))
		return invalid("method must be a string");
	ret_message->method = fw_text_str(fw_text_of(m.method));
	if (!ret_message->method)
		return invalid("method must not contain NUL characters");
	return read_params(m.params, ret_message);
}
