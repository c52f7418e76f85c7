/*
 * fuzz_message.c - messages to the protocol core, without a socket.
 *
 * The first byte of an input says how the lines after it arrive:
 *
 *   l  one wire, initialized in 2025-11-25      b  the same in 2025-03-26 (batches)
 *   w  one wire, and nothing said yet (modern)
 *   h  HTTP: a line that looks like a header is one, of the next request; GET and
 *      DELETE are requests; everything else is the body of a POST
 *   s  HTTP, in a session of 2025-11-25         m  HTTP, modern headers from the body
 *
 * "$S" as a header's value is the last session's id, "$R" in a message the last
 * requestState. An empty line turns the loop.
 *
 * Properties: a request with a readable id gets one answer, with that id (unless
 * it waits for the client, or was cancelled); what cannot be read gets one without
 * id; nothing else is answered. Each answer is one line of JSON, and an error has
 * the canonical error with it. When all have gone, nothing is left.
 */
#include "fuzz_server.h"
#include "pending.h"

enum {
	PENDING_MAX = 256,
	HEADERS_MAX = 16,
	HEADER_BYTES = 256,
	OPEN_MAX = 64,
	LINES_MAX = 128
};

/* ---- pending answers ------------------------------------------------------------- */

static const struct fw_limits limits = FW_LIMITS_INIT;
static struct pending pending[PENDING_MAX];
static size_t pending_count;
static unsigned strays;       /* answers without id that may come now */
static unsigned batch_strays; /* and those in the answers to batches, which may be late */
static unsigned cancels;
static char session_id[64];
static char request_state[8192]; /* nobody guesses one */

static void expect_answer(yyjson_val *id, bool in_batch)
{
	pending[pending_count++] = pending_of(id, in_batch);
}

static void settle(yyjson_val *id)
{
	size_t i = 0;

	while (i < pending_count && !is_for(&pending[i], id))
		i++;
	MUST(i < pending_count); /* or nobody asked for it */
	pending[i] = pending[--pending_count];
}

/* What one message, or one member of a batch, lets expect. */
static void expect(yyjson_val *message, bool in_batch)
{
	yyjson_val *id = last_member(message, "id");
	yyjson_val *method = last_member(message, "method");
	bool is_response = !method && id &&
			   (last_member(message, "result") || last_member(message, "error"));

	if (yyjson_equals_str(method, "notifications/cancelled"))
		cancels++;
	/* HTTP also says what it thinks of an answer that nobody waits for. */
	if (yyjson_is_obj(message) && !is_response && id && is_readable(id))
		expect_answer(id, in_batch);
	else
		++*(in_batch ? &batch_strays : &strays);
}

/* ---- what came ------------------------------------------------------------------- */

static void check_error(yyjson_val *error)
{
	MUST(yyjson_is_obj(error));
	MUST(yyjson_is_str(yyjson_obj_get(error, "code")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "message")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "timestamp")));
	MUST(yyjson_is_str(yyjson_obj_get(error, "incident_id")));
}

