/*
 * hooks.c - what makes faultwire_faulty of faultwire: a server that dies at a
 * step of a write, or that checks no paths. Only this test program has it.
 *
 *	FW_KILL_AT=N     the N-th step of a write kills server and worker
 *	FW_UNCHECKED=1   paths are opened as they come: the sandbox stands alone
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/common/root.h"
#include "tools/workspace/file_ops.h"

bool fw_root_unchecked;

static pid_t server;
static long kill_at;
static long steps;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FW_KILL_AT");

	server = getpid();
	kill_at = at ? strtol(at, NULL, 10) : 0;
	fw_root_unchecked = getenv("FW_UNCHECKED") != NULL;
}

void fw_ws_test_step(const char *name)
{
	(void)name;
	if (!kill_at || ++steps != kill_at)
		return;
	(void)kill(server, SIGKILL); /* with --sandbox off: it is out of reach else */
	(void)kill(getpid(), SIGKILL);
}
