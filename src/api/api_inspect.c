/*
 * api_inspect.c - any error or log line, read: which contract it is in, or which rule
 * classified it, what to do about it, and how each contract says it. The playground of
 * the dashboard shows this.
 */
#include <string.h>

#include <faultwire/classify.h>
#include <faultwire/contract.h>
#include <faultwire/decide.h>
#include <faultwire/raise.h>

#include "api/api_impl.h"
#include "base/clock.h"
#include "base/id.h"

fw_error *fw_api_read_error(const char *text, size_t len, fw_contract from,
			    fw_contract *ret_found, fw_error **ret_error)
{
	fw_flat_text flat = { .text = text, .len = len };
	fw_decode_options how = FW_DECODE_OPTIONS_INIT;

	how.ret_contract = ret_found;
	FW_TRY(fw_error_decode(text, len, from, &how, ret_error));
	if (*ret_found == FW_ANY_JSON || *ret_found == FW_PLAIN_TEXT)
		*ret_error = fw_error_reclassify(*ret_error, fw_classifier_builtin(), &flat);
	return NULL;
}

/* Time and id, as a server would have added them. */
static void back_fill(fw_error *err)
{
	char id[FW_INCIDENT_ID_SIZE];

	if (!fw_error_timestamp(err))
		fw_error_set_time(err, fw_unix_ms());
	if (fw_error_incident_id(err))
		return;
	fw_incident_id(fw_unix_ms(), id);
	fw_error_set_incident_id(err, id);
}

static void put_member(struct fw_buf *out, const char *key, const char *text)
{
	if (!text)
		return;
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, text);
}

/* The rule that decided; nothing for text in a contract. */
static void put_classification(struct fw_buf *out, const char *text, size_t len)
{
	const fw_flat_text flat = { .text = text, .len = len };
	fw_classification class;

	fw_classify(fw_classifier_builtin(), &flat, &class);
	FW_BUF(out, ",\"classification\":{");
	put_member(out, "code", class.row->code);
	put_member(out, "rule", class.rule);
	put_member(out, "contested_by", class.contested_by);
	fw_buf_json_key(out, "confidence");
	fw_buf_f64(out, class.confidence);
	FW_BUF(out, "}");
}

static fw_error *put_decision(struct fw_buf *out, const fw_error *err)
{
	fw_decide_options options = FW_DECIDE_OPTIONS_INIT;
	fw_decision decision;

	options.is_idempotent = true;
	options.random = 0.5;
	FW_TRY(fw_decide(err, &options, &decision));
	FW_BUF(out, ",\"decision\":{");
	put_member(out, "action", fw_action_name(decision.action));
	put_member(out, "reason", decision.reason);
	put_member(out, "next", decision.next);
	fw_buf_json_key(out, "delay");
	fw_buf_f64(out, decision.delay);
	FW_BUF(out, "}");
	return NULL;
}

/* Each as a string, since the bytes are what the contract defines. */
static fw_error *put_contracts(struct fw_buf *out, const fw_error *err)
{
	FW_BUF(out, ",\"contracts\":{");
	for (fw_contract c = FW_CANONICAL; c < FW_CONTRACT_COUNT; c++) {
		char *text;
		size_t len;

		FW_TRY(fw_error_to_text(err, c, NULL, &text, &len));
		fw_buf_json_key(out, fw_contract_name(c));
		fw_buf_json(out, text, len);
		fw_free(text);
	}
	FW_BUF(out, "}");
	return NULL;
}

static fw_error *put_all(struct fw_buf *out, const char *text, size_t len, fw_contract found,
			 const fw_error *err)
{
	const fw_row *row = fw_error_row(err);

	FW_BUF(out, "{\"found\":");
	fw_buf_json_str(out, fw_contract_name(found));
	if (found == FW_ANY_JSON || found == FW_PLAIN_TEXT)
		put_classification(out, text, len);
	put_member(out, "code", row->code);
	put_member(out, "title", row->title);
	put_member(out, "message", fw_error_message(err));
	put_member(out, "hint", fw_error_hint(err));
	put_member(out, "retry", fw_retry_name(fw_error_retry(err)));
	FW_TRY(put_decision(out, err));
	FW_TRY(put_contracts(out, err));
	FW_BUF(out, "}");
	return NULL;
}

fw_error *fw_api_inspect(fw_page *page, void *ctx)
{
	fw_contract found = FW_PLAIN_TEXT;
	fw_error *read = NULL, *err;
	size_t len = 0;
	const char *text = fw_page_body(page, &len);
	struct fw_buf out;

	FW_TRY(fw_api_enter(ctx, page));
	if (strspn(text, " \t\r\n") == len)
		return fw_raise_input_missing_field("body");
	FW_TRY(fw_api_read_error(text, len, FW_AUTO, &found, &read));
	back_fill(read);
	fw_buf_init(&out, FW_API_LIST_BYTES);
	err = put_all(&out, text, len, found, read);
	fw_error_free(read);
	if (err) {
		fw_buf_clear(&out);
		return err;
	}
	return fw_api_answer(page, &out);
}
