/*
 * log_rate.c - one token bucket per name, found by the address of the name. If all
 * buckets are in use, a new name shares one.
 */
#include "observe/log/log_rate.h"

#include "base/limits.h"

enum { DUE_MS = 1000 };

static struct fw_log_bucket *bucket_of(struct fw_log_rates *rates, const char *name)
{
	size_t at = ((uintptr_t)name >> 4) % FW_LOG_BUCKETS;

	for (size_t i = 0; i < FW_LOG_BUCKETS; i++) {
		struct fw_log_bucket *bucket = &rates->buckets[(at + i) % FW_LOG_BUCKETS];

		if (!bucket->name)
			bucket->name = name;
		if (bucket->name == name)
			return bucket;
	}
	return &rates->buckets[at];
}

bool fw_log_rate_take(struct fw_log_rates *rates, const char *name, int64_t now_ms,
		      uint64_t *ret_held)
{
	struct fw_log_bucket *bucket = bucket_of(rates, name);

	bucket->last_ms = now_ms;
	if (!fw_rate_take(&bucket->rate, FW_LIMIT_LOG_PER_S, FW_LIMIT_LOG_BURST,
			  (uint64_t)now_ms * 1000000)) {
		bucket->held++;
		return false;
	}
	*ret_held = bucket->held;
	bucket->held = 0;
	return true;
}

const char *fw_log_rate_due(struct fw_log_rates *rates, int64_t now_ms, uint64_t *ret_held,
			    bool *ret_left)
{
	*ret_left = false;
	for (size_t i = 0; i < FW_LOG_BUCKETS; i++) {
		struct fw_log_bucket *bucket = &rates->buckets[i];

		if (!bucket->held)
			continue;
		if (now_ms - bucket->last_ms < DUE_MS) {
			*ret_left = true;
			continue;
		}
		*ret_held = bucket->held;
		bucket->held = 0;
		return bucket->name;
	}
	return NULL;
}
