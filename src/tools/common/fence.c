/*
 * fence.c - see fence.h.
 *
 * The constants are defined here, so that a program that was built on an old system uses
 * the features of a newer kernel.
 */
#include "tools/common/fence.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#endif

#define VERSION 1U
#define PATH_BENEATH 1
#define WRITE_FILE (UINT64_C(1) << 1)
#define CHANGES (WRITE_FILE | (UINT64_C(0x1ff) << 4)) /* remove and make of any kind */
#define REFER (UINT64_C(1) << 13)                     /* ABI 2 */
#define TRUNCATE (UINT64_C(1) << 14)                  /* ABI 3 */
#define SCOPE_SIGNAL (UINT64_C(1) << 1)               /* ABI 6 */

/* The kernel accepts a longer struct than it knows if the rest is zero. */
struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

static int add(int ruleset, int parent, uint64_t allowed)
{
	const struct path_beneath rule = { .allowed = allowed, .parent = parent };

	return (int)syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0U);
}

int fw_fence_open(int fd)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, VERSION);
	struct ruleset_attr attr = { .handled_fs = CHANGES };
	int ruleset;
	int devices;

	if (abi <= 0)
		return -1;
	if (abi >= 2)
		attr.handled_fs |= REFER;
	if (abi >= 3)
		attr.handled_fs |= TRUNCATE;
	if (abi >= 6)
		attr.scoped = SCOPE_SIGNAL;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0U);
	if (ruleset < 0)
		return -1;
	if (add(ruleset, fd, attr.handled_fs) != 0) {
		(void)close(ruleset);
		return -1;
	}
	devices = open("/dev", O_PATH | O_CLOEXEC);
	if (devices >= 0) {
		(void)add(ruleset, devices, attr.handled_fs & (WRITE_FILE | TRUNCATE));
		(void)close(devices);
	}
	return ruleset;
}
