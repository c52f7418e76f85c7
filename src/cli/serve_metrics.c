/*
 * serve_metrics.c - see serve_observe.h: metrics and alerts of a server, by its
 * options.
 */
#include "serve_observe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcp/page.h"
#include "mcp/stats.h"
#include "report.h"
#include "state.h"

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

struct gauge {
	const char *name;
	const char *help;
	fw_metrics_fn *read;
	bool is_counter;
};

static fw_error *add_gauges(struct fw_metrics *metrics, const struct gauge *gauges,
			    size_t count, void *ctx)
{
	for (size_t i = 0; i < count; i++) {
		const struct gauge *gauge = &gauges[i];

		FW_TRY((gauge->is_counter ? fw_metrics_counter : fw_metrics_gauge)(
			metrics, gauge->name, gauge->help, gauge->read, ctx));
	}
	return NULL;
}

static const struct gauge server_gauges[] = {
	{ "faultwire_calls_in_flight", "Requests under way, listeners among them.", count_calls,
	  false },
	{ "faultwire_calls_queued", "Calls that wait for something to run on.", count_queued,
	  false },
	{ "faultwire_listeners", "Clients that listen for changes.", count_listeners, false },
	{ "faultwire_sessions", "Sessions of legacy clients.", count_sessions, false },
	{ "faultwire_connections", "Open connections.", count_connections, false },
	{ "faultwire_workers", "Processes that run tools.", count_workers, false },
	{ "faultwire_workers_busy", "Those of them that run a call.", count_busy_workers,
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

static const struct gauge audit_gauges[] = {
	{ "faultwire_audit_up", "Whether the audit log can be written: 1 or 0.", audit_up,
	  false },
	{ "faultwire_audit_waiting", "Records that wait to be written.", audit_waiting, false },
	{ "faultwire_audit_records_total", "Records written.", audit_records, true },
	{ "faultwire_audit_lost_total", "Records refused, for they could not be written.",
	  audit_lost, true },
	{ "faultwire_audit_left_out_total",
	  "Refusals of strangers that were counted and not recorded.", audit_left_out, true },
	{ "faultwire_audit_syncs_total", "Times that records were forced to disk.", audit_syncs,
	  true },
};

/* Who balances load may send calls elsewhere. */
static bool check_audit(void *ctx, char *text, size_t size)
{
	struct fw_audit_health health = health_of(ctx);

	(void)snprintf(text, size, "audit: %s%s", health.is_up ? "up" : "down: ",
		       health.is_up     ? ""
		       : health.failure ? health.failure
					: "why is not known");
	return health.is_up;
}

/* ---- adding them ---------------------------------------------------------------- */

fw_error *add_metrics(fw_server *server, struct serve_observers *observers, const char *word)
{
	fw_observer observer = { .finished = fw_metrics_finished };

	if (word && strcmp(word, "on") != 0 && strcmp(word, "off") != 0)
		return cli_usage("--metrics takes on or off");
	if (word && strcmp(word, "off") == 0)
		return NULL;
	FW_TRY(fw_metrics_new(&observers->metrics));
	observer.ctx = observers->metrics;
	FW_TRY(fw_metrics_add_process(observers->metrics));
	FW_TRY(add_gauges(observers->metrics, server_gauges,
			  sizeof server_gauges / sizeof *server_gauges, server));
	if (observers->audit) {
		FW_TRY(add_gauges(observers->metrics, audit_gauges,
				  sizeof audit_gauges / sizeof *audit_gauges,
				  observers->audit));
		FW_TRY(fw_server__add_check(server, check_audit, observers->audit));
	}
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/metrics", false, fw_metrics_page,
				  observers->metrics);
}

/* ---- alerts ----------------------------------------------------------------- */

fw_error *serve_read_line(const char *path, const char *option, char *ret_line, size_t size)
{
	FILE *file = fopen(path, "re");
	int error = errno;
	char *got;

	if (!file)
		return fw_error_from_errno(FW_HERE, error, path);
	got = fgets(ret_line, (int)size, file);
	(void)fclose(file);
	if (!got)
		ret_line[0] = '\0';
	if (strlen(ret_line) == size - 1)
		return fw_raise_input_invalid_value(option, "a file with a shorter first line");
	ret_line[strcspn(ret_line, "\r\n")] = '\0';
	return ret_line[0] ? NULL
			   : fw_raise_input_invalid_value(option, "a file with a first line");
}

static const struct gauge alert_gauges[] = {
	{ "faultwire_alerts_firing", "Alerts that fire.", fw_alerting_firing, false },
	{ "faultwire_alert_webhook_waiting", "Alerts that wait for the webhook.",
	  fw_alerting_waiting, false },
	{ "faultwire_alert_webhook_delivered_total", "Alerts that the webhook took.",
	  fw_alerting_delivered, true },
	{ "faultwire_alert_webhook_lost_total", "Alerts given up, or without room to wait.",
	  fw_alerting_lost, true },
	{ "faultwire_alertmanager_posts_total", "Times that the Alertmanager took what fires.",
	  fw_alerting_posted, true },
	{ "faultwire_alert_send_failures_total", "Attempts to tell an alert that failed.",
	  fw_alerting_failed, true },
};

static fw_error *alerts_file(char ret_path[CLI_PATH_SIZE])
{
	char name[64];

	(void)snprintf(name, sizeof name, "alerts/%ld.json", (long)getpid());
	return cli_state_path(name, true, ret_path);
}

fw_error *add_alerts(fw_server *server, struct serve_observers *observers,
		     const struct serve_alerts *options)
{
	fw_observer observer = { .finished = fw_alerting_finished };
	char path[CLI_PATH_SIZE], secret[1024] = "";
	struct fw_alerting_options alerting = {
		.log_fd = -1, /* they are events of the log */
		.webhook_url = options->webhook,
		.alertmanager_url = options->alertmanager,
		.server = fw_server_url(server) ? fw_server_url(server) : "stdio",
	};

	if (options->secret_file && !options->webhook)
		return cli_usage("--alert-secret-file is for --alert-webhook");
	if (options->secret_file)
		FW_TRY(serve_read_line(options->secret_file, "--alert-secret-file", secret,
				       sizeof secret));
	FW_TRY(alerts_file(path));
	alerting.webhook_secret = secret[0] ? secret : NULL;
	alerting.state_file = path[0] ? path : NULL;
	FW_TRY(fw_alerting_new(&alerting, &observers->alerting));
	explicit_bzero(secret, sizeof secret);
	observer.ctx = observers->alerting;
	if (observers->metrics)
		FW_TRY(add_gauges(observers->metrics, alert_gauges,
				  sizeof alert_gauges / sizeof *alert_gauges,
				  observers->alerting));
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/alerts", false, fw_alerting_page,
				  observers->alerting);
}

/* ---- the end ------------------------------------------------------------------ */

void end_alerts(struct serve_observers *observers)
{
	fw_alerting_free(observers->alerting);
	fw_metrics_free(observers->metrics);
	observers->alerting = NULL;
	observers->metrics = NULL;
}
