/*
 * account.h - what a server knows about a client: its limits, its rate, its calls in
 * progress, and the parts of its budgets that are reserved for this server.
 *
 * The one rule to remember: an account is found or made with the first call of a client,
 * and then used without allocating. It stays while a call refers to it.
 */
#ifndef FW_GOVERN_ACCOUNT_H
#define FW_GOVERN_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/principal.h>

#include "fleet/quota.h"
#include "govern/budget.h"
#include "govern/policy.h"
#include "policy/rate.h"
#include "store/store_queue.h"

enum {
	FW_ACCOUNTS_MAX = 16384,
	FW_ACCOUNT_BUCKETS = 4096,
	/* A part of a budget is at most this fraction of it. */
	FW_ACCOUNT_PARTS = 64,
	/* After a budget was found used up, the store is not asked again for this time. */
	FW_ACCOUNT_DRY_MS = 1000
};

struct fw_lease {
	struct fw_budget_part part; /* what is left of it */
	uint64_t dry_until_ns;      /* the budget is used up until then; 0: not known */
};

/* A request for parts of budgets, on the store's thread. */
struct fw_renewal {
	struct fw_store_call call; /* must be first */
	struct fw_account *account;
	void *owner;
	bool is_busy;
	bool is_return; /* gives the parts back */
	int64_t now_ms;
	int64_t limit[FW_PERIOD_COUNT];
	int64_t want[FW_PERIOD_COUNT]; /* 0: nothing */
	struct fw_budget_part part[FW_PERIOD_COUNT];
};

struct fw_account {
	struct fw_account *next; /* in its bucket */
	struct fw_account *older;
	struct fw_account *newer;
	uint64_t hash;
	const char *name;                      /* of the client; follows the struct */
	const struct fw_policy_limits *limits; /* NULL: none */
	uint64_t serial;                       /* of the policy that they are from */
	size_t refs;                           /* of calls */
	uint32_t in_progress;
	struct fw_rate rate;
	struct fw_lease leases[FW_PERIOD_COUNT];
	struct fw_renewal renewal;
	struct fw_quota quota; /* the limits that all replicas share */
	fw_call *first_asking; /* that wait for it; linked by their grants */
	fw_call *last_asking;
	fw_call *first_waiting; /* for the renewal; linked by their grants */
	fw_call *last_waiting;
	int64_t waiting_cost;
};

/* Zeroed to begin with. */
struct fw_accounts {
	struct fw_account *buckets[FW_ACCOUNT_BUCKETS];
	struct fw_account *oldest;
	struct fw_account *newest;
	size_t count;
};

/* The account of a client: its name, and for a caller that has proven nothing also its
 * address, of IPv6 the network. NULL: no memory, or all accounts are in use. */
struct fw_account *fw_accounts_find(struct fw_accounts *accounts, const fw_principal *principal,
				    const char *peer);
/* Frees all of them. No call refers to one. */
void fw_accounts_clear(struct fw_accounts *accounts);

enum fw_spending {
	FW_SPENT,
	FW_SPEND_LATER, /* more has to be reserved first */
	FW_SPEND_NEVER  /* the budget of `*ret_period` is used up */
};
/* Takes the cost of a call out of all budgets, or out of none. */
enum fw_spending fw_account_spend(struct fw_account *account, int64_t cost, int64_t now_ms,
				  uint64_t now_ns, enum fw_period *ret_period);
/* The budgets of the account's limits: a bit for each period. */
unsigned fw_account_budgets(const struct fw_account *account);
/* Refunds the cost of a call that did not run, to the `budgets` that it was charged to at
 * `paid_ms`. A budget that was renewed since then gets nothing: the previous one was charged. */
void fw_account_refund(struct fw_account *account, int64_t cost, unsigned budgets,
		       int64_t paid_ms);
/* What is left of a budget, as far as this server knows. */
int64_t fw_account_left(const struct fw_account *account, enum fw_period period);

/* Fills in the renewal: what to reserve for the calls that wait. */
void fw_account_plan(struct fw_account *account, int64_t now_ms);
/* The renewal has succeeded. */
void fw_account_take(struct fw_account *account, uint64_t now_ns);

#endif
