/*
 * interrupt.h - a long run that the user may interrupt: SIGINT, SIGTERM and SIGHUP set a
 * flag instead of ending the process, so that the run can remove what it has created.
 */
#ifndef FW_CLI_TERMINAL_INTERRUPT_H
#define FW_CLI_TERMINAL_INTERRUPT_H

#include <stdbool.h>

void cli_interrupt_watch(void);
/* Whether a signal has come since. `ctx` is ignored: it is here so that the function can be
 * passed where a run asks whether it is cancelled. */
bool cli_is_interrupted(void *ctx);

#endif
