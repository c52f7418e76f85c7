/*
 * alert.h - when failures become an alert.
 *
 * It depends on the severity that the registry gives a code: critical fires on a
 * single event, warning on more than five events within five minutes. Each code and
 * client has its own sliding window: six events fire if the sixth comes less than
 * five minutes after the first, and not if it comes exactly then. An alert fires
 * once. It ends when there are fewer events within five minutes than the threshold;
 * after that it may fire again.
 *
 * This is pure: the caller passes the time, in milliseconds that never go back. The
 * one rule to remember: the callback is called only from the two functions that are
 * given the time, and for each alert from oldest to newest.
 */
#ifndef FW_POLICY_ALERT_H
#define FW_POLICY_ALERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_ALERT_WINDOW_MS = 5 * 60 * 1000,
	/* The threshold: one more warning fires. */
	FW_ALERT_WARNINGS = 5,
};

struct fw_alert {
	const fw_row *row;
	const char *client; /* "other" beyond the limit of clients */
	bool is_firing;
	int64_t since_ms;     /* when it fired */
	int64_t last_ms;      /* the newest event */
	int64_t over_ms;      /* when it ended; while it fires, when it will end */
	uint64_t events;      /* since it fired, including those that made it fire */
	char incident_id[48]; /* of the newest event; "": none */
};

struct fw_alerts;

/* An alert fires or ends. Borrowed during the call. */
typedef void fw_alert_fn(void *ctx, const struct fw_alert *alert);

/* Raises internal.out_of_memory. */
fw_error *fw_alerts_new(fw_alert_fn *changed, void *ctx, struct fw_alerts **ret_alerts);
void fw_alerts_free(struct fw_alerts *alerts);

/* Counts a failure. `client` and `incident_id` may be NULL. Dropped if out of
 * memory. */
void fw_alerts_note(struct fw_alerts *alerts, const fw_row *row, const char *client,
		    const char *incident_id, int64_t now_ms);
/* Advances the time, and reports alerts that have ended. */
void fw_alerts_advance(struct fw_alerts *alerts, int64_t now_ms);
/* When the next alert may end; INT64_MAX: none is firing. */
int64_t fw_alerts_next(const struct fw_alerts *alerts);

/* Calls `fn` for each alert that is firing. */
void fw_alerts_each(const struct fw_alerts *alerts, fw_alert_fn *fn, void *ctx);
size_t fw_alerts_firing(const struct fw_alerts *alerts);

#endif
