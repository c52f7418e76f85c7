/*
 * queue.c - decides which waiting call runs next (runner.h).
 *
 * Calls wait in lanes, one per client; within a lane in strands, one per tool; within a
 * strand in order of arrival. A free slot goes to the lane that was served least
 * recently, and there to the strand that was served least recently. Clients and tools
 * that already hold their share of the slots are skipped as long as others wait; without
 * competition, one may have all. A client or tool that is skipped stays in front, so none
 * of them starves.
 *
 * The first call of a client or of a tool that has nothing running may ask the
 * runner for a slot beyond the usual number: calls that hang in all slots then
 * delay only calls of the same client or tool.
 *
 * A strand is a ring of calls through its first, the head; the heads of a lane are
 * a list. Entering searches the heads of one lane; leaving searches nothing.
 */
#include <string.h>

#include <uv.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/lane.h"
#include "mcp/offer.h"
#include "mcp/queue.h"
#include "mcp/run.h"
#include "mcp/runner.h"
#include "mcp/server.h"

enum { RETRY_MAX_S = 60 };

struct lane {
	struct lane *next; /* in the list of lanes with waiting calls */
	struct lane *previous;
	fw_call *first; /* heads, the least recently served first */
	fw_call *last;
	size_t waiting;
	size_t running;
};

struct fw_queue {
	struct fw_runner *runner;
	fw_queue_clock *clock;
	struct lane *first; /* the least recently served */
	struct lane *last;
	size_t waiting;
	size_t running;
	size_t slots;     /* the most that were in use at once */
	uint64_t each_ns; /* average duration of a run */
	bool is_busy;     /* slots are being assigned */
	bool is_changed;
	size_t lane_count;
	struct lane lanes[];
};

/* ---- rings and lists -------------------------------------------------------- */

static struct lane *lane_of(struct fw_queue *queue, const fw_call *call)
{
	size_t index =
		call->lane ? (size_t)(call->lane - queue->runner->server->calls.lanes) : 0;

	return &queue->lanes[index % queue->lane_count];
}

static void append_lane(struct fw_queue *queue, struct lane *lane)
{
	lane->next = NULL;
	lane->previous = queue->last;
	if (queue->last)
		queue->last->next = lane;
	else
		queue->first = lane;
	queue->last = lane;
}

static void remove_lane(struct fw_queue *queue, struct lane *lane)
{
	if (lane->previous)
		lane->previous->next = lane->next;
	else
		queue->first = lane->next;
	if (lane->next)
		lane->next->previous = lane->previous;
	else
		queue->last = lane->previous;
}

/* Before `next`; NULL: at the end. */
static void insert_head(struct lane *lane, fw_call *head, fw_call *next)
{
	fw_call *previous = next ? next->run.wait.previous_head : lane->last;

	head->run.wait.is_head = true;
	head->run.wait.next_head = next;
	head->run.wait.previous_head = previous;
	if (previous)
		previous->run.wait.next_head = head;
	else
		lane->first = head;
	if (next)
		next->run.wait.previous_head = head;
	else
		lane->last = head;
}

static void remove_head(struct lane *lane, fw_call *head)
{
	fw_call *next = head->run.wait.next_head;
	fw_call *previous = head->run.wait.previous_head;

	head->run.wait.is_head = false;
	if (previous)
		previous->run.wait.next_head = next;
	else
		lane->first = next;
	if (next)
		next->run.wait.previous_head = previous;
	else
		lane->last = previous;
}

static fw_call *strand_of(const struct lane *lane, const fw_call *call)
{
	fw_call *head = lane->first;

	while (head && head->request.offer != call->request.offer)
		head = head->run.wait.next_head;
	return head;
}

static void count_in(struct fw_queue *queue, struct lane *lane, fw_call *call)
{
	call->run.wait.is_waiting = true;
	call->request.offer->load->waiting++;
	queue->waiting++;
	if (!lane->waiting++)
		append_lane(queue, lane);
}

static void append(struct fw_queue *queue, fw_call *call)
{
	struct lane *lane = lane_of(queue, call);
	fw_call *head = strand_of(lane, call);

	if (head) {
		call->run.wait.next = head;
		call->run.wait.previous = head->run.wait.previous;
		head->run.wait.previous->run.wait.next = call;
		head->run.wait.previous = call;
		call->run.wait.is_head = false;
	} else {
		call->run.wait.next = call;
		call->run.wait.previous = call;
		insert_head(lane, call, NULL);
	}
	count_in(queue, lane, call);
}

