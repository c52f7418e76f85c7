/*
 * out.c - see out.h.
 *
 * An encoder spends most of its time escaping, although almost no byte needs it. So
 * sixteen bytes at a time are copied first and then tested, and the copy is cut at
 * the first byte that must be escaped.
 */
#include "base/out.h"

#include "base/real.h"

#include <math.h>
#include <yyjson.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

char fw_out_nowhere[1];

size_t fw_out_finish(struct fw_out *out, size_t cap)
{
	if (cap)
		*out->at = '\0';
	return (size_t)(out->at - out->start) + out->cut;
}

void fw_out_put_cut(struct fw_out *out, const char *text, size_t len)
{
	size_t room = (size_t)(out->end - out->at);

	if (room) {
		memcpy(out->at, text, room);
		out->at += room;
	}
	out->cut += len - room;
	out->end = out->at;
}

/* 0: unchanged; 'u': \u00xx; 1: escaped in Go mode only; else the letter after the
 * backslash. */
static const char escape_of[256] = {
	['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
	['\t'] = 't', [0x00] = 'u',  [0x01] = 'u', [0x02] = 'u', [0x03] = 'u', [0x04] = 'u',
	[0x05] = 'u', [0x06] = 'u',  [0x07] = 'u', [0x0b] = 'u', [0x0e] = 'u', [0x0f] = 'u',
	[0x10] = 'u', [0x11] = 'u',  [0x12] = 'u', [0x13] = 'u', [0x14] = 'u', [0x15] = 'u',
	[0x16] = 'u', [0x17] = 'u',  [0x18] = 'u', [0x19] = 'u', [0x1a] = 'u', [0x1b] = 'u',
	[0x1c] = 'u', [0x1d] = 'u',  [0x1e] = 'u', [0x1f] = 'u', ['<'] = 1,    ['>'] = 1,
	['&'] = 1,    [0xe2] = 1,
};

static void put_unicode(struct fw_out *out, unsigned code)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\',
			 'u',
			 hex[code >> 12 & 15],
			 hex[code >> 8 & 15],
			 hex[code >> 4 & 15],
			 hex[code & 15] };

	fw_out_put(out, text, sizeof(text));
}

/* Writes the character at `text`, escaped; returns its length in bytes. */
static size_t put_escaped(struct fw_out *out, const char *text, size_t len)
{
	unsigned char byte = (unsigned char)*text;
	char pair[2] = { '\\', escape_of[byte] };

	if (pair[1] == 'u') {
		put_unicode(out, byte);
		return 1;
	}
	if (pair[1] == 1) {
		if (byte != 0xe2) {
			put_unicode(out, byte);
			return 1;
		}
		if (len >= 3 && (unsigned char)text[1] == 0x80 &&
		    ((unsigned char)text[2] & 0xfe) == 0xa8) {
			put_unicode(out, 0x2028u + ((unsigned char)text[2] & 1));
			return 3;
		}
		fw_out_put(out, text, 1);
		return 1;
	}
	fw_out_put(out, pair, sizeof(pair));
	return 1;
}

static inline bool is_plain(const struct fw_out *out, unsigned char byte)
{
	char escape = escape_of[byte];

	return escape == 0 || (escape == 1 && !out->go_escape);
}

/* Length of the prefix of `text` that needs no escape, tested byte by byte. */
static size_t plain_run(const struct fw_out *out, const char *text, size_t len)
{
	size_t run = 0;

	while (run < len && is_plain(out, (unsigned char)text[run]))
		run++;
	return run;
}

#ifdef __SSE2__
/* Bit i is set if byte i of `chunk` must be escaped in plain JSON. */
static inline unsigned escape_mask(__m128i chunk)
{
	const __m128i control = _mm_set1_epi8(0x1f);
	__m128i found = _mm_cmpeq_epi8(_mm_min_epu8(chunk, control), chunk);

	found = _mm_or_si128(found, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"')));
	found = _mm_or_si128(found, _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\')));
	return (unsigned)_mm_movemask_epi8(found);
}

/* Must any of eight bytes be escaped? The usual bit tricks for a zero byte, or one
 * less than a constant, in a word. */
static inline bool needs_escape(uint64_t word)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
	uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';

	return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
		((slash - ones) & ~slash)) &
	       tops;
}

