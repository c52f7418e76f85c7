/*
 * conversation_peer.h - the clients of fuzz_conversation.c, and the answers they wait for.
 *
 * An HTTP request is a block of memory of its own, which is freed the moment the core releases
 * it: the sanitizer reports any later use. A wire is one exchange for as long as it is open,
 * like stdio.
 *
 * The one rule to remember: a request that was sent waits for one answer, until it
 * is cancelled, its session ends or its peer goes away.
 */
#ifndef FW_CONVERSATION_PEER_H
#define FW_CONVERSATION_PEER_H

#include "conversation_page.h"
#include "pending.h"

#include "../src/mcp/principal.h"

enum { CLIENTS = 4, PEERS_MAX = 48, PENDING_MAX = 1024, HEADERS_MAX = 8, MOVED_MAX = 64 };

enum kind { KIND_NONE, KIND_HTTP, KIND_WIRE, KIND_STDIO };

struct client {
	enum kind kind;
	enum fw_version version;
	char session_id[64];
	char event_id[48];
	char request_state[8192];
	uint64_t asked[8]; /* ids of the server's questions */
	size_t asked_count;
};

enum what { WHAT_POST, WHAT_GET, WHAT_DELETE, WHAT_REFUSAL, WHAT_PAGE };

struct peer {
	struct fw_exchange exchange; /* first */
	struct client *client;
	enum what what;
	bool may_close;  /* without an answer */
	bool is_current; /* its request callback has not returned */
	bool is_stdio;   /* stands for the real transport */
	unsigned strays; /* answers without id that may come */
	struct pending *pending;
	size_t pending_count, pending_room;
	char session_id[64];
	char address[16];
	struct {
		const char *name;
		char value[200];
	} headers[HEADERS_MAX];
	size_t header_count;
};

static struct client clients[CLIENTS];
static struct peer *peers[PEERS_MAX]; /* HTTP requests in progress */
static size_t peer_count;
static struct peer *graves[PEERS_MAX]; /* FW_FUZZ_LATE_FREE: freed after the step */
static size_t grave_count;
static struct peer *wires[CLIENTS];
static struct pending moved[MOVED_MAX]; /* answers that come on a resumed stream */
static size_t moved_count;

/* ---- pending answers ------------------------------------------------------------------- */

static void expect_answer(struct peer *peer, yyjson_val *id, bool in_batch)
{
	if (peer->pending_count == peer->pending_room) {
		peer->pending_room = peer->pending_room ? 2 * peer->pending_room : 8;
		peer->pending =
			realloc(peer->pending, peer->pending_room * sizeof *peer->pending);
	}
	MUST(peer->pending && peer->pending_count < PENDING_MAX);
	peer->pending[peer->pending_count++] = pending_of(id, in_batch);
}

/* Which one was answered; one that must be before one that need not be. */
static size_t find_pending(const struct peer *peer, yyjson_val *id, bool in_batch)
{
	size_t found = PENDING_MAX;

	for (size_t i = 0; i < peer->pending_count; i++) {
		const struct pending *one = &peer->pending[i];

		if (one->in_batch != in_batch || !is_for(one, id))
			continue;
		if (!one->is_optional)
			return i;
		found = i;
	}
	return found;
}

static void settle(struct peer *peer, yyjson_val *id, bool in_batch)
{
	size_t i = find_pending(peer, id, in_batch);

	MUST(i < PENDING_MAX); /* or nobody asked for it */
	peer->pending[i] = peer->pending[--peer->pending_count];
}

static size_t count_pending(const struct peer *peer, bool in_batch)
{
	size_t count = 0;

	for (size_t i = 0; i < peer->pending_count; i++)
		count += !peer->pending[i].is_optional && peer->pending[i].in_batch == in_batch;
	return count;
}

/* `id` NULL: all of them. */
static void excuse(struct peer *peer, yyjson_val *id)
{
	peer->may_close = true;
	for (size_t i = 0; i < peer->pending_count; i++)
		if (!id || is_for(&peer->pending[i], id))
			peer->pending[i].is_optional = true;
}

