/*
 * rate.c - see rate.h. This is the "generic cell rate algorithm": taking a token
 * moves the time at which the bucket is full by the time that one token takes to
 * refill.
 */
#include "policy/rate.h"

static const uint64_t SECOND_NS = 1000000000;

uint64_t fw_rate_wait_each_ns(const struct fw_rate *rate, uint64_t each_ns, uint64_t burst,
			      uint64_t now_ns)
{
	uint64_t missing_ns = rate->full_ns > now_ns ? rate->full_ns - now_ns : 0;
	uint64_t depth_ns = (burst - 1) * each_ns;

	return missing_ns > depth_ns ? missing_ns - depth_ns : 0;
}

bool fw_rate_take_each(struct fw_rate *rate, uint64_t each_ns, uint64_t burst, uint64_t now_ns)
{
	if (fw_rate_wait_each_ns(rate, each_ns, burst, now_ns))
		return false;
	if (rate->full_ns < now_ns)
		rate->full_ns = now_ns;
	rate->full_ns += each_ns;
	return true;
}

void fw_rate_untake_each(struct fw_rate *rate, uint64_t each_ns)
{
	rate->full_ns = rate->full_ns > each_ns ? rate->full_ns - each_ns : 0;
}

uint64_t fw_rate_wait_ns(const struct fw_rate *rate, uint64_t per_second, uint64_t burst,
			 uint64_t now_ns)
{
	return fw_rate_wait_each_ns(rate, SECOND_NS / per_second, burst, now_ns);
}

bool fw_rate_take(struct fw_rate *rate, uint64_t per_second, uint64_t burst, uint64_t now_ns)
{
	return fw_rate_take_each(rate, SECOND_NS / per_second, burst, now_ns);
}
