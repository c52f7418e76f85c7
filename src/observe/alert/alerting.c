/*
 * alerting.c - see alerting.h.
 *
 * The windows are under a lock that nobody holds for long: a failure costs the
 * server's thread the lock and a look-up. Only a change (it fires, it is over)
 * is put into a list and wakes the thread.
 */
#include "observe/alert/alerting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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
#include "observe/alert/alerting_send.h"
#include "observe/alert/alerting_text.h"
#include "observe/log/log.h"
#include "policy/alert.h"

enum {
	/* The Alertmanager forgets what it does not hear of. */
	RESEND_MS = 60 * 1000,
	/* It is told the end of an alert for so long. */
	RETAIN_MS = 15 * 60 * 1000,
	/* How long the end waits for what is to be told. */
	FLUSH_MS = 1000,
	STATE_BYTES = 4 * 1024 * 1024,
	PATH_BYTES = 4096,
};

struct fw_alerting {
	pthread_t thread;
	bool has_thread;
	int log_fd;
	char server[256];
	char state_file[PATH_BYTES]; /* "": none */
	int64_t (*now_ms)(void);
	int64_t offset_ms;                 /* from that clock to the calendar */
	struct fw_alerting_sender *sender; /* NULL: nobody to tell over HTTP */
	int64_t resend_ms;                 /* the thread's */
	char start_ticks[24];

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t woken; /* where there is no sender to wait in */
	struct fw_alerts *alerts;
	bool is_ending;
	bool is_changed;
	/* Changes that the thread has not seen. */
	struct fw_alerting_fact changes[FW_LIMIT_ALERT_QUEUE];
	size_t change_count;
	/* Over, but the Alertmanager is still told so: a ring. */
	struct fw_alerting_fact ended[FW_LIMIT_ALERT_QUEUE];
	size_t ended_at;
};

static int64_t monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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

/* Under the lock, from within the windows. */
static void on_change(void *ctx, const struct fw_alert *alert)
{
	struct fw_alerting *alerting = ctx;
	struct fw_alerting_fact fact = fact_of(alerting, alert);

	alerting->is_changed = true;
	/* The oldest makes room: what fires now matters more. */
	if (alerting->change_count == FW_LIMIT_ALERT_QUEUE)
		memmove(alerting->changes, alerting->changes + 1,
			--alerting->change_count * sizeof fact);
	alerting->changes[alerting->change_count++] = fact;
	if (!fact.is_firing) {
		alerting->ended[alerting->ended_at++ % FW_LIMIT_ALERT_QUEUE] = fact;
		return;
	}
	/* It is not over any more. */
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

	comma(listing);
	fw_alerting_put(listing->out, &fact);
}

static void list_for_alertmanager(void *ctx, const struct fw_alert *alert)
{
	struct listing *listing = ctx;
	struct fw_alerting_fact fact = fact_of(listing->alerting, alert);

	comma(listing);
	/* It ends by itself should this server never speak again. */
	fw_alerting_put_alertmanager(listing->out, &fact, listing->alerting->server,
				     listing->now_unix_ms + 3 * (int64_t)RESEND_MS);
}

/* What fires, and whose it is. Under the lock. */
static void put_state(struct fw_alerting *alerting, struct fw_buf *out)
{
	struct listing listing = { .alerting = alerting, .out = out };
	char time_text[FW_TIME_SIZE];

	FW_BUF(out, "{\"pid\":");
	fw_buf_i64(out, getpid());
	FW_BUF(out, ",\"start_ticks\":");
	fw_buf_json_str(out, alerting->start_ticks);
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
	pthread_mutex_lock(&alerting->lock);
	put_state(alerting, &text);
	pthread_mutex_unlock(&alerting->lock);
	err = text.state == FW_BUF_OK ? write_state(alerting->state_file, &text)
				      : fw_raise_internal_out_of_memory();
	fw_buf_clear(&text);
	return err;
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
		/* Nobody to tell; the other sinks have it. */
	}
	fw_buf_clear(&line);
}

