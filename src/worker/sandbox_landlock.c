/*
 * sandbox_landlock.c - rules for files, TCP, abstract sockets and signals, by Landlock.
 *
 * The rules are made once, in the server, from descriptors of the declared paths: a
 * worker that can replace a declared path by a link does not change what later workers
 * may reach. In return, a directory that is replaced by another one of the same name
 * is not accessible until the server is restarted.
 */
#include "worker/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faultwire/raw.h>

#include "base/landlock.h"

#define READ (FW_LANDLOCK_FS_READ_FILE | FW_LANDLOCK_FS_READ_DIR)
#define WRITE                                                                                 \
	(FW_LANDLOCK_FS_WRITE_FILE | FW_LANDLOCK_FS_REMOVE_DIR | FW_LANDLOCK_FS_REMOVE_FILE | \
	 FW_LANDLOCK_FS_MAKE_DIR | FW_LANDLOCK_FS_MAKE_REG | FW_LANDLOCK_FS_MAKE_SYM |        \
	 FW_LANDLOCK_FS_REFER | FW_LANDLOCK_FS_TRUNCATE)

/* Always readable for workers, if it exists. Nothing in it is private to this machine,
 * except the name of its time zone. */
static const char *const always[] = { "/usr/share/zoneinfo", "/etc/localtime",
				      "/usr/share/locale",   "/usr/lib/locale",
				      "/dev/zero",           "/dev/random",
				      "/dev/urandom",        NULL };
static const char *const always_writable[] = { "/dev/null", "/dev/full", NULL };

/* With may_connect: configuration for name lookups and certificates. */
static const char *const connecting[] = { "/etc/resolv.conf",
					  "/etc/hosts",
					  "/etc/host.conf",
					  "/etc/nsswitch.conf",
					  "/etc/gai.conf",
					  "/etc/services",
					  "/etc/protocols",
					  "/etc/ssl/certs",
					  "/etc/ssl/openssl.cnf",
					  "/etc/pki/tls/certs",
					  "/usr/share/ca-certificates",
					  "/usr/local/share/ca-certificates",
					  "/run/systemd/resolve",
					  "/run/NetworkManager/resolv.conf",
					  "/run/resolvconf",
					  NULL };

/* With may_execute: the programs of the system, and what most of them read at start. Not
 * all of /etc, which for root contains /etc/shadow. /proc shows the command lines of
 * other processes, but not their memory, environment or files. */
static const char *const programs[] = { "/usr",   "/bin",   "/sbin",   "/lib",
					"/lib32", "/lib64", "/libx32", NULL };
static const char *const executing[] = {
	"/etc/ld.so.cache",   "/etc/ld.so.preload",   "/etc/passwd",    "/etc/group",
	"/etc/nsswitch.conf", "/etc/alternatives",    "/etc/gitconfig", "/etc/mime.types",
	"/etc/os-release",    "/etc/ssl/openssl.cnf", "/proc",          NULL
};

/* For the server process: libraries that are loaded when they are first needed, and the
 * configuration of OpenSSL and the loader. All are public files of the system. /proc is
 * for metrics; memory, environment and descriptors of processes outside the sandbox are
 * not accessible there. */
static const char *const of_server[] = { "/usr/lib",
					 "/usr/lib32",
					 "/usr/lib64",
					 "/usr/local/lib",
					 "/lib",
					 "/lib32",
					 "/lib64",
					 "/etc/ld.so.cache",
					 "/etc/ld.so.conf",
					 "/etc/ld.so.conf.d",
					 "/etc/ld.so.preload",
					 "/etc/ssl/openssl.cnf",
					 "/etc/pki/tls/openssl.cnf",
					 "/sys/devices/system/cpu",
					 "/proc",
					 NULL };

int fw_sandbox_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
			   FW_LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t handled_fs(int abi)
{
	uint64_t handled = FW_LANDLOCK_FS_ABI_1;

	if (abi >= 2)
		handled |= FW_LANDLOCK_FS_REFER;
	if (abi >= 3)
		handled |= FW_LANDLOCK_FS_TRUNCATE;
	if (abi >= 5)
		handled |= FW_LANDLOCK_FS_IOCTL_DEV;
	return handled;
}

/* 0, or the errno. */
static int allow(const struct fw_sandbox_plan *plan, const char *path, uint64_t rights)
{
	struct fw_landlock_path_beneath rule = { .parent = open(path, O_PATH | O_CLOEXEC) };
	struct stat stat;
	int errnum = 0;

	if (rule.parent < 0)
		return errno;
	if (fstat(rule.parent, &stat)) {
		errnum = errno;
	} else {
		/* ioctl() is allowed on a device that was declared itself. */
		if (S_ISCHR(stat.st_mode) || S_ISBLK(stat.st_mode))
			rights |= FW_LANDLOCK_FS_IOCTL_DEV;
		if (!S_ISDIR(stat.st_mode))
			rights &= FW_LANDLOCK_FS_OF_FILES;
		rule.allowed = rights & handled_fs(plan->report.landlock_abi);
		if (syscall(SYS_landlock_add_rule, plan->ruleset, FW_LANDLOCK_RULE_PATH_BENEATH,
			    &rule, 0U))
			errnum = errno;
	}
	(void)close(rule.parent);
	return errnum;
}

/* Paths that do not exist or cannot have a rule are skipped. */
static void allow_if_there(const struct fw_sandbox_plan *plan, const char *const *paths,
			   uint64_t rights)
{
	for (; *paths; paths++)
		(void)allow(plan, *paths, rights);
}

