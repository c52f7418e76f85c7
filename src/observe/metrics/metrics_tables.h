/*
 * metrics_tables.h - the tables in which metrics.c counts and which metrics_write.c
 * prints.
 */
#ifndef FW_OBSERVE_METRICS_TABLES_H
#define FW_OBSERVE_METRICS_TABLES_H

#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/observer.h>

#include "base/limits.h"
#include "observe/metrics/metrics.h"
#include "observe/metrics/metrics_series.h"

/* The numbers of a histogram: one per bucket, of which the last is +Inf, and then the sum. */
enum { FW_METRICS_BUCKETS = 18, FW_METRICS_HISTOGRAM = FW_METRICS_BUCKETS + 1 };

struct fw_metrics_bucket {
	uint64_t most_ns;
	const char *le;
};
extern const struct fw_metrics_bucket fw_metrics_buckets[FW_METRICS_BUCKETS];

enum { FW_METRICS_SOURCES = 16 };

struct fw_metrics_gauge {
	const char *name;
	const char *help;
	fw_metrics_fn *read;
	void *ctx;
	bool is_counter;
};

struct fw_metrics {
	/* By tool: number of calls for each outcome, then a histogram. */
	struct fw_metrics_series_table tools;
	struct fw_metrics_series_table requests; /* method, outcome */
	struct fw_metrics_series_table errors;   /* code, origin, retry */
	struct fw_metrics_series_table events;   /* code, severity, client */
	struct fw_metrics_series_table
		codeintel_errors;                       /* error_code, operation, http_status */
	struct fw_metrics_series_table codeintel_times; /* operation: a histogram */
	struct fw_metrics_source sources[FW_METRICS_SOURCES];
	size_t source_count;
	struct fw_metrics_gauge gauges[FW_LIMIT_METRIC_GAUGES];
	size_t gauge_count;
};

extern const char *const fw_metrics_outcomes[FW_OUTCOME_COUNT];

#endif