static void tell_webhook(struct fw_alerting *alerting, const struct fw_alerting_fact *fact)
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
	fw_alerting_sender_tell_webhook(alerting->sender, body.text, body.len);
}

static void tell_alertmanager(struct fw_alerting *alerting)
{
	struct listing listing = { .alerting = alerting,
				   .now_unix_ms = alerting->now_ms() + alerting->offset_ms };
	struct fw_buf body;

	fw_buf_init(&body, STATE_BYTES);
	listing.out = &body;
	FW_BUF(&body, "[");
	pthread_mutex_lock(&alerting->lock);
	for (size_t i = 0; i < FW_LIMIT_ALERT_QUEUE; i++) {
		const struct fw_alerting_fact *fact = &alerting->ended[i];

		if (!fact->row || listing.now_unix_ms - fact->over_unix_ms > RETAIN_MS)
			continue;
		comma(&listing);
		fw_alerting_put_alertmanager(&body, fact, alerting->server, fact->over_unix_ms);
	}
	fw_alerts_each(alerting->alerts, list_for_alertmanager, &listing);
	pthread_mutex_unlock(&alerting->lock);
	FW_BUF(&body, "]");
	if (body.state != FW_BUF_OK || !listing.is_begun)
		fw_buf_clear(&body);
	if (body.text)
		fw_alerting_sender_tell_alertmanager(alerting->sender, body.text, body.len);
}

/* ---- the thread ---------------------------------------------------------------------- */

/* Takes the oldest change that nobody was told; false: none is left. */
static bool next_change(struct fw_alerting *alerting, struct fw_alerting_fact *ret_fact)
{
	bool is_there;

	pthread_mutex_lock(&alerting->lock);
	is_there = alerting->change_count > 0;
	if (is_there) {
		*ret_fact = alerting->changes[0];
		memmove(alerting->changes, alerting->changes + 1,
			--alerting->change_count * sizeof *ret_fact);
	}
	pthread_mutex_unlock(&alerting->lock);
	return is_there;
}

static void tell(struct fw_alerting *alerting, bool is_changed)
{
	int64_t now_ms = alerting->now_ms();
	struct fw_alerting_fact fact;

	while (next_change(alerting, &fact)) {
		log_change(alerting, &fact);
		tell_webhook(alerting, &fact);
	}
	if (is_changed)
		fw_error_free(save_state(alerting));
	if (!alerting->sender)
		return;
	if (is_changed || now_ms >= alerting->resend_ms) {
		tell_alertmanager(alerting);
		alerting->resend_ms = now_ms + RESEND_MS;
	}
	fw_alerting_sender_step(alerting->sender, monotonic_ms());
}

static void wake(struct fw_alerting *alerting)
{
	if (alerting->sender)
		fw_alerting_sender_wake(alerting->sender);
	else
		(void)pthread_cond_signal(&alerting->woken);
}

static void sleep_for(struct fw_alerting *alerting, int64_t most_ms)
{
	struct timespec until;

	if (alerting->sender) {
		fw_alerting_sender_wait(alerting->sender, monotonic_ms(), most_ms);
		return;
	}
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(most_ms / 1000);
	until.tv_nsec += (long)(most_ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&alerting->lock);
	if (!alerting->is_changed && !alerting->is_ending)
		(void)pthread_cond_timedwait(&alerting->woken, &alerting->lock, &until);
	pthread_mutex_unlock(&alerting->lock);
}

static void *run(void *ctx)
{
	struct fw_alerting *alerting = ctx;
	bool is_ending = false;
	int64_t end_ms = INT64_MAX;

	for (;;) {
		int64_t now_ms = alerting->now_ms(), wait_ms;
		bool is_changed;

		pthread_mutex_lock(&alerting->lock);
		fw_alerts_advance(alerting->alerts, now_ms);
		is_changed = alerting->is_changed;
		alerting->is_changed = false;
		if (alerting->is_ending && !is_ending) {
			is_ending = true;
			end_ms = monotonic_ms() + FLUSH_MS;
		}
		wait_ms = fw_alerts_next(alerting->alerts);
		pthread_mutex_unlock(&alerting->lock);
		tell(alerting, is_changed);
		if (is_ending &&
		    (!alerting->sender || fw_alerting_sender_is_idle(alerting->sender) ||
		     monotonic_ms() >= end_ms))
			return NULL;
		wait_ms = wait_ms == INT64_MAX ? RESEND_MS : wait_ms - now_ms;
		if (wait_ms > RESEND_MS)
			wait_ms = RESEND_MS;
		if (is_ending)
			wait_ms = 20;
		sleep_for(alerting, wait_ms > 0 ? wait_ms : 0);
	}
}

