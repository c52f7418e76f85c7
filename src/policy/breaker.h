/*
 * breaker.h - leaves alone for a while what keeps crashing.
 *
 * Pure: the clock is the caller's. All zero is a breaker that has seen nothing.
 * So many crashes in a row open it; after a pause one call is let through, and
 * how that one ends decides.
 *
 * The one rule to remember: whoever was admitted ends in exactly one of
 * crashed, worked and let_go (which decides nothing).
 */
#ifndef FW_POLICY_BREAKER_H
#define FW_POLICY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

struct fw_breaker {
	uint32_t crashes;  /* in a row */
	bool is_open;      /* until one call worked */
	uint64_t until_ms; /* of the pause */
	const void *trial; /* the one call that decides; NULL: none is under way */
};

/* May it run? False: not before `ret_wait_ms` from now. */
bool fw_breaker_admit(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
		      uint64_t *ret_wait_ms);

/* It crashed. `limit` in a row open the breaker; UINT32_MAX: nothing does. */
void fw_breaker_crashed(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
			uint32_t limit, uint64_t pause_ms);

/* It came to an end of its own, be that a result or an error. */
void fw_breaker_worked(struct fw_breaker *breaker);

/* It did neither: it never ran, or was stopped. */
void fw_breaker_let_go(struct fw_breaker *breaker, const void *who);

#endif
