/*
 * scan.c - see scan.h.
 *
 * One pass. Values that are not needed are skipped by a loop with a stack of bits (object
 * or array), so nesting costs no memory and no recursion. Strings, which large results
 * consist of, are skipped sixteen bytes at a time. UTF-8 is checked afterwards, and only
 * if a byte beyond ASCII was seen.
 */
#include "rpc/scan.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/utf8.h"
#include "rpc/scan_block.h"

enum { DEPTH_MOST = 1024 };

struct scanner {
	const char *at;
	const char *end;
	const char *start;
	size_t depth_left;
	bool has_high; /* a byte beyond ASCII */
	enum fw_scan_status status;
};

static bool fail(struct scanner *s, enum fw_scan_status status)
{
	if (s->status == FW_SCAN_OK)
		s->status = status;
	return false;
}

/* At the end of the text a value is cut; elsewhere it is not JSON. */
static bool unexpected(struct scanner *s)
{
	return fail(s, s->at >= s->end ? FW_SCAN_CUT : FW_SCAN_NOT_JSON);
}

static inline void skip_blanks(struct scanner *s)
{
	while (s->at < s->end && *s->at <= ' ' &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool take(struct scanner *s, char wanted)
{
	if (s->at >= s->end || *s->at != wanted)
		return unexpected(s);
	s->at++;
	return true;
}

/* ---- scalars --------------------------------------------------------------- */

/* After a backslash and "u". A surrogate counts only with its other half: text of it
 * could not be written as UTF-8. */
static bool skip_unicode(struct scanner *s)
{
	int unit = fw_slice__hex4(s->at, s->end);

	if (unit < 0) {
		while (s->at < s->end && fw_hex_value(*s->at) >= 0)
			s->at++;
		return unexpected(s);
	}
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return fail(s, FW_SCAN_NOT_JSON);
	s->at += 4;
	if (unit < 0xd800 || unit > 0xdbff)
		return true;
	if (!take(s, '\\') || !take(s, 'u'))
		return false;
	unit = fw_slice__hex4(s->at, s->end);
	if (unit < 0xdc00 || unit > 0xdfff) {
		if (s->end - s->at < 4)
			s->at = s->end;
		return unexpected(s);
	}
	s->at += 4;
	return true;
}

static bool skip_escape(struct scanner *s)
{
	s->at++;
	if (s->at >= s->end)
		return unexpected(s);
	if (*s->at == 'u') {
		s->at++;
		return skip_unicode(s);
	}
	if (!*s->at || !strchr("\"\\/bfnrt", *s->at))
		return unexpected(s);
	s->at++;
	return true;
}

#ifdef __SSE2__
/* Quotes, backslashes and control characters. */
static inline __m128i special(__m128i bytes)
{
	/* The smaller of a byte and 0x1f is the byte itself for a control. */
	__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);

	return _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
					 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
			    control);
}
#endif

/* Moves to the next quote, backslash or control character, or to the end. */
static void skip_plain(struct scanner *s)
{
#ifdef __SSE2__
	__m128i high = _mm_setzero_si128();

	while (s->end - s->at >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)s->at);
		int mask = _mm_movemask_epi8(special(bytes));

		if (mask) {
			int count = __builtin_ctz((unsigned)mask);

			if (_mm_movemask_epi8(bytes) & ((1 << count) - 1))
				s->has_high = true;
			s->at += count;
			break;
		}
		high = _mm_or_si128(high, bytes);
		s->at += 16;
	}
	if (_mm_movemask_epi8(high))
		s->has_high = true;
#endif
	while (s->at < s->end && *s->at != '"' && *s->at != '\\' &&
	       (unsigned char)*s->at >= 0x20) {
		if ((unsigned char)*s->at >= 0x80)
			s->has_high = true;
		s->at++;
	}
}

/* A string that ends within sixteen bytes, as most names do, from its first character on. */
static inline bool skip_short_string(struct scanner *s)
{
#ifdef __SSE2__
	__m128i bytes;
	unsigned ends;

	if (s->end - s->at < 16)
		return false;
	bytes = _mm_loadu_si128((const __m128i *)(const void *)s->at);
	ends = (unsigned)_mm_movemask_epi8(special(bytes));
	if (!ends || s->at[__builtin_ctz(ends)] != '"')
		return false;
	/* Bytes before the quote. */
	if ((unsigned)_mm_movemask_epi8(bytes) & (ends - 1) & ~ends)
		s->has_high = true;
	s->at += __builtin_ctz(ends) + 1;
	return true;
#else
	(void)s;
	return false;
#endif
}

