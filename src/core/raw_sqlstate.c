/*
 * raw_sqlstate.c - failed statements, by their SQLSTATE.
 *
 * The standard defines classes (the first two characters) and leaves the rest of them to
 * the database; the exact states here are those of PostgreSQL, which others use too.
 * A state that is not listed has the code of its class.
 */
#include "core/raw_impl.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <string.h>

enum { STATE_LEN = 5, CLASS_LEN = 2 };

struct state_row {
	const char *state; /* five characters, or two: the class */
	int code;
	const char *words;
	bool may_retry; /* the same statement may work the next time */
};

/* Exact states come before their class. */
static const struct state_row states[] = {
	{ "02", FW_RESOURCE_NOT_FOUND, "no data", false },
	{ "08", FW_DEPENDENCY_UNAVAILABLE, "connection exception", false },
	{ "0A", FW_INTERNAL_UNSUPPORTED, "feature not supported", false },
	{ "22", FW_INPUT_INVALID_VALUE, "data exception", false },
	{ "23502", FW_INPUT_INVALID_VALUE, "not null violation", false },
	{ "23503", FW_RESOURCE_CONFLICT, "foreign key violation", false },
	{ "23505", FW_RESOURCE_ALREADY_EXISTS, "unique violation", false },
	{ "23514", FW_INPUT_INVALID_VALUE, "check violation", false },
	{ "23", FW_RESOURCE_CONFLICT, "integrity constraint violation", false },
	{ "28", FW_AUTH_INSUFFICIENT_PERMISSIONS, "invalid authorization", false },
	{ "3D", FW_RESOURCE_NOT_FOUND, "no such database", false },
	{ "40", FW_RESOURCE_CONFLICT, "transaction rollback", true },
	{ "42501", FW_AUTH_INSUFFICIENT_PERMISSIONS, "insufficient privilege", false },
	{ "42710", FW_RESOURCE_ALREADY_EXISTS, "duplicate object", false },
	{ "42P04", FW_RESOURCE_ALREADY_EXISTS, "duplicate database", false },
	{ "42P07", FW_RESOURCE_ALREADY_EXISTS, "duplicate table", false },
	{ "42", FW_INTERNAL_UNEXPECTED, "syntax error or access rule violation", false },
	{ "53100", FW_IO_NO_SPACE, "disk full", false },
	{ "53", FW_DEPENDENCY_UNAVAILABLE, "insufficient resources", false },
	{ "55", FW_RESOURCE_CONFLICT, "object not in prerequisite state", true },
	{ "57", FW_DEPENDENCY_UNAVAILABLE, "operator intervention", false },
	{ "58", FW_DEPENDENCY_UNAVAILABLE, "system error", false },
	{ "P0", FW_TOOL_FAILED, "raised by a procedure", false },
};

static bool is_state(const char *text)
{
	return text && strlen(text) == STATE_LEN &&
	       strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == STATE_LEN &&
	       /* Success and warnings are no failures. */
	       strncmp(text, "00", CLASS_LEN) != 0 && strncmp(text, "01", CLASS_LEN) != 0;
}

static const struct state_row *find(const char *state)
{
	static const struct state_row unlisted = { "", FW_INTERNAL_UNEXPECTED,
						   "failed statement", false };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strncmp(states[i].state, state, strlen(states[i].state)) == 0)
			return &states[i];
	return &unlisted;
}

const char *fw_sqlstate_words(const char *sqlstate)
{
	return is_state(sqlstate) ? find(sqlstate)->words : NULL;
}

static fw_error *raise_state(fw_src at, const struct state_row *row, const char *what)
{
	switch (row->code) {
	case FW_INPUT_INVALID_VALUE:
		return fw_raise_input_invalid_value_at(at, what ? what : "value",
						       "acceptable to the database");
	case FW_INTERNAL_UNEXPECTED: return fw__raw_raise(at, row->code, NULL, NULL);
	case FW_RESOURCE_ALREADY_EXISTS:
		return fw_raise_resource_already_exists_at(at, what ? what : "the row");
	default: return fw__raw_raise(at, row->code, what ? what : "the database", row->words);
	}
}

fw_error *fw_error_from_sqlstate(fw_src at, const char *sqlstate, const char *what)
{
	const struct state_row *row;
	fw_error *err;

	if (!is_state(sqlstate)) {
		err = fw_raise_internal_unexpected_at(at, NULL);
		fw_error_add_cause(err, "not the SQLSTATE of a failure", NULL, "sqlstate");
		return err;
	}
	row = find(sqlstate);
	err = raise_state(at, row, what);
	if (row->may_retry) {
		fw_error_set_retry(err, FW_RETRY_BACKOFF);
		fw_error_set_recoverable(err, true);
	}
	fw_error_add_cause(err, row->words, sqlstate, "sqlstate");
	return err;
}
