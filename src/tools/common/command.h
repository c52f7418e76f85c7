/*
 * command.h - run a program with a time limit and keep the end of its output.
 *
 * The program may be code that an agent has just written, so it gets nothing from this
 * process: no descriptor, no variable, and it cannot read this process's memory.
 *
 * The one rule to remember: everything that the program started is dead when
 * fw_command_run() returns, and so is every other child of this process. Call it in
 * a worker process.
 */
#ifndef FW_TOOLS_COMMON_COMMAND_H
#define FW_TOOLS_COMMON_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_COMMAND_TAIL_BYTES = 2048,
	FW_COMMAND_TIMED_OUT = 124,  /* exit statuses as a shell reports them */
	FW_COMMAND_STOPPED = 125,    /* by may_continue() */
	FW_COMMAND_NOT_STARTED = 127 /* with a signal: 128 and its number */
};

struct fw_command {
	const char *const *argv;        /* NULL at the end */
	const char *const *environment; /* NULL at the end */
	int directory_fd;               /* where it runs */
	uint32_t limit_ms;
	int fence; /* fw_fence_open(); 0 or -1: none */
	/* Called now and then while it runs; false ends the command. NULL: none. */
	bool (*may_continue)(void *ctx);
	/* Called with its output as it comes; false ends the command, as STOPPED. The tail
	 * then has only its errors. NULL: the output is kept in the tail as well. */
	bool (*take)(void *ctx, const char *bytes, size_t len);
	void *ctx;
};

struct fw_command_result {
	int status; /* 0: success */
	/* The end of its output and errors: redacted, UTF-8, NUL-terminated. */
	char tail[3 * FW_COMMAND_TAIL_BYTES + 1];
};

/* Raises io.* if no process can be started; a failing command is not an error. */
FW_NODISCARD fw_error *fw_command_run(const struct fw_command *command,
				      struct fw_command_result *ret_result);

#endif
