/*
 * fuzz_conversation.c - a schedule of what clients, tools, observers, workers, the
 * clock and the allocator do to one server, with fw_server_run() turning the loop.
 *
 * An input is a list of steps of eight bytes: operation, client, six parameters
 * (struct step). The first step is the header: limits, options, how it ends. There
 * are four clients; each is a series of HTTP requests, a wire, or (the last one, if
 * the header says so) the real stdio transport on a socket. See docs/internals.md for
 * the operations, and set FW_FUZZ_STEPS to have them printed.
 *
 * Properties: every request gets one answer with its id, unless it was cancelled,
 * its session was ended, its stream closed or its peer has gone; every answer is
 * JSON-RPC with a canonical error in it if it is one; no HTTP request is open that
 * the core does not know of; counters agree with lists; at the end nothing is
 * listed, held or allocated.
 */
#include "conversation_message.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

enum {
	STEPS_MAX = 100,
	END_TURNS = 400,
	STDIO = CLIENTS - 1,
	LINE_BYTES = 1 << 16,
};

enum op {
	OP_TURN,
	OP_OPEN,
	OP_REQUEST,
	OP_BATCH,
	OP_NOTIFY,
	OP_RESPOND,
	OP_GET,
	OP_DELETE,
	OP_RESET,
	OP_AUDIT,
	OP_RELEASE,
	OP_FINISH,
	OP_WORKER,
	OP_CLOCK,
	OP_CHANGE,
	OP_NO_MEMORY,
	OP_STOP,
	OP_RAW,
	OP_REFUSE,
	OP_PAGE,
	OP_HALF_CLOSE,
	OP_PART,
	OP_COUNT
};

static const struct step *steps;
static size_t step_count, step_next;
static struct step header;
static uv_idle_t idle;
static unsigned end_turns;
static bool is_settled;
static bool is_warm, is_checking_blocks;
static bool is_skipped[OP_COUNT];

/* ---- the transports ------------------------------------------------------------------------ */

/* Stands for HTTP and the wires: what a stop asks of a transport. */
static struct fw_transport transport;
static bool is_closing;
static int stdio_ours = -1, stdio_in = -1, stdio_out = -1;
static bool is_stdio_ended; /* our end of it */
static bool is_half_closed;
static struct {
	char text[LINE_BYTES];
	size_t len;
	bool is_long; /* the rest of a line that did not fit is skipped */
} line;

/* What the socket did not take is sent with the next turns. */
static struct {
	char text[MESSAGE_BYTES + LINE_BYTES];
	size_t len, sent;
	size_t line; /* where the line that has no end yet begins */
} unsent;

static fw_error *on_start(struct fw_transport *self)
{
	(void)self;
	return NULL;
}

static void on_quiesce(struct fw_transport *self)
{
	(void)self;
}

static void on_close_transport(struct fw_transport *self)
{
	is_closing = true;
	/* "All is answered." */
	if (!is_memory_only)
		MUST(peer_count == 0 || had_no_memory);
	while (peer_count)
		reset_peer(peers[0]);
	for (size_t i = 0; i < CLIENTS; i++)
		reset_wire(i);
	fw_transport_closed(self);
}

static void on_free_transport(struct fw_transport *self)
{
	(void)self;
}

static void open_transports(void)
{
	static const struct fw_transport_ops ops = { .start = on_start,
						     .quiesce = on_quiesce,
						     .close = on_close_transport,
						     .free = on_free_transport };
	int ends[2];

	transport = (struct fw_transport){ .ops = &ops };
	is_closing = false;
	fw_transport_attach(&transport, server);
	if (!(header.c & 1))
		return;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	stdio_ours = ends[0];
	stdio_in = ends[1];
	stdio_out = header.c & 2 ? ends[1] : fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
	MUST(!fw_server_listen_fds(server, stdio_in, stdio_out));
	clients[STDIO].kind = KIND_STDIO;
	wires[STDIO] = peer_new(&clients[STDIO], WHAT_POST, false);
	wires[STDIO]->is_stdio = true;
	line.len = 0;
	line.is_long = false;
	is_stdio_ended = false;
	is_half_closed = false;
	unsent.len = unsent.sent = unsent.line = 0;
}

