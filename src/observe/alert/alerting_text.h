/*
 * alerting_text.h - an alert as JSON: for the webhook, the Alertmanager and the log.
 *
 * The one rule to remember: the Alertmanager identifies an alert by its labels, so
 * they must be the same here and in the Prometheus rules.
 */
#ifndef FW_OBSERVE_ALERTING_TEXT_H
#define FW_OBSERVE_ALERTING_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "policy/alert.h"

/* A copy of an alert, with wall-clock times. */
struct fw_alerting_fact {
	const fw_row *row;
	char client[FW_LIMIT_ALERT_CLIENT_BYTES + 1];
	char incident_id[48];
	bool is_firing;
	uint64_t events;
	int64_t since_unix_ms;
	int64_t last_unix_ms;
	int64_t over_unix_ms; /* when it ended; while it fires, when it will end */
};

enum { FW_ALERTING_NAME_SIZE = 128 };

/* "FaultwireFileNotFound" */
void fw_alerting_name(const fw_row *row, char ret_name[FW_ALERTING_NAME_SIZE]);

/* An object with all members. */
void fw_alerting_put(struct fw_buf *out, const struct fw_alerting_fact *fact);
/* One element of the list for the Alertmanager's API v2. */
void fw_alerting_put_alertmanager(struct fw_buf *out, const struct fw_alerting_fact *fact,
				  const char *server, int64_t ends_unix_ms);
/* A line of the log, with its newline. */
void fw_alerting_put_log(struct fw_buf *out, const struct fw_alerting_fact *fact,
			 int64_t unix_ms);

#endif
