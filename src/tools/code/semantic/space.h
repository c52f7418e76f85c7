/*
 * space.h - the space of the vectors of an index, while it is built: the basis that the
 * analysis (lsa.h) finds, and the vectors of the chunks in it.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SPACE_H
#define FW_TOOLS_CODE_SEMANTIC_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "tools/code/semantic/corpus.h"
#include "tools/code/semantic/postings.h"
#include "tools/code/semantic/snapshot.h"

struct fw_semantic_space {
	size_t dims; /* 0: too few terms */
	struct fw_semantic_basis_row *terms;
	size_t term_count;
	uint16_t *slots; /* a table of hashes: numbers of terms, from 1; 0: none */
	int8_t *basis;
	float *basis_scales;
	int8_t *vectors; /* of chunks */
};

struct fw_semantic_spacing {
	const struct fw_semantic_corpus *corpus;
	const struct fw_semantic_postings *body; /* sorted */
	unsigned threads;
	bool (*is_cancelled)(void *ctx);
	void *ctx;
};

/* Computes the basis. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_space_train(struct fw_semantic_space *space,
					       const struct fw_semantic_spacing *how);
/* Computes the vectors of all chunks. */
FW_NODISCARD fw_error *fw_semantic_space_place(struct fw_semantic_space *space,
					       const struct fw_semantic_spacing *how);
void fw_semantic_space_clear(struct fw_semantic_space *space);

/* The number of a term in the basis; SIZE_MAX: it is not in it. */
size_t fw_semantic_basis_find(const struct fw_semantic_basis_row *terms, size_t count,
			      uint32_t key);
/* The weight of a term that a text has `tf` times. */
float fw_semantic_basis_weight(const struct fw_semantic_basis_row *row, unsigned tf);

#endif
