/*
 * config_own.c - reads the member `faultwire` of a configuration entry.
 *
 * Each setting has one row in a table. Unknown members and unusable values are errors,
 * because ignoring them would hide a mistake.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "base/json.h"
#include "base/text.h"
#include "gate/config_impl.h"

enum { SECONDS_MOST = 86400, COUNT_MOST = 1000, RATE_MOST = 1000000 };

/* Where a value is stored, and how error messages name it. */
struct place {
	struct fw_gate_config *config;
	struct fw_gate_entry *entry;
	const char *member; /* "faultwire.limits.rate" */
};

typedef fw_error *read_fn(const struct place *place, yyjson_val *value);

struct member {
	const char *name;
	read_fn *read;
};

static fw_error *invalid(const struct place *place, const char *expected)
{
	return fw_gate_config__invalid(place->config, place->entry->target.name, place->member,
				       expected);
}

/* Reads each member of an object with the function in its row. `rows` ends with NULL. */
static fw_error *read_members(const struct place *place, yyjson_val *object,
			      const struct member *rows, const char *names)
{
	yyjson_obj_iter iter;
	yyjson_val *key;

	if (!yyjson_is_obj(object))
		return invalid(place, "an object");
	iter = yyjson_obj_iter_with(object);
	while ((key = yyjson_obj_iter_next(&iter))) {
		const struct member *row = rows;
		struct place inner = *place;
		char path[128];
		char expected[256];

		while (row->name && !fw_text_is(fw_text_of(key), row->name))
			row++;
		if (!row->name) {
			(void)snprintf(path, sizeof path, "%s.%.60s", place->member,
				       fw_text_str(fw_text_of(key)) ? yyjson_get_str(key) : "");
			(void)snprintf(expected, sizeof expected, "one of %s", names);
			inner.member = path;
			return invalid(&inner, expected);
		}
		(void)snprintf(path, sizeof path, "%s.%s", place->member, row->name);
		inner.member = path;
		/* cppcheck-suppress returnDanglingLifetime ; an error keeps no such pointer */
		FW_TRY(row->read(&inner, yyjson_obj_iter_get_val(key)));
	}
	return NULL;
}

/* ---- values ---------------------------------------------------------------------------- */

static fw_error *read_seconds(const struct place *place, yyjson_val *value, uint32_t *ret_ms)
{
	double seconds = yyjson_get_num(value);

	if (!yyjson_is_num(value) || !(seconds >= 0.001) || seconds > SECONDS_MOST)
		return invalid(place, "a number of seconds from 0.001 to 86400");
	*ret_ms = (uint32_t)(seconds * 1000);
	return NULL;
}

static fw_error *read_number(const struct place *place, yyjson_val *value, uint32_t least,
			     uint32_t most, uint32_t *ret_number)
{
	char expected[64];

	if (!yyjson_is_uint(value) || yyjson_get_uint(value) < least ||
	    yyjson_get_uint(value) > most) {
		(void)snprintf(expected, sizeof expected, "a whole number from %u to %u", least,
			       most);
		return invalid(place, expected);
	}
	*ret_number = (uint32_t)yyjson_get_uint(value);
	return NULL;
}

static fw_error *read_names(const struct place *place, yyjson_val *array,
			    const char *const **ret_names)
{
	struct fw_gate_list list;

	if (!fw_gate_config__list(place->config, &list, yyjson_arr_size(array)))
		return fw_raise_internal_out_of_memory();
	/* Checked here, because fw_gate_config__strings() would read NULL as an absent
	 * member. */
	if (!yyjson_is_arr(array))
		return invalid(place, "an array of strings");
	FW_TRY(fw_gate_config__strings(place->config, place->entry->target.name, place->member,
				       array, &list));
	*ret_names = list.items;
	return NULL;
}

/* ---- members --------------------------------------------------------------------------- */

static fw_error *read_deadline(const struct place *place, yyjson_val *value)
{
	return read_seconds(place, value, &place->entry->deadline_ms);
}

static fw_error *read_contract(const struct place *place, yyjson_val *value)
{
	const char *name = fw_text_str(fw_text_of(value));
	fw_contract contract;

	if (!name || !fw_contract_from_name(name, &contract) || contract >= FW_CONTRACT_COUNT)
		return invalid(place, "the name of a contract");
	place->entry->contract = contract;
	return NULL;
}

static fw_error *read_retry(const struct place *place, yyjson_val *value)
{
	return read_number(place, value, 0, COUNT_MOST, &place->entry->retries);
}

static fw_error *read_failures(const struct place *place, yyjson_val *value)
{
	return read_number(place, value, 1, COUNT_MOST, &place->entry->breaker_limit);
}

static fw_error *read_pause(const struct place *place, yyjson_val *value)
{
	return read_seconds(place, value, &place->entry->breaker_pause_ms);
}

static fw_error *read_breaker(const struct place *place, yyjson_val *value)
{
	static const struct member rows[] = { { "failures", read_failures },
					      { "pause", read_pause },
					      { NULL, NULL } };

	return read_members(place, value, rows, "failures, pause");
}

static fw_error *read_rate(const struct place *place, yyjson_val *value)
{
	return read_number(place, value, 1, RATE_MOST, &place->entry->calls_per_second);
}

static fw_error *read_in_flight(const struct place *place, yyjson_val *value)
{
	return read_number(place, value, 1, RATE_MOST, &place->entry->in_flight);
}

static fw_error *read_limits(const struct place *place, yyjson_val *value)
{
	static const struct member rows[] = { { "calls_per_second", read_rate },
					      { "in_flight", read_in_flight },
					      { NULL, NULL } };

	return read_members(place, value, rows, "calls_per_second, in_flight");
}

static fw_error *read_allow(const struct place *place, yyjson_val *value)
{
	return read_names(place, value, &place->entry->allow);
}

static fw_error *read_deny(const struct place *place, yyjson_val *value)
{
	return read_names(place, value, &place->entry->deny);
}

fw_error *fw_gate_config__own(struct fw_gate_config *config, struct fw_gate_entry *entry,
			      yyjson_val *own)
{
	static const struct member rows[] = {
		{ "deadline", read_deadline }, { "contract", read_contract },
		{ "retry", read_retry },       { "breaker", read_breaker },
		{ "limits", read_limits },     { "allow", read_allow },
		{ "deny", read_deny },         { NULL, NULL },
	};
	const struct place place = { config, entry, "faultwire" };

	if (!own)
		return NULL;
	return read_members(&place, own, rows,
			    "deadline, contract, retry, breaker, limits, allow, deny");
}
