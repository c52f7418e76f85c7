/*
 * json_compact.c - see json_compact.h.
 *
 * Errors are nearly always written by programs, so they come in the compact form, and a
 * parser for that form alone needs about a third of the instructions of a general one. It
 * reports no errors: anything unusual, including an early end of the text, is left to
 * yyjson.
 */
#include "base/json_compact.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define CELL(type, size) ((uint64_t)(type) | (uint64_t)(size) << YYJSON_TAG_BIT)

#ifdef __SSE2__
/* A bit for each of sixteen bytes that is not taken as it is. */
static inline unsigned other_bytes(const char *p)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
	__m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));
	/* Moved so that all others than 0x20 to 0x7f are above a bound, with signs. */
	__m128i other = _mm_cmpgt_epi8(_mm_add_epi8(x, _mm_set1_epi8(0x60)),
				       _mm_set1_epi8(-128 + 0x5f));

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(other, _mm_or_si128(quote, slash)));
}

/* Apart, so that the constants are not loaded for the many strings of one lane. */
static __attribute__((noinline)) char *skip_lanes(char *p)
{
	unsigned others;

	while (!(others = other_bytes(p)))
		p += 16;
	return p + __builtin_ctz(others);
}
#endif

/* The next byte of a string that is not taken as it is: a quote, a backslash, a control
 * character (also the NUL after the text), a byte that is not ASCII. */
static inline char *skip_plain(char *p)
{
#ifdef __SSE2__
	unsigned others = other_bytes(p);

	return others ? p + (unsigned)__builtin_ctz(others) : skip_lanes(p + 16);
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

static inline void set_string(yyjson_val *cell, char *from, char *end)
{
	*end = '\0';
	cell->tag = CELL(YYJSON_TYPE_STR | YYJSON_SUBTYPE_NOESC, end - from);
	cell->uni.str = from;
}

/* A string that starts at `from`, with `end` from skip_plain(); returns what follows it. */
static inline char *take_string(char *from, char *end, yyjson_val *cell)
{
	if (*end != '"')
		return *end == '\\' ? take_escaped(from, end, cell) : NULL;
	set_string(cell, from, end);
	return end + 1;
}

/* Whether two characters follow, compared at once. */
static inline bool are_next(const char *p, const char two[2])
{
	uint16_t a, b;

	memcpy(&a, p, sizeof(a));
	memcpy(&b, two, sizeof(b));
	return a == b;
}

/* A key and its colon; returns what follows. NULL: not of the form. */
static inline char *take_key(char *p, yyjson_val *cell)
{
	char *end;

	if (*p != '"')
		return NULL;
	end = skip_plain(p + 1);
	if (are_next(end, "\":")) {
		set_string(cell, p + 1, end);
		return end + 2;
	}
	p = take_string(p + 1, end, cell);
	return p && *p == ':' ? p + 1 : NULL;
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

/* true, false or null. */
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

/* The array or object that the parser is in. */
struct place {
	yyjson_val *open;
	size_t count; /* its values so far */
	char close;   /* what ends it */
};

/*
 * While an array or object is open, `uni.ofs` of its cell is how far back the cell of the
 * one around it is, and the size in its tag is the count; when it ends, they become what
 * yyjson keeps there.
 */
static inline uint64_t tag_of(const struct place *at)
{
	return CELL(at->close == '}' ? YYJSON_TYPE_OBJ : YYJSON_TYPE_ARR, at->count);
}

static inline void enter(struct place *at, yyjson_val *cell, char bracket)
{
	if (at->open)
		at->open->tag = tag_of(at);
	cell->uni.ofs = at->open ? (size_t)(cell - at->open) : 0;
	*at = (struct place){ cell, 0, (char)(bracket + 2) };
}

/* `next` is the cell behind it. */
static inline void leave(struct place *at, yyjson_val *next)
{
	yyjson_val *open = at->open, *around = open - open->uni.ofs;

	open->tag = tag_of(at);
	open->uni.ofs = (size_t)(next - open) * sizeof(*open);
	at->open = around;
	at->count = around->tag >> YYJSON_TAG_BIT;
	at->close = (around->tag & YYJSON_TYPE_MASK) == YYJSON_TYPE_OBJ ? '}' : ']';
}

bool fw_json_compact_read(char *text, size_t len, struct fw_json_compact *json)
{
	yyjson_val *cell = json->cells, *last = cell + json->most - 1;
	struct place at = { NULL, 0, ']' };
	unsigned depth = 0;
	char *p = text, *end, c;

	if (len > UINT32_MAX || (*p != '{' && *p != '[') || json->most < 2)
		return false;
	json->depth = 0;
value:
	/* Room for a key and its value. */
	if (cell >= last)
		return false;
	if (at.close == '}') {
		p = take_key(p, cell++);
		if (!p)
			return false;
	}
	at.count++;
	if (*p == '"') {
		/* Nearly always another value follows. */
		end = skip_plain(p + 1);
		if (are_next(end, "\",")) {
			set_string(cell++, p + 1, end);
			p = end + 2;
			goto value;
		}
		p = take_string(p + 1, end, cell++);
	} else if (*p == '{' || *p == '[') {
		json->spans[cell - json->cells].begin = (uint32_t)(p - text);
		enter(&at, cell++, *p++);
		if (++depth > json->depth)
			json->depth = depth;
		if (*p != at.close)
			goto value;
	} else if (is_digit(*p) || *p == '-') {
		p = take_number(p, cell++);
	} else {
		p = take_word(p, cell++);
	}
	if (!p)
		return false;
	do {
		c = *p;
		*p++ = '\0'; /* terminates a number */
		if (c == ',')
			goto value;
		if (c != at.close)
			return false;
		json->spans[at.open - json->cells].end = (uint32_t)(p - text);
		leave(&at, cell);
	} while (--depth > 0);
	return is_end(p, text + len);
}