static void take_out(struct fw_queue *queue, fw_call *call)
{
	struct lane *lane = lane_of(queue, call);
	struct fw_wait *wait = &call->run.wait;

	if (wait->is_head) {
		fw_call *after = wait->next_head;

		remove_head(lane, call);
		if (wait->next != call)
			insert_head(lane, wait->next, after);
	}
	wait->next->run.wait.previous = wait->previous;
	wait->previous->run.wait.next = wait->next;
	wait->is_waiting = false;
	call->request.offer->load->waiting--;
	queue->waiting--;
	if (!--lane->waiting)
		remove_lane(queue, lane);
}

/* ---- whose turn it is -------------------------------------------------------- */

static size_t share(const struct fw_queue *queue, uint64_t percent)
{
	size_t slots = queue->slots * percent / 100;

	return slots ? slots : 1;
}

/* Whether others wait and the client already has its share. */
static bool client_has_enough(const struct fw_queue *queue, const struct lane *lane)
{
	const struct fw_limits *limits = &queue->runner->server->limits;

	return lane->waiting < queue->waiting &&
	       lane->running >= share(queue, limits->client_share_percent);
}

static bool tool_has_enough(const struct fw_queue *queue, const fw_call *head)
{
	const struct fw_limits *limits = &queue->runner->server->limits;
	const struct fw_load *load = head->request.offer->load;

	return load->waiting < queue->waiting &&
	       load->running >= share(queue, limits->tool_share_percent);
}

/* The next call to run. Fairness between clients comes before fairness between tools. */
static fw_call *choose(const struct fw_queue *queue)
{
	fw_call *second = NULL;

	for (const struct lane *lane = queue->first; lane; lane = lane->next) {
		if (client_has_enough(queue, lane))
			continue;
		for (fw_call *head = lane->first; head; head = head->run.wait.next_head)
			if (!tool_has_enough(queue, head))
				return head;
		if (!second)
			second = lane->first;
	}
	if (second)
		return second;
	return queue->first ? queue->first->first : NULL;
}

/* A call for which a slot may be added; NULL: none. */
static fw_call *choose_beyond(const struct fw_queue *queue)
{
	for (const struct lane *lane = queue->first; lane; lane = lane->next) {
		if (!lane->running)
			return lane->first;
		for (fw_call *head = lane->first; head; head = head->run.wait.next_head)
			if (!head->request.offer->load->running)
				return head;
	}
	return NULL;
}

static void count_running(struct fw_queue *queue, fw_call *call)
{
	call->run.wait.taken_ns = queue->clock();
	lane_of(queue, call)->running++;
	call->request.offer->load->running++;
	if (++queue->running > queue->slots)
		queue->slots = queue->running;
}

static void count_ended(struct fw_queue *queue, fw_call *call)
{
	call->run.wait.taken_ns = 0;
	lane_of(queue, call)->running--;
	call->request.offer->load->running--;
	queue->running--;
}

/* Where a call stood, in case it has to go back there. */
struct place {
	struct lane *next_lane;
	fw_call *next_head;
	fw_call *successor; /* of its strand; NULL: none */
};

static void put_back(struct fw_queue *queue, fw_call *call, const struct place *place)
{
	struct lane *lane = lane_of(queue, call);
	struct fw_wait *wait = &call->run.wait;

	if (place->successor) {
		fw_call *head = place->successor;

		remove_head(lane, head);
		wait->next = head;
		wait->previous = head->run.wait.previous;
		head->run.wait.previous->run.wait.next = call;
		head->run.wait.previous = call;
	} else {
		wait->next = call;
		wait->previous = call;
	}
	insert_head(lane, call, place->next_head);
	count_in(queue, lane, call);
	if (place->next_lane) {
		remove_lane(queue, lane);
		lane->next = place->next_lane;
		lane->previous = place->next_lane->previous;
		if (lane->previous)
			lane->previous->next = lane;
		else
			queue->first = lane;
		place->next_lane->previous = lane;
	}
}

/* The lane and the strand were served and go to the end. */
static void move_back(struct fw_queue *queue, struct lane *lane, fw_call *head)
{
	if (head) {
		remove_head(lane, head);
		insert_head(lane, head, NULL);
	}
	if (lane->waiting) {
		remove_lane(queue, lane);
		append_lane(queue, lane);
	}
}

/* The call leaves the queue and is counted before the runner is called, which may end
 * the call at once, or make others enter and leave. */
static bool serve(struct fw_queue *queue, fw_call *call, bool beyond)
{
	struct fw_runner *runner = queue->runner;
	struct lane *lane = lane_of(queue, call);
	struct place place = {
		.next_lane = lane->next,
		.next_head = call->run.wait.next_head,
		.successor = call->run.wait.next == call ? NULL : call->run.wait.next,
	};
	bool is_taken;

	(void)fw_call__ref(call);
	take_out(queue, call);
	move_back(queue, lane, place.successor);
	count_running(queue, call);
	is_taken = runner->ops->take(runner, call, beyond);
	if (!is_taken) {
		count_ended(queue, call);
		queue->slots = queue->running;
		put_back(queue, call, &place);
	} else if (!call->run.is_active && call->run.wait.taken_ns) {
		count_ended(queue, call); /* it could not start */
	}
	fw_call__unref(call);
	return is_taken;
}

