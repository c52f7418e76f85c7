/*
 * queue_test.c - rules of the queue, with a runner that runs nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/lane.h"
#include "mcp/offer.h"
#include "mcp/queue.h"
#include "mcp/runner.h"
#include "mcp/server.h"

enum { CLIENTS = 6, TOOLS = 4, CALLS_MAX = 20000 };

/* ---- a runner, and a server with nothing else ---------------------------------- */

struct fake {
	struct fw_runner base;
	size_t slots;
	size_t most; /* with those beyond */
	size_t busy;
	fw_call *order[CALLS_MAX]; /* as they were taken */
	bool was_beyond[CALLS_MAX];
	size_t count;
	bool is_failing; /* ends calls instead of running them */
};

static fw_server *server;
static struct fake fake;
static struct fw_offer offers[TOOLS];
static struct fw_load loads[TOOLS];
static fw_call *made[CALLS_MAX];
static size_t made_count;
static uint64_t now_ns;
static double last_retry;
static char last_error[64], last_message[128];

static uint64_t clock_ns(void)
{
	return now_ns;
}

static bool take(struct fw_runner *runner, fw_call *call, bool beyond)
{
	if (fake.busy >= (beyond ? fake.most : fake.slots))
		return false;
	assert_ptr_equal(runner, &fake.base);
	assert_false(call->run.wait.is_waiting);
	if (fake.is_failing) {
		call->run.is_active = false;
		return true;
	}
	fake.busy++;
	fake.was_beyond[fake.count] = beyond;
	fake.order[fake.count++] = call;
	return true;
}

static const struct fw_runner_ops ops = { .take = take };

static void finished(void *ctx, const fw_outcome *outcome)
{
	(void)ctx;
	(void)snprintf(last_error, sizeof last_error, "%s", fw_error_name(outcome->error));
	(void)snprintf(last_message, sizeof last_message, "%s",
		       fw_error_message(outcome->error));
	last_retry = fw_error_retry_after(outcome->error);
}

static int begin(void **state)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	const fw_observer observer = { .struct_size = sizeof(fw_observer),
				       .finished = finished };

	(void)state;
	options.name = options.version = "x";
	assert_null(fw_server_new(&options, &server));
	assert_null(fw_server_add_observer(server, &observer));
	memset(&fake, 0, sizeof fake);
	memset(loads, 0, sizeof loads);
	for (int i = 0; i < TOOLS; i++)
		offers[i] = (struct fw_offer){ .load = &loads[i] };
	server->calls.lanes =
		fw__allocate(server->limits.client_lanes * sizeof *server->calls.lanes);
	memset(server->calls.lanes, 0,
	       server->limits.client_lanes * sizeof *server->calls.lanes);
	fake.base.ops = &ops;
	fake.slots = fake.most = 4;
	made_count = 0;
	now_ns = 1;
	assert_null(fw_runner_attach(&fake.base, server));
	fw_queue_set_clock(fake.base.queue, clock_ns);
	server->runners.first = NULL; /* it is ours */
	return 0;
}

static int end(void **state)
{
	(void)state;
	fw_queue_free(fake.base.queue);
	for (size_t i = 0; i < made_count; i++) {
		made[i]->run.wait.is_waiting = false;
		free(made[i]);
	}
	fw_server_free(server);
	return 0;
}

/* A call of the client and tool, already begun. Never freed before the end. */
static fw_call *make(int client, int tool)
{
	fw_call *call = calloc(1, sizeof *call);

	assert_non_null(call);
	atomic_store(&call->refs, 1000);
	call->server = server;
	call->request.offer = &offers[tool];
	call->lane = &server->calls.lanes[client];
	call->run.is_active = true;
	call->request.log_level = -1;
	made[made_count++] = call;
	return call;
}

static fw_call *enter(int client, int tool)
{
	fw_call *call = make(client, tool);

	fw_queue_enter(&fake.base, call);
	return call;
}

static void end_run(fw_call *call)
{
	fake.busy--;
	call->run.is_active = false;
	fw_runner_freed(&fake.base, call);
}

static int client_of(const fw_call *call)
{
	return (int)(call->lane - server->calls.lanes);
}

static int tool_of(const fw_call *call)
{
	return (int)(call->request.offer - offers);
}

/* ---- laws ------------------------------------------------------------------------ */

static void test_queue__one_client_alone_may_have_all_slots(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		(void)enter(0, 0);
	assert_int_equal(fake.count, 4);
	assert_int_equal(fw_queue_waiting(fake.base.queue), 6);
	for (size_t i = 0; i < 6; i++)
		end_run(fake.order[i]);
	assert_int_equal(fake.count, 10);
	for (size_t i = 0; i < 10; i++)
		assert_ptr_equal(fake.order[i], made[i]);
}

