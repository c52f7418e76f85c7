/*
 * audit.h - the audit log of a server.
 */
#ifndef FW_CLI_SERVE_AUDIT_H
#define FW_CLI_SERVE_AUDIT_H

#include "cli/serve/observers.h"

/** The options of the audit log; each may be NULL. */
struct serve_audit {
	const char *file;  /* or "off"; NULL: in the state directory */
	const char *sync;  /* always (NULL), interval, interval=MS or off */
	const char *args;  /* hash (NULL) or redacted */
	const char *bytes; /* limit of one file */
};

/** Raises cli.usage, and what fw_audit_open() raises. */
FW_NODISCARD fw_error *serve_audit_add(fw_server *server, struct serve_observers *observers,
				       const struct serve_audit *how);

/** Writes a failure outside of a call, and waits for it; opens the log if it is not open
 * yet. With --audit off nothing is written. Raises what opening and writing raise. */
FW_NODISCARD fw_error *serve_audit_record(struct serve_observers *observers,
					  const struct serve_audit *how,
					  const fw_error *failure);

/** For fw_toolset_host: `ctx` is the struct serve_observers. */
void serve_audit_move(void *ctx, int dir, const char *log);
void serve_audit_note(void *ctx, const fw_scope *scope, const char *text);
FW_NODISCARD fw_error *serve_audit_verify(const char *path,
					  struct fw_toolset_audit_report *ret_report);

/**
 * Call it before the server is freed: replies may still wait for the log. If it returns
 * false, the disk does not respond, and the server must not be freed.
 */
bool serve_audit_end(struct serve_observers *observers);

#endif
