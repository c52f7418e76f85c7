/*
 * sandbox_impl.h - the sandbox plan, and the functions of each file of the sandbox.
 */
#ifndef FW_WORKER_SANDBOX_IMPL_H
#define FW_WORKER_SANDBOX_IMPL_H

#include <linux/filter.h>

#include "worker/sandbox.h"

struct fw_sandbox_plan {
	struct fw_sandbox_report report;
	fw_sandbox mode;
	bool is_server;  /* for the server process itself, not for workers */
	bool is_applied; /* server: its file rules are in force */
	bool may_bind;   /* server: a port is still to be bound */
	bool may_connect;
	bool may_execute;
	bool may_watch;
	uint64_t memory_bytes;
	uint64_t file_bytes;
	uint32_t files;
	char **environment;              /* names to keep, NULL at the end */
	int ruleset;                     /* Landlock; -1: none */
	const struct sock_filter *calls; /* seccomp; NULL: none */
	unsigned short call_count;
};

/* Fills in the other members from `landlock_abi` and `has_seccomp`. */
void fw_sandbox_assess(struct fw_sandbox_report *report, bool may_connect, bool may_execute);
/* The same for the server process; `may_connect`: it may connect to some ports. */
void fw_sandbox_assess_server(struct fw_sandbox_report *report, bool may_connect);

/* ---- sandbox_landlock.c ---- */

/* The version of Landlock; 0: not available. */
int fw_sandbox_landlock_abi(void);
/* Opens the declared paths and makes rules for them. */
FW_NODISCARD fw_error *fw_sandbox_landlock_prepare(struct fw_sandbox_plan *plan,
						   const fw_workers_options *options);
/* The same for the server process. */
FW_NODISCARD fw_error *fw_sandbox_landlock_prepare_server(struct fw_sandbox_plan *plan,
							  const fw_confine_options *options);
FW_NODISCARD fw_error *fw_sandbox_landlock_apply(const struct fw_sandbox_plan *plan);

/* ---- sandbox_seccomp.c ---- */

bool fw_sandbox_seccomp_is_available(void);
/* Selects the filter. */
void fw_sandbox_seccomp_prepare(struct fw_sandbox_plan *plan);
/*
 * From 1.45 on, libuv sets up an io_uring with each loop, and aborts when the filter
 * refuses its use later. After this call the kernel reports that it has no io_uring, and
 * a new loop uses epoll alone. Sets no_new_privs, as the sandbox does. With an older libuv
 * it is a no-op.
 */
void fw_sandbox_seccomp_refuse_io_uring(void);
/* Applies it to the calling thread; in the server process, to all threads. */
FW_NODISCARD fw_error *fw_sandbox_seccomp_apply(const struct fw_sandbox_plan *plan);

/* ---- sandbox_self.c: environment, limits, privileges ---- */

FW_NODISCARD fw_error *fw_sandbox_self_clean_environment(const struct fw_sandbox_plan *plan);
FW_NODISCARD fw_error *fw_sandbox_self_limit(const struct fw_sandbox_plan *plan);
/* Drops all capabilities of the thread, and the means to get them back; `may_bind`:
 * except the one to bind ports below 1024. */
FW_NODISCARD fw_error *fw_sandbox_self_drop_capabilities(bool may_bind);
/* Drops those that the thread can use now; the means to get others are gone already. */
FW_NODISCARD fw_error *fw_sandbox_self_clear_capabilities(bool may_bind);
/* The same, and other processes of this user cannot read the memory of this one. */
FW_NODISCARD fw_error *fw_sandbox_self_drop_privileges(void);

#endif
