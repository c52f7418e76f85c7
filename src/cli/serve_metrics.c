/*
 * serve_metrics.c - see serve_observe.h: metrics and alerts of a server, by its
 * options.
 */
#include "serve_observe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mcp/stats.h"
#include "report.h"
#include "state.h"

/* ---- metrics ---------------------------------------------------------------- */

static double count_calls(void *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return (double)stats.calls;
}

static double count_listeners(void *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return (double)stats.listeners;
}

static double count_sessions(void *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return (double)stats.sessions;
}

static double count_connections(void *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return (double)stats.connections;
}

static double count_queued(void *server)
{
	struct fw_server_stats stats;

	fw_server__stats(server, &stats);
	return (double)stats.queued;
}

static fw_error *add_server_gauges(struct fw_metrics *metrics, fw_server *server)
{
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_calls_in_flight",
				"Requests under way, listeners among them.", count_calls,
				server));
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_calls_queued",
				"Calls that wait for something to run on.", count_queued,
				server));
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_listeners",
				"Clients that listen for changes.", count_listeners, server));
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_sessions", "Sessions of legacy clients.",
				count_sessions, server));
	return fw_metrics_gauge(metrics, "faultwire_connections", "Open connections.",
				count_connections, server);
}

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
	FW_TRY(add_server_gauges(observers->metrics, server));
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

static fw_error *add_alert_gauges(struct fw_metrics *metrics, struct fw_alerting *alerting)
{
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_alerts_firing", "Alerts that fire.",
				fw_alerting_firing, alerting));
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_alert_webhook_waiting",
				"Alerts that wait for the webhook.", fw_alerting_waiting,
				alerting));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_alert_webhook_delivered_total",
				  "Alerts that the webhook took.", fw_alerting_delivered,
				  alerting));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_alert_webhook_lost_total",
				  "Alerts given up, or without room to wait.", fw_alerting_lost,
				  alerting));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_alertmanager_posts_total",
				  "Times that the Alertmanager took what fires.",
				  fw_alerting_posted, alerting));
	return fw_metrics_counter(metrics, "faultwire_alert_send_failures_total",
				  "Attempts to tell an alert that failed.", fw_alerting_failed,
				  alerting);
}

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
		.log_fd = STDERR_FILENO,
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
		FW_TRY(add_alert_gauges(observers->metrics, observers->alerting));
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
