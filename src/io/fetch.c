/*
 * fetch.c - see fetch.h.
 *
 * libcurl's multi_socket interface: libcurl reports the sockets and the timeout
 * that it waits for; one uv_poll_t per socket and one uv_timer_t call it back.
 * Everything runs on the thread of the loop.
 *
 * libcurl must not be called again from within one of its callbacks, so a
 * request that is cancelled there is only marked; it is removed when libcurl
 * has returned.
 */
#include "io/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"
#include "io/fetch_impl.h"

struct fw_fetch {
	struct fw_fetch *next;
	struct fw_fetch *previous;
	struct fw_fetcher *fetcher;
	CURL *easy;
	struct curl_slist *headers;
	char *url;
	char *body;
	struct fw_fetch_callbacks on;
	void *ctx;
	bool has_head;              /* `head` was called */
	bool is_cancelled;          /* to be removed; no callback is called any more */
	bool is_refused;            /* `body` returned false */
	bool is_begun;              /* a connection was about to be given the request */
	bool is_repeated;           /* libcurl wanted to send it again */
	bool is_followed;           /* `end` has set another URL */
	bool is_unwatched;          /* its socket cannot be polled: it must fail */
	char text[CURL_ERROR_SIZE]; /* what libcurl writes about a failure */
	bool is_waiting; /* started in a callback of libcurl, which takes it afterwards */
};

/* A socket of libcurl that the loop polls. */
struct watch {
	uv_poll_t poll; /* first: libuv hands it back */
	struct fw_fetcher *fetcher;
	curl_socket_t socket;
};

struct fw_fetcher {
	struct fw_loop *loop;
	CURLM *multi;
	uv_timer_t timer;
	struct fw_fetch *fetches;
	unsigned depth; /* nested calls of libcurl */
};

/* ---- the end of a request --------------------------------------------------- */

static void fetch_free(struct fw_fetch *fetch)
{
	struct fw_fetcher *fetcher = fetch->fetcher;

	if (fetch->previous)
		fetch->previous->next = fetch->next;
	else if (fetcher->fetches == fetch)
		fetcher->fetches = fetch->next;
	if (fetch->next)
		fetch->next->previous = fetch->previous;
	if (fetch->easy)
		curl_easy_cleanup(fetch->easy);
	curl_slist_free_all(fetch->headers);
	fw__release(fetch->url);
	fw__release(fetch->body);
	fw__release(fetch);
}

static fw_delivery delivery_of(const struct fw_fetch *fetch)
{
	long bytes = 0;

	if (fw_fetch_status(fetch))
		return FW_REPLIED;
	(void)curl_easy_getinfo(fetch->easy, CURLINFO_REQUEST_SIZE, &bytes);
	return bytes > 0 ? FW_SENT : FW_NOT_SENT;
}

/* libcurl has one code for every reason why a connection could not be made. */
static bool is_unreachable(const struct fw_fetch *fetch)
{
	long number = 0;

	(void)curl_easy_getinfo(fetch->easy, CURLINFO_OS_ERRNO, &number);
	return number == ENETUNREACH || number == EHOSTUNREACH;
}

/* Scheme, host and port: the rest of a URL may be a secret. */
static void put_place(const char *url, char *ret_place, size_t size)
{
	const char *host = strstr(url, "://");
	size_t len = host ? strcspn(host + 3, "/?#") : 0;
	const char *user = host ? memrchr(host + 3, '@', len) : NULL;

	if (!host)
		(void)snprintf(ret_place, size, "server");
	else
		(void)snprintf(ret_place, size, "%.*s%.*s", (int)(host + 3 - url), url,
			       (int)(host + 3 + len - (user ? user + 1 : host + 3)),
			       user ? user + 1 : host + 3);
}

static fw_error *raise_not_http(const char *place)
{
	fw_error *err = fw_raise_transport_protocol_violation(place, "its answer is not HTTP");

	fw_error_add_string(err, FW_FETCH_ENDPOINT, "not HTTP");
	return err;
}

static fw_error *error_of(const struct fw_fetch *fetch, CURLcode result)
{
	char place[512];
	fw_error *err;
	fw_error *tls;

	if (result == CURLE_OK)
		return NULL;
	put_place(fetch->url, place, sizeof place);
	if (fetch->is_refused)
		err = fw_raise_runtime_cancelled();
	else if (fetch->is_repeated)
		err = fw_error_from_curl(FW_HERE, CURLE_GOT_NOTHING, place);
	else if (result == CURLE_COULDNT_CONNECT && is_unreachable(fetch))
		err = fw_raise_transport_unreachable(place);
	else if (result == CURLE_UNSUPPORTED_PROTOCOL && fetch->is_begun)
		err = raise_not_http(place);
	else if ((tls = fw_fetch__raise_tls(fetch->easy, result, fetch->text, place)))
		err = tls;
	else
		err = fw_error_from_curl(FW_HERE, (int)result, place);
	fw_fetch__add_hint(err, result, fetch->text, place);
	fw_error_set_delivery(err, fetch->is_repeated ? FW_SENT : delivery_of(fetch));
	return err;
}

