/*
 * sweep.h - the files of all repositories that contain a word, read one after the other: what
 * find_symbol and find_references look at. The index of search_text, if there is one, names
 * the files; their text is read, so nothing is stale.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SWEEP_H
#define FW_TOOLS_CODE_SEMANTIC_SWEEP_H

#include <faultwire/faultwire.h>

#include "tools/code/code.h"

struct fw_semantic_sweep {
	fw_call *call;
	const struct fw_code_set *code;
	const char *word; /* ends with NUL */
	bool ignores_case;
	/* A file with the word. `path` is what the client sees. False: out of memory. */
	bool (*file)(void *ctx, const char *path, const char *text, size_t len);
	void *ctx;
	bool is_cut; /* set if a limit was reached: files are missing */
};

/* Raises search.timeout with the word as the query; internal.out_of_memory. */
FW_NODISCARD fw_error *fw_semantic_sweep(struct fw_semantic_sweep *sweep);

/* Reads the argument `name`: a word without spaces. Raises input.invalid_value,
 * input.too_large. */
FW_NODISCARD fw_error *fw_semantic_sweep_word(const fw_call *call, const char **ret_word);

#endif
