/*
 * encode.c - encoding, and functions shared by all encoders.
 *
 * An encoder is straight-line code that writes to an fw_out. It neither allocates nor
 * fails, because it runs when something else has already failed.
 */
#include "base/mem.h"
#include "contract/contract_impl.h"
#include "contract/write.h"
#include "core/options.h"

#include <faultwire/raise.h>
#include <math.h>

static fw_encode_fn *const encoders[FW_CONTRACT_COUNT] = {
	[FW_CANONICAL] = fw_canonical_encode,     [FW_KAIZA] = fw_kaiza_encode,
	[FW_CONTEXT_V0] = fw_context_v0_encode,   [FW_CODEINTEL] = fw_codeintel_encode,
	[FW_TOOLERROR] = fw_toolerror_encode,     [FW_OWLCLAW] = fw_owlclaw_encode,
	[FW_OWLCLAW_API] = fw_owlclaw_api_encode,
};

void fw_contract_write(struct fw_out *out, const fw_error *err, fw_contract contract,
		       const fw_encode_options *options)
{
	if ((unsigned)contract >= FW_CONTRACT_COUNT)
		contract = FW_CANONICAL;
	encoders[contract](out, err, options);
}

static inline size_t encode(const fw_error *err, fw_contract contract,
			    const fw_encode_options *options, char *buf, size_t cap)
{
	struct fw_out out;

	fw_out_init(&out, buf, cap);
	fw_contract_write(&out, err, contract, options);
	return fw_out_finish(&out, cap);
}

/* Options of a caller that may be older or newer. */
static __attribute__((noinline)) size_t encode_with(const fw_error *err, fw_contract contract,
						    const fw_encode_options *options, char *buf,
						    size_t cap)
{
	fw_encode_options known = FW_ENCODE_OPTIONS_INIT;
	fw_error *fault = fw_options_read("fw_error_encode", options, &known, sizeof(known));
	size_t len;

	if (!fault && err)
		return encode(err, contract, &known, buf, cap);
	if (!fault)
		fault = fw_raise_internal_unexpected(NULL);
	len = encode(fault, contract, &known, buf, cap);
	fw_error_free(fault);
	return len;
}

size_t fw_error_encode(const fw_error *err, fw_contract contract,
		       const fw_encode_options *options, char *buf, size_t cap)
{
	static const fw_encode_options usual = FW_ENCODE_OPTIONS_INIT;

	if (err && !options)
		return encode(err, contract, &usual, buf, cap);
	return encode_with(err, contract, options, buf, cap);
}

fw_error *fw_error_to_text(const fw_error *err, fw_contract contract,
			   const fw_encode_options *options, char **ret_text, size_t *ret_len)
{
	fw_encode_options known = FW_ENCODE_OPTIONS_INIT;
	char small[4096];
	size_t len;
	char *text;

	FW_TRY(fw_options_read("fw_error_to_text", options, &known, sizeof(known)));
	len = fw_error_encode(err, contract, &known, small, sizeof(small));
	text = fw__allocate(len + 1);
	if (!text)
		return fw_raise_internal_out_of_memory();
	if (len < sizeof(small))
		memcpy(text, small, len + 1);
	else
		(void)fw_error_encode(err, contract, &known, text, len + 1);
	*ret_text = text;
	if (ret_len)
		*ret_len = len;
	return NULL;
}

void fw_write_item(struct fw_out *out, const struct fw_item *item)
{
	if (item->has_plain_key) {
		FW_OUT(out, "\"");
		fw_write_plain(out, item->key);
		FW_OUT(out, "\":");
	} else {
		fw_write_text(out, item->key);
		FW_OUT(out, ":");
	}
	switch (item->type) {
	case FW_FIELD_STRING:
		if (item->has_plain_text && !out->go_escape)
			fw_write_quoted(out, item->as.text);
		else
			fw_write_text(out, item->as.text);
		break;
	case FW_FIELD_JSON: fw_out_put(out, item->as.text.p, item->as.text.n); break;
	case FW_FIELD_I64: fw_out_i64(out, item->as.i64); break;
	case FW_FIELD_U64: fw_out_u64(out, item->as.u64); break;
	case FW_FIELD_F64: fw_out_f64(out, item->as.f64); break;
	case FW_FIELD_BOOL: fw_out_bool(out, item->as.boolean); break;
	}
}

static bool is_delay(const struct fw_item *item)
{
	return fw__text_is(item->key, "retry_after", 11);
}

double fw_write_delay(const fw_error *err, bool taken)
{
	if (err->retry_after >= 0 || !taken)
		return err->retry_after;
	for (size_t i = 0; i < err->item_count; i++) {
		const struct fw_item *item = &err->items[i];
		double delay = -1;

		if (!is_delay(item))
			continue;
		if (item->type == FW_FIELD_I64)
			delay = (double)item->as.i64;
		else if (item->type == FW_FIELD_U64)
			delay = (double)item->as.u64;
		else if (item->type == FW_FIELD_F64)
			delay = item->as.f64;
		else if (item->type == FW_FIELD_JSON)
			delay = fw_value_text_number(item->as.text.p, item->as.text.n);
		if (delay == 0)
			return 0; /* not -0 */
		return isfinite(delay) && delay > 0 ? delay : -1;
	}
	return -1;
}

bool fw_write_shows(const struct fw_item *item, double delay)
{
	return !(delay >= 0 && is_delay(item));
}

void fw_write_context(struct fw_out *out, struct fw_text opening, const fw_error *err,
		      double delay)
{
	bool first = true;

	/* Usually there is no delay, and so nothing to hide. */
	if (delay < 0) {
		if (!err->item_count)
			return;
		fw_write_plain(out, opening);
		fw_write_item(out, &err->items[0]);
		for (size_t i = 1; i < err->item_count; i++) {
			FW_OUT(out, ",");
			fw_write_item(out, &err->items[i]);
		}
		FW_OUT(out, "}");
		return;
	}
	for (size_t i = 0; i < err->item_count; i++) {
		if (!fw_write_shows(&err->items[i], delay))
			continue;
		if (first)
			fw_write_plain(out, opening);
		else
			FW_OUT(out, ",");
		first = false;
		fw_write_item(out, &err->items[i]);
	}
	if (first)
		fw_write_plain(out, opening);
	else
		FW_OUT(out, ",");
	FW_OUT(out, "\"retry_after\":");
	fw_out_f64(out, delay);
	FW_OUT(out, "}");
}

int fw_write_status(const fw_error *err)
{
	return err->status >= 400 ? err->status : fw_error_row(err)->status;
}

struct fw_text fw_write_code(const fw_error *err, fw_contract contract)
{
	const fw_row *row = fw_error_row(err);

	if (err->slots[FW_SLOT_ORIGINAL_CODE].p && err->original_contract == contract)
		return err->slots[FW_SLOT_ORIGINAL_CODE];
	if (contract == FW_CODEINTEL)
		return (struct fw_text){ row->codeintel, row->codeintel_len };
	return (struct fw_text){ row->code, row->code_len };
}

const struct fw_text fw_write_no_incident = { "inc_00000000_unassigned", 23 };

struct fw_text fw_write_incident(const fw_error *err)
{
	struct fw_text incident = err->slots[FW_SLOT_INCIDENT_ID];

	return incident.n ? incident : fw_write_no_incident;
}
