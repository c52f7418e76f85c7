/*
 * policy_parse.c - reads a policy. Every mistake is reported with the file, the line and
 * the member. The JSON reader works in place, so the address of a member's name is its
 * position in the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/real.h"
#include "base/text.h"
#include "govern/policy_impl.h"
#include "govern/scope.h"

enum { DEPTH = 8, PATH_SIZE = 256 };

static const double RATE_LEAST = 1e-6, RATE_MOST = 1e6;
static const uint64_t DEPTH_NS_MOST = (uint64_t)1 << 62;
static const int64_t NUMBER_MOST = (int64_t)1 << 53;

/* Where the reader is. */
struct reader {
	struct fw_policy *policy;
	const char *file;
	char path[PATH_SIZE]; /* members, separated by dots */
};

/* ---- mistakes ------------------------------------------------------------------------ */

static size_t line_at(const struct reader *reader, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < reader->policy->len; i++)
		line += reader->policy->text[i] == '\n';
	return line;
}

/* `key` may be NULL: the whole file. */
static fw_error *wrong(const struct reader *reader, yyjson_val *key, const char *expected)
{
	char where[PATH_SIZE + 300];
	size_t offset = key ? (size_t)(yyjson_get_str(key) - reader->policy->text) : 0;

	(void)snprintf(where, sizeof where, "%.200s:%zu: %s%s%.60s", reader->file,
		       line_at(reader, offset), reader->path, reader->path[0] && key ? "." : "",
		       key               ? yyjson_get_str(key)
		       : reader->path[0] ? ""
					 : "the policy");
	return fw_raise_input_invalid_value(where, expected);
}

/* ---- values -------------------------------------------------------------------------- */

static fw_error *read_integer(const struct reader *reader, yyjson_val *key, int64_t least,
			      int64_t most, int64_t *ret_number)
{
	yyjson_val *value = unsafe_yyjson_get_next(key);
	int64_t number = yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX
				 ? (int64_t)yyjson_get_uint(value)
				 : -1;
	char expected[96];

	if (number >= least && number <= most) {
		*ret_number = number;
		return NULL;
	}
	(void)snprintf(expected, sizeof expected, "a whole number from %lld to %lld",
		       (long long)least, (long long)most);
	return wrong(reader, key, expected);
}

static fw_error *read_number(const struct reader *reader, yyjson_val *key, double least,
			     double most, double *ret_number)
{
	yyjson_val *value = unsafe_yyjson_get_next(key);
	double number = yyjson_is_num(value) ? yyjson_get_num(value) : -1;
	char expected[96];

	if (number >= least && number <= most) {
		*ret_number = number;
		return NULL;
	}
	(void)snprintf(expected, sizeof expected, "a number from %g to %g", least, most);
	return wrong(reader, key, expected);
}

/* An object with these members, each at most once. */
static fw_error *check_members(const struct reader *reader, yyjson_val *object,
			       const char *const *known, const char *expected)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(object);
	yyjson_val *key;

	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *name = yyjson_get_str(key);
		size_t i = 0;

		while (known && known[i] && strcmp(known[i], name) != 0)
			i++;
		if (known && !known[i])
			return wrong(reader, key, expected);
		if (strlen(name) != yyjson_get_len(key))
			return wrong(reader, key, "a name without NUL characters");
		if (yyjson_obj_getn(object, name, yyjson_get_len(key)) !=
		    unsafe_yyjson_get_next(key))
			return wrong(reader, key, "given once");
	}
	return NULL;
}

static fw_error *check_object(const struct reader *reader, yyjson_val *key, size_t *ret_count)
{
	yyjson_val *value = unsafe_yyjson_get_next(key);

	if (!yyjson_is_obj(value))
		return wrong(reader, key, "an object");
	if (yyjson_obj_size(value) > FW_POLICY_ENTRIES)
		return wrong(reader, key, "an object of at most 4096 members");
	*ret_count = yyjson_obj_size(value);
	return NULL;
}

