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

enum { LANES = 8 };

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

static int32_t dot_plain(const int8_t *a, const int8_t *b, size_t n)
{
	int32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (int32_t)a[i] * b[i];
	return sum;
}

#if defined(__x86_64__)
AVX2 static void axpy_avx2(float *y, const float *x, float a, size_t n)
{
	axpy(y, x, a, n);
}

AVX2 static int32_t dot_avx2(const int8_t *a, const int8_t *b, size_t n)
{
	__m256i sum = _mm256_setzero_si256();
	__m128i half;
	size_t i = 0;
	int32_t total;

	for (; i + 16 <= n; i += 16) {
		__m256i left = _mm256_cvtepi8_epi16(
			_mm_loadu_si128((const __m128i *)(const void *)(a + i)));
		__m256i right = _mm256_cvtepi8_epi16(
			_mm_loadu_si128((const __m128i *)(const void *)(b + i)));

		sum = _mm256_add_epi32(sum, _mm256_madd_epi16(left, right));
	}
	half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
	half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
	total = _mm_cvtsi128_si32(half);
	return total + dot_plain(a + i, b + i, n - i);
}

AVX2 static void cosines_avx2(const int8_t *query, float query_scale, const int8_t *vectors,
			      const float *scales, size_t count, size_t n, float *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = (float)dot_avx2(query, vectors + i * n, n) * query_scale * scales[i];
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

void fw_semantic_cosines(const int8_t *query, float query_scale, const int8_t *vectors,
			 const float *scales, size_t count, size_t n, float *ret)
{
#if defined(__x86_64__)
	if (HAS_AVX2()) {
		cosines_avx2(query, query_scale, vectors, scales, count, n, ret);
		return;
	}
#endif
	for (size_t i = 0; i < count; i++)
		ret[i] = (float)dot_plain(query, vectors + i * n, n) * query_scale * scales[i];
}
