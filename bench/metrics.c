/*
 * metrics.c - what counting costs the server's thread, for each request.
 *
 * Medians of rounds, on the thread's own clock; bench/metrics says what to
 * think of them. The floor is the call through the observer alone.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <faultwire/faultwire.h>

#include "observe/alert/alerting.h"
#include "observe/metrics/metrics.h"

enum { ROUNDS = 51, EVENTS = 20000, TOOLS = 64, CLIENTS = 32 };

static struct fw_metrics *metrics;
static struct fw_alerting *alerting;
static fw_outcome outcomes[TOOLS];
static char names[TOOLS][32], clients[CLIENTS][32];

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void nothing(void *ctx, const fw_outcome *outcome)
{
	__asm__ volatile("" : : "r"(ctx), "r"(outcome) : "memory");
}

static int compare(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : 1;
}

static double measure(void (*finished)(void *ctx, const fw_outcome *outcome), void *ctx)
{
	double rounds[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t began = now_ns();

		for (int i = 0; i < EVENTS; i++)
			finished(ctx, &outcomes[i % TOOLS]);
		rounds[round] = (double)(now_ns() - began) / EVENTS;
	}
	qsort(rounds, ROUNDS, sizeof *rounds, compare);
	return rounds[ROUNDS / 2];
}

static void set(fw_error *err)
{
	for (int i = 0; i < TOOLS; i++)
		outcomes[i] =
			(fw_outcome){ .method = "tools/call",
				      .name = names[i],
				      .client = clients[i % CLIENTS],
				      .error = err,
				      .is_known = true,
				      .kind = err ? FW_OUTCOME_TOOL_ERROR : FW_OUTCOME_RESULT,
				      .duration_ns = 40000,
				      .handling_ns = 9000 };
}

int main(void)
{
	const struct fw_alerting_options options = { .log_fd = -1 };
	fw_error *err = fw_raise_file_not_found("src/main.c");
	fw_scope scope = { .operation = "files:open_file" };

	for (int i = 0; i < TOOLS; i++)
		(void)snprintf(names[i], sizeof names[i], "workspace_tool_%d", i);
	for (int i = 0; i < CLIENTS; i++)
		(void)snprintf(clients[i], sizeof clients[i], "client-%d 1.0", i);
	fw_error_fill_scope(err, &scope);
	fw_error_set_incident_id(err, "inc_20260115_abcdefghijklmnopqrstuvwxyz");
	if (fw_metrics_new(&metrics) || fw_alerting_new(&options, &alerting))
		return 1;
	set(NULL);
	printf("floor %.1f\n", measure(nothing, NULL));
	printf("metrics-success %.1f\n", measure(fw_metrics_finished, metrics));
	printf("alerts-success %.1f\n", measure(fw_alerting_finished, alerting));
	set(err);
	printf("metrics-failure %.1f\n", measure(fw_metrics_finished, metrics));
	printf("alerts-failure %.1f\n", measure(fw_alerting_finished, alerting));
	fw_alerting_free(alerting);
	fw_metrics_free(metrics);
	fw_error_free(err);
	return 0;
}
