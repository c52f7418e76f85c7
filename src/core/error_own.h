/*
 * error_own.h - setters for the library itself, which the folders above core/ use: for
 * texts that are known to be valid UTF-8 and free of secrets.
 */
#ifndef FW_CORE_ERROR_OWN_H
#define FW_CORE_ERROR_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

/* The texts of an error other than its message. */
enum fw_slot {
	FW_SLOT_HINT,
	FW_SLOT_DETAIL,
	FW_SLOT_TITLE, /* only if it differs from that of the row */
	FW_SLOT_INCIDENT_ID,
	FW_SLOT_TIMESTAMP,
	FW_SLOT_TOOL, /* from here to TRACE_ID: the scope, in fw_scope's order */
	FW_SLOT_OPERATION,
	FW_SLOT_ROLE,
	FW_SLOT_SESSION_ID,
	FW_SLOT_WORKSPACE_ROOT,
	FW_SLOT_PHASE_ID,
	FW_SLOT_PLAN_HASH,
	FW_SLOT_INVARIANT_ID,
	FW_SLOT_CLIENT,
	FW_SLOT_TRACE_ID,
	FW_SLOT_STACK,         /* a stack trace that came with the error as text */
	FW_SLOT_ORIGINAL_CODE, /* a code from a contract that is not in the registry */
	FW_SLOT_EMPTY_RESULT,  /* compact JSON object */
	FW_SLOT_COUNT
};

/* Sets the message from arbitrary bytes. */
void fw__error_set_message(fw_error *err, const char *text, size_t len);

/* Sets a slot from text of our own: valid UTF-8 and without secrets. */
void fw__error_set_own(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/* The same, unless the slot has a text already or `text` is NULL. */
void fw__error_fill_own(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/* The same for a text of which nothing is escaped in JSON; see fw_out_is_plain(). */
void fw__error_fill_plain(fw_error *err, enum fw_slot slot, const char *text, size_t len);

/* Whether the incident id is one that we made, as long as fw_incident_id() makes them. */
bool fw__error_has_own_incident(const fw_error *err);

/* Sets time and incident id of an error that has none. */
void fw__error_fill_incident(fw_error *err, int64_t unix_ms);

/*
 * As fw_error_caused_by(), but `cause` comes before the causes that `err` has: first
 * the original failure, then why it could not be handled.
 */
fw_error *fw__error_in_place_of(fw_error *err, fw_error *cause);

#endif
