/*
 * out.h - writing JSON into a buffer owned by the caller.
 *
 * Writers return nothing. Bytes that do not fit are counted and not written, so an
 * encoder is straight-line code, and its caller learns the complete length at the
 * end, as from snprintf. Nothing here allocates.
 */
#ifndef FW_BASE_OUT_H
#define FW_BASE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fw_out {
	char *start;
	char *at;
	char *end;      /* one before the last byte, to leave room for the NUL;
			 * moved to `at` by the first cut, so that nothing is
			 * written after it */
	size_t cut;     /* bytes that did not fit */
	bool go_escape; /* also escape < > & U+2028 U+2029 */
};

/* Used if there is no buffer, so that the pointer is never NULL. */
extern char fw_out_nowhere[1];

/* `buf` may be NULL if `cap` is 0: then everything is only counted. */
static inline void fw_out_init(struct fw_out *out, char *buf, size_t cap)
{
	if (!cap)
		buf = fw_out_nowhere;
	out->start = buf;
	out->at = buf;
	out->end = cap ? buf + cap - 1 : buf;
	out->cut = 0;
	out->go_escape = false;
}

/* Writes the NUL, if there is any room, and returns the complete length. */
size_t fw_out_finish(struct fw_out *out, size_t cap);

void fw_out_put_cut(struct fw_out *out, const char *text, size_t len);

static inline void fw_out_put(struct fw_out *out, const char *text, size_t len)
{
	char *at = out->at;

	if (__builtin_expect(len <= (size_t)(out->end - at), 1)) {
		memcpy(at, text, len);
		out->at = at + len;
		return;
	}
	fw_out_put_cut(out, text, len);
}

/* A string literal, unescaped. */
#define FW_OUT(out, literal) fw_out_put(out, "" literal, sizeof(literal) - 1)

static inline void fw_out_str(struct fw_out *out, const char *text)
{
	fw_out_put(out, text, strlen(text));
}

/* Writes a JSON string, quoted and escaped. `text` is UTF-8. */
void fw_out_json(struct fw_out *out, const char *text, size_t len);

/* The same without the quotes. */
void fw_out_json_body(struct fw_out *out, const char *text, size_t len);

/* Copies a text that needs no escapes; `to` has room for it. False: it needs some, and what is
 * at `to` means nothing. */
bool fw_out_copy_plain(char *to, const char *text, size_t len);

/* Whether it is ASCII of which no byte is escaped, so that it can be written as it is. */
bool fw_out_is_plain(const char *text, size_t len);

/* Writes a JSON string inside of another one: its quotes and its text are escaped as part
 * of the other. go_escape does not apply. */
void fw_out_json_inside(struct fw_out *out, const char *text, size_t len);

void fw_out_i64(struct fw_out *out, int64_t value);
void fw_out_u64(struct fw_out *out, uint64_t value);
/* The shortest number that reads back as the same; null for NaN and infinity. */
void fw_out_f64(struct fw_out *out, double value);

static inline void fw_out_bool(struct fw_out *out, bool value)
{
	if (value)
		FW_OUT(out, "true");
	else
		FW_OUT(out, "false");
}

#endif