static void excuse_session(const char *session_id, yyjson_val *id)
{
	for (size_t i = 0; session_id[0] && i < peer_count; i++)
		if (strcmp(peers[i]->session_id, session_id) == 0)
			excuse(peers[i], id);
}

/* What one message, or one member of a batch, lets expect. */
static void expect(struct peer *peer, yyjson_val *message, bool in_batch)
{
	yyjson_val *id = last_member(message, "id");
	yyjson_val *method = last_member(message, "method");
	bool is_response = !method && id &&
			   (last_member(message, "result") || last_member(message, "error"));
	yyjson_val *target;

	if (yyjson_equals_str(method, "notifications/cancelled")) {
		target = yyjson_obj_get(last_member(message, "params"), "requestId");
		if (target && is_readable(target)) {
			excuse(peer, target);
			excuse_session(peer->session_id, target);
		}
	}
	if (yyjson_is_obj(message) && !is_response && id && is_readable(id))
		expect_answer(peer, id, in_batch);
	else
		peer->strays++;
}

static size_t depth_of(yyjson_val *value)
{
	yyjson_val *key, *inner;
	size_t deepest = 0, i, n;

	if (!yyjson_is_ctn(value))
		return 0;
	if (yyjson_is_arr(value)) {
		yyjson_arr_foreach(value, i, n, inner) deepest =
			depth_of(inner) > deepest ? depth_of(inner) : deepest;
	} else {
		yyjson_obj_foreach(value, i, n, key, inner) deepest =
			depth_of(inner) > deepest ? depth_of(inner) : deepest;
	}
	return deepest + 1;
}

static void expect_text(struct peer *peer, const char *text, size_t len)
{
	const struct fw_limits *limits = &server->limits;
	yyjson_doc *doc = len <= limits->message_bytes
				  ? yyjson_read(text, len, YYJSON_READ_NUMBER_AS_RAW)
				  : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *item;
	size_t i, n;

	if (!doc || depth_of(root) > limits->message_depth) {
		peer->strays++;
	} else if (yyjson_is_arr(root)) {
		peer->strays++;
		if (yyjson_arr_size(root) <= limits->batch_messages)
			yyjson_arr_foreach(root, i, n, item) expect(peer, item, true);
	} else {
		expect(peer, root, false);
	}
	yyjson_doc_free(doc);
}

/* ---- what came -------------------------------------------------------------------------- */

static void check_error(yyjson_val *error)
{
	if (had_no_memory)
		return;
	MUST(yyjson_is_obj(error));
	MUST(yyjson_is_str(yyjson_obj_get(error, "code")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "message")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "timestamp")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "incident_id")));
}

static void check_shape(yyjson_val *message, struct client *client)
{
	yyjson_val *result = yyjson_obj_get(message, "result");
	yyjson_val *error = yyjson_obj_get(message, "error");
	const char *state;

	MUST(yyjson_equals_str(yyjson_obj_get(message, "jsonrpc"), "2.0"));
	MUST(!result != !error);
	if (error) {
		MUST(yyjson_is_raw(yyjson_obj_get(error, "code")));
		MUST(yyjson_is_str(yyjson_obj_get(error, "message")));
		check_error(yyjson_ptr_get(error, "/data/dev.faultwire~1error"));
		return;
	}
	MUST(yyjson_is_obj(result));
	state = yyjson_get_str(yyjson_obj_get(result, "requestState"));
	if (state)
		(void)snprintf(client->request_state, sizeof client->request_state, "%s",
			       state);
	if (yyjson_get_bool(yyjson_obj_get(result, "isError")))
		check_error(yyjson_ptr_get(result, "/_meta/dev.faultwire~1error"));
}

