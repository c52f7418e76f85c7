/*
 * contract_impl.h - shared by the contracts. Each contract has a file that writes and
 * reads it.
 */
#ifndef FW_CONTRACT_CONTRACT_IMPL_H
#define FW_CONTRACT_CONTRACT_IMPL_H

#include "base/json_compact.h"
#include "base/out.h"
#include "core/error_impl.h"
#include "core/redact.h"
#include "core/registry.h"
#include "core/registry_table.h"

#include <faultwire/contract.h>
#include <yyjson.h>

/* ---- writing (encode.c) ---- */

typedef void fw_encode_fn(struct fw_out *out, const fw_error *err,
			  const fw_encode_options *options);

fw_encode_fn fw_canonical_encode, fw_kaiza_encode, fw_context_v0_encode, fw_codeintel_encode,
	fw_toolerror_encode, fw_owlclaw_encode, fw_owlclaw_api_encode;

static inline void fw_write_text(struct fw_out *out, struct fw_text text)
{
	fw_out_json(out, text.p, text.n);
}

/* Writes a text of our own, which needs no escaping. */
static inline void fw_write_plain(struct fw_out *out, struct fw_text text)
{
	fw_out_put(out, text.p, text.n);
}

/* A JSON string of a text of which nothing must be escaped. */
static inline void fw_write_quoted(struct fw_out *out, struct fw_text text)
{
	FW_OUT(out, "\"");
	fw_out_put(out, text.p, text.n);
	FW_OUT(out, "\"");
}

static inline void fw_write_message(struct fw_out *out, const fw_error *err)
{
	if (err->plain & FW_PLAIN_MESSAGE && !out->go_escape)
		fw_write_quoted(out, err->message);
	else
		fw_write_text(out, err->message);
}

static inline void fw_write_slot(struct fw_out *out, const fw_error *err, enum fw_slot slot)
{
	if (err->plain >> slot & 1)
		fw_write_quoted(out, err->slots[slot]);
	else
		fw_write_text(out, err->slots[slot]);
}

/* The title of the error, or else that of `row`, which fwgen has checked if it is a built-in
 * one. */
static inline void fw_write_title(struct fw_out *out, const fw_error *err, const fw_row *row)
{
	const struct fw_text title = { row->title, row->title_len };

	if (err->slots[FW_SLOT_TITLE].p)
		fw_write_text(out, err->slots[FW_SLOT_TITLE]);
	else if (fw__row_text_of(row))
		fw_write_quoted(out, title);
	else
		fw_write_text(out, title);
}

static inline void fw_write_slot_or_null(struct fw_out *out, const fw_error *err,
					 enum fw_slot slot)
{
	if (err->slots[slot].p)
		fw_write_slot(out, err, slot);
	else
		FW_OUT(out, "null");
}

static inline void fw_write_text_or_null(struct fw_out *out, struct fw_text text)
{
	if (text.p)
		fw_out_json(out, text.p, text.n);
	else
		FW_OUT(out, "null");
}

/*
 * The delay to show in the context: that of the error, or, if it has none and `taken`
 * says that a reader would use it as the delay, that of a field of this name.
 * Negative: none.
 */
double fw_write_delay(const fw_error *err, bool taken);

/*
 * Writes ,"key":{context}, or nothing if there is no context; `opening` is written
 * unchanged. A delay >= 0 comes last and replaces a field of that name.
 */
void fw_write_context(struct fw_out *out, struct fw_text opening, const fw_error *err,
		      double delay);
#define FW_WRITE_CONTEXT(out, opening, err, delay)                                            \
	do {                                                                                  \
		double delay_ = (delay);                                                      \
		if ((err)->item_count || delay_ >= 0)                                         \
			fw_write_context(out,                                                 \
					 (struct fw_text){ "" opening, sizeof(opening) - 1 }, \
					 err, delay_);                                        \
	} while (0)
void fw_write_item(struct fw_out *out, const struct fw_item *item);
bool fw_write_shows(const struct fw_item *item, double delay);

