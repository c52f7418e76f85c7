/*
 * store_queue.c - see store_queue.h.
 */
#include "store/store_queue.h"

#include <assert.h>
#include <string.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/limits.h"
#include "base/mem.h"

struct fw_store_queue {
	struct fw_queue_thread thread;
	struct fw_store *store;
	struct fw_loop *loop;
};

static struct fw_store_call *call_of(struct fw_task *task)
{
	return (struct fw_store_call *)(void *)((char *)task -
						offsetof(struct fw_store_call, task));
}

static void complete(struct fw_task *task, bool is_over)
{
	struct fw_store_call *call = call_of(task);

	call->done(call, call->err, is_over);
}

static void make_calls(struct fw_store_queue *queue, struct fw_queue_item *item)
{
	while (item) {
		struct fw_store_call *call = (struct fw_store_call *)(void *)item;
		bool is_posted;

		/* After the post the call may be gone. */
		item = item->next;
		call->err = call->work(call, queue->store);
		call->task.run = complete;
		is_posted = fw_loop_post(queue->loop, &call->task);
		assert(is_posted);
		(void)is_posted;
	}
}

static void run(void *ctx)
{
	struct fw_store_queue *queue = ctx;
	bool is_last;

	fw_queue_thread_lock(&queue->thread);
	do {
		struct fw_queue_item *first;

		while (!queue->thread.first && !queue->thread.is_stopping)
			(void)fw_queue_thread_wait(&queue->thread, INT64_MAX);
		first = fw_queue_thread_take(&queue->thread);
		is_last = queue->thread.is_stopping && !first;
		fw_queue_thread_unlock(&queue->thread);
		make_calls(queue, first);
		fw_queue_thread_lock(&queue->thread);
	} while (!is_last);
	fw_queue_thread_unlock(&queue->thread);
}

fw_error *fw_store_queue_new(struct fw_store *store, struct fw_loop *loop,
			     struct fw_store_queue **ret_queue)
{
	struct fw_store_queue *queue = fw__allocate(sizeof *queue);
	int errnum;

	if (!queue) {
		fw_store_free(store);
		return fw_raise_internal_out_of_memory();
	}
	memset(queue, 0, sizeof *queue);
	queue->store = store;
	queue->loop = loop;
	fw_queue_thread_init(&queue->thread);
	errnum = fw_queue_thread_start(&queue->thread, run, NULL, queue);
	if (errnum) {
		fw_store_queue_free(queue);
		return fw_error_wrap(fw_error_from_errno(FW_HERE, errnum, "a thread"), FW_HERE,
				     "could not start the thread of the store");
	}
	*ret_queue = queue;
	return NULL;
}

void fw_store_queue_free(struct fw_store_queue *queue)
{
	if (!queue)
		return;
	(void)fw_queue_thread_stop(&queue->thread, INT64_MAX);
	fw_queue_thread_clear(&queue->thread);
	fw_store_free(queue->store);
	fw__release(queue);
}

fw_error *fw_store_queue_submit(struct fw_store_queue *queue, struct fw_store_call *call)
{
	bool is_full;

	call->queue = queue;
	call->err = NULL;
	fw_queue_thread_lock(&queue->thread);
	assert(!queue->thread.is_stopping);
	is_full = queue->thread.count >= FW_LIMIT_STORE_QUEUE;
	if (!is_full)
		fw_queue_thread_push(&queue->thread, &call->item);
	fw_queue_thread_unlock(&queue->thread);
	if (is_full)
		return fw_raise_server_overloaded(FW_LIMIT_STORE_QUEUE, "waiting store calls");
	fw_queue_thread_wake(&queue->thread);
	return NULL;
}
