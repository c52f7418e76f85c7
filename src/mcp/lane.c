/*
 * lane.c - limits per client: how many calls it has in progress, and how fast it
 * sends them.
 *
 * A client is its authenticated identity, else its address together with its legacy
 * session. It is hashed into one of a bounded number of lanes. Clients without calls in
 * progress give their lane up, so two busy clients share a lane only if nearly all are
 * taken. The hash has a secret key of this process, so a peer cannot choose a client to
 * collide with.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/real.h"
#include "mcp/call.h"
#include "mcp/lane.h"
#include "mcp/method.h"
#include "mcp/request.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "mcp/transport.h"

enum {
	/* How many lanes a client may get, beginning with the one that its hash selects. */
	LANES_TRIED = 8
};

/* Not derived from anything that the client claims about itself. */
static uint64_t key_of(const fw_call *call)
{
	const struct fw_exchange *exchange = call->exchange;
	uint64_t hash;

	memcpy(&hash, call->server->key, sizeof hash);
	if (exchange && exchange->persistent) {
		hash = fw_hash(&exchange, sizeof exchange, hash);
	} else if (exchange && exchange->principal) {
		hash = fw_hash_text(fw_principal_name(exchange->principal), hash);
	} else {
		hash = fw_hash_text(exchange && exchange->peer ? exchange->peer : "", hash);
		hash = fw_hash_text(call->session ? call->session->id : "", hash);
	}
	return hash ? hash : 1;
}

/* The client's own lane, else an unused one, else a shared one. */
static struct fw_lane *find(fw_server *server, uint64_t key)
{
	size_t count = server->limits.client_lanes;
	struct fw_lane *spare = NULL;

	for (size_t i = 0; i < LANES_TRIED && i < count; i++) {
		struct fw_lane *lane = &server->calls.lanes[(key + i) % count];

		if (lane->key == key)
			return lane;
		/* The least recently used, so that its rate has recovered. */
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
	/* A client without calls in progress may send a larger batch. */
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
	/* A new session would otherwise get a burst of its own, so initialize counts. */
	if (limits->calls_per_second &&
	    (call->request.kind != FW_CALL_OTHER ||
	     (call->request.method && call->request.method->run == fw_method_initialize)) &&
	    !fw_rate_take(&lane->rate, limits->calls_per_second, limits->calls_burst,
			  call->started_ns)) {
		uint64_t wait_ns = fw_rate_wait_ns(&lane->rate, limits->calls_per_second,
						   limits->calls_burst, call->started_ns);
		fw_error *err = fw_raise_governance_rate_limited();

		/* Whole milliseconds, rounded up. */
		fw_error_set_retry_after(err, fw_ceil((double)wait_ns / 1e6) / 1000);
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
