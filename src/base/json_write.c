/*
 * json_write.c - see <faultwire/json.h>.
 *
 * What is open is a bit per level, so a builder is one block and its text. The static
 * builder stands for one that there was no memory for: nothing is written to it, so
 * threads may share it.
 */
#include "base/json_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

enum { DEPTH_MOST = 64 };

struct fw_json {
	struct fw_buf out;
	uint64_t arrays; /* a bit per level: it is an array, not an object */
	unsigned depth;
	bool has_items; /* the innermost level has a value already */
	bool is_broken;
};

static struct fw_json no_memory = { .is_broken = true };

fw_json *fw_json_new(void)
{
	fw_json *json = fw__allocate(sizeof *json);

	if (!json)
		return &no_memory;
	memset(json, 0, sizeof *json);
	fw_buf_init(&json->out, FW_LIMIT_JSON_WRITE_BYTES);
	return json;
}

void fw_json_free(fw_json *json)
{
	if (!json || json == &no_memory)
		return;
	fw_buf_clear(&json->out);
	fw__release(json);
}

static bool is_in_array(const fw_json *json)
{
	return json->arrays >> (json->depth - 1) & 1;
}

/* Writes comma and key of the next value. False: there may be no value here. */
static bool begin(fw_json *json, const char *key)
{
	bool wants_key;

	if (!json || json->is_broken)
		return false;
	wants_key = json->depth && !is_in_array(json);
	if (wants_key != (key != NULL) || (!json->depth && json->out.len)) {
		json->is_broken = true;
		return false;
	}
	if (json->has_items)
		FW_BUF(&json->out, ",");
	json->has_items = true;
	if (key) {
		fw_buf_json_str(&json->out, key);
		FW_BUF(&json->out, ":");
	}
	return true;
}

static void open_level(fw_json *json, const char *key, bool is_array)
{
	if (!begin(json, key))
		return;
	if (json->depth == DEPTH_MOST) {
		json->is_broken = true;
		return;
	}
	fw_buf_str(&json->out, is_array ? "[" : "{");
	json->arrays &= ~(UINT64_C(1) << json->depth);
	json->arrays |= (uint64_t)is_array << json->depth;
	json->depth++;
	json->has_items = false;
}

void fw_json_object(fw_json *json, const char *key)
{
	open_level(json, key, false);
}

void fw_json_array(fw_json *json, const char *key)
{
	open_level(json, key, true);
}

void fw_json_end(fw_json *json)
{
	if (!json || json->is_broken)
		return;
	if (!json->depth) {
		json->is_broken = true;
		return;
	}
	fw_buf_str(&json->out, is_in_array(json) ? "]" : "}");
	json->depth--;
	json->has_items = true;
}

void fw_json_raw(fw_json *json, const char *key, const char *value, size_t len)
{
	if (begin(json, key))
		fw_buf_put(&json->out, value, len);
}

void fw_json_null(fw_json *json, const char *key)
{
	fw_json_raw(json, key, "null", 4);
}

void fw_json_string_n(fw_json *json, const char *key, const char *text, size_t len)
{
	if (!text)
		fw_json_null(json, key);
	else if (begin(json, key))
		fw_buf_json(&json->out, text, len);
}

void fw_json_string(fw_json *json, const char *key, const char *text)
{
	fw_json_string_n(json, key, text, text ? strlen(text) : 0);
}

void fw_json_i64(fw_json *json, const char *key, int64_t value)
{
	if (begin(json, key))
		fw_buf_i64(&json->out, value);
}

void fw_json_u64(fw_json *json, const char *key, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%llu", (unsigned long long)value);

	fw_json_raw(json, key, text, (size_t)len);
}

void fw_json_f64(fw_json *json, const char *key, double value)
{
	if (!isfinite(value))
		fw_json_null(json, key);
	else if (begin(json, key))
		fw_buf_f64(&json->out, value);
}

void fw_json_bool(fw_json *json, const char *key, bool value)
{
	fw_json_raw(json, key, value ? "true" : "false", value ? 4 : 5);
}

const char *fw_json_text(const fw_json *json, size_t *ret_len)
{
	if (!json || json->is_broken || json->depth || !json->out.len ||
	    json->out.state != FW_BUF_OK)
		return NULL;
	if (ret_len)
		*ret_len = json->out.len;
	return json->out.text;
}

enum fw_buf_state fw_json__state(const fw_json *json)
{
	return json == &no_memory ? FW_BUF_NO_MEMORY : json ? json->out.state : FW_BUF_OK;
}
