/*
 * alerting_send.c - see alerting_send.h.
 *
 * At most one request to each of the two is in progress at a time, so a webhook that
 * hangs does not delay the Alertmanager. The queues are under a lock, because the
 * thread that writes the log fills them; a task of the loop then starts what is due.
 */
#include "observe/alert/alerting_send.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <faultwire/raise.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "io/fetch.h"
#include "observe/log/log.h"

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 60 * 1000, CONNECT_MS = 5000 };

struct letter {
	struct letter *next;
	size_t len;
	char *body;
	unsigned long number;
};

struct channel {
	struct fw_alerting_sender *sender;
	char *url;
	bool is_sending;
	bool is_failing;   /* the last attempt failed, which was logged */
	unsigned attempts; /* to send the first letter */
	int64_t due_ms;
	struct letter *first;
	struct letter *last;
	size_t count;
};

struct fw_alerting_sender {
	struct fw_loop *loop;
	struct fw_fetcher *fetcher;
	struct fw_task task; /* starts what is due */
	uv_timer_t timer;    /* the same, after a pause */
	uv_timer_t patience; /* of fw_alerting_sender_flush() */
	unsigned users;      /* handles that are open; once it is freed, also a posted task */
	bool is_late;        /* `patience` has ended */
	char *secret;

	uv_mutex_t lock; /* protects what follows, except the atomic counters */
	bool is_posted;
	bool is_freed;
	unsigned long numbers;
	struct channel webhook;
	struct channel alertmanager;
	struct fw_alerting_sender_stats stats;
};

/* ---- lifecycle ------------------------------------------------------------------------ */

static fw_error *open_channel(struct channel *channel, const char *url, const char *option,
			      const char *path)
{
	size_t size, len;

	if (!url)
		return NULL;
	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return fw_raise_input_invalid_value(option, "an http:// or https:// URL");
	len = strlen(url);
	while (*path && len && url[len - 1] == '/')
		len--;
	size = len + strlen(path) + 1;
	channel->url = fw__allocate(size);
	if (!channel->url)
		return fw_raise_internal_out_of_memory();
	(void)snprintf(channel->url, size, "%.*s%s", (int)len, url, path);
	return NULL;
}

static fw_error *open_channels(struct fw_alerting_sender *sender,
			       const struct fw_alerting_sender_options *options)
{
	if (options->webhook_secret) {
		sender->secret = fw_strdup(options->webhook_secret);
		if (!sender->secret)
			return fw_raise_internal_out_of_memory();
	}
	sender->webhook.sender = sender->alertmanager.sender = sender;
	FW_TRY(open_channel(&sender->webhook, options->webhook_url, "--alert-webhook", ""));
	return open_channel(&sender->alertmanager, options->alertmanager_url, "--alertmanager",
			    "/api/v2/alerts");
}

static void drop_first(struct channel *channel)
{
	struct letter *letter = channel->first;

	channel->first = letter->next;
	if (!channel->first)
		channel->last = NULL;
	channel->count--;
	channel->attempts = 0;
	fw__release(letter->body);
	fw__release(letter);
}

static void drop_second(struct channel *channel)
{
	struct letter *second = channel->first ? channel->first->next : NULL;

	if (!second)
		return;
	channel->first->next = second->next;
	if (!second->next)
		channel->last = channel->first;
	channel->count--;
	fw__release(second->body);
	fw__release(second);
}

static void close_channel(struct channel *channel)
{
	while (channel->first)
		drop_first(channel);
	fw__release(channel->url);
}

static void destroy(struct fw_alerting_sender *sender)
{
	close_channel(&sender->webhook);
	close_channel(&sender->alertmanager);
	uv_mutex_destroy(&sender->lock);
	if (sender->secret)
		explicit_bzero(sender->secret, strlen(sender->secret));
	fw__release(sender->secret);
	fw__release(sender);
}

/* The last of its handles and its task frees it. */
static void let_go(struct fw_alerting_sender *sender)
{
	if (!--sender->users)
		destroy(sender);
}

static void run_task(struct fw_task *task, bool is_over);

static void open_handles(struct fw_alerting_sender *sender)
{
	(void)uv_timer_init(&sender->loop->uv, &sender->timer);
	(void)uv_timer_init(&sender->loop->uv, &sender->patience);
	sender->timer.data = sender->patience.data = sender;
	sender->users = 2;
	sender->task.run = run_task;
}

