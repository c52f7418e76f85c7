/*
 * fleet.c - for bench/fleet: what a limit that replicas share adds to a call.
 *
 *   bench_fleet latency URL SECONDS   bare round trips (GET, blocking), decisions by the
 *                                     engine, and by a lease, in turns; prints figures in us
 *   bench_fleet load URL SECONDS      decisions per second, 64 clients at once
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#include "base/loop.h"
#include "fleet/engine_url.h"
#include "fleet/fleet.h"
#include "fleet/quota.h"

enum { ROUND = 500, MOST = 400000, CLIENTS = 64, LEASE_CALLS = 100000 };

/* The limits are never reached, so every decision is of the same kind. */
static const struct fw_quota_limits limits = { .every_ns = 1000, .burst = 1000000000 };

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

struct samples {
	double *us;
	size_t count;
};

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void add(struct samples *samples, uint64_t ns)
{
	if (samples->count < MOST)
		samples->us[samples->count++] = (double)ns / 1000;
}

static double at(struct samples *samples, double fraction)
{
	qsort(samples->us, samples->count, sizeof *samples->us, compare);
	return samples->us[(size_t)((double)(samples->count - 1) * fraction)];
}

struct bench {
	struct fw_loop loop;
	struct fw_fleet *fleet;
	struct fw_quotas *quotas;
	struct fw_quota clients[CLIENTS];
	size_t decided;
	size_t granted;
	bool is_load;
	bool is_over;
};

static void ask(struct bench *bench, size_t client)
{
	struct fw_quota_answer answer;
	char name[16];

	(void)snprintf(name, sizeof name, "client-%zu", client);
	while (fw_quota_take(bench->quotas, &bench->clients[client], name, &limits, &answer)) {
		bench->decided += answer.count;
		bench->granted += answer.granted;
		if (answer.granted)
			fw_quota_end(&bench->clients[client]);
		if (!bench->is_load || bench->is_over)
			return;
	}
}

static void on_decided(void *ctx, struct fw_quota *quota, const struct fw_quota_answer *answer)
{
	struct bench *bench = ctx;

	bench->decided += answer->count;
	bench->granted += answer->granted;
	for (size_t i = 0; i < answer->granted; i++)
		fw_quota_end(quota);
	for (size_t i = 0; bench->is_load && !bench->is_over && i < answer->count; i++)
		ask(bench, (size_t)(quota - bench->clients));
}

static void fail(const char *why)
{
	fprintf(stderr, "bench_fleet: %s\n", why);
	exit(1);
}

static void turn(struct bench *bench)
{
	(void)uv_run(&bench->loop.uv, UV_RUN_ONCE);
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void begin(struct bench *bench, const char *url_text, uint32_t lease_ms)
{
	static uv_timer_t ticks[2];
	static size_t used;
	struct fw_engine_url url;
	const struct fw_fleet_options options = { .loop = &bench->loop,
						  .url = &url,
						  .name = lease_ms ? "bench-lease" : "bench",
						  .wait_ms = 2000,
						  .lease_ms = lease_ms };

	memset(bench, 0, sizeof *bench);
	if (fw_loop_init(&bench->loop) != 0 ||
	    fw_engine_url_read("URL", url_text, &url) != NULL ||
	    fw_fleet_new(&options, &bench->fleet) != NULL)
		fail("it does not start");
	bench->quotas = fw_fleet_quotas(bench->fleet);
	fw_quotas_set_decided(bench->quotas, on_decided, bench);
	/* The loop has something to wait for. */
	(void)uv_timer_init(&bench->loop.uv, &ticks[used]);
	(void)uv_timer_start(&ticks[used], on_tick, 1, 50);
	used++;
	/* Until a decision comes from the engine. */
	for (uint64_t start = now_ns(); now_ns() - start < 5000000000u;) {
		turn(bench);
		ask(bench, 0);
		if (fw_quotas_decisions(bench->quotas, FW_QUOTA_SHARED))
			return;
	}
	fail("the engine does not answer");
}

static void decide(struct bench *bench, struct samples *samples)
{
	for (int i = 0; i < ROUND; i++) {
		size_t before = bench->decided;
		uint64_t start = now_ns();

		ask(bench, 1);
		while (bench->decided == before)
			turn(bench);
		add(samples, now_ns() - start);
	}
}

static void bare(redisContext *context, struct samples *samples)
{
	for (int i = 0; i < ROUND; i++) {
		uint64_t start = now_ns();
		redisReply *reply = redisCommand(context, "GET faultwire:bench:nothing");

		if (!reply)
			fail("no reply");
		freeReplyObject(reply);
		add(samples, now_ns() - start);
	}
}

static double lease(struct bench *bench)
{
	uint64_t spent = 0;

	/* Without the round trips that take the next part: they are beside the calls. */
	for (size_t i = 0; i < LEASE_CALLS; i++) {
		uint64_t leased = fw_quotas_decisions(bench->quotas, FW_QUOTA_LEASED);
		uint64_t start = now_ns();

		ask(bench, 2);
		start = now_ns() - start;
		if (fw_quotas_decisions(bench->quotas, FW_QUOTA_LEASED) > leased)
			spent += start;
		else
			turn(bench);
	}
	return (double)spent / (double)fw_quotas_decisions(bench->quotas, FW_QUOTA_LEASED) /
	       1000;
}

static void latency(const char *url_text, double seconds)
{
	static struct bench shared, leased;
	struct samples one = { malloc(MOST * sizeof(double)), 0 };
	struct samples two = { malloc(MOST * sizeof(double)), 0 };
	struct fw_engine_url url;
	redisContext *context;
	uint64_t end;
	double us;

	if (!one.us || !two.us || fw_engine_url_read("URL", url_text, &url) != NULL)
		fail("no memory");
	context = redisConnect(url.places[0].host, url.places[0].port);
	if (!context || context->err)
		fail("no connection");
	begin(&shared, url_text, 0);
	begin(&leased, url_text, 100);
	for (end = now_ns() + (uint64_t)(seconds * 1e9); now_ns() < end;) {
		bare(context, &one);
		decide(&shared, &two);
	}
	us = lease(&leased);
	printf("bare %.1f %.1f\nshared %.1f %.1f\nlease %.3f %llu\n", at(&one, 0.5),
	       at(&one, 0.99), at(&two, 0.5), at(&two, 0.99), us,
	       (unsigned long long)fw_quotas_decisions(leased.quotas, FW_QUOTA_LEASED));
	if (shared.granted != shared.decided)
		fail("a decision was not granted");
	redisFree(context);
}

static void load(const char *url, double seconds)
{
	static struct bench bench;
	uint64_t start;

	begin(&bench, url, 0);
	bench.is_load = true;
	bench.decided = 0;
	start = now_ns();
	for (size_t i = 0; i < CLIENTS; i++)
		ask(&bench, i);
	while (now_ns() - start < (uint64_t)(seconds * 1e9))
		turn(&bench);
	bench.is_over = true;
	printf("%.0f\n", (double)bench.decided / ((double)(now_ns() - start) / 1e9));
	if (fw_quotas_decisions(bench.quotas, FW_QUOTA_LOCAL) > 1000)
		fail("the engine was away");
}

int main(int argc, char **argv)
{
	double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;

	if (seconds <= 0)
		fail("usage: bench_fleet latency|load URL SECONDS");
	if (strcmp(argv[1], "latency") == 0)
		latency(argv[2], seconds);
	else
		load(argv[2], seconds);
	return 0;
}
