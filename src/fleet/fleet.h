/*
 * fleet.h - what a replica shares with the other replicas of its fleet, through an engine
 * (Redis or Valkey). docs/fleet.md describes it for operators.
 *
 * The one rule to remember: nothing here waits for the engine longer than the time limit of
 * its options, and a server works without it, with the bounds that docs/fleet.md states.
 */
#ifndef FW_FLEET_FLEET_H
#define FW_FLEET_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include <faultwire/serve.h>

#include "base/loop.h"
#include "fleet/engine_url.h"

struct fw_fleet;
struct fw_metrics;
struct fw_quotas;

enum {
	FW_FLEET_NAME_MAX = 48,
	FW_FLEET_WAIT_MS = 100,
	FW_FLEET_WAIT_MAX_MS = 60 * 1000,
	FW_FLEET_LEASE_MAX_MS = 60 * 1000
};

struct fw_fleet_options {
	struct fw_loop *loop;
	fw_server *server;
	const struct fw_engine_url *url; /* copied */
	const char *name;                /* of the fleet: a part of all keys */
	uint32_t wait_ms;                /* for a decision of the engine */
	uint32_t lease_ms;               /* 0: no leases */
};

/* Letters, digits, '-', '_' and '.', up to FW_FLEET_NAME_MAX. */
bool fw_fleet_name_is_valid(const char *name);

/* Begins to connect, and adds its line to /readyz; does not wait. Raises
 * internal.out_of_memory, internal.unsupported. */
FW_NODISCARD fw_error *fw_fleet_new(const struct fw_fleet_options *options,
				    struct fw_fleet **ret_fleet);
struct fw_fleet_health {
	bool is_up;
	int64_t since_unix_ms;          /* when it went up or down */
	size_t replicas;                /* in the last reply of the engine */
	uint64_t shared, leased, local; /* decisions */
};
/* On the loop's thread. */
struct fw_fleet_health fw_fleet_health(const struct fw_fleet *fleet);

/* Adds metrics. They must not be read after fw_fleet_free(). */
FW_NODISCARD fw_error *fw_fleet_observe(struct fw_fleet *fleet, struct fw_metrics *metrics);
/* Shares the breaker of the upstream at `url`; it is borrowed until fw_fleet_close().
 * Raises internal.out_of_memory. */
struct fw_breaker;
FW_NODISCARD fw_error *fw_fleet_add_breaker(struct fw_fleet *fleet, const char *url,
					    struct fw_breaker *breaker);
/* The limits of clients. Borrowed. */
struct fw_quotas *fw_fleet_quotas(struct fw_fleet *fleet);

/* After the server has stopped: gives back what this replica holds, for as long as a
 * decision may take, and disconnects. Runs the loop. NULL is a no-op. */
void fw_fleet_close(struct fw_fleet *fleet);
/* NULL is a no-op. */
void fw_fleet_free(struct fw_fleet *fleet);

#endif
