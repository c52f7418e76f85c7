/*
 * json.h - reading JSON with limits.
 *
 * The one rule to remember: this is the only way to parse JSON (test/checks/banned). The
 * caller decides how large and how deep the text may be.
 */
#ifndef FW_BASE_JSON_H
#define FW_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <yyjson.h>

struct fw_json_limits {
	size_t bytes;
	unsigned depth; /* of nesting; 0: the caller checks it, or never recurses */
};

/* For small texts of our own: state, journals, payloads. */
#define FW_JSON_SMALL                             \
	(struct fw_json_limits)                   \
	{                                         \
		.bytes = 1024 * 1024, .depth = 16 \
	}

/*
 * Parses a text. NULL if it is not JSON, exceeds a limit, or memory is exhausted;
 * `ret_err` may be NULL. `alc` NULL is the allocator of base/mem.h. The text is only
 * modified with YYJSON_READ_INSITU.
 */
yyjson_doc *fw_json_read(const char *text, size_t len, struct fw_json_limits limits,
			 yyjson_read_flag flags, const yyjson_alc *alc,
			 yyjson_read_err *ret_err);

/* Whether arrays and objects are nested deeper than `most`. The text need not be valid. */
bool fw_json_is_too_deep(const char *text, size_t len, size_t most);

/* NULL: there is no such member, or `object` is NULL or not an object. */
static inline yyjson_val *fw_json_member(yyjson_val *object, const char *name)
{
	/* With a literal, the length is a constant. */
	return object ? yyjson_obj_getn(object, name, strlen(name)) : NULL;
}

/* `value` if it is an object, else an empty one: for yyjson_obj_foreach(), which does
 * arithmetic on its pointer even if that is NULL. */
yyjson_val *fw_json_or_empty(yyjson_val *value);

#endif
