/*
 * bench/reserve.c - how long a check for conflicts takes with many reservations in the
 * store: `bench_reserve STORE COUNT FORM CHECK...`. FORM is the pattern of a reservation, in
 * which "%" is its number and "#" a number below 500. A CHECK is a pattern; with "shared:" before
 * it the check and all reservations are shared; with "-" it has no goal. Prints a line per check: the median and the 95th
 * percentile of many, each of which reads the store's counter as a server does.
 * With FW_BENCH_ONCE=CHECK, only this one is done, once, for callgrind.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/reserve/book.h"

enum { BATCH = 50, DIRECTORIES = 500, TIMES = 201, LIMIT_US = 1000 };

static bool is_missed;

static void stop(fw_error *err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "bench_reserve: %s\n", fw_error_message(err));
	exit(1);
}

static void make_pattern(char *to, size_t size, const char *form, unsigned number)
{
	size_t len = 0;

	for (; *form; form++) {
		if (*form == '%')
			len += (size_t)snprintf(to + len, size - len, "%u", number);
		else if (*form == '#')
			len += (size_t)snprintf(to + len, size - len, "%u",
						number % DIRECTORIES);
		else
			len += (size_t)snprintf(to + len, size - len, "%c", *form);
	}
}

/* Agents hold 1,000 each; the reservations of one overlap with each other at most. */
static void fill(struct fw_reserve_book *book, struct fw_store *store, unsigned count,
		 const char *form, bool is_exclusive)
{
	char names[BATCH][64], ids[BATCH][FW_RESERVE_ID_SIZE], agent[24];
	const char *patterns[BATCH];
	int64_t expires_ms;

	for (unsigned i = 0; i < count;) {
		struct fw_reserve_request request = { .agent = agent,
						      .root = "/w",
						      .patterns = patterns,
						      .reason = "bench",
						      .ttl_ms = FW_RESERVE_TTL_MAX_MS,
						      .is_exclusive = is_exclusive };

		(void)snprintf(agent, sizeof agent, "agent-%u", i / 1000);
		for (; request.count < BATCH; request.count++, i++) {
			make_pattern(names[request.count], sizeof *names, form, i);
			patterns[request.count] = names[request.count];
		}
		stop(fw_reserve_take(book, store, &request, ids, &expires_ms));
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double check(struct fw_reserve_book *book, struct fw_store *store, const char *pattern,
		    bool is_exclusive, size_t *ret_count)
{
	const struct fw_reserve_request request = { .agent = "me",
						    .root = "/w",
						    .patterns = &pattern,
						    .count = 1,
						    .is_exclusive = is_exclusive };
	struct fw_reserve_conflicts conflicts;
	int64_t before = fw_steady_ns();

	fw_reserve_conflicts_init(&conflicts);
	stop(fw_reserve_check(book, store, &request, &conflicts));
	*ret_count = conflicts.count;
	fw_reserve_conflicts_clear(&conflicts);
	return (double)(fw_steady_ns() - before) / 1000;
}

static void measure(struct fw_reserve_book *book, struct fw_store *store, const char *pattern,
		    bool is_exclusive)
{
	double times[TIMES];
	size_t count = 0;
	bool has_goal = pattern[0] != '-';

	pattern += !has_goal;
	for (int i = 0; i < TIMES; i++)
		times[i] = check(book, store, pattern, is_exclusive, &count);
	qsort(times, TIMES, sizeof *times, by_value);
	if (has_goal && times[TIMES / 2] >= LIMIT_US)
		is_missed = true;
	printf("  %-26s %8.1f us  p95 %8.1f us  %4zu conflicts  %s\n", pattern,
	       times[TIMES / 2], times[TIMES * 95 / 100], count,
	       !has_goal                     ? "no goal"
	       : times[TIMES / 2] < LIMIT_US ? "PASS"
					     : "MISS");
}

int main(int argc, char **argv)
{
	struct fw_reserve_book *book = fw_reserve_book_new(NULL);
	const char *once = getenv("FW_BENCH_ONCE");
	struct fw_store *store = NULL;
	bool is_shared;
	size_t count;

	if (argc < 5 || !book)
		return 2;
	is_shared = strncmp(argv[4], "shared:", 7) == 0;
	stop(fw_store_open(argv[1], NULL, &store));
	fill(book, store, (unsigned)strtoul(argv[2], NULL, 10), argv[3], !is_shared);
	if (once)
		(void)check(book, store, once, !is_shared, &count);
	for (int i = 4; !once && i < argc; i++)
		measure(book, store, argv[i] + (is_shared ? 7 : 0), !is_shared);
	fw_reserve_book_free(book);
	/* What another server does at its first call. */
	if (!once) {
		book = fw_reserve_book_new(NULL);
		printf("  %-26s %8.1f ms\n", "reading all at the start",
		       check(book, store, "x", true, &count) / 1000);
		fw_reserve_book_free(book);
	}
	fw_store_free(store);
	return is_missed;
}
