/*
 * git_read.h - the output of a git command, one record after another, for a call.
 */
#ifndef FW_TOOLS_CODE_GIT_READ_H
#define FW_TOOLS_CODE_GIT_READ_H

#include "tools/code/git.h"

struct fw_git_reader {
	fw_call *call; /* ends the command when it is cancelled */
	char separator;
	size_t most; /* bytes of a record that are kept */
	/* `text` ends with a NUL. False: out of memory, which ends the command. */
	bool (*record)(void *ctx, const char *text, size_t len);
	void *ctx;
};

/* Runs the command, whose `take`, `is_cancelled` and `ctx` are not used. Raises what
 * fw_git_run() raises, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_git_read(const struct fw_git *git,
				   const struct fw_git_reader *reader);

#endif
