/*
 * git_read.h - runs a git command for a call, and reads its output record by record.
 */
#ifndef FW_TOOLS_CODE_GIT_READ_H
#define FW_TOOLS_CODE_GIT_READ_H

#include "tools/code/git.h"

struct fw_git_reader {
	fw_call *call; /* the command ends when this is cancelled */
	char separator;
	size_t most; /* largest record; longer ones are truncated */
	/* `text` ends with a NUL. False: out of memory, which ends the command. */
	bool (*record)(void *ctx, const char *text, size_t len);
	void *ctx;
};

/* Runs the command. Its members `take`, `is_cancelled` and `ctx` are ignored. Raises what
 * fw_git_run() raises, and internal.out_of_memory. */
FW_NODISCARD fw_error *fw_git_read(const struct fw_git *git,
				   const struct fw_git_reader *reader);

#endif
