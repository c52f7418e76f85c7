/*
 * state.h - the life of a worker as the server sees it: states, events, and which
 * error its call gets when it dies.
 *
 * Two sources report the end of a worker, in any order: its socket ends, and the
 * fork server reports its death. Only the second is final, because the exit status decides
 * the error; so a worker whose socket ended waits for the report.
 *
 *               CALL      READY  DONE  HANG_UP   GARBLED  FAILED  KILL    TIMER   RETIRE   DEATH
 *   NONE        .         .      .     .         .        .       .       .       .        .
 *   STARTING    ASSIGNED  IDLE   .     HUNG_UP   BROKEN   FAILED  KILLED  KILLED  .        NONE
 *   ASSIGNED    .         BUSY   .     HUNG_UP   BROKEN   FAILED  KILLED  KILLED  .        NONE
 *   IDLE        BUSY      .      .     HUNG_UP   BROKEN   .       KILLED  KILLED  RETIRED  NONE
 *   BUSY        .         .      IDLE  HUNG_UP   BROKEN   .       KILLED  KILLED  .        NONE
 *   HUNG_UP     .         .      .     .         BROKEN   .       CLOSED  CLOSED  .        NONE
 *   KILLED      .         .      .     .         BROKEN   .       .       .       .        NONE
 *   CLOSED      .         .      .     .         BROKEN   .       .       .       .        NONE
 *   BROKEN      .         .      .     .         .        .       .       .       .        NONE
 *   FAILED      .         .      .     .         BROKEN   .       .       .       .        NONE
 *   RETIRED     .         .      .     .         BROKEN   .       .       .       .        NONE
 *
 * CLOSED is FW_WORKER_CLOSED_KILLED. "." leaves the state as it is. KILL, GARBLED and
 * TIMER send a kill order in every state but NONE; TIMER comes again until the fork server
 * has taken the order.
 *
 * What causes the events:
 *   the socket ended first        HANG_UP, later DEATH; TIMER if no report comes in time
 *   the death report came first   DEATH; the rest of the socket is read before
 *   deadline                      KILL at once
 *   cancellation                  TIMER after a grace period, unless DONE comes first
 *   server stop, fork server death    DEATH with SIGKILL and no process id: workers die with
 *                                 their fork server, and no process is left to report them
 *   keeper death                  the fork server dies with its keeper: as above; new
 *                                 workers cannot be made
 */
#ifndef FW_WORKER_STATE_H
#define FW_WORKER_STATE_H

#include <stdbool.h>

enum fw_worker_state {
	FW_WORKER_NONE,          /* the slot is empty */
	FW_WORKER_STARTING,      /* forked, not ready yet */
	FW_WORKER_ASSIGNED,      /* the same, and a request was sent to it already */
	FW_WORKER_IDLE,          /* ready, without a call */
	FW_WORKER_BUSY,          /* runs a call */
	FW_WORKER_HUNG_UP,       /* its socket ended; the report is expected */
	FW_WORKER_KILLED,        /* stopped by the server: not the tool's fault */
	FW_WORKER_CLOSED_KILLED, /* closed its socket, lived on, and was killed for that */
	FW_WORKER_BROKEN,        /* killed because it sent invalid data */
	FW_WORKER_FAILED,        /* reported that it cannot start */
	FW_WORKER_RETIRED,       /* not needed any more: its socket was closed */
	FW_WORKER_STATES
};

enum fw_worker_event {
	FW_WORKER_EVENT_CALL,    /* a request was sent */
	FW_WORKER_EVENT_READY,   /* FW_WORKER_FRAME_READY */
	FW_WORKER_EVENT_DONE,    /* FW_WORKER_FRAME_DONE */
	FW_WORKER_EVENT_HANG_UP, /* its socket ended */
	FW_WORKER_EVENT_GARBLED, /* it sent what is not a frame, or not one that is due */
	FW_WORKER_EVENT_FAILED,  /* FW_WORKER_FRAME_FAILED */
	FW_WORKER_EVENT_KILL,    /* deadline, or half a request could not be sent */
	FW_WORKER_EVENT_TIMER,   /* it should be gone by now */
	FW_WORKER_EVENT_RETIRE,  /* the pool has more workers than it needs */
	FW_WORKER_EVENT_DEATH,   /* reported, or its fork server is gone */
	FW_WORKER_EVENTS
};

/* The table above. */
enum fw_worker_state fw_worker_state_next(enum fw_worker_state state,
					  enum fw_worker_event event);

static inline bool fw_worker_state_is_ending(enum fw_worker_state state)
{
	return state >= FW_WORKER_HUNG_UP;
}

/* What happens to the call of a worker that died. */
enum fw_worker_outcome {
	FW_WORKER_OUTCOME_PASS_ON,      /* not begun: another worker runs it */
	FW_WORKER_OUTCOME_CANNOT_START, /* server.overloaded: the worker never was ready */
	FW_WORKER_OUTCOME_OWN_ERROR,    /* an error of the server's: out of memory */
	FW_WORKER_OUTCOME_CANCELLED,    /* runtime.cancelled */
	FW_WORKER_OUTCOME_GARBLED,      /* tool.garbled, a crash for the breaker */
	FW_WORKER_OUTCOME_CRASHED,      /* tool.crashed or tool.exited, the same */
};

/* What is known about a worker when it is dead. */
struct fw_worker_death {
	enum fw_worker_state state; /* before FW_WORKER_EVENT_DEATH */
	bool was_ready;
	bool has_begun;     /* it began to handle the request */
	bool has_own_error; /* the server has an error to report in place of the death */
	bool was_killed;    /* by SIGKILL, on our order, while it was alive */
};

enum fw_worker_outcome fw_worker_outcome_of(const struct fw_worker_death *death);
/* Does the pool count this death as a failure to start a worker? */
bool fw_worker_death_is_start_failure(const struct fw_worker_death *death);

#endif
