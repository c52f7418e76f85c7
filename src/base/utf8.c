/*
 * utf8.c - see utf8.h.
 *
 * Messages are nearly always ASCII, so that is tested a word at a time. Long runs of other
 * text are checked sixteen bytes at a time, by the table look-ups that Keiser and Lemire
 * describe ("Validating UTF-8 in less than one instruction per byte"). What is left, and
 * the place of a fault, is found with the table of well-formed sequences in the Unicode
 * standard.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <tmmintrin.h>
#endif

/* Length of the well-formed character at `s`, or 0. */
static size_t character(const unsigned char *s, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (s[0] < 0x80)
		return s[0] ? 1 : 0;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		need = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		need = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		need = 4;
	else
		return 0;
	if (len < need)
		return 0;
	if (s[0] == 0xe0)
		low = 0xa0; /* overlong */
	else if (s[0] == 0xed)
		high = 0x9f; /* surrogates */
	else if (s[0] == 0xf0)
		low = 0x90; /* overlong */
	else if (s[0] == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

/* Are all eight bytes ASCII, without a NUL? */
static inline bool is_plain(const unsigned char *s)
{
	uint64_t word;

	memcpy(&word, s, sizeof(word));
	return ((word | (word - UINT64_C(0x0101010101010101))) &
		UINT64_C(0x8080808080808080)) == 0;
}

#ifdef __x86_64__

/* What a pair of neighbouring bytes can be; a pair is wrong if all three look-ups agree
 * on a reason. */
enum {
	SHORT = 1,       /* a lead byte without a continuation */
	LONG = 2,        /* a continuation after ASCII */
	OVERLONG_3 = 4,  /* e0 80..9f */
	LARGE = 8,       /* f4 90.., f5.. */
	SURROGATE = 16,  /* ed a0..bf */
	OVERLONG_2 = 32, /* c0, c1 */
	LARGE_1000 = 64, /* f5..ff 80..8f */
	OVERLONG_4 = 64, /* f0 80..8f */
	TWO = 128,       /* two continuations: right after a longer lead byte only */
	ANY = SHORT | LONG | TWO,
	BLOCK = 16
};

#define LANES(...) _mm_setr_epi8(__VA_ARGS__)
#define C(value) (char)(value)

/* Bits of the faults that end in the bytes of `now`; `before` is the block before it. */
__attribute__((target("ssse3"))) static inline __m128i faults_of(__m128i now, __m128i before)
{
	const __m128i low = _mm_set1_epi8(0x0f);
	const __m128i first_high =
		LANES(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, C(TWO), C(TWO), C(TWO),
		      C(TWO), SHORT | OVERLONG_2, SHORT, SHORT | OVERLONG_3 | SURROGATE,
		      SHORT | LARGE | LARGE_1000 | OVERLONG_4);
	const char big = C(ANY | LARGE | LARGE_1000);
	const __m128i first_low =
		LANES(C(ANY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4), C(ANY | OVERLONG_2),
		      C(ANY), C(ANY), C(ANY | LARGE), big, big, big, big, big, big, big, big,
		      C(ANY | LARGE | LARGE_1000 | SURROGATE), big, big);
	const char late = C(LONG | OVERLONG_2 | TWO | SURROGATE | LARGE);
	const __m128i second_high =
		LANES(SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT,
		      C(LONG | OVERLONG_2 | TWO | OVERLONG_3 | LARGE_1000 | OVERLONG_4),
		      C(LONG | OVERLONG_2 | TWO | OVERLONG_3 | LARGE), late, late, SHORT, SHORT,
		      SHORT, SHORT);
	const __m128i back1 = _mm_alignr_epi8(now, before, 15);
	const __m128i back2 = _mm_alignr_epi8(now, before, 14);
	const __m128i back3 = _mm_alignr_epi8(now, before, 13);
	const __m128i pair = _mm_and_si128(
		_mm_and_si128(_mm_shuffle_epi8(first_high,
					       _mm_and_si128(_mm_srli_epi16(back1, 4), low)),
			      _mm_shuffle_epi8(first_low, _mm_and_si128(back1, low))),
		_mm_shuffle_epi8(second_high, _mm_and_si128(_mm_srli_epi16(now, 4), low)));
	/* The high bit is set two after e0.., and three after f0..: TWO is right there. */
	const __m128i third = _mm_subs_epu8(back2, _mm_set1_epi8(0xe0 - 0x80));
	const __m128i fourth = _mm_subs_epu8(back3, _mm_set1_epi8(0xf0 - 0x80));
	const __m128i due = _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8(C(0x80)));

	return _mm_or_si128(_mm_xor_si128(due, pair), _mm_cmpeq_epi8(now, _mm_setzero_si128()));
}

/* How many bytes from a start of a character on are valid, at least: up to the start of
 * a character. */
__attribute__((target("ssse3"))) static size_t skip_blocks(const unsigned char *s, size_t len)
{
	__m128i before = _mm_setzero_si128();
	size_t at = 0;

	while (len - at >= BLOCK) {
		const __m128i now = _mm_loadu_si128((const __m128i *)(const void *)(s + at));
		const __m128i none =
			_mm_cmpeq_epi8(faults_of(now, before), _mm_setzero_si128());

		if (_mm_movemask_epi8(none) != 0xffff)
			break;
		before = now;
		at += BLOCK;
	}
	/* The last character may be incomplete. */
	for (size_t back = 1; back <= 3 && back <= at; back++)
		if (s[at - back] >= 0xc0)
			return at - back;
	return at;
}

#undef LANES
#undef C

static size_t skip_fast(const unsigned char *s, size_t len)
{
	return len >= 4 * BLOCK && __builtin_cpu_supports("ssse3") ? skip_blocks(s, len) : 0;
}

#else

static size_t skip_fast(const unsigned char *s, size_t len)
{
	(void)s;
	(void)len;
	return 0;
}

#endif

size_t fw_utf8_valid(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = 0;
	bool is_fast = true; /* until there is a fault, or little is left */

	while (at < len) {
		size_t step;

		while (len - at >= 8 && is_plain(s + at))
			at += 8;
		/* Test the last bytes again together with those before them. */
		if (at == len || (len >= 8 && len - at < 8 && is_plain(s + len - 8)))
			return len;
		step = is_fast ? skip_fast(s + at, len - at) : 0;
		is_fast = step != 0;
		if (!step)
			step = character(s + at, len - at);
		if (!step)
			break;
		at += step;
	}
	return at;
}

const char *fw_utf8_fault(const char *text, size_t len, size_t *ret_at)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t at = fw_utf8_valid(text, len);
	size_t need;

	*ret_at = at;
	if (at == len)
		return NULL;
	if (s[at] == 0)
		return "NUL byte";
	if (s[at] < 0xc2 || s[at] > 0xf4)
		return "invalid start byte";
	need = s[at] < 0xe0 ? 2 : s[at] < 0xf0 ? 3 : 4;
	/* Complete the character with bytes that may follow: is the end the only fault? */
	if (len - at < need) {
		unsigned char whole[4] = { s[at], 0xa0, 0x80, 0x80 };

		if (s[at] == 0xed || s[at] == 0xf4)
			whole[1] = 0x80;
		memcpy(whole, s + at, len - at);
		if (character(whole, need) == need)
			return "unexpected end of data";
	}
	return "invalid continuation byte";
}

size_t fw_utf8_repair(char *dst, size_t cap, const char *src, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t at = 0, total = 0;

	while (at < len) {
		size_t run = fw_utf8_valid(src + at, len - at);
		size_t fits = total < cap ? fw_utf8_cut(src + at, run, cap - total) : 0;

		if (fits)
			memcpy(dst + total, src + at, fits);
		total += run;
		at += run;
		if (at == len)
			break;
		if (total + 3 <= cap)
			memcpy(dst + total, replacement, 3);
		total += 3;
		at++;
	}
	return total;
}

size_t fw_utf8_cut(const char *text, size_t len, size_t max)
{
	size_t cut = max;

	if (len <= max)
		return len;
	while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

void fw_utf8_skip_mark(const char **text, size_t *len)
{
	if (*len < 3 || memcmp(*text, "\xEF\xBB\xBF", 3) != 0)
		return;
	*text += 3;
	*len -= 3;
}
