/*
 * conversation_world.h - everything around the server in fuzz_conversation.c: a
 * clock that stands still, random numbers that repeat, an allocator that counts
 * and fails on request, tools, observers that hold replies, and a runner whose
 * workers die on request.
 *
 * The one rule to remember: nothing here depends on the machine, so that one
 * input always takes the same path.
 */
#ifndef FW_CONVERSATION_WORLD_H
#define FW_CONVERSATION_WORLD_H

#include "fuzz.h"

#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/server.h>

#include "../src/base/id.h"
#include "../src/base/mem.h"
#include "../src/mcp/batch.h"
#include "../src/mcp/boundary.h"
#include "../src/mcp/call.h"
#include "../src/mcp/hold.h"
#include "../src/mcp/lane.h"
#include "../src/mcp/method.h"
#include "../src/mcp/offer.h"
#include "../src/mcp/owner.h"
#include "../src/mcp/post.h"
#include "../src/mcp/run.h"
#include "../src/mcp/runner.h"
#include "../src/mcp/server.h"
#include "../src/mcp/session.h"
#include "../src/mcp/shared.h"
#include "../src/mcp/transport.h"
#include "../src/policy/breaker.h"

enum { STEPS_MAX = 100, HOLDS_MAX = 256, LATERS_MAX = 64, SLOTS = 2 };

#define NS_PER_MS INT64_C(1000000)
#define START_NS (INT64_C(1800000000) * 1000 * NS_PER_MS)

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

/* A step of the schedule: what to do, whose turn it is, and parameters. */
struct step {
	uint8_t op, who, a, b, c, d, e, f;
};

static fw_server *server;
static bool is_verbose;     /* FW_FUZZ_STEPS is set */
static bool is_memory_only; /* FW_FUZZ_MEMORY_ONLY is set: sanitizers decide alone */
static bool is_late_free;   /* FW_FUZZ_LATE_FREE is set: requests are freed after a step */
static bool had_no_memory;  /* an allocation of this input has failed */

#define TELL(...) ((void)(is_verbose && fprintf(stderr, __VA_ARGS__)))

/* FW_FUZZ_SKIP="no-memory,stop": leave these operations out, for fuzzing on while what
 * they find is not fixed. */
static bool skips(const char *name)
{
	const char *list = getenv("FW_FUZZ_SKIP");

	return list && strstr(list, name);
}

/* ---- time and chance ------------------------------------------------------------ */

static int64_t now_ns; /* 0: outside of an input, where the real time counts */

/* These two take the place of libc's, also for libuv. */
#define EXPORTED __attribute__((visibility("default")))

/* Monotonic clocks alone: libFuzzer measures how long an input takes by the other. */
EXPORTED int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (!now_ns || clock == CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	ret->tv_sec = now_ns / (1000 * NS_PER_MS);
	ret->tv_nsec = now_ns % (1000 * NS_PER_MS);
	return 0;
}

static uint64_t chance;

EXPORTED ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
	unsigned char *to = bytes;

	(void)flags;
	for (size_t i = 0; i < len; i++) {
		chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
		to[i] = (unsigned char)(chance >> 56);
	}
	return (ssize_t)len;
}

/* ---- memory ----------------------------------------------------------------------- */

static long blocks;         /* allocated and not released */
static unsigned fail_after; /* 0: no allocation fails */
static unsigned fail_count; /* how many in a row */

static bool fails_now(void)
{
	if (!fail_after || --fail_after)
		return false;
	had_no_memory = true;
	if (fail_count && --fail_count)
		fail_after = 1;
	return true;
}

static void *allocate(void *ctx, size_t size)
{
	void *ptr = fails_now() ? NULL : malloc(size);

	(void)ctx;
	blocks += ptr != NULL;
	return ptr;
}

static void *reallocate(void *ctx, void *ptr, size_t size)
{
	void *moved = fails_now() ? NULL : realloc(ptr, size);

	(void)ctx;
	blocks += moved && !ptr;
	return moved;
}

static void release(void *ctx, void *ptr)
{
	(void)ctx;
	blocks--;
	free(ptr);
}

/* ---- another thread ----------------------------------------------------------------- */

/* The server believes that it is called from a thread that is not its loop's. */
static uv_thread_t leave_loop(void)
{
	uv_thread_t own = server->thread;

	memset(&server->thread, 0x5a, sizeof server->thread);
	return own;
}