/* The members of an object that is being read. */
struct members {
	yyjson_obj_iter iter;
	size_t count;
	size_t path_len; /* of the reader, without the object */
};

/* Checks the object under `key`; until its last member was read, the path of the reader
 * names it. `known`: as in check_members(), NULL: any names. */
static fw_error *enter(struct reader *reader, yyjson_val *key, const char *const *known,
		       const char *expected, struct members *ret_members)
{
	yyjson_val *object = unsafe_yyjson_get_next(key);
	size_t len = strlen(reader->path);

	FW_TRY(check_object(reader, key, &ret_members->count));
	(void)snprintf(reader->path + len, sizeof reader->path - len, "%s%.60s", len ? "." : "",
		       yyjson_get_str(key));
	FW_TRY(check_members(reader, object, known, expected));
	ret_members->iter = yyjson_obj_iter_with(object);
	ret_members->path_len = len;
	return NULL;
}

static yyjson_val *next_member(struct reader *reader, struct members *members)
{
	yyjson_val *member = yyjson_obj_iter_next(&members->iter);

	if (!member)
		reader->path[members->path_len] = '\0';
	return member;
}

/* NULL if there is nothing, or no memory. */
static void *make_list(size_t count, size_t size)
{
	void *list = count ? fw__allocate(count * size) : NULL;

	if (list)
		memset(list, 0, count * size);
	return list;
}

/* ---- limits --------------------------------------------------------------------------- */

static fw_error *read_tools(const struct reader *reader, yyjson_val *key,
			    struct fw_policy_limits *limits)
{
	yyjson_val *list = unsafe_yyjson_get_next(key);
	yyjson_val *item;
	size_t at, count;

	if (!yyjson_is_arr(list) || yyjson_arr_size(list) > FW_POLICY_ENTRIES)
		return wrong(reader, key, "an array of at most 4096 names of tools");
	limits->has_tools = true;
	limits->tools = make_list(yyjson_arr_size(list), sizeof *limits->tools);
	if (yyjson_arr_size(list) && !limits->tools)
		return fw_raise_internal_out_of_memory();
	yyjson_arr_foreach(list, at, count, item)
	{
		const char *name = fw_text_str(fw_text_of(item));

		if (!name || !*name)
			return wrong(reader, key, "an array of names of tools");
		limits->tools[limits->tool_count++] = name;
	}
	return NULL;
}

static fw_error *read_limit(const struct reader *reader, yyjson_val *key,
			    struct fw_policy_limits *limits)
{
	const char *name = yyjson_get_str(key);
	double number = 0;
	int64_t whole = 0;

	if (strcmp(name, "calls_per_second") == 0) {
		FW_TRY(read_number(reader, key, RATE_LEAST, RATE_MOST, &number));
		limits->every_ns = (uint64_t)(1e9 / number);
	} else if (strcmp(name, "burst") == 0) {
		FW_TRY(read_integer(reader, key, 1, 1000000000, &whole));
		limits->burst = (uint64_t)whole;
	} else if (strcmp(name, "concurrent") == 0) {
		FW_TRY(read_integer(reader, key, 1, 65536, &whole));
		limits->concurrent = (uint32_t)whole;
	} else if (strcmp(name, "deadline_seconds") == 0) {
		FW_TRY(read_number(reader, key, 0.001, 86400, &number));
		limits->deadline_ms = (uint32_t)fw_ceil(number * 1000);
	} else if (strcmp(name, "tools") == 0) {
		return read_tools(reader, key, limits);
	} else {
		enum fw_period period =
			strcmp(name, "budget_per_day") == 0 ? FW_PERIOD_DAY : FW_PERIOD_MONTH;

		FW_TRY(read_integer(reader, key, 0, NUMBER_MOST, &limits->budget[period]));
		limits->has_budget[period] = true;
		reader->policy->has_budgets = true;
	}
	return NULL;
}

