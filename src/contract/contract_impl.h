/*
 * contract_impl.h - what the contracts share: one file per contract writes and
 * reads, and these are the pieces that all of them are written with.
 */
#ifndef FW_CONTRACT_CONTRACT_IMPL_H
#define FW_CONTRACT_CONTRACT_IMPL_H

#include "base/out.h"
#include "core/error_impl.h"
#include "core/registry.h"

#include <faultwire/contract.h>
#include <yyjson.h>

/* ---- writing (write.c) -------------------------------------------------- */

typedef void fw_encode_fn(struct fw_out *out, const fw_error *err,
			  const fw_encode_options *options);

fw_encode_fn fw_canonical_encode, fw_kaiza_encode, fw_context_v0_encode, fw_codeintel_encode,
	fw_toolerror_encode, fw_owlclaw_encode, fw_owlclaw_api_encode;

static inline void fw_write_text(struct fw_out *out, struct fw_text text)
{
	fw_out_json(out, text.p, text.n);
}

/* A text of ours, which needs no escaping. */
static inline void fw_write_plain(struct fw_out *out, struct fw_text text)
{
	fw_out_put(out, text.p, text.n);
}

static inline void fw_write_text_or_null(struct fw_out *out, struct fw_text text)
{
	if (text.p)
		fw_out_json(out, text.p, text.n);
	else
		FW_OUT(out, "null");
}

/*
 * The delay to show among the context: the error's, or where it has none and
 * `taken` says that a reader would take it for that, a field of that name.
 * Negative: none.
 */
double fw_write_delay(const fw_error *err, bool taken);

/*
 * ,"key":{context} unless there is none; `opening` is put as it is. A delay >= 0
 * stands at the end, in the place of any field of that name.
 */
void fw_write_context(struct fw_out *out, struct fw_text opening, const fw_error *err,
		      double delay);
#define FW_WRITE_CONTEXT(out, opening, err, delay) \
	fw_write_context(out, (struct fw_text){ "" opening, sizeof(opening) - 1 }, err, delay)
void fw_write_item(struct fw_out *out, const struct fw_item *item);
bool fw_write_shows(const struct fw_item *item, double delay);

/* The HTTP status to show: the error's, where it is one of a failure. */
int fw_write_status(const fw_error *err);

/* The error's own code in `contract`: what it came with, else the row's. */
struct fw_text fw_write_code(const fw_error *err, fw_contract contract);

/* The incident, or the text that says that none was assigned. */
struct fw_text fw_write_incident(const fw_error *err);
extern const struct fw_text fw_write_no_incident;

/* ---- reading (read.c) --------------------------------------------------- */

struct fw_reading {
	fw_contract contract;
	const fw_registry *registry;
	bool keep_secrets;
	bool opened; /* it came out of a carrier, and is not looked into again */
	/* What is being read; the text was parsed in its memory, so that all its
	 * strings are already where they have to be. */
	fw_error *target;
};

typedef fw_error *fw_decode_fn(const struct fw_reading *reading, yyjson_val *root);

fw_decode_fn fw_canonical_decode, fw_kaiza_decode, fw_context_v0_decode, fw_codeintel_decode,
	fw_toolerror_decode, fw_owlclaw_decode, fw_owlclaw_api_decode;

/* The string form of toolerror, "[TYPE] message"; false if it is not that. */
bool fw_toolerror_is_string_form(const char *text, size_t len);
fw_error *fw_toolerror_decode_string(const struct fw_reading *reading, const char *text,
				     size_t len);

/* Parse, numbers as raw text. Raises what fw_error_decode() does. */
FW_NODISCARD fw_error *fw_read_parse(char *text, size_t len, yyjson_read_flag flags,
				     const yyjson_alc *alc, yyjson_doc **ret_doc);

enum fw_kind {
	FW_KIND_STRING = 1,
	FW_KIND_NULL = 2,
	FW_KIND_OBJECT = 4,
	FW_KIND_BOOL = 8,
	FW_KIND_NUMBER = 16,
	FW_KIND_ANY = 64,
};