/* ---- observers ------------------------------------------------------------------------ */

enum audit_mode { AUDIT_PASS, AUDIT_HOLD_FAILURES, AUDIT_HOLD_ALL, AUDIT_FAIL, AUDIT_NOW };
enum { AUDIT_MODES = 5 };

struct audit {
	uint8_t mode;
	bool refuses_entry;
	bool refuses_run;
};

static struct audit audits[2];
static fw_hold *holds[HOLDS_MAX];
static size_t hold_count;

static bool on_replying(void *ctx, const fw_outcome *outcome, fw_hold *hold)
{
	const struct audit *audit = ctx;

	switch (audit->mode % AUDIT_MODES) {
	case AUDIT_HOLD_FAILURES:
		if (!outcome->error)
			return false;
		break;
	case AUDIT_HOLD_ALL: break;
	case AUDIT_FAIL: fw_hold_release(hold, fw_raise_audit_log_failed("full")); return true;
	case AUDIT_NOW: fw_hold_release(hold, NULL); return true;
	default: return false;
	}
	if (hold_count == HOLDS_MAX)
		return false;
	holds[hold_count++] = hold;
	return true;
}

static fw_error *on_entering(void *ctx, const fw_outcome *coming)
{
	(void)coming;
	return ((struct audit *)ctx)->refuses_entry ? fw_raise_tool_failed("not now") : NULL;
}

static fw_error *on_admitting(void *ctx, const fw_outcome *coming)
{
	(void)coming;
	return ((struct audit *)ctx)->refuses_run ? fw_raise_audit_log_failed("down") : NULL;
}

static void on_failing(void *ctx, const fw_outcome *outcome, fw_error *err)
{
	size_t len = 0;
	char *arguments = fw_outcome_arguments(outcome, &len);

	(void)ctx;
	MUST(!arguments || strlen(arguments) == len);
	fw_free(arguments);
	fw_error_add_string(err, "seen", "yes");
}

static void let_go(size_t index, fw_error *err, bool is_elsewhere)
{
	fw_hold *hold = holds[index];

	holds[index] = holds[--hold_count];
	if (is_elsewhere) {
		uv_thread_t own = leave_loop();

		fw_hold_release(hold, err);
		server->thread = own;
	} else {
		fw_hold_release(hold, err);
	}
}

/* ---- tools ------------------------------------------------------------------------------ */

static fw_call *laters[LATERS_MAX]; /* FW_RUN_ASYNC: to be finished by a step */
static size_t later_count;
static unsigned sleeping; /* calls that wait for their timer */

static fw_error *tool_echo(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_string(call, "text", &len);

	(void)ctx;
	fw_call_progress(call, 1, 2, "half");
	fw_call_log(call, FW_LOG_WARNING, "echo", text);
	fw_call_text_n(call, text, len);
	return NULL;
}

static fw_error *tool_fail(fw_call *call, void *ctx)
{
	(void)ctx;
	return fw_raise_tool_failed(fw_call_json(call, NULL, NULL));
}

static fw_error *tool_big(fw_call *call, void *ctx)
{
	int64_t n = fw_call_i64(call, "n", 1) % 64;

	(void)ctx;
	for (int64_t i = 0; i <= n; i++) {
		fw_call_progress(call, (double)i, 0, NULL);
		fw_call_textf(call, "%100d", (int)i);
	}
	return NULL;
}

static fw_error *tool_mirror(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *json = fw_call_json(call, "value", &len);

	(void)ctx;
	if (json)
		fw_call_structured(call, json, len);
	return NULL;
}

/* The stream of a call ends without its answer, which is then no failure. */
static void close_stream(fw_call *call);

static fw_error *tool_later(fw_call *call, void *ctx)
{
	if (later_count == LATERS_MAX)
		return fw_raise_tool_failed("too many");
	laters[later_count++] = call;
	if (ctx)
		close_stream(call);
	return NULL;
}

static void wake(fw_call *call, void *ctx)
{
	(void)ctx;
	sleeping--;
	fw_call_text(call, "later");
	fw_call_finish(call, NULL);
}

static fw_error *tool_sleep(fw_call *call, void *ctx)
{
	const struct fw_later *before = server->runners.laters;

	(void)ctx;
	fw_call_after(call, 1000, wake, NULL);
	/* Without memory the call has failed by now. */
	sleeping += server->runners.laters != before;
	return NULL;
}

