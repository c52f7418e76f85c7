/*
 * sandbox_filter.c - the rules for system calls, compiled to BPF by libseccomp.
 *
 * This is a list of refusals and not of permissions: handlers are third-party code, and a
 * call that was not considered should fail in the sandbox's tests and not on a user's
 * machine. System calls of future kernels, which no list can contain, are refused by
 * number (sandbox_seccomp.c). A refused call fails with an error and does not end the
 * process, so that a handler can report what it lacked.
 *
 * Arguments that the kernel takes as 32 bits are compared as such, or with zero: a value
 * with high bits set must not pass.
 *
 * Compiling takes almost a millisecond, so it is done at build time: the program
 * sandbox_filter_gen.c links this file, and the library contains only the result.
 */
#include "worker/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not in the headers of older systems; the same on every architecture. */
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
};

enum {
	ALWAYS = 0,
	NO_EXECUTE = 1, /* not for pools that may execute programs */
	NO_CONNECT = 2, /* not for processes that may connect */
	NO_SERVER = 4,  /* with NO_CONNECT: but for the server, even if it may connect */
	WORKER = 8,     /* for workers only */
	SERVER = 16,    /* for the server process only */
	NO_WATCH = 64,  /* not for workers that may watch paths */
	NO_TRACER = 32, /* not for the server if its leak check has to trace at exit */
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
/* Refuses the call if argument `index`, masked with `mask`, is `bits`. */
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
	/* The owner of a descriptor gets signals: it could be the server. */
	REFUSE_BITS(fcntl, ALWAYS, 1, LOW, F_SETOWN),
	REFUSE_BITS(fcntl, ALWAYS, 1, LOW, F_SETOWN_EX),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, FIOSETOWN),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, SIOCSPGRP),
	/* It must die with the server and with its process group. */
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
	/* The child would belong to the fork server. */
	REFUSE_BITS(clone, ALWAYS, 0, CLONE_PARENT, CLONE_PARENT),
	/* A filter cannot see its flags, which are behind a pointer. The C library then
	 * uses clone(). */
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

	/* Parts of the kernel that are often attacked and that handlers do not need. */
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
	/* Files by handle, without a path. */
	REFUSE(open_by_handle_at, ALWAYS),
	REFUSE(name_to_handle_at, ALWAYS),
	/* Fake input to a terminal. */
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, TIOCSTI),
	REFUSE_BITS(ioctl, ALWAYS, 1, LOW, TIOCLINUX),

	/* Owners, modes, times and attributes are not covered by Landlock. A mode may be
	 * changed by descriptor, because the file had to be opened. Compilers and
	 * archivers need more (NO_EXECUTE). */
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
	/* The C library then uses another call. */
	REFUSE_NR(NR_fchmodat2, ALWAYS, ENOSYS),
	REFUSE(utime, NO_EXECUTE),
	REFUSE(utimes, NO_EXECUTE),
	REFUSE(futimesat, NO_EXECUTE),
	REFUSE_UNLESS(utimensat, NO_EXECUTE, 1, 0),
	REFUSE(inotify_add_watch, NO_EXECUTE | NO_WATCH),
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
	/* Truncating a file that may only be read: Landlock covers it from ABI 3 on. */
	REFUSE_BITS(open, ALWAYS, 1, O_ACCMODE | O_TRUNC, O_RDONLY | O_TRUNC),
	REFUSE_BITS(openat, ALWAYS, 2, O_ACCMODE | O_TRUNC, O_RDONLY | O_TRUNC),

	/* Programs and processes. Threads are allowed. */
	REFUSE(execve, NO_EXECUTE),
	REFUSE(execveat, NO_EXECUTE),
	REFUSE(fork, NO_EXECUTE),
	REFUSE(vfork, NO_EXECUTE),
	REFUSE_BITS(clone, NO_EXECUTE | NO_TRACER, 0, CLONE_THREAD, 0),

	/* Sockets. Without may_connect only socket pairs are allowed, and only of types
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
	/* Memory and queues that processes share by name or number. */
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

	/* The server process runs only code from files: a page that was writable does
	 * not become executable. Libraries can still be loaded. */
	REFUSE_BITS(mprotect, SERVER, 2, PROT_EXEC, PROT_EXEC),
	REFUSE_BITS(pkey_mprotect, SERVER, 2, PROT_EXEC, PROT_EXEC),
	REFUSE_BITS(mmap, SERVER, 2, PROT_EXEC | PROT_WRITE, PROT_EXEC | PROT_WRITE),
	{ SCMP_SYS(mmap),
	  SERVER,
	  EPERM,
	  2,
	  { { 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC },
	    { 3, SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS } } },
	/* Connecting by sending, which Landlock does not cover. */
	REFUSE_BITS(sendto, SERVER, 3, MSG_FASTOPEN, MSG_FASTOPEN),
	REFUSE_BITS(sendmsg, SERVER, 2, MSG_FASTOPEN, MSG_FASTOPEN),
	REFUSE_BITS(sendmmsg, SERVER, 3, MSG_FASTOPEN, MSG_FASTOPEN),
};