static bool skip_long_string(struct scanner *s)
{
	for (;;) {
		skip_plain(s);
		if (s->at >= s->end)
			return unexpected(s);
		if (*s->at == '"') {
			s->at++;
			return true;
		}
		if (*s->at != '\\')
			return fail(s, FW_SCAN_NOT_JSON);
		if (!skip_escape(s))
			return false;
	}
}

static inline bool skip_string(struct scanner *s)
{
	s->at++;
	return skip_short_string(s) || skip_long_string(s);
}

static bool is_digit(const struct scanner *s)
{
	return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool skip_digits(struct scanner *s)
{
	if (!is_digit(s))
		return unexpected(s);
	while (is_digit(s))
		s->at++;
	return true;
}

static bool skip_number(struct scanner *s)
{
	if (*s->at == '-')
		s->at++;
	if (s->at < s->end && *s->at == '0')
		s->at++;
	else if (!skip_digits(s))
		return false;
	if (s->at < s->end && *s->at == '.') {
		s->at++;
		if (!skip_digits(s))
			return false;
	}
	if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
		s->at++;
		if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
			s->at++;
		if (!skip_digits(s))
			return false;
	}
	return true;
}

static bool skip_word(struct scanner *s, const char *word)
{
	while (*word) {
		if (!take(s, *word))
			return false;
		word++;
	}
	return true;
}

static bool skip_scalar(struct scanner *s)
{
	if (s->at >= s->end)
		return unexpected(s);
	switch (*s->at) {
	case '"': return skip_string(s);
	case 't': return skip_word(s, "true");
	case 'f': return skip_word(s, "false");
	case 'n': return skip_word(s, "null");
	default: break;
	}
	if (*s->at == '-' || is_digit(s))
		return skip_number(s);
	return unexpected(s);
}

/* ---- values ---------------------------------------------------------------- */

static inline bool read_key(struct scanner *s, struct fw_slice *ret_key)
{
	const char *start;

	skip_blanks(s);
	start = s->at;
	if (s->at >= s->end || *s->at != '"')
		return unexpected(s);
	if (!skip_string(s))
		return false;
	*ret_key = (struct fw_slice){ start, (size_t)(s->at - start) };
	skip_blanks(s);
	return take(s, ':');
}

static bool skip_key(struct scanner *s)
{
	struct fw_slice key;

	return read_key(s, &key);
}

/* Which of the open containers are objects, a bit each. */
struct stack {
	uint64_t bits[DEPTH_MOST / 64];
	size_t depth;
};

static bool push(struct scanner *s, struct stack *stack, bool is_object)
{
	uint64_t bit = UINT64_C(1) << (stack->depth % 64);
	uint64_t *word;

	if (stack->depth >= s->depth_left)
		return fail(s, FW_SCAN_TOO_DEEP);
	word = &stack->bits[stack->depth / 64];
	/* The first bit of a word clears the others. */
	if (bit == 1)
		*word = 0;
	*word = is_object ? *word | bit : *word & ~bit;
	stack->depth++;
	s->at++;
	return true;
}

static bool in_object(const struct stack *stack)
{
	size_t top = stack->depth - 1;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): see push() */
	return stack->bits[top / 64] >> (top % 64) & 1;
}

/* Opens the containers that begin here, up to the first scalar or empty container. */
static bool descend(struct scanner *s, struct stack *stack)
{
	for (;;) {
		bool is_object;

		skip_blanks(s);
		if (s->at >= s->end || (*s->at != '{' && *s->at != '['))
			return skip_scalar(s);
		is_object = *s->at == '{';
		if (!push(s, stack, is_object))
			return false;
		skip_blanks(s);
		if (s->at < s->end && *s->at == (is_object ? '}' : ']')) {
			s->at++;
			stack->depth--;
			return true;
		}
		if (is_object && !skip_key(s))
			return false;
	}
}

static bool skip_container(struct scanner *s)
{
	struct stack stack;

	stack.depth = 0;
	for (;;) {
		if (!descend(s, &stack))
			return false;
		/* A value has ended: close what ends with it. */
		for (;;) {
			bool is_object;

			if (!stack.depth)
				return true;
			skip_blanks(s);
			is_object = in_object(&stack);
			if (s->at >= s->end || *s->at != (is_object ? '}' : ']'))
				break;
			s->at++;
			stack.depth--;
		}
		if (!take(s, ','))
			return false;
		if (in_object(&stack) && !skip_key(s))
			return false;
	}
}

/* From its first character on. */
static inline bool skip_value(struct scanner *s)
{
	return s->at < s->end && (*s->at == '{' || *s->at == '[') ? skip_container(s)
								  : skip_scalar(s);
}

/* ---- a message ------------------------------------------------------------- */

