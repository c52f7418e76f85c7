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

/* A text without escapes, which most are. */
static bool put_plain(struct fw_buf *buf, const char *text, size_t len)
{
	char *to;

	if (!fw_buf_reserve(buf, len + 2))
		return false;
	to = buf->text + buf->len;
	if (!fw_out_copy_plain(to + 1, text, len))
		return false;
	to[0] = '"';
	to[len + 1] = '"';
	to[len + 2] = '\0';
	buf->len += len + 2;
	return true;
}

void fw_buf_json(struct fw_buf *buf, const char *text, size_t len)
{
	struct fw_out out;

	if (put_plain(buf, text, len))
		return;
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

static bool put_value(struct fw_buf *buf, yyjson_val *value, int depth);

static bool put_container(struct fw_buf *buf, yyjson_val *value, int depth)
{
	const bool is_object = yyjson_is_obj(value);
	size_t left = yyjson_get_len(value);
	yyjson_val *item = unsafe_yyjson_get_first(value);

	fw_buf_put(buf, is_object ? "{" : "[", 1);
	for (size_t i = 0; i < left; i++) {
		if (i)
			FW_BUF(buf, ",");
		if (is_object) {
			fw_buf_json(buf, yyjson_get_str(item), yyjson_get_len(item));
			FW_BUF(buf, ":");
			item++;
		}
		if (!put_value(buf, item, depth - 1))
			return false;
		item = unsafe_yyjson_get_next(item);
	}
	fw_buf_put(buf, is_object ? "}" : "]", 1);
	return true;
}

/* False: it is nested deeper than `depth`, or has a number that was converted. */
static bool put_value(struct fw_buf *buf, yyjson_val *value, int depth)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_STR:
		fw_buf_json(buf, yyjson_get_str(value), yyjson_get_len(value));
		return true;
	case YYJSON_TYPE_RAW:
		fw_buf_put(buf, yyjson_get_raw(value), yyjson_get_len(value));
		return true;
	case YYJSON_TYPE_NULL: FW_BUF(buf, "null"); return true;
	case YYJSON_TYPE_BOOL:
		fw_buf_str(buf, yyjson_get_bool(value) ? "true" : "false");
		return true;
	case YYJSON_TYPE_ARR:
	case YYJSON_TYPE_OBJ: return depth > 0 && put_container(buf, value, depth);
	default: return false;
	}
}

/* Messages of peers keep their numbers as text, so most values are written without an
 * allocation; yyjson's own writer, which makes a copy, writes the rest. */
void fw_buf_value(struct fw_buf *buf, yyjson_val *value)
{
	enum { DEPTH = 32 };
	const size_t start = buf->len;
	size_t len;
	char *text;

	if (put_value(buf, value, DEPTH) || buf->state != FW_BUF_OK)
		return;
	buf->len = start;
	text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &fw__yyjson_alc, &len, NULL);
	if (!text) {
		buf->state = FW_BUF_NO_MEMORY;
		return;
	}
	fw_buf_put(buf, text, len);
	fw__release(text);
}