/* The HTTP status to show: that of the error if it is 400 to 599. */
int fw_write_status(const fw_error *err);

/* The code of the error in `contract`: the original one, or that of the row. */
struct fw_text fw_write_code(const fw_error *err, fw_contract contract);

/* The incident id, or the text for "none assigned". */
struct fw_text fw_write_incident(const fw_error *err);
extern const struct fw_text fw_write_no_incident;

/* ---- reading (read.c) ---- */

struct fw_reading {
	fw_contract contract;
	const fw_registry *registry;
	bool keep_secrets;
	bool opened;               /* taken from an MCP message; do not look inside again */
	fw_contract *ret_contract; /* where the caller wants to know it; NULL: nowhere */
	const struct fw_value_source *source; /* NULL: parsed by yyjson */
	/* The error being read. The text was parsed in its memory, so all strings
	 * are already in place. */
	fw_error *target;
};

typedef fw_error *fw_decode_fn(const struct fw_reading *reading, yyjson_val *root);

fw_decode_fn fw_canonical_decode, fw_kaiza_decode, fw_context_v0_decode, fw_codeintel_decode,
	fw_toolerror_decode, fw_owlclaw_decode, fw_owlclaw_api_decode;

/* Is it the string form of toolerror, "[TYPE] message"? */
bool fw_toolerror_is_string_form(const char *text, size_t len);
fw_error *fw_toolerror_decode_string(const struct fw_reading *reading, const char *text,
				     size_t len);

/* Parses with numbers as raw text. Raises what fw_error_decode() raises. */
FW_NODISCARD fw_error *fw_read_parse(char *text, size_t len, yyjson_read_flag flags,
				     const yyjson_alc *alc, yyjson_doc **ret_doc);

/* The types of a value that a member may have: a bit for each of yyjson's types. */
enum fw_kind {
	FW_KIND_STRING = 1 << YYJSON_TYPE_STR,
	FW_KIND_NULL = 1 << YYJSON_TYPE_NULL,
	FW_KIND_OBJECT = 1 << YYJSON_TYPE_OBJ,
	FW_KIND_BOOL = 1 << YYJSON_TYPE_BOOL,
	FW_KIND_NUMBER = 1 << YYJSON_TYPE_RAW | 1 << YYJSON_TYPE_NUM,
	FW_KIND_ANY = 0xff,
};

/* A member that a reader asks for. */
struct fw_member {
	char name[FW_JSON_COMPACT_PADDING]; /* with zeros behind, to compare it at once */
	size_t len;
	uint32_t behind; /* a bit for each byte after the name */
	uint32_t kinds;  /* of enum fw_kind */
};

#define FW_MEMBER(name, kinds)                                              \
	{                                                                   \
		name, sizeof(name) - 1, -1U << (sizeof(name) - 1), (kinds), \
	}

/* Those of an object, one to 32. */
struct fw_members {
	const struct fw_member *list;
	unsigned count;
	uint32_t required; /* a bit for each that must be there */
};

#define FW_MEMBERS(list, required)                                  \
	{                                                           \
		list, sizeof(list) / sizeof((list)[0]), (required), \
	}

/*
 * Finds the members of `object`, which is at `pointer`. `ret_values` has the order of
 * `members`; NULL if missing. Other members are ignored. Raises contract.malformed
 * for a missing, repeated or mistyped member, and for a string with a NUL, which C
 * code would cut. Keys have FW_JSON_COMPACT_PADDING readable bytes.
 */
FW_NODISCARD fw_error *fw_read_members(const struct fw_reading *reading, const char *pointer,
				       yyjson_val *object, const struct fw_members *members,
				       yyjson_val **ret_values);

/* The object of {"error":{...}}; as fw_read_members(). */
FW_NODISCARD fw_error *fw_read_error_member(const struct fw_reading *reading, yyjson_val *root,
					    yyjson_val **ret_object);

/* The error for a fault in a kept value at `pointer` (+ "/" + `key`). */
FW_NODISCARD fw_error *fw_read_fault(const struct fw_reading *reading,
				     enum fw_value_fault fault, const char *pointer,
				     const char *key, const struct fw_value_where *where);

