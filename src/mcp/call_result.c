/*
 * call_result.c - the result that a handler adds to. It is written at once as
 * the JSON that will be sent: text that grows, not a tree.
 *
 * The first content that cannot be sent is kept as the fault of the call, which
 * makes it fail when the handler is done.
 */
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mcp/call.h"
#include "mcp/op.h"
#include "mcp/request.h"
#include "mcp/result.h"
#include "mcp/server.h"
#include "mcp/structured.h"
#include "rpc/version.h"

enum { VALUES_MAX = 100 };

static void fault(fw_call *call, fw_error *err)
{
	if (call->result.fault)
		fw_error_free(err);
	else
		call->result.fault = err;
}

/* Offset of the first byte that is not UTF-8; NUL is allowed. */
static bool check_text(fw_call *call, const char *text, size_t len)
{
	size_t valid = 0;

	if (!text) {
		fault(call, fw_raise_internal_api_misuse("fw_call_text", "text is NULL"));
		return false;
	}
	while (valid < len) {
		valid += fw_utf8_valid(text + valid, len - valid);
		if (valid >= len)
			break;
		if (text[valid] != '\0') {
			fault(call, fw_raise_tool_result_not_text(valid));
			return false;
		}
		valid++;
	}
	return true;
}

/* Begins one block of content, with the punctuation that this result needs. */
static struct fw_buf *begin(fw_call *call)
{
	struct fw_buf *out = &call->result.content;

	if (out->len)
		FW_BUF(out, ",");
	if (call->request.kind == FW_CALL_PROMPT) {
		FW_BUF(out, "{\"role\":");
		fw_buf_json_str(out, call->result.role);
		FW_BUF(out, ",\"content\":");
	}
	return out;
}

static void end(fw_call *call, struct fw_buf *out)
{
	if (call->request.kind == FW_CALL_PROMPT)
		FW_BUF(out, "}");
}

static bool takes_content(fw_call *call)
{
	if (call->request.kind == FW_CALL_TOOL || call->request.kind == FW_CALL_PROMPT)
		return true;
	fault(call, fw_raise_internal_api_misuse("fw_call_text", "this is no tool or prompt"));
	return false;
}

static bool check_op_text(fw_call *call, const struct fw_op *op, size_t index)
{
	return check_text(call, op->texts[index].text, op->texts[index].len);
}

static void put_op_text(struct fw_buf *out, const struct fw_op *op, size_t index)
{
	fw_buf_json(out, op->texts[index].text, op->texts[index].len);
}

static void put_text(fw_call *call, const struct fw_op_text *text)
{
	struct fw_buf *out;

	if (!takes_content(call) || !check_text(call, text->text, text->len))
		return;
	out = begin(call);
	FW_BUF(out, "{\"type\":\"text\",\"text\":");
	fw_buf_json(out, text->text, text->len);
	FW_BUF(out, "}");
	end(call, out);
}

static void put_media(fw_call *call, const char *type, const struct fw_op *op)
{
	struct fw_buf *out;

	if (!takes_content(call) || !check_op_text(call, op, 0) || !check_op_text(call, op, 1))
		return;
	out = begin(call);
	FW_BUF(out, "{\"type\":\"");
	fw_buf_str(out, type);
	FW_BUF(out, "\",\"data\":");
	put_op_text(out, op, 0);
	FW_BUF(out, ",\"mimeType\":");
	put_op_text(out, op, 1);
	FW_BUF(out, "}");
	end(call, out);
}

static void put_resource(fw_call *call, const char *member, const struct fw_op *op)
{
	bool is_read = call->request.kind == FW_CALL_RESOURCE;
	struct fw_buf *out;

	if (!is_read && !takes_content(call))
		return;
	if (!check_op_text(call, op, 0) || !check_op_text(call, op, 2) ||
	    (op->texts[1].text && !check_op_text(call, op, 1)))
		return;
	out = begin(call);
	if (!is_read)
		FW_BUF(out, "{\"type\":\"resource\",\"resource\":");
	FW_BUF(out, "{\"uri\":");
	put_op_text(out, op, 0);
	if (op->texts[1].text) {
		FW_BUF(out, ",\"mimeType\":");
		put_op_text(out, op, 1);
	}
	FW_BUF(out, ",\"");
	fw_buf_str(out, member);
	FW_BUF(out, "\":");
	put_op_text(out, op, 2);
	FW_BUF(out, "}");
	if (!is_read)
		FW_BUF(out, "}");
	end(call, out);
}

