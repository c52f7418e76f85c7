/*
 * breaker.c - see breaker.h.
 */
#include "policy/breaker.h"

#include <stddef.h>

/* How long to wait for a trial call in progress, whose end is not known. */
enum { TRIAL_WAIT_MS = 1000 };

bool fw_breaker_admit(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
		      uint64_t *ret_wait_ms)
{
	if (!breaker->is_open)
		return true;
	if (now_ms < breaker->until_ms) {
		*ret_wait_ms = breaker->until_ms - now_ms;
		return false;
	}
	if (breaker->trial) {
		*ret_wait_ms = TRIAL_WAIT_MS;
		return false;
	}
	breaker->trial = who;
	return true;
}

void fw_breaker_crashed(struct fw_breaker *breaker, uint64_t now_ms, const void *who,
			uint32_t limit, uint64_t pause_ms)
{
	if (breaker->trial == who)
		breaker->trial = NULL;
	if (breaker->crashes < UINT32_MAX)
		breaker->crashes++;
	if (limit == UINT32_MAX || breaker->crashes < limit)
		return;
	breaker->is_open = true;
	breaker->until_ms = now_ms + pause_ms;
}

void fw_breaker_worked(struct fw_breaker *breaker)
{
	*breaker = (struct fw_breaker){ 0 };
}

void fw_breaker_let_go(struct fw_breaker *breaker, const void *who)
{
	if (breaker->trial == who)
		breaker->trial = NULL;
}