static fw_error *tool_ask(fw_call *call, void *ctx)
{
	const char *name =
		fw_call_ask(call, "name", "elicitation/create",
			    "{\"message\":\"Who?\",\"requestedSchema\":{\"type\":\"object\","
			    "\"properties\":{\"name\":{\"type\":\"string\"}}}}");

	(void)ctx;
	if (fw_call_client_can(call, "roots") &&
	    !fw_call_ask(call, "roots", "roots/list", NULL))
		return NULL;
	if (name) {
		name = fw_call_answer(call, "name", "/content/name");
		fw_call_textf(call, "Hello, %s", name ? name : "nobody");
	}
	return NULL;
}

static fw_error *tool_keep(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_state(call, &len);

	(void)ctx;
	fw_call_text_n(call, text, len);
	text = fw_call_string(call, "text", &len);
	if (text)
		fw_call_set_state(call, text, len);
	return NULL;
}

static fw_error *read_resource(fw_call *call, void *ctx)
{
	const char *id = fw_call_string(call, "id", NULL);

	(void)ctx;
	fw_call_resource_text(call, fw_call_name(call), "text/plain", id ? id : "content");
	return NULL;
}

static fw_error *get_prompt(fw_call *call, void *ctx)
{
	const char *topic = fw_call_string(call, "topic", NULL);

	(void)ctx;
	fw_call_description(call, "a prompt");
	fw_call_text(call, topic ? topic : "");
	return NULL;
}

static fw_error *complete_value(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_value(call, fw_call_string(call, "value", NULL));
	return NULL;
}

/* ---- a runner --------------------------------------------------------------------------- */

static struct fw_runner runner;
static fw_call *running[SLOTS + 1];
static size_t running_count;
static bool is_runner_closed;

static bool runner_take(struct fw_runner *self, fw_call *call, bool beyond)
{
	if (is_runner_closed || running_count >= SLOTS + (beyond ? 1u : 0u))
		return false;
	call->run.runner = self;
	running[running_count++] = call;
	return true;
}

static void runner_abandon(struct fw_runner *self, fw_call *call)
{
	(void)self;
	(void)call; /* until a step ends it */
}

static void worker_ends(size_t index, fw_error *err, bool has_died)
{
	fw_call *call = running[index];
	struct fw_breaker *breaker = call->request.offer->breaker;

	running[index] = running[--running_count];
	if (has_died) {
		fw_shared_end(call, false);
		fw_breaker_crashed(breaker, uv_now(server->loop), call, 3, 1000);
	} else {
		fw_breaker_worked(breaker);
	}
	fw_call_complete(call, err);
}

static void runner_close(struct fw_runner *self)
{
	(void)self;
	is_runner_closed = true;
	while (running_count)
		worker_ends(0, fw_raise_tool_crashed("SIGKILL"), true);
}

static void runner_free(struct fw_runner *self)
{
	(void)self;
}

static fw_error *never_run(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	abort(); /* it is the workers' */
}

/* ---- the server --------------------------------------------------------------------------- */

static void add_tool(const char *name, fw_handler *handler, fw_run run, void *ctx,
		     const char *input, const char *output)
{
	fw_tool tool = FW_TOOL_INIT;

	tool.name = name;
	tool.handler = handler;
	tool.run = run;
	tool.ctx = ctx;
	tool.input_schema = input;
	tool.output_schema = output;
	tool.deadline_ms = run == FW_RUN_ASYNC ? 5000 : 0;
	MUST(!fw_server_add_tool(server, &tool));
}

/* A tool of workers, without workers: runner.h is the border. */
static void add_worker_tool(void)
{
	static const struct fw_runner_ops ops = { .take = runner_take,
						  .abandon = runner_abandon,
						  .close = runner_close,
						  .free = runner_free };
	struct fw_offer *offer;

	memset(&runner, 0, sizeof runner);
	runner.ops = &ops;
	running_count = 0;
	is_runner_closed = false;
	MUST(!fw_runner_attach(&runner, server));
	add_tool("work", never_run, FW_RUN_INLINE, NULL, NULL, NULL);
	offer = server->offers.tools.items[server->offers.tools.count - 1];
	offer->run = FW_RUN_PROCESS;
	offer->runner = &runner;
	offer->deadline_ms = 3000;
	offer->breaker = fw__allocate(sizeof *offer->breaker);
	MUST(offer->breaker);
	memset(offer->breaker, 0, sizeof *offer->breaker);
}

