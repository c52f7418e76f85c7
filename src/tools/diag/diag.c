/*
 * diag.c - see diag.h. They need nothing but the registry and the contracts, so
 * that a server which has these alone can still show how its errors look.
 */
#include "tools/diag/diag.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#define CONTRACTS \
	"\"canonical\",\"kaiza\",\"context-v0\",\"codeintel\",\"toolerror\",\"owlclaw\""

static const fw_row *row_of(const char *code)
{
	const fw_row *row = fw_registry_find(NULL, code);

	for (int i = 0; !row && i < FW_CONTRACT_COUNT; i++)
		row = fw_registry_read(NULL, (fw_contract)i, code);
	return row;
}

static fw_error *explain(fw_call *call, void *ctx)
{
	const char *code = fw_call_string(call, "code", NULL);
	const fw_row *row = row_of(code);

	(void)ctx;
	if (!row)
		return fw_raise_registry_code_unregistered(code);
	fw_call_textf(call,
		      "%s: %s\ncategory %s, type %s, retry %s, HTTP %d, JSON-RPC %d\n"
		      "message: %s\nhint: %s\n\n%s",
		      row->code, row->title, fw_category_name(row->category),
		      fw_type_name(row->type), fw_retry_name(row->retry), row->status,
		      row->jsonrpc, row->message, row->hint, row->explanation);
	return NULL;
}

static fw_error *convert(fw_call *call, void *ctx)
{
	size_t len;
	const char *text = fw_call_string(call, "text", &len);
	fw_contract to = FW_CANONICAL;
	fw_error *decoded = NULL;
	fw_error *err;
	char *out = NULL;
	size_t out_len = 0;

	(void)ctx;
	(void)fw_contract_from_name(fw_call_string(call, "to", NULL), &to);
	FW_TRY(fw_error_decode(text, len, FW_AUTO, NULL, &decoded));
	err = fw_error_to_text(decoded, to, NULL, &out, &out_len);
	fw_error_free(decoded);
	if (err)
		return err;
	fw_call_text_n(call, out, out_len);
	fw_free(out);
	return NULL;
}

static fw_error *raise(fw_call *call, void *ctx)
{
	const char *code = fw_call_string(call, "code", NULL);
	const fw_row *row = row_of(code);

	(void)ctx;
	return row ? fw_row_raise_example(row) : fw_raise_registry_code_unregistered(code);
}

fw_error *fw_diag_add(fw_server *server, fw_run run, fw_workers *workers)
{
	static const char code_schema[] =
		"{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\","
		"\"minLength\":1,"
		"\"description\":\"A code of any contract, such as file.not_found or "
		"FILE_NOT_FOUND\"}},\"required\":[\"code\"],\"additionalProperties\":false}";
	static const char convert_schema[] =
		"{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
		"\"description\":"
		"\"The error, as text in any "
		"contract\"},\"to\":{\"type\":\"string\",\"enum\":[" CONTRACTS
		"]}},\"required\":[\"text\",\"to\"],\"additionalProperties\":false}";
	fw_tool tool = FW_TOOL_INIT;

	tool.name = "explain_error_code";
	tool.title = "Explain an error code";
	tool.description =
		"Tells what an error code of any contract means, and what to do about it.";
	tool.input_schema = code_schema;
	tool.annotations = "{\"readOnlyHint\":true,\"openWorldHint\":false}";
	tool.run = run;
	tool.workers = workers;
	tool.handler = explain;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "convert_error";
	tool.title = "Convert an error";
	tool.description = "Reads an error in any contract and writes it in another.";
	tool.input_schema = convert_schema;
	tool.handler = convert;
	FW_TRY(fw_server_add_tool(server, &tool));
	tool.name = "raise_error";
	tool.title = "Raise an error";
	tool.description = "Fails with the example of an error code, to see how it arrives.";
	tool.input_schema = code_schema;
	tool.handler = raise;
	return fw_server_add_tool(server, &tool);
}
