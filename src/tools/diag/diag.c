/*
 * diag.c - the toolset diag: explains an error code, converts an error to another
 * contract, and fails on request.
 *
 * It needs only the registry and the contracts, so every server can offer it.
 */
#include <faultwire/faultwire.h>

#include "tools/toolset.h"

/* Generated from schemas/. */
extern const struct fw_toolset_file fw_diag_schemas[];

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

struct diag_tool {
	const char *name;
	const char *title;
	const char *description;
	fw_handler *handler;
};

static const struct diag_tool tools[] = {
	{ "explain_error_code", "Explain an error code",
	  "Tells what an error code of any contract means, and what to do about it.", explain },
	{ "convert_error", "Convert an error",
	  "Reads an error in any contract and writes it in another.", convert },
	{ "raise_error", "Raise an error",
	  "Fails with the example of an error code, to see how it arrives.", raise },
};

enum { DRILL_ALERTS };

static const struct fw_toolset_option options[] = {
	[DRILL_ALERTS] = { .name = "drill-alerts",
			   .values = FW_TOOLSET_FLAG,
			   .help = "Let the errors of raise_error fire alerts, to test where "
				   "alerts are sent. By default they fire none." },
};

static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	(void)ret_instance;
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		fw_tool tool = FW_TOOL_INIT;

		tool.name = tools[i].name;
		tool.title = tools[i].title;
		tool.description = tools[i].description;
		tool.input_schema = fw_toolset_input_schema(fw_diag_schemas, tools[i].name);
		tool.annotations = "{\"readOnlyHint\":true,\"openWorldHint\":false}";
		tool.handler = tools[i].handler;
		tool.run = host->run;
		tool.workers = host->workers;
		tool.is_drill = tools[i].handler == raise && !host->values[DRILL_ALERTS];
		FW_TRY(fw_server_add_tool(host->server, &tool));
	}
	return NULL;
}

static bool is_default(const char *const *values)
{
	(void)values;
	return true;
}

const struct fw_toolset fw_toolset_diag = {
	.name = "diag",
	.summary = "explains error codes, converts errors, raises errors for tests; served by "
		   "default",
	.contract = FW_AUTO,
	.options = options,
	.option_count = sizeof options / sizeof *options,
	.is_default = is_default,
	.add = add,
};