static void close_stdio(void)
{
	if (stdio_ours < 0)
		return;
	if (!is_stdio_ended)
		(void)close(stdio_ours);
	(void)close(stdio_in);
	if (stdio_out != stdio_in)
		(void)close(stdio_out);
	stdio_ours = stdio_in = stdio_out = -1;
	forget_peer(wires[STDIO]);
	wires[STDIO] = NULL;
}

static void take_stdio_lines(void)
{
	char *at = line.text;
	char *newline;

	while ((newline = memchr(at, '\n', line.len - (size_t)(at - line.text)))) {
		if (!line.is_long)
			check_text(wires[STDIO], at, (size_t)(newline - at));
		line.is_long = false;
		at = newline + 1;
	}
	line.len -= (size_t)(at - line.text);
	memmove(line.text, at, line.len);
	if (line.len == LINE_BYTES) {
		/* A long answer, whose id is not looked for. */
		line.len = 0;
		line.is_long = true;
		excuse(wires[STDIO], NULL);
	}
}

static void read_stdio(void)
{
	ssize_t n;

	while (stdio_ours >= 0 && !is_stdio_ended &&
	       (n = recv(stdio_ours, line.text + line.len, LINE_BYTES - line.len,
			 MSG_DONTWAIT)) > 0) {
		line.len += (size_t)n;
		take_stdio_lines();
	}
}

static void write_stdio(void)
{
	while (!is_stdio_ended && unsent.sent < unsent.len) {
		ssize_t n = send(stdio_ours, unsent.text + unsent.sent,
				 unsent.len - unsent.sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		/* The server has closed it. */
		if (n < 0) {
			excuse(wires[STDIO], NULL);
			unsent.sent = unsent.len;
		} else {
			unsent.sent += (size_t)n;
		}
	}
	memmove(unsent.text, unsent.text + unsent.line, unsent.len - unsent.line);
	unsent.len -= unsent.line;
	unsent.sent = unsent.len;
	unsent.line = 0;
}

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t", *text) && *text) {
		text++;
		len--;
	}
	return len == 0;
}

static void end_line(size_t end)
{
	const char *text = unsent.text + unsent.line;
	size_t len = end - unsent.line;

	if (len && text[len - 1] == '\r')
		len--;
	if (!is_blank(text, len))
		expect_text(wires[STDIO], text, len);
}

/* Sends bytes, and expects what whole lines among them let expect. */
static void send_stdio(const char *bytes, size_t len)
{
	if (stdio_ours < 0 || is_stdio_ended || is_half_closed ||
	    len > sizeof unsent.text - unsent.len ||
	    wires[STDIO]->owed_count + 4 * server->limits.batch_messages >= OWED_MAX)
		return;
	memcpy(unsent.text + unsent.len, bytes, len);
	for (size_t i = 0; i < len; i++) {
		unsent.len++;
		if (bytes[i] == '\n') {
			end_line(unsent.len - 1);
			unsent.line = unsent.len;
		}
	}
	write_stdio();
}

/* ---- saying something ------------------------------------------------------------------------ */

static void say_on_wire(struct client *client, struct peer *wire)
{
	char *copy;

	if (client->kind == KIND_STDIO) {
		put("\n");
		send_stdio(message, message_len);
		return;
	}
	if (wire->owed_count + server->limits.batch_messages >= OWED_MAX)
		return;
	expect_text(wire, message, message_len);
	/* In memory of exactly its size. */
	copy = malloc(message_len ? message_len : 1);
	MUST(copy);
	memcpy(copy, message, message_len);
	fw_exchange_receive(&wire->exchange, copy, message_len);
	free(copy);
}

/* `who`: 2 bits the client, 2 bits whose session, 4 bits which headers. */
static struct peer *request_new(const struct step *step, enum what what)
{
	struct client *client = &clients[step->who % CLIENTS];
	const struct client *owner = &clients[(step->who + (step->who >> 2 & 3)) % CLIENTS];
	struct peer *peer;

	if (peer_count == PEERS_MAX || is_closing)
		return NULL;
	peer = peer_new(client, what, true);
	peer->is_current = true;
	if (owner->session_id[0] && !(step->who & 16)) {
		add_header(peer, "Mcp-Session-Id", owner->session_id);
		(void)snprintf(peer->session_id, sizeof peer->session_id, "%s",
			       owner->session_id);
	}
	if (client->version == FW_V_2026_07_28 || step->who & 32)
		add_header(peer, "MCP-Protocol-Version", fw_version_names[client->version]);
	if (step->who & 64)
		peer->exchange.principal = peer->address;
	return peer;
}

