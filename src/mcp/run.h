/*
 * run.h - running a handler: on the loop, on a thread, in a worker process, or
 * asynchronously.
 */
#ifndef FW_MCP_RUN_H
#define FW_MCP_RUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "base/buf.h"
#include "mcp/authority.h"
#include "mcp/runner.h"
#include "policy/rate.h"

struct fw_post;
struct fw_recorder;
struct fw_shared_version;

/* The part of a call that belongs to its run. */
struct fw_execution {
	atomic_bool cancelled;
	struct fw_grant grant;
	bool is_active;           /* the handler runs, finishes later, or waits for a slot */
	bool is_late;             /* the deadline has passed */
	uint64_t deadline_ms;     /* in loop time; 0: none */
	struct fw_wait wait;      /* in the queue of a runner */
	struct fw_runner *runner; /* where it runs or waits; NULL: on the loop */
	fw_state *own_state;      /* in place of the tool's; NULL: that */
	struct fw_recorder *recorder;    /* in a worker: records its operations */
	struct fw_shared_version *state; /* shared state as this run sees it */
	struct fw_shared_version *new_state;
	/* Progress and log messages, which are rate limited. */
	double last_progress;
	struct fw_rate progress_rate;
	struct fw_rate log_rate;
	struct fw_buf late_progress; /* the newest that was held back */
	uint64_t logs_dropped;
	/* Allocated before a run that may end on another thread, so that reporting
	 * its end needs no memory. */
	struct fw_post *end;
};

/* Whether a call that failed with this was let through and then not started, or not sent to
 * the server that has the tool: it had no effect. */
bool fw_call_has_not_run(const fw_error *err);
/* The time limit of the call in ms, by its tool and the server; 0: none. */
uint32_t fw_call_limit_ms(const fw_call *call);
/* Starts the call's handler, again if it has asked questions. */
void fw_call_start(fw_call *call);
/* The handler is done. Consumes `err`. */
void fw_call_complete(fw_call *call, fw_error *err);
/* The result is no longer needed: stops the handler if possible. */
void fw_call_abandon(fw_call *call);
/* Sends the progress that was held back, and how many log messages were dropped.
 * At the end of a run, by the thread that ran the handler. */
void fw_call_catch_up(fw_call *call);
/* Ends all timers of fw_call_after(); the server is being freed. */
void fw_call_later_end(fw_server *server);

#endif
