/*
 * bench/store.c - how fast incidents are written: `bench_store URL BATCH SECONDS` writes
 * batches of BATCH incidents into the store for that time, and prints incidents per second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/store.h"

struct source {
	unsigned left;
	unsigned long long number;
	char id[48];
};

/* As large as a typical canonical error. */
static char error[1500];

static void stop(fw_error *err)
{
	char text[512];

	if (!err)
		return;
	(void)fw_error_text(err, text, sizeof text);
	(void)fprintf(stderr, "bench_store: %s\n", text);
	exit(1);
}

static bool next(void *ctx, struct fw_incident *ret_incident)
{
	struct source *source = ctx;

	if (!source->left)
		return false;
	source->left--;
	(void)snprintf(source->id, sizeof source->id, "inc_20261118_%026llu", ++source->number);
	*ret_incident = (struct fw_incident){ .id = source->id,
					      .time_ms = fw_unix_ms(),
					      .duration_us = 1500,
					      .code = "file.not_found",
					      .severity = "warning",
					      .status = 404,
					      .tool = "open_file",
					      .operation = "tools/call",
					      .client = "bench",
					      .message = "file \"src/a.c\" was not found",
					      .counted_as = "open_file",
					      .error = error };
	return true;
}

int main(int argc, char **argv)
{
	struct source source = { .number = 0 };
	struct fw_store *store = NULL;
	char remark[64] = "";
	unsigned batch;
	int64_t begin_ns, limit_ns;

	if (argc != 4)
		return 2;
	batch = (unsigned)strtoul(argv[2], NULL, 10);
	limit_ns = (int64_t)(strtod(argv[3], NULL) * 1e9);
	memset(error, 'x', sizeof error - 1);
	memcpy(error, "{\"detail\":\"", 11);
	memcpy(error + sizeof error - 3, "\"}", 2);
	stop(fw_store_open(argv[1], NULL, &store));
	stop(fw_store_prepare(store, remark, sizeof remark));
	source.left = 1; /* the first one makes the day */
	stop(fw_store_add_incidents(store, next, &source));
	source.number = 0;
	begin_ns = fw_steady_ns();
	while (fw_steady_ns() - begin_ns < limit_ns) {
		source.left = batch;
		stop(fw_store_add_incidents(store, next, &source));
	}
	(void)printf("%.0f\n",
		     (double)source.number * 1e9 / (double)(fw_steady_ns() - begin_ns));
	fw_store_free(store);
	return 0;
}
