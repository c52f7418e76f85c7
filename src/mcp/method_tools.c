/*
 * method_tools.c - tools/call up to the handler: whether the tool exists, its
 * headers agree, and its arguments are valid.
 */
#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/text.h"
#include "core/redact.h"
#include "mcp/ask.h"
#include "mcp/call.h"
#include "mcp/era.h"
#include "mcp/method.h"
#include "mcp/offer.h"
#include "mcp/outcome.h"
#include "mcp/project.h"
#include "mcp/run.h"
#include "mcp/server.h"
#include "mcp/util.h"
#include "schema/schema.h"

/* ---- violations ------------------------------------------------------------- */

/* The first violation determines the code; all of them are listed. */
struct report {
	struct fw_buf list;
	char keyword[32];
	char pointer[512];
	char expected[512];
	char found[512];
	unsigned count;
};

static void copy_text(char *to, size_t cap, const char *from)
{
	(void)snprintf(to, cap, "%s", from ? from : "");
}

static bool on_violation(void *ctx, const struct fw_violation *v)
{
	struct report *report = ctx;
	struct fw_buf *list = &report->list;
	/* A password that is too short is still a secret. */
	const char *found =
		fw_redact_pointer_is_secret(v->instance_pointer) ? FW_REDACTED : v->found;

	if (report->count++ == 0) {
		copy_text(report->keyword, sizeof report->keyword, v->keyword);
		copy_text(report->pointer, sizeof report->pointer, v->instance_pointer);
		copy_text(report->expected, sizeof report->expected, v->expected);
		copy_text(report->found, sizeof report->found, found);
	}
	fw_buf_put(list, report->count == 1 ? "[" : ",", 1);
	FW_BUF(list, "{\"pointer\":");
	fw_buf_json_str(list, v->instance_pointer);
	FW_BUF(list, ",\"rule\":");
	fw_buf_json_str(list, v->keyword);
	FW_BUF(list, ",\"expected\":");
	fw_buf_json_str(list, v->expected);
	FW_BUF(list, ",\"found\":");
	fw_buf_json_str(list, found);
	FW_BUF(list, "}");
	return true;
}

/* A missing property "path" is reported with the property as its field, not its object. */
static void append_property(struct report *report)
{
	static const char start[] = "property \"";
	size_t len = strlen(report->expected);
	size_t at = strlen(report->pointer);

	if (strncmp(report->expected, start, sizeof start - 1) != 0 || len < sizeof start)
		return;
	(void)snprintf(report->pointer + at, sizeof report->pointer - at, "/%.*s",
		       (int)(len - sizeof start), report->expected + sizeof start - 1);
}

static fw_error *raise_violation(struct report *report)
{
	const char *field;
	fw_error *err;

	if (strcmp(report->keyword, "required") == 0)
		append_property(report);
	field = report->pointer[0] == '/' ? report->pointer + 1 : "arguments";
	if (strcmp(report->keyword, "required") == 0)
		err = fw_raise_input_missing_field(field);
	else if (strcmp(report->keyword, "type") == 0)
		err = fw_raise_input_invalid_type(field, report->expected, report->found);
	else if (strcmp(report->keyword, "format") == 0 ||
		 strcmp(report->keyword, "pattern") == 0)
		err = fw_raise_input_invalid_format(field, report->expected);
	else
		err = fw_raise_input_invalid_value(field, report->expected);
	fw_error_add_string(err, "pointer", report->pointer);
	fw_error_add_string(err, "expected", report->expected);
	fw_error_add_string(err, "found", report->found);
	fw_error_add_string(err, "rule", report->keyword);
	return err;
}

