/*
 * observation.h - what observes a server: audit log, incidents, log, metrics, alerts.
 *
 * Other programs use fw_server_observe(). `faultwire serve` takes the steps itself, since
 * it reports failures between them.
 *
 * The one rule to remember: fw_observation_close() before the server is freed,
 * fw_observation_clear() after it.
 */
#ifndef FW_HOST_OBSERVATION_H
#define FW_HOST_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/observe.h>

#include "base/loop.h"
#include "host/home.h"
#include "observe/alert/alerting.h"
#include "observe/audit/audit.h"
#include "observe/incident/incident.h"
#include "observe/metrics/metrics.h"

/* All zero to begin with. */
struct fw_observation {
	struct fw_audit *audit; /* NULL: none, here and below */
	char audit_path[FW_HOME_PATH_SIZE];
	struct fw_metrics *metrics;
	struct fw_alerting *alerting;
	fw_incidents *incidents;
	/* The store with the firing alerts of all servers, and the name of this server in
	 * it; set before fw_observation_complete(). NULL: no store; the host name. */
	const char *alert_store;
	const char *replica;
	bool has_log; /* it started the log of this process */
	/* Adds what a toolset knows to an audit record; may be NULL. */
	void (*describe)(void *ctx, const fw_outcome *outcome, struct fw_audit_record *record);
	void *describe_ctx;
};

/* A metric whose value is read when a client asks. */
struct fw_observation_metric {
	const char *name;
	const char *help;
	fw_metrics_fn *read;
	bool is_counter; /* else a gauge */
};

/*
 * Adds log, audit log and incidents to the server. If it fails, what was added stays
 * in `observation`, for fw_observation_close() and fw_observation_clear().
 */
FW_NODISCARD fw_error *fw_observation_begin(struct fw_observation *observation,
					    fw_server *server,
					    const fw_observe_options *options);

/* Opens the audit log alone, unless it is open or off; fw_observation_begin() does it, too. */
FW_NODISCARD fw_error *fw_observation_open_audit(struct fw_observation *observation,
						 const fw_observe_options *options);

/* Adds metrics and alerts, after the server listens: alerts have its URL. They are sent
 * on the loop. */
FW_NODISCARD fw_error *fw_observation_complete(struct fw_observation *observation,
					       fw_server *server, struct fw_loop *loop,
					       const fw_observe_options *options);

/* For fw_observation_complete(): the metrics of the server, its log and its stores. */
FW_NODISCARD fw_error *fw_observation_add_metrics(struct fw_observation *observation,
						  fw_server *server);
/* `ctx` is the argument of each function. Raises internal.api_misuse (too many). */
FW_NODISCARD fw_error *fw_observation_add_list(struct fw_observation *observation,
					       const struct fw_observation_metric *list,
					       size_t count, void *ctx);

/* Ends the audit log. False: the disk does not respond, replies may still wait for it,
 * and the server must not be freed. */
bool fw_observation_close(struct fw_observation *observation);

/* Writes what is queued; runs the loop for alerts that are not delivered yet. */
void fw_observation_clear(struct fw_observation *observation);

#endif
