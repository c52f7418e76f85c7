/*
 * lsa.h - latent semantic analysis: a space of a few dimensions, in which texts with terms
 * that occur together are near each other, computed from the repository alone.
 *
 * The space is the one that the largest singular vectors of the matrix of chunks and terms
 * span, found by subspace iteration (a randomised SVD). Cosines do not depend on which basis
 * of that space is used, so the singular vectors themselves are never computed. The
 * random numbers are fixed: the same matrix gives the same space.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_LSA_H
#define FW_TOOLS_CODE_SEMANTIC_LSA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum { FW_SEMANTIC_LSA_DIMS = 64, FW_SEMANTIC_LSA_ROUNDS = 2 };

/* A sparse matrix by rows: columns and values of row i are at start[i] to start[i + 1]. */
struct fw_semantic_matrix {
	size_t rows;
	size_t columns;
	const size_t *start;
	const uint32_t *column;
	const float *value;
};

/*
 * Computes an orthonormal basis: `columns` rows of `dims` numbers in `ret_basis`. `dims` is at
 * most the number of columns. `is_cancelled` may be NULL; if it says so, the basis is not
 * complete. Raises internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_semantic_lsa(const struct fw_semantic_matrix *matrix, size_t dims,
				       unsigned threads, bool (*is_cancelled)(void *ctx),
				       void *ctx, float *ret_basis);

#endif
