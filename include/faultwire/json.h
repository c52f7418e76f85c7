/*
 * json.h - writes a JSON text piece by piece, for the results of tools.
 *
 * Writers return nothing: after the first failure (no memory, too large, a key where
 * none belongs, an end too many) later writes do nothing, and the text is NULL. So a
 * handler writes its result line by line and passes it on:
 *
 *	fw_json *json = fw_json_new();
 *
 *	fw_json_object(json, NULL);
 *	fw_json_i64(json, "id", id);
 *	fw_json_array(json, "tags");
 *	fw_json_string(json, NULL, "new");
 *	fw_json_end(json);
 *	fw_json_end(json);
 *	fw_call_structured_json(call, json);
 *
 * The one rule to remember: members of an object have a key; the root and the elements
 * of an array have NULL.
 */
#ifndef FAULTWIRE_JSON_H
#define FAULTWIRE_JSON_H

#include <faultwire/base.h>

FW_EXTERN_C_BEGIN

typedef struct fw_json fw_json;

/** Never NULL: without memory it is one whose text is NULL. Release it with
 *  fw_json_free(), or pass it to fw_call_structured_json(). One thread at a time. */
FW_API FW_NODISCARD fw_json *fw_json_new(void);
/** NULL is a no-op. */
FW_API void fw_json_free(fw_json *json);

/** Begin an object or an array, which fw_json_end() ends. At most 64 inside each
 *  other. */
FW_API void fw_json_object(fw_json *json, const char *key);
FW_API void fw_json_array(fw_json *json, const char *key);
FW_API void fw_json_end(fw_json *json);

/** `text` is UTF-8; NULL writes null. */
FW_API void fw_json_string(fw_json *json, const char *key, const char *text);
FW_API void fw_json_string_n(fw_json *json, const char *key, const char *text, size_t len);
FW_API void fw_json_i64(fw_json *json, const char *key, int64_t value);
FW_API void fw_json_u64(fw_json *json, const char *key, uint64_t value);
/** NaN and infinity, which JSON does not have, write null. */
FW_API void fw_json_f64(fw_json *json, const char *key, double value);
FW_API void fw_json_bool(fw_json *json, const char *key, bool value);
FW_API void fw_json_null(fw_json *json, const char *key);
/** One complete JSON value; it is not checked here. */
FW_API void fw_json_raw(fw_json *json, const char *key, const char *value, size_t len);

/** The text, borrowed until the next write; NULL: it is not complete, or a write has
 *  failed. `ret_len` may be NULL. */
FW_API const char *fw_json_text(const fw_json *json, size_t *ret_len);

FW_EXTERN_C_END

#endif
