/*
 * context.c - resolve with the index against a straightforward scan, in one run.
 *
 * bench/context makes the corpora and runs this: FOLDER DOCUMENTS prints a line
 * for each question, "what documents matches resolve_us scan_us". The scan reads,
 * checks and counts every document on every call, as a plain implementation does;
 * both run on one thread, from the same page cache; medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/limits.h"
#include "tools/context/store.h"

static double now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *list, int count)
{
	qsort(list, (size_t)count, sizeof *list, by_value);
	return list[count / 2];
}

static void must(fw_error *err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "%s\n", fw_error_message(err));
	exit(1);
}

int main(int argc, char **argv)
{
	static const struct fw_context_run run = { .threads = 1 };
	/* Words, each of which bench/context puts into this number of documents. */
	static const char *const queries[] = { "in1", "in10", "in100", "in1000", "in10000" };
	static const int matches[] = { 1, 10, 100, 1000, 10000 };
	struct fw_context_store *store;
	struct fw_context_cache *cache;
	struct fw_buf first, second;
	size_t bytes = 0;
	double start;
	int count;

	if (argc != 3)
		return 2;
	count = (int)strtol(argv[2], NULL, 10);
	fw_buf_init(&first, FW_LIMIT_CONTEXT_OUTPUT_BYTES);
	fw_buf_init(&second, FW_LIMIT_CONTEXT_OUTPUT_BYTES);
	must(fw_context_store_new(NULL, &store));
	start = now_us();
	must(fw_context_store_get(store, argv[1], strlen(argv[1]), &run, &cache));
	for (unsigned i = 0; i < cache->part_count; i++)
		bytes += fw_context_terms_bytes(cache->parts[i]);
	(void)printf("load %d %.0f %.1f\n", count, (now_us() - start) / 1e3,
		     (double)bytes / 1e6);
	fw_context_cache_unref(cache);
	for (size_t q = 0; q < sizeof queries / sizeof *queries && matches[q] <= count; q++) {
		const struct fw_context_request request = {
			argv[1],    strlen(argv[1]),
			queries[q], strlen(queries[q]),
			4000,       FW_LIMIT_CONTEXT_OUTPUT_BYTES
		};
		double quick[201], plain[5];
		int quicks = 201, plains = count >= 100000 ? 1 : 5;

		for (int i = 0; i < plains; i++) {
			start = now_us();
			fw_buf_reset(&second, SIZE_MAX);
			must(fw_context_scan(store, &request, &run, &second));
			plain[i] = now_us() - start;
		}
		for (int i = 0; i < quicks; i++) {
			start = now_us();
			fw_buf_reset(&first, SIZE_MAX);
			must(fw_context_resolve(store, &request, &run, &first));
			quick[i] = now_us() - start;
		}
		if (first.len != second.len ||
		    memcmp(first.text, second.text, first.len) != 0) {
			(void)fprintf(stderr, "they differ: %s\n", queries[q]);
			return 1;
		}
		(void)printf("query %d %d %.1f %.1f\n", count, matches[q],
			     median(quick, quicks), median(plain, plains));
		(void)fflush(stdout);
	}
	fw_context_store_free(store);
	return 0;
}
