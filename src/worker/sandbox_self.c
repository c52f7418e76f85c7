/*
 * sandbox_self.c - clears the environment, sets resource limits, drops privileges.
 */
#include "worker/sandbox_impl.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"

/* ---- the environment --------------------------------------------------------- */

static bool is_kept(const struct fw_sandbox_plan *plan, const char *name, size_t len)
{
	static const char *const always[] = { "PATH", "LANG", "LANGUAGE", "TZ" };

	if (len > 3 && memcmp(name, "LC_", 3) == 0)
		return true;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
		if (strlen(always[i]) == len && memcmp(always[i], name, len) == 0)
			return true;
	}
	for (char **kept = plan->environment; kept && *kept; kept++) {
		if (strlen(*kept) == len && memcmp(*kept, name, len) == 0)
			return true;
	}
	return false;
}

/*
 * Variables that the process was started with are above its stack, where they can still
 * be read after clearenv(), for example in /proc/self/environ. Only those are
 * overwritten: others may be in read-only memory.
 */
static void wipe(char *text)
{
	const uintptr_t at = (uintptr_t)text;

	if (at > getauxval(AT_RANDOM) && at < getauxval(AT_EXECFN))
		explicit_bzero(text, strlen(text));
}

fw_error *fw_sandbox_self_clean_environment(const struct fw_sandbox_plan *plan)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;

	/* The list is new; the strings that are kept stay where they are. */
	char **kept = fw__allocate((count + 1) * sizeof *kept);

	if (!kept)
		return fw_raise_internal_out_of_memory();
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_kept(plan, environ[i], strcspn(environ[i], "=")))
			kept[n++] = environ[i];
		else
			wipe(environ[i]);
	}
	kept[n] = NULL;
	(void)clearenv();
	environ = kept; /* never freed */
	return NULL;
}

/* ---- resources ----------------------------------------------------------------- */

/* Lowers a limit; a limit that is lower already stays. */
static fw_error *limit(int resource, uint64_t value, const char *name)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now))
		return fw_error_from_errno(FW_HERE, errno, name);

	const rlim_t most = value < now.rlim_max ? (rlim_t)value : now.rlim_max;
	const struct rlimit wanted = { most, most };

	if (setrlimit((__rlimit_resource_t)resource, &wanted))
		return fw_error_from_errno(FW_HERE, errno, name);
	return NULL;
}

/* Sanitizers map terabytes of memory that they hardly use. */
static bool has_shadow_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
	return true;
#else
	return false;
#endif
#else
	return false;
#endif
}

fw_error *fw_sandbox_self_limit(const struct fw_sandbox_plan *plan)
{
	struct sysinfo info;

	/* Programs such as node reserve much more address space than they use, so for
	 * them the private writable memory is limited instead. */
	if (!has_shadow_memory())
		FW_TRY(limit(plan->may_execute ? RLIMIT_DATA : RLIMIT_AS, plan->memory_bytes,
			     "limit of memory"));
	FW_TRY(limit(RLIMIT_NOFILE, plan->files, "limit of open files"));
	FW_TRY(limit(RLIMIT_FSIZE, plan->file_bytes, "limit of file sizes"));
	FW_TRY(limit(RLIMIT_CORE, 0, "limit of core dumps"));
	/* The kernel counts all processes of the user, and does not limit root. */
	if (sysinfo(&info) == 0)
		FW_TRY(limit(RLIMIT_NPROC, (uint64_t)info.procs + FW_LIMIT_WORKER_PROCESSES,
			     "limit of processes"));
	/* Writing beyond the file size limit is an error and does not end the process. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		return fw_error_from_errno(FW_HERE, errno, "SIGXFSZ");
	return NULL;
}

/* ---- privileges ------------------------------------------------------------------ */

fw_error *fw_sandbox_self_clear_capabilities(bool may_bind)
{
	uint32_t keep = may_bind ? UINT32_C(1) << CAP_NET_BIND_SERVICE : 0;
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	if (keep && syscall(SYS_capget, &header, data) == 0)
		keep &= data[0].effective & data[0].permitted;
	memset(data, 0, sizeof data);
	data[0].effective = data[0].permitted = keep;
	if (syscall(SYS_capset, &header, data))
		return fw_error_from_errno(FW_HERE, errno, "capabilities");
	return NULL;
}

fw_error *fw_sandbox_self_drop_capabilities(bool may_bind)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fw_error_from_errno(FW_HERE, errno, "no_new_privs");

	/* The first two need a capability themselves: a thread without it has nothing
	 * that they could drop. */
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		(void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS,
		    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
			    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		    0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return fw_sandbox_self_clear_capabilities(may_bind);
}

fw_error *fw_sandbox_self_drop_privileges(void)
{
	FW_TRY(fw_sandbox_self_drop_capabilities(false));
	/* Last, because dropping capabilities resets it. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fw_error_from_errno(FW_HERE, errno, "memory of the process");
	return NULL;
}
