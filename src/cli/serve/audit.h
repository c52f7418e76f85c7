/*
 * audit.h - what toolsets may do with the audit log of a server. For fw_toolset_host:
 * `ctx` is the struct serve_observers.
 */
#ifndef FW_CLI_SERVE_AUDIT_H
#define FW_CLI_SERVE_AUDIT_H

#include "cli/serve/observers.h"

void serve_audit_move(void *ctx, int dir, const char *log);
void serve_audit_note(void *ctx, const fw_scope *scope, const char *text);
FW_NODISCARD fw_error *serve_audit_verify(const char *path,
					  struct fw_toolset_audit_report *ret_report);

#endif
