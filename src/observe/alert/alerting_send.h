/*
 * alerting_send.h - alerts over HTTP: a webhook, and the Alertmanager.
 *
 * The webhook gets every change once and in order. A failed delivery is tried again
 * with growing delays, and dropped after a number of attempts. The Alertmanager gets
 * the complete state repeatedly, so only the newest one is kept.
 *
 * The one rule to remember: all functions belong to one thread, which may block;
 * only fw_alerting_sender_wake() may be called by others.
 */
#ifndef FW_OBSERVE_ALERTING_SEND_H
#define FW_OBSERVE_ALERTING_SEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/digest.h"

struct fw_alerting_sender;

struct fw_alerting_sender_options {
	const char *webhook_url;      /* NULL: none */
	const char *webhook_secret;   /* NULL: not signed */
	const char *alertmanager_url; /* NULL: none */
};

/* May be read by any thread. */
struct fw_alerting_sender_stats {
	atomic_ulong delivered; /* to the webhook */
	atomic_ulong lost;      /* dropped: too many attempts, or the queue is full */
	atomic_ulong waiting;
	atomic_ulong posted; /* to the Alertmanager */
	atomic_ulong failed; /* attempts, to either */
};

/* Strings are copied. Raises internal.out_of_memory, input.invalid_value,
 * internal.unsupported (libcurl is not installed). */
fw_error *fw_alerting_sender_new(const struct fw_alerting_sender_options *options,
				 struct fw_alerting_sender **ret_sender);
void fw_alerting_sender_free(struct fw_alerting_sender *sender);
const struct fw_alerting_sender_stats *fw_alerting_sender_stats(
	const struct fw_alerting_sender *sender);

/* Consumes `body`; NULL (out of memory) counts as lost. */
void fw_alerting_sender_queue_webhook(struct fw_alerting_sender *sender, char *body,
				      size_t len);
void fw_alerting_sender_queue_alertmanager(struct fw_alerting_sender *sender, char *body,
					   size_t len);

/* Starts requests that are due, and handles those that have ended. */
void fw_alerting_sender_step(struct fw_alerting_sender *sender, int64_t now_ms);
/* Is nothing left to send? */
bool fw_alerting_sender_is_idle(const struct fw_alerting_sender *sender);
/* Waits until something happens, at most `most_ms`. */
void fw_alerting_sender_wait(struct fw_alerting_sender *sender, int64_t now_ms,
			     int64_t most_ms);
void fw_alerting_sender_wake(struct fw_alerting_sender *sender);

/* HMAC-SHA256 of "SECONDS.BODY" in hex. False: no memory. */
bool fw_alerting_sender_sign(const char *secret, int64_t unix_s, const char *body, size_t len,
			     char ret_hex[FW_SHA256_TEXT]);

#endif