/*
 * Copies the prefix of `text` that needs no escape. The last part of a text whose
 * length is not a multiple of sixteen is read and written twice, overlapping, rather
 * than byte by byte, because most texts in an error are that short.
 */
__attribute__((always_inline)) static inline size_t copy_plain(char *to, const char *text,
							       size_t len)
{
	size_t done = 0;

	if (len >= 16) {
		for (; len - done >= 16; done += 16) {
			__m128i chunk =
				_mm_loadu_si128((const __m128i *)(const void *)(text + done));
			unsigned mask = escape_mask(chunk);

			_mm_storeu_si128((__m128i *)(void *)(to + done), chunk);
			if (mask)
				return done + (unsigned)__builtin_ctz(mask);
		}
		if (done < len) {
			size_t back = len - 16;
			__m128i chunk =
				_mm_loadu_si128((const __m128i *)(const void *)(text + back));
			unsigned mask = escape_mask(chunk);

			_mm_storeu_si128((__m128i *)(void *)(to + back), chunk);
			if (mask)
				return back + (unsigned)__builtin_ctz(mask);
		}
		return len;
	}
	if (len >= 8) {
		__m128i low = _mm_loadl_epi64((const __m128i *)(const void *)text);
		__m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(text + len - 8));
		unsigned mask = escape_mask(_mm_unpacklo_epi64(low, high));

		_mm_storel_epi64((__m128i *)(void *)to, low);
		_mm_storel_epi64((__m128i *)(void *)(to + len - 8), high);
		if (!mask)
			return len;
		if (mask & 0xff)
			return (unsigned)__builtin_ctz(mask);
		return len - 8 + (unsigned)__builtin_ctz(mask >> 8);
	}
	if (len >= 4) {
		uint32_t low, high;

		memcpy(&low, text, 4);
		memcpy(&high, text + len - 4, 4);
		if (!needs_escape((uint64_t)high << 32 | low)) {
			memcpy(to, &low, 4);
			memcpy(to + len - 4, &high, 4);
			return len;
		}
	}
	for (; done < len; done++) {
		if (escape_of[(unsigned char)text[done]] > 1)
			break;
		to[done] = text[done];
	}
	return done;
}
#else
static inline size_t copy_plain(char *to, const char *text, size_t len)
{
	size_t done = 0;

	for (; done < len; done++) {
		char escape = escape_of[(unsigned char)text[done]];

		if (escape && escape != 1)
			break;
		to[done] = text[done];
	}
	return done;
}
#endif

#ifdef __SSE2__
/* The most that one byte becomes, and what a store of sixteen bytes may write beyond. */
enum { ESCAPED_MAX = 6, LANE = 16 };

/* Writes the escape of `byte` in plain JSON; returns the end. */
static inline char *write_escape(char *to, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";

	to[0] = '\\';
	to[1] = escape_of[byte];
	if (escape_of[byte] != 'u')
		return to + 2;
	to[2] = '0';
	to[3] = '0';
	to[4] = hex[byte >> 4];
	to[5] = hex[byte & 15];
	return to + ESCAPED_MAX;
}

/* Writes the first `count` bytes of `text`, at most sixteen, escaped; returns the end.
 * Reads up to 32 bytes, and writes up to sixteen beyond the end. */
