/*
 * error_impl.h - the struct of an fw_error, for core/ and contract/ only.
 *
 * An error is one block: this struct, followed by room for its texts. So raising one
 * is one allocation, freeing it one release, and annotating it usually neither.
 * Errors that need more room chain further chunks. A wrap does not nest errors: it
 * moves the message into the list of causes of the same error, so everything known
 * about a failure is in one place, however often it is wrapped.
 */
#ifndef FW_CORE_ERROR_IMPL_H
#define FW_CORE_ERROR_IMPL_H

#include "base/text.h"
#include "core/error_own.h"
#include "core/value.h"

#include <faultwire/error.h>

enum fw_cause_kind {
	FW_CAUSE_NAMED, /* message, code, name */
	FW_CAUSE_TEXT,  /* message only */
	FW_CAUSE_JSON,  /* a JSON object, kept unchanged; always the last */
};

struct fw_cause_link {
	struct fw_cause_link *next;
	enum fw_cause_kind kind;
	struct fw_text message; /* if JSON: the value */
	struct fw_text code;
	struct fw_text name;
	fw_src at;
};

struct fw_item {
	struct fw_text key;
	fw_field_type type;
	bool has_plain_key;  /* a parameter of a code: nothing in it is escaped */
	bool has_plain_text; /* the same for a value that is a string */
	union {
		struct fw_text text;
		int64_t i64;
		uint64_t u64;
		double f64;
		bool boolean;
	} as;
};

_Static_assert(FW_SLOT_COUNT < 31, "each slot has a bit in fw_error.plain");

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
	struct fw_cause_link *causes;
	struct fw_cause_link *last_cause;
	struct fw_item *items;
	size_t item_count;
	size_t item_room;
	uint32_t plain; /* texts that can be written to JSON as they are: a bit for each
			 * slot, and FW_PLAIN_MESSAGE */
	struct fw_text slots[FW_SLOT_COUNT];
	struct fw_chunk *chunks; /* further memory */
	char *room;              /* free bytes of the newest chunk */
	char *room_end;
};

/* How much room for texts an error has at least. With the struct just under 1 KiB, which
 * malloc serves fastest: for an ordinary message, its fields and its scope. */
enum { FW_ERROR_ROOM_LEAST = 584 };

extern const fw_error fw__out_of_memory;

/* That of FW_DELIVERY_NONE is NULL. */
extern const struct fw_text fw__delivery_names[FW_DELIVERY_COUNT];

/*
 * An error of `row` without a message, with at least `room` bytes for texts. Never
 * NULL: returns the static out-of-memory error if memory runs out.
 */
fw_error *fw__error_new(fw_src at, const fw_row *row, size_t room);

/* The same for readers that do not know the row yet; they set it later. */
fw_error *fw__error_blank(size_t room);
static inline void fw__error_set_row(fw_error *err, const fw_row *row)
{
	err->row = row;
	err->status = row->status;
	err->retry = (uint8_t)row->retry;
	err->origin = (uint8_t)row->origin;
	err->recoverable = row->recoverable;
}

/* Copies into the memory of the error; p is NULL if out of memory. */
struct fw_text fw__error_copy(fw_error *err, const char *text, size_t len);

/* The same, with secrets replaced unless the error keeps them. */
struct fw_text fw__error_copy_safe(fw_error *err, const char *text, size_t len);

/* Copies bytes from a C caller: made valid UTF-8, cut to the limit, secrets
 * replaced. */
struct fw_text fw__error_copy_any(fw_error *err, const char *text, size_t len);

/* The same, and reports whether nothing in the text must be escaped in JSON. */
struct fw_text fw__error_copy_given(fw_error *err, const char *text, size_t len,
				    bool *ret_is_plain);

#define FW_PLAIN_MESSAGE (UINT32_C(1) << 31)

/* Adds a JSON value as the last cause; null adds none. */
enum fw_value_fault fw__error_set_cause_value(fw_error *err, yyjson_val *value,
					      const struct fw_value_source *source,
					      struct fw_value_where *ret_where);

/* Sets an object as the empty result, without the members that the envelope adds. */
enum fw_value_fault fw__error_set_empty_value(fw_error *err, yyjson_val *object,
					      const struct fw_value_source *source,
					      struct fw_value_where *ret_where);

/* "first: second", or only `second` if that would be too long. */
struct fw_text fw__error_join(fw_error *err, struct fw_text first, struct fw_text second);

/* Copies a JSON value as compact text, checked and redacted; p is NULL on failure. */
struct fw_text fw__error_copy_value(fw_error *err, yyjson_val *value,
				    const struct fw_value_source *source,
				    enum fw_value_fault *ret_fault,
				    struct fw_value_where *ret_where);

/* Makes room for at least `size` bytes at err->room. The caller writes a text there
 * and keeps it with fw__error_keep(), which adds the NUL. */
bool fw__error_room(fw_error *err, size_t size, size_t *ret_room);
struct fw_text fw__error_keep(fw_error *err, size_t len);

/* `size` bytes of the error's memory, aligned for any type; NULL if out of memory. */
void *fw__error_take(fw_error *err, size_t size);

/* As fw_error_from_json(), from a parsed value. */
FW_NODISCARD fw_error *fw__error_from_value(fw_src at, yyjson_val *value, bool keep_secrets);

/* Replaces the text of a slot; NULL clears it. */
void fw__error_set_slot(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/*
 * Adds or replaces a field. The key is copied; the caller fills in type and value.
 * NULL if there is no room, and for the static error.
 */
struct fw_item *fw__error_add_item(fw_error *err, const char *key, size_t len);

/* Makes room for `count` more fields, which the caller appends. */
bool fw__error_items_room(fw_error *err, size_t count);

/* Adds a field as given by a caller, replacing one with the same key. */
void fw__error_add_field(fw_error *err, const fw_field *field);

/* Appends a cause, zeroed. NULL at the limit, after a JSON cause, or if out of
 * memory. */
struct fw_cause_link *fw__error_add_link(fw_error *err);

/* May setters change it? Not if it is NULL or the static error. */
static inline bool fw__error_is_mine(const fw_error *err)
{
	return err && err != &fw__out_of_memory;
}

#endif
