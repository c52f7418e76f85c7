/*
 * report.h - reports errors on standard error, as text or as JSON.
 */
#ifndef FW_CLI_TERMINAL_REPORT_H
#define FW_CLI_TERMINAL_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include <faultwire/faultwire.h>

/** Makes later reports JSON in `contract` instead of text. */
void cli_report_in(fw_contract contract);

/** The same, unless cli_report_in() was called. */
void cli_report_by_default_in(fw_contract contract);

/** Whether reports are JSON in a contract. */
bool cli_reports_in_contract(void);

/** Consumes `err`, which must not be NULL; returns the exit status. */
int cli_fail(fw_error *err);

/**
 * The same for an error in a file: `file` and `line` precede the message, or are context
 * members in JSON. Line 0: the whole file.
 */
int cli_fail_at(fw_error *err, const char *file, uint64_t line);

/** The same, but does not consume the error. */
void cli_report(const fw_error *err, const char *file, uint64_t line);

/** Prints a remark, unless reports are JSON. */
void cli_remark(const char *fmt, ...) FW_PRINTF(1, 2);

/** cli.usage with this message. */
FW_NODISCARD fw_error *cli_usage(const char *fmt, ...) FW_PRINTF(1, 2);

/** Whether the environment contains DEBUG_STACK=true. */
bool cli_stack_is_wanted(void);

#endif