static void say_by_http(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	struct step plain = *step;
	struct peer *peer;
	char *copy;

	/* A session begins outside of one. */
	if (step->op % OP_COUNT == OP_REQUEST && strcmp(method_of(step), "initialize") == 0)
		plain.who |= 16;
	peer = request_new(&plain, WHAT_POST);
	if (!peer)
		return;
	if (client->version == FW_V_2026_07_28 && step->op % OP_COUNT == OP_REQUEST) {
		add_header(peer, "Mcp-Method", method_of(step));
		add_header(peer, "Mcp-Name", name_of(step));
	}
	copy = malloc(message_len ? message_len : 1);
	MUST(copy);
	memcpy(copy, message, message_len);
	expect_text(peer, copy, message_len);
	fw_exchange_receive(&peer->exchange, copy, message_len);
	free(copy);
	request_over(peer);
}

static void say(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	struct peer *wire = wires[step->who % CLIENTS];

	TELL("    says   %.*s\n", (int)(message_len < 300 ? message_len : 300), message);
	if (client->kind == KIND_HTTP)
		say_by_http(step);
	else if (wire)
		say_on_wire(client, wire);
}

/* ---- operations --------------------------------------------------------------------------------- */

static void say_step(const struct step *step, unsigned shift)
{
	struct client *client = &clients[step->who % CLIENTS];

	switch (step->op % OP_COUNT) {
	case OP_NOTIFY: put_notification(step, client); break;
	case OP_RESPOND: put_response(step, client); break;
	default: put_request(step, client, shift); break;
	}
}

/* A client (again): kind, version, and whether it shakes hands. */
static void do_open(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	struct step hello = { .op = OP_REQUEST, .who = step->who % CLIENTS, .a = 7, .b = 31 };
	const struct step ready = { .op = OP_NOTIFY, .who = step->who % CLIENTS, .a = 2 };

	if (client->kind != KIND_STDIO) {
		reset_wire(step->who % CLIENTS);
		memset(client, 0, sizeof *client);
		client->kind = step->a & 1 ? KIND_WIRE : KIND_HTTP;
		if (client->kind == KIND_WIRE && !is_closing)
			wires[step->who % CLIENTS] = peer_new(client, WHAT_POST, false);
	}
	client->version = (enum fw_version)(step->b % FW_V_COUNT);
	if (client->version == FW_V_2026_07_28 || step->c & 1)
		return;
	hello.e = step->e;
	message_len = 0;
	put_request(&hello, client, 0);
	say(&hello);
	message_len = 0;
	put_notification(&ready, client);
	say(&ready);
}

static void do_batch(const struct step *step)
{
	size_t count = step->a % 8 + 1;
	unsigned times = step->b % 16 + 1;

	put("[");
	for (size_t i = 0; i < count && step_next + i < step_count; i++) {
		for (unsigned k = 0; k < times; k++) {
			struct step member = steps[step_next + i];

			if (i || k)
				put(",");
			member.who = step->who;
			say_step(&member, 32 * k + 1000 * (unsigned)i * (step->c & 1));
		}
	}
	step_next += count < step_count - step_next ? count : step_count - step_next;
	put("]");
	say(step);
}

static void do_raw(const struct step *step)
{
	size_t count = step->a % 8 + 1;

	if (count > step_count - step_next)
		count = step_count - step_next;
	put_n((const char *)(steps + step_next), count * sizeof *steps);
	step_next += count;
	say(step);
}

static void do_get(const struct step *step)
{
	struct peer *peer = request_new(step, WHAT_GET);
	char text[48];

	if (!peer)
		return;
	peer->strays = 1;
	if (step->a & 1) {
		add_header(peer, "Last-Event-ID", peer->client->event_id);
	} else if (step->a & 2) {
		(void)snprintf(text, sizeof text, "%u_%u", step->b % 4u, step->c % 8u);
		add_header(peer, "Last-Event-ID", text);
	}
	fw_exchange_open_stream(&peer->exchange);
	request_over(peer);
}

