/*
 * vector.c - see vector.h.
 *
 * The loops are written once, for the compiler's vectorizer, and compiled twice: once for the
 * baseline of the architecture, once for AVX2 and FMA. The dot product of int8 is the
 * exception, which compilers do not find by themselves.
 */
#include "tools/code/semantic/vector.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAS_AVX2() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define AVX2 __attribute__((target("avx2,fma")))
#endif

enum { LANES = 8, FACTORS = 256, NO_FACTOR = 255, MIDDLE = 8 };

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static inline __attribute__((always_inline)) void axpy(float *y, const float *x, float a,
						       size_t n)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		*(lanes *)(y + i) += a * *(const lanes *)(x + i);
	for (; i < n; i++)
		y[i] += a * x[i];
}

/* The numbers are stored without sign: each is MIDDLE too large. */
static int32_t dot_plain(const int8_t *query, const unsigned char *vector, size_t half)
{
	int32_t sum = 0;

	for (size_t i = 0; i < half; i++)
		sum += query[i] * ((vector[i] & 15) - MIDDLE) +
		       query[half + i] * ((vector[i] >> 4) - MIDDLE);
	return sum;
}

#if defined(__x86_64__)
AVX2 static void axpy_avx2(float *y, const float *x, float a, size_t n)
{
	axpy(y, x, a, n);
}

/* `excess` is MIDDLE times the sum of the query. The largest sum of a step is 4 * 15 * 127,
 * so one step fits in 16 bits, and steps are added in 32. */
AVX2 static int32_t dot_avx2(const int8_t *query, const unsigned char *vector, size_t half,
			     int32_t excess)
{
	const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
	__m256i sum = _mm256_setzero_si256();
	__m128i part;

	for (size_t i = 0; i < half; i += 32) {
		__m256i both = _mm256_loadu_si256((const __m256i *)(const void *)(vector + i));
		__m256i first = _mm256_loadu_si256((const __m256i *)(const void *)(query + i));
		__m256i second =
			_mm256_loadu_si256((const __m256i *)(const void *)(query + half + i));
		__m256i step = _mm256_add_epi16(
			_mm256_maddubs_epi16(_mm256_and_si256(both, low), first),
			_mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(both, 4), low),
					     second));

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(step, ones));
	}
	part = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
	part = _mm_add_epi32(part, _mm_shuffle_epi32(part, 0x4e));
	part = _mm_add_epi32(part, _mm_shuffle_epi32(part, 0xb1));
	return _mm_cvtsi128_si32(part) - excess;
}

AVX2 static void cosines_avx2(const int8_t *query, const float *scales,
			      const unsigned char *vectors, const uint8_t *factors,
			      size_t count, size_t half, float *ret)
{
	int32_t excess = 0;

	for (size_t i = 0; i < 2 * half; i++)
		excess += MIDDLE * query[i];
	for (size_t i = 0; i < count; i++)
		ret[i] = (float)dot_avx2(query, vectors + i * half, half, excess) *
			 scales[factors[i]];
}
#endif

void fw_semantic_axpy(float *y, const float *x, float a, size_t n)
{
#if defined(__x86_64__)
	if (HAS_AVX2()) {
		axpy_avx2(y, x, a, n);
		return;
	}
#endif
	axpy(y, x, a, n);
}

float fw_semantic_pack(float *vector, size_t n, int8_t *ret_packed)
{
	float most = 0, square = 0;

	for (size_t i = 0; i < n; i++) {
		most = fabsf(vector[i]) > most ? fabsf(vector[i]) : most;
		square += vector[i] * vector[i];
	}
	if (!(most > 0) || !isfinite(square) || !(square > 0)) {
		memset(ret_packed, 0, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		ret_packed[i] = (int8_t)lrintf(vector[i] / most * 127);
	return most / 127 / sqrtf(square);
}

float fw_semantic_factor_of(uint8_t code)
{
	return code == NO_FACTOR ? 0 : exp2f(-(float)code / 24);
}

uint8_t fw_semantic_nibbles(const int8_t *vector, size_t n, unsigned char *ret_packed)
{
	size_t half = fw_semantic_nibble_bytes(n);
	int32_t square = 0;

	memset(ret_packed, MIDDLE << 4 | MIDDLE, half);
	for (size_t i = 0; i < n; i++) {
		long number = lrintf((float)vector[i] * 7 / 127);
		unsigned char *byte = &ret_packed[i < half ? i : i - half];

		if (i < half)
			*byte = (unsigned char)((*byte & 0xf0) | (number + MIDDLE));
		else
			*byte = (unsigned char)((*byte & 0x0f) | (number + MIDDLE) << 4);
		square += (int32_t)(number * number);
	}
	return square ? (uint8_t)lrintf(12 * log2f((float)square)) : NO_FACTOR;
}

void fw_semantic_nibbles_add(float *sum, const unsigned char *packed, size_t n, float weight)
{
	size_t half = fw_semantic_nibble_bytes(n);

	for (size_t i = 0; i < n; i++)
		sum[i] += weight *
			  (float)((i < half ? packed[i] & 15 : packed[i - half] >> 4) - MIDDLE);
}

void fw_semantic_cosines(const int8_t *query, float query_scale, const unsigned char *vectors,
			 const uint8_t *factors, size_t count, size_t n, float *ret)
{
	size_t half = fw_semantic_nibble_bytes(n);
	float scales[FACTORS];

	for (int i = 0; i < FACTORS; i++)
		scales[i] = query_scale * fw_semantic_factor_of((uint8_t)i);
#if defined(__x86_64__)
	if (HAS_AVX2()) {
		cosines_avx2(query, scales, vectors, factors, count, half, ret);
		return;
	}
#endif
	for (size_t i = 0; i < count; i++)
		ret[i] = (float)dot_plain(query, vectors + i * half, half) * scales[factors[i]];
}
