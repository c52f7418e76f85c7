/*
 * report.h - the one place where an error becomes something that a person, or
 * whoever reads our standard error, gets to see.
 */
#ifndef FW_CLI_TERMINAL_REPORT_H
#define FW_CLI_TERMINAL_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include <faultwire/faultwire.h>

/** From now on, report as JSON in `contract` instead of in words. */
void cli_report_in(fw_contract contract);

/** The same, unless somebody has chosen already. */
void cli_report_by_default_in(fw_contract contract);

/** Consumes `err`, which must not be NULL; returns the exit status it means. */
int cli_fail(fw_error *err);

/**
 * The same of one input, or one line of it: `file` and `line` are shown before
 * the message, or become context in JSON. Line 0: the whole.
 */
int cli_fail_at(fw_error *err, const char *file, uint64_t line);

/** The same of an error that somebody else owns. */
void cli_report(const fw_error *err, const char *file, uint64_t line);

/** A remark that is no error; nothing where reports are JSON. */
void cli_remark(const char *fmt, ...) FW_PRINTF(1, 2);

/** cli.usage: the command line is wrong in this way. */
FW_NODISCARD fw_error *cli_usage(const char *fmt, ...) FW_PRINTF(1, 2);

/** internal.unsupported, for what PRODUCT promises and nobody built yet. */
FW_NODISCARD fw_error *cli_not_built(const char *what);

/** DEBUG_STACK=true in the environment. */
bool cli_stack_is_wanted(void);

#endif
