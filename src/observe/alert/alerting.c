/*
 * alerting.c - see alerting.h.
 *
 * The windows are under a lock that is held only briefly: a failure costs the
 * server's thread the lock and a lookup. Only a change (an alert fires or ends) is
 * queued for the thread, and wakes it.
 */
#include "observe/alert/alerting.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/clock.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/queue_thread.h"
#include "observe/alert/alerting_send.h"
#include "observe/alert/alerting_share.h"
#include "observe/alert/alerting_text.h"
#include "observe/log/log.h"
#include "policy/alert.h"

enum {
	/* The Alertmanager drops alerts that are not sent again. */
	RESEND_MS = 60 * 1000,
	/* The end of an alert is sent to it for this long. */
	RETAIN_MS = 15 * 60 * 1000,
	/* How long fw_alerting_free() runs the loop for pending deliveries. */
	FLUSH_MS = 1000,
	/* At most this often, counts in the state file are updated. */
	SAVE_MS = 500,
	/* The same for the shared store, and how soon a failed attempt is repeated. */
	SHARE_MS = 5000,
	STATE_BYTES = 4 * 1024 * 1024,
	PATH_BYTES = 4096,
};

struct fw_alerting {
	/* For its thread and its lock, which protects what follows `start_ticks`. */
	struct fw_queue_thread queue;
	int log_fd;
	char server[256];
	char state_file[PATH_BYTES]; /* "": none */
	int64_t (*now_ms)(void);
	int64_t offset_ms;                 /* from that clock to the calendar */
	struct fw_alerting_sender *sender; /* NULL: no webhook, no Alertmanager */
	int64_t resend_ms;                 /* used by the thread only */
	int64_t saved_ms;                  /* likewise: when the state file was written */
	struct fw_alerting_share *share;   /* likewise; NULL: none */
	int64_t share_ms;                  /* likewise: when it is due; steady clock */
	char start_ticks[24];

	struct fw_alerts *alerts;
	bool is_changed;
	bool is_stale; /* the state file has old counts */
	/* Changes for the thread. */
	struct fw_alerting_fact changes[FW_LIMIT_ALERT_QUEUE];
	size_t change_count;
	/* Ring buffer of ended alerts that the Alertmanager still gets. */
	struct fw_alerting_fact ended[FW_LIMIT_ALERT_QUEUE];
	size_t ended_at;
};

/* ---- facts ------------------------------------------------------------------------ */

static struct fw_alerting_fact fact_of(const struct fw_alerting *alerting,
				       const struct fw_alert *alert)
{
	int64_t offset = alerting->offset_ms;
	struct fw_alerting_fact fact = {
		.row = alert->row,
		.is_firing = alert->is_firing,
		.events = alert->events,
		.since_unix_ms = alert->since_ms + offset,
		.last_unix_ms = alert->last_ms + offset,
		.over_unix_ms = alert->over_ms + offset,
	};

	(void)snprintf(fact.client, sizeof fact.client, "%s", alert->client);
	(void)snprintf(fact.incident_id, sizeof fact.incident_id, "%s", alert->incident_id);
	return fact;
}

/* Called by the windows, under the lock. */
static void on_change(void *ctx, const struct fw_alert *alert)
{
	struct fw_alerting *alerting = ctx;
	struct fw_alerting_fact fact = fact_of(alerting, alert);

	alerting->is_changed = true;
	/* The oldest is dropped: newer changes matter more. */
	if (alerting->change_count == FW_LIMIT_ALERT_QUEUE)
		memmove(alerting->changes, alerting->changes + 1,
			--alerting->change_count * sizeof fact);
	alerting->changes[alerting->change_count++] = fact;
	if (!fact.is_firing) {
		alerting->ended[alerting->ended_at++ % FW_LIMIT_ALERT_QUEUE] = fact;
		return;
	}
	/* It fires again. */
	for (size_t i = 0; i < FW_LIMIT_ALERT_QUEUE; i++)
		if (alerting->ended[i].row == fact.row &&
		    strcmp(alerting->ended[i].client, fact.client) == 0)
			alerting->ended[i].row = NULL;
}

struct listing {
	const struct fw_alerting *alerting;
	struct fw_buf *out;
	int64_t now_unix_ms;
	bool is_begun;
	size_t most; /* 0: all */
	size_t count;
};

