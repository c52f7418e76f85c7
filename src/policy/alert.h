/*
 * alert.h - when do failures become an alert?
 *
 * By the severity that the registry gives a code: critical fires on a single
 * event, warning on more than five within five minutes. Each code and client
 * has a window of its own, which slides: six events fire if the sixth comes
 * less than five minutes after the first, and not if it comes exactly then. An
 * alert fires once and is over when there are no more so many events within
 * five minutes; after that it may fire again.
 *
 * Pure: the clock is the caller's, in milliseconds that never go back. The one
 * rule to remember: nothing is told but from within the two functions that are
 * given the time, and then from oldest to newest for each alert.
 */
#ifndef FW_POLICY_ALERT_H
#define FW_POLICY_ALERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

enum {
	FW_ALERT_WINDOW_MS = 5 * 60 * 1000,
	/* So many warnings are borne; the next one fires. */
	FW_ALERT_WARNINGS = 5,
};

struct fw_alert {
	const fw_row *row;
	const char *client; /* "other" past a limit of clients */
	bool is_firing;
	int64_t since_ms;     /* when it fired */
	int64_t last_ms;      /* the newest event */
	int64_t over_ms;      /* when it was over; while it fires, when it will be */
	uint64_t events;      /* since it fired, those that made it fire among them */
	char incident_id[48]; /* of the newest event; "": none */
};

struct fw_alerts;

/* It fires, or is over. Borrowed for the time of the call. */
typedef void fw_alert_fn(void *ctx, const struct fw_alert *alert);

/* Raises internal.out_of_memory. */
fw_error *fw_alerts_new(fw_alert_fn *changed, void *ctx, struct fw_alerts **ret_alerts);
void fw_alerts_free(struct fw_alerts *alerts);

/* A failure. `client` and `incident_id` may be NULL. Not counted where there is
 * no memory. */
void fw_alerts_note(struct fw_alerts *alerts, const fw_row *row, const char *client,
		    const char *incident_id, int64_t now_ms);
/* Time goes by: what is over is told. */
void fw_alerts_advance(struct fw_alerts *alerts, int64_t now_ms);
/* When the next alert may be over; INT64_MAX: none fires. */
int64_t fw_alerts_next(const struct fw_alerts *alerts);

/* Those that fire. */
void fw_alerts_each(const struct fw_alerts *alerts, fw_alert_fn *tell, void *ctx);
size_t fw_alerts_firing(const struct fw_alerts *alerts);

#endif
