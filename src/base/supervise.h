/*
 * supervise.h - the process between us and a program that we start. It ends with either of
 * them, and ends all processes that the program has started.
 *
 * It is a child subreaper: a descendant whose own parent has ended becomes its child, also
 * if it has left the process group or the session. So all of them can be found and ended.
 *
 * The one rule to remember: it is a copy of a process with threads, so it only makes
 * system calls.
 */
#ifndef FW_BASE_SUPERVISE_H
#define FW_BASE_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

/* The signal that makes it end everything; other signals are passed on to the program. */
int fw_supervise_end_signal(void);
/* In the copy, before it starts the program: signals are as by default. False: the parent
 * has ended already. */
bool fw_supervise_begin(pid_t parent);
/* Waits for the end of the program or of the parent, ends all descendants, and ends like
 * the program did. Never returns. */
_Noreturn void fw_supervise_run(pid_t program);

#endif