static void comma(struct listing *listing)
{
	if (listing->is_begun)
		FW_BUF(listing->out, ",");
	listing->is_begun = true;
}

static void list_alert(void *ctx, const struct fw_alert *alert)
{
	struct listing *listing = ctx;
	struct fw_alerting_fact fact = fact_of(listing->alerting, alert);

	if (listing->most && listing->count++ >= listing->most)
		return;
	comma(listing);
	fw_alerting_put(listing->out, &fact);
}

static void list_for_alertmanager(void *ctx, const struct fw_alert *alert)
{
	struct listing *listing = ctx;
	struct fw_alerting_fact fact = fact_of(listing->alerting, alert);

	comma(listing);
	/* It ends by itself if this server is gone. */
	fw_alerting_put_alertmanager(listing->out, &fact, listing->alerting->server,
				     listing->now_unix_ms + 3 * (int64_t)RESEND_MS);
}

/* The state file: this process and its firing alerts. Under the lock. `most`: see struct
 * listing. */
static void put_state(struct fw_alerting *alerting, struct fw_buf *out, size_t most)
{
	struct listing listing = { .alerting = alerting, .out = out, .most = most };
	char time_text[FW_TIME_SIZE];

	FW_BUF(out, "{\"pid\":");
	fw_buf_i64(out, getpid());
	FW_BUF(out, ",\"start_ticks\":");
	fw_buf_json_str(out, alerting->start_ticks);
	if (alerting->share) {
		FW_BUF(out, ",\"replica\":");
		fw_buf_json_str(out, fw_alerting_share_replica(alerting->share));
	}
	FW_BUF(out, ",\"server\":");
	fw_buf_json_str(out, alerting->server);
	(void)fw_time_text(fw_unix_ms(), time_text);
	FW_BUF(out, ",\"updated\":");
	fw_buf_json_str(out, time_text);
	FW_BUF(out, ",\"firing\":[");
	fw_alerts_each(alerting->alerts, list_alert, &listing);
	FW_BUF(out, "]}\n");
}

/* ---- sinks ------------------------------------------------------------------------- */

static fw_error *write_state(const char *path, const struct fw_buf *text)
{
	char temporary[PATH_BYTES + 8];
	int fd, errnum = 0;

	(void)snprintf(temporary, sizeof temporary, "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errno, temporary);
	if (write(fd, text->text, text->len) != (ssize_t)text->len)
		errnum = errno ? errno : ENOSPC;
	(void)close(fd);
	if (!errnum && rename(temporary, path) != 0)
		errnum = errno;
	if (!errnum)
		return NULL;
	(void)unlink(temporary);
	return fw_error_from_errno(FW_HERE, errnum, path);
}

static fw_error *save_state(struct fw_alerting *alerting)
{
	struct fw_buf text;
	fw_error *err;

	if (!alerting->state_file[0])
		return NULL;
	fw_buf_init(&text, STATE_BYTES);
	fw_queue_thread_lock(&alerting->queue);
	put_state(alerting, &text, 0);
	fw_queue_thread_unlock(&alerting->queue);
	err = text.state == FW_BUF_OK ? write_state(alerting->state_file, &text)
				      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&text);
	return err;
}

/* Writes the row of this server if it is due. */
static void share_state(struct fw_alerting *alerting)
{
	struct fw_buf text;
	fw_error *err;

	if (!alerting->share || fw_steady_ms() < alerting->share_ms)
		return;
	fw_buf_init(&text, STATE_BYTES);
	fw_queue_thread_lock(&alerting->queue);
	put_state(alerting, &text, FW_ALERTING_SHARE_MOST);
	fw_queue_thread_unlock(&alerting->queue);
	err = text.state == FW_BUF_OK ? fw_alerting_share_put(alerting->share, text.text)
				      : fw_raise_internal_out_of_memory();
	alerting->share_ms = fw_steady_ms() + (err ? SHARE_MS : FW_ALERTING_SHARE_MS);
	fw_error_free(err);
	fw_buf_clear(&text);
}

/* `in_ms`: it has changed, and is due then at the latest. */
static void share_within(struct fw_alerting *alerting, int64_t in_ms)
{
	int64_t at_ms = fw_steady_ms() + in_ms;

	if (at_ms < alerting->share_ms)
		alerting->share_ms = at_ms;
}

