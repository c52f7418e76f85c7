/*
 * fence.c - see fence.h.
 */
#include "tools/common/fence.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/landlock.h"

/* Writing, and removing and making of any kind. */
#define CHANGES (FW_LANDLOCK_FS_WRITE_FILE | (UINT64_C(0x1ff) << 4))

static int add(int ruleset, int parent, uint64_t allowed)
{
	const struct fw_landlock_path_beneath rule = { .allowed = allowed, .parent = parent };

	return (int)syscall(SYS_landlock_add_rule, ruleset, FW_LANDLOCK_RULE_PATH_BENEATH,
			    &rule, 0U);
}

int fw_fence_open(int fd)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0,
			   FW_LANDLOCK_CREATE_RULESET_VERSION);
	struct fw_landlock_ruleset attr = { .handled_fs = CHANGES };
	int ruleset;
	int devices;

	if (abi <= 0)
		return -1;
	if (abi >= 2)
		attr.handled_fs |= FW_LANDLOCK_FS_REFER;
	if (abi >= 3)
		attr.handled_fs |= FW_LANDLOCK_FS_TRUNCATE;
	if (abi >= 6)
		attr.scoped = FW_LANDLOCK_SCOPE_SIGNAL;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0U);
	if (ruleset < 0)
		return -1;
	if (add(ruleset, fd, attr.handled_fs) != 0) {
		(void)close(ruleset);
		return -1;
	}
	devices = open("/dev", O_PATH | O_CLOEXEC);
	if (devices >= 0) {
		(void)add(ruleset, devices,
			  attr.handled_fs &
				  (FW_LANDLOCK_FS_WRITE_FILE | FW_LANDLOCK_FS_TRUNCATE));
		(void)close(devices);
	}
	return ruleset;
}
