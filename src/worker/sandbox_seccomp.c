/*
 * sandbox_seccomp.c - the filter of system calls.
 *
 * A list of refusals, not of permissions: handlers are other people's code, and
 * a call that nobody thought of must fail in the sandbox's tests and not on a
 * customer's machine. What no list can hold, the calls of kernels to come, is
 * refused by number. A refused call fails with EPERM and is never fatal, so
 * that a handler can say what it missed.
 *
 * Arguments that the kernel takes as 32 bits are compared as such, or against
 * zero: a value with high bits set must not slip through.
 */
#include "worker/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/mem.h"

/* Newer than the library's headers; the same on every machine. */
enum {
	NR_clone3 = 435,
	NR_fchmodat2 = 452,
	NR_statmount = 457,
	NR_listmount = 458,
	NR_setxattrat = 463,
	NR_getxattrat = 464,
	NR_listxattrat = 465,
	NR_removexattrat = 466,
	NR_open_tree_attr = 467,
	NR_file_setattr = 469,
	/* What is above was not looked at (Linux 6.18). */
	NR_NEWEST = 469,
};

enum {
	ALWAYS = 0,
	NO_EXECUTE = 1, /* unless the pool may execute */
	NO_CONNECT = 2,
	NO_SERVER = 4,  /* with NO_CONNECT: nor the server process, if it may connect */
	WORKER = 8,     /* of workers only */
	SERVER = 16,    /* of the server process only */
	NO_TRACER = 32, /* unless the leak check of a sanitizer needs it, at the end */
};

/* At exit, the leak checker forks a process that traces all threads. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_LEAK_CHECK true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_CHECK true
#endif
#endif
#ifndef HAS_LEAK_CHECK
#define HAS_LEAK_CHECK false
#endif

struct refusal {
	int call;
	unsigned when;
	int errnum;
	unsigned count;
	struct scmp_arg_cmp compare[2];
};

#define LOW UINT64_C(0xffffffff)
#define REFUSE(name, when)                      \
	{                                       \
		SCMP_SYS(name), when, EPERM, 0, \
		{                               \
			{                       \
				0               \
			}                       \
		}                               \
	}
#define REFUSE_NR(nr, when, errnum)  \
	{                            \
		nr, when, errnum, 0, \
		{                    \
			{            \
				0    \
			}            \
		}                    \
	}
#define ABSENT(name)                                   \
	{                                              \
		SCMP_SYS(name), ALWAYS, EOPNOTSUPP, 0, \
		{                                      \
			{                              \
				0                      \
			}                              \
		}                                      \
	}
/* If the argument `index` has just these of the bits of `mask`. */
#define REFUSE_BITS(name, when, index, mask, bits)                    \
	{                                                             \
		SCMP_SYS(name), when, EPERM, 1,                       \
		{                                                     \
			{                                             \
				index, SCMP_CMP_MASKED_EQ, mask, bits \
			}                                             \
		}                                                     \
	}
#define REFUSE_UNLESS(name, when, index, value)              \
	{                                                    \
		SCMP_SYS(name), when, EPERM, 1,              \
		{                                            \
			{                                    \
				index, SCMP_CMP_NE, value, 0 \
			}                                    \
		}                                            \
	}