static void log_change(const struct fw_alerting *alerting, const struct fw_alerting_fact *fact)
{
	bool is_critical = fact->row->severity == FW_CRITICAL;
	char since[FW_TIME_SIZE];
	struct fw_buf line;

	(void)fw_time_text(fact->since_unix_ms, since);
	fw_log_event(!fact->is_firing ? FW_LOG_INFO
		     : is_critical    ? FW_LOG_CRITICAL
				      : FW_LOG_WARNING,
		     "alerts", fact->is_firing ? "alert_firing" : "alert_resolved",
		     (const fw_field[]){ fw_log_text("error_code", fact->row->code),
					 fw_log_text("client", fact->client),
					 fw_log_text("since", since),
					 fw_log_number("events", fact->events),
					 fw_log_text("incident_id", fact->incident_id) },
		     5);
	if (alerting->log_fd < 0)
		return;
	fw_buf_init(&line, FW_LIMIT_TEXT_BYTES);
	fw_alerting_put_log(&line, fact, fw_unix_ms());
	if (line.state == FW_BUF_OK && write(alerting->log_fd, line.text, line.len) < 0) {
		/* Ignored: the other sinks have it. */
	}
	fw_buf_clear(&line);
}

static void queue_webhook(struct fw_alerting *alerting, const struct fw_alerting_fact *fact)
{
	struct fw_buf body;

	if (!alerting->sender)
		return;
	fw_buf_init(&body, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&body, "{\"version\":1,\"server\":");
	fw_buf_json_str(&body, alerting->server);
	FW_BUF(&body, ",\"alert\":");
	fw_alerting_put(&body, fact);
	FW_BUF(&body, "}");
	if (body.state != FW_BUF_OK)
		fw_buf_clear(&body);
	fw_alerting_sender_queue_webhook(alerting->sender, body.text, body.len);
}

static void queue_alertmanager(struct fw_alerting *alerting)
{
	struct listing listing = { .alerting = alerting,
				   .now_unix_ms = alerting->now_ms() + alerting->offset_ms };
	struct fw_buf body;

	fw_buf_init(&body, STATE_BYTES);
	listing.out = &body;
	FW_BUF(&body, "[");
	fw_queue_thread_lock(&alerting->queue);
	for (size_t i = 0; i < FW_LIMIT_ALERT_QUEUE; i++) {
		const struct fw_alerting_fact *fact = &alerting->ended[i];

		if (!fact->row || listing.now_unix_ms - fact->over_unix_ms > RETAIN_MS)
			continue;
		comma(&listing);
		fw_alerting_put_alertmanager(&body, fact, alerting->server, fact->over_unix_ms);
	}
	fw_alerts_each(alerting->alerts, list_for_alertmanager, &listing);
	fw_queue_thread_unlock(&alerting->queue);
	FW_BUF(&body, "]");
	if (body.state != FW_BUF_OK || !listing.is_begun)
		fw_buf_clear(&body);
	if (body.text)
		fw_alerting_sender_queue_alertmanager(alerting->sender, body.text, body.len);
}

/* ---- the thread ---------------------------------------------------------------------- */

/* Takes the oldest change; false: none is left. */
static bool next_change(struct fw_alerting *alerting, struct fw_alerting_fact *ret_fact)
{
	bool is_there;

	fw_queue_thread_lock(&alerting->queue);
	is_there = alerting->change_count > 0;
	if (is_there) {
		*ret_fact = alerting->changes[0];
		memmove(alerting->changes, alerting->changes + 1,
			--alerting->change_count * sizeof *ret_fact);
	}
	fw_queue_thread_unlock(&alerting->queue);
	return is_there;
}

static void publish(struct fw_alerting *alerting, bool is_changed, bool is_stale)
{
	int64_t now_ms = alerting->now_ms();
	struct fw_alerting_fact fact;

	while (next_change(alerting, &fact)) {
		log_change(alerting, &fact);
		queue_webhook(alerting, &fact);
	}
	if (is_changed || is_stale) {
		fw_error_free(save_state(alerting));
		alerting->saved_ms = fw_steady_ms();
	}
	if (alerting->sender && (is_changed || now_ms >= alerting->resend_ms)) {
		queue_alertmanager(alerting);
		alerting->resend_ms = now_ms + RESEND_MS;
	}
	if (is_changed || is_stale)
		share_within(alerting, is_changed ? 0 : SHARE_MS);
	share_state(alerting);
}