fw_error *fw_alerting_sender_new(const struct fw_alerting_sender_options *options,
				 struct fw_alerting_sender **ret_sender)
{
	struct fw_alerting_sender *sender;
	fw_error *err;

	/* Before libcurl, which depends on libcrypto: in the other order the dynamic
	 * loader leaks a few bytes. */
	if (!fw_digest_load() && options->webhook_secret)
		return fw_raise_internal_unsupported("signing without libcrypto");
	sender = fw__allocate(sizeof *sender);
	if (!sender)
		return fw_raise_internal_out_of_memory();
	memset(sender, 0, sizeof *sender);
	sender->loop = options->loop;
	(void)uv_mutex_init(&sender->lock);
	err = open_channels(sender, options);
	if (!err)
		err = fw_fetcher_new(options->loop, &sender->fetcher);
	if (err) {
		destroy(sender);
		return err;
	}
	open_handles(sender);
	*ret_sender = sender;
	return NULL;
}

static void handle_closed(uv_handle_t *handle)
{
	let_go(handle->data);
}

void fw_alerting_sender_free(struct fw_alerting_sender *sender)
{
	if (!sender)
		return;
	fw_fetcher_free(sender->fetcher);
	uv_mutex_lock(&sender->lock);
	sender->is_freed = true;
	if (sender->is_posted)
		sender->users++;
	uv_mutex_unlock(&sender->lock);
	uv_close((uv_handle_t *)&sender->timer, handle_closed);
	uv_close((uv_handle_t *)&sender->patience, handle_closed);
}

const struct fw_alerting_sender_stats *fw_alerting_sender_stats(
	const struct fw_alerting_sender *sender)
{
	return &sender->stats;
}

/* ---- queues ------------------------------------------------------------------------ */

/* Consumes `body`. False: no memory, or no such channel. */
static bool put(struct fw_alerting_sender *sender, struct channel *channel, char *body,
		size_t len)
{
	struct letter *letter = body && channel->url ? fw__allocate(sizeof *letter) : NULL;

	if (!letter) {
		fw__release(body);
		return false;
	}
	*letter = (struct letter){ .len = len, .body = body, .number = ++sender->numbers };
	if (channel->last)
		channel->last->next = letter;
	else
		channel->first = letter;
	channel->last = letter;
	channel->count++;
	return true;
}

/* Under the lock. */
static void post(struct fw_alerting_sender *sender)
{
	if (!sender->is_posted)
		sender->is_posted = fw_loop_post(sender->loop, &sender->task);
}

void fw_alerting_sender_queue_webhook(struct fw_alerting_sender *sender, char *body, size_t len)
{
	struct channel *channel = &sender->webhook;

	if (!channel->url) {
		fw__release(body);
		return;
	}
	uv_mutex_lock(&sender->lock);
	if (!put(sender, channel, body, len))
		atomic_fetch_add(&sender->stats.lost, 1);
	/* Drop the oldest one that is not being sent. */
	if (channel->count > FW_LIMIT_ALERT_QUEUE) {
		if (channel->is_sending)
			drop_second(channel);
		else
			drop_first(channel);
		atomic_fetch_add(&sender->stats.lost, 1);
	}
	atomic_store(&sender->stats.waiting, channel->count);
	post(sender);
	uv_mutex_unlock(&sender->lock);
}

void fw_alerting_sender_queue_alertmanager(struct fw_alerting_sender *sender, char *body,
					   size_t len)
{
	struct channel *channel = &sender->alertmanager;
	unsigned attempts;

	uv_mutex_lock(&sender->lock);
	attempts = channel->attempts;
	/* Keep only the newest, and the one that is being sent. */
	while (channel->first && !channel->is_sending)
		drop_first(channel);
	while (channel->count > 1)
		drop_second(channel);
	/* A new state does not reset the delay after failures. */
	channel->attempts = attempts;
	(void)put(sender, channel, body, len);
	post(sender);
	uv_mutex_unlock(&sender->lock);
}

/* ---- sending -------------------------------------------------------------------------- */

bool fw_alerting_sender_sign(const char *secret, int64_t unix_s, const char *body, size_t len,
			     char ret_hex[FW_SHA256_TEXT])
{
	unsigned char mac[FW_SHA256_BYTES];
	size_t size = len + 40;
	char *text = fw__allocate(size);
	bool is_made;
	int head;

	if (!text)
		return false;
	head = snprintf(text, size, "%lld.", (long long)unix_s);
	memcpy(text + head, body, len);
	is_made = fw_hmac_sha256(secret, strlen(secret), text, (size_t)head + len, mac);
	fw__release(text);
	if (is_made)
		fw_hex(mac, sizeof mac, ret_hex);
	return is_made;
}

