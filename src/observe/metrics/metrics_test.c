/*
 * metrics_test.c - tests what is counted, the limits of labels, and both formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "observe/metrics/metrics_tables.h"
#include "test/memory.h"

static struct fw_metrics *metrics;
static struct fw_buf text;

static int begin(void **state)
{
	(void)state;
	fw_buf_init(&text, 64 * 1024 * 1024);
	return fw_metrics_new(&metrics) != NULL;
}

static int end(void **state)
{
	(void)state;
	fw_metrics_free(metrics);
	fw_buf_clear(&text);
	return fw_error_live() != 0;
}

static void show(enum fw_metrics_form form)
{
	fw_buf_reset(&text, 0);
	fw_metrics_write(metrics, form, &text);
	assert_int_equal(text.state, FW_BUF_OK);
}

static void assert_shows(const char *line)
{
	show(FW_METRICS_TEXT);
	if (!strstr(text.text, line))
		fail_msg("no \"%s\" in:\n%s", line, text.text);
}

static void count(const char *tool, fw_outcome_kind kind, uint64_t ns)
{
	fw_metrics_count(metrics, &(fw_outcome){ .method = "tools/call",
						 .name = tool,
						 .is_known = true,
						 .kind = kind,
						 .duration_ns = ns });
}

static void count_failure(fw_error *err, const char *method, const char *name, bool is_known,
			  const char *client)
{
	fw_error_fill_scope(err, &(fw_scope){ .operation = "files:open_file" });
	fw_metrics_count(metrics, &(fw_outcome){ .method = method,
						 .name = name,
						 .error = err,
						 .is_known = is_known,
						 .client = client,
						 .kind = FW_OUTCOME_TOOL_ERROR,
						 .duration_ns = 1000,
						 .handling_ns = 30000 });
	fw_error_free(err);
}

static void test_metrics__calls_count_by_tool_and_outcome(void **state)
{
	(void)state;
	count("a", FW_OUTCOME_RESULT, 1);
	count("a", FW_OUTCOME_RESULT, 1);
	count("a", FW_OUTCOME_TOOL_ERROR, 1);
	count("b", FW_OUTCOME_PROTOCOL_ERROR, 1);
	count("b", FW_OUTCOME_TRANSPORT_ERROR, 1);
	assert_shows("\nfaultwire_calls_total{tool=\"a\",outcome=\"ok\"} 2\n");
	assert_shows("\nfaultwire_calls_total{tool=\"a\",outcome=\"tool_error\"} 1\n");
	assert_shows("\nfaultwire_calls_total{tool=\"a\",outcome=\"protocol_error\"} 0\n");
	assert_shows("\nfaultwire_calls_total{tool=\"b\",outcome=\"protocol_error\"} 1\n");
	assert_shows("\nfaultwire_calls_total{tool=\"b\",outcome=\"transport_error\"} 1\n");
	assert_shows("\nfaultwire_requests_total{method=\"tools/call\",outcome=\"ok\"} 2\n");
}

static void test_metrics__a_bucket_counts_values_up_to_its_bound(void **state)
{
	(void)state;
	count("a", FW_OUTCOME_RESULT, 0);
	count("a", FW_OUTCOME_RESULT, 10000);
	count("a", FW_OUTCOME_RESULT, 10001);
	count("a", FW_OUTCOME_RESULT, 30000000001);
	assert_shows("_seconds_bucket{tool=\"a\",le=\"1e-05\"} 2\n");
	assert_shows("_seconds_bucket{tool=\"a\",le=\"2.5e-05\"} 3\n");
	assert_shows("_seconds_bucket{tool=\"a\",le=\"30.0\"} 3\n");
	assert_shows("_seconds_bucket{tool=\"a\",le=\"+Inf\"} 4\n");
	assert_shows("_seconds_sum{tool=\"a\"} 30.000020002\n");
	assert_shows("_seconds_count{tool=\"a\"} 4\n");
}

static void test_metrics__errors_count_as_the_codeintel_contract_names_them(void **state)
{
	(void)state;
	count_failure(fw_raise_file_not_found("x"), "tools/call", "open_file", true, "cli 1");
	count_failure(fw_raise_internal_unexpected("x"), "tools/call", "open_file", true, NULL);
	assert_shows("\ncodeintel_errors_total{error_code=\"file-not-found\","
		     "operation=\"files:open_file\",http_status=\"404\"} 1\n");
	assert_shows("\ncodeintel_errors_total{error_code=\"internal-error\","
		     "operation=\"files:open_file\",http_status=\"500\"} 1\n");
	assert_shows("\ncodeintel_error_handling_duration_seconds_bucket{"
		     "operation=\"files:open_file\",le=\"5e-05\"} 2\n");
	assert_shows("\nfaultwire_errors_total{code=\"file.not_found\",origin=\"tool\","
		     "retry=\"after_fix\"} 1\n");
	assert_shows("\nfaultwire_alert_events_total{code=\"file.not_found\","
		     "severity=\"warning\",client=\"cli 1\"} 1\n");
	assert_shows("\nfaultwire_alert_events_total{code=\"internal.unexpected\","
		     "severity=\"critical\",client=\"unnamed\"} 1\n");
}

static void test_metrics__failures_outside_of_tools_are_not_counted_for_codeintel(void **state)
{
	(void)state;
	count_failure(fw_raise_auth_unauthorized(), NULL, NULL, false, NULL);
	count_failure(fw_raise_protocol_unknown_tool("x"), "tools/call", "x", false, NULL);
	count_failure(fw_raise_protocol_path_not_found("/x"), "GET", NULL, false, NULL);
	show(FW_METRICS_TEXT);
	assert_null(strstr(text.text, "codeintel_errors_total{"));
	assert_shows("faultwire_calls_total{tool=\"other\",outcome=\"tool_error\"} 2\n");
	assert_shows("faultwire_requests_total{method=\"page\",outcome=\"tool_error\"} 1\n");
	assert_shows("faultwire_requests_total{method=\"other\",outcome=\"tool_error\"} 1\n");
}

/* ---- bounds ------------------------------------------------------------------- */