static void test_queue__a_flood_delays_another_client_by_one_turn(void **state)
{
	fw_call *other;

	(void)state;
	for (int i = 0; i < 100; i++)
		(void)enter(0, 0);
	other = enter(1, 0);
	end_run(fake.order[0]);
	end_run(fake.order[1]);
	assert_true(fake.order[4] == other || fake.order[5] == other);
}

static void test_queue__a_client_gets_no_more_than_its_share_while_others_wait(void **state)
{
	size_t held = 0;

	(void)state;
	for (int i = 0; i < 50; i++)
		(void)enter(0, 0);
	for (int i = 0; i < 50; i++)
		(void)enter(1, 0);
	for (size_t i = 0; i < 4; i++)
		end_run(fake.order[i]);
	for (size_t i = 4; i < 8; i++)
		held += client_of(fake.order[i]) == 0;
	assert_int_equal(held, 2);
}

static void test_queue__a_slow_tool_leaves_slots_for_others(void **state)
{
	size_t slow = 0;

	(void)state;
	/* One client: its fast calls do not wait behind its slow ones. */
	for (int i = 0; i < 20; i++)
		(void)enter(0, 0);
	for (int i = 0; i < 20; i++)
		(void)enter(0, 1);
	for (size_t i = 0; i < 8; i++)
		end_run(fake.order[i]);
	for (size_t i = 8; i < fake.count; i++)
		slow += tool_of(fake.order[i]) == 0;
	assert_true(slow <= 3);
	assert_true(slow < fake.count - 8);
}

static void test_queue__hung_slots_do_not_keep_others_out(void **state)
{
	fw_call *client, *tool;

	(void)state;
	fake.most = 6;
	for (int i = 0; i < 10; i++)
		(void)enter(0, 0);
	/* The flood itself gets nothing beyond. */
	assert_int_equal(fake.count, 4);
	client = enter(1, 0);
	assert_ptr_equal(fake.order[4], client);
	assert_true(fake.was_beyond[4]);
	tool = enter(0, 1);
	assert_ptr_equal(fake.order[5], tool);
	assert_true(fake.was_beyond[5]);
	/* Now it has something running. */
	(void)enter(1, 0);
	assert_int_equal(fake.count, 6);
	(void)enter(2, 2);
	assert_int_equal(fake.count, 6);
}

static void test_queue__no_client_starves(void **state)
{
	fw_call *wanted;
	bool is_taken = false;

	(void)state;
	/* Tool 0 has its share, of client 0; client 2 keeps coming with tool 1.
	 * Whenever tool 0 has room, client 0 waits for it, too. */
	fake.slots = 2;
	server->limits.tool_share_percent = 50;
	(void)enter(0, 0);
	(void)enter(2, 1);
	for (int i = 0; i < 5; i++) {
		(void)enter(2, 1);
		(void)enter(0, 0);
	}
	wanted = enter(1, 0);
	for (size_t i = 0; i < 8 && !is_taken; i++) {
		end_run(fake.order[i]);
		(void)enter(2, 1);
		(void)enter(0, 0);
		for (size_t n = 0; n < fake.count; n++)
			is_taken = is_taken || fake.order[n] == wanted;
	}
	assert_true(is_taken);
}

static void test_queue__beyond_its_length_it_says_so_and_when_to_return(void **state)
{
	fw_call *call;

	(void)state;
	server->limits.client_queue_length = 3;
	server->limits.queue_length = 5;
	/* Runs take two seconds. */
	(void)enter(0, 0);
	now_ns += 2000000000;
	end_run(fake.order[0]);
	for (int i = 0; i < 7; i++)
		(void)enter(0, 0);
	assert_int_equal(fw_queue_waiting(fake.base.queue), 3);
	call = enter(0, 0);
	assert_true(call->is_answered);
	assert_false(call->run.wait.is_waiting);
	assert_string_equal(last_error, "server.overloaded");
	assert_non_null(strstr(last_message, "3 waiting calls of one client"));
	/* 3 calls of 2 s on 4 slots. */
	assert_true(last_retry == 2);
	(void)enter(1, 0);
	(void)enter(1, 0);
	(void)enter(2, 0);
	assert_non_null(strstr(last_message, "5 waiting calls"));
	assert_int_equal(fw_queue_waiting(fake.base.queue), 5);
}

