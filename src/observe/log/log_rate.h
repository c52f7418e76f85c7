/*
 * log_rate.h - a rate limit for the lines of each code or event. Lines over the
 * limit are counted, and the count is logged.
 */
#ifndef FW_OBSERVE_LOG_RATE_H
#define FW_OBSERVE_LOG_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/rate.h"

struct fw_log_bucket {
	const char *name; /* name of a code or event, compared by address */
	struct fw_rate rate;
	int64_t last_ms; /* the newest line, written or suppressed */
	uint64_t held;   /* suppressed lines that were not reported yet */
};

enum { FW_LOG_BUCKETS = 256 };

struct fw_log_rates {
	struct fw_log_bucket buckets[FW_LOG_BUCKETS];
};

/* True: a line of that name may be written now, and `ret_held` is the number of lines
 * that were suppressed before it. `now_ms` must never decrease. */
bool fw_log_rate_take(struct fw_log_rates *rates, const char *name, int64_t now_ms,
		      uint64_t *ret_held);
/* Returns a name whose suppressed lines have not been reported for a second. NULL: none
 * is due. `*ret_left`: others will be due later. */
const char *fw_log_rate_due(struct fw_log_rates *rates, int64_t now_ms, uint64_t *ret_held,
			    bool *ret_left);

#endif
