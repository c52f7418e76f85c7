/*
 * sandbox_impl.h - the parts of a plan, each with the file that knows it.
 */
#ifndef FW_WORKER_SANDBOX_IMPL_H
#define FW_WORKER_SANDBOX_IMPL_H

#include <linux/filter.h>

#include "worker/sandbox.h"

struct fw_sandbox_plan {
	struct fw_sandbox_report report;
	fw_sandbox mode;
	bool is_server;  /* for the server process itself, not for workers */
	bool is_applied; /* the server's: its file rules are in force */
	bool may_bind;   /* the server's: a port is still to be bound */
	bool may_connect;
	bool may_execute;
	uint64_t memory_bytes;
	uint64_t file_bytes;
	uint32_t files;
	char **environment;        /* names to keep, NULL at the end */
	int ruleset;               /* Landlock; -1: none */
	struct sock_filter *calls; /* seccomp; NULL: none */
	unsigned short call_count;
};

/* Of `landlock_abi` and `has_seccomp`, the other members. */
void fw_sandbox_judge(struct fw_sandbox_report *report, bool may_connect, bool may_execute);
/* The same for the server process; `may_connect`: to some ports. */
void fw_sandbox_judge_server(struct fw_sandbox_report *report, bool may_connect);

/* ---- sandbox_landlock.c ---- */

/* 0: none. */
int fw_landlock_abi(void);
/* Opens what is declared and makes the rules of it. */
FW_NODISCARD fw_error *fw_landlock_prepare(struct fw_sandbox_plan *plan,
					   const fw_workers_options *options);
/* The same for the server process. */
FW_NODISCARD fw_error *fw_landlock_prepare_server(struct fw_sandbox_plan *plan,
						  const fw_confine_options *options);
FW_NODISCARD fw_error *fw_landlock_apply(const struct fw_sandbox_plan *plan);

/* ---- sandbox_seccomp.c ---- */

bool fw_seccomp_is_there(void);
FW_NODISCARD fw_error *fw_seccomp_prepare(struct fw_sandbox_plan *plan);
/* To the calling thread; for the server process, to all its threads. */
FW_NODISCARD fw_error *fw_seccomp_apply(const struct fw_sandbox_plan *plan);

/* ---- sandbox_self.c: what a process does to itself without either ---- */

FW_NODISCARD fw_error *fw_self_clean_environment(const struct fw_sandbox_plan *plan);
FW_NODISCARD fw_error *fw_self_limit(const struct fw_sandbox_plan *plan);
/* All capabilities of the thread, and the means to get them back; `may_bind`: but
 * for the one that binds ports below 1024. */
FW_NODISCARD fw_error *fw_self_drop_capabilities(bool may_bind);
/* The same, and other processes of this user cannot look into this one. */
FW_NODISCARD fw_error *fw_self_drop_privileges(void);

#endif
