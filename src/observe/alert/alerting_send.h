/*
 * alerting_send.h - alerts over HTTP: a webhook, and the Alertmanager.
 *
 * The webhook gets every change once and in order. A failed delivery is tried again
 * with growing delays, and dropped after a number of attempts. The Alertmanager gets
 * the complete state repeatedly, so only the newest one is kept.
 *
 * The requests are sent on an event loop (io/fetch.h), so nothing here blocks.
 *
 * The one rule to remember: any thread may queue; all else belongs to the thread of
 * the loop.
 */
#ifndef FW_OBSERVE_ALERTING_SEND_H
#define FW_OBSERVE_ALERTING_SEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/digest.h"
#include "base/loop.h"

struct fw_alerting_sender;

struct fw_alerting_sender_options {
	struct fw_loop *loop;         /* outlives the sender */
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
/* Drops what is not sent. Its handles are closed when the loop runs again. Not from
 * within a callback of the loop. NULL is a no-op. */
void fw_alerting_sender_free(struct fw_alerting_sender *sender);
const struct fw_alerting_sender_stats *fw_alerting_sender_stats(
	const struct fw_alerting_sender *sender);

/* From any thread. Consumes `body`; NULL (out of memory) counts as lost. */
void fw_alerting_sender_queue_webhook(struct fw_alerting_sender *sender, char *body,
				      size_t len);
void fw_alerting_sender_queue_alertmanager(struct fw_alerting_sender *sender, char *body,
					   size_t len);

/* Runs the loop until everything is sent or dropped, at most `most_ms`. At the end, when
 * the loop is not running. */
void fw_alerting_sender_flush(struct fw_alerting_sender *sender, uint32_t most_ms);

/* HMAC-SHA256 of "SECONDS.BODY" in hex. False: no memory. */
bool fw_alerting_sender_sign(const char *secret, int64_t unix_s, const char *body, size_t len,
			     char ret_hex[FW_SHA256_TEXT]);

#endif
