/*
 * sandbox_seccomp.c - applies the filters of system calls; sandbox_filter.c has their
 * rules, which were compiled when the library was built.
 */
#include "worker/sandbox_impl.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <uv.h>

#include <faultwire/raw.h>

#include "worker/sandbox_filter.h"
#include "sandbox_filters.h" /* made by the build */

/* The rules cover system calls up to this number (Linux 6.18). */
enum { NR_NEWEST = 469 };

bool fw_sandbox_seccomp_is_available(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

void fw_sandbox_seccomp_prepare(struct fw_sandbox_plan *plan)
{
	const struct fw_sandbox_filter_kind kind = { .is_server = plan->is_server,
						     .may_connect = plan->may_connect,
						     .may_execute = plan->may_execute,
						     .may_watch = plan->may_watch };
	const unsigned index = fw_sandbox_filter_index(&kind);

	plan->calls = filters[index].code;
	plan->call_count = filters[index].count;
}

void fw_sandbox_seccomp_refuse_io_uring(void)
{
	enum { FIRST_WITH_IO_URING = 0x012d00 }; /* libuv 1.45.0 */
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof code / sizeof *code,
					    (struct sock_filter *)code };

	/* Without seccomp the sandbox cannot refuse io_uring later, either. */
	if (uv_version() >= FIRST_WITH_IO_URING && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &program);
}

/* ---- in the process ------------------------------------------------------------------ */

static fw_error *install(const struct fw_sandbox_plan *plan, const struct sock_filter *code,
			 unsigned short count)
{
	const struct sock_fprog program = { count, (struct sock_filter *)code };
	/* The server process has other threads already. */
	const unsigned flags = plan->is_server ? SECCOMP_FILTER_FLAG_TSYNC : 0;
	const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	if (result == 0)
		return NULL;
	/* A positive result is the id of a thread that has a filter of its own. */
	return fw_error_from_errno(FW_HERE, result < 0 ? errno : ESRCH,
				   "filter of system calls");
}

#define WORD(member) ((uint32_t)offsetof(struct seccomp_data, member))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_WORD(member) WORD(member)
#else
#define LOW_WORD(member) (WORD(member) + 4)
#endif
#define ERRNO(errnum) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Jumps are relative to the next instruction. */
#define IF(op, value, yes, no) BPF_JUMP(BPF_JMP | (op) | BPF_K, value, yes, no)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)

/*
 * What libseccomp cannot express: system calls with numbers above all known ones, and
 * signals to other processes, because our process id is known only now.
 */
static fw_error *install_small_filter(const struct fw_sandbox_plan *plan)
{
	struct sock_filter code[] = {
		/* Another architecture: the other filter ends the process. */
		LOAD(WORD(arch)),
		IF(BPF_JEQ, NATIVE_ARCH, 1, 0),
		ALLOW,
		LOAD(WORD(nr)),
		IF(BPF_JGT, NR_NEWEST, 0, 1),
		ERRNO(ENOSYS),
		/* From here on only without may_execute; see below. */
		IF(BPF_JEQ, SYS_kill, 5, 0),
		IF(BPF_JEQ, SYS_tkill, 4, 0),
		IF(BPF_JEQ, SYS_tgkill, 3, 0),
		IF(BPF_JEQ, SYS_rt_sigqueueinfo, 2, 0),
		IF(BPF_JEQ, SYS_rt_tgsigqueueinfo, 1, 0),
		ALLOW,
		LOAD(LOW_WORD(args[0])),
		IF(BPF_JEQ, (uint32_t)getpid(), 0, 1),
		ALLOW,
		ERRNO(EPERM),
	};

	/* A shell has to be able to kill its children. Then only Landlock, which knows
	 * its own processes, restricts signals. */
	if (plan->may_execute)
		code[6] = (struct sock_filter)ALLOW;
	return install(plan, code, sizeof code / sizeof *code);
}

fw_error *fw_sandbox_seccomp_apply(const struct fw_sandbox_plan *plan)
{
	if (!plan->calls)
		return NULL;
	FW_TRY(install_small_filter(plan));
	return install(plan, plan->calls, plan->call_count);
}