static void do_delete(const struct step *step)
{
	struct peer *peer = request_new(step, WHAT_DELETE);

	if (!peer)
		return;
	peer->strays = 1;
	excuse_session(peer->session_id, NULL);
	fw_exchange_end_session(&peer->exchange);
	request_over(peer);
}

static void do_reset(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	size_t skip = step->a;

	if (client->kind == KIND_WIRE) {
		reset_wire(step->who % CLIENTS);
		client->kind = KIND_NONE;
		return;
	}
	if (client->kind == KIND_STDIO && !is_stdio_ended) {
		excuse(wires[STDIO], NULL);
		is_stdio_ended = true;
		(void)close(stdio_ours);
		return;
	}
	for (size_t i = 0; peer_count && i < peer_count; i++) {
		struct peer *peer = peers[(i + skip) % peer_count];

		if (peer->client == client) {
			reset_peer(peer);
			return;
		}
	}
}

static void do_audit(const struct step *step)
{
	struct audit *audit = &audits[step->a & 1];

	audit->mode = step->b;
	audit->refuses_entry = step->c > 240;
	audit->refuses_run = step->d > 240;
}

static void do_release(const struct step *step)
{
	fw_error *err = step->b & 1 ? fw_raise_audit_log_failed("late") : NULL;

	if (!hold_count) {
		fw_error_free(err);
		return;
	}
	let_go(step->a % hold_count, err, step->c & 1);
}

/* What a handler may do before its end. */
static void act(fw_call *call, uint8_t what)
{
	if (what & 1)
		fw_call_progress(call, what, 0, "p");
	if (what & 2)
		fw_call_log(call, FW_LOG_ALERT, NULL, "l");
	if (what & 4)
		fw_call_text(call, "text");
	if (what & 8 && !call->is_answered)
		(void)tool_ask(call, NULL);
	if (what & 16)
		close_stream(call);
}

static void do_finish(const struct step *step)
{
	fw_error *err = step->c & 1 ? fw_raise_tool_failed("late") : NULL;
	uv_thread_t own = server->thread;
	fw_call *call;

	if (!later_count) {
		fw_error_free(err);
		return;
	}
	call = laters[step->a % later_count];
	if (step->d & 1)
		(void)leave_loop();
	act(call, step->b);
	if (step->d & 2) {
		fw_error_free(err); /* it goes on */
	} else {
		laters[step->a % later_count] = laters[later_count - 1];
		later_count--;
		fw_call_finish(call, err);
	}
	server->thread = own;
}

static void do_worker(const struct step *step)
{
	size_t index = step->a;
	fw_call *call;

	if (!running_count)
		return;
	index %= running_count;
	call = running[index];
	if (!call->is_answered)
		act(call, step->b);
	switch (step->c % 4) {
	case 0: worker_ends(index, NULL, false); break;
	case 1: worker_ends(index, fw_raise_tool_failed("no"), false); break;
	case 2: worker_ends(index, fw_raise_tool_crashed("SIGSEGV"), true); break;
	default: break;
	}
}

static void advance(int64_t ms)
{
	now_ns += ms * NS_PER_MS;
}

static void do_clock(const struct step *step)
{
	static const int64_t ms[] = { 1, 100, 1000, 2500, 6000, 61000, 1860000, 90000000 };

	advance(ms[step->a % 8]);
}

static void do_change(const struct step *step)
{
	switch (step->a % 4) {
	case 0: fw_server_tools_changed(server); break;
	case 1: fw_server_prompts_changed(server); break;
	case 2: fw_server_resources_changed(server); break;
	default: fw_server_resource_updated(server, uris[step->b % 3]); break;
	}
}

static void do_no_memory(const struct step *step)
{
	fail_after = (unsigned)step->a + 1;
	fail_count = step->b % 4 == 3 ? step->c : 1;
}

static void do_refuse(const struct step *step)
{
	struct peer *peer = request_new(step, WHAT_REFUSAL);

	if (!peer)
		return;
	peer->strays = 1;
	fw_exchange_refuse(&peer->exchange, step->a & 1 ? fw_raise_input_too_large("message", 9)
							: fw_raise_session_unknown());
	request_over(peer);
}

static void do_page(const struct step *step)
{
	static const char *const paths[] = { "/healthz", "/readyz", "/no" };
	struct peer *peer = request_new(step, WHAT_PAGE);

	if (!peer)
		return;
	peer->exchange.is_page = true;
	fw_exchange_get_page(&peer->exchange, paths[step->a % 3]);
	request_over(peer);
}