/* Once: before the first byte of the body, or at the end of a response without one. */
static void show_head(struct fw_fetch *fetch)
{
	if (fetch->has_head)
		return;
	fetch->has_head = true;
	if (fetch->on.head)
		fetch->on.head(fetch->ctx, fetch);
}

static void finish(struct fw_fetch *fetch, CURLcode result)
{
	struct fw_fetcher *fetcher = fetch->fetcher;

	(void)curl_multi_remove_handle(fetcher->multi, fetch->easy);
	fetcher->depth++;
	if (result == CURLE_OK && !fetch->is_cancelled)
		show_head(fetch);
	if (!fetch->is_cancelled)
		fetch->on.end(fetch->ctx, fetch, error_of(fetch, result));
	fetcher->depth--;
	if (fetch->is_followed && !fetch->is_cancelled) {
		fetch->is_followed = false;
		fetch->has_head = false;
		fetch->is_begun = false;
		fetch->is_waiting = true;
		(void)curl_easy_setopt(fetch->easy, CURLOPT_URL, fetch->url);
		return;
	}
	fetch_free(fetch);
}

static void drop(struct fw_fetch *fetch)
{
	(void)curl_multi_remove_handle(fetch->fetcher->multi, fetch->easy);
	fetch_free(fetch);
}

static void drop_cancelled(struct fw_fetcher *fetcher)
{
	struct fw_fetch *next;

	for (struct fw_fetch *fetch = fetcher->fetches; fetch; fetch = next) {
		next = fetch->next;
		if (fetch->is_cancelled)
			drop(fetch);
	}
}

static struct fw_fetch *find_unwatched(const struct fw_fetcher *fetcher)
{
	struct fw_fetch *fetch = fetcher->fetches;

	while (fetch && !fetch->is_unwatched)
		fetch = fetch->next;
	return fetch;
}

/* Ends the requests that libcurl has finished, and removes the cancelled ones. */
static void collect(struct fw_fetcher *fetcher)
{
	struct fw_fetch *fetch;
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(fetcher->multi, &left))) {
		CURLcode result = message->data.result;
		char *of = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of);
		finish((struct fw_fetch *)(void *)of, result);
	}
	/* Callbacks may end other requests, so each search starts from the beginning. */
	while ((fetch = find_unwatched(fetcher))) {
		fetch->is_unwatched = false;
		finish(fetch, CURLE_OUT_OF_MEMORY);
	}
	drop_cancelled(fetcher);
}

/* libcurl refuses new requests while it calls back; the oldest is at the end of the list. */
static void add_waiting(struct fw_fetcher *fetcher)
{
	struct fw_fetch *fetch = fetcher->fetches;

	while (fetch && fetch->next)
		fetch = fetch->next;
	while (fetch) {
		struct fw_fetch *next = fetch->previous;

		if (fetch->is_waiting) {
			fetch->is_waiting = false;
			if (curl_multi_add_handle(fetcher->multi, fetch->easy) != CURLM_OK)
				finish(fetch, CURLE_OUT_OF_MEMORY);
		}
		fetch = next;
	}
}

void fw_fetch_cancel(struct fw_fetch *fetch)
{
	if (!fetch)
		return;
	fetch->is_cancelled = true;
	if (!fetch->fetcher->depth)
		drop(fetch);
}

/* ---- libcurl and the loop --------------------------------------------------- */

static void drive(struct fw_fetcher *fetcher, curl_socket_t socket, int events)
{
	int running;

	fetcher->depth++;
	(void)curl_multi_socket_action(fetcher->multi, socket, events, &running);
	fetcher->depth--;
	collect(fetcher);
	add_waiting(fetcher);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = (struct watch *)poll;
	int flags = 0;

	/* Not CURL_CSELECT_ERR: libcurl would always report that it could not send. If it
	 * reads or writes, the error of the socket says what happened. */
	if (status < 0)
		flags = CURL_CSELECT_IN | CURL_CSELECT_OUT;
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	drive(watch->fetcher, watch->socket, flags);
}

