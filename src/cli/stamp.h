/*
 * stamp.h - the time and the incident id, which every reported error must have.
 */
#ifndef FW_CLI_STAMP_H
#define FW_CLI_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

typedef struct cli_stamp {
	bool fixed; /* always `unix_ms`, not the clock */
	int64_t unix_ms;
	const char *incident_id; /* NULL: a new one for every error */
} cli_stamp;

#define CLI_STAMP_NOW ((cli_stamp){ .fixed = false })

/** Sets the time and the incident id if `err` has none. */
void cli_stamp_fill(const cli_stamp *stamp, fw_error *err);

/** Reads RFC 3339, "2026-01-15T12:00:00.250Z" or with an offset; false if invalid. */
bool cli_time_read(const char *text, int64_t *ret_unix_ms);

/** Reads a duration, "90s", "15m", "2h" or "7d", whose number is at most `most`; false if
 *  invalid. */
bool cli_duration_read(const char *text, uint64_t most, int64_t *ret_ms);

/** The same as an age: the time that long ago. */
bool cli_ago_read(const char *text, uint64_t most, int64_t *ret_unix_ms);

#endif
