/*
 * budget.h - budgets in a store: what a client may spend per day and month (UTC).
 *
 * A counter per client and period is what was handed out. A server reserves a part of a
 * budget before it spends it, and gives back what is left when it stops. If it is killed,
 * the part that it had reserved is lost, and nothing is spent twice: the counter never
 * exceeds the limit, with any number of servers.
 *
 * The functions are synchronous.
 *
 * The one rule to remember: spend only what was reserved, and only until it ends.
 */
#ifndef FW_GOVERN_BUDGET_H
#define FW_GOVERN_BUDGET_H

#include <stdint.h>

#include <faultwire/error.h>

#include "govern/policy.h"
#include "store/store.h"

enum { FW_BUDGET_WINDOW_SIZE = 12 };

/* A day or a month. */
struct fw_budget_window {
	char name[FW_BUDGET_WINDOW_SIZE]; /* "2026-11-18", "2026-11" */
	int64_t ends_ms;                  /* when the budget renews */
};
void fw_budget_window_at(enum fw_period period, int64_t now_ms,
			 struct fw_budget_window *ret_window);
/* "day", "month" */
const char *fw_budget_period_name(enum fw_period period);

/* A part of a budget. */
struct fw_budget_part {
	struct fw_budget_window window;
	int64_t amount;     /* reserved: up to what was asked for */
	int64_t store_left; /* what others may still reserve */
};

/* Reserves up to `want`; less if less is left, which may be nothing. Raises
 * dependency.unavailable, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_budget_reserve(struct fw_store *store, const char *client,
					 enum fw_period period, int64_t now_ms, int64_t limit,
					 int64_t want, struct fw_budget_part *ret_part);
/* Gives back what was reserved and not spent. */
FW_NODISCARD fw_error *fw_budget_return(struct fw_store *store, const char *client,
					enum fw_period period,
					const struct fw_budget_window *window, int64_t amount);

#endif
