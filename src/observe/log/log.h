/*
 * log.h - the operator's log: one line for each failure, where it stops
 * travelling, and for what happens to the server itself.
 *
 * There is one log in a process, so that whatever goes wrong anywhere can be
 * told without carrying it along. Not started, it takes everything and says
 * nothing.
 *
 * The one rule to remember: logging never waits and never fails. Lines that a
 * slow reader leaves no room for are counted, and the count is a line itself.
 */
#ifndef FW_OBSERVE_LOG_H
#define FW_OBSERVE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <faultwire/server.h>

enum fw_log_form {
	FW_LOG_AUTO, /* journald where it is what reads us, text on a terminal, else JSON */
	FW_LOG_JSON,
	FW_LOG_PLAIN,
	FW_LOG_JOURNALD,
	FW_LOG_OFF
};

struct fw_log_options {
	enum fw_log_form form;
	fw_log_level level;  /* the lowest that is told */
	int fd;              /* where lines go; it stays the caller's */
	const char *journal; /* journald's socket; NULL: where it always is */
};

/* Raises internal.out_of_memory, io.failed (no journald). Not twice. */
FW_NODISCARD fw_error *fw_log_start(const struct fw_log_options *options);
/* What waits is written, if somebody reads it. */
void fw_log_stop(void);

/* Whether lines go anywhere. */
bool fw_log_is_on(void);

/* Which of the forms AUTO means for that descriptor. */
enum fw_log_form fw_log_form_of(int fd);

/* A server's failures; its successes, too, at level debug. */
fw_observer fw_log_observer(void);

/*
 * Something happened to `component`. From any thread. `event` is a literal in
 * snake case: lines of one event are limited in number, as those of one code.
 * Fields that look like secrets are hidden.
 */
void fw_log_event(fw_log_level level, const char *component, const char *event,
		  const fw_field *fields, size_t count);

/* Lines that found no room, or no reader. */
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