static void add_tools(void)
{
	static char closes;
	fw_tool keep = FW_TOOL_INIT;

	add_tool("echo", tool_echo, FW_RUN_INLINE, NULL,
		 "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\","
		 "\"maxLength\":64},\"region\":{\"type\":\"string\",\"x-mcp-header\":"
		 "\"Region\"}},\"required\":[\"text\"]}",
		 NULL);
	add_tool("fail", tool_fail, FW_RUN_INLINE, NULL, NULL, NULL);
	add_tool("big", tool_big, FW_RUN_INLINE, NULL, NULL, NULL);
	add_tool("mirror", tool_mirror, FW_RUN_INLINE, NULL, NULL,
		 "{\"type\":\"object\",\"required\":[\"sum\"]}");
	add_tool("later", tool_later, FW_RUN_ASYNC, NULL, NULL, NULL);
	add_tool("drop", tool_later, FW_RUN_ASYNC, &closes, NULL, NULL);
	add_tool("sleep", tool_sleep, FW_RUN_ASYNC, NULL, NULL, NULL);
	add_tool("ask", tool_ask, FW_RUN_INLINE, NULL, NULL, NULL);
	keep.name = "keep";
	keep.handler = tool_keep;
	MUST(!fw_server_add_state(server, "0", 1, &keep.state));
	MUST(!fw_server_add_tool(server, &keep));
	add_worker_tool();
}

static void add_offers(void)
{
	static const fw_prompt_argument topic = { "topic", "what about", true };
	const fw_resource fixed = { .struct_size = sizeof(fw_resource),
				    .uri = "test://fixed",
				    .name = "fixed",
				    .handler = read_resource };
	const fw_resource item = { .struct_size = sizeof(fw_resource),
				   .uri = "test://item/{id}",
				   .name = "item",
				   .handler = read_resource,
				   .complete = complete_value };
	const fw_prompt prompt = { .struct_size = sizeof(fw_prompt),
				   .name = "topic",
				   .arguments = &topic,
				   .argument_count = 1,
				   .handler = get_prompt,
				   .complete = complete_value };

	MUST(!fw_server_add_resource(server, &fixed));
	MUST(!fw_server_add_resource(server, &item));
	MUST(!fw_server_add_prompt(server, &prompt));
}

static void set_limit(const char *name, uint64_t value)
{
	MUST(!fw_server_set_limit(server, name, value));
}

/* Bits of the header choose limits that are soon reached. */
static void set_limits(uint8_t bits)
{
	if (bits & 1) {
		set_limit("in_flight", 4);
		set_limit("client_in_flight", 3);
	}
	if (bits & 2)
		set_limit("sessions", 2);
	if (bits & 4) {
		set_limit("stream_events", 2);
		set_limit("stream_bytes", 1024);
	}
	if (bits & 8)
		set_limit("result_bytes", 1024);
	if (bits & 16) {
		set_limit("questions", 1);
		set_limit("rounds", 2);
		set_limit("answer_bytes", 64);
	}
	if (bits & 32) {
		set_limit("queue_length", 2);
		set_limit("client_queue_length", 1);
		set_limit("client_lanes", 1);
	}
	if (bits & 64)
		set_limit("calls_per_second", 1);
	if (bits & 128) {
		set_limit("listeners", 1);
		set_limit("subscriptions", 1);
		set_limit("batch_messages", 3);
		set_limit("message_bytes", 1024);
	}
}

static void server_open(const struct step *header)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_observer observer = { .struct_size = sizeof(fw_observer),
				 .entering = on_entering,
				 .admitting = on_admitting,
				 .failing = on_failing,
				 .replying = on_replying };

	options.name = "fuzz";
	options.version = "1";
	options.page_size = 3;
	options.keep_signals = true;
	options.deadline_ms = header->b & 1 ? 2000 : 0;
	options.contract = (fw_contract)(header->b >> 1 & 7) < FW_CONTRACT_COUNT
				   ? (fw_contract)(header->b >> 1 & 7)
				   : FW_AUTO;
	memset(audits, 0, sizeof audits);
	hold_count = 0;
	later_count = 0;
	sleeping = 0;
	MUST(!fw_server_new(&options, &server));
	set_limits(header->a);
	for (size_t i = 0; i < 2; i++) {
		observer.ctx = &audits[i];
		MUST(!fw_server_add_observer(server, &observer));
	}
	add_tools();
	add_offers();
}

#endif
