/*
 * forkserver.h - the process that forks the workers of a pool (the "fork server").
 *
 * The server has threads and handles untrusted data, so it does not fork workers itself.
 * Before its first call it forks the fork server, a copy of itself with one thread. The
 * fork server forks workers on request, and waits for them and reports their ends. It
 * exits when the server closes its end of the control socket.
 */
#ifndef FW_WORKER_FORKSERVER_H
#define FW_WORKER_FORKSERVER_H

#include <sys/types.h>

#include <faultwire/serve.h>
#include <faultwire/workers.h>

#include "worker/page.h"
#include "worker/sandbox.h"

enum fw_worker_order_kind { FW_WORKER_ORDER_FORK = 1, FW_WORKER_ORDER_KILL };

/* From the server to the fork server. FW_WORKER_ORDER_FORK carries the worker's socket
 * and, if the server keeps a log, the write end of its stderr pipe. */
struct fw_worker_order {
	uint32_t kind;
	uint32_t slot;
	uint64_t generation;
};

enum fw_worker_report_kind {
	FW_WORKER_REPORT_DIED = 1,
	FW_WORKER_REPORT_KILLED,     /* it was still alive when the order to kill it came */
	FW_WORKER_REPORT_NOT_FORKED, /* `status` is an errno */
};

/* From the fork server to the server. */
struct fw_worker_report {
	uint32_t kind;
	uint32_t slot;
	uint64_t generation;
	int32_t pid;
	int32_t status; /* as wait() gives it */
};

/* The server's view of its fork server. */
struct fw_worker_forkserver {
	pid_t pid; /* 0: none */
	int control;
	bool is_kept; /* forked by the keeper, so not our child */
};

/* The facts about a pool that its fork server needs. */
struct fw_worker_forkserver_setup {
	const struct fw_worker_pages *pages;
	const fw_workers_options *options;
	struct fw_sandbox_plan *plan;
	fw_server *server;
};

/* ---- forkserver.c: in the server ---- */

/* Forks a fork server. Raises io errors (fork, socketpair). */
FW_NODISCARD fw_error *fw_worker_forkserver_start(
	struct fw_worker_forkserver *forkserver,
	const struct fw_worker_forkserver_setup *setup);
/* Sends an order. `socket` and `output` may be -1, and the caller still owns them. False:
 * it could not be sent. */
bool fw_worker_forkserver_order(const struct fw_worker_forkserver *forkserver,
				const struct fw_worker_order *order, int socket, int output);
/* Ends the fork server and all workers with their descendants, and waits for that. */
void fw_worker_forkserver_end(struct fw_worker_forkserver *forkserver);
/* Waits for a child process that was asked to exit, and kills it after one second. */
void fw_worker_forkserver_await_end(pid_t pid);

/* ---- forkserver_process.c: in the forked process ---- */

/* Serves orders until `control` ends or `parent` dies. */
_Noreturn void fw_worker_forkserver_run(const struct fw_worker_forkserver_setup *setup,
					int control, pid_t parent);

/* ---- descriptors.c ---- */

/* fork(). In the child, all inherited descriptors except `control` and that of the
 * sandbox plan are closed, and the standard ones are replaced. */
pid_t fw_worker_fork_clean(const struct fw_sandbox_plan *plan, int control);

#endif
