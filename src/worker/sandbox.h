/*
 * sandbox.h - restricts a worker process to what its pool was given.
 *
 * The server prepares a plan once, at start: it opens the declared paths and finds out
 * what the kernel lacks. Each worker applies the plan to itself, which takes half a
 * millisecond and cannot be undone.
 *
 * The one rule to remember: descriptors that are open when the sandbox is applied stay
 * usable, so call fw_sandbox_close_files() before.
 */
#ifndef FW_WORKER_SANDBOX_H
#define FW_WORKER_SANDBOX_H

#include <faultwire/error.h>
#include <faultwire/workers.h>

/* What a kernel can do, or what it lacks for one plan. */
struct fw_sandbox_report {
	int landlock_abi; /* 0: none */
	bool has_seccomp;
	bool is_complete;  /* nothing is missing */
	char missing[512]; /* text: "no file rules (Landlock), ..."; "": nothing */
};

/* Asks the kernel what a worker without permissions would lack. Changes nothing. */
void fw_sandbox_probe(struct fw_sandbox_report *ret);

/* The same for the server process; `may_connect`: it may connect to some ports. */
void fw_sandbox_probe_server(bool may_connect, struct fw_sandbox_report *ret);

struct fw_sandbox_plan;

/*
 * In the server. The caller owns the plan (fw_sandbox_plan_free()). It has a descriptor
 * (close-on-exec) that workers inherit by fork. Raises server.sandbox_unavailable
 * (FW_SANDBOX_REQUIRED, and something is missing), an io error for a declared path that
 * cannot be opened, internal.out_of_memory.
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
 * none) and that of the plan (NULL: none). The caller must replace 0, 1 and 2 if they
 * are the server's.
 */
void fw_sandbox_close_files(const struct fw_sandbox_plan *plan, int keep);

/*
 * In the worker, once, after prepare(); it cannot be undone. The process must lead its
 * process group and have one thread (internal.api_misuse). After an error the sandbox is
 * incomplete and the process must exit. RLIMIT_CPU is not set: CPU time is limited per
 * call, not per worker.
 */
FW_NODISCARD fw_error *fw_sandbox_apply(const struct fw_sandbox_plan *plan);

/* Both at once, in the calling process: prepare and apply. */
FW_NODISCARD fw_error *fw_sandbox_enter(const fw_workers_options *options);

#endif
