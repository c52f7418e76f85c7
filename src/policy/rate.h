/*
 * rate.h - a token bucket: so many a second, and so many at once.
 *
 * The bucket is one number, the moment at which it will be full again. The
 * rates are told with each question, so that a bucket that is all zero is a
 * full one, and thousands of them cost little.
 *
 * The one rule to remember: it has no clock. `now_ns` is any clock that does
 * not go back, and the same one for each question to a bucket.
 */
#ifndef FW_POLICY_RATE_H
#define FW_POLICY_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct fw_rate {
	uint64_t full_ns;
};

/* Takes one if there is one. `per_second` and `burst` are at least 1. */
bool fw_rate_take(struct fw_rate *rate, uint64_t per_second, uint64_t burst, uint64_t now_ns);

/* How long until there is one; 0: now. */
uint64_t fw_rate_wait_ns(const struct fw_rate *rate, uint64_t per_second, uint64_t burst,
			 uint64_t now_ns);

#endif
