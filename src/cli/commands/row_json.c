/*
 * row_json.c - see row_json.h. The members are those of docs/registry.json.
 */
#include "cli/commands/row_json.h"

#include "cli/terminal/json_out.h"

const char *cli_param_type_name(fw_param_type type)
{
	static const char *const names[] = {
		[FW_PARAM_STRING] = "string", [FW_PARAM_I64] = "i64",
		[FW_PARAM_U64] = "u64",       [FW_PARAM_F64] = "f64",
		[FW_PARAM_BOOL] = "bool",     [FW_PARAM_JSON] = "json",
	};

	return names[type];
}

void cli_row_contracts_json(const char *key, const fw_row *row)
{
	cli_json_open(key, '{');
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
		cli_json_string(fw_contract_name(c), fw_row_code_in(row, c));
	cli_json_close('}');
}

static void put_params(const fw_row *row)
{
	cli_json_open("params", '[');
	for (size_t i = 0; i < row->param_count; i++) {
		const fw_param *param = &row->params[i];

		cli_json_open(NULL, '{');
		cli_json_string("name", param->name);
		cli_json_string("type", cli_param_type_name(param->type));
		if (param->optional)
			cli_json_bool("optional", true);
		if (param->message_only)
			cli_json_bool("message_only", true);
		cli_json_close('}');
	}
	cli_json_close(']');
}

void cli_row_json(const char *key, const fw_row *row)
{
	cli_json_open(key, '{');
	cli_json_number("number", row->number);
	cli_json_string("code", row->code);
	cli_json_string("since", row->since);
	cli_json_string("title", row->title);
	cli_json_string("category", fw_category_name(row->category));
	cli_json_string("type", fw_type_name(row->type));
	cli_json_string("retry", fw_retry_name(row->retry));
	cli_json_bool("recoverable", row->recoverable);
	cli_json_number("status", row->status);
	cli_json_string("severity", fw_severity_name(row->severity));
	cli_json_number("jsonrpc", row->jsonrpc);
	cli_json_string("origin", fw_origin_name(row->origin));
	cli_json_string("kaiza", row->kaiza);
	cli_json_string("context_v0", row->context_v0);
	cli_json_string("codeintel", row->codeintel);
	cli_json_open("reads", '[');
	for (fw_contract c = FW_KAIZA; c < FW_CONTRACT_COUNT; c++)
		if (row->reads & 1u << c)
			cli_json_string(NULL, fw_contract_name(c));
	cli_json_close(']');
	put_params(row);
	cli_json_string("message", row->message);
	cli_json_string("hint", row->hint);
	cli_json_string("explanation", row->explanation);
	cli_json_raw("example", *row->example ? row->example : "{}");
	cli_json_close('}');
}