/* The lines of a request. */
struct lines {
	char delivery[64];
	char timestamp[64];
	char signature[64 + FW_SHA256_TEXT];
	const char *all[5];
};

static void sign_webhook(const struct fw_alerting_sender *sender, const struct letter *letter,
			 struct lines *lines)
{
	int64_t unix_s = fw_unix_ms() / 1000;
	char hex[FW_SHA256_TEXT];

	(void)snprintf(lines->delivery, sizeof lines->delivery, "Faultwire-Delivery: %lu",
		       letter->number);
	(void)snprintf(lines->timestamp, sizeof lines->timestamp, "Faultwire-Timestamp: %lld",
		       (long long)unix_s);
	lines->all[1] = lines->delivery;
	lines->all[2] = lines->timestamp;
	if (!sender->secret)
		return;
	/* Without a valid signature it is refused, and tried again. */
	if (!fw_alerting_sender_sign(sender->secret, unix_s, letter->body, letter->len, hex))
		hex[0] = '\0';
	(void)snprintf(lines->signature, sizeof lines->signature,
		       "Faultwire-Signature: sha256=%s", hex);
	lines->all[3] = lines->signature;
}

/* The body of the response is ignored; the status counts. */
static bool ignore_body(void *ctx, const char *bytes, size_t len)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	return true;
}

static void on_end(void *ctx, struct fw_fetch *fetch, fw_error *err);

static void start(struct fw_alerting_sender *sender, struct channel *channel, int64_t now_ms)
{
	const struct letter *letter = channel->first;
	struct lines lines = { .all = { "Content-Type: application/json" } };
	const struct fw_fetch_options options = {
		.method = "POST",
		.url = channel->url,
		.headers = lines.all,
		.body = letter->body,
		.len = letter->len,
		.connect_ms = CONNECT_MS,
		.total_ms = FW_LIMIT_ALERT_SEND_MS,
		.on = { .body = ignore_body, .end = on_end },
		.ctx = channel,
	};
	struct fw_fetch *fetch = NULL;
	fw_error *err;

	if (channel == &sender->webhook)
		sign_webhook(sender, letter, &lines);
	channel->attempts++;
	err = fw_fetch_start(sender->fetcher, &options, &fetch);
	channel->is_sending = !err;
	if (err)
		channel->due_ms = now_ms + LONGEST_PAUSE_MS;
	fw_error_free(err);
}

static int64_t pause_after(unsigned attempts)
{
	int64_t pause = FIRST_PAUSE_MS;

	while (--attempts && pause < LONGEST_PAUSE_MS)
		pause *= 2;
	return pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
}

/* Is another attempt useful? */
static bool may_retry(const fw_error *err, int status)
{
	return err || status >= 500 || status == 408 || status == 429;
}

static void delivered(struct fw_alerting_sender *sender, struct channel *channel,
		      int64_t now_ms)
{
	atomic_fetch_add(channel == &sender->webhook ? &sender->stats.delivered
						     : &sender->stats.posted,
			 1);
	drop_first(channel);
	channel->due_ms = now_ms;
}

static void failed(struct fw_alerting_sender *sender, struct channel *channel, int64_t now_ms,
		   int64_t wanted_ms, bool is_final)
{
	atomic_fetch_add(&sender->stats.failed, 1);
	channel->due_ms = now_ms + pause_after(channel->attempts);
	if (wanted_ms < LONGEST_PAUSE_MS && now_ms + wanted_ms > channel->due_ms)
		channel->due_ms = now_ms + wanted_ms;
	if (!is_final && channel->attempts < FW_LIMIT_ALERT_ATTEMPTS)
		return;
	if (channel == &sender->webhook)
		atomic_fetch_add(&sender->stats.lost, 1);
	drop_first(channel);
}

/* ---- on the loop ------------------------------------------------------------------- */

static void start_if_due(struct fw_alerting_sender *sender, struct channel *channel,
			 int64_t now_ms)
{
	if (channel->first && !channel->is_sending && now_ms >= channel->due_ms)
		start(sender, channel, now_ms);
}

