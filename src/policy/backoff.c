/*
 * backoff.c - see backoff.h.
 */
#include "policy/backoff.h"

double fw_backoff(unsigned attempt, double first, double max, double random)
{
	double limit = first;

	/* Doubling stops at the cap, and attempts without end cannot overflow it. */
	while (attempt-- > 1 && limit < max)
		limit *= 2;
	if (limit > max)
		limit = max;
	if (!(random >= 0 && random < 1))
		random = 0.5;
	return limit * random;
}