static void do_half_close(const struct step *step)
{
	(void)step;
	if (stdio_ours < 0 || is_stdio_ended || is_half_closed || unsent.sent < unsent.len)
		return;
	is_half_closed = true;
	/* The last line needs no newline. */
	if (unsent.len > unsent.line)
		end_line(unsent.len);
	(void)shutdown(stdio_ours, SHUT_WR);
}

/* A line without its end, to which the next message is then glued. */
static void do_part(const struct step *step)
{
	put_request(step, &clients[STDIO], 0);
	send_stdio(message, message_len * step->c / 256);
}

static void do_stop(const struct step *step)
{
	(void)step;
	fw_server_stop(server);
}

static void do_say(const struct step *step)
{
	say_step(step, 0);
	say(step);
}

static void do_turn(const struct step *step)
{
	(void)step;
}

static const struct {
	const char *name;
	void (*run)(const struct step *step);
} ops[OP_COUNT] = {
	[OP_TURN] = { "turn", do_turn },
	[OP_OPEN] = { "open", do_open },
	[OP_REQUEST] = { "request", do_say },
	[OP_BATCH] = { "batch", do_batch },
	[OP_NOTIFY] = { "notify", do_say },
	[OP_RESPOND] = { "respond", do_say },
	[OP_GET] = { "get", do_get },
	[OP_DELETE] = { "delete", do_delete },
	[OP_RESET] = { "reset", do_reset },
	[OP_AUDIT] = { "audit", do_audit },
	[OP_RELEASE] = { "release", do_release },
	[OP_FINISH] = { "finish", do_finish },
	[OP_WORKER] = { "worker", do_worker },
	[OP_CLOCK] = { "clock", do_clock },
	[OP_CHANGE] = { "change", do_change },
	[OP_NO_MEMORY] = { "no-memory", do_no_memory },
	[OP_STOP] = { "stop", do_stop },
	[OP_RAW] = { "raw", do_raw },
	[OP_REFUSE] = { "refuse", do_refuse },
	[OP_PAGE] = { "page", do_page },
	[OP_HALF_CLOSE] = { "half-close", do_half_close },
	[OP_PART] = { "part", do_part },
};

/* ---- what holds between steps ------------------------------------------------------------------ */

static void check_session_count(const struct fw_session *session)
{
	size_t calls = 0;

	for (const fw_call *call = server->calls.first; call; call = call->next)
		calls += call->session == session;
	MUST(calls == session->calls);
}

static void check_counts(void)
{
	size_t listed = 0, listening = 0, in_flight = 0;

	for (const fw_call *call = server->calls.first; call; call = call->next) {
		listed++;
		listening += call->is_listener && !call->is_answered &&
			     call->hold.state != FW_HOLD_HELD;
		in_flight += call->lane != NULL;
	}
	MUST(listed == server->calls.count);
	MUST(listening == server->calls.listeners);
	for (const struct fw_session *s = server->sessions.first; s; s = s->next)
		check_session_count(s);
	for (size_t i = 0; server->calls.lanes && i < server->limits.client_lanes; i++)
		in_flight -= server->calls.lanes[i].in_flight;
	MUST(in_flight == 0);
}

static void check_step(void)
{
	bury_peers();
	if (is_memory_only)
		return;
	check_counts();
	/* Nobody waits for an answer that nobody will give. */
	for (size_t i = 0; i < peer_count; i++)
		MUST(fw_exchange_is_busy(&peers[i]->exchange));
}

/* ---- the end ----------------------------------------------------------------------------------- */

static bool waits_for_client(const fw_call *call)
{
	return call->is_listener || call->questions.outstanding > 0;
}

/* Everything that can be answered has been: what is left waits for its client. */
static void check_settled(void)
{
	size_t waiting = 0, in_batch = 0;

	for (const fw_call *call = server->calls.first; call; call = call->next) {
		MUST(waits_for_client(call));
		if (call->exchange && call->exchange->persistent) {
			waiting += !call->batch;
			in_batch += call->batch != NULL;
		}
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		const struct peer *wire = wires[i];

		if (!wire || had_no_memory)
			continue;
		MUST(count_owed(wire, false) <= waiting);
		MUST(in_batch || count_owed(wire, true) == 0);
	}
}

