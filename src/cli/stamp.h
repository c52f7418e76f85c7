/*
 * stamp.h - what a boundary adds to every error that lacks it: the time, and
 * an incident id to look it up by.
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

/** Set the time and the incident id where `err` has none. */
void cli_stamp_fill(const cli_stamp *stamp, fw_error *err);

/** Read RFC 3339, "2026-01-15T12:00:00.250Z" or with an offset; false if it is not. */
bool cli_time_read(const char *text, int64_t *ret_unix_ms);

/** Read how long ago, "90s", "15m", "2h" or "7d", with at most that number; false if
 *  it is not. */
bool cli_ago_read(const char *text, long long most, int64_t *ret_unix_ms);

#endif