static inline char *write_lane(char *to, const char *text, size_t count)
{
	__m128i lane = _mm_loadu_si128((const __m128i *)(const void *)text);
	unsigned mask = escape_mask(lane) & ((2u << (count - 1)) - 1);
	size_t done = 0;

	_mm_storeu_si128((__m128i *)(void *)to, lane);
	for (; mask; mask &= mask - 1) {
		size_t at = (size_t)__builtin_ctz(mask);

		to = write_escape(to + (at - done), (unsigned char)text[at]);
		done = at + 1;
		lane = _mm_loadu_si128((const __m128i *)(const void *)(text + done));
		_mm_storeu_si128((__m128i *)(void *)to, lane);
	}
	return to + (count - done);
}

/*
 * Writes a text of which many bytes must be escaped, such as JSON inside JSON, as far
 * as there is room for sure. Returns how many bytes of it were written.
 */
static size_t escape_lanes(struct fw_out *out, const char *text, size_t len)
{
	const size_t margin = (size_t)LANE * ESCAPED_MAX + LANE;
	char *to = out->at;
	size_t done = 0;

	for (; len - done >= 2 * LANE && (size_t)(out->end - to) >= margin; done += LANE)
		to = write_lane(to, text + done, LANE);
	/* The last bytes are copied, because a lane reads beyond them. */
	if (len - done < 2 * LANE && (size_t)(out->end - to) >= 2 * margin) {
		char last[3 * LANE] = { 0 };

		memcpy(last, text + done, len - done);
		for (size_t at = 0; done < len; at += LANE) {
			size_t count = len - done < LANE ? len - done : LANE;

			to = write_lane(to, last + at, count);
			done += count;
		}
	}
	out->at = to;
	return done;
}
#else
static size_t escape_lanes(struct fw_out *out, const char *text, size_t len)
{
	(void)out;
	(void)text;
	(void)len;
	return 0;
}
#endif

bool fw_out_copy_plain(char *to, const char *text, size_t len)
{
	return copy_plain(to, text, len) == len;
}

/* As far as there is room, and then counting. */
static void escape_bytes(struct fw_out *out, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t run = plain_run(out, text + done, len - done);

		fw_out_put(out, text + done, run);
		done += run;
		if (done < len)
			done += put_escaped(out, text + done, len - done);
	}
}

void fw_out_json_body(struct fw_out *out, const char *text, size_t len)
{
	size_t done = 0;

	if (!out->go_escape && len <= (size_t)(out->end - out->at)) {
		done = copy_plain(out->at, text, len);
		out->at += done;
		if (done < len)
			done += escape_lanes(out, text + done, len - done);
	}
	if (done < len)
		escape_bytes(out, text + done, len - done);
}

#ifdef __SSE2__
/* Bytes other than plain ASCII are negative, or below a space, or one of two. */
static inline __m128i not_plain_bytes(__m128i x)
{
	__m128i found = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));

	found = _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
	return _mm_or_si128(found, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
}

static inline __m128i not_plain(const char *text)
{
	return not_plain_bytes(_mm_loadu_si128((const __m128i *)(const void *)text));
}
#endif

bool fw_out_is_plain(const char *text, size_t len)
{
	size_t at = 0;

#ifdef __SSE2__
	if (len >= LANE) {
		/* The last lane overlaps the one before. */
		__m128i found = not_plain(text + len - LANE);

		for (; len - at > LANE; at += LANE)
			found = _mm_or_si128(found, not_plain(text + at));
		return _mm_movemask_epi8(found) == 0;
	}
	if (len >= LANE / 2) {
		__m128i first = _mm_loadl_epi64((const __m128i *)(const void *)text);
		__m128i last =
			_mm_loadl_epi64((const __m128i *)(const void *)(text + len - LANE / 2));

		return _mm_movemask_epi8(not_plain_bytes(_mm_unpacklo_epi64(first, last))) == 0;
	}
#endif
	for (; at < len; at++)
		if ((unsigned char)text[at] >= 0x80 || escape_of[(unsigned char)text[at]] > 1)
			return false;
	return true;
}

