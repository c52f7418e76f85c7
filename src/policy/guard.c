/*
 * guard.c - see guard.h. Addresses that share a slot share its bucket: that slows a
 * guesser more, and only clients that were never seen before.
 */
#include "policy/guard.h"

#include <arpa/inet.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/id.h"
#include "base/real.h"

void fw_guard_init(struct fw_guard *guard)
{
	memset(guard, 0, sizeof *guard);
	fw_random((unsigned char *)&guard->seed, sizeof guard->seed);
}

static size_t slot_of(const struct fw_guard *guard, const char *peer)
{
	unsigned char bytes[16] = { 0 };
	size_t len = 8; /* of an IPv6 address: its network */

	if (peer && inet_pton(AF_INET, peer, bytes) == 1)
		len = 4;
	else if (!peer || inet_pton(AF_INET6, peer, bytes) != 1)
		len = 0;
	return (size_t)(fw_hash(bytes, len, guard->seed) % FW_GUARD_SLOTS);
}

static uint64_t wait_of(const struct fw_guard *guard, size_t slot, uint64_t now_ns)
{
	uint64_t own = fw_rate_wait_ns(&guard->addresses[slot], FW_GUARD_PER_SECOND,
				       FW_GUARD_BURST, now_ns);
	uint64_t all = fw_rate_wait_ns(&guard->all, FW_GUARD_ALL_PER_SECOND, FW_GUARD_ALL_BURST,
				       now_ns);

	return own > all ? own : all;
}

uint64_t fw_guard_wait_ns(const struct fw_guard *guard, const char *peer, uint64_t now_ns)
{
	return wait_of(guard, slot_of(guard, peer), now_ns);
}

bool fw_guard_failed(struct fw_guard *guard, const char *peer, uint64_t now_ns)
{
	size_t slot = slot_of(guard, peer);

	guard->failures++;
	(void)fw_rate_take(&guard->addresses[slot], FW_GUARD_PER_SECOND, FW_GUARD_BURST,
			   now_ns);
	(void)fw_rate_take(&guard->all, FW_GUARD_ALL_PER_SECOND, FW_GUARD_ALL_BURST, now_ns);
	if (!wait_of(guard, slot, now_ns) ||
	    (guard->alarmed_ns &&
	     now_ns - guard->alarmed_ns < FW_GUARD_ALARM_MS * (uint64_t)1000000))
		return false;
	guard->alarmed_ns = now_ns;
	return true;
}

fw_error *fw_guard_refuse(uint64_t wait_ns)
{
	fw_error *err = fw_raise_governance_rate_limited();

	fw_error_set_hint(err, "Too many wrong tokens came from this address: wait for "
			       "retry_after seconds.");
	fw_error_set_retry_after(err, fw_ceil((double)wait_ns / 1e6) / 1000);
	return err;
}
