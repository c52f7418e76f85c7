/*
 * audit_show.h - records of an audit log for people: which ones, and how.
 */
#ifndef FW_CLI_COMMANDS_AUDIT_SHOW_H
#define FW_CLI_COMMANDS_AUDIT_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/faultwire.h>

/* All zero: every record. Strings are borrowed. */
typedef struct cli_audit_filter {
	const char *code; /* of kaiza, or canonical */
	const char *tool;
	const char *session;
	const char *incident;
	bool has_since, has_until;
	int64_t since_ms, until_ms;
} cli_audit_filter;

/** Whether the record is wanted. What is no record never is. */
bool cli_audit_filter_takes(const cli_audit_filter *filter, const char *line, size_t len);

/** "2026-01-15T12:00:00Z", "2026-01-15", or how long ago: 90s, 15m, 2h, 7d. */
bool cli_audit_time_read(const char *text, int64_t *ret_unix_ms);

/** One line on standard output: the record as it is, or for people. */
void cli_audit_show(const char *line, size_t len, bool json);

/**
 * The last `count` records of the log at `path`, reaching back into rotated
 * files; with `follow` also those to come, for ever, wherever the log is
 * rotated to. Returns when the output is gone.
 */
FW_NODISCARD fw_error *cli_audit_tail(const char *path, uint64_t count, bool follow, bool json);

#endif
