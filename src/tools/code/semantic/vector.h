/*
 * vector.h - arithmetic on vectors: by AVX2 where the processor has it, else plain C.
 *
 * Stored vectors are of unit length, scaled to int8 by one factor each.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_VECTOR_H
#define FW_TOOLS_CODE_SEMANTIC_VECTOR_H

#include <stddef.h>
#include <stdint.h>

/* y += a * x */
void fw_semantic_axpy(float *y, const float *x, float a, size_t n);

/* Scales to unit length and to int8; returns the factor by which the int8 values must be
 * multiplied. A vector without length becomes zeros, and the factor 0. Changes `vector`. */
float fw_semantic_pack(float *vector, size_t n, int8_t *ret_packed);

/* The cosine of `query` with each of `count` vectors of `n` bytes: ret[i]. */
void fw_semantic_cosines(const int8_t *query, float query_scale, const int8_t *vectors,
			 const float *scales, size_t count, size_t n, float *ret);

#endif