static int64_t until_due(const struct channel *channel, int64_t now_ms, int64_t most_ms)
{
	if (!channel->first || channel->is_sending)
		return most_ms;
	return channel->due_ms - now_ms < most_ms ? channel->due_ms - now_ms : most_ms;
}

static void on_timer(uv_timer_t *timer);

/* Starts what is due, and sets the timer for the rest. Under the lock. */
static void step(struct fw_alerting_sender *sender)
{
	int64_t now_ms = fw_steady_ms();
	int64_t pause;

	start_if_due(sender, &sender->webhook, now_ms);
	start_if_due(sender, &sender->alertmanager, now_ms);
	atomic_store(&sender->stats.waiting, sender->webhook.count);
	pause = until_due(&sender->webhook, now_ms, INT64_MAX);
	pause = until_due(&sender->alertmanager, now_ms, pause);
	if (pause == INT64_MAX)
		(void)uv_timer_stop(&sender->timer);
	else
		(void)uv_timer_start(&sender->timer, on_timer, pause > 0 ? (uint64_t)pause : 0,
				     0);
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_alerting_sender *sender = timer->data;

	uv_mutex_lock(&sender->lock);
	step(sender);
	uv_mutex_unlock(&sender->lock);
}

static void run_task(struct fw_task *task, bool is_over)
{
	struct fw_alerting_sender *sender =
		(struct fw_alerting_sender *)((char *)task -
					      offsetof(struct fw_alerting_sender, task));

	bool is_freed;

	uv_mutex_lock(&sender->lock);
	sender->is_posted = false;
	is_freed = sender->is_freed;
	if (!is_over && !is_freed)
		step(sender);
	uv_mutex_unlock(&sender->lock);
	if (is_freed)
		let_go(sender);
}

/* The first failure in a row, and the first success after it: otherwise nobody would learn
 * that alerts reach nobody. */
static void log_change(const struct channel *channel, const fw_error *err, int status)
{
	bool is_webhook = channel == &channel->sender->webhook;
	char reason[128];
	fw_field fields[2] = { fw_log_text("to", is_webhook ? "webhook" : "alertmanager") };

	if (!channel->is_failing) {
		fw_log_event(FW_LOG_NOTICE, "faultwire", "alert_delivery_restored", fields, 1);
		return;
	}
	(void)snprintf(reason, sizeof reason, "it answers with HTTP status %d%s", status,
		       status >= 300 && status < 400 ? "; redirects are not followed" : "");
	fields[1] = fw_log_text("reason", err ? fw_error_message(err) : reason);
	fw_log_event(FW_LOG_ERROR, "faultwire", "alert_delivery_failed", fields, 2);
}

static void on_end(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	struct channel *channel = ctx;
	struct fw_alerting_sender *sender = channel->sender;
	int64_t now_ms = fw_steady_ms();
	int status = fw_fetch_status(fetch);
	bool is_delivered = !err && status >= 200 && status < 300;

	/* Only this thread uses it. */
	if (channel->is_failing == is_delivered) {
		channel->is_failing = !is_delivered;
		log_change(channel, err, status);
	}
	uv_mutex_lock(&sender->lock);
	channel->is_sending = false;
	if (is_delivered)
		delivered(sender, channel, now_ms);
	else
		failed(sender, channel, now_ms, 1000 * (int64_t)fw_fetch_retry_after_s(fetch),
		       !may_retry(err, status));
	step(sender);
	uv_mutex_unlock(&sender->lock);
	fw_error_free(err);
}

static void on_patience(uv_timer_t *timer)
{
	struct fw_alerting_sender *sender = timer->data;

	sender->is_late = true;
	/* Otherwise uv_run() goes on to wait for other events. */
	uv_stop(timer->loop);
}

static bool is_idle(struct fw_alerting_sender *sender)
{
	bool is_idle;

	uv_mutex_lock(&sender->lock);
	is_idle = !sender->webhook.first && !sender->alertmanager.first;
	uv_mutex_unlock(&sender->lock);
	return is_idle;
}

void fw_alerting_sender_flush(struct fw_alerting_sender *sender, uint32_t most_ms)
{
	/* The loop's clock may be as old as its last turn. */
	uv_update_time(&sender->loop->uv);
	(void)uv_timer_start(&sender->patience, on_patience, most_ms, 0);
	while (!sender->is_late && !is_idle(sender))
		(void)uv_run(&sender->loop->uv, UV_RUN_ONCE);
	(void)uv_timer_stop(&sender->patience);
}