static void test_queue__who_leaves_is_not_served(void **state)
{
	fw_call *calls[6];

	(void)state;
	fake.slots = fake.most = 1;
	(void)enter(0, 0);
	for (int i = 0; i < 6; i++)
		calls[i] = enter(0, i % 2);
	assert_true(fw_queue_leave(&fake.base, calls[0])); /* a head */
	assert_true(fw_queue_leave(&fake.base, calls[3])); /* amid */
	assert_true(fw_queue_leave(&fake.base, calls[4])); /* a last */
	assert_false(fw_queue_leave(&fake.base, calls[4]));
	assert_false(fw_queue_leave(&fake.base, fake.order[0]));
	for (size_t i = 0; i < fake.count; i++)
		end_run(fake.order[i]);
	assert_int_equal(fake.count, 4);
	assert_int_equal(fw_queue_waiting(fake.base.queue), 0);
	for (size_t i = 0; i < TOOLS; i++)
		assert_int_equal(loads[i].waiting + loads[i].running, 0);
}

static void test_queue__a_call_that_cannot_begin_holds_no_slot(void **state)
{
	(void)state;
	fake.is_failing = true;
	for (int i = 0; i < 10; i++)
		(void)enter(0, 0);
	assert_int_equal(loads[0].running, 0);
	fake.is_failing = false;
	for (int i = 0; i < 4; i++)
		(void)enter(0, 0);
	assert_int_equal(fake.count, 4);
}

static void *no_memory(void *ctx, size_t size)
{
	(void)ctx;
	(void)size;
	return NULL;
}

static void *no_more_memory(void *ctx, void *ptr, size_t size)
{
	(void)ptr;
	return no_memory(ctx, size);
}

static void keep_memory(void *ctx, void *ptr)
{
	(void)ctx;
	(void)ptr;
}

static void test_queue__is_not_made_without_memory(void **state)
{
	static struct fake other = { .base = { .ops = &ops } };
	const fw_allocator nothing = { no_memory, no_more_memory, keep_memory, NULL };
	fw_error *err;

	(void)state;
	fw_allocator_set(&nothing);
	err = fw_runner_attach(&other.base, server);
	fw_allocator_set(NULL);
	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "internal.out_of_memory");
	fw_error_free(err);
}

/* ---- against a plain model --------------------------------------------------------- */

/*
 * The same rules without lists: every choice looks at every waiting call. A
 * lane and a strand have the moment at which they went to the back.
 */
struct model_call {
	fw_call *call;
	int client, tool;
};

static struct model_call waiting[CALLS_MAX];
static size_t waiting_count;
static fw_call *running[64];
static size_t running_count;
static uint64_t lane_back[CLIENTS], strand_back[CLIENTS][TOOLS], moments;
static size_t capacity;

static size_t count_waiting(int client, int tool)
{
	size_t count = 0;

	for (size_t i = 0; i < waiting_count; i++)
		count += (client < 0 || waiting[i].client == client) &&
			 (tool < 0 || waiting[i].tool == tool);
	return count;
}

static size_t count_running(int client, int tool)
{
	size_t count = 0;

	for (size_t i = 0; i < running_count; i++)
		count += (client < 0 || client_of(running[i]) == client) &&
			 (tool < 0 || tool_of(running[i]) == tool);
	return count;
}

static size_t part(uint64_t percent)
{
	return capacity * percent / 100 ? capacity * percent / 100 : 1;
}

static bool has_enough(int client, int tool)
{
	if (client >= 0)
		return count_waiting(client, -1) < waiting_count &&
		       count_running(client, -1) >= part(server->limits.client_share_percent);
	return count_waiting(-1, tool) < waiting_count &&
	       count_running(-1, tool) >= part(server->limits.tool_share_percent);
}

/* Of the allowed ones the one whose lane, then strand, went back longest ago;
 * the first of the strand. `level` 0: all rules; 1: clients alone; 2: none; 3:
 * for a slot beyond. */
static int choose(int level)
{
	int best = -1;

	for (size_t i = 0; i < waiting_count; i++) {
		int client = waiting[i].client, tool = waiting[i].tool;

		if ((level <= 1 && has_enough(client, -1)) ||
		    (level == 0 && has_enough(-1, tool)) ||
		    (level == 3 && count_running(client, -1) && count_running(-1, tool)))
			continue;
		if (best < 0 || lane_back[client] < lane_back[waiting[best].client] ||
		    (client == waiting[best].client &&
		     strand_back[client][tool] < strand_back[client][waiting[best].tool]))
			best = (int)i;
	}
	return best;
}

static void model_enter(fw_call *call)
{
	int client = client_of(call), tool = tool_of(call);

	if (!count_waiting(client, -1))
		lane_back[client] = ++moments;
	if (!count_waiting(client, tool))
		strand_back[client][tool] = ++moments;
	waiting[waiting_count++] = (struct model_call){ call, client, tool };
}

static void model_remove(size_t at)
{
	memmove(waiting + at, waiting + at + 1, (--waiting_count - at) * sizeof *waiting);
}

