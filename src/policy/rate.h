/*
 * rate.h - a token bucket: a rate per second and a burst.
 *
 * The bucket is one number, the time at which it will be full again. The rate is
 * passed with each call, so a zeroed bucket is a full one, and thousands of them cost
 * little.
 *
 * The one rule to remember: it has no clock. `now_ns` is any monotonic clock, the
 * same one for all calls with a bucket.
 */
#ifndef FW_POLICY_RATE_H
#define FW_POLICY_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct fw_rate {
	uint64_t full_ns;
};

/* Takes a token if there is one. `per_second` and `burst` are at least 1. */
bool fw_rate_take(struct fw_rate *rate, uint64_t per_second, uint64_t burst, uint64_t now_ns);

/* The same with the time in which one token refills, at least 1 ns, for rates below one
 * per second. `burst` times `each_ns` is less than 2^63. */
bool fw_rate_take_each(struct fw_rate *rate, uint64_t each_ns, uint64_t burst, uint64_t now_ns);
uint64_t fw_rate_wait_each_ns(const struct fw_rate *rate, uint64_t each_ns, uint64_t burst,
			      uint64_t now_ns);

/* Puts a token back that was just taken. */
void fw_rate_untake_each(struct fw_rate *rate, uint64_t each_ns);

/* Time until there is a token; 0: now. */
uint64_t fw_rate_wait_ns(const struct fw_rate *rate, uint64_t per_second, uint64_t burst,
			 uint64_t now_ns);

#endif