static const struct refusal refusals[] = {
	/* Other processes: their memory, files, limits, priorities. */
	REFUSE(ptrace, NO_TRACER),
	REFUSE(process_vm_readv, ALWAYS),
	REFUSE(process_vm_writev, ALWAYS),
	REFUSE(process_madvise, ALWAYS),
	REFUSE(process_mrelease, ALWAYS),
	REFUSE(pidfd_open, ALWAYS),
	REFUSE(pidfd_getfd, ALWAYS),
	REFUSE(pidfd_send_signal, ALWAYS),
	REFUSE(kcmp, ALWAYS),
	REFUSE(move_pages, ALWAYS),
	REFUSE(migrate_pages, ALWAYS),
	REFUSE_UNLESS(prlimit64, ALWAYS, 0, 0),
	REFUSE_UNLESS(sched_setscheduler, ALWAYS, 0, 0),
	REFUSE_UNLESS(sched_setparam, ALWAYS, 0, 0),
	REFUSE_UNLESS(sched_setattr, ALWAYS, 0, 0),
	REFUSE_UNLESS(sched_setaffinity, ALWAYS, 0, 0),
	REFUSE_UNLESS(setpriority, ALWAYS, 0, PRIO_PROCESS),
	REFUSE_UNLESS(setpriority, ALWAYS, 1, 0),
	REFUSE_UNLESS(ioprio_set, ALWAYS, 0, IOPRIO_WHO_PROCESS),
	REFUSE_UNLESS(ioprio_set, ALWAYS, 1, 0),
	/* A signal to whoever owns a descriptor may reach the server. */
	REFUSE_BITS(fcntl, ALWAYS, 1, LOW, F_SETOWN),
	REFUSE_BITS(fcntl, ALWAYS, 1, LOW, F_SETOWN_EX),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, FIOSETOWN),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, SIOCSPGRP),
	/* It dies with the server, and with its group. */
	{ SCMP_SYS(prctl),
	  ALWAYS,
	  EPERM,
	  2,
	  { { 0, SCMP_CMP_MASKED_EQ, LOW, PR_SET_PDEATHSIG },
	    { 1, SCMP_CMP_NE, SIGKILL, 0 } } },
	REFUSE(setsid, ALWAYS),
	REFUSE(setpgid, ALWAYS),

	/* Other views of the machine: mounts, roots, namespaces. */
	REFUSE(mount, ALWAYS),
	REFUSE(umount, ALWAYS),
	REFUSE(umount2, ALWAYS),
	REFUSE(pivot_root, ALWAYS),
	REFUSE(chroot, ALWAYS),
	REFUSE(move_mount, ALWAYS),
	REFUSE(open_tree, ALWAYS),
	REFUSE_NR(NR_open_tree_attr, ALWAYS, EPERM),
	REFUSE(fsopen, ALWAYS),
	REFUSE(fsconfig, ALWAYS),
	REFUSE(fsmount, ALWAYS),
	REFUSE(fspick, ALWAYS),
	REFUSE(mount_setattr, ALWAYS),
	REFUSE(unshare, ALWAYS),
	REFUSE(setns, ALWAYS),
	REFUSE_NR(NR_statmount, NO_EXECUTE, EPERM),
	REFUSE_NR(NR_listmount, NO_EXECUTE, EPERM),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWNS, CLONE_NEWNS),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWCGROUP, CLONE_NEWCGROUP),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWUTS, CLONE_NEWUTS),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWIPC, CLONE_NEWIPC),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWUSER, CLONE_NEWUSER),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWPID, CLONE_NEWPID),
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_NEWNET, CLONE_NEWNET),
	/* A child of whoever made the worker. */
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_PARENT, CLONE_PARENT),
	/* Its flags are behind a pointer. The C library then uses clone(). */
	REFUSE_NR(NR_clone3, ALWAYS, ENOSYS),
	REFUSE_UNLESS(personality, ALWAYS, 0, LOW),

	/* The machine itself. */
	REFUSE(reboot, ALWAYS),
	REFUSE(kexec_load, ALWAYS),
	REFUSE(kexec_file_load, ALWAYS),
	REFUSE(init_module, ALWAYS),
	REFUSE(finit_module, ALWAYS),
	REFUSE(delete_module, ALWAYS),
	REFUSE(swapon, ALWAYS),
	REFUSE(swapoff, ALWAYS),
	REFUSE(acct, ALWAYS),
	REFUSE(quotactl, ALWAYS),
	REFUSE(quotactl_fd, ALWAYS),
	REFUSE(settimeofday, ALWAYS),
	REFUSE(stime, ALWAYS),
	REFUSE(clock_settime, ALWAYS),
	REFUSE(clock_adjtime, ALWAYS),
	REFUSE(adjtimex, ALWAYS),
	REFUSE(sethostname, ALWAYS),
	REFUSE(setdomainname, ALWAYS),
	REFUSE(syslog, ALWAYS),
	REFUSE(vhangup, ALWAYS),
	REFUSE(iopl, ALWAYS),
	REFUSE(ioperm, ALWAYS),
	REFUSE(modify_ldt, ALWAYS),
	REFUSE(nfsservctl, ALWAYS),
	REFUSE(uselib, ALWAYS),

	/* Parts of the kernel that attacks begin in, and handlers do not need. */
	REFUSE(bpf, ALWAYS),
	REFUSE(perf_event_open, ALWAYS),
	REFUSE(userfaultfd, ALWAYS),
	REFUSE(io_uring_setup, ALWAYS),
	REFUSE(io_uring_enter, ALWAYS),
	REFUSE(io_uring_register, ALWAYS),
	REFUSE(add_key, ALWAYS),
	REFUSE(request_key, ALWAYS),
	REFUSE(keyctl, ALWAYS),
	REFUSE(fanotify_init, ALWAYS),
	REFUSE(fanotify_mark, ALWAYS),
	REFUSE(lookup_dcookie, ALWAYS),
	/* Files by number, past all paths. */
	REFUSE(open_by_handle_at, ALWAYS),
	REFUSE(name_to_handle_at, ALWAYS),
	/* Typing into a terminal. */
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, TIOCSTI),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, TIOCLINUX),

	/* What Landlock does not look at: owners, modes, times, attributes. A
	 * mode may be changed by descriptor, which had to be opened. Compilers
	 * and archivers cannot do without. */
	REFUSE(chown, NO_EXECUTE),
	REFUSE(lchown, NO_EXECUTE),
	REFUSE(fchown, NO_EXECUTE),
	REFUSE(fchownat, NO_EXECUTE),
	REFUSE_BITS(chmod, ALWAYS, 1, S_ISUID, S_ISUID),
	REFUSE_BITS(chmod, ALWAYS, 1, S_ISGID, S_ISGID),
	REFUSE_BITS(fchmod, ALWAYS, 1, S_ISUID, S_ISUID),
	REFUSE_BITS(fchmod, ALWAYS, 1, S_ISGID, S_ISGID),
	REFUSE_BITS(fchmodat, ALWAYS, 2, S_ISUID, S_ISUID),
	REFUSE_BITS(fchmodat, ALWAYS, 2, S_ISGID, S_ISGID),
	REFUSE(chmod, NO_EXECUTE),
	REFUSE(fchmodat, NO_EXECUTE),
	/* The C library then does it in other ways. */
	REFUSE_NR(NR_fchmodat2, ALWAYS, ENOSYS),
	REFUSE(utime, NO_EXECUTE),
	REFUSE(utimes, NO_EXECUTE),
	REFUSE(futimesat, NO_EXECUTE),
	REFUSE_UNLESS(utimensat, NO_EXECUTE, 1, 0),
	REFUSE(inotify_add_watch, NO_EXECUTE),
	ABSENT(setxattr),
	ABSENT(lsetxattr),
	ABSENT(fsetxattr),
	ABSENT(getxattr),
	ABSENT(lgetxattr),
	ABSENT(fgetxattr),
	ABSENT(listxattr),
	ABSENT(llistxattr),
	ABSENT(flistxattr),
	ABSENT(removexattr),
	ABSENT(lremovexattr),
	ABSENT(fremovexattr),
	REFUSE_NR(NR_setxattrat, ALWAYS, EOPNOTSUPP),
	REFUSE_NR(NR_getxattrat, ALWAYS, EOPNOTSUPP),
	REFUSE_NR(NR_listxattrat, ALWAYS, EOPNOTSUPP),
	REFUSE_NR(NR_removexattrat, ALWAYS, EOPNOTSUPP),
	REFUSE_NR(NR_file_setattr, ALWAYS, EOPNOTSUPP),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, FS_IOC_SETFLAGS),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, FS_IOC_FSSETXATTR),
	/* Emptying what may only be read: Landlock's since its third version. */
	REFUSE_BITS(open, ALWAYS, 1, O_ACCMODE | O_TRUNC, O_RDONLY | O_TRUNC),
	REFUSE_BITS(openat, ALWAYS, 2, O_ACCMODE | O_TRUNC, O_RDONLY | O_TRUNC),

	/* Programs and processes. Threads are not asked about. */
	REFUSE(execve, NO_EXECUTE),
	REFUSE(execveat, NO_EXECUTE),
	REFUSE(fork, NO_EXECUTE),
	REFUSE(vfork, NO_EXECUTE),
	REFUSE_BITS(clone, NO_EXECUTE | NO_TRACER, 0, CLONE_THREAD, 0),

	/* Sockets. Without connections a pair is left, and of those the kinds
	 * that cannot send to an address. */
	REFUSE(socket, NO_CONNECT),
	REFUSE(connect, NO_CONNECT),
	REFUSE(bind, NO_CONNECT | NO_SERVER),
	REFUSE(listen, NO_CONNECT | NO_SERVER),
	REFUSE(accept, NO_CONNECT | WORKER),
	REFUSE(accept4, NO_CONNECT | WORKER),
	REFUSE_UNLESS(sendto, NO_CONNECT, 4, 0),
	REFUSE_UNLESS(socketpair, NO_CONNECT | NO_SERVER, 0, AF_UNIX),
	REFUSE_BITS(socketpair, NO_CONNECT | NO_SERVER, 1, 15, SOCK_DGRAM),
	REFUSE_BITS(socketpair, NO_CONNECT | NO_SERVER, 1, 15, SOCK_RAW),
	REFUSE_BITS(socketpair, NO_CONNECT | NO_SERVER, 1, 15, SOCK_RDM),
	/* Memory and queues that other processes share by name or number. */
	REFUSE(shmget, NO_CONNECT | NO_SERVER),
	REFUSE(shmat, NO_CONNECT | NO_SERVER),
	REFUSE(shmctl, NO_CONNECT | NO_SERVER),
	REFUSE(semget, NO_CONNECT | NO_SERVER),
	REFUSE(semop, NO_CONNECT | NO_SERVER),
	REFUSE(semtimedop, NO_CONNECT | NO_SERVER),
	REFUSE(semctl, NO_CONNECT | NO_SERVER),
	REFUSE(msgget, NO_CONNECT | NO_SERVER),
	REFUSE(msgsnd, NO_CONNECT | NO_SERVER),
	REFUSE(msgrcv, NO_CONNECT | NO_SERVER),
	REFUSE(msgctl, NO_CONNECT | NO_SERVER),
	REFUSE(mq_open, NO_CONNECT | NO_SERVER),
	REFUSE(mq_unlink, NO_CONNECT | NO_SERVER),

	/* The server process runs no code but what is in files: no page becomes
	 * executable that was written before. Libraries can still be loaded. */
	REFUSE_BITS(mprotect, SERVER, 2, PROT_EXEC, PROT_EXEC),
	REFUSE_BITS(pkey_mprotect, SERVER, 2, PROT_EXEC, PROT_EXEC),
	REFUSE_BITS(mmap, SERVER, 2, PROT_EXEC | PROT_WRITE, PROT_EXEC | PROT_WRITE),
	{ SCMP_SYS(mmap),
	  SERVER,
	  EPERM,
	  2,
	  { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC },
	    { 3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS } } },
	/* Connecting by sending, which Landlock does not look at. */
	REFUSE_BITS(sendto, SERVER, 3, MSG_FASTOPEN, MSG_FASTOPEN),
	REFUSE_BITS(sendmsg, SERVER, 2, MSG_FASTOPEN, MSG_FASTOPEN),
	REFUSE_BITS(sendmmsg, SERVER, 3, MSG_FASTOPEN, MSG_FASTOPEN),
};

