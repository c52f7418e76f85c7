/*
 * stats.h - numbers about a running server, for metrics and pages.
 */
#ifndef FW_MCP_STATS_H
#define FW_MCP_STATS_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/serve.h>

struct fw_server_stats {
	size_t calls;     /* in progress, including listeners */
	size_t listeners; /* calls that stay open to report changes */
	size_t sessions;
	size_t connections;
	size_t queued;  /* calls that wait for a slot */
	size_t workers; /* processes that run tools */
	size_t workers_busy;
	uint64_t workers_started; /* so far */
};

/* On the server's thread. */
void fw_server__stats(const fw_server *server, struct fw_server_stats *ret_stats);

#endif
