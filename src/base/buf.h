/*
 * buf.h - a growing buffer with a size limit and a sticky error state.
 *
 * Writers return nothing. After the first failure later writes do nothing, and the caller
 * checks the state once, at the end. The limit is mandatory: the code that creates a
 * buffer decides how large a peer may make it.
 */
#ifndef FW_BASE_BUF_H
#define FW_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <yyjson.h>

struct fw_out;

enum fw_buf_state {
	FW_BUF_OK,
	FW_BUF_TOO_LARGE,
	FW_BUF_NO_MEMORY,
};

struct fw_buf {
	char *text; /* NUL-terminated after the first write */
	size_t len;
	size_t cap;
	size_t max;
	enum fw_buf_state state;
};

void fw_buf_init(struct fw_buf *buf, size_t max);
/* Frees the memory; the buffer can be used again. */
void fw_buf_clear(struct fw_buf *buf);
/* Empties the buffer, and frees its memory if it is more than `keep` bytes. */
static inline void fw_buf_reset(struct fw_buf *buf, size_t keep)
{
	if (buf->cap > keep)
		fw_buf_clear(buf);
	buf->len = 0;
	buf->state = FW_BUF_OK;
}

/* Exchanges what two buffers hold; each keeps its limit. The caller has checked that the
 * text fits. */
static inline void fw_buf_swap(struct fw_buf *a, struct fw_buf *b)
{
	const struct fw_buf was = *a;
	const size_t max = b->max;

	*a = *b;
	a->max = was.max;
	*b = was;
	b->max = max;
}

/* Makes room for `more` bytes and a NUL; false on failure. */
bool fw_buf_reserve_slow(struct fw_buf *buf, size_t more);

static inline bool fw_buf_reserve(struct fw_buf *buf, size_t more)
{
	if (__builtin_expect(more < buf->cap - buf->len && buf->state == FW_BUF_OK, 1))
		return true;
	return fw_buf_reserve_slow(buf, more);
}

static inline void fw_buf_put(struct fw_buf *buf, const char *text, size_t len)
{
	if (!fw_buf_reserve(buf, len))
		return;
	memcpy(buf->text + buf->len, text, len);
	buf->len += len;
	buf->text[buf->len] = '\0';
}

#define FW_BUF(buf, literal) fw_buf_put(buf, "" literal, sizeof(literal) - 1)

static inline void fw_buf_str(struct fw_buf *buf, const char *text)
{
	fw_buf_put(buf, text, strlen(text));
}

/*
 * For writers of out.h: opens the free room of the buffer, at least `least` bytes. False
 * on failure.
 *
 *	for (bool more = fw_buf_open(buf, least, &out); more; more = fw_buf_close(buf, &out))
 *		write(&out);
 */
bool fw_buf_open(struct fw_buf *buf, size_t least, struct fw_out *ret_out);
/* Adds what was written. True: it did not fit and nothing was added; write all of it
 * again, into more room. */
bool fw_buf_close(struct fw_buf *buf, struct fw_out *out);

/* Writes a JSON string, quoted and escaped. `text` is UTF-8. */
void fw_buf_json(struct fw_buf *buf, const char *text, size_t len);
void fw_buf_json_str(struct fw_buf *buf, const char *text);
/* Begins the next member of an object: a comma if it is not the first, the key, a
 * colon. */
void fw_buf_json_key(struct fw_buf *buf, const char *key);
void fw_buf_i64(struct fw_buf *buf, int64_t value);
void fw_buf_f64(struct fw_buf *buf, double value);
/* Writes a value as compact JSON; raw numbers are unchanged. */
void fw_buf_value(struct fw_buf *buf, yyjson_val *value);

#endif
