/*
 * fuzz_responses.c - any HTTP responses of a server that we are a client of: statuses, headers,
 * bodies and streams of events, in the handshake and after it. Each request is
 * answered exactly once, whatever comes, and nothing is left.
 *
 * The real remote and the real HTTP link run on a fake fetcher, which takes the place of
 * src/io/fetch.c here. The first byte chooses the era (low two bits; 3 is
 * either one, legacy first) and how many requests are made
 * (next two). Then follows one step for each request of HTTP:
 *
 *   kind (low four bits: how it is answered), headers and split (high bits); status;
 *   length of the raw bytes, and these bytes
 *
 * Without a step left, requests of HTTP end in a reset.
 */
#include "fuzz_remote.h"

#include <faultwire/raise.h>
#include <uv.h>

#include "base/loop.h"
#include "base/mem.h"
#include "io/fetch.h"

enum { STEPS = 64, MESSAGE_BYTES = 2048, TEXT_BYTES = 8192 };

/* How a request of HTTP is answered. "Proper" is what a server by the book would send. */
enum kind {
	PROPER,
	PROPER_EVENT,
	RAW_JSON,
	RAW_EVENTS,
	EVENTS_THEN_PROPER,
	RAW_OTHER,
	STATUS_RAW,
	STATUS_PROPER,
	BROKEN,
	LARGE,
	HELD,
	NUMBERED, /* events with numbers, and an end without a reply: it is resumed */
	ACCEPTED,
	CUT,
	EVENTS_THEN_BROKEN,
	PROPER_ERROR
};

struct fw_fetch {
	struct fw_fetch *next;
	struct fw_fetch_options options; /* callbacks and context only */
	char id[24];
	bool is_hello;
	bool is_get;
	bool is_cancelled;
	bool is_played;
	bool is_held;
	bool is_followed; /* it is sent again, to another URL */
	int status;
	unsigned headers;
	const char *type;
};

static struct fw_fetch *fetches;
static const uint8_t *at;
static const uint8_t *end;
static unsigned accepted;
static unsigned wanted;
static struct fw_remote *remote;

/* ---- the fetcher -------------------------------------------------------------------- */

fw_error *fw_fetcher_new(struct fw_loop *loop, struct fw_fetcher **ret_fetcher)
{
	(void)loop;
	*ret_fetcher = NULL;
	return NULL;
}

void fw_fetcher_free(struct fw_fetcher *fetcher)
{
	(void)fetcher;
}

bool fw_fetcher_is_busy(const struct fw_fetcher *fetcher)
{
	(void)fetcher;
	return fetches != NULL;
}

fw_error *fw_fetch_start(struct fw_fetcher *fetcher, const struct fw_fetch_options *options,
			 struct fw_fetch **ret_fetch)
{
	struct fw_fetch *fetch = calloc(1, sizeof *fetch);
	struct fw_fetch **last = &fetches;
	const char *id = options->body ? strstr(options->body, "\"id\":") : NULL;

	(void)fetcher;
	MUST(fetch);
	for (const char *const *line = options->headers; line && *line; line++)
		MUST(!strpbrk(*line, "\r\n"));
	fetch->options = *options;
	fetch->is_get = strcmp(options->method, "GET") == 0;
	if (id)
		(void)snprintf(fetch->id, sizeof fetch->id, "%.*s",
			       (int)strspn(id + 5, "0123456789"), id + 5);
	fetch->is_hello = options->body && (strstr(options->body, "\"initialize\"") ||
					    strstr(options->body, "\"server/discover\""));
	while (*last)
		last = &(*last)->next;
	*last = fetch;
	*ret_fetch = fetch;
	return NULL;
}

static void remove_fetch(struct fw_fetch *fetch)
{
	struct fw_fetch **link = &fetches;

	while (*link != fetch)
		link = &(*link)->next;
	*link = fetch->next;
	free(fetch);
}

void fw_fetch_cancel(struct fw_fetch *fetch)
{
	if (!fetch)
		return;
	MUST(!fetch->is_cancelled);
	fetch->is_cancelled = true;
	/* One that is being played is removed when its callback returns. */
	if (!fetch->is_played)
		remove_fetch(fetch);
}

int fw_fetch_status(const struct fw_fetch *fetch)
{
	return fetch->status;
}

const char *fw_fetch_header(const struct fw_fetch *fetch, const char *name)
{
	static const char *const types[] = { "text/html", "application/json; charset=utf-8",
					     "text/event-streams", "" };

	if (strcasecmp(name, "Content-Type") == 0)
		return fetch->type ? fetch->type : types[fetch->headers & 3];
	if (strcasecmp(name, "Mcp-Session-Id") == 0)
		return fetch->headers & 1 ? "a-session" : NULL;
	if (strcasecmp(name, "WWW-Authenticate") == 0)
		return fetch->headers & 2 ? "Bearer error=\"invalid_token\"" : NULL;
	if (strcasecmp(name, "Retry-After") == 0)
		return fetch->headers & 4 ? "3" : NULL;
	if (strcasecmp(name, "Location") == 0)
		return fetch->headers & 2 ? "http://127.0.0.1:1/other" : "/other";
	return NULL;
}

