/*
 * audit_anchor.c - see audit_anchor.h.
 */
#include "observe/audit/audit_anchor.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits_store.h"
#include "base/mem.h"
#include "base/queue_thread.h"
#include "observe/alert/alerting_send.h"
#include "observe/audit/audit_head.h"
#include "observe/audit/audit_writer.h"
#include "observe/log/log.h"
#include "observe/metrics/metrics.h"
#include "store/anchor.h"

enum { LOOK_MS = 1000, FLUSH_MS = 1000, REPLICA_SIZE = 256 };

struct fw_audit_anchorer {
	struct fw_queue_thread thread;
	struct fw_audit *audit;
	struct fw_anchors *anchors; /* NULL: a webhook */
	struct fw_alerting_sender *sender;
	char replica[REPLICA_SIZE];
	/* Of the thread: */
	int64_t anchored_ms; /* steady clock */
	uint64_t rotations;
	char hash[FW_AUDIT_HASH_LEN + 1]; /* of the last anchor */
	uint64_t queued_seq;              /* of the last one for the webhook */
	unsigned long delivered, failed;  /* when the webhook was last looked at */
	/* Read by others: */
	atomic_uint_least64_t seq;
	atomic_uint_least64_t failures;
	atomic_bool is_down;
};

static void put_host(const char *replica, char ret_name[REPLICA_SIZE])
{
	char host[HOST_NAME_MAX + 1] = "";

	if (!replica)
		(void)gethostname(host, sizeof host - 1);
	(void)snprintf(ret_name, REPLICA_SIZE, "%s", replica ? replica : host);
}

bool fw_audit_log_name(const char *replica, const char *path,
		       char ret_name[FW_AUDIT_LOG_NAME_SIZE])
{
	char real[PATH_MAX], host[REPLICA_SIZE];

	if (!fw_audit_real_path(-1, path, real, sizeof real))
		return false;
	put_host(replica, host);
	(void)snprintf(ret_name, FW_AUDIT_LOG_NAME_SIZE, "%s:%s", host, real);
	return true;
}

static void note(struct fw_audit_anchorer *anchorer, fw_error *err)
{
	bool was_down = atomic_exchange(&anchorer->is_down, err != NULL);

	if (err)
		atomic_fetch_add(&anchorer->failures, 1);
	if (err && !was_down)
		fw_log_event(FW_LOG_ERROR, "faultwire", "audit_anchors_down",
			     (const fw_field[]){ fw_log_text("reason", fw_error_message(err)) },
			     1);
	else if (!err && was_down)
		fw_log_event(FW_LOG_NOTICE, "faultwire", "audit_anchors_restored", NULL, 0);
	fw_error_free(err);
}

/* ---- a webhook ------------------------------------------------------------------ */

