/*
 * alerting_text.h - an alert in the forms that others read.
 *
 * The one rule to remember: the Alertmanager tells alerts apart by their
 * labels, so that they are the same here and in the rules for Prometheus.
 */
#ifndef FW_OBSERVE_ALERTING_TEXT_H
#define FW_OBSERVE_ALERTING_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "policy/alert.h"

/* An alert by itself, with times of the calendar. */
struct fw_alerting_fact {
	const fw_row *row;
	char client[FW_LIMIT_ALERT_CLIENT_BYTES + 1];
	char incident_id[48];
	bool is_firing;
	uint64_t events;
	int64_t since_unix_ms;
	int64_t last_unix_ms;
	int64_t over_unix_ms; /* while it fires: when it will be over, as it looks */
};

enum { FW_ALERTING_NAME_SIZE = 128 };

/* "FaultwireFileNotFound" */
void fw_alerting_name(const fw_row *row, char ret_name[FW_ALERTING_NAME_SIZE]);

/* An object with all there is to know. */
void fw_alerting_put(struct fw_buf *out, const struct fw_alerting_fact *fact);
/* One element of what the Alertmanager's API v2 takes. */
void fw_alerting_put_alertmanager(struct fw_buf *out, const struct fw_alerting_fact *fact,
				  const char *server, int64_t ends_unix_ms);
/* A line of the log, with its newline. */
void fw_alerting_put_log(struct fw_buf *out, const struct fw_alerting_fact *fact,
			 int64_t unix_ms);

#endif
