/*
 * decide.h - what a caller does about an error.
 *
 * The decision follows the contracts: what may be repeated is repeated after the delay
 * that the error names, or after a random part of an increasing one; wrong input is
 * corrected once; what is missing is looked for elsewhere; a conflict is resolved; a
 * refusal is passed on to a person; anything else is given up.
 *
 * It is pure: the caller passes the number of attempts, the time that is left and a
 * random number, so the same input gives the same decision. docs/agents.md has the table.
 *
 * The one rule to remember: a call that was sent, got no reply and is not idempotent is
 * never repeated, whatever the error says.
 */
#ifndef FAULTWIRE_DECIDE_H
#define FAULTWIRE_DECIDE_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

typedef enum fw_action {
	FW_ACTION_RETRY,       /**< make the same call again, after the delay */
	FW_ACTION_FIX,         /**< correct the arguments, then call again, once */
	FW_ACTION_PREPARE,     /**< do `next` first, then make the same call again */
	FW_ACTION_WORK_AROUND, /**< the thing does not exist: skip it or look elsewhere */
	FW_ACTION_RESOLVE,     /**< a state or another holder prevents it: change that */
	FW_ACTION_ESCALATE,    /**< a person has to allow it */
	FW_ACTION_CHECK,       /**< it may have taken effect: find out, do not repeat it */
	FW_ACTION_LATER,       /**< temporary, but attempts or time are used up */
	FW_ACTION_GIVE_UP,
	FW_ACTION_COUNT
} fw_action;

/** "retry", "fix", "prepare", "work_around"... */
FW_API const char *fw_action_name(fw_action action);

typedef struct fw_decide_options {
	size_t struct_size;
	unsigned attempt;       /**< attempts made, including the one that failed; 0: 1 */
	unsigned attempts_max;  /**< 0: 3; 1: never retry */
	unsigned fixes_made;    /**< corrections of the arguments so far */
	bool is_idempotent;     /**< doing it twice does no harm */
	bool has_deadline;      /**< `left` counts */
	double left;            /**< seconds until the deadline */
	double backoff_first;   /**< longest first delay in seconds; 0: 1 */
	double backoff_max;     /**< longest delay of all; 0: 30 */
	double retry_after_max; /**< longest delay of a server that is accepted; 0: 300 */
	double random;          /**< from 0 to below 1: where in the range the delay lies */
} fw_decide_options;

#define FW_DECIDE_OPTIONS_INIT FW_INIT(fw_decide_options)

/** All strings are static. */
typedef struct fw_decision {
	fw_action action;
	double delay;       /**< seconds to wait before `action`; 0 for most actions */
	const char *reason; /**< a sentence for people */
	/** For FW_ACTION_PREPARE: "begin_session" (a tool), "initialize" (a method) or
	 * "write_file docs/reports/". NULL otherwise. */
	const char *next;
} fw_decision;

/**
 * Decides what to do about `err`, which must not be NULL. `options` may be NULL.
 * Raises internal.api_misuse (struct_size).
 */
FW_API FW_NODISCARD fw_error *fw_decide(const fw_error *err, const fw_decide_options *options,
					fw_decision *ret_decision);

FW_EXTERN_C_END

#endif
