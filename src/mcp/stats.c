/*
 * stats.c - see stats.h.
 */
#include "mcp/queue.h"
#include "mcp/runner.h"
#include "mcp/server.h"
#include "mcp/stats.h"
#include "mcp/transport.h"

void fw_server__stats(const fw_server *server, struct fw_server_stats *ret_stats)
{
	struct fw_server_stats stats = {
		.calls = server->calls.count,
		.listeners = server->calls.listeners,
		.sessions = server->sessions.count,
	};

	for (const struct fw_transport *t = server->transports; t; t = t->next)
		if (!t->is_closed)
			stats.connections += t->ops->connections ? t->ops->connections(t) : 1;
	for (const struct fw_runner *runner = server->runners.first; runner;
	     runner = runner->next) {
		stats.queued += fw_queue_waiting(runner->queue);
		if (runner->ops->count)
			runner->ops->count(runner, &stats.workers, &stats.workers_busy,
					   &stats.workers_started);
	}
	*ret_stats = stats;
}
