/*
 * buf.c - see buf.h. JSON is written by fw_out, the only place that escapes: into the
 * free room, and if that was too small, again after growing.
 */
#include "base/buf.h"

#include "base/mem.h"
#include "base/out.h"

enum { SMALLEST = 256, NUMBER_ROOM = 48 };

void fw_buf_init(struct fw_buf *buf, size_t max)
{
	*buf = (struct fw_buf){ .max = max };
}

void fw_buf_clear(struct fw_buf *buf)
{
	fw__release(buf->text);
	fw_buf_init(buf, buf->max);
}

bool fw_buf_reserve_slow(struct fw_buf *buf, size_t more)
{
	size_t cap = buf->cap ? buf->cap : SMALLEST;
	char *text;

	if (buf->state != FW_BUF_OK)
		return false;
	if (more < buf->cap - buf->len)
		return true;
	if (buf->len > buf->max || more > buf->max - buf->len) {
		buf->state = FW_BUF_TOO_LARGE;
		return false;
	}
	while (cap - buf->len <= more)
		cap *= 2;
	/* Allocate at most the limit and a NUL, so that all the capacity may be
	 * used. */
	if (cap > buf->max + 1)
		cap = buf->max + 1;
	text = fw__reallocate(buf->text, cap);
	if (!text) {
		buf->state = FW_BUF_NO_MEMORY;
		return false;
	}
	buf->text = text;
	buf->cap = cap;
	return true;
}

bool fw_buf_open(struct fw_buf *buf, size_t least, struct fw_out *ret_out)
{
	if (!fw_buf_reserve(buf, least))
		return false;
	fw_out_init(ret_out, buf->text + buf->len, buf->cap - buf->len);
	return true;
}

bool fw_buf_close(struct fw_buf *buf, struct fw_out *out)
{
	size_t whole = fw_out_finish(out, buf->cap - buf->len);

	if (!out->cut) {
		buf->len += whole;
		return false;
	}
	return fw_buf_open(buf, whole, out);
}

void fw_buf_json(struct fw_buf *buf, const char *text, size_t len)
{
	struct fw_out out;

	for (bool more = fw_buf_open(buf, len + 2, &out); more; more = fw_buf_close(buf, &out))
		fw_out_json(&out, text, len);
}

void fw_buf_json_str(struct fw_buf *buf, const char *text)
{
	fw_buf_json(buf, text, strlen(text));
}

void fw_buf_json_key(struct fw_buf *buf, const char *key)
{
	if (buf->len && buf->text[buf->len - 1] != '{')
		FW_BUF(buf, ",");
	fw_buf_json_str(buf, key);
	FW_BUF(buf, ":");
}

void fw_buf_i64(struct fw_buf *buf, int64_t value)
{
	struct fw_out out;

	if (!fw_buf_reserve(buf, NUMBER_ROOM))
		return;
	fw_out_init(&out, buf->text + buf->len, NUMBER_ROOM);
	fw_out_i64(&out, value);
	buf->len += fw_out_finish(&out, NUMBER_ROOM);
}

void fw_buf_f64(struct fw_buf *buf, double value)
{
	struct fw_out out;

	if (!fw_buf_reserve(buf, NUMBER_ROOM))
		return;
	fw_out_init(&out, buf->text + buf->len, NUMBER_ROOM);
	fw_out_f64(&out, value);
	buf->len += fw_out_finish(&out, NUMBER_ROOM);
}

void fw_buf_value(struct fw_buf *buf, yyjson_val *value)
{
	size_t len;
	char *text;

	/* Strings and raw numbers (ids, tokens) are written without an allocation. */
	if (yyjson_is_str(value)) {
		fw_buf_json(buf, yyjson_get_str(value), yyjson_get_len(value));
		return;
	}
	if (yyjson_is_raw(value)) {
		fw_buf_put(buf, yyjson_get_raw(value), yyjson_get_len(value));
		return;
	}
	if (buf->state != FW_BUF_OK)
		return;
	text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &fw__yyjson_alc, &len, NULL);
	if (!text) {
		buf->state = FW_BUF_NO_MEMORY;
		return;
	}
	fw_buf_put(buf, text, len);
	fw__release(text);
}
