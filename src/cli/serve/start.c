/*
 * start.c - see start.h.
 *
 * A program that starts the server can read one envelope instead of prose, and the audit
 * log records why the server did not start.
 */
#include "cli/serve/start.h"

#include <string.h>

#include <faultwire/faultwire.h>

#include "cli/stamp.h"

/* A new error and not a wrap, because a client must be able to tell "there is no server"
 * from "the server found no such file". */
static fw_error *make_failure(const fw_error *from)
{
	fw_error *err = fw_raise_server_start_failed(fw_error_message(from));
	fw_cause cause;

	fw_error_add_cause(err, fw_error_message(from), fw_error_name(from), "fw_error");
	for (size_t i = 0; fw_error_cause(from, i, &cause); i++)
		fw_error_add_cause(err, cause.message, cause.code, cause.name);
	if (fw_error_hint(from))
		fw_error_set_hint(err, fw_error_hint(from));
	return err;
}

/* As the boundary does for the failure of a call. */
static void fill(fw_error *err, const char *role)
{
	const cli_stamp now = CLI_STAMP_NOW;
	const fw_scope scope = { .tool = "serve", .role = role };

	cli_stamp_fill(&now, err);
	fw_error_fill_scope(err, &scope);
}

/* The log may be the reason why the server cannot start; then there is no record. */
static void record(struct fw_observation *observation, const fw_observe_options *options,
		   const fw_error *failure)
{
	const struct fw_audit_record line = { .event = FW_AUDIT_FAILURE, .error = failure };

	if (!observation->audit)
		fw_error_free(fw_observation_open_audit(observation, options));
	if (observation->audit)
		fw_error_free(fw_audit_append_wait(observation->audit, &line));
}

fw_error *serve_start_failed(struct serve_observers *observers,
			     const fw_observe_options *options, const char *role, fw_error *err,
			     bool in_contract)
{
	/* Checks of the server itself have codes of their own in every contract. */
	bool is_check = strncmp(fw_error_name(err), "governance.", 11) == 0;
	fw_error *failure = err;

	if (strcmp(fw_error_name(err), "cli.usage") == 0)
		return err;
	if (!is_check)
		failure = make_failure(err);
	fill(failure, role);
	record(&observers->observation, options, failure);
	if (is_check)
		return err;
	fw_error_free(in_contract ? err : failure);
	return in_contract ? failure : err;
}
