/*
 * alerting.h - the alerts of a running server, and where they are sent.
 *
 * The server's thread reports failures. Another thread, which a disk may block, writes
 * the log line and the file that `faultwire alerts` reads, and the row of a shared store. The webhook and the
 * Alertmanager get theirs on the event loop that the server runs on too.
 *
 * The one rule to remember: the server never waits for any of them.
 */
#ifndef FW_OBSERVE_ALERTING_H
#define FW_OBSERVE_ALERTING_H

#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/observer.h>
#include <faultwire/page.h>

#include "base/loop.h"

struct fw_alerting;

struct fw_alerting_options {
	int log_fd;                   /* -1: none */
	struct fw_loop *loop;         /* sends to the two URLs; NULL if there are none */
	const char *webhook_url;      /* NULL: none */
	const char *webhook_secret;   /* NULL: not signed */
	const char *alertmanager_url; /* NULL: none */
	/* Rewritten at every change, removed at the end; NULL: none. */
	const char *state_file;
	/* Where the firing alerts of all servers are: the URL of a store that they share;
	 * NULL: nowhere. `replica` is the name of this server there, by default the host. */
	const char *store;
	const char *replica;
	const char *server;      /* name in alerts; NULL: none */
	int64_t (*now_ms)(void); /* NULL: the monotonic clock */
};

/* Strings are copied. Raises internal.out_of_memory, input.invalid_value,
 * internal.unexpected (no thread). A state file that cannot be written is ignored. */
fw_error *fw_alerting_new(const struct fw_alerting_options *options,
			  struct fw_alerting **ret_alerting);
/* Waits up to a second for pending deliveries, and runs the loop for them. On the loop's
 * thread, when the loop is not running. */
void fw_alerting_free(struct fw_alerting *alerting);

/* A failure, from any thread. */
void fw_alerting_note(struct fw_alerting *alerting, const fw_error *err, const char *client);
/* For tests with their own clock: the time has changed. */
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