static void on_timer(uv_timer_t *timer)
{
	drive(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int set_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct fw_fetcher *fetcher = ctx;

	(void)multi;
	if (timeout_ms < 0)
		(void)uv_timer_stop(&fetcher->timer);
	else
		(void)uv_timer_start(&fetcher->timer, on_timer, (uint64_t)timeout_ms, 0);
	return 0;
}

static void watch_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

static struct watch *watch_new(struct fw_fetcher *fetcher, curl_socket_t socket)
{
	struct watch *watch = fw__allocate(sizeof *watch);

	if (!watch)
		return NULL;
	watch->fetcher = fetcher;
	watch->socket = socket;
	if (uv_poll_init_socket(&fetcher->loop->uv, &watch->poll, socket) != 0) {
		fw__release(watch);
		return NULL;
	}
	(void)curl_multi_assign(fetcher->multi, socket, watch);
	return watch;
}

/* Without memory its socket cannot be watched, and it would wait forever. Not by a return value
 * of the callback: libcurl gives up all requests for that, without reporting their ends. */
static void fail_later(struct fw_fetcher *fetcher, const CURL *easy)
{
	for (struct fw_fetch *fetch = fetcher->fetches; fetch; fetch = fetch->next)
		if (fetch->easy == easy)
			fetch->is_unwatched = true;
	(void)uv_timer_start(&fetcher->timer, on_timer, 0, 0);
}

static int set_socket(CURL *easy, curl_socket_t socket, int what, void *ctx, void *of_socket)
{
	struct fw_fetcher *fetcher = ctx;
	struct watch *watch = of_socket;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (watch)
			uv_close((uv_handle_t *)&watch->poll, watch_closed);
		(void)curl_multi_assign(fetcher->multi, socket, NULL);
		return 0;
	}
	if (!watch)
		watch = watch_new(fetcher, socket);
	if (!watch) {
		fail_later(fetcher, easy);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	(void)uv_poll_start(&watch->poll, events, on_socket);
	return 0;
}

/* ---- a fetcher -------------------------------------------------------------- */

fw_error *fw_fetcher_new(struct fw_loop *loop, struct fw_fetcher **ret_fetcher)
{
	struct fw_fetcher *fetcher;

	FW_TRY(fw_curl_load());
	fetcher = fw__allocate(sizeof *fetcher);
	if (!fetcher)
		return fw_raise_internal_out_of_memory();
	memset(fetcher, 0, sizeof *fetcher);
	fetcher->loop = loop;
	fetcher->multi = curl_multi_init();
	if (!fetcher->multi) {
		fw__release(fetcher);
		return fw_raise_internal_out_of_memory();
	}
	(void)uv_timer_init(&loop->uv, &fetcher->timer);
	fetcher->timer.data = fetcher;
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_SOCKETDATA, fetcher);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	(void)curl_multi_setopt(fetcher->multi, CURLMOPT_TIMERDATA, fetcher);
	*ret_fetcher = fetcher;
	return NULL;
}

static void timer_closed(uv_handle_t *handle)
{
	fw__release(handle->data);
}

bool fw_fetcher_is_busy(const struct fw_fetcher *fetcher)
{
	return fetcher->fetches != NULL;
}

void fw_fetcher_free(struct fw_fetcher *fetcher)
{
	if (!fetcher)
		return;
	assert(!fetcher->depth);
	while (fetcher->fetches)
		drop(fetcher->fetches);
	(void)curl_multi_cleanup(fetcher->multi);
	fetcher->multi = NULL;
	uv_close((uv_handle_t *)&fetcher->timer, timer_closed);
}

/* ---- a request -------------------------------------------------------------- */

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
	struct fw_fetch *fetch = ctx;

	if (!fetch->is_cancelled)
		show_head(fetch);
	if (!fetch->is_cancelled && !fetch->on.body(fetch->ctx, bytes, size * count))
		fetch->is_refused = true;
	return fetch->is_cancelled || fetch->is_refused ? 0 : size * count;
}

static bool add_header(struct fw_fetch *fetch, const char *line)
{
	struct curl_slist *more = curl_slist_append(fetch->headers, line);

	if (more)
		fetch->headers = more;
	return more != NULL;
}

static bool add_headers(struct fw_fetch *fetch, const char *const *headers)
{
	/* Do not wait for "100 Continue" before sending a small body. */
	if (!add_header(fetch, "Expect:"))
		return false;
	for (; headers && *headers; headers++)
		if (!add_header(fetch, *headers))
			return false;
	return true;
}

/* "Name: value", or "Name;" for an empty value, as libcurl wants it. */
static bool is_header_line(const char *line)
{
	size_t len = strlen(line);

	return (strchr(line, ':') || (len > 1 && line[len - 1] == ';')) &&
	       !strpbrk(line, "\r\n");
}

static fw_error *check_options(const struct fw_fetch_options *options)
{
	static const char START[] = "fw_fetch_start";

	if (!options->method || !options->url || !options->on.body || !options->on.end)
		return fw_raise_internal_api_misuse(
			START, "method, url, body and end callbacks are required");
	for (const char *const *line = options->headers; line && *line; line++)
		if (!is_header_line(*line))
			return fw_raise_internal_api_misuse(
				START, "a header is one line \"Name: value\"");
	return NULL;
}