static fw_error *start_thread(struct fw_alerting *alerting)
{
	sigset_t all, before;
	int result;

	/* Signals are the server's. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&alerting->thread, NULL, run, alerting);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result != 0)
		return fw_raise_internal_unexpected("pthread_create");
	alerting->has_thread = true;
	return NULL;
}

/* ---- made ---------------------------------------------------------------------------- */

/* When the process began, in ticks: a process id alone may be another's later. */
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
	(void)snprintf(alerting->state_file, sizeof alerting->state_file, "%s", path);
	/* A disk that is full keeps no server from starting. */
	fw_error_free(save_state(alerting));
	return start_thread(alerting);
}

fw_error *fw_alerting_new(const struct fw_alerting_options *options,
			  struct fw_alerting **ret_alerting)
{
	struct fw_alerting *alerting = fw__allocate(sizeof *alerting);
	fw_error *err;

	if (!alerting)
		return fw_raise_internal_out_of_memory();
	memset(alerting, 0, sizeof *alerting);
	(void)pthread_mutex_init(&alerting->lock, NULL);
	(void)pthread_cond_init(&alerting->woken, NULL);
	alerting->log_fd = options->log_fd;
	alerting->now_ms = options->now_ms ? options->now_ms : monotonic_ms;
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
	if (alerting->has_thread) {
		pthread_mutex_lock(&alerting->lock);
		alerting->is_ending = true;
		pthread_mutex_unlock(&alerting->lock);
		wake(alerting);
		(void)pthread_join(alerting->thread, NULL);
	}
	if (alerting->state_file[0])
		(void)unlink(alerting->state_file);
	fw_alerting_sender_free(alerting->sender);
	fw_alerts_free(alerting->alerts);
	(void)pthread_cond_destroy(&alerting->woken);
	(void)pthread_mutex_destroy(&alerting->lock);
	fw__release(alerting);
}

/* ---- what the server says -------------------------------------------------------------- */

void fw_alerting_note(struct fw_alerting *alerting, const fw_error *err, const char *client)
{
	bool is_changed;

	pthread_mutex_lock(&alerting->lock);
	fw_alerts_note(alerting->alerts, fw_error_row(err), client, fw_error_incident_id(err),
		       alerting->now_ms());
	is_changed = alerting->is_changed;
	pthread_mutex_unlock(&alerting->lock);
	if (is_changed)
		wake(alerting);
}

void fw_alerting_wake(struct fw_alerting *alerting)
{
	pthread_mutex_lock(&alerting->lock);
	alerting->is_changed = true;
	pthread_mutex_unlock(&alerting->lock);
	wake(alerting);
}

void fw_alerting_finished(void *alerting, const fw_outcome *outcome)
{
	if (outcome->error)
		fw_alerting_note(alerting, outcome->error, outcome->client);
}

fw_error *fw_alerting_page(fw_page *page, void *ctx)
{
	struct fw_alerting *alerting = ctx;
	struct fw_buf text;

	fw_buf_init(&text, STATE_BYTES);
	pthread_mutex_lock(&alerting->lock);
	fw_alerts_advance(alerting->alerts, alerting->now_ms());
	put_state(alerting, &text);
	pthread_mutex_unlock(&alerting->lock);
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

	pthread_mutex_lock(&alerting->lock);
	firing = fw_alerts_firing(alerting->alerts);
	pthread_mutex_unlock(&alerting->lock);
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