/* One turn's worth of letting everything come to its end; false: it has. */
static bool let_end(void)
{
	bool was_busy = hold_count || later_count || running_count || sleeping ||
			(stdio_ours >= 0 && !is_stdio_ended && unsent.sent < unsent.len);

	memset(audits, 0, sizeof audits);
	while (hold_count)
		let_go(hold_count - 1, NULL, header.d & 4);
	while (later_count)
		fw_call_finish(laters[--later_count], NULL);
	while (running_count)
		worker_ends(0, NULL, false);
	if (sleeping)
		advance(1000);
	return was_busy;
}

static void on_end(void)
{
	/* The header says whether a stop comes before or after that. */
	if (!is_settled && !(header.d & 1)) {
		MUST(++end_turns < END_TURNS);
		if (let_end() || end_turns < 3)
			return;
		if (server->state == FW_RUNNING && !is_memory_only)
			check_settled();
	}
	is_settled = true;
	fw_server_stop(server);
	advance(200);
	end_turns++;
	MUST(end_turns < END_TURNS);
}

static void print_step(const struct step *step)
{
	TELL("%3zu %-10s who %u  %02x %02x %02x %02x %02x %02x\n", step_next,
	     ops[step->op % OP_COUNT].name, step->who % CLIENTS, step->a, step->b, step->c,
	     step->d, step->e, step->f);
}

static void on_idle(uv_idle_t *handle)
{
	(void)handle;
	read_stdio();
	if (stdio_ours >= 0)
		write_stdio();
	check_step();
	while (step_next < step_count) {
		const struct step *step = &steps[step_next++];

		if (is_skipped[step->op % OP_COUNT])
			continue;
		print_step(step);
		message_len = 0;
		ops[step->op % OP_COUNT].run(step);
		check_step();
		if (step->op % OP_COUNT == OP_TURN || step->op % OP_COUNT == OP_CLOCK)
			return;
	}
	on_end();
	check_step();
}

static void check_closed(void)
{
	MUST(!server->calls.first && server->calls.count == 0 && server->calls.listeners == 0);
	MUST(!server->sessions.first && server->sessions.count == 0);
	MUST(peer_count == 0);
	/* Those who were not waited for let go now. */
	for (int i = 0; i < 4 && let_end(); i++)
		fw_server__take_posts(server);
	fw_server__take_posts(server);
	/* Those who sleep are woken by fw_server_free(). */
	for (size_t i = 0; !sleeping && server->calls.lanes && i < server->limits.client_lanes;
	     i++)
		MUST(server->calls.lanes[i].refs == 0 && server->calls.lanes[i].in_flight == 0);
}

static void reset_world(void)
{
	now_ns = START_NS;
	chance = 1;
	fw_random_forget();
	fail_after = 0;
	fail_count = 0;
	had_no_memory = false;
	moved_count = 0;
	end_turns = 0;
	is_settled = false;
	memset(clients, 0, sizeof clients);
	memset(wires, 0, sizeof wires);
}

static void run_input(const uint8_t *data, size_t size)
{
	long before = blocks;

	reset_world();
	memcpy(&header, data, sizeof header);
	huge_left = header.e >= 192;
	steps = (const struct step *)(const void *)(data + sizeof header);
	step_count = size / sizeof *steps - 1;
	if (step_count > STEPS_MAX)
		step_count = STEPS_MAX;
	step_next = 0;
	server_open(&header);
	open_transports();
	MUST(uv_idle_init(&server->loop, &idle) == 0);
	MUST(uv_idle_start(&idle, on_idle) == 0);
	MUST(!fw_server_run(server));
	if (!is_memory_only)
		check_closed();
	else
		for (int i = 0; i < 4 && let_end(); i++)
			fw_server__take_posts(server);
	uv_close((uv_handle_t *)&idle, NULL);
	fw_server_free(server);
	server = NULL;
	close_stdio();
	while (peer_count)
		forget_peer(peers[0]);
	bury_peers();
	MUST(fw_error_live() == 0);
	MUST(!is_checking_blocks || blocks == before);
	now_ns = 0;
}

/* ---- the fuzzer's side --------------------------------------------------------------------------- */

static void read_skipped(void)
{
	for (size_t i = 0; i < OP_COUNT; i++)
		is_skipped[i] = skips(ops[i].name);
}

