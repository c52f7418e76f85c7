/*
 * arguments.h - reads arguments that several tools have: lists of texts, globs, limits of
 * results.
 */
#ifndef FW_TOOLS_CODE_ARGUMENTS_H
#define FW_TOOLS_CODE_ARGUMENTS_H

#include <faultwire/faultwire.h>

struct fw_globs;

/* Calls `each` for every text of the list argument `name`. The argument may be absent.
 * Raises input.too_large, input.invalid_value, and what `each` raises. */
FW_NODISCARD fw_error *fw_code_each(fw_call *call, const char *name,
				    fw_error *(*each)(void *ctx, const char *text, size_t len),
				    void *ctx);

/* Adds the globs of the list `name`. */
FW_NODISCARD fw_error *fw_code_globs(fw_call *call, const char *name, struct fw_globs *globs);
/* True: the file matches an `include` glob, or there are none, and it matches no
 * `exclude` glob. Globs are compared with the path that the client sees: `prefix` and
 * `path`. */
bool fw_code_globs_admit(const struct fw_globs *include, const struct fw_globs *exclude,
			 const char *prefix, const char *path, size_t len);

/* A number from 1 to `most`; larger numbers are reduced to it. Raises
 * input.invalid_value. */
FW_NODISCARD fw_error *fw_code_max_results(const fw_call *call, const char *name,
					   int64_t otherwise, int64_t most,
					   int64_t *ret_number);

#endif
