/*
 * interrupt.c - see interrupt.h.
 */
#include "cli/terminal/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

void cli_interrupt_watch(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGHUP, &action, NULL);
}

bool cli_is_interrupted(void *ctx)
{
	(void)ctx;
	return is_interrupted != 0;
}
