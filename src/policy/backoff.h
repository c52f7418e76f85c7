/*
 * backoff.h - how long to wait before the next attempt: capped, exponential, full jitter.
 *
 * Full jitter means any delay from 0 to the limit, which doubles with each attempt:
 * clients that failed together do not come back together.
 */
#ifndef FW_POLICY_BACKOFF_H
#define FW_POLICY_BACKOFF_H

/* Seconds. `attempt` counts from 1; `random` is from 0 to below 1. */
double fw_backoff(unsigned attempt, double first, double max, double random);

#endif
