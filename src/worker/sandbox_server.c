/*
 * sandbox_server.c - confines the server process itself, which reads untrusted data.
 *
 * This is done in two steps. Landlock applies to the calling thread and to threads that
 * it starts later, so it is applied before the first thread is started; its rules allow
 * what still has to be opened during start-up (the audit log, the port). The filter of
 * system calls can be applied to all threads at once, so it comes last: by then the port
 * is bound, and bind() can be refused.
 *
 * Refused calls fail with EPERM or EACCES and do not end the process: libraries try
 * features (io_uring, AF_NETLINK) and fall back to others.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/mem.h"
#include "core/options.h"
#include "mcp/confine.h"
#include "mcp/page.h"
#include "worker/sandbox_impl.h"

struct confine {
	struct fw_confine base;
	struct fw_sandbox_plan plan;
};

static fw_error *limit_files(struct fw_confine *base)
{
	struct fw_sandbox_plan *plan = &((struct confine *)base)->plan;
	fw_error *err;

	if (plan->is_applied)
		return NULL;
	/* This changes nothing, but fails if there is a second thread, which would stay
	 * unconfined. */
	if (unshare(CLONE_THREAD) && errno == EINVAL)
		return fw_raise_internal_api_misuse("fw_server_confine",
						    "the process has started a thread");
	FW_TRY(fw_sandbox_self_drop_capabilities(plan->may_bind));
	fw_sandbox_seccomp_refuse_io_uring();
	err = fw_sandbox_landlock_apply(plan);
	plan->is_applied = !err;
	plan->ruleset = err ? plan->ruleset : -1; /* closed by fw_sandbox_landlock_apply() */
	return err;
}

static fw_error *limit_calls(struct fw_confine *base)
{
	const struct fw_sandbox_plan *plan = &((struct confine *)base)->plan;

	/* Other threads may keep the capability to bind low ports, but after this no
	 * thread can call bind(). */
	if (plan->may_bind)
		FW_TRY(fw_sandbox_self_clear_capabilities(false));
	return fw_sandbox_seccomp_apply(plan);
}

static void free_confine(struct fw_confine *base)
{
	struct confine *confine = (struct confine *)base;

	if (confine->plan.ruleset >= 0)
		(void)close(confine->plan.ruleset);
	fw__release(confine);
}

/* A line for /readyz. A missing feature does not make the server unready. */
static bool check(void *ctx, char *text, size_t size)
{
	const struct confine *confine = ctx;

	if (!confine->plan.report.is_complete)
		(void)snprintf(text, size, "sandbox: server: %s", confine->plan.report.missing);
	return true;
}

void fw_sandbox_probe_server(bool may_connect, struct fw_sandbox_report *ret)
{
	*ret = (struct fw_sandbox_report){ .landlock_abi = fw_sandbox_landlock_abi(),
					   .has_seccomp = fw_sandbox_seccomp_is_available() };
	fw_sandbox_assess_server(ret, may_connect);
}

/* Asks the kernel, makes the Landlock rules and selects the filter. */
static fw_error *fill(struct fw_sandbox_plan *plan, const fw_confine_options *options)
{
	struct fw_sandbox_report *report = &plan->report;

	fw_sandbox_probe_server(plan->may_connect, report);
	if (plan->mode == FW_SANDBOX_REQUIRED && !report->is_complete)
		return fw_raise_server_sandbox_unavailable(report->missing);
	if (report->landlock_abi)
		FW_TRY(fw_sandbox_landlock_prepare_server(plan, options));
	if (report->has_seccomp)
		fw_sandbox_seccomp_prepare(plan);
	return NULL;
}

fw_error *fw_server_confine(fw_server *server, const fw_confine_options *options)
{
	fw_confine_options known = FW_CONFINE_INIT;
	struct confine *confine;
	fw_error *err;

	if (!server || !options)
		return fw_raise_internal_api_misuse("fw_server_confine", "NULL argument");
	FW_TRY(fw_options_read("fw_server_confine", options, &known, sizeof(known)));
	if (fw_server__cannot_confine(server))
		return fw_raise_internal_api_misuse("fw_server_confine",
						    "once, before fw_server_prepare()");
	if (known.sandbox == FW_SANDBOX_OFF)
		return NULL;
	confine = fw__allocate(sizeof *confine);
	if (!confine)
		return fw_raise_internal_out_of_memory();
	*confine = (struct confine){
		.base = { limit_files, limit_calls, free_confine },
		.plan = { .mode = known.sandbox,
			  .is_server = true,
			  .may_connect = known.connect_ports != NULL,
			  .may_bind = known.listen_port != 0,
			  .ruleset = -1 },
	};
	err = fill(&confine->plan, &known);
	if (!err)
		err = fw_server__add_check(server, check, confine);
	if (err) {
		free_confine(&confine->base);
		return err;
	}
	fw_server__set_confine(server, &confine->base);
	return NULL;
}
