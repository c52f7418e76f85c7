/*
 * alerts.c - see alerts.h.
 */
#include "cli/serve/alerts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/serve/metrics.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "mcp/page.h"

static const struct serve_metric alert_metrics[] = {
	{ "faultwire_alerts_firing", "Alerts that are firing.", fw_alerting_firing, false },
	{ "faultwire_alert_webhook_waiting", "Alerts waiting to be sent to the webhook.",
	  fw_alerting_waiting, false },
	{ "faultwire_alert_webhook_delivered_total", "Alerts that the webhook accepted.",
	  fw_alerting_delivered, true },
	{ "faultwire_alert_webhook_lost_total",
	  "Alerts dropped after failed attempts, or because the queue was full.",
	  fw_alerting_lost, true },
	{ "faultwire_alertmanager_posts_total", "Successful posts to the Alertmanager.",
	  fw_alerting_posted, true },
	{ "faultwire_alert_send_failures_total", "Failed attempts to send an alert.",
	  fw_alerting_failed, true },
};

static fw_error *alerts_file(char ret_path[CLI_PATH_SIZE])
{
	char name[64];

	(void)snprintf(name, sizeof name, "alerts/%ld.json", (long)getpid());
	return cli_state_path(name, true, ret_path);
}

fw_error *serve_alerts_add(fw_server *server, struct serve_observers *observers,
			   const struct serve_alerts *options)
{
	fw_observer observer = { .struct_size = sizeof(fw_observer),
				 .finished = fw_alerting_finished };
	char path[CLI_PATH_SIZE], secret[1024] = "";
	struct fw_alerting_options alerting = {
		.log_fd = -1, /* alerts are logged as events */
		.webhook_url = options->webhook,
		.alertmanager_url = options->alertmanager,
		.server = fw_server_url(server) ? fw_server_url(server) : "stdio",
	};

	if (options->secret_file && !options->webhook)
		return cli_usage("--alert-secret-file requires --alert-webhook");
	if (options->secret_file)
		FW_TRY(cli_read_first_line(options->secret_file, "--alert-secret-file", secret,
					   sizeof secret));
	FW_TRY(alerts_file(path));
	alerting.webhook_secret = secret[0] ? secret : NULL;
	alerting.state_file = path[0] ? path : NULL;
	FW_TRY(fw_alerting_new(&alerting, &observers->alerting));
	explicit_bzero(secret, sizeof secret);
	observer.ctx = observers->alerting;
	if (observers->metrics)
		FW_TRY(serve_metrics_add_all(observers->metrics, alert_metrics,
					     sizeof alert_metrics / sizeof *alert_metrics,
					     observers->alerting));
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/alerts", false, fw_alerting_page,
				  observers->alerting);
}

void serve_alerts_end(struct serve_observers *observers)
{
	fw_alerting_free(observers->alerting);
	observers->alerting = NULL;
}