/* Address families of processes that may connect. AF_NETLINK is used to look up names,
 * but the C library works without it, so the server process does not get it. Nor does
 * it get AF_UNIX, because other programs of the machine accept commands there. */
static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
static const int server_families[] = { AF_INET, AF_INET6 };

/* ---- compiling ---------------------------------------------------------------------- */

static bool applies(const struct fw_sandbox_filter_kind *kind, unsigned when)
{
	if ((when & NO_EXECUTE) && kind->may_execute)
		return false;
	if ((when & NO_WATCH) && kind->may_watch)
		return false;
	if ((when & NO_CONNECT) && kind->may_connect &&
	    !(kind->is_server && (when & NO_SERVER)))
		return false;
	if ((when & NO_TRACER) && kind->is_server && HAS_LEAK_CHECK)
		return false;
	return !(when & (kind->is_server ? WORKER : SERVER));
}

static bool is_family(const struct fw_sandbox_filter_kind *kind, int family)
{
	const int *known = kind->is_server ? server_families : families;
	const size_t count = kind->is_server ? sizeof server_families / sizeof *known
					     : sizeof families / sizeof *known;

	for (size_t i = 0; i < count; i++)
		if (known[i] == family)
			return true;
	return false;
}

/* The server process may use streams and datagrams (to look up names). */
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

static int refuse_families(const struct fw_sandbox_filter_kind *kind, scmp_filter_ctx filter)
{
	const uint32_t action = SCMP_ACT_ERRNO(EAFNOSUPPORT);

	for (int family = 0; family <= AF_NETLINK; family++) {
		if (is_family(kind, family))
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
static int add_rules(const struct fw_sandbox_filter_kind *kind, scmp_filter_ctx filter)
{
	/* System calls of another architecture have other numbers: end the process. */
	int failed = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	/* A binary search: faster, and otherwise the same. */
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; !failed && i < sizeof refusals / sizeof *refusals; i++) {
		const struct refusal *row = &refusals[i];

		if (applies(kind, row->when))
			failed = seccomp_rule_add_array(filter,
							SCMP_ACT_ERRNO((uint16_t)row->errnum),
							row->call, row->count, row->compare);
	}
	if (!failed && kind->may_connect)
		failed = refuse_families(kind, filter);
	if (!failed && kind->may_connect && kind->is_server)
		failed = refuse_types(filter);
	return failed;
}

/* libseccomp writes its program to a descriptor only. Returns the count or a negative
 * errno. */
static int read_program(int file, struct sock_filter *code, size_t room)
{
	struct stat stat;

	if (fstat(file, &stat))
		return -errno;
	if ((size_t)stat.st_size > room * sizeof *code)
		return -E2BIG;
	if (pread(file, code, (size_t)stat.st_size, 0) != stat.st_size)
		return -EIO;
	return (int)((size_t)stat.st_size / sizeof *code);
}

int fw_sandbox_filter_compile(const struct fw_sandbox_filter_kind *kind,
			      struct sock_filter *code, size_t room)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const int file = memfd_create("seccomp", MFD_CLOEXEC);
	int result = file < 0 ? -errno : filter ? 0 : -ENOMEM;

	if (!result)
		result = add_rules(kind, filter);
	if (!result)
		result = seccomp_export_bpf(filter, file);
	if (!result)
		result = read_program(file, code, room);
	if (file >= 0)
		(void)close(file);
	seccomp_release(filter);
	return result;
}

uint32_t fw_sandbox_filter_arch(void)
{
	return seccomp_arch_native();
}
