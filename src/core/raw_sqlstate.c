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
	const char *words;
	int code;
	bool may_retry; /* the same statement may work the next time */
};

/* Exact states come before their class. */
static const struct state_row states[] = {
	{ "02", "no data", FW_RESOURCE_NOT_FOUND, false },
	{ "08", "connection exception", FW_DEPENDENCY_UNAVAILABLE, false },
	{ "0A", "feature not supported", FW_INTERNAL_UNSUPPORTED, false },
	{ "22", "data exception", FW_INPUT_INVALID_VALUE, false },
	{ "23502", "not null violation", FW_INPUT_INVALID_VALUE, false },
	{ "23503", "foreign key violation", FW_RESOURCE_CONFLICT, false },
	{ "23505", "unique violation", FW_RESOURCE_ALREADY_EXISTS, false },
	{ "23514", "check violation", FW_INPUT_INVALID_VALUE, false },
	{ "23", "integrity constraint violation", FW_RESOURCE_CONFLICT, false },
	{ "28", "invalid authorization", FW_AUTH_INSUFFICIENT_PERMISSIONS, false },
	{ "3D", "no such database", FW_RESOURCE_NOT_FOUND, false },
	{ "40", "transaction rollback", FW_RESOURCE_CONFLICT, true },
	{ "42501", "insufficient privilege", FW_AUTH_INSUFFICIENT_PERMISSIONS, false },
	{ "42710", "duplicate object", FW_RESOURCE_ALREADY_EXISTS, false },
	{ "42P04", "duplicate database", FW_RESOURCE_ALREADY_EXISTS, false },
	{ "42P07", "duplicate table", FW_RESOURCE_ALREADY_EXISTS, false },
	{ "42", "syntax error or access rule violation", FW_INTERNAL_UNEXPECTED, false },
	{ "53100", "disk full", FW_IO_NO_SPACE, false },
	{ "53", "insufficient resources", FW_DEPENDENCY_UNAVAILABLE, false },
	{ "55", "object not in prerequisite state", FW_RESOURCE_CONFLICT, true },
	{ "57", "operator intervention", FW_DEPENDENCY_UNAVAILABLE, false },
	{ "58", "system error", FW_DEPENDENCY_UNAVAILABLE, false },
	{ "P0", "raised by a procedure", FW_TOOL_FAILED, false },
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
	static const struct state_row unlisted = { "", "failed statement",
						   FW_INTERNAL_UNEXPECTED, false };

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
