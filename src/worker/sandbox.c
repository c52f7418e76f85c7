/*
 * sandbox.c - the plan of a sandbox, and the order in which a worker applies its parts.
 *
 * Two mechanisms overlap on purpose. Landlock checks access to objects (files, ports,
 * processes) and cannot be deceived by names. Seccomp checks system calls: it makes whole
 * parts of the kernel unreachable, and covers what Landlock does not check (changing
 * modes, prlimit() of another process) or does not know on an older kernel.
 */
#include "worker/sandbox_impl.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"

/* ---- what is missing ---------------------------------------------------------- */

static void miss(struct fw_sandbox_report *report, const char *what)
{
	const size_t len = strlen(report->missing);

	(void)snprintf(report->missing + len, sizeof report->missing - len, "%s%s",
		       len ? ", " : "", what);
	report->is_complete = false;
}

void fw_sandbox_assess(struct fw_sandbox_report *report, bool may_connect, bool may_execute)
{
	const int abi = report->landlock_abi;

	report->is_complete = true;
	report->missing[0] = '\0';
	if (!report->has_seccomp)
		miss(report, "no filter of system calls (seccomp)");
	if (abi < 1) {
		miss(report, "no rules for files (Landlock, Linux 5.13)");
	} else if (abi < 3) {
		/* The filter checks truncate() and open(), but cannot check openat2(). */
		miss(report,
		     "no rules for emptying files that may be read (Landlock 3, Linux 6.2)");
	}
	if (abi < 4 && !may_connect && !report->has_seccomp)
		miss(report, "no rules for TCP (Landlock 4, Linux 6.7)");
	if (abi >= 1 && abi < 5)
		miss(report, "no rules for devices (Landlock 5, Linux 6.10)");
	if (abi < 6 && (may_execute || !report->has_seccomp))
		miss(report, "no rules for signals (Landlock 6, Linux 6.12)");
}

void fw_sandbox_assess_server(struct fw_sandbox_report *report, bool may_connect)
{
	fw_sandbox_assess(report, false, false);
	/* If sockets can be made, only Landlock distinguishes ports. */
	if (may_connect && report->has_seccomp && report->landlock_abi < 4)
		miss(report, "no rules for TCP (Landlock 4, Linux 6.7)");
}

static void probe(bool may_connect, bool may_execute, struct fw_sandbox_report *ret)
{
	*ret = (struct fw_sandbox_report){ .landlock_abi = fw_sandbox_landlock_abi(),
					   .has_seccomp = fw_sandbox_seccomp_is_available() };
	fw_sandbox_assess(ret, may_connect, may_execute);
}

void fw_sandbox_probe(struct fw_sandbox_report *ret)
{
	probe(false, false, ret);
}

const struct fw_sandbox_report *fw_sandbox_plan_report(const struct fw_sandbox_plan *plan)
{
	return &plan->report;
}

int fw_sandbox_plan_file(const struct fw_sandbox_plan *plan)
{
	return plan->ruleset;
}

/* ---- the plan -------------------------------------------------------------------- */

static fw_error *copy_names(const char *const *names, char ***ret_copy)
{
	size_t count = 0;
	size_t bytes = 0;

	for (; names && names[count]; count++)
		bytes += strlen(names[count]) + 1;

	/* One allocation: the list, followed by the names. */
	char **copy = fw__allocate((count + 1) * sizeof *copy + bytes);

	if (!copy)
		return fw_raise_internal_out_of_memory();
	char *text = (char *)(copy + count + 1);

	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(names[i]) + 1;

		copy[i] = memcpy(text, names[i], size);
		text += size;
	}
	copy[count] = NULL;
	*ret_copy = copy;
	return NULL;
}

static fw_error *fill(struct fw_sandbox_plan *plan, const fw_workers_options *options)
{
	FW_TRY(copy_names(options->environment, &plan->environment));
	if (plan->mode == FW_SANDBOX_OFF) {
		plan->report.is_complete = true;
		return NULL;
	}
	probe(options->may_connect, options->may_execute, &plan->report);
	if (plan->mode == FW_SANDBOX_REQUIRED && !plan->report.is_complete)
		return fw_raise_server_sandbox_unavailable(plan->report.missing);
	if (plan->report.has_seccomp)
		fw_sandbox_seccomp_prepare(plan);
	return plan->report.landlock_abi ? fw_sandbox_landlock_prepare(plan, options) : NULL;
}

