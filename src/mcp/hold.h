/*
 * hold.h - the end of a call while observers look at it. An observer may hold
 * the reply until something is done, such as writing the audit log to disk.
 *
 * States, changed by change_state() in boundary.c alone, on the loop's thread:
 *
 *   FREE       no observer is involved
 *   ASKING     an observer's replying() runs now
 *   RELEASED   released within replying(); `instead` may be set
 *   HELD       an observer holds the reply: the hold owns a reference to its call,
 *              the call is on the server's list, and the reply of a success waits
 *              in `out`
 *   ABANDONED  the server stopped and the reply has left without the observer; the
 *              hold still owns its reference
 *
 *   state      event                                    next state
 *   FREE       the next observer is called              ASKING
 *   ASKING     replying() returns false                 FREE
 *   ASKING     fw_hold_release() within replying()      RELEASED
 *   ASKING     replying() returns true                  HELD
 *   RELEASED   replying() returns                       FREE
 *   HELD       fw_hold_release(), also of a thread      FREE, then the next observer
 *   HELD       fw_hold_abandon()                        ABANDONED, reply leaves
 *   ABANDONED  fw_hold_release()                        FREE, reference dropped
 *
 * When the state is FREE and all observers were called, the reply leaves.
 */
#ifndef FW_MCP_HOLD_H
#define FW_MCP_HOLD_H

#include <stddef.h>

#include <faultwire/observer.h>

#include "base/buf.h"

enum fw_hold_state {
	FW_HOLD_FREE,
	FW_HOLD_ASKING,
	FW_HOLD_RELEASED,
	FW_HOLD_HELD,
	FW_HOLD_ABANDONED
};

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