static void model_run(fw_call *call)
{
	running[running_count++] = call;
	if (running_count > capacity)
		capacity = running_count;
}

static void model_serve(int at)
{
	struct model_call one = waiting[at];

	model_remove((size_t)at);
	lane_back[one.client] = ++moments;
	strand_back[one.client][one.tool] = ++moments;
	model_run(one.call);
}

/* All that a free slot, or none, leads to. */
static void model_settle(void)
{
	int at;

	while (waiting_count) {
		if (running_count >= fake.slots) {
			capacity = running_count;
			break;
		}
		at = choose(0);
		if (at < 0)
			at = choose(1);
		if (at < 0)
			at = choose(2);
		model_serve(at);
	}
	while ((at = choose(3)) >= 0) {
		if (running_count >= fake.most) {
			capacity = running_count;
			break;
		}
		model_serve(at);
	}
}

static void compare(size_t *seen)
{
	assert_int_equal(fw_queue_waiting(fake.base.queue), waiting_count);
	assert_int_equal(fake.busy, running_count);
	/* Taken in the same order: the last ones of the model. */
	while (*seen < fake.count) {
		size_t from_end = fake.count - *seen;

		assert_ptr_equal(fake.order[*seen], running[running_count - from_end]);
		(*seen)++;
	}
	/* Work conserving. */
	assert_true(!waiting_count || running_count >= fake.slots);
}

static void test_queue__chooses_as_the_plain_rules_do(void **state)
{
	uint64_t seed = 20260728;
	size_t seen = 0;

	(void)state;
	fake.slots = 5;
	fake.most = 8;
	server->limits.client_queue_length = server->limits.queue_length = 1000;
	waiting_count = running_count = 0;
	capacity = 0;
	for (int step = 0; step < 10000; step++) {
		unsigned dice, which;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		dice = (unsigned)(seed >> 33) % 100;
		which = (unsigned)(seed >> 40);
		now_ns += 1000;
		/* Bursts of entering, then of ending. */
		if (dice < (step / 200 % 2 ? 30u : 60u) && waiting_count < 200) {
			/* Client 0 floods, tool 0 is what most want. */
			int client = which % 3 ? 0 : (int)(which / 3 % CLIENTS);
			int tool = which % 2 ? 0 : (int)(which / 7 % TOOLS);
			fw_call *call = make(client, tool);
			bool is_free = !waiting_count && running_count < fake.slots;

			if (is_free) {
				model_run(call);
			} else {
				if (!waiting_count)
					capacity = running_count;
				model_enter(call);
				model_settle();
			}
			fw_queue_enter(&fake.base, call);
		} else if (dice < 90 && running_count) {
			size_t at = which % running_count;
			fw_call *call = running[at];

			memmove(running + at, running + at + 1,
				(--running_count - at) * sizeof *running);
			if (waiting_count)
				model_settle();
			end_run(call);
		} else if (waiting_count) {
			size_t at = which % waiting_count;
			fw_call *call = waiting[at].call;

			model_remove(at);
			assert_true(fw_queue_leave(&fake.base, call));
		}
		compare(&seen);
	}
	/* All that is left is served. */
	while (running_count) {
		fw_call *call = running[0];

		memmove(running, running + 1, --running_count * sizeof *running);
		if (waiting_count)
			model_settle();
		end_run(call);
		compare(&seen);
	}
	assert_int_equal(waiting_count, 0);
	/* The order within client and tool was kept. */
	for (int client = 0; client < CLIENTS; client++) {
		for (int tool = 0; tool < TOOLS; tool++) {
			size_t last = 0;

			for (size_t i = 0; i < fake.count; i++) {
				size_t at = 0;

				if (client_of(fake.order[i]) != client ||
				    tool_of(fake.order[i]) != tool)
					continue;
				while (made[at] != fake.order[i])
					at++;
				assert_true(at >= last);
				last = at;
			}
		}
	}
}

#define LAW(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAW(test_queue__one_client_alone_may_have_all_slots),
		LAW(test_queue__a_flood_delays_another_client_by_one_turn),
		LAW(test_queue__a_client_gets_no_more_than_its_share_while_others_wait),
		LAW(test_queue__a_slow_tool_leaves_slots_for_others),
		LAW(test_queue__hung_slots_do_not_keep_others_out),
		LAW(test_queue__no_client_starves),
		LAW(test_queue__beyond_its_length_it_says_so_and_when_to_return),
		LAW(test_queue__who_leaves_is_not_served),
		LAW(test_queue__a_call_that_cannot_begin_holds_no_slot),
		LAW(test_queue__is_not_made_without_memory),
		LAW(test_queue__chooses_as_the_plain_rules_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