static fw_error *allow_declared(const struct fw_sandbox_plan *plan, const char *const *paths,
				uint64_t rights, const char *what)
{
	const char *who = plan->is_server ? "the server" : "workers";

	for (; paths && *paths; paths++) {
		int errnum = allow(plan, *paths, rights);

		if (errnum)
			return fw_error_wrap(fw_error_from_errno(FW_HERE, errnum, *paths),
					     FW_HERE, "cannot open a path that %s may %s", who,
					     what);
	}
	return NULL;
}

fw_error *fw_sandbox_landlock_prepare(struct fw_sandbox_plan *plan,
				      const fw_workers_options *options)
{
	const int abi = plan->report.landlock_abi;
	const uint64_t execute = options->may_execute ? FW_LANDLOCK_FS_EXECUTE : 0;
	const uint64_t make =
		options->may_execute ? FW_LANDLOCK_FS_MAKE_SOCK | FW_LANDLOCK_FS_MAKE_FIFO : 0;
	struct fw_landlock_ruleset attr = { .handled_fs = handled_fs(abi) };

	if (abi >= 4 && !options->may_connect)
		attr.handled_net = FW_LANDLOCK_NET_BIND_TCP | FW_LANDLOCK_NET_CONNECT_TCP;
	if (abi >= 6)
		attr.scoped = FW_LANDLOCK_SCOPE_SIGNAL |
			      (options->may_connect ? 0 : FW_LANDLOCK_SCOPE_ABSTRACT_SOCKET);
	plan->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0U);
	if (plan->ruleset < 0)
		return fw_error_from_errno(FW_HERE, errno, "Landlock rules");

	FW_TRY(allow_declared(plan, options->readable, READ | execute, "read"));
	FW_TRY(allow_declared(plan, options->writable, READ | WRITE | execute | make, "write"));
	allow_if_there(plan, always, READ);
	allow_if_there(plan, always_writable,
		       FW_LANDLOCK_FS_READ_FILE | FW_LANDLOCK_FS_WRITE_FILE |
			       FW_LANDLOCK_FS_TRUNCATE);
	if (options->may_connect)
		allow_if_there(plan, connecting, READ);
	if (options->may_execute) {
		allow_if_there(plan, programs, READ | FW_LANDLOCK_FS_EXECUTE);
		allow_if_there(plan, executing, READ);
	}
	return NULL;
}

static fw_error *allow_port(const struct fw_sandbox_plan *plan, uint16_t port, uint64_t rights)
{
	const struct fw_landlock_net_port rule = { .allowed = rights, .port = port };

	if (plan->report.landlock_abi < 4)
		return NULL;
	if (syscall(SYS_landlock_add_rule, plan->ruleset, FW_LANDLOCK_RULE_NET_PORT, &rule, 0U))
		return fw_error_from_errno(FW_HERE, errno, "Landlock rules");
	return NULL;
}

static fw_error *allow_ports(const struct fw_sandbox_plan *plan,
			     const fw_confine_options *options)
{
	enum { DNS = 53 };

	FW_TRY(allow_port(plan, options->listen_port, FW_LANDLOCK_NET_BIND_TCP));
	for (const uint16_t *port = options->connect_ports; port && *port; port++)
		FW_TRY(allow_port(plan, *port, FW_LANDLOCK_NET_CONNECT_TCP));
	/* For DNS answers that do not fit into a datagram. */
	return options->connect_ports ? allow_port(plan, DNS, FW_LANDLOCK_NET_CONNECT_TCP)
				      : NULL;
}

fw_error *fw_sandbox_landlock_prepare_server(struct fw_sandbox_plan *plan,
					     const fw_confine_options *options)
{
	const int abi = plan->report.landlock_abi;
	struct fw_landlock_ruleset attr = { .handled_fs = handled_fs(abi) };

	if (abi >= 4)
		attr.handled_net = FW_LANDLOCK_NET_BIND_TCP | FW_LANDLOCK_NET_CONNECT_TCP;
	if (abi >= 6)
		attr.scoped = FW_LANDLOCK_SCOPE_SIGNAL | FW_LANDLOCK_SCOPE_ABSTRACT_SOCKET;
	plan->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0U);
	if (plan->ruleset < 0)
		return fw_error_from_errno(FW_HERE, errno, "Landlock rules");
	FW_TRY(allow_declared(plan, options->readable, READ, "read"));
	FW_TRY(allow_declared(plan, options->writable,
			      READ | (WRITE & ~FW_LANDLOCK_FS_MAKE_SYM), "write"));
	FW_TRY(allow_ports(plan, options));
	allow_if_there(plan, always, READ);
	allow_if_there(plan, always_writable,
		       FW_LANDLOCK_FS_READ_FILE | FW_LANDLOCK_FS_WRITE_FILE |
			       FW_LANDLOCK_FS_TRUNCATE);
	allow_if_there(plan, of_server, READ);
	/* The log opens its own description of stderr (terminal, FIFO). */
	(void)allow(plan, "/proc/self/fd/2", FW_LANDLOCK_FS_WRITE_FILE);
	if (options->connect_ports)
		allow_if_there(plan, connecting, READ);
	return NULL;
}

fw_error *fw_sandbox_landlock_apply(const struct fw_sandbox_plan *plan)
{
	if (plan->ruleset < 0)
		return NULL;
	if (syscall(SYS_landlock_restrict_self, plan->ruleset, 0U))
		return fw_error_from_errno(FW_HERE, errno, "Landlock rules");
	/* The rules are in force; the descriptor is not needed any more. */
	(void)close(plan->ruleset);
	return NULL;
}
