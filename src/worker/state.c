/*
 * state.c - the table of state.h, and the decision which error a call gets.
 */
#include "worker/state.h"

/* 0 is FW_WORKER_NONE, which only DEATH leads to: elsewhere it means "no change". */
static const unsigned char next[FW_WORKER_STATES][FW_WORKER_EVENTS] = {
	[FW_WORKER_STARTING] = { [FW_WORKER_EVENT_CALL] = FW_WORKER_ASSIGNED,
				 [FW_WORKER_EVENT_READY] = FW_WORKER_IDLE,
				 [FW_WORKER_EVENT_HANG_UP] = FW_WORKER_HUNG_UP,
				 [FW_WORKER_EVENT_FAILED] = FW_WORKER_FAILED,
				 [FW_WORKER_EVENT_KILL] = FW_WORKER_KILLED,
				 [FW_WORKER_EVENT_TIMER] = FW_WORKER_KILLED },
	[FW_WORKER_ASSIGNED] = { [FW_WORKER_EVENT_READY] = FW_WORKER_BUSY,
				 [FW_WORKER_EVENT_HANG_UP] = FW_WORKER_HUNG_UP,
				 [FW_WORKER_EVENT_FAILED] = FW_WORKER_FAILED,
				 [FW_WORKER_EVENT_KILL] = FW_WORKER_KILLED,
				 [FW_WORKER_EVENT_TIMER] = FW_WORKER_KILLED },
	[FW_WORKER_IDLE] = { [FW_WORKER_EVENT_CALL] = FW_WORKER_BUSY,
			     [FW_WORKER_EVENT_HANG_UP] = FW_WORKER_HUNG_UP,
			     [FW_WORKER_EVENT_KILL] = FW_WORKER_KILLED,
			     [FW_WORKER_EVENT_TIMER] = FW_WORKER_KILLED,
			     [FW_WORKER_EVENT_RETIRE] = FW_WORKER_RETIRED },
	[FW_WORKER_BUSY] = { [FW_WORKER_EVENT_DONE] = FW_WORKER_IDLE,
			     [FW_WORKER_EVENT_HANG_UP] = FW_WORKER_HUNG_UP,
			     [FW_WORKER_EVENT_KILL] = FW_WORKER_KILLED,
			     [FW_WORKER_EVENT_TIMER] = FW_WORKER_KILLED },
	[FW_WORKER_HUNG_UP] = { [FW_WORKER_EVENT_KILL] = FW_WORKER_CLOSED_KILLED,
				[FW_WORKER_EVENT_TIMER] = FW_WORKER_CLOSED_KILLED },
};

enum fw_worker_state fw_worker_state_next(enum fw_worker_state state,
					  enum fw_worker_event event)
{
	if (state == FW_WORKER_NONE || event == FW_WORKER_EVENT_DEATH)
		return FW_WORKER_NONE;
	if (event == FW_WORKER_EVENT_GARBLED)
		return FW_WORKER_BROKEN;
	return next[state][event] ? (enum fw_worker_state)next[state][event] : state;
}

enum fw_worker_outcome fw_worker_outcome_of(const struct fw_worker_death *death)
{
	if (!death->was_ready)
		return FW_WORKER_OUTCOME_CANNOT_START;
	if (death->has_own_error)
		return FW_WORKER_OUTCOME_OWN_ERROR;
	switch (death->state) {
	case FW_WORKER_KILLED: return FW_WORKER_OUTCOME_CANCELLED;
	case FW_WORKER_BROKEN: return FW_WORKER_OUTCOME_GARBLED;
	case FW_WORKER_CLOSED_KILLED:
		return death->was_killed ? FW_WORKER_OUTCOME_GARBLED
					 : FW_WORKER_OUTCOME_CRASHED;
	default:
		return death->has_begun ? FW_WORKER_OUTCOME_CRASHED : FW_WORKER_OUTCOME_PASS_ON;
	}
}

bool fw_worker_death_is_start_failure(const struct fw_worker_death *death)
{
	return !death->was_ready && death->state != FW_WORKER_KILLED &&
	       death->state != FW_WORKER_RETIRED;
}
