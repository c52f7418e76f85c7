/*
 * clients.h - the clients of a server, each with its own session.
 *
 * On stdio there is one client. Over HTTP a client is a session of the protocol; in
 * protocol versions without sessions it is identified by the name that it gives. All
 * sessions of a server have the same root, and thus the same audit log.
 *
 * A failure locks the session of the client that got it, and no other. A session of the
 * protocol that ends while it is locked leaves its lock to the next client of the same
 * name, so that a client cannot get rid of a lock by connecting again.
 *
 * The one rule to remember: clients are never freed before the workspace is, so pointers
 * to them stay valid; one that is not used by anybody is given to the next client.
 */
#ifndef FW_TOOLS_WORKSPACE_CLIENTS_H
#define FW_TOOLS_WORKSPACE_CLIENTS_H

#include "tools/workspace/data.h"

struct fw_ws_client {
	struct fw_ws_client *next;
	char key[FW_SHA256_TEXT];  /* "": no client's; it may still hold a lock */
	char name[FW_SHA256_TEXT]; /* of the name of the client */
	struct fw_ws_session session;
	struct fw_ws_session shared; /* a copy for the threads that read resources */
	fw_state *state;             /* what its calls see: the session, or a report */
	size_t calls;                /* in progress */
	uint64_t used;               /* number of its last call */
};

/* ---- on the server's thread ---- */

/* The client of a call; NULL: it has called no tool yet. */
struct fw_ws_client *fw_ws_client_find(fw_workspace *ws, const fw_call *call);
/* The same, and if there is none it is added. Raises session.init_failed if there are too
 * many, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_ws_client_add(fw_workspace *ws, const fw_call *call,
					struct fw_ws_client **ret_client);
/* Makes its session visible to its handlers. */
void fw_ws_client_publish(fw_workspace *ws, struct fw_ws_client *client);
/* A session of the protocol has ended. */
void fw_ws_client_leave(fw_workspace *ws, const char *session);
/* Does any client have a session? */
bool fw_ws_clients_have_session(const fw_workspace *ws);
void fw_ws_clients_free(fw_workspace *ws);

/* ---- on any thread ---- */

/* The session of the client of this call; its id is "" if there is none. */
void fw_ws_client_read_session(fw_workspace *ws, const fw_call *call,
			       struct fw_ws_session *ret_session);

#endif
