/*
 * incident_record.c - see incident_record.h.
 *
 * A record is made on the loop's thread for each failure: the error is encoded into its
 * place, and a text without secrets, which nearly every text is, is copied once.
 */
#include "observe/incident/incident_record.h"

#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "core/redact.h"
#include "observe/incident/incident.h"

#include <faultwire/error.h>

enum { USUAL_BYTES = 2048 /* size of a typical error as text */ };

/* Before the texts of a record. */
struct fixed {
	uint32_t len; /* of the record, without `len` and `sum` */
	uint32_t sum; /* over the rest of it */
	uint64_t number;
	int64_t time_ms;
	int64_t duration_us;
	int32_t status;
	uint16_t has; /* a bit per text */
	uint16_t is_unauthenticated;
};

enum { UNSUMMED = offsetof(struct fixed, number) };

_Static_assert(sizeof(struct fixed) == FW_INCIDENT_RECORD_LEAST, "no padding");

/* Finds a record that was half written when the machine stopped; not a protection against
 * tampering. */
static uint32_t sum_of(const char *bytes, size_t len)
{
	return (uint32_t)fw_hash(bytes, len, 0);
}

/* ---- writing ------------------------------------------------------------------- */

static void put_text(struct fw_buf *out, const char *text, bool is_clean)
{
	size_t len = strlen(text), need;

	if (is_clean || fw_redact_find(text, len) == len) {
		fw_buf_put(out, text, len + 1);
		return;
	}
	need = fw_redact_copy(NULL, 0, text, len);
	if (!fw_buf_reserve(out, need + 1))
		return;
	(void)fw_redact_copy(out->text + out->len, need + 1, text, len);
	out->len += need + 1;
}

/* For an error that is too large: its code and message only. */
static void put_small(struct fw_buf *out, const fw_error *err)
{
	FW_BUF(out, "{\"code\":");
	fw_buf_json_str(out, fw_error_name(err));
	FW_BUF(out, ",\"message\":");
	fw_buf_json_str(out, fw_error_message(err));
	FW_BUF(out, ",\"context\":{\"omitted\":\"too large to be kept\"}}");
}

static void put_encoded(struct fw_buf *out, const fw_error *err)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	size_t len;

	if (!fw_buf_reserve(out, USUAL_BYTES))
		return;
	len = fw_error_encode(err, FW_CANONICAL, &options, out->text + out->len,
			      out->cap - out->len);
	if (len > FW_LIMIT_INCIDENT_BYTES) {
		put_small(out, err);
		return;
	}
	if (len >= out->cap - out->len) {
		if (!fw_buf_reserve(out, len))
			return;
		len = fw_error_encode(err, FW_CANONICAL, &options, out->text + out->len,
				      out->cap - out->len);
	}
	out->len += len;
}

/* Decoding an error again redacts its secrets. */
static void clean_error(struct fw_buf *out, size_t begin)
{
	const fw_encode_options options = { .struct_size = sizeof(fw_encode_options),
					    .stack = true };
	size_t len = out->len - begin;
	fw_error *copy = NULL;
	char *fresh = NULL;
	fw_error *failure;

	failure = fw_error_decode(out->text + begin, len, FW_CANONICAL, NULL, &copy);
	if (!failure)
		failure = fw_error_to_text(copy, FW_CANONICAL, &options, &fresh, &len);
	fw_error_free(copy);
	out->len = begin;
	if (failure)
		FW_BUF(out, "{}");
	else
		fw_buf_put(out, fresh, len);
	fw_error_free(failure);
	fw_free(fresh);
}

/* The contract is the last member of the stored error, for incident_read.c. An empty object
 * cannot take a member with a comma. */
