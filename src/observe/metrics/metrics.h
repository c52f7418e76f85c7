/*
 * metrics.h - the metrics of a server, in the formats that Prometheus reads.
 *
 * The one rule to remember: all functions must be called on the server's thread. Counting
 * allocates nothing once all series exist. The number of label values that peers can
 * invent is limited; further values are counted as "other".
 */
#ifndef FW_OBSERVE_METRICS_H
#define FW_OBSERVE_METRICS_H

#include <faultwire/error.h>
#include <faultwire/observer.h>
#include <faultwire/page.h>

#include "base/buf.h"

struct fw_metrics;

/* The caller owns it, and frees it with fw_metrics_free(). Raises internal.out_of_memory. */
fw_error *fw_metrics_new(struct fw_metrics **ret_metrics);
void fw_metrics_free(struct fw_metrics *metrics);

/* Counts a request that has ended. If there is no memory, it is not counted. */
void fw_metrics_count(struct fw_metrics *metrics, const fw_outcome *outcome);

/* Returns one of several numbers with its labels, which are borrowed until the next call.
 * False: there are no more. */
typedef bool fw_metrics_each_fn(void *ctx, size_t index, const char *ret_labels[2],
				double *ret_value);

/* A metric with one or two labels. Its values are read when the metrics are requested.
 * All members are borrowed for the life of the metrics. */
struct fw_metrics_source {
	const char *name; /* of a counter: ends in _total */
	const char *help;
	bool is_counter;
	const char *labels[2]; /* the second may be NULL */
	fw_metrics_each_fn *each;
	void *ctx;
};
/* Raises internal.api_misuse if there are too many. */
fw_error *fw_metrics_add_source(struct fw_metrics *metrics,
				const struct fw_metrics_source *source);

/* Reads a number when the metrics are requested; must not block. */
typedef double fw_metrics_fn(void *ctx);

/*
 * Adds a gauge or a counter. `name` and `help` are borrowed for the life of the metrics.
 * The name of a counter ends with "_total". Raises internal.api_misuse (too many).
 */
fw_error *fw_metrics_gauge(struct fw_metrics *metrics, const char *name, const char *help,
			   fw_metrics_fn *read, void *ctx);
fw_error *fw_metrics_counter(struct fw_metrics *metrics, const char *name, const char *help,
			     fw_metrics_fn *read, void *ctx);

/* Adds memory, descriptors, CPU time and start time of this process. */
fw_error *fw_metrics_add_process(struct fw_metrics *metrics);

enum fw_metrics_form {
	FW_METRICS_TEXT,       /* Prometheus text format 0.0.4 */
	FW_METRICS_OPENMETRICS /* 1.0.0 */
};

void fw_metrics_write(const struct fw_metrics *metrics, enum fw_metrics_form form,
		      struct fw_buf *out);

/* For fw_server_add_page() and fw_server_add_observer(), ctx the metrics. */
fw_error *fw_metrics_page(fw_page *page, void *metrics);
void fw_metrics_finished(void *metrics, const fw_outcome *outcome);

#endif
