/*
 * metrics.c - counts requests, calls and errors.
 *
 * To count a request takes a few lookups in tables, which stop growing after a while. The
 * counters and the histogram of a tool are in one series, so one lookup finds them. Only
 * names of registered tools are used as labels; other names are "other", because a peer
 * can invent any number of them.
 */
#include "observe/metrics/metrics_tables.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/mem.h"

const char *const fw_metrics_outcomes[FW_OUTCOME_COUNT] = {
	[FW_OUTCOME_RESULT] = "ok",
	[FW_OUTCOME_TOOL_ERROR] = "tool_error",
	[FW_OUTCOME_PROTOCOL_ERROR] = "protocol_error",
	[FW_OUTCOME_TRANSPORT_ERROR] = "transport_error",
};

const struct fw_metrics_bucket fw_metrics_buckets[FW_METRICS_BUCKETS] = {
	{ 10000, "1e-05" },    { 25000, "2.5e-05" },    { 50000, "5e-05" },
	{ 100000, "0.0001" },  { 250000, "0.00025" },   { 500000, "0.0005" },
	{ 1000000, "0.001" },  { 2500000, "0.0025" },   { 5000000, "0.005" },
	{ 10000000, "0.01" },  { 25000000, "0.025" },   { 50000000, "0.05" },
	{ 100000000, "0.1" },  { 500000000, "0.5" },    { 1000000000, "1.0" },
	{ 5000000000, "5.0" }, { 30000000000, "30.0" }, { UINT64_MAX, "+Inf" },
};

/* The methods of MCP; others are counted as "other". */
static const char *const methods[] = {
	"tools/call",
	"tools/list",
	"initialize",
	"server/discover",
	"ping",
	"resources/list",
	"resources/templates/list",
	"resources/read",
	"resources/subscribe",
	"resources/unsubscribe",
	"prompts/list",
	"prompts/get",
	"completion/complete",
	"logging/setLevel",
	"subscriptions/listen",
};

fw_error *fw_metrics_new(struct fw_metrics **ret_metrics)
{
	struct fw_metrics *metrics = fw__allocate(sizeof *metrics);

	if (!metrics)
		return fw_raise_internal_out_of_memory();
	memset(metrics, 0, sizeof *metrics);
	fw_metrics_series_init(&metrics->tools, 1, 0, FW_OUTCOME_COUNT + FW_METRICS_HISTOGRAM,
			       FW_LIMIT_METRIC_TOOLS);
	fw_metrics_series_init(&metrics->requests, 2, 0, 1, FW_LIMIT_METRIC_SERIES);
	fw_metrics_series_init(&metrics->errors, 3, 0, 1, FW_LIMIT_METRIC_SERIES);
	fw_metrics_series_init(&metrics->events, 3, 2, 1, FW_LIMIT_METRIC_SERIES);
	fw_metrics_series_init(&metrics->codeintel_errors, 3, 1, 1, FW_LIMIT_METRIC_SERIES);
	fw_metrics_series_init(&metrics->codeintel_times, 1, 0, FW_METRICS_HISTOGRAM,
			       FW_LIMIT_METRIC_TOOLS);
	*ret_metrics = metrics;
	return NULL;
}

void fw_metrics_free(struct fw_metrics *metrics)
{
	if (!metrics)
		return;
	fw_metrics_series_clear(&metrics->tools);
	fw_metrics_series_clear(&metrics->requests);
	fw_metrics_series_clear(&metrics->errors);
	fw_metrics_series_clear(&metrics->events);
	fw_metrics_series_clear(&metrics->codeintel_errors);
	fw_metrics_series_clear(&metrics->codeintel_times);
	fw__release(metrics);
}

static fw_error *add_gauge(struct fw_metrics *metrics, struct fw_metrics_gauge gauge)
{
	if (metrics->gauge_count == FW_LIMIT_METRIC_GAUGES)
		return fw_raise_internal_api_misuse("fw_metrics_gauge", "there are too many");
	metrics->gauges[metrics->gauge_count++] = gauge;
	return NULL;
}

fw_error *fw_metrics_add_source(struct fw_metrics *metrics,
				const struct fw_metrics_source *source)
{
	if (metrics->source_count == FW_METRICS_SOURCES)
		return fw_raise_internal_api_misuse("fw_metrics_add_source",
						    "there are too many");
	metrics->sources[metrics->source_count++] = *source;
	return NULL;
}

