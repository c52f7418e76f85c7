/*
 * sandbox.h - what keeps a worker process from everything it was not given.
 *
 * The server prepares a plan once, at start: paths are opened, and what the
 * kernel lacks is known. The nursery completes it: compiling the filter of system
 * calls takes a while, and only workers need it. Each worker applies it to itself,
 * which takes half a millisecond and cannot be undone.
 *
 * The one rule to remember: descriptors that are open when the sandbox closes
 * stay usable, so fw_sandbox_close_files() comes first.
 */
#ifndef FW_WORKER_SANDBOX_H
#define FW_WORKER_SANDBOX_H

#include <faultwire/error.h>
#include <faultwire/server.h>

/* What a kernel can do, or what it lacks for one plan. */
struct fw_sandbox_report {
	int landlock_abi; /* 0: none */
	bool has_seccomp;
	bool is_complete;  /* nothing is missing */
	char missing[512]; /* for people: "no file rules (Landlock), ..."; "": nothing */
};

/* Asks the kernel, for a worker that may do nothing. Changes nothing. */
void fw_sandbox_probe(struct fw_sandbox_report *ret);

/* The same for the server process itself; `may_connect`: to some ports. */
void fw_sandbox_probe_server(bool may_connect, struct fw_sandbox_report *ret);

struct fw_sandbox_plan;

/*
 * In the server. The plan is the caller's, for fw_sandbox_plan_free(); it holds
 * descriptors (close-on-exec) that workers inherit by fork. Raises
 * server.sandbox_unavailable (FW_SANDBOX_REQUIRED, and something is missing),
 * what fw_error_from_errno() makes of a declared path that cannot be opened,
 * internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_sandbox_prepare(const fw_workers_options *options,
					  struct fw_sandbox_plan **ret_plan);
/* Before the first is applied. Raises internal.out_of_memory, io errors. */
FW_NODISCARD fw_error *fw_sandbox_complete(struct fw_sandbox_plan *plan);
/* NULL is a no-op. A worker need not. */
void fw_sandbox_plan_free(struct fw_sandbox_plan *plan);

/* The one descriptor that workers need of it; -1: none. */
int fw_sandbox_plan_file(const struct fw_sandbox_plan *plan);

/* What is missing for this plan. Nothing is, with FW_SANDBOX_OFF. */
const struct fw_sandbox_report *fw_sandbox_plan_report(const struct fw_sandbox_plan *plan);

/*
 * In the worker, soon after fork: closes every descriptor from 3 on but `keep`
 * (-1: none) and those of the plan (NULL: none). 0, 1 and 2 are the caller's
 * business: they must not be the server's.
 */
void fw_sandbox_close_files(const struct fw_sandbox_plan *plan, int keep);

/*
 * In the worker, once, after the caller's prepare(): irrevocable. The process
 * must lead its process group and have one thread, and the plan be complete
 * (internal.api_misuse). After
 * an error it is half closed and can only exit. RLIMIT_CPU is not touched: the
 * time is that of a call, not of the worker.
 */
FW_NODISCARD fw_error *fw_sandbox_apply(const struct fw_sandbox_plan *plan);

/* All of it at once, where milliseconds do not matter: prepare and apply. */
FW_NODISCARD fw_error *fw_sandbox_enter(const fw_workers_options *options);

#endif
