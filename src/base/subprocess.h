/*
 * subprocess.h - start a program as a child process, with bounds.
 *
 * The child gets the three standard descriptors that it is given and no other,
 * the environment that it is given and no other, default signal handling, and
 * its own process group, so that it can be ended with everything it started.
 *
 * The one rule to remember: the code that starts a child must reap it, through its pidfd.
 */
#ifndef FW_BASE_SUBPROCESS_H
#define FW_BASE_SUBPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fw_subprocess_options {
	/* argv[0] is a path, or a name that is looked up in PATH: that of
	 * `environment`, else a system default. NULL at the end. */
	const char *const *argv;
	/* "NAME=value", NULL at the end; NULL: empty. */
	const char *const *environment;
	const char *directory; /* NULL: the parent's */
	int directory_fd;      /* in place of `directory`; 0: none */
	int in, out, err;      /* become 0, 1 and 2; -1: /dev/null */
	/* The kernel kills the child when the thread that started it ends, however
	 * that happens. */
	bool dies_with_parent;
	/* A small supervisor process runs between the child and the parent. It ends when the
	 * child ends or the parent dies, after it has ended every descendant of the child,
	 * including those that have left its process group. Exit status and signal are the
	 * child's. It is what `pid` names. */
	bool is_supervised;
	/* Landlock ruleset for the child, a descriptor; 0: none. If it cannot be enforced, the
	 * program is not started. */
	int ruleset;
	/* Stay in the parent's process group, and open no pidfd: for a parent whose
	 * sandbox allows neither. */
	bool in_parent_group;
};

struct fw_subprocess {
	pid_t pid;      /* 0: none */
	bool has_group; /* its process group has the number of the pid */
	bool is_supervised;
	int pidfd; /* readable once it has ended; -1: none */
};

/* What failed, if a child could not be started. */
enum fw_subprocess_step {
	FW_SUBPROCESS_STARTED,
	FW_SUBPROCESS_FORK,      /* no process or descriptor was available */
	FW_SUBPROCESS_DIRECTORY, /* its directory */
	FW_SUBPROCESS_EXEC       /* its program */
};

/* Starts it, and returns when the program runs or has failed to start. After a failure
 * `*ret_errno` says why, and no process is left. `*ret_child` is set on success only. The
 * descriptors stay the caller's. */
enum fw_subprocess_step fw_subprocess_start(const struct fw_subprocess_options *options,
					    struct fw_subprocess *ret_child, int *ret_errno);

/* Sends a signal to the child and its process group; SIGKILL also to all other descendants
 * of a supervised one. Nothing once reaped. */
void fw_subprocess_signal(const struct fw_subprocess *child, int signum);

/* How it ended: an exit status, or the signal that killed it (0: none). False:
 * it has not ended. On true it is reaped, and its pidfd closed. */
bool fw_subprocess_reap(struct fw_subprocess *child, int *ret_status, int *ret_signal);

#endif