bool fw_audit_anchor_is_webhook(const char *url)
{
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* It is delivered later, and tried again if that fails (alerting_send.h). */
static fw_error *queue_webhook(struct fw_audit_anchorer *anchorer,
			       const struct fw_anchor *anchor)
{
	struct fw_buf body;

	fw_buf_init(&body, FW_LIMIT_ANCHOR_LINE_BYTES);
	fw_anchors_put(&body, anchor);
	if (body.state != FW_BUF_OK)
		return fw_anchors_refuse(&body);
	fw_alerting_sender_queue_webhook(anchorer->sender, body.text, body.len);
	anchorer->queued_seq = anchor->seq;
	return NULL;
}

/* What has become of what was queued. */
static void look_at_webhook(struct fw_audit_anchorer *anchorer)
{
	const struct fw_alerting_sender_stats *stats =
		fw_alerting_sender_stats(anchorer->sender);
	unsigned long delivered = atomic_load(&stats->delivered);
	unsigned long failed = atomic_load(&stats->failed);

	if (delivered != anchorer->delivered && !atomic_load(&stats->waiting)) {
		atomic_store(&anchorer->seq, anchorer->queued_seq);
		note(anchorer, NULL);
	} else if (failed != anchorer->failed) {
		note(anchorer, fw_raise_dependency_unavailable("the webhook of anchors"));
	}
	anchorer->delivered = delivered;
	anchorer->failed = failed;
}

/* ---- the thread ------------------------------------------------------------------ */

static void anchor_now(struct fw_audit_anchorer *anchorer, const struct fw_audit_top *top,
		       const char *reason)
{
	char log[FW_AUDIT_LOG_NAME_SIZE];
	const struct fw_anchor anchor = { .log = log,
					  .replica = anchorer->replica,
					  .seq = top->chain.seq,
					  .hash = top->chain.hash,
					  .time_ms = fw_unix_ms(),
					  .reason = reason };
	fw_error *err;

	if (!top->chain.seq || !top->path[0] || strcmp(top->chain.hash, anchorer->hash) == 0)
		return;
	(void)snprintf(log, sizeof log, "%s:%s", anchorer->replica, top->path);
	err = anchorer->sender ? queue_webhook(anchorer, &anchor)
			       : fw_anchors_add(anchorer->anchors, &anchor);
	if (!err) {
		memcpy(anchorer->hash, top->chain.hash, sizeof anchorer->hash);
		anchorer->rotations = top->rotations;
	}
	anchorer->anchored_ms = fw_steady_ms();
	if (!err && !anchorer->sender)
		atomic_store(&anchorer->seq, top->chain.seq);
	if (err || !anchorer->sender)
		note(anchorer, err);
}

static void look(struct fw_audit_anchorer *anchorer, bool is_last)
{
	struct fw_audit_top *top = fw__allocate(sizeof *top);
	bool is_rotated, is_due;

	if (!top)
		return;
	fw_audit_top(anchorer->audit, top);
	is_rotated = top->rotations != anchorer->rotations;
	is_due = fw_steady_ms() - anchorer->anchored_ms >= FW_LIMIT_ANCHOR_MS;
	if (is_last || is_rotated || is_due)
		anchor_now(anchorer, top,
			   is_last      ? "end"
			   : is_rotated ? "rotation"
					: "interval");
	fw__release(top);
	if (anchorer->sender)
		look_at_webhook(anchorer);
}

static void run(void *ctx)
{
	struct fw_audit_anchorer *anchorer = ctx;
	bool is_last = false;

	fw_queue_thread_lock(&anchorer->thread);
	while (!is_last) {
		if (!anchorer->thread.is_stopping)
			(void)fw_queue_thread_wait(&anchorer->thread,
						   fw_steady_ns() + (int64_t)LOOK_MS * 1000000);
		is_last = anchorer->thread.is_stopping;
		fw_queue_thread_unlock(&anchorer->thread);
		look(anchorer, is_last);
		fw_queue_thread_lock(&anchorer->thread);
	}
	fw_queue_thread_unlock(&anchorer->thread);
}

static fw_error *open_place(struct fw_audit_anchorer *anchorer,
			    const struct fw_audit_anchorer_options *options)
{
	const struct fw_alerting_sender_options sending = {
		.loop = options->loop,
		.webhook_url = options->url,
		.webhook_secret = options->secret,
	};

	return fw_audit_anchor_is_webhook(options->url)
		       ? fw_alerting_sender_new(&sending, &anchorer->sender)
		       : fw_anchors_open(options->url, &anchorer->anchors);
}

static void free_anchorer(struct fw_audit_anchorer *anchorer)
{
	fw_queue_thread_clear(&anchorer->thread);
	fw_alerting_sender_free(anchorer->sender);
	fw_anchors_free(anchorer->anchors);
	fw__release(anchorer);
}

fw_error *fw_audit_anchorer_new(struct fw_audit *audit,
				const struct fw_audit_anchorer_options *options,
				struct fw_audit_anchorer **ret_anchorer)
{
	struct fw_audit_anchorer *anchorer = fw__allocate(sizeof *anchorer);
	fw_error *err;
	int errnum;

	if (!anchorer)
		return fw_raise_internal_out_of_memory();
	memset(anchorer, 0, sizeof *anchorer);
	anchorer->audit = audit;
	/* The first anchor is due at once. */
	anchorer->anchored_ms = fw_steady_ms() - FW_LIMIT_ANCHOR_MS;
	put_host(options->replica, anchorer->replica);
	fw_queue_thread_init(&anchorer->thread);
	err = open_place(anchorer, options);
	if (!err) {
		errnum = fw_queue_thread_start(&anchorer->thread, run, NULL, anchorer);
		if (errnum)
			err = fw_error_from_errno(FW_HERE, errnum, "thread of the anchors");
	}
	if (err)
		free_anchorer(anchorer);
	else
		*ret_anchorer = anchorer;
	return err;
}

void fw_audit_anchorer_free(struct fw_audit_anchorer *anchorer)
{
	if (!anchorer)
		return;
	(void)fw_queue_thread_stop(&anchorer->thread, INT64_MAX);
	if (anchorer->sender)
		fw_alerting_sender_flush(anchorer->sender, FLUSH_MS);
	free_anchorer(anchorer);
}

static double read_failures(void *ctx)
{
	return (double)fw_audit_anchorer_health(ctx).failures;
}

static double read_seq(void *ctx)
{
	return (double)fw_audit_anchorer_health(ctx).seq;
}

static double read_lost(void *ctx)
{
	const struct fw_audit_anchorer *anchorer = ctx;

	return anchorer->sender
		       ? (double)atomic_load(&fw_alerting_sender_stats(anchorer->sender)->lost)
		       : 0;
}

fw_error *fw_audit_anchorer_observe(struct fw_audit_anchorer *anchorer,
				    struct fw_metrics *metrics)
{
	FW_TRY(fw_metrics_gauge(metrics, "faultwire_audit_anchored_seq",
				"Number of the last audit record that this process anchored.",
				read_seq, anchorer));
	FW_TRY(fw_metrics_counter(metrics, "faultwire_audit_anchor_failures_total",
				  "Attempts to anchor the audit log that have failed.",
				  read_failures, anchorer));
	return fw_metrics_counter(metrics, "faultwire_audit_anchors_lost_total",
				  "Anchors that were dropped after failed attempts to send "
				  "them to the webhook.",
				  read_lost, anchorer);
}

struct fw_audit_anchorer_health fw_audit_anchorer_health(struct fw_audit_anchorer *anchorer)
{
	return (struct fw_audit_anchorer_health){
		.seq = atomic_load(&anchorer->seq),
		.failures = atomic_load(&anchorer->failures),
		.is_down = atomic_load(&anchorer->is_down),
	};
}