static size_t lines_with(const char *needle)
{
	size_t found = 0;

	for (const char *at = text.text; (at = strstr(at, needle)); at++)
		found++;
	return found;
}

static void test_metrics__names_that_peers_invent_are_limited(void **state)
{
	char name[40];

	(void)state;
	for (unsigned i = 0; i < 3 * FW_LIMIT_METRIC_SERIES; i++) {
		(void)snprintf(name, sizeof name, "invented-%u", i);
		count(name, FW_OUTCOME_RESULT, 1);
		count_failure(fw_raise_protocol_unknown_tool(name), name, name, false, name);
	}
	assert_int_equal(metrics->tools.count, FW_LIMIT_METRIC_TOOLS + 1);
	assert_int_equal(metrics->events.count, FW_LIMIT_METRIC_SERIES + 1);
	show(FW_METRICS_TEXT);
	assert_int_equal(lines_with("\nfaultwire_requests_total{"), 2);
	assert_shows("tool=\"other\",outcome=\"ok\"} 5888\n");
	assert_shows("client=\"other\"} 4096\n");
}

static void test_metrics__a_table_that_is_full_twice_keeps_one_more(void **state)
{
	struct fw_metrics_series_table table;
	char first[16];
	const char *labels[] = { first, "x" };

	(void)state;
	fw_metrics_series_init(&table, 2, 1, 1, 8);
	for (int i = 0; i < 100; i++) {
		struct fw_metrics_series *series;

		(void)snprintf(first, sizeof first, "%d", i);
		series = fw_metrics_series_find(&table, labels);
		assert_non_null(series);
		assert_ptr_equal(fw_metrics_series_find(&table, labels), series);
		series->values[0]++;
	}
	assert_int_equal(table.count, 17);
	assert_string_equal(table.items[16]->labels[0], "other");
	assert_int_equal(table.items[16]->values[0], 84);
	fw_metrics_series_clear(&table);
}

static void test_metrics__a_label_is_cut_between_characters_and_escaped(void **state)
{
	char name[100];

	(void)state;
	memset(name, 'x', sizeof name);
	memcpy(name + FW_LIMIT_METRIC_LABEL_BYTES - 1, "\xC3\xA9", 2);
	name[sizeof name - 1] = '\0';
	count_failure(fw_raise_internal_unexpected("x"), "ping", NULL, false, name);
	count_failure(fw_raise_internal_unexpected("x"), "ping", NULL, false, "a\"\\\n");
	name[FW_LIMIT_METRIC_LABEL_BYTES - 1] = '\0';
	show(FW_METRICS_TEXT);
	assert_int_equal(lines_with(name), 1);
	assert_null(strstr(text.text, "\xC3"));
	assert_shows("client=\"a\\\"\\\\\\n\"} 1\n");
}

/* ---- gauges and formats ---------------------------------------------------------- */

static double read_gauge(void *ctx)
{
	return *(double *)ctx;
}

