/*
 * sandbox.h - restricts a worker process to the permissions of its pool.
 *
 * The server prepares a plan once, at start: it opens the declared paths and finds out
 * what the kernel does not support. Each worker applies the plan to itself, which takes
 * half a millisecond and cannot be undone.
 *
 * The one rule to remember: descriptors that are open when the sandbox is applied stay
 * usable, so call fw_sandbox_close_files() before.
 */
#ifndef FW_WORKER_SANDBOX_H
#define FW_WORKER_SANDBOX_H

#include <faultwire/error.h>
#include <faultwire/workers.h>

/* What a kernel supports, and what it lacks for one plan. */
struct fw_sandbox_report {
	int landlock_abi; /* 0: none */
	bool has_seccomp;
	bool is_complete;  /* nothing is missing */
	char missing[512]; /* text: "no file rules (Landlock), ..."; "": nothing */
};

/* Finds out what the kernel lacks for a worker without permissions. Changes nothing. */
void fw_sandbox_probe(struct fw_sandbox_report *ret);

/* The same for the server process. `may_connect`: it may connect to some ports. */
void fw_sandbox_probe_server(bool may_connect, struct fw_sandbox_report *ret);

struct fw_sandbox_plan;

/*
 * Prepares a plan, in the server. The caller owns it (fw_sandbox_plan_free()). It has a
 * descriptor (close-on-exec) that workers inherit by fork. Raises
 * server.sandbox_unavailable (with FW_SANDBOX_REQUIRED, if something is missing), an io
 * error for a declared path that cannot be opened, and internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_sandbox_prepare(const fw_workers_options *options,
					  struct fw_sandbox_plan **ret_plan);
/* NULL is a no-op. A worker need not call it. */
void fw_sandbox_plan_free(struct fw_sandbox_plan *plan);

/* The descriptor of the plan, which workers need; -1: none. */
int fw_sandbox_plan_file(const struct fw_sandbox_plan *plan);

/* What the kernel lacks for this plan. With FW_SANDBOX_OFF nothing is missing. */
const struct fw_sandbox_report *fw_sandbox_plan_report(const struct fw_sandbox_plan *plan);

/*
 * In the worker, soon after fork: closes every descriptor from 3 on except `keep` (-1:
 * none) and that of the plan (NULL: none). If 0, 1 and 2 are the server's, the caller
 * must replace them.
 */
void fw_sandbox_close_files(const struct fw_sandbox_plan *plan, int keep);

/*
 * Applies the plan, in the worker, once; it cannot be undone. The process must be the
 * leader of its process group and have one thread, otherwise it raises
 * internal.api_misuse. After an error the sandbox is incomplete and the process must
 * exit. RLIMIT_CPU is not set, because CPU time is limited per call, not per worker.
 */
FW_NODISCARD fw_error *fw_sandbox_apply(const struct fw_sandbox_plan *plan);

/* Prepares and applies a plan in the calling process. */
FW_NODISCARD fw_error *fw_sandbox_enter(const fw_workers_options *options);

#endif
