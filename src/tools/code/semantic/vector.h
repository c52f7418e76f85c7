/*
 * vector.h - arithmetic on vectors: by AVX2 where the processor has it, else plain C.
 *
 * A vector is of unit length, and scaled to int8, or to four bits, by one factor.
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

/*
 * The vectors of an index take four bits per dimension: a byte has one of the first half of the
 * dimensions and one of the second, rounded up to a multiple of FW_SEMANTIC_NIBBLES.
 */
enum { FW_SEMANTIC_NIBBLES = 64 };

static inline size_t fw_semantic_nibble_bytes(size_t n)
{
	return (n + FW_SEMANTIC_NIBBLES - 1) / FW_SEMANTIC_NIBBLES * (FW_SEMANTIC_NIBBLES / 2);
}

/* Writes fw_semantic_nibble_bytes(n) bytes; returns the code of the factor that makes the
 * vector one of unit length. */
uint8_t fw_semantic_nibbles(const int8_t *vector, size_t n, unsigned char *ret_packed);
float fw_semantic_factor_of(uint8_t code);
/* sum += weight * the numbers of a packed vector, without its factor. */
void fw_semantic_nibbles_add(float *sum, const unsigned char *packed, size_t n, float weight);

/* The cosine of `query`, of `n` bytes and as many zeros as make a multiple of
 * FW_SEMANTIC_NIBBLES, with each of `count` vectors: ret[i]. */
void fw_semantic_cosines(const int8_t *query, float query_scale, const unsigned char *vectors,
			 const uint8_t *factors, size_t count, size_t n, float *ret);

#endif
