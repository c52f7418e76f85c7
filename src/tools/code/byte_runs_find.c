/*
 * byte_runs_find.c - see byte_runs.h. This file searches for a run in a text.
 *
 * The low half of a byte selects from a table the high halves that are in the set, one
 * bit for each of the eight high halves of ASCII. That takes two shuffles for 32 bytes,
 * so comparing a few of the rarest bytes of a run excludes nearly every place.
 */
#include "tools/code/byte_runs.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { CHUNK = 4096 };

/* Roughly how common the bytes of a set are in source code. */
static unsigned commonness(const struct fw_byte_run_set *set)
{
	unsigned sum = 0;

	for (unsigned c = 0; c < 128; c++)
		if (fw_byte_run_set_has(set, (unsigned char)c))
			sum += c == ' ' ? 30 : c >= 'a' && c <= 'z' ? 6 : 2;
	return sum;
}

static bool is_ascii(const struct fw_byte_run_set *set)
{
	return !set->bits[2] && !set->bits[3];
}

static size_t distance(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* Chooses the rarest byte that is not used yet. Among equally rare bytes it takes the one
 * farthest from the last choice, because neighbouring bytes are similar and exclude less. */
static size_t choose(const struct fw_byte_run *run, const bool *is_taken, size_t before)
{
	size_t best = run->len;

	for (size_t i = 0; i < run->len; i++) {
		unsigned now, then;

		if (is_taken[i] || !is_ascii(&run->sets[i]))
			continue;
		now = commonness(&run->sets[i]);
		then = best < run->len ? commonness(&run->sets[best]) : UINT32_MAX;
		if (now < then || (now == then && distance(i, before) > distance(best, before)))
			best = i;
	}
	return best;
}

void fw_byte_run_scan_init(struct fw_byte_run_scan *scan, const struct fw_byte_run *run)
{
	bool is_taken[FW_BYTE_RUN_BYTES] = { false };
	size_t at = 0;

	scan->run = run;
	scan->count = 0;
	while (scan->count < FW_BYTE_RUN_LOOKS && (at = choose(run, is_taken, at)) < run->len) {
		unsigned char *low = scan->looks[scan->count].low;

		is_taken[at] = true;
		memset(low, 0, sizeof scan->looks[0].low);
		for (unsigned c = 0; c < 128; c++)
			if (fw_byte_run_set_has(&run->sets[at], (unsigned char)c))
				low[c % 16] = (unsigned char)(low[c % 16] | 1u << (c / 16));
		scan->looks[scan->count++].at = at;
	}
}

/* `last` is the last place where it may begin. */
static const char *find_plain(const struct fw_byte_run_scan *scan, const char *text,
			      const char *last)
{
	for (; text <= last; text++) {
		size_t i = 0;

		while (i < scan->count &&
		       fw_byte_run_set_has(&scan->run->sets[scan->looks[i].at],
					   (unsigned char)text[scan->looks[i].at]))
			i++;
		if (i == scan->count)
			return text;
	}
	return NULL;
}

#ifdef __x86_64__

__attribute__((target("avx2"))) static const char *find_avx2(
	const struct fw_byte_run_scan *scan, const char *text, const char *last)
{
	const __m256i high_bits =
		_mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0, 1,
				 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0);
	const __m256i half = _mm256_set1_epi8(0x0f), zero = _mm256_setzero_si256();
	__m256i lows[FW_BYTE_RUN_LOOKS];

	for (size_t i = 0; i < scan->count; i++)
		lows[i] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const void *)scan->looks[i].low));
	for (; last - text >= 32; text += 32) {
		unsigned bits = UINT32_MAX;

		for (size_t i = 0; i < scan->count && bits; i++) {
			__m256i part =
				_mm256_loadu_si256((const void *)(text + scan->looks[i].at));
			/* 0 for non-ASCII bytes */
			__m256i low = _mm256_shuffle_epi8(lows[i], part);
			__m256i high = _mm256_shuffle_epi8(
				high_bits, _mm256_and_si256(_mm256_srli_epi16(part, 4), half));
			__m256i misses = _mm256_cmpeq_epi8(_mm256_and_si256(low, high), zero);

			bits &= ~(unsigned)_mm256_movemask_epi8(misses);
		}
		if (bits)
			return text + __builtin_ctz(bits);
	}
	return find_plain(scan, text, last);
}

static const char *find(const struct fw_byte_run_scan *scan, const char *text, const char *last)
{
	return __builtin_cpu_supports("avx2") ? find_avx2(scan, text, last)
					      : find_plain(scan, text, last);
}

#else

static const char *find(const struct fw_byte_run_scan *scan, const char *text, const char *last)
{
	return find_plain(scan, text, last);
}

#endif

const char *fw_byte_run_find(const struct fw_byte_run_scan *scan, const char *text, size_t len)
{
	if (len < scan->run->len)
		return NULL;
	return find(scan, text, text + (len - scan->run->len));
}

bool fw_byte_run_is_exact(const struct fw_byte_run *run, const char *text, size_t len)
{
	if (!run->has_digits && !run->has_folds)
		return true;
	for (size_t from = 0; from < len; from += CHUNK) {
		size_t to = len - from < CHUNK ? len : from + CHUNK;
		unsigned char all = 0;

		for (size_t i = from; i < to; i++)
			all |= (unsigned char)text[i];
		if (all & 0x80)
			return false;
	}
	return true;
}
