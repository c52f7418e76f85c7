/*
 * value.h - a parsed JSON value as compact text, checked on the way.
 *
 * What a peer sends as context or cause is kept as text: it is written out far
 * more often than looked into. The walk that makes the text is the one place
 * where depth and duplicate keys are checked and secrets replaced.
 */
#ifndef FW_CORE_VALUE_H
#define FW_CORE_VALUE_H

#include "base/out.h"

#include <faultwire/error.h>
#include <yyjson.h>

enum fw_value_fault {
	FW_VALUE_OK,
	FW_VALUE_TOO_DEEP,
	FW_VALUE_DUPLICATE_KEY,
	FW_VALUE_NO_MEMORY, /* only for objects of very many keys */
};

/* What to do on the way; all false: check and copy. */
struct fw_value_options {
	bool redact;
	bool sort_keys; /* as Go's encoding/json does with a map */
};

/* Where a fault was found. */
struct fw_value_where {
	char pointer[256]; /* JSON Pointer from the value on; cut with "..." */
};

/*
 * Parse JSON text with numbers as raw text, so that they can be written back as
 * they came. NULL where it is not JSON, or there is no memory; yours to free
 * with yyjson_doc_free(), which takes NULL too.
 */
yyjson_doc *fw_value_parse(const char *text, size_t len);

/*
 * Write `value` (numbers read as raw text or not) compactly. On a fault the
 * text so far is worthless and `ret_where` (may be NULL) tells the place.
 */
enum fw_value_fault fw_value_write(struct fw_out *out, yyjson_val *value,
				   const struct fw_value_options *options,
				   struct fw_value_where *ret_where);

/* Whether a member is a secret: by its key, or by its key and its text together. */
bool fw_value_is_secret_member(yyjson_val *key, yyjson_val *value);

/* Whether the keys of `object` differ, not looking into its values. */
enum fw_value_fault fw_value_check_keys(yyjson_val *object, struct fw_value_where *ret_where);

/* "/" and `name` behind a JSON Pointer, escaped as RFC 6901 says. */
void fw_value_pointer_put(struct fw_out *out, const char *name, size_t len);

/* The error that a fault at `pointer` of `what` is. */
FW_NODISCARD fw_error *fw_value_error(fw_src at, enum fw_value_fault fault, const char *what,
				      const char *pointer);

/* A number that yyjson read in whatever way, as a double; false if it is none. */
bool fw_value_number(yyjson_val *value, double *ret_number);

/* The same from its text; NaN if that is none. */
double fw_value_text_number(const char *text, size_t len);

#endif