static void sleep_for(struct fw_alerting *alerting, int64_t most_ms)
{
	fw_queue_thread_lock(&alerting->queue);
	if (alerting->is_stale && most_ms > SAVE_MS)
		most_ms = SAVE_MS;
	if (!alerting->is_changed && !alerting->queue.is_stopping)
		(void)fw_queue_thread_wait(&alerting->queue,
					   fw_steady_ns() + most_ms * 1000000);
	fw_queue_thread_unlock(&alerting->queue);
}

static void run(void *ctx)
{
	struct fw_alerting *alerting = ctx;
	bool is_ending = false;

	while (!is_ending) {
		int64_t now_ms = alerting->now_ms(), wait_ms;
		bool is_changed, is_stale;

		fw_queue_thread_lock(&alerting->queue);
		fw_alerts_advance(alerting->alerts, now_ms);
		is_changed = alerting->is_changed;
		alerting->is_changed = false;
		is_stale = alerting->is_stale && fw_steady_ms() - alerting->saved_ms >= SAVE_MS;
		if (is_changed || is_stale)
			alerting->is_stale = false;
		is_ending = alerting->queue.is_stopping;
		wait_ms = fw_alerts_next(alerting->alerts);
		fw_queue_thread_unlock(&alerting->queue);
		publish(alerting, is_changed, is_stale);
		wait_ms = wait_ms == INT64_MAX ? RESEND_MS : wait_ms - now_ms;
		if (wait_ms > RESEND_MS)
			wait_ms = RESEND_MS;
		if (alerting->share && wait_ms > alerting->share_ms - fw_steady_ms())
			wait_ms = alerting->share_ms - fw_steady_ms();
		sleep_for(alerting, wait_ms > 0 ? wait_ms : 0);
	}
}

static fw_error *start_thread(struct fw_alerting *alerting)
{
	if (fw_queue_thread_start(&alerting->queue, run, NULL, alerting) != 0)
		return fw_raise_internal_unexpected("pthread_create");
	return NULL;
}

/* ---- lifecycle ---------------------------------------------------------------------------- */

/* Start time of the process in clock ticks: process ids are reused. */
static void read_start(char *ticks, size_t size)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	char *at;

	if (fd >= 0)
		(void)close(fd);
	text[len > 0 ? len : 0] = '\0';
	at = strrchr(text, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	(void)snprintf(ticks, size, "%.*s", at ? (int)strcspn(at + 1, " ") : 0,
		       at ? at + 1 : "");
}

static fw_error *begin(struct fw_alerting *alerting, const struct fw_alerting_options *options)
{
	const struct fw_alerting_sender_options sending = {
		.loop = options->loop,
		.webhook_url = options->webhook_url,
		.webhook_secret = options->webhook_secret,
		.alertmanager_url = options->alertmanager_url,
	};
	const char *path = options->state_file ? options->state_file : "";

	if (strlen(path) >= sizeof alerting->state_file)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, path);
	FW_TRY(fw_alerts_new(on_change, alerting, &alerting->alerts));
	if (sending.webhook_url || sending.alertmanager_url)
		FW_TRY(fw_alerting_sender_new(&sending, &alerting->sender));
	if (options->store)
		FW_TRY(fw_alerting_share_new(options->store, options->replica,
					     &alerting->share));
	(void)snprintf(alerting->state_file, sizeof alerting->state_file, "%s", path);
	/* Not fatal: the server starts even if the disk is full. */
	fw_error_free(save_state(alerting));
	/* Otherwise the first failure starts it. */
	return alerting->share ? start_thread(alerting) : NULL;
}

fw_error *fw_alerting_new(const struct fw_alerting_options *options,
			  struct fw_alerting **ret_alerting)
{
	struct fw_alerting *alerting = fw__allocate(sizeof *alerting);
	fw_error *err;

	if (!alerting)
		return fw_raise_internal_out_of_memory();
	memset(alerting, 0, sizeof *alerting);
	fw_queue_thread_init(&alerting->queue);
	alerting->log_fd = options->log_fd;
	alerting->now_ms = options->now_ms ? options->now_ms : fw_steady_ms;
	alerting->offset_ms = fw_unix_ms() - alerting->now_ms();
	alerting->resend_ms = alerting->now_ms() + RESEND_MS;
	(void)snprintf(alerting->server, sizeof alerting->server, "%s",
		       options->server ? options->server : "");
	read_start(alerting->start_ticks, sizeof alerting->start_ticks);
	err = begin(alerting, options);
	if (err) {
		fw_alerting_free(alerting);
		return err;
	}
	*ret_alerting = alerting;
	return NULL;
}