/* Families of those that may connect. AF_NETLINK is for looking up names; the
 * C library can do without, so the server process has neither it nor AF_UNIX,
 * behind which other programs of this machine take orders. */
static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
static const int server_families[] = { AF_INET, AF_INET6 };

/* ---- making it -------------------------------------------------------------------- */

bool fw_seccomp_is_there(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

static bool applies(const struct fw_sandbox_plan *plan, unsigned when)
{
	if ((when & NO_EXECUTE) && plan->may_execute)
		return false;
	if ((when & NO_CONNECT) && plan->may_connect &&
	    !(plan->is_server && (when & NO_SERVER)))
		return false;
	if ((when & NO_TRACER) && plan->is_server && HAS_LEAK_CHECK)
		return false;
	return !(when & (plan->is_server ? WORKER : SERVER));
}

static bool is_family(const struct fw_sandbox_plan *plan, int family)
{
	const int *known = plan->is_server ? server_families : families;
	const size_t count = plan->is_server ? sizeof server_families / sizeof *known
					     : sizeof families / sizeof *known;

	for (size_t i = 0; i < count; i++)
		if (known[i] == family)
			return true;
	return false;
}

/* The server process has streams and datagrams, the latter to look up names. */
static int refuse_types(scmp_filter_ctx filter)
{
	enum { TYPES = 16 };
	int failed = 0;

	for (unsigned type = 0; !failed && type < TYPES; type++)
		if (type != SOCK_STREAM && type != SOCK_DGRAM)
			failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
						  SCMP_SYS(socket), 1,
						  SCMP_A1(SCMP_CMP_MASKED_EQ, TYPES - 1, type));
	return failed;
}