static void check_answer(yyjson_val *message, unsigned *strays_left)
{
	yyjson_val *id = yyjson_obj_get(message, "id");
	yyjson_val *result = yyjson_obj_get(message, "result");
	yyjson_val *error = yyjson_obj_get(message, "error");
	const char *state;

	MUST(yyjson_equals_str(yyjson_obj_get(message, "jsonrpc"), "2.0"));
	MUST(!result != !error);
	if (error) {
		MUST(yyjson_is_raw(yyjson_obj_get(error, "code")));
		MUST(yyjson_is_str(yyjson_obj_get(error, "message")));
		check_error(yyjson_ptr_get(error, "/data/dev.faultwire~1error"));
	} else {
		MUST(id && yyjson_is_obj(result));
		state = yyjson_get_str(yyjson_obj_get(result, "requestState"));
		if (state)
			(void)snprintf(request_state, sizeof request_state, "%s", state);
		if (yyjson_get_bool(yyjson_obj_get(result, "isError")))
			check_error(yyjson_ptr_get(result, "/_meta/dev.faultwire~1error"));
	}
	if (id) {
		settle(id);
	} else {
		MUST(*strays_left > 0);
		--*strays_left;
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

static void check_reply(const struct fw_reply *reply)
{
	yyjson_doc *doc;
	yyjson_val *root, *item;
	size_t i, n;

	MUST(reply->status >= 200 && reply->status < 600);
	if (!reply->json)
		return;
	doc = read_line(reply->json, reply->len);
	root = yyjson_doc_get_root(doc);
	if (yyjson_is_arr(root)) {
		MUST(yyjson_arr_size(root) > 0);
		yyjson_arr_foreach(root, i, n, item) check_answer(item, &batch_strays);
	} else {
		/* A whole batch that was refused has one answer, without id. */
		if (!yyjson_obj_get(root, "id")) {
			for (i = 0; i < pending_count;) {
				if (pending[i].in_batch)
					pending[i] = pending[--pending_count];
				else
					i++;
			}
		}
		check_answer(root, &strays);
	}
	yyjson_doc_free(doc);
}

/* ---- exchanges -------------------------------------------------------------------- */

struct peer {
	struct fw_exchange exchange; /* first */
	bool is_http;
	bool is_done;
	bool is_stream;
	char headers[HEADERS_MAX][2][HEADER_BYTES];
	size_t header_count;
};

static void on_send(struct fw_exchange *exchange, const struct fw_event *event)
{
	struct peer *peer = (struct peer *)exchange;

	MUST(!peer->is_done);
	peer->is_stream = true;
	if (event->len) {
		yyjson_doc *doc = read_line(event->json, event->len);
		yyjson_val *root = yyjson_doc_get_root(doc);

		MUST(yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0"));
		/* The answer of a call that was resumed is an event of another. */
		if (!yyjson_obj_get(root, "method"))
			MUST(yyjson_obj_get(root, "id"));
		yyjson_doc_free(doc);
	}
}

static void on_reply(struct fw_exchange *exchange, const struct fw_reply *reply)
{
	struct peer *peer = (struct peer *)exchange;

	MUST(!peer->is_done);
	MUST(peer->is_http || reply->json);
	if (peer->is_http)
		peer->is_done = true;
	if (reply->session_id)
		(void)snprintf(session_id, sizeof session_id, "%s", reply->session_id);
	check_reply(reply);
}

static void on_close(struct fw_exchange *exchange)
{
	struct peer *peer = (struct peer *)exchange;

	MUST(!peer->is_done);
	if (peer->is_http)
		peer->is_done = true;
}

static const char *on_header(struct fw_exchange *exchange, const char *name,
			     unsigned *ret_count)
{
	struct peer *peer = (struct peer *)exchange;
	const char *found = NULL;
	unsigned count = 0;

	MUST(!peer->is_done);
	for (size_t i = 0; i < peer->header_count; i++) {
		if (strcasecmp(peer->headers[i][0], name) != 0)
			continue;
		if (count++ == 0)
			found = peer->headers[i][1];
	}
	if (ret_count)
		*ret_count = count;
	return found;
}

static const struct fw_exchange_ops wire_ops = { on_send, on_reply, on_close, NULL, NULL };
static const struct fw_exchange_ops http_ops = { on_send, on_reply, on_close, on_header, NULL };

static struct peer *open_peers[OPEN_MAX];
static size_t open_count;

static struct peer *peer_new(bool is_http)
{
	struct peer *peer = calloc(1, sizeof *peer);

	MUST(peer);
	peer->is_http = is_http;
	fw_exchange_init(&peer->exchange, fuzz_server, is_http ? &http_ops : &wire_ops,
			 is_http);
	return peer;
}

/* Those that the core has let go of. */
static void reap(void)
{
	for (size_t i = 0; i < open_count;) {
		if (!open_peers[i]->is_done) {
			i++;
			continue;
		}
		free(open_peers[i]);
		open_peers[i] = open_peers[--open_count];
	}
}

static void turn(void)
{
	fuzz_turn();
	reap();
}

/* ---- one message ---------------------------------------------------------------------- */

static size_t depth_of(yyjson_val *value)
{
	yyjson_val *key, *inner;
	size_t deepest = 0, i, n;

	if (yyjson_is_arr(value)) {
		yyjson_arr_foreach(value, i, n, inner)
		{
			size_t depth = depth_of(inner);

			deepest = depth > deepest ? depth : deepest;
		}
	} else if (yyjson_is_obj(value)) {
		yyjson_obj_foreach(value, i, n, key, inner)
		{
			size_t depth = depth_of(inner);

			deepest = depth > deepest ? depth : deepest;
		}
	}
	return yyjson_is_ctn(value) ? deepest + 1 : 0;
}

static void expect_text(const char *text, size_t len)
{
	yyjson_doc *doc = yyjson_read(text, len, YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *item;
	size_t i, n;

	strays = 0;
	for (i = 0; i < pending_count; i++)
		pending[i].in_batch = false;
	if (!doc || depth_of(root) > limits.message_depth) {
		strays++; /* and its id is not looked for */
	} else if (yyjson_is_arr(root)) {
		strays++;
		if (yyjson_arr_size(root) <= limits.batch_messages) {
			yyjson_arr_foreach(root, i, n, item) expect(item, true);
		}
	} else {
		expect(root, false);
	}
	yyjson_doc_free(doc);
}

/* In memory of exactly its size. */
static void deliver(struct peer *peer, const char *text, size_t len)
{
	const char *mark = memmem(text, len, "\"$R\"", 4);
	size_t before = mark ? (size_t)(mark - text) + 1 : len;
	size_t after = mark ? len - before - 2 : 0;
	size_t state = mark ? strlen(request_state) : 0;
	char *whole = malloc(before + state + after);

	MUST(whole);
	memcpy(whole, text, before);
	memcpy(whole + before, request_state, state);
	memcpy(whole + before + state, text + len - after, after);
	expect_text(whole, before + state + after);
	fw_exchange_receive(&peer->exchange, whole, before + state + after);
	free(whole);
}

static void add_header(struct peer *peer, const char *name, const char *value, size_t len)
{
	if (peer->header_count == HEADERS_MAX || len >= HEADER_BYTES || memchr(value, 0, len))
		return;
	(void)snprintf(peer->headers[peer->header_count][0], HEADER_BYTES, "%s", name);
	memcpy(peer->headers[peer->header_count][1], value, len);
	peer->headers[peer->header_count++][1][len] = '\0';
}

/* "Name: value" of plain ASCII; false: no header. */
static bool take_header(struct peer *peer, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	char name[64];
	size_t n;

	if (!colon || (n = (size_t)(colon - line)) >= sizeof name || n < 2)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-", line[i]) ||
		    !line[i])
			return false;
	memcpy(name, line, n);
	name[n] = '\0';
	line += n + 1;
	len -= n + 1;
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len == 2 && memcmp(line, "$S", 2) == 0)
		add_header(peer, name, session_id, strlen(session_id));
	else
		add_header(peer, name, line, len);
	return true;
}

static void add_string_header(struct peer *peer, const char *name, yyjson_val *value)
{
	if (yyjson_is_str(value))
		add_header(peer, name, yyjson_get_str(value), yyjson_get_len(value));
}

static void add_modern_headers(struct peer *peer, const char *text, size_t len)
{
	yyjson_doc *doc = yyjson_read(text, len, YYJSON_READ_NUMBER_AS_RAW);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *params = yyjson_obj_get(root, "params");
	yyjson_val *name = yyjson_obj_get(params, "name");

	add_header(peer, "MCP-Protocol-Version", "2026-07-28", 10);
	add_string_header(peer, "Mcp-Method", yyjson_obj_get(root, "method"));
	add_string_header(peer, "Mcp-Name", name ? name : yyjson_obj_get(params, "uri"));
	add_string_header(peer, "Mcp-Param-Region",
			  yyjson_ptr_get(params, "/arguments/region"));
	yyjson_doc_free(doc);
}

static void receive_http(struct peer *peer, const char *line, size_t len)
{
	size_t before = pending_count;

	open_peers[open_count++] = peer;
	strays = 0;
	if (len == 3 && memcmp(line, "GET", 3) == 0) {
		strays = 1;
		fw_exchange_open_stream(&peer->exchange);
	} else if (len == 6 && memcmp(line, "DELETE", 6) == 0) {
		strays = 1;
		cancels += (unsigned)pending_count; /* its calls go with a session */
		fw_exchange_end_session(&peer->exchange);
		MUST(peer->is_done);
	} else {
		deliver(peer, line, len);
		/* Nothing is forgotten: answered, or in progress. */
		MUST(peer->is_done || fw_exchange_is_busy(&peer->exchange));
		MUST(!peer->is_done || pending_count <= before);
	}
	strays = 0;
	reap();
}

static void say(struct peer *peer, const char *text)
{
	deliver(peer, text, strlen(text));
}

static void initialize(struct peer *peer, const char *version)
{
	char text[512];

	(void)snprintf(text, sizeof text,
		       "{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\","
		       "\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{"
		       "\"elicitation\":{},\"roots\":{}},\"clientInfo\":{\"name\":\"f\","
		       "\"version\":\"1\"}}}",
		       version);
	say(peer, text);
	MUST(pending_count == 0);
}

static void run_wire(const char *text, size_t size, char mode)
{
	struct peer *wire = peer_new(false);
	const char *end = text + size;
	size_t waiting = 0, held = 0;

	if (mode != 'w') {
		initialize(wire, mode == 'b' ? "2025-03-26" : "2025-11-25");
		say(wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	}
	for (int i = 0; text < end && i < LINES_MAX; i++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((newline ? newline : end) - text);

		if (len == 0) {
			strays = 0;
			fuzz_turn();
		} else if (pending_count + limits.batch_messages < PENDING_MAX) {
			deliver(wire, text, len);
		}
		text += len + 1;
	}
	strays = 0;
	while (fuzz_sleeping)
		fuzz_turn();
	for (fw_call *call = wire->exchange.calls; call; call = call->exchange_next) {
		waiting++;
		/* The answers of a batch wait for the last of them. */
		held += call->batch ? limits.batch_messages : 0;
	}
	MUST(pending_count <= waiting + held + cancels);
	MUST(pending_count >= waiting);
	fw_exchange_gone(&wire->exchange);
	wire->is_done = true; /* never touched again */
	fuzz_server_settle();
	free(wire);
}

static void run_http(const char *text, size_t size, char mode)
{
	const char *end = text + size;
	struct peer *next = NULL;

	if (mode == 's') {
		next = open_peers[open_count++] = peer_new(true);
		initialize(next, "2025-11-25");
		MUST(next->is_done && session_id[0]);
		reap();
		next = NULL;
	}
	for (int i = 0; text < end && i < LINES_MAX && open_count < OPEN_MAX; i++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((newline ? newline : end) - text);

		if (!next)
			next = peer_new(true);
		if (len == 0) {
			turn();
		} else if (!take_header(next, text, len) &&
			   pending_count + limits.batch_messages < PENDING_MAX) {
			if (mode == 's')
				add_header(next, "Mcp-Session-Id", session_id,
					   strlen(session_id));
			else if (mode == 'm')
				add_modern_headers(next, text, len);
			receive_http(next, text, len);
			next = NULL;
		}
		text += len + 1;
	}
	free(next);
	while (fuzz_sleeping)
		turn();
	while (open_count) {
		struct peer *peer = open_peers[--open_count];

		MUST(!peer->is_done && fw_exchange_is_busy(&peer->exchange));
		fw_exchange_gone(&peer->exchange);
		free(peer);
	}
	fuzz_server_settle();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (!fuzz_server)
		fuzz_server_open();
	if (size < 2)
		return 0;
	pending_count = 0;
	strays = 0;
	batch_strays = 0;
	cancels = 0;
	session_id[0] = '\0';
	request_state[0] = '\0';
	if (strchr("lbw", text[0]) && text[0])
		run_wire(text + 1, size - 1, text[0]);
	else if (strchr("hsm", text[0]) && text[0])
		run_http(text + 1, size - 1, text[0]);
	return 0;
}
