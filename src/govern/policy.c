/*
 * policy.c - see policy.h: a policy in memory, and what is asked of it with each call.
 */
#include "govern/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/json.h"
#include "base/mem.h"
#include "govern/policy_impl.h"

/* ---- questions ----------------------------------------------------------------------- */

static int compare_entry(const void *name, const void *entry)
{
	return strcmp(name, ((const struct fw_policy_entry *)entry)->name);
}

static int compare_cost(const void *name, const void *cost)
{
	return strcmp(name, ((const struct fw_policy_cost *)cost)->tool);
}

const struct fw_policy_limits *fw_policy_limits_of(const struct fw_policy *policy,
						   const fw_principal *principal)
{
	const struct fw_policy_entry *entry = NULL;

	if (policy->client_count)
		entry = bsearch(fw_principal_name(principal), policy->clients,
				policy->client_count, sizeof *entry, compare_entry);
	for (size_t i = 0; !entry && i < policy->scope_count; i++) {
		const char *held;

		/* The scope itself: "admin" does not stand for the others here. */
		for (size_t j = 0; (held = fw_principal_scope_at(principal, j)); j++)
			if (strcmp(held, policy->scopes[i].name) == 0)
				entry = &policy->scopes[i];
	}
	if (!entry)
		entry = policy->otherwise;
	return entry ? &entry->limits : NULL;
}

int64_t fw_policy_cost(const struct fw_policy *policy, const char *tool)
{
	const struct fw_policy_cost *cost =
		policy->cost_count ? bsearch(tool, policy->costs, policy->cost_count,
					     sizeof *cost, compare_cost)
				   : NULL;

	return cost ? cost->cost : policy->default_cost;
}

bool fw_policy_has_budgets(const struct fw_policy *policy)
{
	return policy->has_budgets;
}

uint32_t fw_policy_breaker(const struct fw_policy *policy, uint32_t *ret_pause_ms)
{
	*ret_pause_ms = policy->breaker_pause_ms;
	return policy->breaker_failures;
}

const char *fw_policy_oauth_scope(const struct fw_policy *policy, const char *scope, size_t len,
				  size_t index)
{
	yyjson_val *list =
		policy->oauth_scopes ? yyjson_obj_getn(policy->oauth_scopes, scope, len) : NULL;

	return yyjson_get_str(yyjson_arr_get(list, index));
}

bool fw_policy_permits(const struct fw_policy_limits *limits, const char *tool)
{
	if (!limits->has_tools)
		return true;
	for (size_t i = 0; i < limits->tool_count; i++) {
		const char *name = limits->tools[i];
		size_t len = strlen(name);

		if (len && name[len - 1] == '*' ? strncmp(name, tool, len - 1) == 0
						: strcmp(name, tool) == 0)
			return true;
	}
	return false;
}

/* ---- life ------------------------------------------------------------------------------ */

static void entries_free(struct fw_policy_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fw__release(entries[i].limits.tools);
	fw__release(entries);
}

void fw_policy_free(struct fw_policy *policy)
{
	if (!policy)
		return;
	entries_free(policy->clients, policy->client_count);
	entries_free(policy->scopes, policy->scope_count);
	entries_free(policy->otherwise, policy->otherwise ? 1 : 0);
	fw__release(policy->costs);
	yyjson_doc_free(policy->doc);
	fw__release(policy->text);
	fw__release(policy);
}

fw_error *fw_policy_parse(const char *text, size_t len, const char *name,
			  struct fw_policy **ret_policy)
{
	struct fw_policy *policy;
	fw_error *err;

	if (len > FW_POLICY_BYTES)
		return fw_raise_input_too_large(name, FW_POLICY_BYTES);
	policy = fw__allocate(sizeof *policy);
	if (!policy)
		return fw_raise_internal_out_of_memory();
	*policy = (struct fw_policy){ .len = len, .default_cost = 1 };
	policy->text = fw__allocate(len + YYJSON_PADDING_SIZE);
	if (!policy->text) {
		fw_policy_free(policy);
		return fw_raise_internal_out_of_memory();
	}
	memcpy(policy->text, text, len);
	memset(policy->text + len, 0, YYJSON_PADDING_SIZE);
	err = fw_policy__fill(policy, name);
	if (err)
		fw_policy_free(policy);
	else
		*ret_policy = policy;
	return err;
}

static fw_error *read_all(int fd, const char *path, char *text, size_t *ret_len)
{
	size_t len = 0;

	for (;;) {
		ssize_t count = read(fd, text + len, FW_POLICY_BYTES + 1 - len);
		int errnum = errno;

		if (count < 0 && errnum == EINTR)
			continue;
		if (count < 0)
			return fw_error_from_errno(FW_HERE, errnum, path);
		len += (size_t)count;
		if (!count)
			break;
		if (len > FW_POLICY_BYTES)
			return fw_raise_input_too_large(path, FW_POLICY_BYTES);
	}
	*ret_len = len;
	return NULL;
}

fw_error *fw_policy_read(const char *path, struct fw_policy **ret_policy)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int errnum = errno;
	char *text;
	fw_error *err;
	size_t len = 0;

	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errnum, path);
	text = fw__allocate(FW_POLICY_BYTES + 1);
	err = text ? read_all(fd, path, text, &len) : fw_raise_internal_out_of_memory();
	(void)close(fd);
	if (!err)
		err = fw_policy_parse(text, len, path, ret_policy);
	fw__release(text);
	return err;
}
