/*
 * alerting.h - alerts of a running server, and whom they are told.
 *
 * The server's thread says what failed; a thread of this module's own writes
 * the log line, the file that `faultwire alerts` reads, and talks to webhook
 * and Alertmanager. The one rule to remember: the server never waits for them.
 */
#ifndef FW_OBSERVE_ALERTING_H
#define FW_OBSERVE_ALERTING_H

#include <stdint.h>

#include <faultwire/server.h>

struct fw_alerting;

struct fw_alerting_options {
	int log_fd;                   /* -1: none */
	const char *webhook_url;      /* NULL: none */
	const char *webhook_secret;   /* NULL: not signed */
	const char *alertmanager_url; /* NULL: none */
	/* Replaced at every change, and removed at the end; NULL: none. */
	const char *state_file;
	const char *server;      /* shown as its name; NULL: none */
	int64_t (*now_ms)(void); /* NULL: the monotonic clock */
};

/* Strings are copied. Raises internal.out_of_memory, input.invalid_value,
 * internal.unexpected (no thread). A file that cannot be written is no error. */
fw_error *fw_alerting_new(const struct fw_alerting_options *options,
			  struct fw_alerting **ret_alerting);
/* What waits to be told has a second for it. */
void fw_alerting_free(struct fw_alerting *alerting);

/* A failure, from any thread. */
void fw_alerting_note(struct fw_alerting *alerting, const fw_error *err, const char *client);
/* It has a clock of its own that has moved. */
void fw_alerting_wake(struct fw_alerting *alerting);

/* For fw_server_add_observer() and fw_server_add_page(), ctx the alerting. */
void fw_alerting_finished(void *alerting, const fw_outcome *outcome);
fw_error *fw_alerting_page(fw_page *page, void *ctx);

/* For fw_metrics_gauge(), ctx the alerting. */
double fw_alerting_firing(void *ctx);
double fw_alerting_delivered(void *ctx);
double fw_alerting_lost(void *ctx);
double fw_alerting_waiting(void *ctx);
double fw_alerting_posted(void *ctx);
double fw_alerting_failed(void *ctx);

#endif
