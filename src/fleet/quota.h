/*
 * quota.h - limits of a client (rate, calls in progress) that all replicas of a fleet share.
 *
 * The engine decides: one script takes a token out of the bucket and counts the calls. In
 * lease mode a replica takes some tokens ahead, and spends them without asking. While the
 * engine is away, each replica applies its share of the limits: the limit divided by the
 * number of replicas that were last seen. docs/fleet.md states the bounds of each.
 *
 * The one rule to remember: a call that was granted is ended exactly once.
 */
#ifndef FW_FLEET_QUOTA_H
#define FW_FLEET_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/limits_fleet.h"
#include "base/loop.h"
#include "fleet/engine.h"
#include "policy/rate.h"

enum { FW_QUOTA_KEY_SIZE = 33, FW_QUOTA_REPLICA_SIZE = 17, FW_QUOTA_FLEET_SIZE = 49 };

enum {
	/* A larger number in a reply is ignored: each replica makes the share of the others smaller. */
	FW_QUOTA_REPLICAS_MAX = 10000,
	/* How often a replica reports itself; without a report for so long, its calls are
	 * no longer counted. */
	FW_QUOTA_BEAT_MS = 1000,
	FW_QUOTA_DEAD_MS = FW_LIMIT_FLEET_DEAD_MS,
	/* Decisions of one client in progress, and calls that one of them is about. */
	FW_QUOTA_ASKS = 4,
	FW_QUOTA_ASKED = 4096
};

struct fw_quota_limits {
	uint64_t every_ns; /* time to refill one call; 0: no rate limit */
	uint64_t burst;
	uint64_t concurrent; /* 0: no limit; up to UINT32_MAX */
};

enum fw_quota_reason { FW_QUOTA_TOO_FAST, FW_QUOTA_TOO_MANY };

/* A decision on the oldest `count` calls that wait for one: the first `granted` may run. */
struct fw_quota_answer {
	size_t count;
	size_t granted;
	enum fw_quota_reason reason; /* why the others may not */
	uint64_t wait_ns;            /* if too fast: time until the next call may run */
};

struct fw_quotas;
struct fw_quota_ask;

/* What this replica knows of one client. Zeroed to begin with. */
struct fw_quota {
	struct fw_quotas *quotas; /* NULL: not used yet */
	struct fw_quota
		*next; /* in the list of quotas that hold tokens or permits of the engine */
	struct fw_quota *previous;
	bool is_listed;
	char key[FW_QUOTA_KEY_SIZE];
	struct fw_quota_limits limits;
	uint32_t running;  /* granted and not ended */
	uint32_t permits;  /* lease: calls that may run, those that do included */
	uint32_t released; /* ended calls that are not reported to the engine yet */
	bool is_releasing;
	unsigned asks;         /* in progress */
	size_t unasked;        /* calls that wait for the next one */
	uint64_t dry_until_ns; /* the engine is not asked before this time */
	uint64_t refill_ns;    /* when the next token comes */
	uint64_t tokens;       /* lease: taken ahead */
	uint64_t lease_until_ns;
	struct fw_rate share; /* while the engine is away */
};

/* How decisions were made. */
enum fw_quota_way { FW_QUOTA_SHARED, FW_QUOTA_LEASED, FW_QUOTA_LOCAL, FW_QUOTA_WAYS };

struct fw_quotas_options {
	struct fw_loop *loop;
	const char *fleet;        /* of the keys */
	struct fw_engine *engine; /* may be set later */
	uint32_t lease_ms;        /* 0: every call is decided by the engine */
	/* A decision that fw_quota_take() could not make at once. */
	void (*decided)(void *ctx, struct fw_quota *quota,
			const struct fw_quota_answer *answer);
	void *ctx;
};

/* Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_quotas_new(const struct fw_quotas_options *options,
				     struct fw_quotas **ret_quotas);
/* Stops the timers of leases, while the loop can still run. NULL is a no-op. */
void fw_quotas_close(struct fw_quotas *quotas);
/* After fw_quotas_close(), when no quota is in use. NULL is a no-op. */
void fw_quotas_free(struct fw_quotas *quotas);

/* The scripts that the engine is to load. */
struct fw_engine_script *fw_quotas_scripts(struct fw_quotas *quotas, size_t *ret_count);
void fw_quotas_set_engine(struct fw_quotas *quotas, struct fw_engine *engine);
void fw_quotas_set_decided(struct fw_quotas *quotas,
			   void (*decided)(void *ctx, struct fw_quota *quota,
					   const struct fw_quota_answer *answer),
			   void *ctx);
/* The engine has come up or gone down. */
void fw_quotas_changed(struct fw_quotas *quotas, bool is_up);
/* Returns all tokens and permits and leaves the fleet. Call it before the engine is freed, when
 * no reply is awaited. */
void fw_quotas_return(struct fw_quotas *quotas);
/* Reports this replica, and counts them. Once per FW_QUOTA_BEAT_MS. */
void fw_quotas_beat(struct fw_quotas *quotas);

size_t fw_quotas_replicas(const struct fw_quotas *quotas);
uint64_t fw_quotas_decisions(const struct fw_quotas *quotas, enum fw_quota_way way);

/* A call of the client `name` wants to run. True: `*ret_answer` is the decision on it.
 * False: `decided` comes later; calls are decided in their order. */
bool fw_quota_take(struct fw_quotas *quotas, struct fw_quota *quota, const char *name,
		   const struct fw_quota_limits *limits, struct fw_quota_answer *ret_answer);
/* A call that was granted has ended. */
void fw_quota_end(struct fw_quota *quota);
/* Whether its memory is in use. */
bool fw_quota_is_busy(const struct fw_quota *quota);
/* Resets a quota that is not busy. */
void fw_quota_clear(struct fw_quota *quota);

#endif