static fw_error *read_limits(struct reader *reader, yyjson_val *key,
			     struct fw_policy_limits *limits)
{
	static const char *const known[] = {
		"calls_per_second", "burst", "concurrent", "budget_per_day", "budget_per_month",
		"deadline_seconds", "tools", NULL
	};
	struct members members;
	yyjson_val *member;

	FW_TRY(enter(reader, key, known,
		     "calls_per_second, burst, concurrent, budget_per_day, budget_per_month, "
		     "deadline_seconds or tools",
		     &members));
	while ((member = next_member(reader, &members)))
		FW_TRY(read_limit(reader, member, limits));
	if (limits->burst && !limits->every_ns)
		return wrong(reader, key, "an object that has calls_per_second with burst");
	if (limits->every_ns && !limits->burst)
		limits->burst = limits->every_ns < 1000000000
					? (1000000000 + limits->every_ns - 1) / limits->every_ns
					: 1;
	if (limits->every_ns && limits->burst > DEPTH_NS_MOST / limits->every_ns)
		return wrong(reader, key,
			     "an object whose burst refills in less than a "
			     "century");
	return NULL;
}

static fw_error *read_entries(struct reader *reader, yyjson_val *key, bool are_scopes,
			      struct fw_policy_entry **ret_entries, size_t *ret_count)
{
	struct fw_policy_entry *entries;
	struct members members;
	yyjson_val *member;

	FW_TRY(enter(reader, key, NULL, NULL, &members));
	entries = make_list(members.count, sizeof *entries);
	if (members.count && !entries)
		return fw_raise_internal_out_of_memory();
	*ret_entries = entries;
	while ((member = next_member(reader, &members))) {
		struct fw_policy_entry *entry = &entries[(*ret_count)++];

		entry->name = yyjson_get_str(member);
		if (are_scopes && !fw_scope_is_valid(entry->name))
			return wrong(reader, member,
				     "a scope: tool:NAME, toolset:NAME, read, "
				     "incidents or admin");
		FW_TRY(read_limits(reader, member, &entry->limits));
	}
	return NULL;
}

/* ---- the other members ------------------------------------------------------------------ */

static fw_error *read_costs(struct reader *reader, yyjson_val *key)
{
	struct fw_policy *policy = reader->policy;
	struct members members;
	yyjson_val *member;

	FW_TRY(enter(reader, key, NULL, NULL, &members));
	policy->costs = make_list(members.count, sizeof *policy->costs);
	if (members.count && !policy->costs)
		return fw_raise_internal_out_of_memory();
	while ((member = next_member(reader, &members))) {
		int64_t cost = 0;

		FW_TRY(read_integer(reader, member, 0, 1000000000, &cost));
		if (yyjson_equals_str(member, "*"))
			policy->default_cost = cost;
		else
			policy->costs[policy->cost_count++] =
				(struct fw_policy_cost){ yyjson_get_str(member), cost };
	}
	return NULL;
}

static fw_error *read_breaker(struct reader *reader, yyjson_val *key)
{
	static const char *const known[] = { "failures", "pause_seconds", NULL };
	struct fw_policy *policy = reader->policy;
	double pause_s = 30;
	int64_t failures = 5;
	struct members members;
	yyjson_val *member;

	FW_TRY(enter(reader, key, known, "failures or pause_seconds", &members));
	while ((member = next_member(reader, &members))) {
		if (yyjson_equals_str(member, "failures"))
			FW_TRY(read_integer(reader, member, 1, 1000000, &failures));
		else
			FW_TRY(read_number(reader, member, 0.001, 86400, &pause_s));
	}
	policy->breaker_failures = (uint32_t)failures;
	policy->breaker_pause_ms = (uint32_t)fw_ceil(pause_s * 1000);
	return NULL;
}