void fw_alerting_free(struct fw_alerting *alerting)
{
	if (!alerting)
		return;
	(void)fw_queue_thread_stop(&alerting->queue, INT64_MAX);
	if (alerting->sender)
		fw_alerting_sender_flush(alerting->sender, FLUSH_MS);
	if (alerting->state_file[0])
		(void)unlink(alerting->state_file);
	fw_alerting_share_free(alerting->share);
	fw_alerting_sender_free(alerting->sender);
	fw_alerts_free(alerting->alerts);
	fw_queue_thread_clear(&alerting->queue);
	fw__release(alerting);
}

/* ---- called by the server -------------------------------------------------------------- */

/* Locked. A server without failures needs no thread: with one thread, each of its system calls
 * is cheaper. If it cannot be started, the next failure tries again. */
static void ensure_thread(struct fw_alerting *alerting)
{
	if (!alerting->queue.pid)
		fw_error_free(start_thread(alerting));
}

void fw_alerting_note(struct fw_alerting *alerting, const fw_error *err, const char *client)
{
	bool must_wake;

	fw_queue_thread_lock(&alerting->queue);
	fw_alerts_note(alerting->alerts, fw_error_row(err), client, fw_error_incident_id(err),
		       alerting->now_ms());
	must_wake = alerting->is_changed;
	if (!alerting->is_stale && fw_alerts_firing(alerting->alerts)) {
		alerting->is_stale = true;
		must_wake = true;
	}
	ensure_thread(alerting);
	fw_queue_thread_unlock(&alerting->queue);
	if (must_wake)
		fw_queue_thread_wake(&alerting->queue);
}

void fw_alerting_wake(struct fw_alerting *alerting)
{
	fw_queue_thread_lock(&alerting->queue);
	alerting->is_changed = true;
	ensure_thread(alerting);
	fw_queue_thread_unlock(&alerting->queue);
	fw_queue_thread_wake(&alerting->queue);
}

void fw_alerting_finished(void *alerting, const fw_outcome *outcome)
{
	/* Anybody can cause unauthenticated failures: they are counted in the metrics and raise
	 * no alert. */
	if (outcome->error && !outcome->is_unauthenticated && !outcome->is_drill)
		fw_alerting_note(alerting, outcome->error, outcome->client);
}

fw_error *fw_alerting_page(fw_page *page, void *ctx)
{
	struct fw_alerting *alerting = ctx;
	struct fw_buf text;

	fw_buf_init(&text, STATE_BYTES);
	fw_queue_thread_lock(&alerting->queue);
	fw_alerts_advance(alerting->alerts, alerting->now_ms());
	put_state(alerting, &text, 0);
	fw_queue_thread_unlock(&alerting->queue);
	if (text.state != FW_BUF_OK) {
		fw_buf_clear(&text);
		return fw_raise_internal_out_of_memory();
	}
	fw_page_status(page, 200, "application/json");
	fw_page_write(page, text.text, text.len);
	fw_buf_clear(&text);
	return NULL;
}

double fw_alerting_firing(void *ctx)
{
	struct fw_alerting *alerting = ctx;
	size_t firing;

	fw_queue_thread_lock(&alerting->queue);
	firing = fw_alerts_firing(alerting->alerts);
	fw_queue_thread_unlock(&alerting->queue);
	return (double)firing;
}

static const struct fw_alerting_sender_stats *stats_of(const struct fw_alerting *alerting)
{
	static const struct fw_alerting_sender_stats none;

	return alerting->sender ? fw_alerting_sender_stats(alerting->sender) : &none;
}

double fw_alerting_delivered(void *ctx)
{
	return (double)atomic_load(&stats_of(ctx)->delivered);
}

double fw_alerting_lost(void *ctx)
{
	return (double)atomic_load(&stats_of(ctx)->lost);
}

double fw_alerting_waiting(void *ctx)
{
	return (double)atomic_load(&stats_of(ctx)->waiting);
}

double fw_alerting_posted(void *ctx)
{
	return (double)atomic_load(&stats_of(ctx)->posted);
}

double fw_alerting_failed(void *ctx)
{
	return (double)atomic_load(&stats_of(ctx)->failed);
}
