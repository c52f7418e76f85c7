/*
 * scan.c - see scan.h.
 *
 * The vector code finds places where both rare bytes match, and compares the whole text
 * there. With `ignores_case`, bit 5 of the input is set before letters are compared. A
 * few other bytes then match, too, but the comparison of the whole text is exact.
 */
#include "tools/code/scan.h"

#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Roughly how common a byte is in source code, from 0 to 255. */
static unsigned commonness(unsigned char c)
{
	static const char common[] =
		" etaroinslcdupmfhg_.,()\t\n;-=\"by*/0wvSTEx1{}kARCNI>IOL:'#D";
	const char *at = c ? memchr(common, c, sizeof common - 1) : NULL;

	if (at)
		return 255 - 3 * (unsigned)(at - common);
	if (c >= 0x80 || c < 0x20)
		return 20;
	return (c >= 'a' && c <= 'z') ? 70 : (c >= 'A' && c <= 'Z') ? 60 : 50;
}

static bool is_letter(unsigned char c)
{
	return c >= 'a' && c <= 'z';
}

void fw_scan_init(struct fw_scan *scan, const char *text, size_t len, bool ignores_case)
{
	size_t first = 0, second;

	for (size_t i = 1; i < len; i++)
		if (commonness((unsigned char)text[i]) < commonness((unsigned char)text[first]))
			first = i;
	second = first == 0 ? len - 1 : 0;
	for (size_t i = 0; i < len; i++)
		if (i != first && text[i] != text[first] &&
		    commonness((unsigned char)text[i]) <
			    commonness((unsigned char)text[second]))
			second = i;
	*scan = (struct fw_scan){ text, len, ignores_case, first, second };
}

/* ---- comparing ---- */

static bool is_at(const struct fw_scan *scan, const char *text)
{
	if (!scan->ignores_case)
		return memcmp(text, scan->text, scan->len) == 0;
	for (size_t i = 0; i < scan->len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != (unsigned char)scan->text[i])
			return false;
	}
	return true;
}

/* `last` is the last place where it may begin. */
static const char *find_plain(const struct fw_scan *scan, const char *text, const char *last)
{
	unsigned char rare = (unsigned char)scan->text[scan->first];
	unsigned char fold = scan->ignores_case && is_letter(rare) ? 0x20 : 0;

	for (; text <= last; text++)
		if (((unsigned char)text[scan->first] | fold) == rare && is_at(scan, text))
			return text;
	return NULL;
}

/* ---- vectors ---- */

#ifdef __x86_64__

/* NOLINTBEGIN(bugprone-macro-parentheses): types cannot be in parentheses. */
/* The same code for each vector size. `bits` marks the places where both bytes match. */
#define VECTOR_FIND(NAME, TARGET, VECTOR, WIDTH, SET, LOAD, EQUAL, AND, OR, MASK)          \
	TARGET static const char *NAME(const struct fw_scan *scan, const char *text,       \
				       const char *last)                                   \
	{                                                                                  \
		unsigned char one = (unsigned char)scan->text[scan->first];                \
		unsigned char two = (unsigned char)scan->text[scan->second];               \
		VECTOR first = SET((char)one), second = SET((char)two);                    \
		VECTOR first_fold = SET(scan->ignores_case && is_letter(one) ? 0x20 : 0);  \
		VECTOR second_fold = SET(scan->ignores_case && is_letter(two) ? 0x20 : 0); \
                                                                                           \
		for (; last - text >= WIDTH; text += WIDTH) {                              \
			VECTOR a = LOAD((const void *)(text + scan->first));               \
			VECTOR b = LOAD((const void *)(text + scan->second));              \
			unsigned bits =                                                    \
				(unsigned)MASK(AND(EQUAL(OR(a, first_fold), first),        \
						   EQUAL(OR(b, second_fold), second)));    \
                                                                                           \
			for (; bits; bits &= bits - 1) {                                   \
				const char *at = text + __builtin_ctz(bits);               \
                                                                                           \
				if (is_at(scan, at))                                       \
					return at;                                         \
			}                                                                  \
		}                                                                          \
		return find_plain(scan, text, last);                                       \
	}

/* clang-format off */
VECTOR_FIND(find_sse2, , __m128i, 16, _mm_set1_epi8, _mm_loadu_si128, _mm_cmpeq_epi8,
	    _mm_and_si128, _mm_or_si128, _mm_movemask_epi8)
VECTOR_FIND(find_avx2, __attribute__((target("avx2"))), __m256i, 32, _mm256_set1_epi8,
	    _mm256_loadu_si256, _mm256_cmpeq_epi8, _mm256_and_si256, _mm256_or_si256,
	    _mm256_movemask_epi8)
/* clang-format on */
/* NOLINTEND(bugprone-macro-parentheses) */

static const char *find(const struct fw_scan *scan, const char *text, const char *last)
{
	return __builtin_cpu_supports("avx2") ? find_avx2(scan, text, last)
					      : find_sse2(scan, text, last);
}

/* Each byte of `counts` counts one of 16 positions. It is added to the total before it
 * overflows. */
static size_t count_lines(const char *text, size_t blocks)
{
	const __m128i newline = _mm_set1_epi8('\n'), zero = _mm_setzero_si128();
	__m128i counts = zero;
	uint64_t sums[2];

	for (size_t i = 0; i < blocks; i++) {
		__m128i part = _mm_loadu_si128((const void *)(text + 16 * i));

		counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(part, newline));
	}
	_mm_storeu_si128((void *)sums, _mm_sad_epu8(counts, zero));
	return sums[0] + sums[1];
}

size_t fw_scan_lines(const char *text, size_t len)
{
	size_t count = 0;

	while (len >= 16) {
		size_t blocks = len / 16 < UINT8_MAX ? len / 16 : UINT8_MAX;

		count += count_lines(text, blocks);
		text += 16 * blocks;
		len -= 16 * blocks;
	}
	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

#else

static const char *find(const struct fw_scan *scan, const char *text, const char *last)
{
	if (!scan->ignores_case)
		return memmem(text, (size_t)(last - text) + scan->len, scan->text, scan->len);
	return find_plain(scan, text, last);
}

size_t fw_scan_lines(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

#endif

const char *fw_scan_find(const struct fw_scan *scan, const char *text, size_t len)
{
	if (len < scan->len)
		return NULL;
	if (scan->len == 1 && !(scan->ignores_case && is_letter((unsigned char)scan->text[0])))
		return memchr(text, scan->text[0], len);
	return find(scan, text, text + (len - scan->len));
}
