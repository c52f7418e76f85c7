/*
 * metrics.c - see metrics.h.
 */
#include "cli/serve/metrics.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal/report.h"
#include "mcp/page.h"
#include "mcp/stats.h"

/* ---- metrics ---------------------------------------------------------------- */

static struct fw_server_stats stats_of(const fw_server *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return stats;
}

static double count_calls(void *server)
{
	return (double)stats_of(server).calls;
}

static double count_listeners(void *server)
{
	return (double)stats_of(server).listeners;
}

static double count_sessions(void *server)
{
	return (double)stats_of(server).sessions;
}

static double count_connections(void *server)
{
	return (double)stats_of(server).connections;
}

static double count_queued(void *server)
{
	return (double)stats_of(server).queued;
}

static double count_workers(void *server)
{
	return (double)stats_of(server).workers;
}

static double count_busy_workers(void *server)
{
	return (double)stats_of(server).workers_busy;
}

static double count_started_workers(void *server)
{
	return (double)stats_of(server).workers_started;
}

fw_error *serve_metrics_add_all(struct fw_metrics *metrics, const struct serve_metric *list,
				size_t count, void *ctx)
{
	for (size_t i = 0; i < count; i++) {
		const struct serve_metric *metric = &list[i];

		FW_TRY((metric->is_counter ? fw_metrics_counter : fw_metrics_gauge)(
			metrics, metric->name, metric->help, metric->read, ctx));
	}
	return NULL;
}

static const struct serve_metric server_metrics[] = {
	{ "faultwire_calls_in_flight", "Requests in progress, including listeners.",
	  count_calls, false },
	{ "faultwire_calls_queued", "Calls waiting for a worker or thread.", count_queued,
	  false },
	{ "faultwire_listeners", "Clients that listen for changes.", count_listeners, false },
	{ "faultwire_sessions", "Sessions of legacy clients.", count_sessions, false },
	{ "faultwire_connections", "Open connections.", count_connections, false },
	{ "faultwire_workers", "Processes that run tools.", count_workers, false },
	{ "faultwire_workers_busy", "Workers that are running a call.", count_busy_workers,
	  false },
	{ "faultwire_workers_started_total", "Processes started for tools.",
	  count_started_workers, true },
};

/* ---- the audit log ------------------------------------------------------------ */

static struct fw_audit_health health_of(struct fw_audit *audit)
{
	struct fw_audit_health health;

	fw_audit_health(audit, &health);
	return health;
}

static double audit_up(void *audit)
{
	return health_of(audit).is_up;
}

static double audit_records(void *audit)
{
	return (double)health_of(audit).records;
}

static double audit_lost(void *audit)
{
	return (double)health_of(audit).lost;
}

static double audit_left_out(void *audit)
{
	return (double)health_of(audit).left_out;
}

static double audit_syncs(void *audit)
{
	return (double)health_of(audit).syncs;
}

static double audit_waiting(void *audit)
{
	return (double)health_of(audit).waiting;
}

static const struct serve_metric audit_metrics[] = {
	{ "faultwire_audit_up", "Whether the audit log can be written: 1 or 0.", audit_up,
	  false },
	{ "faultwire_audit_waiting", "Records that wait to be written.", audit_waiting, false },
	{ "faultwire_audit_records_total", "Records written.", audit_records, true },
	{ "faultwire_audit_lost_total", "Records lost because they could not be written.",
	  audit_lost, true },
	{ "faultwire_audit_left_out_total",
	  "Refused unauthenticated requests that were counted but not recorded.",
	  audit_left_out, true },
	{ "faultwire_audit_syncs_total", "Number of syncs of the log to disk.", audit_syncs,
	  true },
};

/* A load balancer can then send calls elsewhere. */
static bool check_audit(void *ctx, char *text, size_t size)
{
	struct fw_audit_health health = health_of(ctx);

	(void)snprintf(text, size, "audit: %s%s", health.is_up ? "up" : "down: ",
		       health.is_up     ? ""
		       : health.failure ? health.failure
					: "reason unknown");
	return health.is_up;
}

/* ---- adding them ---------------------------------------------------------------- */

fw_error *serve_metrics_add(fw_server *server, struct serve_observers *observers,
			    const char *word)
{
	fw_observer observer = { .struct_size = sizeof(fw_observer),
				 .finished = fw_metrics_finished };

	if (word && strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return cli_usage("--metrics takes on or off");
	if (word && strcmp(word, "off") == 0)
		return NULL;
	FW_TRY(fw_metrics_new(&observers->metrics));
	observer.ctx = observers->metrics;
	FW_TRY(fw_metrics_add_process(observers->metrics));
	FW_TRY(serve_metrics_add_all(observers->metrics, server_metrics,
				     sizeof server_metrics / sizeof *server_metrics, server));
	if (observers->audit) {
		FW_TRY(serve_metrics_add_all(observers->metrics, audit_metrics,
					     sizeof audit_metrics / sizeof *audit_metrics,
					     observers->audit));
		FW_TRY(fw_server__add_check(server, check_audit, observers->audit));
	}
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/metrics", false, fw_metrics_page,
				  observers->metrics);
}

void serve_metrics_end(struct serve_observers *observers)
{
	fw_metrics_free(observers->metrics);
	observers->metrics = NULL;
}
