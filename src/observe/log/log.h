/*
 * log.h - the operator's log: one line per failure of a call, and per event of the server
 * itself.
 *
 * The log is global: there is one per process, so that code anywhere can log without
 * being passed an object. Until it is started, lines are discarded.
 *
 * The one rule to remember: logging never blocks and never fails. If the reader is too
 * slow, lines are dropped and counted, and the count is logged.
 */
#ifndef FW_OBSERVE_LOG_H
#define FW_OBSERVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <faultwire/error.h>
#include <faultwire/level.h>
#include <faultwire/observe.h>
#include <faultwire/observer.h>

struct fw_log_options {
	enum fw_log_form form;
	fw_log_level level;  /* lines of lower levels are not logged */
	int fd;              /* descriptor to write to; the log does not close it */
	const char *journal; /* journald's socket; NULL: its usual path */
};

/* Starts the log. Raises internal.out_of_memory, io.failed (no journald),
 * internal.api_misuse (it has been started already). */
FW_NODISCARD fw_error *fw_log_start(const struct fw_log_options *options);
/* Stops the log. Lines that wait are written if the reader accepts them within half a
 * second. */
void fw_log_stop(void);

/* True: the log is started. */
bool fw_log_is_on(void);

/* The form that FW_LOG_AUTO selects for a descriptor. */
enum fw_log_form fw_log_form_of(int fd);

/* Logs the failures of a server, and at level debug its successes. */
fw_observer fw_log_observer(void);

/*
 * Logs an event of `component`, from any thread. `event` is a string literal in snake
 * case. Lines of the same event have a rate limit, as have those of the same error code.
 * Secrets in fields are redacted.
 */
void fw_log_event(fw_log_level level, const char *component, const char *event,
		  const fw_field *fields, size_t count);

/* The number of lines that were dropped. */
uint64_t fw_log_lost(void);

/* Fields for an event; a NULL text is left out. */
static inline fw_field fw_log_text(const char *key, const char *text)
{
	return (fw_field){ .key = key,
			   .key_len = strlen(key),
			   .type = FW_FIELD_STRING,
			   .string = text,
			   .string_len = text ? strlen(text) : 0 };
}

static inline fw_field fw_log_number(const char *key, uint64_t number)
{
	return (fw_field){
		.key = key, .key_len = strlen(key), .type = FW_FIELD_U64, .u64 = number
	};
}

#endif