/* Tables that the library makes once are made by this one. */
static void warm_up(void)
{
	static const struct step first[] = {
		{ 0 },
		{ .op = OP_OPEN, .who = 0, .a = 1 },
		{ .op = OP_REQUEST, .who = 0, .d = 1 },
	};

	is_warm = true;
	now_ns = START_NS;
	MUST(uv_hrtime() == (uint64_t)START_NS); /* or libuv has another clock */
	run_input((const uint8_t *)first, sizeof first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const fw_allocator allocator = { allocate, reallocate, release, NULL };

	if (!is_warm) {
		is_late_free = getenv("FW_FUZZ_LATE_FREE") != NULL;
		is_memory_only = getenv("FW_FUZZ_MEMORY_ONLY") != NULL;
		read_skipped();
		fw_allocator_set(&allocator);
		warm_up();
		is_verbose = getenv("FW_FUZZ_STEPS") != NULL;
		is_checking_blocks = true;
	}
	if (size >= 2 * sizeof(struct step))
		run_input(data, size);
	return 0;
}

/* The fuzzer's own mutator; not there in the standalone program. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max, unsigned seed);

static unsigned pick(unsigned *seed, size_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned)((*seed >> 8) % (below ? below : 1));
}

static void fill_step(struct step *step, unsigned *seed)
{
	uint8_t *bytes = (uint8_t *)step;

	for (size_t i = 0; i < sizeof *step; i++)
		bytes[i] = pick(seed, 3) ? (uint8_t)pick(seed, 256) : 0;
	step->op = (uint8_t)pick(seed, OP_COUNT);
	/* Strange texts and strange headers end most conversations. */
	if (pick(seed, 4))
		step->f &= 0x0f;
	if (pick(seed, 4))
		step->who &= 3;
}

/* Whole steps are added, removed, moved and changed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct step *list = (struct step *)(void *)data;
	size_t most = max / sizeof *list < STEPS_MAX ? max / sizeof *list : STEPS_MAX;
	size_t count = size / sizeof *list;
	size_t at, other;

	if (count < 2 || pick(&seed, 8) == 0) {
		if (count < 2 && most >= 3) {
			memset(data, 0, sizeof *list);
			fill_step(&list[1], &seed);
			fill_step(&list[2], &seed);
			return 3 * sizeof *list;
		}
		return LLVMFuzzerMutate(data, size, max);
	}
	for (unsigned times = 1 + pick(&seed, 3); times; times--) {
		at = 1 + pick(&seed, count - 1);
		other = 1 + pick(&seed, count - 1);
		switch (pick(&seed, 8)) {
		case 0:
		case 1:
			if (count < most) {
				memmove(&list[at + 1], &list[at],
					(count++ - at) * sizeof *list);
				fill_step(&list[at], &seed);
			}
			break;
		case 2:
			if (count < most) {
				struct step copy = list[other];

				memmove(&list[at + 1], &list[at],
					(count++ - at) * sizeof *list);
				list[at] = copy;
			}
			break;
		case 3:
			if (count > 2)
				memmove(&list[at], &list[at + 1],
					(--count - at) * sizeof *list);
			break;
		case 4: {
			struct step copy = list[at];

			list[at] = list[other];
			list[other] = copy;
			break;
		}
		case 5:
			if (count < most)
				fill_step(&list[count++], &seed);
			break;
		case 6:
			data[pick(&seed, 8) + (pick(&seed, 4) ? at * sizeof *list : 0)] =
				(uint8_t)pick(&seed, 256);
			break;
		default: list[at].who = (uint8_t)((list[at].who & ~3u) | pick(&seed, 4)); break;
		}
	}
	return count * sizeof *list;
}

/* The beginning of one, then the end of another. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b,
				 size_t b_size, uint8_t *out, size_t max, unsigned seed)
{
	size_t head = (1 + pick(&seed, a_size / 8)) * 8;
	size_t skip = (1 + pick(&seed, b_size / 8)) * 8;
	size_t tail;

	if (head > a_size || head > max)
		return 0;
	tail = skip < b_size ? b_size - skip : 0;
	if (tail > max - head)
		tail = (max - head) / 8 * 8;
	memcpy(out, a, head);
	memcpy(out + head, b + skip, tail);
	return head + tail;
}