static int refuse_families(const struct fw_sandbox_plan *plan, scmp_filter_ctx filter)
{
	const uint32_t action = SCMP_ACT_ERRNO(EAFNOSUPPORT);

	for (int family = 0; family <= AF_NETLINK; family++) {
		if (is_family(plan, family))
			continue;
		const int failed = seccomp_rule_add(
			filter, action, SCMP_SYS(socket), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, LOW, (scmp_datum_t)family));

		if (failed)
			return failed;
	}
	return seccomp_rule_add(filter, action, SCMP_SYS(socket), 1,
				SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
}

/* 0, or a negative errno. */
static int add_rules(const struct fw_sandbox_plan *plan, scmp_filter_ctx filter)
{
	/* Programs for another machine type: they cannot be checked by number. */
	int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	/* A search by halves; only speed depends on it. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; !failed && i < sizeof refusals / sizeof *refusals; i++) {
		const struct refusal *row = &refusals[i];

		if (applies(plan, row->when))
			failed = seccomp_rule_add_array(filter,
							SCMP_ACT_ERRNO((uint16_t)row->errnum),
							row->call, row->count, row->compare);
	}
	if (!failed && plan->may_connect)
		failed = refuse_families(plan, filter);
	if (!failed && plan->may_connect && plan->is_server)
		failed = refuse_types(filter);
	return failed;
}

/* The library writes its program to a descriptor and nowhere else. */
static int read_program(struct fw_sandbox_plan *plan, int file)
{
	struct stat stat;

	if (fstat(file, &stat))
		return -errno;

	const size_t size = (size_t)stat.st_size;

	if (size / sizeof *plan->calls > BPF_MAXINSNS)
		return -E2BIG;
	plan->calls = fw__allocate(size ? size : 1);
	if (!plan->calls)
		return -ENOMEM;
	if (pread(file, plan->calls, size, 0) != (ssize_t)size)
		return -EIO;
	plan->call_count = (unsigned short)(size / sizeof *plan->calls);
	return 0;
}

fw_error *fw_seccomp_prepare(struct fw_sandbox_plan *plan)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const int file = memfd_create("seccomp", MFD_CLOEXEC);
	int failed = file < 0 ? -errno : filter ? 0 : -ENOMEM;

	if (!failed)
		failed = add_rules(plan, filter);
	if (!failed)
		failed = seccomp_export_bpf(filter, file);
	if (!failed)
		failed = read_program(plan, file);
	if (file >= 0)
		(void)close(file);
	seccomp_release(filter);
	return failed ? fw_error_from_errno(FW_HERE, -failed, "filter of system calls") : NULL;
}