fw_error *fw_mcp_check_arguments(fw_call *call, const fw_schema *schema)
{
	struct report report;
	const fw_schema_run run = { .on_violation = on_violation,
				    .ctx = &report,
				    .max_violations =
					    (unsigned)call->server->limits.violations };
	fw_error *err;

	if (fw_schema_check(schema, call->request.arguments, NULL))
		return NULL;
	memset(&report, 0, sizeof report);
	fw_buf_init(&report.list, FW_LIMIT_TEXT_BYTES);
	(void)fw_schema_check(schema, call->request.arguments, &run);
	err = raise_violation(&report);
	FW_BUF(&report.list, "]");
	if (report.list.state == FW_BUF_OK && report.count)
		fw_error_add_json(err, "violations", report.list.text, report.list.len);
	fw_buf_clear(&report.list);
	return err;
}

/* ---- names and arguments with a NUL inside ------------------------------------ */

fw_error *fw_mcp_read_name(fw_call *call, yyjson_val *value, const char *pointer)
{
	const struct fw_text text = fw_text_of(value);
	const bool is_unfit = call->request.may_hold_nul && fw_text_has_nul(text);

	if (!text.p || is_unfit)
		return fw_raise_protocol_invalid_params(
			pointer, text.p ? "a string without NUL characters" : "a string");
	call->request.name = text.p;
	call->request.name_len = text.n;
	return NULL;
}

/* Searches a value and everything below it: yyjson stores them consecutively. */
static bool has_nul(yyjson_val *value)
{
	const yyjson_val *end = unsafe_yyjson_get_next(value);

	for (; value < end; value++)
		if (yyjson_is_str(value) && fw_text_has_nul(fw_text_of(value)))
			return true;
	return false;
}

fw_error *fw_mcp_refuse_nul(const fw_call *call)
{
	yyjson_obj_iter iter;
	yyjson_val *key;
	const char *field = NULL;

	if (!call->request.may_hold_nul || !call->request.arguments ||
	    !has_nul(call->request.arguments))
		return NULL;
	iter = yyjson_obj_iter_with(call->request.arguments);
	while (!field && (key = yyjson_obj_iter_next(&iter)))
		if (has_nul(key) || has_nul(yyjson_obj_iter_get_val(key)))
			field = fw_text_str(fw_text_of(key));
	return fw_raise_input_invalid_value(field ? field : "arguments",
					    "text without NUL characters");
}

/* ---- tools/call ------------------------------------------------------------------ */

static yyjson_val *no_arguments(void)
{
	/* An empty object, as yyjson would have read it. */
	static yyjson_val empty = { .tag = YYJSON_TYPE_OBJ };

	return &empty;
}

fw_error *fw_method_tools_call(fw_call *call)
{
	fw_error *err;

	FW_TRY(fw_mcp_read_name(call, fw_json_member(call->request.params, "name"),
				"/params/name"));
	call->request.arguments = fw_json_member(call->request.params, "arguments");
	if (!call->request.arguments)
		call->request.arguments = no_arguments();
	err = fw_mcp_choose_contract(call);
	call->request.offer = fw_offers_find(&call->server->offers.tools, call->request.name,
					     call->request.name_len);
	return err ? err : fw_method_call_tool(call);
}

fw_error *fw_method_call_tool(fw_call *call)
{
	if (!call->request.offer)
		return fw_raise_protocol_unknown_tool(call->request.name);
	if (!yyjson_is_obj(call->request.arguments))
		return fw_raise_protocol_invalid_params(call->page ? "" : "/params/arguments",
							"an object");
	/* A page has no arguments in its headers. */
	if (!call->page)
		FW_TRY(fw_era_check_params_headers(call));
	/* Before the observers are called, because they read the arguments too. */
	if (call->request.may_hold_nul && !call->request.offer->takes_nul)
		FW_TRY(fw_mcp_refuse_nul(call));
	FW_TRY(fw_mcp_enter(call));
	FW_TRY(fw_ask_read(call));
	call->stage = FW_STAGE_SCHEMA;
	if (call->request.offer->input && !call->request.offer->checks_arguments)
		FW_TRY(fw_mcp_check_arguments(call, call->request.offer->input));
	FW_TRY(fw_mcp_admit(call));
	fw_call_start(call);
	return NULL;
}
