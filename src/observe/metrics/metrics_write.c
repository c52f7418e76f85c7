/*
 * metrics_write.c - writes metrics as text: Prometheus 0.0.4, or OpenMetrics 1.0.0.
 *
 * The two differ little: OpenMetrics describes a counter without "_total" in its name, and
 * ends with "# EOF".
 */
#include "observe/metrics/metrics_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/accept.h"
#include "base/real.h"

/* Larger than any output can be, because the tables are limited. */
enum { MOST_BYTES = 64 * 1024 * 1024 };

static void put_head(struct fw_buf *out, enum fw_metrics_form form, const char *name,
		     const char *type, const char *help)
{
	size_t len = strlen(name);

	if (form == FW_METRICS_OPENMETRICS && strcmp(type, "counter") == 0)
		len -= strlen("_total");
	FW_BUF(out, "# HELP ");
	fw_buf_put(out, name, len);
	FW_BUF(out, " ");
	fw_buf_str(out, help);
	FW_BUF(out, "\n# TYPE ");
	fw_buf_put(out, name, len);
	FW_BUF(out, " ");
	fw_buf_str(out, type);
	FW_BUF(out, "\n");
}

static void put_label(struct fw_buf *out, const char *name, const char *value)
{
	fw_buf_str(out, name);
	FW_BUF(out, "=\"");
	for (; *value; value++) {
		if (*value == '\n')
			FW_BUF(out, "\\n");
		else if (*value == '"' || *value == '\\')
			fw_buf_put(out, *value == '"' ? "\\\"" : "\\\\", 2);
		else
			fw_buf_put(out, value, 1);
	}
	FW_BUF(out, "\"");
}