static bool is_moved(yyjson_val *id)
{
	for (size_t i = 0; i < moved_count; i++)
		if (is_for(&moved[i], id))
			return true;
	return moved_count == MOVED_MAX;
}

static void check_answer(struct peer *peer, yyjson_val *message, bool in_batch)
{
	yyjson_val *id = yyjson_obj_get(message, "id");

	check_shape(message, peer->client);
	if (yyjson_is_null(id))
		id = NULL;
	MUST(id || yyjson_obj_get(message, "error"));
	if (had_no_memory)
		return;
	if (id && peer->what == WHAT_GET) {
		MUST(is_moved(id));
	} else if (id) {
		settle(peer, id, in_batch);
	} else {
		MUST(peer->strays > 0);
		peer->strays--;
	}
}

static yyjson_doc *read_line(const char *json, size_t len)
{
	yyjson_doc *doc = yyjson_read(json, len, YYJSON_READ_NUMBER_AS_RAW);

	if (!doc)
		(void)fprintf(stderr, "not JSON: %.*s\n", (int)len, json);
	MUST(doc);
	MUST(!memchr(json, '\n', len));
	return doc;
}

/* A whole batch that was refused has one answer, without id. */
static void check_answers(struct peer *peer, yyjson_val *root)
{
	yyjson_val *item, *id = yyjson_obj_get(root, "id");
	size_t i, n;

	if (yyjson_is_arr(root)) {
		MUST(yyjson_arr_size(root) > 0);
		yyjson_arr_foreach(root, i, n, item) check_answer(peer, item, true);
		return;
	}
	for (i = 0; (!id || yyjson_is_null(id)) && i < peer->pending_count; i++)
		peer->pending[i].is_optional |= peer->pending[i].in_batch;
	check_answer(peer, root, false);
}

/* A message of the server's own: a notification, or a question. */
static void check_message(struct peer *peer, yyjson_val *root)
{
	struct client *client = peer->client;
	yyjson_val *id = yyjson_obj_get(root, "id");

	MUST(yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0"));
	MUST(yyjson_is_str(yyjson_obj_get(root, "method")));
	if (id && client->asked_count < 8)
		client->asked[client->asked_count++] = strtoull(yyjson_get_raw(id), NULL, 10);
}

static void check_text(struct peer *peer, const char *json, size_t len)
{
	yyjson_doc *doc;
	yyjson_val *root;

	if (is_memory_only)
		return;
	doc = read_line(json, len);
	root = yyjson_doc_get_root(doc);
	if (yyjson_obj_get(root, "method"))
		check_message(peer, root);
	else
		check_answers(peer, root);
	yyjson_doc_free(doc);
}

/* ---- exchanges ---------------------------------------------------------------------------- */

static void forget_peer(struct peer *peer)
{
	size_t i = 0;

	while (i < peer_count && peers[i] != peer)
		i++;
	if (i < peer_count)
		peers[i] = peers[--peer_count];
	fw_principal_unref(peer->exchange.principal);
	peer->exchange.principal = NULL;
	free(peer->pending);
	if (is_late_free && grave_count < PEERS_MAX) {
		peer->pending = NULL;
		graves[grave_count++] = peer;
	} else {
		free(peer);
	}
}

static void free_peers(void)
{
	while (grave_count)
		free(graves[--grave_count]);
}

static void on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct peer *peer = (struct peer *)exchange;

	TELL("    event  %.*s\n", (int)(event->len < 160 ? event->len : 160), event->json);
	if (event->id)
		(void)snprintf(peer->client->event_id, sizeof peer->client->event_id, "%s",
			       event->id);
	if (event->len && peer->what != WHAT_PAGE)
		check_text(peer, event->json, event->len);
}

