/*
 * session.h - what a handler knows about its session, and how it reports to the
 * server's thread what it did.
 *
 * Both are a JSON object in the state of the toolset (fw_call_state()): the session,
 * or an object with the member "did". The server's thread takes the latter before any
 * other call runs, and puts the session back (observe.c).
 */
#ifndef FW_TOOLS_WORKSPACE_SESSION_H
#define FW_TOOLS_WORKSPACE_SESSION_H

#include "base/buf.h"
#include "tools/common/root.h"
#include "tools/workspace/workspace.h"

enum { FW_WS_UUID_SIZE = 37, FW_WS_STATE_BYTES = 512 * 1024 };

struct fw_ws_session {
	char id[FW_WS_UUID_SIZE]; /* "": none */
	char root[FW_PATH_SIZE];
	uint64_t dev;
	uint64_t ino;
	char locked_by[48]; /* the code that locked it; "": not locked */
};

/* Gives a session its id and its root. */
void fw_ws_session_make(const struct fw_root *root, struct fw_ws_session *session);

/* The session as this call sees it. Without a session its id is "". */
void fw_ws_session_read(const fw_call *call, struct fw_ws_session *ret_session);
/* Writes the members of the session's JSON object. */
void fw_ws_session_write(const struct fw_ws_session *session, struct fw_buf *out);

/*
 * Opens the session's root; close it with fw_root_close(). Raises
 * session.not_initialized; governance.invariant_violation if it is no longer the
 * directory that the session began with.
 */
FW_NODISCARD fw_error *fw_ws_session_enter(const fw_workspace *ws, const fw_call *call,
					   struct fw_ws_session *ret_session,
					   struct fw_root *ret_root);
/* The same for a known session. `name` is the tool or URI that needs it. */
FW_NODISCARD fw_error *fw_ws_session_open_root(const fw_workspace *ws,
					       const struct fw_ws_session *session,
					       const char *name, struct fw_root *ret_root);
/* The same for tools that a lock disables; also raises session.locked. */
FW_NODISCARD fw_error *fw_ws_session_enter_unlocked(const fw_workspace *ws, const fw_call *call,
						    struct fw_root *ret_root);

/* governance.invariant_violation, with the id in its scope; `why` is for people. */
FW_NODISCARD fw_error *fw_ws_raise_invariant(fw_src at, const char *id, const char *why);

/* Report to the server's thread what this call did; used if it succeeds. `recovered`
 * is a list as fw_ws_journal_recover() writes it, or NULL. */
void fw_ws_notify_began(fw_call *call, const struct fw_ws_session *session,
			const char *recovered);
void fw_ws_notify_recovered(fw_call *call, const char *recovered);
void fw_ws_notify_wrote(fw_call *call, const char *journal, bool reported,
			const char *recovered);

#endif
