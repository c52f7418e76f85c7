/*
 * queue.c - see runner.h. Calls wait in the order of their coming.
 */
#include <string.h>

#include "base/mem.h"
#include "mcp/impl.h"
#include "mcp/runner.h"

struct fw_queue {
	fw_call *first;
	fw_call *last;
	size_t count;
};

fw_error *fw_runner_attach(struct fw_runner *runner, fw_server *server)
{
	runner->queue = fw__allocate(sizeof *runner->queue);
	if (!runner->queue)
		return fw_raise_internal_out_of_memory();
	memset(runner->queue, 0, sizeof *runner->queue);
	runner->server = server;
	runner->next = server->runners;
	server->runners = runner;
	return NULL;
}

void fw_queue_enter(struct fw_runner *runner, fw_call *call)
{
	struct fw_queue *queue = runner->queue;

	if (!queue->first && runner->ops->take(runner, call, false))
		return;
	call->queue_next = NULL;
	if (queue->last)
		queue->last->queue_next = call;
	else
		queue->first = call;
	queue->last = call;
	queue->count++;
}

bool fw_queue_leave(struct fw_runner *runner, fw_call *call)
{
	struct fw_queue *queue = runner->queue;
	fw_call *previous = NULL;

	for (fw_call *at = queue->first; at; previous = at, at = at->queue_next) {
		if (at != call)
			continue;
		if (previous)
			previous->queue_next = call->queue_next;
		else
			queue->first = call->queue_next;
		if (queue->last == call)
			queue->last = previous;
		queue->count--;
		return true;
	}
	return false;
}

void fw_runner_freed(struct fw_runner *runner, fw_call *call)
{
	struct fw_queue *queue = runner->queue;

	(void)call;
	while (queue->first) {
		fw_call *next = queue->first;

		if (!runner->ops->take(runner, next, false))
			return;
		queue->first = next->queue_next;
		if (!queue->first)
			queue->last = NULL;
		queue->count--;
	}
}

void fw_queue_free(struct fw_queue *queue)
{
	fw__release(queue);
}

size_t fw_queue_count(const struct fw_queue *queue)
{
	return queue->count;
}
