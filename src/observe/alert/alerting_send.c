/*
 * alerting_send.c - see alerting_send.h.
 *
 * libcurl's multi interface runs at most one request to each of the two at a time, so
 * a webhook that hangs does not delay the Alertmanager. Redirects are not followed
 * and only HTTP and HTTPS are allowed: the peer must not send us elsewhere.
 */
#include "observe/alert/alerting_send.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <faultwire/raise.h>

#include "base/digest.h"
#include "base/limits.h"
#include "base/mem.h"
#include "core/curl.h"

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 60 * 1000, CONNECT_MS = 5000 };

struct letter {
	struct letter *next;
	size_t len;
	char *body;
	unsigned long number;
};

struct channel {
	char *url;
	CURL *easy;
	struct curl_slist *headers;
	bool is_sending;
	unsigned attempts; /* to send the first letter */
	int64_t due_ms;
	struct letter *first;
	struct letter *last;
	size_t count;
};

struct fw_alerting_sender {
	CURLM *multi;
	char *secret;
	unsigned long numbers;
	struct channel webhook;
	struct channel alertmanager;
	struct fw_alerting_sender_stats stats;
};

/* ---- lifecycle ------------------------------------------------------------------------ */

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = fw__allocate(size);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

/* The body of the response is ignored; the status counts. */
static size_t ignore_body(char *data, size_t size, size_t count, void *ctx)
{
	(void)data;
	(void)ctx;
	return size * count;
}

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
	channel->easy = curl_easy_init();
	if (!channel->url || !channel->easy)
		return fw_raise_internal_out_of_memory();
	(void)snprintf(channel->url, size, "%.*s%s", (int)len, url, path);
	(void)curl_easy_setopt(channel->easy, CURLOPT_URL, channel->url);
	(void)curl_easy_setopt(channel->easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(channel->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(channel->easy, CURLOPT_TIMEOUT_MS, (long)FW_LIMIT_ALERT_SEND_MS);
	(void)curl_easy_setopt(channel->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	(void)curl_easy_setopt(channel->easy, CURLOPT_WRITEFUNCTION, ignore_body);
	(void)curl_easy_setopt(channel->easy, CURLOPT_USERAGENT, "faultwire/" FW_VERSION);
	return NULL;
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
	FW_TRY(fw_curl_load());
	sender = fw__allocate(sizeof *sender);
	if (!sender)
		return fw_raise_internal_out_of_memory();
	memset(sender, 0, sizeof *sender);
	sender->multi = curl_multi_init();
	if (options->webhook_secret)
		sender->secret = copy_text(options->webhook_secret);
	if (!sender->multi || (options->webhook_secret && !sender->secret))
		err = fw_raise_internal_out_of_memory();
	else
		err = open_channel(&sender->webhook, options->webhook_url, "--alert-webhook",
				   "");
	if (!err)
		err = open_channel(&sender->alertmanager, options->alertmanager_url,
				   "--alertmanager", "/api/v2/alerts");
	if (err) {
		fw_alerting_sender_free(sender);
		return err;
	}
	*ret_sender = sender;
	return NULL;
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

static void close_channel(struct fw_alerting_sender *sender, struct channel *channel)
{
	if (channel->is_sending)
		(void)curl_multi_remove_handle(sender->multi, channel->easy);
	if (channel->easy)
		curl_easy_cleanup(channel->easy);
	curl_slist_free_all(channel->headers);
	while (channel->first)
		drop_first(channel);
	fw__release(channel->url);
}

void fw_alerting_sender_free(struct fw_alerting_sender *sender)
{
	if (!sender)
		return;
	close_channel(sender, &sender->webhook);
	close_channel(sender, &sender->alertmanager);
	if (sender->multi)
		(void)curl_multi_cleanup(sender->multi);
	if (sender->secret)
		explicit_bzero(sender->secret, strlen(sender->secret));
	fw__release(sender->secret);
	fw__release(sender);
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

void fw_alerting_sender_queue_webhook(struct fw_alerting_sender *sender, char *body, size_t len)
{
	struct channel *channel = &sender->webhook;

	if (!channel->url) {
		fw__release(body);
		return;
	}
	if (!put(sender, channel, body, len))
		atomic_fetch_add(&sender->stats.lost, 1);
	/* Drop the oldest one that libcurl is not reading. */
	if (channel->count > FW_LIMIT_ALERT_QUEUE) {
		if (channel->is_sending)
			drop_second(channel);
		else
			drop_first(channel);
		atomic_fetch_add(&sender->stats.lost, 1);
	}
	atomic_store(&sender->stats.waiting, channel->count);
}

void fw_alerting_sender_queue_alertmanager(struct fw_alerting_sender *sender, char *body,
					   size_t len)
{
	struct channel *channel = &sender->alertmanager;
	unsigned attempts = channel->attempts;

	/* Keep only the newest, and the one that libcurl is reading. */
	while (channel->first && !channel->is_sending)
		drop_first(channel);
	while (channel->count > 1)
		drop_second(channel);
	/* A new state does not reset the delay after failures. */
	channel->attempts = attempts;
	(void)put(sender, channel, body, len);
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

static void add_header(struct channel *channel, const char *line)
{
	struct curl_slist *more = curl_slist_append(channel->headers, line);

	if (more)
		channel->headers = more;
}

static void start(struct fw_alerting_sender *sender, struct channel *channel, int64_t now_ms)
{
	const struct letter *letter = channel->first;
	int64_t unix_s = (int64_t)time(NULL);
	char line[160], hex[FW_SHA256_TEXT];

	curl_slist_free_all(channel->headers);
	channel->headers = NULL;
	add_header(channel, "Content-Type: application/json");
	/* Without 100-continue: the body is small. */
	add_header(channel, "Expect:");
	if (channel == &sender->webhook) {
		(void)snprintf(line, sizeof line, "Faultwire-Delivery: %lu", letter->number);
		add_header(channel, line);
		(void)snprintf(line, sizeof line, "Faultwire-Timestamp: %lld",
			       (long long)unix_s);
		add_header(channel, line);
		if (sender->secret) {
			/* Without a valid signature it is refused, and tried again. */
			if (!fw_alerting_sender_sign(sender->secret, unix_s, letter->body,
						     letter->len, hex))
				hex[0] = '\0';
			(void)snprintf(line, sizeof line, "Faultwire-Signature: sha256=%s",
				       hex);
			add_header(channel, line);
		}
	}
	(void)curl_easy_setopt(channel->easy, CURLOPT_HTTPHEADER, channel->headers);
	(void)curl_easy_setopt(channel->easy, CURLOPT_POSTFIELDS, letter->body);
	(void)curl_easy_setopt(channel->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			       (curl_off_t)letter->len);
	channel->attempts++;
	channel->is_sending = curl_multi_add_handle(sender->multi, channel->easy) == CURLM_OK;
	if (!channel->is_sending)
		channel->due_ms = now_ms + LONGEST_PAUSE_MS;
}

static int64_t pause_after(unsigned attempts)
{
	int64_t pause = FIRST_PAUSE_MS;

	while (--attempts && pause < LONGEST_PAUSE_MS)
		pause *= 2;
	return pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
}

/* Is another attempt useful? */
static bool may_retry(CURLcode result, long status)
{
	return result != CURLE_OK || status >= 500 || status == 408 || status == 429;
}

static void ended(struct fw_alerting_sender *sender, struct channel *channel, CURLcode result,
		  int64_t now_ms)
{
	bool is_webhook = channel == &sender->webhook;
	curl_off_t wanted = 0;
	long status = 0;

	channel->is_sending = false;
	(void)curl_easy_getinfo(channel->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(channel->easy, CURLINFO_RETRY_AFTER, &wanted);
	if (result == CURLE_OK && status >= 200 && status < 300) {
		atomic_fetch_add(is_webhook ? &sender->stats.delivered : &sender->stats.posted,
				 1);
		drop_first(channel);
		channel->due_ms = now_ms;
		return;
	}
	atomic_fetch_add(&sender->stats.failed, 1);
	channel->due_ms = now_ms + pause_after(channel->attempts);
	if (wanted > 0 && wanted * 1000 < LONGEST_PAUSE_MS &&
	    now_ms + wanted * 1000 > channel->due_ms)
		channel->due_ms = now_ms + wanted * 1000;
	if (may_retry(result, status) && channel->attempts < FW_LIMIT_ALERT_ATTEMPTS)
		return;
	if (is_webhook)
		atomic_fetch_add(&sender->stats.lost, 1);
	drop_first(channel);
}

static void start_if_due(struct fw_alerting_sender *sender, struct channel *channel,
			 int64_t now_ms)
{
	if (channel->first && !channel->is_sending && now_ms >= channel->due_ms)
		start(sender, channel, now_ms);
}

void fw_alerting_sender_step(struct fw_alerting_sender *sender, int64_t now_ms)
{
	CURLMsg *message;
	int running;

	start_if_due(sender, &sender->webhook, now_ms);
	start_if_due(sender, &sender->alertmanager, now_ms);
	(void)curl_multi_perform(sender->multi, &running);
	while ((message = curl_multi_info_read(sender->multi, &running))) {
		struct channel *channel = message->easy_handle == sender->webhook.easy
						  ? &sender->webhook
						  : &sender->alertmanager;
		CURLcode result = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_multi_remove_handle(sender->multi, channel->easy);
		ended(sender, channel, result, now_ms);
	}
	atomic_store(&sender->stats.waiting, sender->webhook.count);
}

bool fw_alerting_sender_is_idle(const struct fw_alerting_sender *sender)
{
	return !sender->webhook.first && !sender->alertmanager.first;
}

static int64_t until_due(const struct channel *channel, int64_t now_ms, int64_t most_ms)
{
	if (!channel->first || channel->is_sending)
		return most_ms;
	return channel->due_ms - now_ms < most_ms ? channel->due_ms - now_ms : most_ms;
}

void fw_alerting_sender_wait(struct fw_alerting_sender *sender, int64_t now_ms, int64_t most_ms)
{
	int64_t timeout = until_due(&sender->webhook, now_ms, most_ms);

	timeout = until_due(&sender->alertmanager, now_ms, timeout);
	(void)curl_multi_poll(sender->multi, NULL, 0, timeout > 0 ? (int)timeout : 0, NULL);
}

void fw_alerting_sender_wake(struct fw_alerting_sender *sender)
{
	(void)curl_multi_wakeup(sender->multi);
}
