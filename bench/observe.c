/*
 * observe.c - what incidents and the log cost the thread that serves: the end of
 * a failed call, handed to their observers, in time and instructions. The threads
 * that write take part, so waiting for their locks is in it.
 *
 *   observe DIR              lines "case NAME NS P95 P99"
 *   observe DIR --callgrind  each case between callgrind's marks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "observe/incident/incident.h"
#include "observe/log/log.h"

#include <faultwire/faultwire.h>

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif

enum { RUNS = 20000, PACE_US = 100, CALLGRIND_RUNS = 1000 };

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void observe(const fw_observer *observer, const fw_outcome *outcome)
{
	if (observer->failed)
		observer->failed(observer->ctx, outcome);
	if (observer->finished)
		observer->finished(observer->ctx, outcome);
}

/* 10,000 a second, as a busy server fails. */
static void measure(const char *name, const fw_observer *observers, size_t count,
		    const fw_outcome *outcome)
{
	static double times[RUNS];
	double next = now_ns();

	for (size_t i = 0; i < RUNS; i++) {
		double begun = now_ns();

		for (size_t j = 0; j < count; j++)
			observe(&observers[j], outcome);
		times[i] = now_ns() - begun;
		next += PACE_US * 1e3;
		while (now_ns() < next) {}
	}
	qsort(times, RUNS, sizeof *times, compare);
	printf("case %s %.0f %.0f %.0f\n", name, times[RUNS / 2], times[RUNS / 100 * 95],
	       times[RUNS / 100 * 99]);
}

static void count_instructions(const char *name, const fw_observer *observers, size_t count,
			       const fw_outcome *outcome)
{
#ifdef CALLGRIND_START_INSTRUMENTATION
	char mark[64];

	(void)snprintf(mark, sizeof mark, "case %s", name);
	CALLGRIND_ZERO_STATS;
	CALLGRIND_TOGGLE_COLLECT;
	for (size_t i = 0; i < CALLGRIND_RUNS; i++)
		for (size_t j = 0; j < count; j++)
			observe(&observers[j], outcome);
	CALLGRIND_TOGGLE_COLLECT;
	CALLGRIND_DUMP_STATS_AT(mark);
#else
	(void)name;
	(void)observers;
	(void)count;
	(void)outcome;
#endif
}

static fw_error *sample(void)
{
	fw_error *err = fw_error_wrap(fw_raise_file_not_found("src/main.py"), FW_HERE,
				      "could not read the plan");

	fw_error_set_incident_id(err, "inc_20260115_abcdefghijklmnopqrstuvwxyz");
	fw_error_set_time(err, 1768478400000);
	fw_error_add_cause(err, "No such file or directory", "ENOENT", "errno");
	fw_error_fill_scope(err, &(fw_scope){ .tool = "open_file",
					      .operation = "files:open_file",
					      .client = "claude/1.2",
					      .session_id = "550e8400-e29b-41d4" });
	return err;
}

int main(int argc, char **argv)
{
	struct fw_incidents_options keep = { 0 };
	struct fw_log_options log = { .form = FW_LOG_JSON, .level = FW_LOG_INFO };
	void (*judge)(const char *, const fw_observer *, size_t, const fw_outcome *) =
		argc > 2 ? count_instructions : measure;
	struct fw_store *store = NULL;
	fw_incidents *incidents = NULL;
	fw_observer observers[2];
	fw_error *err = sample();
	fw_outcome outcome = { .method = "tools/call",
			       .name = "open_file",
			       .error = err,
			       .duration_ns = 123456,
			       .is_known = true };
	char path[512];
	FILE *sink;

	if (argc < 2)
		return 2;
	(void)snprintf(path, sizeof path, "%s/log", argv[1]);
	sink = fopen(path, "we");
	(void)snprintf(path, sizeof path, "%s/incidents.db", argv[1]);
	keep.stem = path;
	if (!sink || fw_store_open(path, NULL, &store) ||
	    fw_incidents_new(store, &keep, &incidents))
		return 1;
	log.fd = fileno(sink);
	if (fw_log_start(&log))
		return 1;
	observers[0] = fw_incidents_observer(incidents);
	observers[1] = fw_log_observer();
	judge("empty", observers, 0, &outcome);
	judge("incidents", observers, 1, &outcome);
	judge("log", observers + 1, 1, &outcome);
	judge("both", observers, 2, &outcome);
	printf("lost %llu\n", (unsigned long long)fw_incidents_health(incidents).lost);
	fw_error_free(err);
	fw_incidents_free(incidents);
	fw_log_stop();
	(void)fclose(sink);
	return 0;
}
