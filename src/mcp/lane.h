/*
 * lane.h - one client's share of the server: how many calls it has in progress,
 * and how fast it may begin new ones.
 */
#ifndef FW_MCP_LANE_H
#define FW_MCP_LANE_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>

#include "policy/rate.h"

struct fw_lane {
	uint64_t key; /* 0: not in use */
	uint64_t used_ns;
	size_t refs;      /* calls that point to it */
	size_t in_flight; /* of these, those in progress */
	struct fw_rate rate;
};

/* Finds the call's lane. Raises server.overloaded, governance.rate_limited,
 * internal.out_of_memory; then it has none. */
fw_error *fw_lane_enter(fw_call *call);
void fw_lane_leave(fw_call *call);
/* A call that failed before it had a lane, and whose reply is held, counts as one
 * of its client's calls from now on. */
void fw_lane_burden(fw_call *call);
/* Raises server.overloaded if `count` more calls are too many for the client. */
fw_error *fw_lane_check_room(const fw_call *call, size_t count);

#endif
