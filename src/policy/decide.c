/*
 * decide.c - see decide.h.
 *
 * The order of the questions is that of the contracts. What a code asks for by itself
 * (kaiza, section 7) comes first; then whether the call may be repeated (owlclaw,
 * section 5: retryable before the code); then the type (toolerror). Whether the call may
 * have taken effect is asked whenever the answer is to call again.
 */
#include <faultwire/decide.h>

#include <string.h>

#include "core/options.h"
#include "policy/backoff.h"

enum { ATTEMPTS_DEFAULT = 3 };

static const double first_default = 1, max_default = 30, retry_after_max_default = 300;

const char *fw_action_name(fw_action action)
{
	static const char *const names[FW_ACTION_COUNT] = {
		[FW_ACTION_RETRY] = "retry",     [FW_ACTION_FIX] = "fix",
		[FW_ACTION_PREPARE] = "prepare", [FW_ACTION_WORK_AROUND] = "work_around",
		[FW_ACTION_RESOLVE] = "resolve", [FW_ACTION_ESCALATE] = "escalate",
		[FW_ACTION_CHECK] = "check",     [FW_ACTION_LATER] = "later",
		[FW_ACTION_GIVE_UP] = "give_up",
	};

	return (unsigned)action < FW_ACTION_COUNT ? names[action] : NULL;
}

static fw_decision decided(fw_action action, const char *reason)
{
	return (fw_decision){ .action = action, .reason = reason };
}

/* ---- codes that name the next step ---- */

static bool prepares(const fw_error *err, fw_decision *ret_decision)
{
	static const struct {
		const char *code, *next, *reason;
	} steps[] = {
		{ "session.not_initialized", "begin_session",
		  "the session has not begun; begin it, then call again" },
		{ "session.locked", "write_file docs/reports/",
		  "the session is locked until a failure report is written" },
		{ "session.ended", "initialize", "the session has ended; connect again" },
		{ "session.missing", "initialize", "there is no session; connect again" },
		{ "session.unknown", "initialize",
		  "the server does not know the session; connect again" },
		{ "protocol.not_initialized", "initialize",
		  "the connection has not been initialized" },
	};

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (strcmp(fw_error_name(err), steps[i].code) == 0) {
			*ret_decision = decided(FW_ACTION_PREPARE, steps[i].reason);
			ret_decision->next = steps[i].next;
			return true;
		}
	return false;
}

/* ---- calling again ---- */

static fw_decision retry(const fw_error *err, const fw_decide_options *how)
{
	double stated = fw_error_retry_after(err);
	fw_decision decision = { .action = FW_ACTION_LATER };

	decision.delay = stated >= 0 ? stated
				     : fw_backoff(how->attempt, how->backoff_first,
						  how->backoff_max, how->random);
	if (how->attempt >= how->attempts_max) {
		decision.reason = "the failure is temporary, but all attempts are used up";
	} else if (stated > how->retry_after_max) {
		decision.reason =
			"the failure is temporary, but the server asks to wait longer "
			"than is accepted";
	} else if (how->has_deadline && decision.delay >= how->left) {
		decision.reason =
			"the failure is temporary, but the deadline is before the next "
			"attempt";
	} else {
		decision.action = FW_ACTION_RETRY;
		decision.reason = stated >= 0 ? "the failure is temporary, and the server says "
						"when to try again"
					      : "the failure is temporary";
	}
	return decision;
}

static fw_decision by_type(const fw_error *err, const fw_decide_options *how)
{
	switch (fw_error_row(err)->type) {
	case FW_TYPE_VALIDATION:
		if (fw_error_retry(err) == FW_RETRY_NEVER)
			return decided(FW_ACTION_GIVE_UP,
				       "the server does not support this call");
		if (how->fixes_made > 0)
			return decided(FW_ACTION_GIVE_UP,
				       "the corrected call is wrong as well");
		return decided(FW_ACTION_FIX, "the arguments are wrong; correct them");
	case FW_TYPE_NOT_FOUND:
		return decided(FW_ACTION_WORK_AROUND,
			       "it does not exist; skip it, or look elsewhere");
	case FW_TYPE_CONFLICT:
		if (fw_error_retry(err) == FW_RETRY_NEVER)
			return decided(FW_ACTION_GIVE_UP, "the call was stopped");
		return decided(FW_ACTION_RESOLVE,
			       "a state or another holder prevents it; change that, or read "
			       "the current state, and call again");
	case FW_TYPE_PERMISSION:
		return decided(FW_ACTION_ESCALATE, "it is not allowed; ask a person");
	case FW_TYPE_TRANSIENT:
		return decided(FW_ACTION_GIVE_UP, "the server says not to repeat the call");
	case FW_TYPE_INTERNAL:
	case FW_TYPE_COUNT: break;
	}
	return decided(FW_ACTION_GIVE_UP, "the failure is permanent");
}

/* A conflict whose holders are known is negotiated with them, not waited for blindly. */
static bool has_holders(const fw_error *err)
{
	fw_field field;

	return fw_error_row(err)->type == FW_TYPE_CONFLICT &&
	       fw_error_find_field(err, "conflicts", &field);
}

static bool calls_again(fw_action action)
{
	return action == FW_ACTION_RETRY || action == FW_ACTION_FIX ||
	       action == FW_ACTION_PREPARE || action == FW_ACTION_RESOLVE ||
	       action == FW_ACTION_LATER;
}

static void set_defaults(fw_decide_options *how)
{
	if (how->attempt == 0)
		how->attempt = 1;
	if (how->attempts_max == 0)
		how->attempts_max = ATTEMPTS_DEFAULT;
	/* Written so that a NaN is replaced, too. */
	if (!(how->backoff_first > 0))
		how->backoff_first = first_default;
	if (!(how->backoff_max > 0))
		how->backoff_max = max_default;
	if (!(how->retry_after_max > 0))
		how->retry_after_max = retry_after_max_default;
}

fw_error *fw_decide(const fw_error *err, const fw_decide_options *options,
		    fw_decision *ret_decision)
{
	fw_decide_options how = FW_DECIDE_OPTIONS_INIT;
	fw_decision decision;

	FW_TRY(fw_options_read("fw_decide", options, &how, sizeof how));
	set_defaults(&how);
	if (!prepares(err, &decision))
		decision = fw_error_retry(err) == FW_RETRY_BACKOFF && !has_holders(err)
				   ? retry(err, &how)
				   : by_type(err, &how);
	if (calls_again(decision.action) && fw_error_delivery(err) == FW_SENT &&
	    !how.is_idempotent)
		decision = decided(FW_ACTION_CHECK,
				   "the call was sent and may have taken effect; find out, and "
				   "do not repeat it");
	*ret_decision = decision;
	return NULL;
}