const char *fw_fetch_location(const struct fw_fetch *fetch)
{
	static const char *const targets[] = { "http://127.0.0.1:1/other",
					       "http://127.0.0.1:2/x", "https://127.0.0.1:1/x",
					       NULL };

	return targets[fetch->headers & 3];
}

bool fw_fetch_follow(struct fw_fetch *fetch, const char *url)
{
	MUST(fetch->is_played && !fetch->is_cancelled);
	/* Never to another host or port: headers may hold credentials. */
	MUST(strncmp(url, "http://127.0.0.1:1/", 19) == 0 ||
	     strncmp(url, "https://127.0.0.1:1/", 20) == 0);
	if (fetch->headers & 8)
		return false;
	fetch->is_followed = true;
	return true;
}

uint32_t fw_fetch_retry_after_s(const struct fw_fetch *fetch)
{
	return fetch->headers & 4 ? 3 : 0;
}

/* ---- responses ---------------------------------------------------------------------- */

static void write_proper(const struct fw_fetch *fetch, bool is_error, char *text, size_t size)
{
	const char *result =
		fetch->is_hello ? "{\"protocolVersion\":\"2025-11-25\",\"supportedVersions\":["
				  "\"2026-07-28\"],"
				  "\"resultType\":\"complete\",\"capabilities\":{\"tools\":{}},"
				  "\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}"
				: "{\"resultType\":\"complete\",\"content\":[{\"type\":"
				  "\"text\",\"text\":\"x\"}]}";

	if (is_error)
		(void)snprintf(text, size,
			       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32000,"
			       "\"message\":\"no session\"}}",
			       fetch->id[0] ? fetch->id : "1");
	else
		(void)snprintf(text, size, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}",
			       fetch->id[0] ? fetch->id : "1", result);
}

/* False: the request was cancelled, or ended. */
static bool play_head(struct fw_fetch *fetch, int status, const char *type)
{
	fetch->status = status;
	fetch->type = type;
	if (fetch->options.on.head)
		fetch->options.on.head(fetch->options.ctx, fetch);
	return !fetch->is_cancelled;
}

static void play_end(struct fw_fetch *fetch, fw_error *err)
{
	if (fetch->is_cancelled)
		fw_error_free(err);
	else
		fetch->options.on.end(fetch->options.ctx, fetch, err);
}

static fw_error *raise_broken(const struct fw_fetch *fetch)
{
	fw_error *err = fetch->headers & 1 ? fw_raise_transport_connection_reset("x")
					   : fw_raise_transport_timeout("x");

	fw_error_set_delivery(err, fetch->status        ? FW_REPLIED
				   : fetch->headers & 2 ? FW_SENT
							: FW_NOT_SENT);
	return err;
}

/* Bytes of the body, in pieces; false: there is no more to be played. */
static bool play_body(struct fw_fetch *fetch, const char *text, size_t len)
{
	size_t piece = fetch->headers & 8 ? 1 : len;

	while (len) {
		size_t n = len < piece ? len : piece;

		if (!fetch->options.on.body(fetch->options.ctx, text, n)) {
			play_end(fetch,
				 fetch->is_cancelled ? NULL : fw_raise_runtime_cancelled());
			return false;
		}
		if (fetch->is_cancelled)
			return false;
		text += n;
		len -= n;
	}
	return true;
}

static bool play_text(struct fw_fetch *fetch, const char *text)
{
	return play_body(fetch, text, strlen(text));
}

static bool play_event(struct fw_fetch *fetch, const char *text)
{
	return play_text(fetch, "data: ") && play_text(fetch, text) && play_text(fetch, "\n\n");
}

static bool play_large(struct fw_fetch *fetch)
{
	static char large[2 * MESSAGE_BYTES];

	memset(large, 'x', sizeof large);
	return play_text(fetch, "data: {\"id\":1,") && play_body(fetch, large, sizeof large) &&
	       play_text(fetch, "\n\n");
}

static uint8_t next_byte(void)
{
	return at < end ? *at++ : 0;
}

/* The body of the kind. False: the response has ended already. */
static bool play_kind(struct fw_fetch *fetch, enum kind kind, const char *raw, size_t len)
{
	char text[TEXT_BYTES];

	write_proper(fetch, kind == PROPER_ERROR || kind == STATUS_PROPER, text, sizeof text);
	switch (kind) {
	case PROPER:
	case PROPER_ERROR:
	case STATUS_PROPER: return play_text(fetch, text);
	case PROPER_EVENT: return play_event(fetch, text);
	case EVENTS_THEN_PROPER: return play_body(fetch, raw, len) && play_event(fetch, text);
	case CUT: return play_body(fetch, text, strlen(text) / 2);
	case NUMBERED:
		return play_text(fetch, "retry: 0\nid: 7\ndata:\n\n") &&
		       play_body(fetch, raw, len);
	case LARGE: return play_large(fetch);
	default: return play_body(fetch, raw, len);
	}
}

