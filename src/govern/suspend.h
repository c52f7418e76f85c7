/*
 * suspend.h - a circuit breaker per tool, for tools whose dependency is down: after a
 * number of such failures in a row, calls are refused for a while instead of being made.
 *
 * The one rule to remember: an entry is made with the first failure, so tools that work
 * cost a look-up and nothing else.
 */
#ifndef FW_GOVERN_SUSPEND_H
#define FW_GOVERN_SUSPEND_H

#include <stddef.h>
#include <stdint.h>

#include "policy/breaker.h"

enum { FW_SUSPENSIONS_MAX = 1024, FW_SUSPENSION_BUCKETS = 256 };

struct fw_suspension {
	struct fw_suspension *next;
	struct fw_breaker breaker;
	char name[]; /* of the tool */
};

/* Zeroed to begin with. */
struct fw_suspensions {
	struct fw_suspension *buckets[FW_SUSPENSION_BUCKETS];
	size_t count;
};

/* NULL: the tool has not failed yet. */
struct fw_suspension *fw_suspensions_find(const struct fw_suspensions *all, const char *tool);
/* The same, made if there is none. NULL: no memory, or too many. */
struct fw_suspension *fw_suspensions_make(struct fw_suspensions *all, const char *tool);
void fw_suspensions_clear(struct fw_suspensions *all);

#endif