/* One member that a reader asks for. */
struct fw_member {
	const char *name;
	unsigned len;
	unsigned kinds; /* of enum fw_kind */
	bool required;
};

#define FW_MEMBER(name, kinds, required)                   \
	{                                                  \
		name, sizeof(name) - 1, (kinds), required, \
	}

/*
 * Find the members of `object` (a value that stands at `pointer`): each value
 * or NULL in `ret_values`, in the order of `members`. Others are passed over.
 * Raises contract.malformed for a missing, repeated or mistyped one, and for a
 * string with a NUL in it, which C code behind us would cut.
 */
FW_NODISCARD fw_error *fw_read_members(const struct fw_reading *reading, const char *pointer,
				       yyjson_val *object, const struct fw_member *members,
				       size_t count, yyjson_val **ret_values);

/* The error of a fault in a kept value, which stands at `pointer` (+ "/" + `key`). */
FW_NODISCARD fw_error *fw_read_fault(const struct fw_reading *reading,
				     enum fw_value_fault fault, const char *pointer,
				     const char *key, const struct fw_value_where *where);

/* A fault at `pointer` + "/" + `name` (NULL: at `pointer`). */
FW_NODISCARD fw_error *fw_read_malformed(const struct fw_reading *reading, const char *pointer,
					 const char *name, const char *reason);

/* The target becomes an error of `row` with `message` (NULL: the row's title).
 * Returns it, borrowed. */
fw_error *fw_read_start(const struct fw_reading *reading, const fw_row *row,
			yyjson_val *message);

/* Slot from a string value; NULL and JSON null leave it as it is. */
void fw_read_slot(fw_error *err, enum fw_slot slot, yyjson_val *value);

/* The same, passing over what our own encoders write where a contract demands
 * what an error does not know: read as a fact it would become one. */
void fw_read_slot_but(fw_error *err, enum fw_slot slot, yyjson_val *value,
		      struct fw_text filler);

/* Refuses a timestamp that is none. */
FW_NODISCARD fw_error *fw_read_check_time(const struct fw_reading *reading, yyjson_val *value);

/* Context from an object; NULL leaves it. `retry_after` among it is the delay
 * where `take_delay` says so. */
FW_NODISCARD fw_error *fw_read_context(const struct fw_reading *reading, const char *pointer,
				       fw_error *err, yyjson_val *object, bool take_delay);

/* The cause from any value; NULL and JSON null leave it. */
FW_NODISCARD fw_error *fw_read_cause(const struct fw_reading *reading, const char *pointer,
				     fw_error *err, yyjson_val *value);

/* The empty result from an object; NULL leaves it. */
FW_NODISCARD fw_error *fw_read_empty_result(const struct fw_reading *reading,
					    const char *pointer, fw_error *err,
					    yyjson_val *object);

/* A delay in seconds; other than a number >= 0 is passed over. */
void fw_read_retry_after(fw_error *err, yyjson_val *value);

/* retryable: true is backoff; false is what the row says, but not backoff. */
void fw_read_retryable(fw_error *err, yyjson_val *value);

/* An HTTP status; others than 400..599 are passed over. */
void fw_read_status(fw_error *err, yyjson_val *value);

/*
 * The row of `code` in a contract whose codes are open; for a code that is not
 * registered a general row of the `category` (NULL: internal), and the code
 * itself is to be kept with fw_read_original().
 */
const fw_row *fw_read_open_row(const struct fw_reading *reading, const char *code,
			       const char *category, bool *ret_known);
void fw_read_original(const struct fw_reading *reading, fw_error *err, yyjson_val *code);

/* domain.reason in lower case, which may be written back without escaping. */
bool fw_read_is_code(const char *code);

/*
 * The error inside an MCP message (carrier.c): a JSON-RPC response, or the result
 * of a tool. An object, or a string with text of any kind; NULL where `root` is
 * no such message.
 */
yyjson_val *fw_carrier_open(yyjson_val *root);

/* The parsed value's contract (sniff.c). */
fw_contract fw_sniff_value(yyjson_val *root);

/* The HTTP status that codeintel's contract fixes for a code, or 0. */
int fw_codeintel_status(const char *code);

#endif
