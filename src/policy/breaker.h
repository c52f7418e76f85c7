/*
 * breaker.h - a circuit breaker for tools that crash repeatedly.
 *
 * This is pure: the caller passes the time. A zeroed struct is a closed breaker. It
 * opens after a number of consecutive crashes. After a pause it admits one trial
 * call, whose outcome decides whether it closes.
 *
 * The one rule to remember: every admitted call ends in exactly one of crashed,
 * worked and let_go (which decides nothing).
 */
#ifndef FW_POLICY_BREAKER_H
#define FW_POLICY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

struct fw_breaker {
	uint32_t crashes;  /* consecutive */
	bool is_open;      /* until a call has worked */
	uint64_t until_ms; /* end of the pause */
	const void *trial; /* the trial call; NULL: none in progress */
};

/* May the call run? If not, try again after `ret_wait_ms`. */
bool fw_breaker_admit(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
		      uint64_t *ret_wait_ms);

/* The call crashed. `limit` consecutive crashes open the breaker; UINT32_MAX:
 * never. */
void fw_breaker_crashed(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
			uint32_t limit, uint64_t pause_ms);

/* The call ended by itself, with a result or an error. */
void fw_breaker_worked(struct fw_breaker *breaker);

/* The call never ran, or was stopped. */
void fw_breaker_let_go(struct fw_breaker *breaker, const void *who);

#endif
