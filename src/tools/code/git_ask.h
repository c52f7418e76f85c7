/*
 * git_ask.h - what a name of git stands for now ("HEAD", "HEAD:path"), asked from a git process
 * that is kept open (cat-file --batch-check): a fifth of a millisecond and not four.
 *
 * The one rule to remember: only in a worker process, one call at a time. fw_command_run()
 * ends the process, and the next question starts another.
 */
#ifndef FW_TOOLS_CODE_GIT_ASK_H
#define FW_TOOLS_CODE_GIT_ASK_H

#include "tools/code/repo.h"

enum { FW_GIT_HASH_SIZE = 65 };

struct fw_git_object {
	char hash[FW_GIT_HASH_SIZE]; /* "": there is no such object */
	char type[16];               /* "blob", "commit"... */
	uint64_t size;
};

/* Asks for one name, without line breaks. False: git cannot answer; a command will say
 * why. */
bool fw_git_ask(const struct fw_code_place *place, const char *name,
		struct fw_git_object *ret_object);

/* The processes are gone: fw_command_run() has ended them. */
void fw_git_ask_forget(void);

#endif
