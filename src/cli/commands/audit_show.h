/*
 * audit_show.h - filtering and printing records of an audit log.
 */
#ifndef FW_CLI_COMMANDS_AUDIT_SHOW_H
#define FW_CLI_COMMANDS_AUDIT_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

/* All zero: every record. Strings are borrowed. */
typedef struct cli_audit_filter {
	const char *code; /* kaiza or canonical */
	const char *tool;
	const char *session;
	const char *incident;
	bool has_since, has_until;
	int64_t since_ms, until_ms;
} cli_audit_filter;

/** Whether the record matches. A line that is not a record does not. */
bool cli_audit_filter_takes(const cli_audit_filter *filter, const char *line, size_t len);

/** "2026-01-15T12:00:00Z", "2026-01-15", or an age: 90s, 15m, 2h, 7d. */
bool cli_audit_time_read(const char *text, int64_t *ret_unix_ms);

/** Prints the record as one line: as stored if `json`, otherwise for people. */
void cli_audit_show(const char *line, size_t len, bool json);

/**
 * Prints the last `count` records of the log at `path`, from rotated files too. With
 * `follow` it also prints new records, across rotations, until the output fails.
 */
FW_NODISCARD fw_error *cli_audit_tail(const char *path, uint64_t count, bool follow, bool json);

#endif
