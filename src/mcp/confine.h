/*
 * confine.h - how the server process is confined, in two steps. The sandbox
 * (src/worker/sandbox_server.c) implements it.
 *
 * The one rule to remember: each step is taken once, on the server's thread.
 */
#ifndef FW_MCP_CONFINE_H
#define FW_MCP_CONFINE_H

#include <faultwire/serve.h>

struct fw_confine {
	/* Before the first thread. From then on, no io_uring can be made. */
	fw_error *(*limit_files)(struct fw_confine *confine);
	/* Before the first byte. */
	fw_error *(*limit_calls)(struct fw_confine *confine);
	void (*free)(struct fw_confine *confine);
};

/* Whether it is too late to confine the server, or it was done before. */
bool fw_server__cannot_confine(const fw_server *server);
/* Takes it over. */
void fw_server__set_confine(fw_server *server, struct fw_confine *confine);

#endif