static void test_metrics__gauges_are_read_on_request(void **state)
{
	double value = 3;

	(void)state;
	assert_null(fw_metrics_gauge(metrics, "x_items", "Items.", read_gauge, &value));
	assert_shows("# TYPE x_items gauge\nx_items 3\n");
	value = 0.5;
	assert_shows("\nx_items 0.5\n");
	value = NAN;
	assert_shows("\nx_items NaN\n");
	value = -INFINITY;
	assert_shows("\nx_items -Inf\n");
	while (metrics->gauge_count < FW_LIMIT_METRIC_GAUGES)
		assert_null(fw_metrics_counter(metrics, "x_total", "X.", read_gauge, &value));
	fw_error_free(fw_metrics_gauge(metrics, "y", "Y.", read_gauge, &value));
	assert_int_equal(metrics->gauge_count, FW_LIMIT_METRIC_GAUGES);
}

static void test_metrics__openmetrics_names_counters_without_total_and_ends(void **state)
{
	(void)state;
	count("a", FW_OUTCOME_RESULT, 1);
	show(FW_METRICS_OPENMETRICS);
	assert_non_null(strstr(text.text, "# TYPE faultwire_calls counter\n"));
	assert_non_null(strstr(text.text, "\nfaultwire_calls_total{tool=\"a\""));
	assert_string_equal(text.text + text.len - 7, "\n# EOF\n");
}

static void test_metrics__the_process_is_measured(void **state)
{
	static const char *const names[] = { "process_resident_memory_bytes",
					     "process_open_fds", "process_max_fds",
					     "process_start_time_seconds",
					     "process_virtual_memory_bytes" };

	(void)state;
	assert_null(fw_metrics_add_process(metrics));
	show(FW_METRICS_TEXT);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char sample[64];
		const char *at;

		(void)snprintf(sample, sizeof sample, "\n%s ", names[i]);
		at = strstr(text.text, sample);
		assert_non_null(at);
		assert_true(strtod(at + strlen(sample), NULL) > 1);
	}
}

/* ---- memory ----------------------------------------------------------------------- */

static void count_without_memory(void)
{
	struct fw_metrics *own = NULL;
	fw_error *err = fw_metrics_new(&own);

	assert_true(!err == !!own);
	fw_error_free(err);
	for (int i = 0; own && i < 40; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "t%d", i);
		fw_metrics_count(own, &(fw_outcome){ .method = "tools/call",
						     .name = name,
						     .is_known = true });
	}
	fw_metrics_free(own);
}

static void test_metrics__survive_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(count_without_memory);
}

static void test_metrics__counting_what_is_known_allocates_nothing(void **state)
{
	fw_error *err = fw_raise_file_not_found("x");
	const fw_outcome outcome = { .method = "tools/call",
				     .name = "a",
				     .error = err,
				     .is_known = true,
				     .kind = FW_OUTCOME_TOOL_ERROR };
	const fw_allocator refusing = { test_memory_allocate, test_memory_reallocate,
					test_memory_release, NULL };

	(void)state;
	fw_metrics_count(metrics, &outcome);
	test_memory = (struct test_memory){ .fail_at = 1, .fail_on = true };
	fw_allocator_set(&refusing);
	for (int i = 0; i < 1000; i++)
		fw_metrics_count(metrics, &outcome);
	fw_allocator_set(NULL);
	assert_int_equal(test_memory.calls, 0);
	fw_error_free(err);
	assert_shows("faultwire_calls_total{tool=\"a\",outcome=\"tool_error\"} 1001\n");
}

#define WITH_METRICS(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_METRICS(test_metrics__calls_count_by_tool_and_outcome),
		WITH_METRICS(test_metrics__a_bucket_counts_values_up_to_its_bound),
		WITH_METRICS(test_metrics__errors_count_as_the_codeintel_contract_names_them),
		WITH_METRICS(
			test_metrics__failures_outside_of_tools_are_not_counted_for_codeintel),
		WITH_METRICS(test_metrics__names_that_peers_invent_are_limited),
		WITH_METRICS(test_metrics__a_table_that_is_full_twice_keeps_one_more),
		WITH_METRICS(test_metrics__a_label_is_cut_between_characters_and_escaped),
		WITH_METRICS(test_metrics__gauges_are_read_on_request),
		WITH_METRICS(test_metrics__openmetrics_names_counters_without_total_and_ends),
		WITH_METRICS(test_metrics__the_process_is_measured),
		WITH_METRICS(test_metrics__survive_every_allocation_failure),
		WITH_METRICS(test_metrics__counting_what_is_known_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