static void on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct peer *peer = (struct peer *)exchange;

	TELL("    answer %d %.*s\n", reply->status, (int)(reply->len < 160 ? reply->len : 160),
	     reply->json ? reply->json : "(none)");
	MUST(reply->status >= 200 && reply->status < 600);
	MUST(exchange->is_http || reply->json);
	if (exchange->is_http && reply->session_id)
		(void)snprintf(peer->client->session_id, sizeof peer->client->session_id, "%s",
			       reply->session_id);
	if (reply->json && peer->what != WHAT_PAGE)
		check_text(peer, reply->json, reply->len);
	if (!exchange->is_http)
		return;
	/* Nobody is forgotten. */
	if (!had_no_memory && !is_memory_only)
		MUST(count_pending(peer, true) + count_pending(peer, false) == 0);
	forget_peer(peer);
}

static void on_close(struct fw_exchange *exchange)
{
	struct peer *peer = (struct peer *)exchange;

	TELL("    closed\n");
	if (!exchange->is_http)
		return;
	MUST(peer->may_close || had_no_memory || is_memory_only);
	for (size_t i = 0; i < peer->pending_count && moved_count < MOVED_MAX; i++)
		moved[moved_count++] = peer->pending[i];
	forget_peer(peer);
}

static const char *on_header(struct fw_exchange *exchange, const char *name,
			     unsigned *ret_count)
{
	struct peer *peer = (struct peer *)exchange;
	const char *found = NULL;
	unsigned count = 0;

	/* The bytes of a request are gone when its callback has returned. */
	MUST(peer->is_current);
	for (size_t i = 0; i < peer->header_count; i++)
		if (strcasecmp(peer->headers[i].name, name) == 0 && count++ == 0)
			found = peer->headers[i].value;
	if (ret_count)
		*ret_count = count;
	return found;
}

static const char *on_query(struct fw_exchange *exchange, const char *name)
{
	(void)exchange;
	(void)name;
	return NULL;
}

static const struct fw_exchange_ops wire_ops = { on_send, on_reply, on_close, NULL, NULL };
static const struct fw_exchange_ops http_ops = { on_send, on_reply, on_close, on_header,
						 on_query };

static void add_header(struct peer *peer, const char *name, const char *value)
{
	if (peer->header_count == HEADERS_MAX)
		return;
	peer->headers[peer->header_count].name = name;
	(void)snprintf(peer->headers[peer->header_count++].value, sizeof peer->headers->value,
		       "%s", value);
}

static struct peer *peer_new(struct client *client, enum what what, bool is_http)
{
	struct peer *peer = calloc(1, sizeof *peer);

	MUST(peer);
	peer->client = client;
	peer->what = what;
	peer->may_close = what == WHAT_GET;
	fw_exchange_init(&peer->exchange, server, is_http ? &http_ops : &wire_ops, is_http);
	(void)snprintf(peer->address, sizeof peer->address, "127.0.0.%u",
		       (unsigned)(client - clients));
	peer->exchange.peer = peer->address;
	if (is_http)
		peers[peer_count++] = peer;
	return peer;
}

static bool is_alive(const struct peer *peer)
{
	for (size_t i = 0; i < peer_count; i++)
		if (peers[i] == peer)
			return true;
	return false;
}

static void close_stream(fw_call *call)
{
	if (call->exchange && call->exchange->is_http)
		((struct peer *)call->exchange)->may_close = true;
	fw_call_close_stream(call, 10);
}

/* The request callback has returned; the request may have been answered in it. */
static void request_over(struct peer *peer)
{
	if (!is_alive(peer))
		return;
	peer->is_current = false;
	for (size_t i = 0; i < HEADERS_MAX; i++)
		memset(peer->headers[i].value, '?', sizeof peer->headers[i].value - 1);
}

/* The peer has gone away, without a word. */
static void reset_peer(struct peer *peer)
{
	fw_exchange_gone(&peer->exchange);
	forget_peer(peer);
}

static void reset_wire(size_t index)
{
	struct peer *wire = wires[index];

	if (!wire || wire->is_stdio)
		return;
	wires[index] = NULL;
	fw_exchange_gone(&wire->exchange);
	forget_peer(wire);
}

#endif