/* False: no memory. */
static bool copy_texts(struct fw_fetch *fetch, const struct fw_fetch_options *options)
{
	fetch->url = fw_strdup(options->url);
	fetch->body = options->len ? fw__allocate(options->len) : NULL;
	if (!fetch->url || (options->len && !fetch->body))
		return false;
	if (options->len)
		memcpy(fetch->body, options->body, options->len);
	return add_headers(fetch, options->headers);
}

static void set_method(struct fw_fetch *fetch, const struct fw_fetch_options *options)
{
	CURL *easy = fetch->easy;

	if (options->body) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				       fetch->body ? fetch->body : "");
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)options->len);
	}
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, options->method);
}

/* If a connection that was kept alive ends without an answer, libcurl sends the request again
 * on another, up to five times. The first may have been carried out, so that is
 * prevented: the caller learns that it was sent, and decides. */
static int before_sending(void *ctx, char *remote_ip, char *local_ip, int remote_port,
			  int local_port)
{
	struct fw_fetch *fetch = ctx;

	(void)remote_ip;
	(void)local_ip;
	(void)remote_port;
	(void)local_port;
	fetch->is_repeated = fetch->is_begun;
	fetch->is_begun = true;
	return fetch->is_repeated ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_options(struct fw_fetch *fetch, const struct fw_fetch_options *options)
{
	CURL *easy = fetch->easy;
	uint32_t connect_ms =
		options->connect_ms ? options->connect_ms : FW_LIMIT_FETCH_CONNECT_MS;

	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	(void)curl_easy_setopt(easy, CURLOPT_URL, fetch->url);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->text);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->headers);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "faultwire/" FW_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
	(void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, fetch);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)options->total_ms);
	if (options->idle_ms) {
		/* libcurl counts whole seconds. */
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
				       (long)(options->idle_ms + 999) / 1000);
	}
	fw_fetch__set_trust(easy);
	fw_fetch__set_proxy(easy, fetch->url);
	set_method(fetch, options);
}

static void enlist(struct fw_fetch *fetch)
{
	struct fw_fetcher *fetcher = fetch->fetcher;

	fetch->next = fetcher->fetches;
	if (fetch->next)
		fetch->next->previous = fetch;
	fetcher->fetches = fetch;
}

fw_error *fw_fetch_start(struct fw_fetcher *fetcher, const struct fw_fetch_options *options,
			 struct fw_fetch **ret_fetch)
{
	struct fw_fetch *fetch;

	FW_TRY(check_options(options));
	fetch = fw__allocate(sizeof *fetch);
	if (!fetch)
		return fw_raise_internal_out_of_memory();
	memset(fetch, 0, sizeof *fetch);
	fetch->fetcher = fetcher;
	fetch->on = options->on;
	fetch->ctx = options->ctx;
	enlist(fetch);
	fetch->easy = curl_easy_init();
	if (!fetch->easy || !copy_texts(fetch, options)) {
		fetch_free(fetch);
		return fw_raise_internal_out_of_memory();
	}
	set_options(fetch, options);
	fetch->is_waiting = fetcher->depth > 0;
	if (!fetch->is_waiting &&
	    curl_multi_add_handle(fetcher->multi, fetch->easy) != CURLM_OK) {
		fetch_free(fetch);
		return fw_raise_internal_out_of_memory();
	}
	*ret_fetch = fetch;
	return NULL;
}

int fw_fetch_status(const struct fw_fetch *fetch)
{
	long status = 0;

	(void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

const char *fw_fetch_header(const struct fw_fetch *fetch, const char *name)
{
	struct curl_header *header = NULL;

	/* The headers of the last response of this handle. */
	if (curl_easy_header(fetch->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	if (header->amount > 1 && curl_easy_header(fetch->easy, name, header->amount - 1,
						   CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}

const char *fw_fetch_location(const struct fw_fetch *fetch)
{
	char *url = NULL;

	(void)curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &url);
	return url;
}

bool fw_fetch_follow(struct fw_fetch *fetch, const char *url)
{
	char *copy = fw_strdup(url);

	if (!copy)
		return false;
	fw__release(fetch->url);
	fetch->url = copy;
	fetch->is_followed = true;
	return true;
}

uint32_t fw_fetch_retry_after_s(const struct fw_fetch *fetch)
{
	curl_off_t wanted = 0;

	(void)curl_easy_getinfo(fetch->easy, CURLINFO_RETRY_AFTER, &wanted);
	if (wanted < 0)
		return 0;
	return wanted < UINT32_MAX ? (uint32_t)wanted : UINT32_MAX;
}
