/*
 * alerts.h - the alerts of a server, at /alerts and in the state directory.
 */
#ifndef FW_CLI_SERVE_ALERTS_H
#define FW_CLI_SERVE_ALERTS_H

#include "base/loop.h"
#include "cli/serve/observers.h"

/** The options of alerts; each may be NULL. */
struct serve_alerts {
	const char *webhook;
	const char *secret_file;
	const char *alertmanager;
};

/** Call it after serve_metrics_add() and after the server listens. Alerts are sent on
 *  the loop. Raises cli.usage, and what fw_alerting_new() raises. */
FW_NODISCARD fw_error *serve_alerts_add(fw_server *server, struct fw_loop *loop,
					struct serve_observers *observers,
					const struct serve_alerts *options);

/** Call it after the server is freed. Runs the loop for pending deliveries. */
void serve_alerts_end(struct serve_observers *observers);

#endif
