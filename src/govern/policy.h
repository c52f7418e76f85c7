/*
 * policy.h - the policy file: limits and budgets of clients. docs/schemas/policy.schema.json
 * is its JSON Schema, docs/governance.md its description.
 *
 * The one rule to remember: exactly one entry applies to a client: that of its name, else
 * the first scope in the file that it has, else the default. Entries are not merged.
 */
#ifndef FW_GOVERN_POLICY_H
#define FW_GOVERN_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/principal.h>

enum {
	FW_POLICY_BYTES = 1024 * 1024,
	FW_POLICY_ENTRIES = 4096 /* clients, scopes, costs: of each */
};

enum fw_period { FW_PERIOD_DAY, FW_PERIOD_MONTH, FW_PERIOD_COUNT };

/* What one client may do. */
struct fw_policy_limits {
	uint64_t every_ns; /* time that one call refills in; 0: no limit of rate */
	uint64_t burst;
	uint32_t concurrent;  /* calls in progress; 0: no limit */
	uint32_t deadline_ms; /* 0: no limit */
	bool has_budget[FW_PERIOD_COUNT];
	int64_t budget[FW_PERIOD_COUNT];
	bool has_tools;
	const char **tools; /* names, or beginnings that end in '*' */
	size_t tool_count;
};

struct fw_policy;

/* `name` is that of the file, for errors. Raises input.invalid_value, which has the name,
 * the line and the member; internal.out_of_memory. The policy is yours. */
FW_NODISCARD fw_error *fw_policy_parse(const char *text, size_t len, const char *name,
				       struct fw_policy **ret_policy);
/* The same from a file. Raises also the errno of reading it, input.too_large. */
FW_NODISCARD fw_error *fw_policy_read(const char *path, struct fw_policy **ret_policy);
/* NULL is a no-op. */
void fw_policy_free(struct fw_policy *policy);

/* The entry that applies; NULL: no limits. Borrowed from the policy. */
const struct fw_policy_limits *fw_policy_limits_of(const struct fw_policy *policy,
						   const fw_principal *principal);
/* What a call of this tool costs; 1 by default. */
int64_t fw_policy_cost(const struct fw_policy *policy, const char *tool);
/* Whether an entry has budgets, so that a store is needed. */
bool fw_policy_has_budgets(const struct fw_policy *policy);
/* Failures in a row that open the breaker of a tool, 0: there is none; and its pause. */
uint32_t fw_policy_breaker(const struct fw_policy *policy, uint32_t *ret_pause_ms);
/* Our scopes for a scope of an OAuth token, by index; NULL: no more. */
const char *fw_policy_oauth_scope(const struct fw_policy *policy, const char *scope, size_t len,
				  size_t index);

/* Whether the entry permits the tool. */
bool fw_policy_permits(const struct fw_policy_limits *limits, const char *tool);

#endif
