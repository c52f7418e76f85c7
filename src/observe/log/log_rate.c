/*
 * log_rate.c - so many lines of one code at once, so many a second, and a count
 * of the rest. A bucket for each name, found by the name's address; when all
 * are taken, what is new shares one.
 */
#include "observe/log/log_rate.h"

#include "base/limits.h"

enum {
	LINE = 1000, /* tokens of one line */
	FULL = FW_LIMIT_LOG_BURST * LINE,
	DUE_MS = 1000,
};

static struct fw_log_bucket *bucket_of(struct fw_log_rates *rates, const char *name)
{
	size_t at = ((uintptr_t)name >> 4) % FW_LOG_BUCKETS;

	for (size_t i = 0; i < FW_LOG_BUCKETS; i++) {
		struct fw_log_bucket *bucket = &rates->buckets[(at + i) % FW_LOG_BUCKETS];

		if (!bucket->name) {
			bucket->name = name;
			bucket->tokens = FULL;
		}
		if (bucket->name == name)
			return bucket;
	}
	return &rates->buckets[at];
}

static void fill(struct fw_log_bucket *bucket, int64_t now_ms)
{
	int64_t passed = now_ms - bucket->filled_ms;
	int64_t more;

	if (passed <= 0 && bucket->filled_ms)
		return;
	/* A thousandth of a line each millisecond is one line a second. */
	more = passed < FULL ? passed * FW_LIMIT_LOG_PER_S : FULL;
	bucket->tokens =
		bucket->tokens + more > FULL ? FULL : (unsigned)(bucket->tokens + more);
	bucket->filled_ms = now_ms;
}

bool fw_log_rate_take(struct fw_log_rates *rates, const char *name, int64_t now_ms,
		      uint64_t *ret_held)
{
	struct fw_log_bucket *bucket = bucket_of(rates, name);

	fill(bucket, now_ms);
	if (bucket->tokens < LINE) {
		bucket->held++;
		return false;
	}
	bucket->tokens -= LINE;
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
		if (now_ms - bucket->filled_ms < DUE_MS) {
			*ret_left = true;
			continue;
		}
		*ret_held = bucket->held;
		bucket->held = 0;
		return bucket->name;
	}
	return NULL;
}
