/*
 * write_lock.h - one writer at a time in a workspace, across processes.
 *
 * It is a lock of the kernel (flock), so a process that dies releases it.
 */
#ifndef FW_TOOLS_WORKSPACE_WRITE_LOCK_H
#define FW_TOOLS_WORKSPACE_WRITE_LOCK_H

#include "tools/common/root.h"

enum { FW_WS_WRITE_LOCK_MS = 30000 };

/* Waits at most `patience_ms`. Raises runtime.timeout,
 * auth.insufficient_permissions. */
FW_NODISCARD fw_error *fw_ws_write_lock(const struct fw_root *root, uint32_t patience_ms,
					int *ret_lock);
/* A negative value is a no-op. */
void fw_ws_write_unlock(int lock);

#endif