fw_error *fw_sandbox_prepare(const fw_workers_options *options,
			     struct fw_sandbox_plan **ret_plan)
{
	struct fw_sandbox_plan *plan = fw__allocate(sizeof *plan);

	if (!plan)
		return fw_raise_internal_out_of_memory();
	*plan = (struct fw_sandbox_plan){
		.mode = options->sandbox,
		.may_connect = options->may_connect,
		.may_execute = options->may_execute,
		.may_watch = options->may_watch,
		.memory_bytes = options->memory_bytes ? options->memory_bytes
						      : FW_LIMIT_WORKER_MEMORY_BYTES,
		.file_bytes =
			options->file_bytes ? options->file_bytes : FW_LIMIT_WORKER_FILE_BYTES,
		.files = options->files ? options->files : FW_LIMIT_WORKER_FILES,
		.ruleset = -1,
	};
	fw_error *err = fill(plan, options);

	if (err) {
		fw_sandbox_plan_free(plan);
		return err;
	}
	*ret_plan = plan;
	return NULL;
}

void fw_sandbox_plan_free(struct fw_sandbox_plan *plan)
{
	if (!plan)
		return;
	if (plan->ruleset >= 0)
		(void)close(plan->ruleset);
	fw__release(plan->environment);
	fw__release(plan);
}

/* ---- in the worker ------------------------------------------------------------------ */

static void close_range_or_each(unsigned first, unsigned last)
{
	if (first > last)
		return;
	if (syscall(SYS_close_range, first, last, 0U) == 0)
		return;

	/* Linux before 5.9, or a filter of another program refuses it. */
	const long most = sysconf(_SC_OPEN_MAX);

	for (unsigned fd = first; fd <= last && fd < (most > 0 ? (unsigned)most : 65536U); fd++)
		(void)close((int)fd);
}

void fw_sandbox_close_files(const struct fw_sandbox_plan *plan, int keep)
{
	const int ruleset = plan ? plan->ruleset : -1;
	const int low = keep < ruleset ? keep : ruleset;
	const int high = keep < ruleset ? ruleset : keep;
	unsigned next = 3;

	if (low >= 3) {
		close_range_or_each(next, (unsigned)low - 1);
		next = (unsigned)low + 1;
	}
	if (high >= 3 && high != low) {
		close_range_or_each(next, (unsigned)high - 1);
		next = (unsigned)high + 1;
	}
	close_range_or_each(next, UINT_MAX);
}

fw_error *fw_sandbox_apply(const struct fw_sandbox_plan *plan)
{
	/* Otherwise it could send signals to other processes of its group. */
	if (getpgrp() != getpid())
		return fw_raise_internal_api_misuse(
			"fw_sandbox_apply", "the worker does not lead its process group");
	if (plan->mode == FW_SANDBOX_OFF)
		return fw_sandbox_self_limit(plan);

	/* This changes nothing, but fails if there is a second thread, which would stay
	 * unconfined. */
	if (unshare(CLONE_THREAD) && errno == EINVAL)
		return fw_raise_internal_api_misuse("fw_sandbox_apply",
						    "the worker has more than one thread");
	FW_TRY(fw_sandbox_self_clean_environment(plan));
	FW_TRY(fw_sandbox_self_limit(plan));
	FW_TRY(fw_sandbox_self_drop_privileges());
	FW_TRY(fw_sandbox_landlock_apply(plan));
	return fw_sandbox_seccomp_apply(plan);
}

fw_error *fw_sandbox_enter(const fw_workers_options *options)
{
	struct fw_sandbox_plan *plan = NULL;

	FW_TRY(fw_sandbox_prepare(options, &plan));
	assert(plan);
	fw_error *err = fw_sandbox_apply(plan);

	if (!err)
		plan->ruleset = -1; /* closed by fw_sandbox_landlock_apply() */
	fw_sandbox_plan_free(plan);
	return err;
}
