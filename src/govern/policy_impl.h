/*
 * policy_impl.h - a policy as it is in memory. Texts point into the file's text, which
 * the policy keeps.
 */
#ifndef FW_GOVERN_POLICY_IMPL_H
#define FW_GOVERN_POLICY_IMPL_H

#include <yyjson.h>

#include "govern/policy.h"

struct fw_policy_entry {
	const char *name;
	struct fw_policy_limits limits;
};

struct fw_policy_cost {
	const char *tool;
	int64_t cost;
};

struct fw_policy {
	char *text; /* unescaped in place by the JSON reader */
	size_t len;
	yyjson_doc *doc;
	struct fw_policy_entry *clients; /* by name */
	size_t client_count;
	struct fw_policy_entry *scopes; /* in the order of the file */
	size_t scope_count;
	struct fw_policy_entry *otherwise; /* one; NULL: none */
	struct fw_policy_cost *costs;      /* by name */
	size_t cost_count;
	int64_t default_cost;
	bool has_budgets;
	uint32_t breaker_failures;
	uint32_t breaker_pause_ms;
	yyjson_val *oauth_scopes; /* an object; NULL: none */
};

/* policy_parse.c */
fw_error *fw_policy__fill(struct fw_policy *policy, const char *name);

#endif