static void put_link(fw_call *call, const struct fw_op *op)
{
	struct fw_buf *out;

	if (!takes_content(call) || !check_op_text(call, op, 0) ||
	    !check_op_text(call, op, 1) || (op->texts[2].text && !check_op_text(call, op, 2)))
		return;
	/* The oldest version has no resource links: its clients get the URI as text. */
	if (!call->request.is_modern && call->request.version == FW_V_2025_03_26) {
		put_text(call, &op->texts[0]);
		return;
	}
	out = begin(call);
	FW_BUF(out, "{\"type\":\"resource_link\",\"uri\":");
	put_op_text(out, op, 0);
	FW_BUF(out, ",\"name\":");
	put_op_text(out, op, 1);
	if (op->texts[2].text) {
		FW_BUF(out, ",\"mimeType\":");
		put_op_text(out, op, 2);
	}
	FW_BUF(out, "}");
	end(call, out);
}

/* One JSON value from a handler, compact, into `out`. Returns what was read. */
static yyjson_doc *put_json(fw_call *call, struct fw_buf *out, const struct fw_op_text *json,
			    bool wants_object)
{
	yyjson_read_err err = { 0 };
	yyjson_doc *doc = NULL;
	const struct fw_limits *limits = &call->server->limits;
	yyjson_val *root;

	if (json->len > limits->result_bytes) {
		fault(call, fw_raise_tool_result_too_large(limits->result_bytes));
		return NULL;
	}
	if (json->text && fw_json_is_too_deep(json->text, json->len, limits->message_depth)) {
		fault(call, fw_raise_tool_result_too_deep(limits->message_depth));
		return NULL;
	}
	if (json->text)
		doc = fw_json_read(json->text, json->len,
				   (struct fw_json_limits){ limits->result_bytes, 0 },
				   YYJSON_READ_NUMBER_AS_RAW, NULL, &err);
	root = yyjson_doc_get_root(doc);
	if (err.code == YYJSON_READ_ERROR_INVALID_STRING) {
		/* It may be invalid because it is not text at all. */
		if (!check_text(call, json->text, json->len))
			return NULL;
	}
	if (!root || (wants_object && !yyjson_is_obj(root)))
		fault(call, fw_raise_tool_invalid_result(
				    "", wants_object ? "a JSON object" : "a JSON value",
				    root ? "another value" : "no JSON"));
	else
		fw_buf_value(out, root);
	if (wants_object && call->request.kind == FW_CALL_TOOL)
		call->result.is_own_error = yyjson_get_bool(fw_json_member(root, "isError"));
	return doc;
}

static void put_value(fw_call *call, const struct fw_op *op)
{
	if (!check_op_text(call, op, 0))
		return;
	if (++call->result.values > VALUES_MAX)
		return;
	if (call->result.content.len)
		FW_BUF(&call->result.content, ",");
	put_op_text(&call->result.content, op, 0);
}

static void lose(fw_call *call, uint32_t state)
{
	fault(call, state == FW_BUF_TOO_LARGE
			    ? fw_raise_tool_result_too_large(call->server->limits.result_bytes)
			    : fw_raise_internal_out_of_memory());
}

void fw_op_apply_result(fw_call *call, const struct fw_op *op)
{
	switch (op->kind) {
	case FW_OP_TEXT: put_text(call, &op->texts[0]); break;
	case FW_OP_IMAGE: put_media(call, "image", op); break;
	case FW_OP_AUDIO: put_media(call, "audio", op); break;
	case FW_OP_RESOURCE_TEXT: put_resource(call, "text", op); break;
	case FW_OP_RESOURCE_BLOB: put_resource(call, "blob", op); break;
	case FW_OP_RESOURCE_LINK: put_link(call, op); break;
	case FW_OP_STRUCTURED:
		fw_buf_reset(&call->result.structured, FW_CALL_KEEP_BYTES);
		yyjson_doc_free(call->result.parsed);
		call->result.parsed =
			put_json(call, &call->result.structured, &op->texts[0], false);
		break;
	case FW_OP_RESULT:
		fw_buf_reset(&call->result.content, FW_CALL_KEEP_BYTES);
		call->result.is_raw = true;
		yyjson_doc_free(put_json(call, &call->result.content, &op->texts[0], true));
		break;
	case FW_OP_ROLE:
		call->result.role =
			op->texts[0].text && strcmp(op->texts[0].text, "assistant") == 0
				? "assistant"
				: "user";
		break;
	case FW_OP_DESCRIPTION:
		fw_buf_reset(&call->result.description, FW_CALL_KEEP_BYTES);
		if (check_op_text(call, op, 0))
			put_op_text(&call->result.description, op, 0);
		break;
	case FW_OP_VALUE: put_value(call, op); break;
	case FW_OP_LOST: lose(call, op->number); break;
	default: break;
	}
}

