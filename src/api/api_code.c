/*
 * api_code.c - the registry by HTTP: codes, what they mean in any contract, and errors
 * turned from one contract into another.
 */
#include <string.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "api/api_impl.h"

/* ---- rows -------------------------------------------------------------------------- */

static void put_text(struct fw_buf *out, const char *key, const char *value)
{
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, value);
}

static void put_row(struct fw_buf *out, const fw_row *row)
{
	FW_BUF(out, "{\"number\":");
	fw_buf_i64(out, row->number);
	put_text(out, "code", row->code);
	put_text(out, "title", row->title);
	fw_buf_json_key(out, "status");
	fw_buf_i64(out, row->status);
	put_text(out, "category", fw_category_name(row->category));
	put_text(out, "type", fw_type_name(row->type));
	put_text(out, "retry", fw_retry_name(row->retry));
	put_text(out, "severity", fw_severity_name(row->severity));
	put_text(out, "message", row->message);
	put_text(out, "hint", row->hint);
	put_text(out, "explanation", row->explanation);
	FW_BUF(out, ",\"contracts\":{");
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++)
		put_text(out, fw_contract_name(c), fw_row_code_in(row, c));
	FW_BUF(out, "}}");
}

fw_error *fw_api_list_codes(fw_page *page, void *ctx)
{
	const fw_row *row;
	struct fw_buf out;

	FW_TRY(fw_api_enter(ctx, page));
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"codes\":[");
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (i)
			FW_BUF(&out, ",");
		put_row(&out, row);
	}
	FW_BUF(&out, "]}");
	return fw_api_answer(page, &out);
}

fw_error *fw_api_show_code(fw_page *page, void *ctx)
{
	const char *code = fw_page_parameter(page, "code");
	const fw_row *row = fw_registry_find(NULL, code);
	struct fw_buf out;

	FW_TRY(fw_api_enter(ctx, page));
	if (!row)
		return fw_raise_registry_code_unregistered(code);
	fw_buf_init(&out, FW_API_LIST_BYTES);
	put_row(&out, row);
	return fw_api_answer(page, &out);
}

/* ---- explain ------------------------------------------------------------------------- */

/* NULL: FW_AUTO. */
static fw_error *read_contract(const fw_page *page, const char *parameter,
			       fw_contract *ret_contract)
{
	const char *name = fw_page_query(page, parameter);

	*ret_contract = FW_AUTO;
	if (!name || strcmp(name, "auto") == 0)
		return NULL;
	if (fw_contract_from_name(name, ret_contract) && *ret_contract < FW_CONTRACT_COUNT)
		return NULL;
	return fw_raise_input_invalid_value(parameter, "the name of a contract");
}

/* A code may mean different rows in different contracts; each row appears once. */
static size_t put_meanings(struct fw_buf *out, const char *code, fw_contract contract)
{
	const fw_row *shown[FW_CONTRACT_COUNT] = { NULL };
	size_t count = 0;

	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++) {
		const fw_row *row = c == FW_CANONICAL ? fw_registry_find(NULL, code)
						      : fw_registry_read(NULL, c, code);
		bool is_known = !row || (contract != FW_AUTO && contract != c);

		for (size_t i = 0; i < count && !is_known; i++)
			is_known = shown[i] == row;
		if (is_known)
			continue;
		shown[count] = row;
		if (count++)
			FW_BUF(out, ",");
		FW_BUF(out, "{\"contract\":");
		fw_buf_json_str(out, fw_contract_name(c));
		FW_BUF(out, ",\"row\":");
		put_row(out, row);
		FW_BUF(out, "}");
	}
	return count;
}

fw_error *fw_api_explain(fw_page *page, void *ctx)
{
	const char *code = fw_page_query(page, "code");
	fw_contract contract;
	struct fw_buf out;

	FW_TRY(fw_api_enter(ctx, page));
	FW_TRY(read_contract(page, "contract", &contract));
	if (!code)
		return fw_raise_input_missing_field("code");
	fw_buf_init(&out, FW_API_LIST_BYTES);
	FW_BUF(&out, "{\"meanings\":[");
	if (!put_meanings(&out, code, contract)) {
		fw_buf_clear(&out);
		return fw_raise_registry_code_unregistered(code);
	}
	FW_BUF(&out, "]}");
	return fw_api_answer(page, &out);
}

/* ---- convert -------------------------------------------------------------------------- */

fw_error *fw_api_convert(fw_page *page, void *ctx)
{
	fw_contract from, to;
	fw_error *decoded = NULL, *err;
	size_t len = 0, text_len = 0;
	char *text = NULL;
	const char *body = fw_page_body(page, &len);

	FW_TRY(fw_api_enter(ctx, page));
	FW_TRY(fw_api_check_type(page));
	FW_TRY(read_contract(page, "from", &from));
	FW_TRY(read_contract(page, "to", &to));
	if (to == FW_AUTO)
		to = FW_CANONICAL;
	FW_TRY(fw_api_read_error(body, len, from, &from, &decoded));
	err = fw_error_to_text(decoded, to, NULL, &text, &text_len);
	fw_error_free(decoded);
	if (err)
		return err;
	fw_page_status(page, 200,
		       to == FW_OWLCLAW_API ? "application/problem+json" : "application/json");
	fw_page_write(page, text, text_len);
	fw_free(text);
	return NULL;
}
