/*
 * json_compact.c - see json_compact.h.
 *
 * Errors are nearly always written by programs, so they come in the compact form, and a
 * parser for that form alone needs about a third of the instructions of a general one. It
 * knows no error: whatever is unusual, also an end of the text, is left to yyjson.
 */
#include "base/json_compact.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CELL(type, size) ((uint64_t)(type) | (uint64_t)(size) << YYJSON_TAG_BIT)

/* The next byte of a string that is not taken as it is: a quote, a backslash, a control
 * character (also the NUL behind the text), a byte that is not ASCII. */
static inline char *skip_plain(char *p)
{
#ifdef __SSE2__
	for (;; p += 16) {
		__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
		/* Signed: bytes from 0x80 on are negative. */
		__m128i other = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));
		__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
		__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
		unsigned mask = (unsigned)_mm_movemask_epi8(
			_mm_or_si128(other, _mm_or_si128(quote, slash)));

		if (mask)
			return p + __builtin_ctz(mask);
	}
#else
	while ((signed char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p;
#endif
}

/* The character that an escape stands for; 0: not an escape of one character. */
static char unescaped(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/': return c;
	case 'b': return '\b';
	case 'f': return '\f';
	case 'n': return '\n';
	case 'r': return '\r';
	case 't': return '\t';
	default: return 0;
	}
}

/* A string with an escape at `p`; `from` is its first byte. NULL: not of the form. */
static char *take_escaped(char *from, char *p, yyjson_val *cell)
{
	char *to = p;

	while (*p == '\\') {
		char *end;

		*to = unescaped(p[1]);
		if (!*to++)
			return NULL;
		p += 2;
		end = skip_plain(p);
		memmove(to, p, (size_t)(end - p));
		to += end - p;
		p = end;
	}
	if (*p != '"')
		return NULL;
	*to = '\0';
	cell->tag = CELL(YYJSON_TYPE_STR, to - from);
	cell->uni.str = from;
	return p + 1;
}

/* The string behind the quote at `p`; returns what follows it. */
static inline char *take_string(char *p, yyjson_val *cell)
{
	char *from = p + 1, *end = skip_plain(from);

	if (*end != '"')
		return *end == '\\' ? take_escaped(from, end, cell) : NULL;
	*end = '\0';
	cell->tag = CELL(YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC, end - from);
	cell->uni.str = from;
	return end + 1;
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static inline char *skip_digits(char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

/* A number, kept as text; the caller terminates it. */
static char *take_number(char *p, yyjson_val *cell)
{
	char *from = p;

	p += *p == '-';
	if (!is_digit(*p))
		return NULL;
	p = *p == '0' ? p + 1 : skip_digits(p);
	if (*p == '.') {
		if (!is_digit(p[1]))
			return NULL;
		p = skip_digits(p + 1);
	}
	if (*p == 'e' || *p == 'E') {
		p += p[1] == '+' || p[1] == '-' ? 2 : 1;
		if (!is_digit(*p))
			return NULL;
		p = skip_digits(p);
	}
	cell->tag = CELL(YYJSON_TYPE_RAW, p - from);
	cell->uni.str = from;
	return p;
}

static char *take_word(char *p, yyjson_val *cell)
{
	cell->uni.u64 = 0;
	if (memcmp(p, "true", 4) == 0) {
		cell->tag = YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE;
		return p + 4;
	}
	if (memcmp(p, "null", 4) == 0) {
		cell->tag = YYJSON_TYPE_NULL;
		return p + 4;
	}
	if (memcmp(p, "false", 5) == 0) {
		cell->tag = YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE;
		return p + 5;
	}
	return NULL;
}

/* White space at the end of the text is not unusual: a line has a newline. */
static bool is_end(const char *p, const char *end)
{
	while (p < end && (*p == '\n' || *p == '\r' || *p == ' ' || *p == '\t'))
		p++;
	return p == end;
}

/* Anything but an array or object. */
static inline char *take_scalar(char *p, yyjson_val *cell)
{
	switch (*p) {
	case '"': return take_string(p, cell);
	case 't':
	case 'f':
	case 'n': return take_word(p, cell);
	default: return take_number(p, cell);
	}
}

/* The array or object that the parser is in. */
struct place {
	yyjson_val *open;
	size_t count; /* its values so far, and its keys */
	bool is_object;
	unsigned depth;
};

/*
 * While an array or object is open, `uni.ofs` of its cell is how far back the cell of the
 * one around it is, and the size in its tag is the count; when it ends, they become what
 * yyjson keeps there.
 */
static inline void enter(struct place *at, yyjson_val *cell, bool is_object)
{
	if (at->open)
		at->open->tag =
			CELL(at->is_object ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR, at->count);
	cell->uni.ofs = at->open ? (size_t)(cell - at->open) : 0;
	*at = (struct place){ cell, 0, is_object, at->depth + 1 };
}

/* `next` is the cell behind it. False: that was the root. */
static inline bool leave(struct place *at, yyjson_val *next)
{
	yyjson_val *open = at->open, *around = open - open->uni.ofs;

	open->tag = at->is_object ? CELL(YYJSON_TYPE_OBJ, at->count / 2)
				  : CELL(YYJSON_TYPE_ARR, at->count);
	open->uni.ofs = (size_t)(next - open) * sizeof(*open);
	if (--at->depth == 0)
		return false;
	at->open = around;
	at->count = around->tag >> YYJSON_TAG_BIT;
	at->is_object = (around->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_OBJ;
	return true;
}

bool fw_json_compact_read(char *text, size_t len, struct fw_json_compact *json)
{
	yyjson_val *cell = json->cells, *last = cell + json->most;
	struct place at = { NULL, 0, false, 0 };
	char *p = text;

	if (len > UINT32_MAX || (*p != '{' && *p != '['))
		return false;
	json->depth = 0;
value:
	if (cell == last)
		return false;
	at.count++;
	if (*p == '{' || *p == '[') {
		json->spans[cell - json->cells].begin = (uint32_t)(p - text);
		enter(&at, cell++, *p++ == '{');
		if (at.depth > json->depth)
			json->depth = at.depth;
		if (*p == (at.is_object ? '}' : ']'))
			goto end;
	} else {
		p = take_scalar(p, cell++);
		if (!p)
			return false;
next:
		if (*p != ',') {
			if (*p != (at.is_object ? '}' : ']'))
				return false;
			goto end;
		}
		*p++ = '\0'; /* terminates a number */
	}
	if (!at.is_object)
		goto value;
	if (cell == last || *p != '"')
		return false;
	p = take_string(p, cell++);
	if (!p || *p++ != ':')
		return false;
	at.count++;
	goto value;
end:
	*p++ = '\0';
	json->spans[at.open - json->cells].end = (uint32_t)(p - text);
	if (leave(&at, cell))
		goto next;
	return is_end(p, text + len);
}