static void hand_out(struct fw_queue *queue)
{
	fw_call *next;

	/* One round at a time: changes in the meantime are handled in the next. */
	queue->is_changed = true;
	if (queue->is_busy)
		return;
	queue->is_busy = true;
	while (queue->is_changed) {
		queue->is_changed = false;
		while ((next = choose(queue)) && serve(queue, next, false))
			;
		while ((next = choose_beyond(queue)) && serve(queue, next, true))
			;
	}
	queue->is_busy = false;
}

/* ---- how long it takes --------------------------------------------------------- */

static void learn(struct fw_queue *queue, const fw_call *call)
{
	uint64_t took_ns = queue->clock() - call->run.wait.taken_ns;

	/* Moving average: the newest value has a weight of one eighth. */
	queue->each_ns =
		queue->each_ns ? queue->each_ns - queue->each_ns / 8 + took_ns / 8 : took_ns;
}

/* The estimate: this many calls run first, on this many slots. */
static fw_error *overloaded(const struct fw_queue *queue, uint64_t limit, const char *what,
			    size_t before, size_t slots)
{
	double seconds =
		(double)queue->each_ns / 1e9 * (double)before / (double)(slots ? slots : 1);
	fw_error *err = fw_raise_server_overloaded(limit, what);

	seconds = (double)(uint64_t)seconds + 1;
	fw_error_set_retry_after(err, seconds < RETRY_MAX_S ? seconds : RETRY_MAX_S);
	return err;
}

static fw_error *check_length(struct fw_queue *queue, const fw_call *call)
{
	const struct fw_limits *limits = &queue->runner->server->limits;
	const struct lane *lane = lane_of(queue, call);

	if (lane->waiting >= limits->client_queue_length)
		return overloaded(queue, limits->client_queue_length,
				  "waiting calls of one client", lane->waiting, lane->running);
	if (queue->waiting >= limits->queue_length)
		return overloaded(queue, limits->queue_length, "waiting calls", queue->waiting,
				  queue->slots);
	return NULL;
}

/* ---- what others call ------------------------------------------------------------ */

void fw_queue_enter(struct fw_runner *runner, fw_call *call)
{
	struct fw_queue *queue = runner->queue;
	fw_error *err;

	/* The queue is empty, which is usual: no lists are needed. */
	if (!queue->waiting && !queue->is_busy) {
		(void)fw_call__ref(call);
		count_running(queue, call);
		if (runner->ops->take(runner, call, false)) {
			if (!call->run.is_active && call->run.wait.taken_ns)
				count_ended(queue, call);
			fw_call__unref(call);
			return;
		}
		count_ended(queue, call);
		queue->slots = queue->running;
		fw_call__unref(call);
	}
	err = check_length(queue, call);
	if (err) {
		fw_call_complete(call, err);
		return;
	}
	append(queue, call);
	hand_out(queue);
}

bool fw_queue_leave(struct fw_runner *runner, fw_call *call)
{
	if (!call->run.wait.is_waiting)
		return false;
	take_out(runner->queue, call);
	return true;
}

void fw_runner_freed(struct fw_runner *runner, fw_call *call)
{
	struct fw_queue *queue = runner->queue;

	if (call && call->run.wait.taken_ns) {
		learn(queue, call);
		count_ended(queue, call);
	}
	if (queue->waiting)
		hand_out(queue);
}

fw_error *fw_runner_attach(struct fw_runner *runner, fw_server *server)
{
	size_t lanes = server->limits.client_lanes;
	size_t size = sizeof *runner->queue + lanes * sizeof *runner->queue->lanes;

	runner->queue = fw__allocate(size);
	if (!runner->queue)
		return fw_raise_internal_out_of_memory();
	memset(runner->queue, 0, size);
	runner->queue->runner = runner;
	runner->queue->clock = uv_hrtime;
	runner->queue->lane_count = lanes;
	runner->server = server;
	runner->next = server->runners.first;
	server->runners.first = runner;
	return NULL;
}

void fw_queue_set_clock(struct fw_queue *queue, fw_queue_clock *clock)
{
	queue->clock = clock;
}

size_t fw_queue_waiting(const struct fw_queue *queue)
{
	return queue->waiting;
}

void fw_queue_free(struct fw_queue *queue)
{
	fw__release(queue);
}
