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
#include "conversation_mutate.h"
#include "conversation_transport.h"

enum {
	END_TURNS = 400,
	QUIET_TURNS = 3, /* after which nothing more is expected to happen */
};

static const struct step *steps;
static size_t step_count, step_next;
static uv_idle_t idle;
static unsigned end_turns, quiet_turns;
static bool is_settled;
static bool is_warm, is_checking_blocks;
static bool is_skipped[OP_COUNT];

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
	static const char *const paths[] = { "/healthz", "/readyz", "/no",
					     "/later/x", "/events", "/twice" };
	static const char *const verbs[] = { "GET", "HEAD", "POST" };
	static const char *const called[] = { "/call/echo", "/call/fail", "/call/later",
					      "/call/work", "/call/ask",  "/call/none" };
	bool is_call = step->f & 1;
	struct fw_page_request request = {
		.method = is_call ? "POST" : verbs[step->b % 3],
		.path = is_call ? called[step->b % 6] : paths[step->a % 8 % 6],
		.body = step->f & 2 ? "{\"text\":\"t\"}" : "{}",
		.len = step->f & 2 ? 12 : 2,
	};
	struct peer *peer;

	if (step->a % 8 >= 6) {
		act_on_page(step);
		return;
	}
	peer = request_new(step, WHAT_PAGE);
	if (!peer)
		return;
	peer->may_close = true; /* the end of a stream */
	peer->exchange.is_page = true;
	fw_exchange_open_page(&peer->exchange, &request);
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

static void check_page_counts(void)
{
	size_t pending = 0, streams = 0;

	for (const fw_page *page = server->pages.open; page; page = page->next) {
		MUST(page->exchange && page->exchange->page == page);
		pending += page->state == FW_PAGE_PENDING;
		streams += page->state == FW_PAGE_STREAMING;
	}
	MUST(pending == server->pages.pending && streams == server->pages.streams);
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
	check_page_counts();
}

static void check_step(void)
{
	free_peers();
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
		MUST(count_pending(wire, false) <= waiting);
		MUST(in_batch || count_pending(wire, true) == 0);
	}
}

/* One turn's worth of letting everything come to its end; false: it has. */
static bool let_end(void)
{
	bool was_busy = hold_count || later_count || running_count || sleeping || kept_count ||
			has_unread_input();

	memset(audits, 0, sizeof audits);
	while (hold_count)
		let_go(hold_count - 1, NULL, header.d & 4);
	while (later_count)
		fw_call_finish(laters[--later_count], NULL);
	while (kept_count)
		finish_page(0, NULL);
	while (running_count)
		worker_ends(0, NULL, false);
	if (sleeping)
		advance(1000);
	return was_busy;
}

/* `has_read`: stdio had something to say in this turn. */
static void on_end(bool has_read)
{
	/* The header says whether a stop comes before or after that. */
	if (!is_settled && !(header.d & 1)) {
		MUST(++end_turns < END_TURNS);
		quiet_turns = let_end() || has_read ? 0 : quiet_turns + 1;
		/* A timer's answer is written after this callback, and read in the
		 * next turn. */
		if (quiet_turns < QUIET_TURNS)
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
	bool has_read = read_stdio();

	(void)handle;
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
	on_end(has_read);
	check_step();
}

static void check_closed(void)
{
	MUST(!server->calls.first && server->calls.count == 0 && server->calls.listeners == 0);
	MUST(!server->sessions.first && server->sessions.count == 0);
	MUST(!server->pages.open);
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
	quiet_turns = 0;
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
	add_pages();
	open_transports();
	MUST(uv_idle_init(server->loop, &idle) == 0);
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
	free_peers();
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
