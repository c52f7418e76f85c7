/*
 * store_queue.h - a store for a server: calls wait in a queue, a thread makes them one
 * after the other, and their results come back on the loop.
 *
 * A call is a function that uses the store as it likes. The caller embeds struct
 * fw_store_call in its own request, so that neither submitting nor completing a call
 * needs memory.
 *
 * The one rule to remember: free the queue before the loop is closed. Then every call
 * that was accepted is completed exactly once, in the order of submission.
 */
#ifndef FW_STORE_STORE_QUEUE_H
#define FW_STORE_STORE_QUEUE_H

#include "base/loop.h"
#include "base/queue_thread.h"
#include "store/store.h"

struct fw_store_queue;

struct fw_store_call {
	struct fw_queue_item item; /* must be first */
	struct fw_task task;
	/* On the store's thread. */
	fw_error *(*work)(struct fw_store_call *call, struct fw_store *store);
	/* On the loop's thread; the call may be freed. `err` is the result of `work`, and
	 * yours. `is_over`: the loop is closing, so only release what the call holds. */
	void (*done)(struct fw_store_call *call, fw_error *err, bool is_over);
	struct fw_store_queue *queue;
	fw_error *err;
};

/* Consumes `store`, also if it fails. Borrows `loop`. Starts the thread. Raises
 * internal.out_of_memory, or the errno of starting it. */
FW_NODISCARD fw_error *fw_store_queue_new(struct fw_store *store, struct fw_loop *loop,
					  struct fw_store_queue **ret_queue);

/* Makes the calls that wait, and ends the thread. Their results are on the loop then.
 * NULL is a no-op. */
void fw_store_queue_free(struct fw_store_queue *queue);

/* Submits a call with `work` and `done`, from any thread. Raises server.overloaded at
 * FW_LIMIT_STORE_QUEUE waiting calls; then `done` is not called. */
FW_NODISCARD fw_error *fw_store_queue_submit(struct fw_store_queue *queue,
					     struct fw_store_call *call);

#endif