static void put_u64(struct fw_buf *out, uint64_t value)
{
	char text[24];

	fw_buf_put(out, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

static void put_seconds(struct fw_buf *out, uint64_t ns)
{
	char text[40];

	fw_buf_put(out, text,
		   (size_t)snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64,
				    ns / 1000000000, ns % 1000000000));
}

static void put_number(struct fw_buf *out, double value)
{
	char text[40];

	if (isnan(value))
		FW_BUF(out, "NaN");
	else if (isinf(value))
		fw_buf_str(out, value > 0 ? "+Inf" : "-Inf");
	else if (fabs(value) < 1e15 && fw_real_is_whole(value))
		fw_buf_put(out, text, (size_t)snprintf(text, sizeof text, "%.0f", value));
	else
		fw_buf_put(out, text, (size_t)snprintf(text, sizeof text, "%.17g", value));
}

/* Writes a counter with the labels of each series. */
static void put_table(struct fw_buf *out, const struct fw_metrics_series_table *table,
		      const char *name, const char *const *labels)
{
	for (size_t i = 0; i < table->count; i++) {
		fw_buf_str(out, name);
		for (unsigned l = 0; l < table->label_count && l < FW_METRICS_SERIES_LABELS;
		     l++) {
			fw_buf_put(out, l ? "," : "{", 1);
			put_label(out, labels[l], table->items[i]->labels[l]);
		}
		FW_BUF(out, "} ");
		put_u64(out, table->items[i]->values[0]);
		FW_BUF(out, "\n");
	}
}

static void put_histogram(struct fw_buf *out, const char *name, const char *label,
			  const char *value, const uint64_t *histogram)
{
	uint64_t count = 0;

	for (size_t i = 0; i < FW_METRICS_BUCKETS; i++) {
		count += histogram[i];
		fw_buf_str(out, name);
		FW_BUF(out, "_bucket{");
		put_label(out, label, value);
		FW_BUF(out, ",");
		put_label(out, "le", fw_metrics_buckets[i].le);
		FW_BUF(out, "} ");
		put_u64(out, count);
		FW_BUF(out, "\n");
	}
	fw_buf_str(out, name);
	FW_BUF(out, "_sum{");
	put_label(out, label, value);
	FW_BUF(out, "} ");
	put_seconds(out, histogram[FW_METRICS_BUCKETS]);
	FW_BUF(out, "\n");
	fw_buf_str(out, name);
	FW_BUF(out, "_count{");
	put_label(out, label, value);
	FW_BUF(out, "} ");
	put_u64(out, count);
	FW_BUF(out, "\n");
}

static void put_calls(struct fw_buf *out, enum fw_metrics_form form,
		      const struct fw_metrics_series_table *tools)
{
	put_head(out, form, "faultwire_calls_total", "counter",
		 "Calls of tools, by how they ended; isError is never ok.");
	for (size_t i = 0; i < tools->count; i++) {
		for (unsigned kind = 0; kind < FW_OUTCOME_COUNT; kind++) {
			FW_BUF(out, "faultwire_calls_total{");
			put_label(out, "tool", tools->items[i]->labels[0]);
			FW_BUF(out, ",");
			put_label(out, "outcome", fw_metrics_outcomes[kind]);
			FW_BUF(out, "} ");
			put_u64(out, tools->items[i]->values[kind]);
			FW_BUF(out, "\n");
		}
	}
	put_head(out, form, "faultwire_call_duration_seconds", "histogram",
		 "From the arrival of a call to the leaving of its answer.");
	for (size_t i = 0; i < tools->count; i++)
		put_histogram(out, "faultwire_call_duration_seconds", "tool",
			      tools->items[i]->labels[0],
			      tools->items[i]->values + FW_OUTCOME_COUNT);
}

static void put_codeintel(struct fw_buf *out, enum fw_metrics_form form,
			  const struct fw_metrics *metrics)
{
	static const char *const labels[FW_METRICS_SERIES_LABELS] = { "error_code", "operation",
								      "http_status" };
	const struct fw_metrics_series_table *times = &metrics->codeintel_times;

	put_head(out, form, "codeintel_errors_total", "counter",
		 "Total number of errors by type and operation.");
	put_table(out, &metrics->codeintel_errors, "codeintel_errors_total", labels);
	put_head(out, form, "codeintel_error_handling_duration_seconds", "histogram",
		 "Time from the failure of a tool to the leaving of its answer.");
	for (size_t i = 0; i < times->count; i++)
		put_histogram(out, "codeintel_error_handling_duration_seconds", "operation",
			      times->items[i]->labels[0], times->items[i]->values);
}

static void put_errors(struct fw_buf *out, enum fw_metrics_form form,
		       const struct fw_metrics *metrics)
{
	static const char *const request_labels[FW_METRICS_SERIES_LABELS] = { "method",
									      "outcome" };
	static const char *const error_labels[FW_METRICS_SERIES_LABELS] = { "code", "origin",
									    "retry" };
	static const char *const event_labels[FW_METRICS_SERIES_LABELS] = { "code", "severity",
									    "client" };

	put_head(out, form, "faultwire_requests_total", "counter",
		 "Requests of all methods, by how they ended.");
	put_table(out, &metrics->requests, "faultwire_requests_total", request_labels);
	put_head(out, form, "faultwire_errors_total", "counter",
		 "Failures by canonical code, where they arose, and whether to retry.");
	put_table(out, &metrics->errors, "faultwire_errors_total", error_labels);
	put_head(out, form, "faultwire_alert_events_total", "counter",
		 "Failures by code, severity and client, as alerts count them.");
	put_table(out, &metrics->events, "faultwire_alert_events_total", event_labels);
}

static void put_source(struct fw_buf *out, enum fw_metrics_form form,
		       const struct fw_metrics_source *source)
{
	const char *labels[2] = { "", "" };
	double value = 0;

	put_head(out, form, source->name, source->is_counter ? "counter" : "gauge",
		 source->help);
	for (size_t i = 0; source->each(source->ctx, i, labels, &value); i++) {
		fw_buf_str(out, source->name);
		FW_BUF(out, "{");
		put_label(out, source->labels[0], labels[0]);
		if (source->labels[1]) {
			FW_BUF(out, ",");
			put_label(out, source->labels[1], labels[1]);
		}
		FW_BUF(out, "} ");
		put_number(out, value);
		FW_BUF(out, "\n");
	}
}

void fw_metrics_write(const struct fw_metrics *metrics, enum fw_metrics_form form,
		      struct fw_buf *out)
{
	put_calls(out, form, &metrics->tools);
	put_errors(out, form, metrics);
	put_codeintel(out, form, metrics);
	for (size_t i = 0; i < metrics->source_count; i++)
		put_source(out, form, &metrics->sources[i]);
	for (size_t i = 0; i < metrics->gauge_count; i++) {
		const struct fw_metrics_gauge *gauge = &metrics->gauges[i];

		put_head(out, form, gauge->name, gauge->is_counter ? "counter" : "gauge",
			 gauge->help);
		fw_buf_str(out, gauge->name);
		FW_BUF(out, " ");
		put_number(out, gauge->read(gauge->ctx));
		FW_BUF(out, "\n");
	}
	put_head(out, form, "faultwire_build_info", "gauge", "Always 1; which version runs.");
	FW_BUF(out, "faultwire_build_info{");
	put_label(out, "version", fw_version());
	FW_BUF(out, "} 1\n");
	if (form == FW_METRICS_OPENMETRICS)
		FW_BUF(out, "# EOF\n");
}

fw_error *fw_metrics_page(fw_page *page, void *metrics)
{
	static const char *const types[] = { "text/plain", "application/openmetrics-text" };
	static const char *const shown[] = {
		"text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
	};
	size_t form = fw_accept_choose(fw_page_header(page, "Accept"), types, 2);
	struct fw_buf out;

	fw_buf_init(&out, MOST_BYTES);
	fw_metrics_write(metrics, (enum fw_metrics_form)form, &out);
	if (out.state != FW_BUF_OK) {
		fw_buf_clear(&out);
		return fw_raise_internal_out_of_memory();
	}
	fw_page_status(page, 200, shown[form]);
	fw_page_write(page, out.text, out.len);
	fw_buf_clear(&out);
	return NULL;
}
