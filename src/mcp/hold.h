/*
 * hold.h - the end of a call while observers look at it. An observer may hold
 * the reply until something is done, such as writing the audit log to disk.
 *
 * States, all changed by enter_state() in boundary.c on the loop's thread:
 *
 *   FREE     no observer is involved
 *   ASKING   an observer's replying() runs now
 *   HELD     an observer holds the reply; the hold owns a reference to its call,
 *            the call is on the server's list, and the reply of a success waits
 *            in `out`
 *
 *   from     event                                          to
 *   FREE     the next observer is asked                     ASKING
 *   ASKING   replying() returns false                       FREE
 *   ASKING   fw_hold_release() inside replying()            FREE, `instead` set
 *   ASKING   replying() returns true, not released          HELD
 *   HELD     fw_hold_release(), on the loop or posted       FREE, ask the others
 *   HELD     the server stops and its grace is over         ABANDONED, reply leaves
 *   ABANDONED  fw_hold_release()                            FREE, reference dropped
 *
 * When all observers were asked and the state is FREE, the reply leaves.
 */
#ifndef FW_MCP_HOLD_H
#define FW_MCP_HOLD_H

#include <stddef.h>

#include <faultwire/observer.h>

#include "base/buf.h"

enum fw_hold_state { FW_HOLD_FREE, FW_HOLD_ASKING, FW_HOLD_HELD };

struct fw_hold {
	enum fw_hold_state state;
	size_t next;       /* index of the observer to ask next */
	fw_error *err;     /* the outcome; NULL: success */
	fw_error *instead; /* what an observer released the reply with */
	struct fw_buf out; /* the reply of a success, while it is held */
	/* Released by another thread, together with `instead`. A release must not
	 * fail for lack of memory, so these form a list of their own. */
	struct fw_hold *next_released;
};

/* A release has reached the loop's thread. Consumes `err`. */
void fw_hold_end(fw_hold *hold, fw_error *err);
/* The server stops and cannot wait: the reply leaves as audit.log_failed. */
void fw_hold_abandon(fw_hold *hold);

#endif
