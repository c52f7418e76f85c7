/*
 * pending.h - requests that wait for an answer, as the fuzzers that judge answers see them:
 * their ids, read in the way in which the core reads them.
 */
#ifndef FW_FUZZ_PENDING_H
#define FW_FUZZ_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <yyjson.h>

#include "base/limits.h"

struct pending {
	char id[FW_LIMIT_ID_BYTES];
	size_t len;
	bool is_text;
	bool is_optional; /* cancelled, or its session has ended */
	bool in_batch;
};

/* The core takes the last of several members of one name. */
static inline yyjson_val *last_member(yyjson_val *object, const char *name)
{
	yyjson_val *found = NULL, *key, *value;
	size_t i, n;

	yyjson_obj_foreach(object, i, n, key, value)
	{
		if (yyjson_equals_str(key, name))
			found = value;
	}
	return found;
}

static inline const char *id_bytes(yyjson_val *id)
{
	return yyjson_is_raw(id) ? yyjson_get_raw(id) : yyjson_get_str(id);
}

/* Does the answer carry this id? Escaping may make a text too long. */
static inline bool is_readable(yyjson_val *id)
{
	size_t len = yyjson_get_len(id);

	if (yyjson_is_raw(id))
		return len <= FW_LIMIT_ID_BYTES && !strpbrk(yyjson_get_raw(id), ".eE");
	if (!yyjson_is_str(id) || len + 2 > FW_LIMIT_ID_BYTES)
		return false;
	for (size_t i = 0; i < yyjson_get_len(id); i++) {
		unsigned char c = (unsigned char)yyjson_get_str(id)[i];

		if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
			len += 5;
	}
	return len + 2 <= FW_LIMIT_ID_BYTES;
}

static inline struct pending pending_of(yyjson_val *id, bool in_batch)
{
	struct pending one = { .len = yyjson_get_len(id),
			       .is_text = yyjson_is_str(id),
			       .in_batch = in_batch };

	memcpy(one.id, id_bytes(id), one.len);
	return one;
}

static inline bool is_for(const struct pending *one, yyjson_val *id)
{
	return one->is_text == yyjson_is_str(id) && one->len == yyjson_get_len(id) &&
	       memcmp(one->id, id_bytes(id), one->len) == 0;
}

#endif
