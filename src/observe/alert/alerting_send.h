/*
 * alerting_send.h - alerts over HTTP: a webhook, and the Alertmanager.
 *
 * A webhook is told every change once and in order; what cannot be delivered is
 * tried again, with growing pauses, and given up at a limit. The Alertmanager
 * is told the whole state, again and again, so that only the newest matters.
 *
 * The one rule to remember: all of it belongs to one thread, which may wait;
 * fw_alerting_sender_wake() alone may be called by others.
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
	atomic_ulong lost;      /* given up, or no room */
	atomic_ulong waiting;
	atomic_ulong posted; /* to the Alertmanager */
	atomic_ulong failed; /* attempts, to either */
};

/* Strings are copied. Raises internal.out_of_memory, input.invalid_value,
 * internal.unsupported (libcurl is not there). */
fw_error *fw_alerting_sender_new(const struct fw_alerting_sender_options *options,
				 struct fw_alerting_sender **ret_sender);
void fw_alerting_sender_free(struct fw_alerting_sender *sender);
const struct fw_alerting_sender_stats *fw_alerting_sender_stats(
	const struct fw_alerting_sender *sender);

/* Consumes `body`, which may be NULL for want of memory. */
void fw_alerting_sender_tell_webhook(struct fw_alerting_sender *sender, char *body, size_t len);
void fw_alerting_sender_tell_alertmanager(struct fw_alerting_sender *sender, char *body,
					  size_t len);

/* Begins what is due, and takes in what has ended. */
void fw_alerting_sender_step(struct fw_alerting_sender *sender, int64_t now_ms);
/* Is everything told that can be? */
bool fw_alerting_sender_is_idle(const struct fw_alerting_sender *sender);
/* Until something happens, or for so long. */
void fw_alerting_sender_wait(struct fw_alerting_sender *sender, int64_t now_ms,
			     int64_t most_ms);
void fw_alerting_sender_wake(struct fw_alerting_sender *sender);

/* HMAC-SHA256 of "SECONDS.BODY" in hex. False: no memory. */
bool fw_alerting_sender_sign(const char *secret, int64_t unix_s, const char *body, size_t len,
			     char ret_hex[FW_SHA256_TEXT]);

#endif