/* Writes a byte that must be escaped, and escapes that again. */
static void put_escaped_twice(struct fw_out *out, char byte)
{
	char once[8];
	struct fw_out to;

	fw_out_init(&to, once, sizeof(once));
	(void)put_escaped(&to, &byte, 1);
	for (const char *at = once; at < to.at; at++) {
		if (*at == '\\' || *at == '"')
			FW_OUT(out, "\\");
		fw_out_put(out, at, 1);
	}
}

void fw_out_json_inside(struct fw_out *out, const char *text, size_t len)
{
	size_t done = 0;

	FW_OUT(out, "\\\"");
	for (;;) {
		size_t left = len - done, run;

		if (left <= (size_t)(out->end - out->at)) {
			run = copy_plain(out->at, text + done, left);
			out->at += run;
		} else {
			run = plain_run(out, text + done, left);
			fw_out_put(out, text + done, run);
		}
		done += run;
		if (done == len)
			break;
		put_escaped_twice(out, text[done++]);
	}
	FW_OUT(out, "\\\"");
}

/* The rest of a text of which `text` is the first byte that must be escaped. */
__attribute__((noinline)) static void finish_json(struct fw_out *out, const char *text,
						  size_t len)
{
	size_t done = 0;

	if (!out->go_escape && len <= (size_t)(out->end - out->at))
		done = escape_lanes(out, text, len);
	if (done < len)
		escape_bytes(out, text + done, len - done);
	FW_OUT(out, "\"");
}

void fw_out_json(struct fw_out *out, const char *text, size_t len)
{
	char *at = out->at;
	size_t room = (size_t)(out->end - at);

	/* Nearly always there is room, and nothing to escape. */
	if (len < room && room - len >= 2 && !out->go_escape) {
		size_t plain;

		*at = '"';
		plain = copy_plain(at + 1, text, len);
		if (plain == len) {
			at[len + 1] = '"';
			out->at = at + len + 2;
			return;
		}
		out->at = at + 1 + plain;
		finish_json(out, text + plain, len - plain);
		return;
	}
	FW_OUT(out, "\"");
	finish_json(out, text, len);
}

__attribute__((noinline)) static void put_long_number(struct fw_out *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	fw_out_put(out, digits + at, sizeof(digits) - at);
}

void fw_out_u64(struct fw_out *out, uint64_t value)
{
	char *to = out->at;
	unsigned small;

	/* Line numbers and HTTP statuses have few digits. */
	if (value >= 1000 || out->end - to < 3) {
		put_long_number(out, value);
		return;
	}
	small = (unsigned)value;
	if (small >= 100)
		*to++ = (char)('0' + small / 100);
	if (small >= 10)
		*to++ = (char)('0' + small / 10 % 10);
	*to++ = (char)('0' + small % 10);
	out->at = to;
}

void fw_out_i64(struct fw_out *out, int64_t value)
{
	uint64_t magnitude = (uint64_t)value;

	if (value < 0) {
		FW_OUT(out, "-");
		magnitude = 0 - magnitude;
	}
	fw_out_u64(out, magnitude);
}

void fw_out_f64(struct fw_out *out, double value)
{
	char room[512];
	yyjson_alc pool;
	yyjson_mut_val number;
	const char *text;
	size_t len;

	if (!isfinite(value)) {
		FW_OUT(out, "null");
		return;
	}
	/* Integers are written without a fraction: 30, not 30.0. */
	if (fw_real_is_whole(value) && fabs(value) < 9007199254740992.0 &&
	    !(value == 0 && signbit(value))) {
		fw_out_i64(out, (int64_t)value);
		return;
	}
	/* yyjson writes the shortest form; printf depends on the locale. */
	memset(&number, 0, sizeof(number));
	unsafe_yyjson_set_real(&number, value);
	yyjson_alc_pool_init(&pool, room, sizeof(room));
	text = yyjson_mut_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &pool, &len, NULL);
	if (text)
		fw_out_put(out, text, len);
	else
		FW_OUT(out, "null");
}
