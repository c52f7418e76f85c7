/*
 * error_impl.h - what an fw_error is made of, for core/ and contract/ only.
 *
 * An error is one block: this structure, and behind it room for its texts.
 * Raising one is therefore one allocation, freeing it one release, and
 * annotating it usually neither. Errors that outgrow their room chain further
 * chunks. A wrap does not nest errors: it turns the message into a link of
 * the chain of causes inside the same error, so that all that is known about
 * a failure stays in one place however often it is wrapped.
 */
#ifndef FW_CORE_ERROR_IMPL_H
#define FW_CORE_ERROR_IMPL_H

#include "base/text.h"
#include "core/value.h"

#include <faultwire/error.h>

/* The texts that an error may have beside its message. */
enum fw_slot {
	FW_SLOT_HINT,
	FW_SLOT_DETAIL,
	FW_SLOT_TITLE, /* only where it differs from the row's */
	FW_SLOT_INCIDENT_ID,
	FW_SLOT_TIMESTAMP,
	FW_SLOT_TOOL, /* from here to TRACE_ID: the scope, in fw_scope's order */
	FW_SLOT_OPERATION,
	FW_SLOT_ROLE,
	FW_SLOT_SESSION_ID,
	FW_SLOT_WORKSPACE_ROOT,
	FW_SLOT_PHASE_ID,
	FW_SLOT_PLAN_HASH,
	FW_SLOT_INVARIANT_ID,
	FW_SLOT_CLIENT,
	FW_SLOT_TRACE_ID,
	FW_SLOT_STACK,         /* a trail that came with the error as text */
	FW_SLOT_ORIGINAL_CODE, /* a code that a contract brought and we do not know */
	FW_SLOT_EMPTY_RESULT,  /* compact JSON object */
	FW_SLOT_COUNT
};

enum fw_cause_kind {
	FW_CAUSE_NAMED, /* message, code, name */
	FW_CAUSE_TEXT,  /* message alone */
	FW_CAUSE_JSON,  /* a JSON object, kept as it is; always the last link */
};

struct fw_link {
	struct fw_link *next;
	enum fw_cause_kind kind;
	struct fw_text message; /* JSON: the value */
	struct fw_text code;
	struct fw_text name;
	fw_src at;
};

struct fw_item {
	struct fw_text key;
	fw_field_type type;
	union {
		struct fw_text text;
		int64_t i64;
		uint64_t u64;
		double f64;
		bool boolean;
	} as;
};

struct fw_error {
	const fw_row *row; /* NULL only in the static out-of-memory error */
	struct fw_text message;
	fw_src at;
	double retry_after; /* negative: none */
	int status;
	uint8_t retry;
	uint8_t origin;
	uint8_t delivery;
	uint8_t original_contract;
	bool recoverable;
	bool keep_secrets;
	unsigned cause_count;
	struct fw_link *causes;
	struct fw_link *last_cause;
	struct fw_item *items;
	size_t item_count;
	size_t item_room;
	struct fw_text slots[FW_SLOT_COUNT];
	struct fw_chunk *chunks; /* further memory */
	char *room;              /* free bytes of the newest chunk */
	char *room_end;
};

extern const fw_error fw__out_of_memory;

/*
 * An error of `row` without a message, with at least `room` bytes for texts.
 * Never NULL: the static out-of-memory error where there is no memory.
 */
fw_error *fw__error_new(fw_src at, const fw_row *row, size_t room);

/* The same before the row is known, for readers; it has none until it is set. */
fw_error *fw__error_blank(size_t room);
void fw__error_set_row(fw_error *err, const fw_row *row);

/* A copy in the error's memory; p NULL where there is none left. */
struct fw_text fw__error_copy(fw_error *err, const char *text, size_t len);

/* The same, secrets replaced unless the error keeps them. */
struct fw_text fw__error_copy_safe(fw_error *err, const char *text, size_t len);

/* Bytes from a C caller: made UTF-8, cut to the limit, secrets replaced. */
struct fw_text fw__error_copy_any(fw_error *err, const char *text, size_t len);

/* The text of a JSON value as a new last cause; null is none. */
enum fw_value_fault fw__error_set_cause_value(fw_error *err, yyjson_val *value,
					      struct fw_value_where *ret_where);

/* An object as the empty result, without the members that the envelope adds. */
enum fw_value_fault fw__error_set_empty_value(fw_error *err, yyjson_val *object,
					      struct fw_value_where *ret_where);

/* "first: second", or just `second` where that would be too long. */
struct fw_text fw__error_join(fw_error *err, struct fw_text first, struct fw_text second);

/* A JSON value as compact text, checked and redacted; p NULL on a fault. */
struct fw_text fw__error_copy_value(fw_error *err, yyjson_val *value,
				    enum fw_value_fault *ret_fault,
				    struct fw_value_where *ret_where);

/* At least `size` bytes to write at err->room, which are then kept, with a NUL. */
bool fw__error_room(fw_error *err, size_t size, size_t *ret_room);
struct fw_text fw__error_keep(fw_error *err, size_t len);

/* `size` bytes of the error's memory, aligned for any type; or NULL. */
void *fw__error_take(fw_error *err, size_t size);

/* The message, from bytes that may be anything. */
void fw__error_set_message(fw_error *err, const char *text, size_t len);

/* As fw_error_from_json(), of a value that is already parsed. */
FW_NODISCARD fw_error *fw__error_from_value(fw_src at, yyjson_val *value, bool keep_secrets);

/* A slot from text that we made ourselves: UTF-8, and no secret. */
void fw__error_set_own(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/* Replaces a slot's text; NULL clears it. */
void fw__error_set_slot(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/*
 * A new or replaced field with its key copied, type and value for the caller
 * to fill in; NULL where there is no room, and for the static error.
 */
struct fw_item *fw__error_add_item(fw_error *err, const char *key, size_t len);

/* The same at the end, where the key is new and in the error's memory. */
struct fw_item *fw__error_append_item(fw_error *err, struct fw_text key);

/* A field as a raiser gives it, its key looked up first. */
void fw__error_add_field(fw_error *err, const fw_field *field);

/*
 * fw_error_caused_by(), but `cause` comes before the causes that `err` has: what
 * was the matter first, then why it could not be dealt with.
 */
fw_error *fw__error_in_place_of(fw_error *err, fw_error *cause);

/* A new last cause, zeroed; NULL at the limit, behind JSON, without memory. */
struct fw_link *fw__error_add_link(fw_error *err);

/* Whether setters may touch it: not NULL and not the static error. */
static inline bool fw__error_is_mine(const fw_error *err)
{
	return err && err != &fw__out_of_memory;
}

#endif
