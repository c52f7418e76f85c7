/*
 * crash.h - the record of a crash: a signal handler in the worker writes it into the
 * shared page, and the server turns it into a stack trace.
 */
#ifndef FW_WORKER_CRASH_H
#define FW_WORKER_CRASH_H

#include <stdatomic.h>
#include <stdint.h>

#include <faultwire/error.h>

enum { FW_WORKER_CRASH_FRAMES = 32 };

struct fw_worker_crash {
	atomic_int signal; /* 0: no crash; the other members are valid only with a signal */
	int code;          /* si_code */
	uintptr_t address;
	int depth;
	void *frames[FW_WORKER_CRASH_FRAMES]; /* innermost first */
};

/* In the fork server, once: loads the unwinder, which cannot be done during a crash. */
void fw_worker_crash_prepare(void);
/* In the worker: clears the record and installs the signal handlers. */
void fw_worker_crash_watch(struct fw_worker_crash *crash);
/* In the server: adds the stack trace of the record to `err`, one line per frame. */
void fw_worker_crash_describe(const struct fw_worker_crash *crash, fw_error *err);

#endif
