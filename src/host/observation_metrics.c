/*
 * observation_metrics.c - the metrics of a server, at /metrics: calls, workers, and the
 * health of what records them.
 */
#include "host/observation.h"

#include <stdio.h>

#include <faultwire/serve.h>

#include "mcp/page.h"
#include "mcp/stats.h"
#include "observe/log/log.h"

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

fw_error *fw_observation_add_list(struct fw_observation *observation,
				  const struct fw_observation_metric *list, size_t count,
				  void *ctx)
{
	if (!observation->metrics)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const struct fw_observation_metric *metric = &list[i];

		FW_TRY((metric->is_counter ? fw_metrics_counter : fw_metrics_gauge)(
			observation->metrics, metric->name, metric->help, metric->read, ctx));
	}
	return NULL;
}

/* ---- the server ------------------------------------------------------------- */

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

static const struct fw_observation_metric server_metrics[] = {
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

static const struct fw_observation_metric audit_metrics[] = {
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

/* ---- incidents and log ---------------------------------------------------------- */

static double count_written(void *incidents)
{
	return (double)fw_incidents_health(incidents).written;
}

static double count_lost(void *incidents)
{
	return (double)fw_incidents_health(incidents).lost;
}

static double count_left_out(void *incidents)
{
	return (double)fw_incidents_health(incidents).left_out;
}

static double is_down(void *incidents)
{
	return fw_incidents_health(incidents).is_down;
}

static double count_waiting(void *incidents)
{
	return (double)fw_incidents_health(incidents).waiting;
}

/* Calls do not depend on it, so the server stays ready. */
static bool check_incidents(void *ctx, char *text, size_t size)
{
	struct fw_incidents_health health = fw_incidents_health(ctx);

	if (health.is_down)
		(void)snprintf(text, size,
			       "incidents: the store is away, %llu wait on the disk",
			       (unsigned long long)health.waiting);
	return true;
}

static double count_log_lost(void *ctx)
{
	(void)ctx;
	return (double)fw_log_lost();
}

static const struct fw_observation_metric log_metrics[] = {
	{ "faultwire_log_lost_total",
	  "Log lines dropped because the queue was full or standard error was closed.",
	  count_log_lost, true },
};

static const struct fw_observation_metric incident_metrics[] = {
	{ "faultwire_incidents_written_total", "Incidents written to the store.", count_written,
	  true },
	{ "faultwire_incidents_lost_total", "Incidents dropped because the queue was full.",
	  count_lost, true },
	{ "faultwire_incidents_left_out_total",
	  "Refused unauthenticated requests that were counted but not recorded.",
	  count_left_out, true },
	{ "faultwire_incidents_waiting",
	  "Incidents that wait on the disk for a store that is away.", count_waiting, false },
	{ "faultwire_incidents_down", "1 while the store cannot be written.", is_down, false },
};

/* ---- adding them ---------------------------------------------------------------- */

fw_error *fw_observation_add_metrics(struct fw_observation *observation, fw_server *server)
{
	fw_observer observer = { .struct_size = sizeof(fw_observer),
				 .finished = fw_metrics_finished };

	FW_TRY(fw_metrics_new(&observation->metrics));
	observer.ctx = observation->metrics;
	FW_TRY(fw_metrics_add_process(observation->metrics));
	FW_TRY(fw_observation_add_list(observation, server_metrics, COUNT_OF(server_metrics),
				       server));
	FW_TRY(fw_observation_add_list(observation, log_metrics, COUNT_OF(log_metrics), NULL));
	if (observation->audit) {
		FW_TRY(fw_observation_add_list(observation, audit_metrics,
					       COUNT_OF(audit_metrics), observation->audit));
		FW_TRY(fw_server__add_check(server, check_audit, observation->audit));
	}
	if (observation->incidents) {
		FW_TRY(fw_observation_add_list(observation, incident_metrics,
					       COUNT_OF(incident_metrics),
					       observation->incidents));
		FW_TRY(fw_server__add_check(server, check_incidents, observation->incidents));
	}
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/metrics", false, fw_metrics_page,
				  observation->metrics);
}
