/*
 * landlock.h - the kernel interface of Landlock, as far as it is used here.
 *
 * It is defined here and not taken from <linux/landlock.h>, so that a program that was built
 * on an old system uses the features of a newer kernel. Names are those of the kernel.
 */
#ifndef FW_BASE_LANDLOCK_H
#define FW_BASE_LANDLOCK_H

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define FW_LANDLOCK_CREATE_RULESET_VERSION 1U
#define FW_LANDLOCK_RULE_PATH_BENEATH 1
#define FW_LANDLOCK_RULE_NET_PORT 2

#define FW_LANDLOCK_FS_EXECUTE (UINT64_C(1) << 0)
#define FW_LANDLOCK_FS_WRITE_FILE (UINT64_C(1) << 1)
#define FW_LANDLOCK_FS_READ_FILE (UINT64_C(1) << 2)
#define FW_LANDLOCK_FS_READ_DIR (UINT64_C(1) << 3)
#define FW_LANDLOCK_FS_REMOVE_DIR (UINT64_C(1) << 4)
#define FW_LANDLOCK_FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FW_LANDLOCK_FS_MAKE_DIR (UINT64_C(1) << 7)
#define FW_LANDLOCK_FS_MAKE_REG (UINT64_C(1) << 8)
#define FW_LANDLOCK_FS_MAKE_SOCK (UINT64_C(1) << 9)
#define FW_LANDLOCK_FS_MAKE_FIFO (UINT64_C(1) << 10)
#define FW_LANDLOCK_FS_MAKE_SYM (UINT64_C(1) << 12)
#define FW_LANDLOCK_FS_ABI_1 ((UINT64_C(1) << 13) - 1)
#define FW_LANDLOCK_FS_REFER (UINT64_C(1) << 13)     /* ABI 2 */
#define FW_LANDLOCK_FS_TRUNCATE (UINT64_C(1) << 14)  /* ABI 3 */
#define FW_LANDLOCK_FS_IOCTL_DEV (UINT64_C(1) << 15) /* ABI 5 */
/* The rights that a rule for something other than a directory may name. */
#define FW_LANDLOCK_FS_OF_FILES                                                          \
	(FW_LANDLOCK_FS_EXECUTE | FW_LANDLOCK_FS_WRITE_FILE | FW_LANDLOCK_FS_READ_FILE | \
	 FW_LANDLOCK_FS_TRUNCATE | FW_LANDLOCK_FS_IOCTL_DEV)

#define FW_LANDLOCK_NET_BIND_TCP (UINT64_C(1) << 0) /* ABI 4 */
#define FW_LANDLOCK_NET_CONNECT_TCP (UINT64_C(1) << 1)
#define FW_LANDLOCK_SCOPE_ABSTRACT_SOCKET (UINT64_C(1) << 0) /* ABI 6 */
#define FW_LANDLOCK_SCOPE_SIGNAL (UINT64_C(1) << 1)

/* An older kernel accepts a longer struct than it knows if the rest is zero. */
struct fw_landlock_ruleset {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct fw_landlock_path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

struct fw_landlock_net_port {
	uint64_t allowed;
	uint64_t port;
};

#endif