/* ---- in the process ------------------------------------------------------------------ */

static fw_error *install(const struct fw_sandbox_plan *plan, struct sock_filter *code,
			 unsigned short count)
{
	const struct sock_fprog program = { count, code };
	/* The server process has other threads by then. */
	const unsigned flags = plan->is_server ? SECCOMP_FILTER_FLAG_TSYNC : 0;
	const long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	if (result == 0)
		return NULL;
	/* With that flag, the id of a thread that has a filter of its own. */
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
/* Jumps count from the next line. */
#define IF(op, value, yes, no) BPF_JUMP(BPF_JMP | (op) | BPF_K, value, yes, no)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)

/*
 * What the library cannot say: calls with a number above all that are known,
 * and signals to others than oneself, whose number is known only here.
 */
static fw_error *install_small_filter(const struct fw_sandbox_plan *plan)
{
	struct sock_filter code[] = {
		/* Another machine type: the other filter's. */
		LOAD(WORD(arch)),
		IF(BPF_JEQ, seccomp_arch_native(), 1, 0),
		ALLOW,
		LOAD(WORD(nr)),
		IF(BPF_JGT, NR_NEWEST, 0, 1),
		ERRNO(ENOSYS),
		/* From here on without may_execute alone; see below. */
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

	/* A shell has to be able to end its children: then only Landlock, which
	 * knows whose they are, restrains signals. */
	if (plan->may_execute)
		code[6] = (struct sock_filter)ALLOW;
	return install(plan, code, sizeof code / sizeof *code);
}

fw_error *fw_seccomp_apply(const struct fw_sandbox_plan *plan)
{
	if (!plan->calls)
		return NULL;
	FW_TRY(install_small_filter(plan));
	return install(plan, plan->calls, plan->call_count);
}