/* ---- the whole ------------------------------------------------------------------- */

static fw_error *state_of(const struct fw_buf *buf)
{
	switch (buf->state) {
	case FW_BUF_TOO_LARGE: return fw_raise_tool_result_too_large(buf->max);
	case FW_BUF_NO_MEMORY: return fw_raise_internal_out_of_memory();
	case FW_BUF_OK: break;
	}
	return NULL;
}

static fw_error *check_output(fw_call *call)
{
	yyjson_val *value = yyjson_doc_get_root(call->result.parsed);
	struct fw_structured_fault first;

	call->stage = FW_STAGE_OUTPUT;
	if (!value)
		return fw_raise_tool_invalid_result("", "structured content", "none");
	return fw_structured_check_value(call->request.offer->output, value, &first)
		       ? NULL
		       : fw_raise_tool_invalid_result(first.pointer, first.expected,
						      first.found);
}

static void put_tool(fw_call *call, struct fw_buf *out)
{
	bool shows = call->result.structured.len &&
		     (call->request.is_modern || (call->result.structured.text[0] == '{' &&
						  call->request.version > FW_V_2025_03_26));

	FW_BUF(out, "\"content\":[");
	if (call->result.content.len) {
		fw_buf_put(out, call->result.content.text, call->result.content.len);
	} else if (call->result.structured.len) {
		FW_BUF(out, "{\"type\":\"text\",\"text\":");
		fw_buf_json(out, call->result.structured.text, call->result.structured.len);
		FW_BUF(out, "}");
	}
	FW_BUF(out, "]");
	if (shows) {
		FW_BUF(out, ",\"structuredContent\":");
		fw_buf_put(out, call->result.structured.text, call->result.structured.len);
	}
}

void fw_call_put_cache(const fw_call *call, struct fw_buf *out)
{
	if (!call->request.is_modern)
		return;
	FW_BUF(out, ",\"ttlMs\":");
	fw_buf_i64(out, call->server->options.cache_ttl_ms);
	fw_buf_str(out, call->server->options.cache_public ? ",\"cacheScope\":\"public\""
							   : ",\"cacheScope\":\"private\"");
}

fw_error *fw_call_write_result(fw_call *call, struct fw_buf *out)
{
	fw_error *err = call->result.fault;

	call->result.fault = NULL;
	if (err)
		return err;
	FW_TRY(state_of(&call->result.content));
	FW_TRY(state_of(&call->result.structured));
	if (call->request.kind == FW_CALL_TOOL && !call->result.is_raw) {
		if (!call->result.content.len && !call->result.structured.len)
			return fw_raise_tool_no_result();
		if (call->request.offer->output)
			FW_TRY(check_output(call));
	} else if (call->request.kind != FW_CALL_COMPLETE && !call->result.content.len) {
		return fw_raise_tool_no_result();
	}
	if (call->result.is_raw) {
		/* Without its braces. */
		fw_buf_put(out, call->result.content.text + 1, call->result.content.len - 2);
		return NULL;
	}
	switch (call->request.kind) {
	case FW_CALL_TOOL: put_tool(call, out); break;
	case FW_CALL_PROMPT:
		if (call->result.description.len) {
			FW_BUF(out, "\"description\":");
			fw_buf_put(out, call->result.description.text,
				   call->result.description.len);
			FW_BUF(out, ",");
		}
		FW_BUF(out, "\"messages\":[");
		fw_buf_put(out, call->result.content.text, call->result.content.len);
		FW_BUF(out, "]");
		break;
	case FW_CALL_RESOURCE:
		FW_BUF(out, "\"contents\":[");
		fw_buf_put(out, call->result.content.text, call->result.content.len);
		FW_BUF(out, "]");
		fw_call_put_cache(call, out);
		break;
	case FW_CALL_COMPLETE:
		FW_BUF(out, "\"completion\":{\"values\":[");
		if (call->result.content.len)
			fw_buf_put(out, call->result.content.text, call->result.content.len);
		FW_BUF(out, "],\"total\":");
		fw_buf_i64(out, call->result.values);
		fw_buf_str(out, call->result.values > VALUES_MAX ? ",\"hasMore\":true}"
								 : ",\"hasMore\":false}");
		break;
	case FW_CALL_OTHER: break;
	}
	return NULL;
}
