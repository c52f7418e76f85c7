/*
 * bench/reserve.c - how long a check for conflicts takes with many reservations in the
 * store: `bench_reserve STORE COUNT`. Prints "name microseconds" lines; the figure is the
 * median of many checks, each of which reads the store's counter as a server does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/reserve/book.h"

enum { BATCH = 50, DIRECTORIES = 500, TIMES = 201 };

static void stop(fw_error *err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "bench_reserve: %s\n", fw_error_message(err));
	exit(1);
}

static void fill(struct fw_reserve_book *book, struct fw_store *store, unsigned count)
{
	char names[BATCH][48], ids[BATCH][FW_RESERVE_ID_SIZE], agent[24];
	const char *patterns[BATCH];
	int64_t expires_ms;

	for (unsigned i = 0; i < count;) {
		struct fw_reserve_request request = { .agent = agent,
						      .root = "/w",
						      .patterns = patterns,
						      .reason = "bench",
						      .ttl_ms = FW_RESERVE_TTL_MAX_MS,
						      .is_exclusive = true };

		(void)snprintf(agent, sizeof agent, "agent-%u", i / 1000);
		for (; request.count < BATCH; request.count++, i++) {
			(void)snprintf(names[request.count], sizeof *names, "src/d%u/file%u.c",
				       i % DIRECTORIES, i);
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

static void measure(struct fw_reserve_book *book, struct fw_store *store, const char *name,
		    const char *pattern)
{
	const struct fw_reserve_request request = { .agent = "me",
						    .root = "/w",
						    .patterns = &pattern,
						    .count = 1,
						    .is_exclusive = true };
	double times[TIMES];
	size_t count = 0;

	for (int i = 0; i < TIMES; i++) {
		struct fw_reserve_conflicts conflicts;
		int64_t before = fw_steady_ns();

		fw_reserve_conflicts_init(&conflicts);
		stop(fw_reserve_check(book, store, &request, &conflicts));
		count = conflicts.count;
		fw_reserve_conflicts_clear(&conflicts);
		times[i] = (double)(fw_steady_ns() - before) / 1000;
	}
	qsort(times, TIMES, sizeof *times, by_value);
	printf("%-38s %8.1f us  p95 %8.1f us  %zu conflicts\n", name, times[TIMES / 2],
	       times[TIMES * 95 / 100], count);
}

int main(int argc, char **argv)
{
	struct fw_reserve_book *book = fw_reserve_book_new(NULL);
	struct fw_store *store = NULL;
	int64_t before;

	if (argc != 3 || !book)
		return 2;
	stop(fw_store_open(argv[1], NULL, &store));
	fill(book, store, (unsigned)strtoul(argv[2], NULL, 10));
	measure(book, store, "a free file", "src/d7/other.c");
	measure(book, store, "a reserved file", "src/d7/file7.c");
	measure(book, store, "files of a directory", "src/d7/*.c");
	measure(book, store, "files of a directory, no conflict", "src/d7/*.h");
	measure(book, store, "files of all directories, no conflict", "**/*.h");
	fw_reserve_book_free(book);
	/* What a server does at its first call. */
	book = fw_reserve_book_new(NULL);
	before = fw_steady_ns();
	measure(book, store, "another server: a free file", "src/d7/other.c");
	printf("%-38s %8.1f ms\n", "with reading all of them first",
	       (double)(fw_steady_ns() - before) / 1e6);
	fw_reserve_book_free(book);
	fw_store_free(store);
	return 0;
}
