/*
 * quota_impl.h - what the parts of quota.h share:
 *
 *   quota.c         decides on a call: asks the engine, spends a lease, or decides alone
 *   quota_return.c  reports ended calls, and gives unused parts of leases back
 *   quota_fleet.c   reports this replica; new, close and free
 *
 * The one rule to remember: nothing else includes this.
 */
#ifndef FW_FLEET_QUOTA_IMPL_H
#define FW_FLEET_QUOTA_IMPL_H

#include "fleet/quota.h"

enum {
	FW_QUOTA_SCRIPT_RATE,
	FW_QUOTA_SCRIPT_TAKE,
	FW_QUOTA_SCRIPT_GIVE,
	FW_QUOTA_SCRIPT_BEAT,
	FW_QUOTA_SCRIPTS,
	FW_QUOTA_UNIT_NS = 100,       /* of the engine's times */
	FW_QUOTA_CALLS_TTL_MS = 60000 /* of counted calls; renewed while there are any */
};

struct fw_quota_ask {
	struct fw_engine_call call; /* must be first */
	struct fw_quota *quota;
	size_t calls;
	uint64_t tokens;
	uint32_t permits;
	struct fw_quota_ask *next; /* of those that are not used */
};

struct fw_quotas {
	struct fw_quotas_options options;
	char fleet[FW_QUOTA_FLEET_SIZE];
	char replica[FW_QUOTA_REPLICA_SIZE]; /* of this connection */
	struct fw_engine_script scripts[FW_QUOTA_SCRIPTS];
	struct fw_engine_call beat;
	bool is_beating;
	unsigned beats;
	uint64_t beat_ms; /* of the last */
	size_t replicas;
	struct fw_quota *held; /* that hold tokens or permits of the engine */
	struct fw_quota_ask *unused;
	uv_timer_t *timer; /* of leases; NULL: no lease mode */
	uint64_t decisions[FW_QUOTA_WAYS];
};

static inline bool fw_quotas__are_up(const struct fw_quotas *quotas)
{
	return quotas->options.engine && fw_engine_is_up(quotas->options.engine);
}

/* The time per call, in units of the engine. */
uint64_t fw_quota__each(const struct fw_quota_limits *limits);
/* Adds the quota to `held`, or removes it, if it holds something now or no longer does. */
void fw_quota__list(struct fw_quota *quota);
/* The number of calls that the engine must count for this replica. */
uint32_t fw_quota__counted(const struct fw_quota *quota);
/* Sends tokens and ended calls to the engine. `is_last`: nobody waits for the reply. False: it
 * could not be sent. */
bool fw_quota__give_back(struct fw_quota *quota, uint64_t tokens, uint32_t ended, bool is_last);
/* Reports ended calls. One at a time for a client: calls that end meanwhile are reported
 * together. */
void fw_quota__release(struct fw_quota *quota);
/* `is_last`: the quota is not used any more. */
void fw_quota__end_lease(struct fw_quota *quota, bool is_last);
/* Ends the leases that have expired; a callback of the timer. */
void fw_quotas__end_leases(uv_timer_t *timer);

#endif
