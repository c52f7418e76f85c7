/*
 * incidents.c - see incidents.h.
 */
#include "cli/serve/incidents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/serve/limit.h"
#include "cli/state.h"
#include "cli/terminal/report.h"
#include "observe/log/log.h"

enum { BYTES_LEAST = 1024 * 1024, DAYS_MOST = 3650, DAY_S = 24 * 3600 };
static const uint64_t bytes_most = UINT64_C(1) << 40;

static fw_error *read_age(const char *text, int64_t *ret_age_s)
{
	unsigned long days;
	char *end;

	if (!text)
		return NULL;
	errno = 0;
	days = strtoul(text, &end, 10);
	if (*end == 'd')
		end++;
	if (errno || *text < '0' || *text > '9' || *end || days < 1 || days > DAYS_MOST)
		return cli_usage("--incidents-age takes a number of days from 1 to %d; "
				 "found \"%s\"",
				 DAYS_MOST, text);
	*ret_age_s = (int64_t)days * DAY_S;
	return NULL;
}

fw_error *serve_incidents_add(fw_server *server, struct serve_observers *observers,
			      const struct serve_incidents *how)
{
	struct fw_incidents_options options = { 0 };
	const char *file = how->file;
	struct fw_store *store = NULL;
	char path[CLI_PATH_SIZE];
	fw_observer observer;

	FW_TRY(read_age(how->age, &options.max_age_s));
	FW_TRY(serve_bytes_read("--incidents-bytes", how->bytes, BYTES_LEAST, bytes_most,
				&options.max_bytes));
	if (file && strcmp(file, "off") == 0)
		return NULL;
	if (!file) {
		FW_TRY(cli_state_path("incidents.db", true, path));
		if (!path[0])
			return NULL;
		file = path;
	}
	FW_TRY(fw_store_open(file, NULL, &store));
	FW_TRY(fw_incidents_new(store, &options, &observers->incidents));
	observer = fw_incidents_observer(observers->incidents);
	return fw_server_add_observer(server, &observer);
}

static double count_written(void *incidents)
{
	return (double)fw_incidents_health(incidents).written;
}

static double count_lost(void *incidents)
{
	return (double)fw_incidents_health(incidents).lost;
}

static double is_down(void *incidents)
{
	return fw_incidents_health(incidents).is_down;
}

static double count_log_lost(void *ctx)
{
	(void)ctx;
	return (double)fw_log_lost();
}

fw_error *serve_incidents_add_metrics(struct serve_observers *observers)
{
	struct fw_metrics *metrics = observers->metrics;

	if (!metrics)
		return NULL;
	FW_TRY(fw_metrics_counter(
		metrics, "faultwire_log_lost_total",
		"Log lines dropped because the queue was full or standard error was closed.",
		count_log_lost, NULL));
	if (!observers->incidents)
		return NULL;
	FW_TRY(fw_metrics_counter(metrics, "faultwire_incidents_written_total",
				  "Incidents written to the store.", count_written,
				  observers->incidents));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_incidents_lost_total",
				  "Incidents dropped because the queue was full.", count_lost,
				  observers->incidents));
	return fw_metrics_gauge(metrics, "faultwire_incidents_down",
				"1 while the store cannot be written.", is_down,
				observers->incidents);
}

void serve_incidents_end(struct serve_observers *observers)
{
	fw_incidents_free(observers->incidents);
	observers->incidents = NULL;
}
