/*
 * progress.h - how far a long run is: a line on standard error, if that is a
 * terminal and the output goes elsewhere.
 */
#ifndef FW_CLI_TERMINAL_PROGRESS_H
#define FW_CLI_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/** From now on, of `total` bytes; 0: not known. */
void cli_progress_start(const char *name, uint64_t total);

/**
 * The same of things that are counted ("documents"), for a command whose output
 * is a line or two: shown on any terminal.
 */
void cli_progress_count(const char *name, const char *unit);

/** How many there are to count; 0: not known. */
void cli_progress_total(uint64_t total);

/** Cheap enough for every line: it looks at the clock only now and then. */
void cli_progress_step(uint64_t lines, uint64_t bytes);

/** Take the bar away, for good. */
void cli_progress_stop(void);

/** Whether a bar stands on the terminal now: whoever writes there wipes it first. */
bool cli_progress_visible(void);

#endif