fw_error *fw_metrics_gauge(struct fw_metrics *metrics, const char *name, const char *help,
			   fw_metrics_fn *read, void *ctx)
{
	return add_gauge(metrics, (struct fw_metrics_gauge){ name, help, read, ctx, false });
}

fw_error *fw_metrics_counter(struct fw_metrics *metrics, const char *name, const char *help,
			     fw_metrics_fn *read, void *ctx)
{
	return add_gauge(metrics, (struct fw_metrics_gauge){ name, help, read, ctx, true });
}

/* ---- one request ------------------------------------------------------------------ */

static void observe(uint64_t *histogram, uint64_t ns)
{
	size_t bucket = 0;

	while (ns > fw_metrics_buckets[bucket].most_ns)
		bucket++;
	histogram[bucket]++;
	histogram[FW_METRICS_BUCKETS] += ns;
}

static void count_one(struct fw_metrics_series_table *table, const char *first,
		      const char *second, const char *third)
{
	const char *labels[FW_METRICS_SERIES_LABELS] = { first, second, third };
	struct fw_metrics_series *series = fw_metrics_series_find(table, labels);

	if (series)
		series->values[0]++;
}

static void count_call(struct fw_metrics *metrics, const fw_outcome *outcome)
{
	const char *label = outcome->is_known && outcome->name ? outcome->name : "other";
	struct fw_metrics_series *tool = fw_metrics_series_find(&metrics->tools, &label);

	if (!tool)
		return;
	tool->values[outcome->kind]++;
	observe(tool->values + FW_OUTCOME_COUNT, outcome->duration_ns);
}

/* Writes three digits. snprintf() would take half of the time of counting a request. */
static void put_status(char ret_text[4], int status)
{
	for (int i = 2; i >= 0; i--, status /= 10)
		ret_text[i] = (char)('0' + status % 10);
	ret_text[3] = '\0';
}

/* Counts the metrics of the codeintel contract: errors that tools raised, under the
 * contract's codes. The HTTP status is that of the code in the registry. */
static void count_codeintel(struct fw_metrics *metrics, const fw_outcome *outcome)
{
	const fw_row *row = fw_error_row(outcome->error);
	const char *code = fw_row_code_in(row, FW_CODEINTEL);
	const fw_row *listed = row->reads & 1u << FW_CODEINTEL
				       ? row
				       : fw_registry_read(NULL, FW_CODEINTEL, code);
	const char *operation = fw_error_scope(outcome->error).operation;
	struct fw_metrics_series *times;
	char made[FW_LIMIT_METRIC_LABEL_BYTES + 8], status[4];

	if (!operation) {
		(void)snprintf(made, sizeof made, "tools:%s", outcome->name);
		operation = made;
	}
	put_status(status, listed ? listed->status : row->status);
	count_one(&metrics->codeintel_errors, code, operation, status);
	times = fw_metrics_series_find(&metrics->codeintel_times, &operation);
	if (times)
		observe(times->values, outcome->handling_ns);
}

static void count_error(struct fw_metrics *metrics, const fw_outcome *outcome, bool is_call)
{
	const fw_error *err = outcome->error;
	const fw_row *row = fw_error_row(err);

	count_one(&metrics->errors, row->code, fw_origin_name(fw_error_origin(err)),
		  fw_retry_name(fw_error_retry(err)));
	/* The same condition as in alerting.c. */
	if (!outcome->is_unauthenticated && !outcome->is_drill)
		count_one(&metrics->events, row->code, fw_severity_name(row->severity),
			  outcome->client && *outcome->client ? outcome->client : "unnamed");
	if (is_call && outcome->is_known && outcome->name)
		count_codeintel(metrics, outcome);
}

static const char *method_label(const char *method)
{
	for (size_t i = 0; method && i < sizeof methods / sizeof *methods; i++)
		if (strcmp(methods[i], method) == 0)
			return methods[i];
	return method && strcmp(method, "GET") == 0 ? "page" : "other";
}

void fw_metrics_count(struct fw_metrics *metrics, const fw_outcome *outcome)
{
	const char *method = method_label(outcome->method);
	bool is_call = method == methods[0];

	count_one(&metrics->requests, method, fw_metrics_outcomes[outcome->kind], NULL);
	/* A request that could not be parsed might have been a call. */
	if (is_call || !outcome->method)
		count_call(metrics, outcome);
	if (outcome->error)
		count_error(metrics, outcome, is_call);
}

void fw_metrics_finished(void *metrics, const fw_outcome *outcome)
{
	fw_metrics_count(metrics, outcome);
}
