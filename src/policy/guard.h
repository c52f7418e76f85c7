/*
 * guard.h - slows down the guessing of tokens.
 *
 * Each address has a bucket of wrong tokens that refills slowly; an IPv6 network of 64
 * bits is one address. While it is empty, tokens from there are not looked at, unless the
 * server has seen them before: an active client is not locked out by another one on the
 * same address that guesses. All addresses together have a larger bucket.
 *
 * The one rule to remember: ask first (fw_guard_wait_ns()), then look at the token, then
 * report a wrong one (fw_guard_failed()).
 */
#ifndef FW_POLICY_GUARD_H
#define FW_POLICY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "policy/rate.h"

enum {
	FW_GUARD_PER_SECOND = 1, /* wrong tokens of one address */
	FW_GUARD_BURST = 10,
	FW_GUARD_ALL_PER_SECOND = 50, /* of all addresses */
	FW_GUARD_ALL_BURST = 500,
	FW_GUARD_SLOTS = 1024,
	FW_GUARD_ALARM_MS = 60 * 1000 /* between two alarms */
};

/* Zeroed to begin with. */
struct fw_guard {
	struct fw_rate all;
	struct fw_rate addresses[FW_GUARD_SLOTS];
	uint64_t seed; /* so that a peer cannot choose an address with the same slot */
	uint64_t alarmed_ns;
	uint64_t failures;
};

void fw_guard_init(struct fw_guard *guard);
/* Time until a token from this address is looked at; 0: now. `peer` may be NULL. */
uint64_t fw_guard_wait_ns(const struct fw_guard *guard, const char *peer, uint64_t now_ns);
/* A wrong token. True: the bucket is empty now, and no alarm was raised lately. */
bool fw_guard_failed(struct fw_guard *guard, const char *peer, uint64_t now_ns);
/* The error of a token that is not looked at, with the time to wait. */
FW_NODISCARD fw_error *fw_guard_refuse(uint64_t wait_ns);

#endif
