/*
 * write_lock.h - one writer at a time in a workspace, across processes.
 *
 * It is a lock of the kernel (flock), so a process that dies releases it. The same goes
 * for the mark by which a server shows that it is running: a read lock on one byte of the
 * root, at the offset of the server's number.
 */
#ifndef FW_TOOLS_WORKSPACE_WRITE_LOCK_H
#define FW_TOOLS_WORKSPACE_WRITE_LOCK_H

#include "tools/common/root.h"

enum { FW_WS_WRITE_LOCK_MS = 30000 };

/* Waits at most `patience_ms`. Raises runtime.timeout,
 * auth.insufficient_permissions. */
FW_NODISCARD fw_error *fw_ws_write_lock(const struct fw_root *root, uint32_t patience_ms,
					int *ret_lock);
/* Also for a mark. A negative value is a no-op. */
void fw_ws_write_unlock(int lock);

/* A number for a server; never 0. */
uint64_t fw_ws_server_number(void);
/* The mark is there until the descriptor is closed. -1: the file system has no locks, and
 * the server counts as ended. */
int fw_ws_server_mark(const struct fw_root *root, uint64_t number);
bool fw_ws_server_is_running(const struct fw_root *root, uint64_t number);

#endif
