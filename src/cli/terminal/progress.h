/*
 * progress.h - a progress bar on standard error, if that is a terminal and standard output
 * is not.
 */
#ifndef FW_CLI_TERMINAL_PROGRESS_H
#define FW_CLI_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/** Starts a bar for `total` bytes; 0: unknown. */
void cli_progress_start(const char *name, uint64_t total);

/**
 * Starts a bar that counts things ("documents"), for a command with little output: it is
 * shown even if standard output is a terminal.
 */
void cli_progress_count(const char *name, const char *unit);

/** Sets how many there are to count; 0: unknown. */
void cli_progress_total(uint64_t total);

/** Cheap enough to call for every line: it rarely reads the clock. */
void cli_progress_step(uint64_t lines, uint64_t bytes);

/** Removes the bar. */
void cli_progress_stop(void);

/** Whether the bar is visible; erase it before writing to the terminal. */
bool cli_progress_visible(void);

#endif