static void put_error(struct fw_buf *out, const fw_error *err, fw_contract contract)
{
	size_t begin = out->len;

	put_encoded(out, err);
	if (out->state == FW_BUF_OK && fw__error_keeps_secrets(err))
		clean_error(out, begin);
	if (out->state == FW_BUF_OK && out->len - begin > 2 && contract < FW_CONTRACT_COUNT) {
		out->len--;
		FW_BUF(out, FW_INCIDENT_CONTRACT);
		fw_buf_str(out, fw_contract_name(contract));
		FW_BUF(out, "\"}");
	}
	fw_buf_put(out, "", 1);
}

/* Others may be of the call, and were not redacted. */
static bool is_of_error(struct fw_incident *incident, const char **text)
{
	return text == &incident->id || text == &incident->code ||
	       text == &incident->severity || text == &incident->message ||
	       text == &incident->detail;
}

void fw_incident_record_put(struct fw_buf *out, struct fw_incident *incident,
			    const fw_error *err, fw_contract contract)
{
	struct fixed fixed = { .number = incident->number,
			       .time_ms = incident->time_ms,
			       .duration_us = incident->duration_us,
			       .status = incident->status,
			       .is_unauthenticated = incident->is_unauthenticated };
	const bool has_secrets = fw__error_keeps_secrets(err);
	size_t begin = out->len;

	fw_buf_put(out, (const char *)&fixed, sizeof fixed);
	for (size_t i = 0; i < FW_INCIDENT_TEXTS; i++) {
		const char **text = fw_store_incident_text(incident, i);
		bool is_error = text == &incident->error;

		if (!*text && !is_error)
			continue;
		fixed.has = (uint16_t)(fixed.has | 1u << i);
		if (is_error)
			put_error(out, err, contract);
		else
			put_text(out, *text, is_of_error(incident, text) && !has_secrets);
	}
	if (out->state != FW_BUF_OK)
		return;
	fixed.len = (uint32_t)(out->len - begin - UNSUMMED);
	memcpy(out->text + begin, &fixed, sizeof fixed);
	fixed.sum = sum_of(out->text + begin + UNSUMMED, fixed.len);
	memcpy(out->text + begin, &fixed, sizeof fixed);
}

/* ---- reading ------------------------------------------------------------------- */

/* The length of the record at `at`; 0: it is not complete. */
static size_t record_at(const char *at, size_t left, struct fixed *ret_fixed)
{
	if (left < sizeof *ret_fixed)
		return 0;
	memcpy(ret_fixed, at, sizeof *ret_fixed);
	if (ret_fixed->len < sizeof *ret_fixed - UNSUMMED || ret_fixed->len > left - UNSUMMED ||
	    sum_of(at + UNSUMMED, ret_fixed->len) != ret_fixed->sum ||
	    at[UNSUMMED + ret_fixed->len - 1])
		return 0;
	return UNSUMMED + ret_fixed->len;
}

uint64_t fw_incident_record_number(const char *bytes, size_t len)
{
	struct fixed fixed;

	if (len < sizeof fixed)
		return 0;
	memcpy(&fixed, bytes, sizeof fixed);
	return fixed.len ? fixed.number : 0;
}

bool fw_incident_record_next(void *ctx, struct fw_incident *ret_incident)
{
	struct fw_incident_records *records = ctx;
	struct fixed fixed = { 0 };
	size_t len = record_at(records->at, records->left, &fixed);
	const char *text = records->at + sizeof fixed;

	if (!len || fixed.number <= records->last)
		return false;
	*ret_incident = (struct fw_incident){
		.time_ms = fixed.time_ms,
		.duration_us = fixed.duration_us,
		.status = fixed.status,
		.is_unauthenticated = fixed.is_unauthenticated != 0,
		.writer = records->writer,
		.number = fixed.number,
	};
	for (size_t i = 0; i < FW_INCIDENT_TEXTS && text < records->at + len; i++) {
		if (!(fixed.has & 1u << i))
			continue;
		*fw_store_incident_text(ret_incident, i) = text;
		text += strlen(text) + 1;
	}
	records->at += len;
	records->left -= len;
	records->last = fixed.number;
	records->count++;
	return true;
}
