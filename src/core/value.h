/*
 * value.h - a parsed JSON value as compact text.
 *
 * JSON from a peer (context, cause) is kept as text, because it is written far more
 * often than inspected. Depth, duplicate keys and secrets are checked in one place,
 * while the text is written.
 */
#ifndef FW_CORE_VALUE_H
#define FW_CORE_VALUE_H

#include "base/json_compact.h"
#include "base/out.h"
#include "base/text.h"

#include <faultwire/error.h>
#include <yyjson.h>

enum fw_value_fault {
	FW_VALUE_OK,
	FW_VALUE_TOO_DEEP,
	FW_VALUE_DUPLICATE_KEY,
	FW_VALUE_NO_MEMORY, /* only for objects with very many keys */
};

/* Options; all false: check and copy. */
struct fw_value_options {
	bool redact;
	bool sort_keys; /* as Go's encoding/json does with a map */
};

/* Where a fault was found. */
struct fw_value_where {
	char pointer[256]; /* JSON Pointer relative to the value; cut with "..." */
};

/*
 * Parses JSON text with numbers as raw text, so that they can be written back
 * unchanged. NULL if it is not JSON or memory runs out. Free with yyjson_doc_free(),
 * which accepts NULL.
 */
yyjson_doc *fw_value_parse(const char *text, size_t len);

/*
 * Writes `value` as compact text; numbers may have been read raw or not. On a fault
 * the text is incomplete and `ret_where` (may be NULL) is the location.
 */
enum fw_value_fault fw_value_write(struct fw_out *out, yyjson_val *value,
				   const struct fw_value_options *options,
				   struct fw_value_where *ret_where);

/* The text that values were parsed from by fw_json_compact_read(). */
struct fw_value_source {
	const char *text;
	const char *copy; /* which was parsed, and so modified */
	const struct fw_json_compact *json;
};

/*
 * Part of the text that is what fw_value_write() would write, so that it can be copied
 * instead: of an array or object; of the first `count` members of an object, without its
 * braces. False: it has to be written. `source` may be NULL.
 */
bool fw_value_slice(const struct fw_value_source *source, yyjson_val *value, bool redact,
		    struct fw_text *ret_text);
bool fw_value_slice_members(const struct fw_value_source *source, yyjson_val *object,
			    size_t count, bool redact, struct fw_text *ret_text);

/*
 * Whether `text` is an array or object that fw_value_write() would write as it is. False:
 * it may be, or may not be JSON. Texts up to FW_VALUE_SMALL bytes are looked at.
 */
enum { FW_VALUE_SMALL = 1024 };
bool fw_value_is_written(const char *text, size_t len, bool redact);

/* A bit for the length and the ends of a key: keys with different bits differ. */
static inline uint64_t fw_value_key_bit(yyjson_val *key)
{
	size_t len = unsafe_yyjson_get_len(key);
	const unsigned char *name = (const unsigned char *)unsafe_yyjson_get_str(key);

	return UINT64_C(1) << ((len * 11 + name[0] + 5u * name[len ? len - 1 : 0]) & 63);
}

/* Whether a member is a secret: by its key, or by its key and its text together. */
bool fw_value_is_secret_member(yyjson_val *key, yyjson_val *value);

/* Whether the keys of `object` differ, not looking into its values. */
enum fw_value_fault fw_value_check_keys(yyjson_val *object, struct fw_value_where *ret_where);

/* Appends "/" and `name` to a JSON Pointer, escaped as in RFC 6901. */
void fw_value_pointer_put(struct fw_out *out, const char *name, size_t len);

/* The error for a fault at `pointer` of `what`. */
FW_NODISCARD fw_error *fw_value_error(fw_src at, enum fw_value_fault fault, const char *what,
				      const char *pointer);

/* The value of a number, read in any mode, as a double; false if it is not a
 * number. */
bool fw_value_number(yyjson_val *value, double *ret_number);

/* The same from its text; NaN if it is not a number. */
double fw_value_text_number(const char *text, size_t len);

#endif
