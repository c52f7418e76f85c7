/*
 * metrics.h - the metrics of a server, at /metrics.
 */
#ifndef FW_CLI_SERVE_METRICS_H
#define FW_CLI_SERVE_METRICS_H

#include "cli/serve/observers.h"

/** A metric whose value is read when a client asks. */
struct serve_metric {
	const char *name;
	const char *help;
	fw_metrics_fn *read;
	bool is_counter; /* else a gauge */
};

/** `ctx` is the argument of each function. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *serve_metrics_add_all(struct fw_metrics *metrics,
					     const struct serve_metric *list, size_t count,
					     void *ctx);

/** `word`: on (NULL) or off. Raises cli.usage. */
FW_NODISCARD fw_error *serve_metrics_add(fw_server *server, struct serve_observers *observers,
					 const char *word);

/** Call it after the server and the alerts are freed. */
void serve_metrics_end(struct serve_observers *observers);

#endif
