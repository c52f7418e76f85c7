/*
 * lane.c - clients told apart: how many calls each has under way, and how fast
 * they come.
 *
 * A client is whom it has authenticated as; else the address it connects from,
 * with its legacy session. It is kept as a number, in one of a bounded set of
 * lanes. Clients with nothing under way give their lane up, so
 * that two busy ones share only where nearly all are taken. The number depends
 * on a secret of this process: nobody can choose whom to collide with.
 */
#include <math.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/lane.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"
#include "mcp/util.h"

enum {
	/* How far a client may be from the lane that its number names. */
	NEAR = 8
};

/* Nothing of it is what the client says of itself. */
static uint64_t key_of(const fw_call *call)
{
	const struct fw_exchange *exchange = call->exchange;
	uint64_t hash;

	memcpy(&hash, call->server->key, sizeof hash);
	if (exchange && exchange->persistent) {
		hash = (hash ^ (uint64_t)(uintptr_t)exchange) * 1099511628211u;
	} else if (exchange && exchange->principal) {
		hash = fw_mix(hash, exchange->principal);
	} else {
		hash = fw_mix(hash, exchange && exchange->peer ? exchange->peer : "");
		hash = fw_mix(hash, call->session ? call->session->id : "");
	}
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdu;
	hash ^= hash >> 33;
	return hash ? hash : 1;
}

/* Its own, else one that nobody uses, else one that is shared. */
static struct fw_lane *find(fw_server *server, uint64_t key)
{
	size_t count = server->limits.client_lanes;
	struct fw_lane *spare = NULL;

	for (size_t i = 0; i < NEAR && i < count; i++) {
		struct fw_lane *lane = &server->calls.lanes[(key + i) % count];

		if (lane->key == key)
			return lane;
		/* The one that was used longest ago, for the sake of its rate. */
		if (!lane->refs && (!spare || lane->used_ns < spare->used_ns))
			spare = lane;
	}
	if (!spare)
		return &server->calls.lanes[key % count];
	*spare = (struct fw_lane){ .key = key };
	return spare;
}

static fw_error *too_many(uint64_t limit)
{
	fw_error *err = fw_raise_server_overloaded(limit, "calls of one client");

	fw_error_set_retry_after(err, 1);
	return err;
}

/* NULL: out of memory. */
static struct fw_lane *lane_of(const fw_call *call)
{
	fw_server *server = call->server;

	if (!server->calls.lanes) {
		size_t size = server->limits.client_lanes * sizeof *server->calls.lanes;

		server->calls.lanes = fw__allocate(size);
		if (!server->calls.lanes)
			return NULL;
		memset(server->calls.lanes, 0, size);
	}
	return find(server, key_of(call));
}

fw_error *fw_lane_check_room(const fw_call *call, size_t count)
{
	const uint64_t most = call->server->limits.client_in_flight;
	const struct fw_lane *lane = lane_of(call);

	if (!lane)
		return fw_raise_internal_out_of_memory();
	/* A client with nothing under way may send one that is larger. */
	return lane->in_flight && lane->in_flight + count > most ? too_many(most) : NULL;
}

void fw_lane_burden(fw_call *call)
{
	struct fw_lane *lane = call->lane ? NULL : lane_of(call);

	if (!lane)
		return;
	lane->used_ns = call->started_ns;
	lane->refs++;
	call->lane = lane;
}

fw_error *fw_lane_enter(fw_call *call)
{
	const struct fw_limits *limits = &call->server->limits;
	struct fw_lane *lane = lane_of(call);

	if (!lane)
		return fw_raise_internal_out_of_memory();
	lane->used_ns = call->started_ns;
	if (lane->in_flight >= limits->client_in_flight)
		return too_many(limits->client_in_flight);
	/* Each new session would have a burst of its own: beginning one counts. */
	if (limits->calls_per_second &&
	    (call->request.kind != FW_CALL_OTHER ||
	     (call->request.method && call->request.method->run == fw_method_initialize)) &&
	    !fw_rate_take(&lane->rate, limits->calls_per_second, limits->calls_burst,
			  call->started_ns)) {
		uint64_t wait_ns = fw_rate_wait_ns(&lane->rate, limits->calls_per_second,
						   limits->calls_burst, call->started_ns);
		fw_error *err = fw_raise_governance_rate_limited();

		/* In whole milliseconds, and not too early. */
		fw_error_set_retry_after(err, ceil((double)wait_ns / 1e6) / 1000);
		return err;
	}
	lane->refs++;
	call->lane = lane;
	return NULL;
}

void fw_lane_leave(fw_call *call)
{
	call->lane->refs--;
	call->lane = NULL;
}