/* A member that is remembered: where, and which members of it. */
struct place {
	const char *name;
	size_t len;
	size_t offset; /* of the slice in struct fw_scan */
	const struct place *below;
};

#define PLACE_OF(name, member, below)                                               \
	{                                                                           \
		(name), sizeof(name) - 1, offsetof(struct fw_scan, member), (below) \
	}
#define PLACE(name, member) PLACE_OF(name, member, NULL)
#define PLACE_END                \
	{                        \
		NULL, 0, 0, NULL \
	}

static const struct place of_result[] = {
	PLACE("content", content),
	PLACE("structuredContent", structured),
	PLACE("isError", is_error),
	PLACE("resultType", type),
	PLACE("_meta", meta),
	PLACE("requestState", state),
	PLACE("inputRequests", questions),
	PLACE("nextCursor", cursor),
	PLACE_END,
};

static const struct place of_error[] = {
	PLACE("code", code),
	PLACE("message", message),
	PLACE("data", data),
	PLACE_END,
};

static const struct place of_params[] = {
	PLACE("progressToken", token),
	PLACE("requestId", request_id),
	PLACE("uri", uri),
	PLACE_END,
};

static const struct place of_message[] = {
	PLACE("jsonrpc", version),
	PLACE("id", id),
	PLACE("method", method),
	PLACE_OF("params", params, of_params),
	PLACE_OF("result", result, of_result),
	PLACE_OF("error", error, of_error),
	PLACE_END,
};

static const struct place *find_place(const struct place *places, struct fw_slice key)
{
	for (; places && places->name; places++)
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): read_key() has set it */
		if (fw_slice__equals(key, places->name, places->len))
			return places;
	return NULL;
}

/* ---- blocks of content ------------------------------------------------------ */

/* An object, from its brace on. The first member of a name counts. */
static bool scan_block(struct scanner *s, enum fw_scan_blocks *ret_fault)
{
	struct fw_slice parts[FW_BLOCK_PARTS] = { { NULL, 0 } };

	s->at++;
	skip_blanks(s);
	if (s->at < s->end && *s->at == '}') {
		s->at++;
		*ret_fault = FW_BLOCKS_NO_TYPE;
		return true;
	}
	for (;;) {
		struct fw_slice key;
		const char *value;

		if (!read_key(s, &key))
			return false;
		skip_blanks(s);
		value = s->at;
		if (!skip_value(s))
			return false;
		fw_slice__note(parts, key, (struct fw_slice){ value, (size_t)(s->at - value) });
		skip_blanks(s);
		if (s->at < s->end && *s->at == '}')
			break;
		if (!take(s, ','))
			return false;
	}
	s->at++;
	*ret_fault = fw_slice__judge(parts);
	return true;
}

static bool scan_item(struct scanner *s, enum fw_scan_blocks *ret_fault)
{
	bool is_whole;

	skip_blanks(s);
	if (s->at >= s->end || *s->at != '{') {
		*ret_fault = FW_BLOCKS_NOT_OBJECT;
		return skip_value(s);
	}
	if (!s->depth_left)
		return fail(s, FW_SCAN_TOO_DEEP);
	s->depth_left--;
	is_whole = scan_block(s, ret_fault);
	s->depth_left++;
	return is_whole;
}

/* Takes the opening bracket of an array or an object whose items are read one by one.
 * `*ret_is_empty`: it is closed at once. */
static bool open_items(struct scanner *s, char close, bool *ret_is_empty)
{
	if (!s->depth_left)
		return fail(s, FW_SCAN_TOO_DEEP);
	s->depth_left--;
	s->at++;
	skip_blanks(s);
	*ret_is_empty = s->at < s->end && *s->at == close;
	return true;
}

/* After an item: takes the comma. `*ret_is_last`: there is a bracket instead. */
static bool next_item(struct scanner *s, char close, bool *ret_is_last)
{
	skip_blanks(s);
	*ret_is_last = s->at < s->end && *s->at == close;
	return *ret_is_last || take(s, ',');
}

static bool close_items(struct scanner *s)
{
	s->at++;
	s->depth_left++;
	return true;
}

/* An array, from its bracket on: each block is looked at while it is validated. */
static bool scan_blocks(struct scanner *s, struct fw_scan *scan)
{
	bool is_end;

	if (!open_items(s, ']', &is_end))
		return false;
	while (!is_end) {
		enum fw_scan_blocks fault = FW_BLOCKS_OK;

		if (!scan_item(s, &fault))
			return false;
		if (scan->blocks == FW_BLOCKS_OK)
			scan->blocks = fault;
		if (!next_item(s, ']', &is_end))
			return false;
	}
	return close_items(s);
}

/* ---- members ---------------------------------------------------------------- */