/* The error for a fault at `pointer` + "/" + `name` (NULL: at `pointer`). */
FW_NODISCARD fw_error *fw_read_malformed(const struct fw_reading *reading, const char *pointer,
					 const char *name, const char *reason);

/* Makes the target an error of `row` with `message` (NULL: the title of the row).
 * Returns it, borrowed. */
fw_error *fw_read_start(const struct fw_reading *reading, const fw_row *row,
			yyjson_val *message);

/*
 * Lowers the retry class to the least retryable one of all rows that share the code by
 * which the row of `err` was found in the contract.
 */
void fw_read_lower_retry(const struct fw_reading *reading, fw_error *err);

/* A text of the error with its secrets replaced. */
struct fw_text fw_read_safe(fw_error *err, struct fw_text text);

/*
 * A string value as a text of the error. It was parsed in the error's memory, so it
 * is in place and NUL-terminated.
 */
static inline struct fw_text fw_read_text(fw_error *err, yyjson_val *value)
{
	struct fw_text text = { unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value) };

	return err->keep_secrets || text.n < FW_REDACT_LEAST ? text : fw_read_safe(err, text);
}

/* Sets a slot from a string value; NULL and JSON null leave it unchanged. */
static inline void fw_read_slot(fw_error *err, enum fw_slot slot, yyjson_val *value)
{
	if (yyjson_is_str(value))
		err->slots[slot] = fw_read_text(err, value);
}

/* The same, but ignores the placeholder that our encoders write if a contract
 * requires a value that the error does not have. */
void fw_read_slot_but(fw_error *err, enum fw_slot slot, yyjson_val *value,
		      struct fw_text filler);

/* Refuses an invalid timestamp. */
FW_NODISCARD fw_error *fw_read_check_time(const struct fw_reading *reading, yyjson_val *value);

/* Reads the context from an object; NULL leaves it unchanged. With `take_delay` the
 * member `retry_after` is the delay. */
FW_NODISCARD fw_error *fw_read_context(const struct fw_reading *reading, const char *pointer,
				       fw_error *err, yyjson_val *object, bool take_delay);

/* Reads the cause from any value; NULL and JSON null leave it unchanged. */
FW_NODISCARD fw_error *fw_read_cause(const struct fw_reading *reading, const char *pointer,
				     fw_error *err, yyjson_val *value);

/* Reads the empty result from an object; NULL leaves it unchanged. */
FW_NODISCARD fw_error *fw_read_empty_result(const struct fw_reading *reading,
					    const char *pointer, fw_error *err,
					    yyjson_val *object);

/* Reads a delay in seconds; anything but a number >= 0 is ignored. */
void fw_read_retry_after(fw_error *err, yyjson_val *value);

/* retryable: true means backoff; false means what the row says, but not backoff. */
void fw_read_retryable(fw_error *err, yyjson_val *value);

/* Reads an HTTP status; values outside 400..599 are ignored. */
void fw_read_status(fw_error *err, yyjson_val *value);

/*
 * The row of `code` in a contract with open codes. For an unregistered code, a
 * general row of the `category` (NULL: internal); the caller keeps the code with
 * fw_read_original().
 */
const fw_row *fw_read_open_row(const struct fw_reading *reading, fw_contract contract,
			       yyjson_val *code, const char *category, bool *ret_known);
void fw_read_original(fw_error *err, fw_contract contract, yyjson_val *code);

/* Is it domain.reason in lower case, which can be written without escaping? */
bool fw_read_is_code(const char *code);

/*
 * The error inside an MCP message (carrier.c): a JSON-RPC response, or the result of
 * a tool. An object, or a string with arbitrary text; NULL if `root` is not such a
 * message.
 */
yyjson_val *fw_carrier_open(yyjson_val *root);

/* Detects the contract of a parsed value (sniff.c). */
fw_contract fw_sniff_value(yyjson_val *root);

/* The HTTP status that codeintel defines for a code, or 0. */
int fw_codeintel_status(const char *code);

#endif