static int status_of(enum kind kind, uint8_t choice)
{
	static const int statuses[] = { 400, 401, 403, 404, 405, 406, 408, 409, 410, 413, 429,
					500, 502, 503, 504, 301, 302, 307, 200, 204, 100, 418 };

	if (kind == ACCEPTED)
		return 202;
	return kind == STATUS_RAW || kind == STATUS_PROPER
		       ? statuses[choice % (sizeof statuses / sizeof *statuses)]
		       : 200;
}

static const char *type_of(enum kind kind)
{
	switch (kind) {
	case PROPER:
	case RAW_JSON:
	case STATUS_PROPER:
	case PROPER_ERROR:
	case CUT: return "application/json";
	case PROPER_EVENT:
	case RAW_EVENTS:
	case EVENTS_THEN_PROPER:
	case EVENTS_THEN_BROKEN:
	case NUMBERED:
	case LARGE: return "text/event-stream";
	default: return NULL;
	}
}

static void play_step(struct fw_fetch *fetch)
{
	const uint8_t how = next_byte();
	const enum kind kind = (enum kind)(how & 15);
	const uint8_t choice = next_byte();
	size_t len = next_byte();
	const char *raw;

	if (len > (size_t)(end - at))
		len = (size_t)(end - at);
	raw = (const char *)at;
	at += len;
	fetch->headers = how >> 4;
	if (kind == HELD) {
		fetch->is_held = true;
		return;
	}
	if (kind == BROKEN)
		play_end(fetch, raise_broken(fetch));
	else if (play_head(fetch, status_of(kind, choice), type_of(kind)) &&
		 (kind == ACCEPTED || play_kind(fetch, kind, raw, len)))
		play_end(fetch, kind == EVENTS_THEN_BROKEN ? raise_broken(fetch) : NULL);
}

/* Answers the oldest request of HTTP; false: there is none. */
static bool play(bool is_over)
{
	struct fw_fetch *fetch = fetches;

	while (fetch && fetch->is_held && !is_over)
		fetch = fetch->next;
	if (!fetch)
		return false;
	fetch->is_played = true;
	fetch->is_held = false;
	fetch->is_followed = false;
	if (is_over || at >= end)
		play_end(fetch, raise_broken(fetch));
	else
		play_step(fetch);
	fetch->is_played = false;
	if (fetch->is_cancelled || !(fetch->is_held || fetch->is_followed))
		remove_fetch(fetch);
	else if (fetch->is_followed)
		fetch->status = 0;
	return true;
}

/* ---- the remote --------------------------------------------------------------------- */

static void asked(void *ctx, uint64_t key, const struct fw_scan *message)
{
	(void)ctx;
	(void)key;
	fw_remote_answer(remote, message->id, (struct fw_slice){ "{}", 2 },
			 (struct fw_slice){ NULL, 0 });
}

static void call(void)
{
	fw_error *err;

	if (accepted >= wanted || fw_remote_state(remote) != FW_REMOTE_READY)
		return;
	err = fw_remote_call(remote,
			     &(struct fw_remote_request){ .method = "tools/call",
							  .name = "x",
							  .done = done,
							  .progress = progress,
							  .ctx = &answers[accepted] },
			     NULL);
	if (!err)
		accepted++;
	fw_error_free(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum fw_remote_era eras[] = { FW_REMOTE_AUTO, FW_REMOTE_LEGACY,
						   FW_REMOTE_MODERN, FW_REMOTE_AUTO };
	struct fw_remote_options options = {
		.target = { .name = "fuzz",
			    .url = "http://127.0.0.1:1/mcp",
			    .message_bytes = MESSAGE_BYTES },
		.on = { .ready = ready, .down = down, .asked = asked }
	};
	struct fw_loop loop;
	long live = fw_error_live();

	if (!size)
		return 0;
	memset(answers, 0, sizeof answers);
	accepted = 0;
	options.era = eras[data[0] & 3];
	wanted = 1 + (data[0] >> 2 & 3u) % FUZZ_REQUESTS;
	at = data + 1;
	end = data + size;
	MUST(fw_loop_init(&loop) == 0);
	/* The fake takes any fetcher. */
	MUST(!fw_remote_new(&loop, (struct fw_fetcher *)&loop, &options, &remote));
	if ((data[0] & 3) == 3)
		fw_remote_prefer_legacy(remote);
	fw_remote_connect(remote);
	for (int step = 0; step < STEPS && at < end; step++) {
		call();
		(void)uv_run(&loop.uv, UV_RUN_NOWAIT);
		if (!play(false) && fw_remote_state(remote) == FW_REMOTE_DOWN)
			fw_remote_connect(remote);
	}
	for (unsigned i = 0; i < FUZZ_REQUESTS; i++)
		MUST(answers[i] <= 1);
	fw_remote_disconnect(remote);
	for (unsigned i = 0; i < FUZZ_REQUESTS; i++)
		MUST(answers[i] == (i < accepted));
	fw_remote_free(remote);
	while (play(true))
		continue;
	fw_loop_close(&loop);
	MUST(fw_error_live() == live);
	return 0;
}