static bool scan_members(struct scanner *s, const struct place *places, struct fw_scan *scan);

/* The value of a member, and where it is if it is one of `places`. */
static bool scan_member(struct scanner *s, const struct place *places, struct fw_scan *scan)
{
	struct fw_slice key;
	struct fw_slice *slice;
	const struct place *place;
	const char *value;
	bool is_whole;

	if (!read_key(s, &key))
		return false;
	place = find_place(places, key);
	skip_blanks(s);
	value = s->at;
	if (place && place->below && s->at < s->end && *s->at == '{')
		is_whole = scan_members(s, place->below, scan);
	else if (place && place->offset == offsetof(struct fw_scan, content) &&
		 s->at < s->end && *s->at == '[')
		is_whole = scan_blocks(s, scan);
	else
		is_whole = skip_value(s);
	if (!is_whole || !place)
		return is_whole;
	slice = (struct fw_slice *)(void *)((char *)scan + place->offset);
	if (slice->p)
		scan->is_ambiguous = true;
	else
		*slice = (struct fw_slice){ value, (size_t)(s->at - value) };
	return true;
}

/* An object, from its brace on. Recursive, but never deeper than `places` is. */
static bool scan_members(struct scanner *s, const struct place *places, struct fw_scan *scan)
{
	bool is_end;

	if (!open_items(s, '}', &is_end))
		return false;
	while (!is_end)
		if (!scan_member(s, places, scan) || !next_item(s, '}', &is_end))
			return false;
	return close_items(s);
}

static void check_utf8(struct scanner *s)
{
	size_t len = (size_t)(s->end - s->start);
	size_t valid = fw_utf8_valid(s->start, len);

	if (valid < len) {
		s->status = FW_SCAN_NOT_UTF8;
		s->at = s->start + valid;
	}
}

enum fw_scan_status fw_slice_scan(const char *text, size_t len, size_t depth,
				  struct fw_scan *ret_scan)
{
	struct scanner s = { .at = text,
			     .end = text + len,
			     .start = text,
			     .depth_left = depth < DEPTH_MOST ? depth : DEPTH_MOST };
	bool is_object;

	memset(ret_scan, 0, sizeof *ret_scan);
	skip_blanks(&s);
	is_object = s.at < s.end && *s.at == '{';
	ret_scan->is_array = s.at < s.end && *s.at == '[';
	if (is_object ? scan_members(&s, of_message, ret_scan) : skip_value(&s)) {
		skip_blanks(&s);
		if (s.at < s.end)
			(void)fail(&s, FW_SCAN_NOT_JSON);
	}
	/* Before all else: text that is not UTF-8 is not JSON either. */
	if (s.has_high)
		check_utf8(&s);
	if (s.status == FW_SCAN_OK && !is_object)
		s.status = FW_SCAN_NOT_OBJECT;
	else if (s.status == FW_SCAN_OK && ret_scan->is_ambiguous)
		s.status = FW_SCAN_AMBIGUOUS;
	ret_scan->status = s.status;
	ret_scan->position = (size_t)(s.at - text);
	return s.status;
}

/* ---- inside a validated value ------------------------------------------------ */

bool fw_slice_next(struct fw_slice container, const char **at, struct fw_slice *ret_key,
		   struct fw_slice *ret_value)
{
	struct scanner s = { .at = *at ? *at : container.p + 1,
			     .end = container.p + container.n - 1,
			     .depth_left = DEPTH_MOST };
	const char *start;

	*ret_key = (struct fw_slice){ NULL, 0 };
	if (!fw_slice_is_object(container) && !fw_slice_is_array(container))
		return false;
	skip_blanks(&s);
	if (s.at < s.end && *s.at == ',')
		s.at++;
	skip_blanks(&s);
	if (s.at >= s.end)
		return false;
	if (container.p[0] == '{' && !read_key(&s, ret_key))
		return false;
	skip_blanks(&s);
	start = s.at;
	if (!skip_value(&s))
		return false;
	*ret_value = (struct fw_slice){ start, (size_t)(s.at - start) };
	*at = s.at;
	return true;
}

bool fw_slice_members(struct fw_slice object, struct fw_scan_member *members, size_t count)
{
	const char *at = NULL;
	struct fw_slice key;
	struct fw_slice value;

	for (size_t i = 0; i < count; i++)
		members[i].value = (struct fw_slice){ NULL, 0 };
	if (!fw_slice_is_object(object))
		return false;
	while (fw_slice_next(object, &at, &key, &value))
		for (size_t i = 0; i < count; i++)
			if (!members[i].value.p && fw_slice_equals(key, members[i].name))
				members[i].value = value;
	return true;
}