static fw_error *read_oauth_scopes(struct reader *reader, yyjson_val *key)
{
	struct members members;
	yyjson_val *member, *item;
	size_t at, most;

	FW_TRY(enter(reader, key, NULL, NULL, &members));
	while ((member = next_member(reader, &members))) {
		yyjson_val *list = unsafe_yyjson_get_next(member);
		bool is_valid = yyjson_is_arr(list) && yyjson_arr_size(list) <= FW_SCOPES_MAX;

		yyjson_arr_foreach(list, at, most, item)
		{
			is_valid = is_valid && yyjson_is_str(item) &&
				   fw_scope_is_valid(yyjson_get_str(item));
		}
		if (!is_valid)
			return wrong(reader, member, "an array of at most 64 scopes");
	}
	reader->policy->oauth_scopes = unsafe_yyjson_get_next(key);
	return NULL;
}

static fw_error *read_default(struct reader *reader, yyjson_val *key)
{
	reader->policy->otherwise = make_list(1, sizeof *reader->policy->otherwise);
	if (!reader->policy->otherwise)
		return fw_raise_internal_out_of_memory();
	return read_limits(reader, key, &reader->policy->otherwise->limits);
}

static fw_error *read_member(struct reader *reader, yyjson_val *key)
{
	struct fw_policy *policy = reader->policy;
	const char *name = yyjson_get_str(key);
	int64_t version;

	if (strcmp(name, "version") == 0)
		return read_integer(reader, key, 1, 1, &version);
	if (strcmp(name, "costs") == 0)
		return read_costs(reader, key);
	if (strcmp(name, "default") == 0)
		return read_default(reader, key);
	if (strcmp(name, "clients") == 0)
		return read_entries(reader, key, false, &policy->clients,
				    &policy->client_count);
	if (strcmp(name, "scopes") == 0)
		return read_entries(reader, key, true, &policy->scopes, &policy->scope_count);
	if (strcmp(name, "breaker") == 0)
		return read_breaker(reader, key);
	return strcmp(name, "oauth_scopes") == 0 ? read_oauth_scopes(reader, key) : NULL;
}

/* ---- the file --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fw_policy_entry *)a)->name,
		      ((const struct fw_policy_entry *)b)->name);
}

static int by_tool(const void *a, const void *b)
{
	return strcmp(((const struct fw_policy_cost *)a)->tool,
		      ((const struct fw_policy_cost *)b)->tool);
}

static fw_error *parse(struct reader *reader)
{
	struct fw_policy *policy = reader->policy;
	const struct fw_json_limits limits = { .bytes = FW_POLICY_BYTES, .depth = DEPTH };
	yyjson_read_err why = { 0 };
	char where[300];

	policy->doc =
		fw_json_read(policy->text, policy->len, limits, YYJSON_READ_INSITU, NULL, &why);
	if (policy->doc)
		return NULL;
	if (why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	(void)snprintf(where, sizeof where, "%.200s:%zu: the policy", reader->file,
		       line_at(reader, why.pos));
	return fw_raise_input_invalid_value(where, "JSON, not nested deeper than 8");
}

fw_error *fw_policy__fill(struct fw_policy *policy, const char *name)
{
	static const char *const known[] = { "version",      "costs",   "default",
					     "clients",      "scopes",  "breaker",
					     "oauth_scopes", "$schema", NULL };
	struct reader reader = { .policy = policy, .file = name };
	yyjson_val *root, *key;
	yyjson_obj_iter iter;

	FW_TRY(parse(&reader));
	root = yyjson_doc_get_root(policy->doc);
	if (!yyjson_is_obj(root))
		return wrong(&reader, NULL, "an object");
	FW_TRY(check_members(&reader, root, known,
			     "version, costs, default, clients, scopes, breaker or "
			     "oauth_scopes"));
	if (!fw_json_member(root, "version"))
		return wrong(&reader, NULL, "an object with the member \"version\": 1");
	iter = yyjson_obj_iter_with(root);
	while ((key = yyjson_obj_iter_next(&iter)))
		FW_TRY(read_member(&reader, key));
	if (policy->client_count)
		qsort(policy->clients, policy->client_count, sizeof *policy->clients, by_name);
	if (policy->cost_count)
		qsort(policy->costs, policy->cost_count, sizeof *policy->costs, by_tool);
	return NULL;
}
