/*
 * runner.h - the border between the protocol core and whatever runs handlers
 * away from the loop: the pool of threads (pool.c), a pool of processes
 * (src/worker/). A runner has slots; calls wait for one in its queue
 * (queue.c), which decides whose turn it is.
 *
 * The one rule to remember: everything here happens on the loop's thread.
 */
#ifndef FW_MCP_RUNNER_H
#define FW_MCP_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>
#include <faultwire/tool.h>

struct fw_runner;
struct fw_queue;

/* A call's place in a queue; the queue's own. */
struct fw_wait {
	fw_call *next; /* of the same client and tool, in a ring */
	fw_call *previous;
	fw_call *next_head; /* the first call of the client's next tool */
	fw_call *previous_head;
	uint64_t taken_ns; /* it holds a slot since; 0: it does not */
	bool is_waiting;
	bool is_head;
};

struct fw_runner_ops {
	/* fw_server_prepare(): make what has to be a copy of this process, while it
	 * has no threads. Once more it does nothing. NULL member: nothing to do. */
	fw_error *(*prepare)(struct fw_runner *runner);
	/* fw_server_run() begins, before any transport: start what is kept ready.
	 * NULL member: nothing to do. */
	fw_error *(*start)(struct fw_runner *runner);
	/*
	 * Run the call on a free slot, which it holds until fw_runner_freed().
	 * False: no slot is free now. `beyond`: whoever waits has nothing running
	 * at all, so a slot may be added if the runner has room to grow. An error
	 * that keeps the call from running ends it with fw_call_complete(), and
	 * counts as taken. Sets `call->runner`.
	 */
	bool (*take)(struct fw_runner *runner, fw_call *call, bool beyond);
	/* Nobody waits for the call any more (deadline, cancellation, a client that
	 * left): stop it if that can be done. It still holds its slot until
	 * fw_runner_freed(). NULL member: it runs on. */
	void (*abandon)(struct fw_runner *runner, fw_call *call);
	/* Its run is over, and its slot is about to be freed. NULL member: the
	 * runner knew before. */
	void (*ended)(struct fw_runner *runner, fw_call *call);
	/* The server has stopped: end everything. Closes its handles on the loop,
	 * which is run until they are closed. */
	void (*close)(struct fw_runner *runner);
	/* After that, or without it when the server never ran. Frees it. */
	void (*free)(struct fw_runner *runner);
	/* For /readyz: appends what is worth knowing, as one short line of text
	 * without a newline ("sandbox: no network rules (kernel)"); false: it
	 * cannot take calls. NULL member: always ready. */
	bool (*is_ready)(const struct fw_runner *runner, char *text, size_t size);
	/* For metrics: its processes, how many of them run a call, and how many
	 * were started so far are added. NULL member: it has none. */
	void (*count)(const struct fw_runner *runner, size_t *processes, size_t *busy,
		      uint64_t *started);
};

struct fw_runner {
	const struct fw_runner_ops *ops;
	struct fw_runner *next; /* of the server's */
	fw_server *server;
	struct fw_queue *queue; /* made by fw_runner_attach() */
};

/* Hands it over to the server. Raises internal.out_of_memory; then it is not. */
fw_error *fw_runner_attach(struct fw_runner *runner, fw_server *server);

/* The call (a reference to it is held by its run) waits for a slot. */
void fw_queue_enter(struct fw_runner *runner, fw_call *call);
/* It waits no more: it was answered before its turn. False: it did not wait. */
bool fw_queue_leave(struct fw_runner *runner, fw_call *call);
/* A slot has become free: `call` does not hold it any more, or (NULL) none did.
 * The next is taken. */
void fw_runner_freed(struct fw_runner *runner, fw_call *call);
void fw_queue_free(struct fw_queue *queue);

/* A pool of processes as this folder sees it: a runner. The implementation
 * (src/worker/) keeps the rest behind it. */
struct fw_workers {
	struct fw_runner runner;
};

/* Creates the pool for process tools that name none, and attaches it. Whoever
 * implements such pools registers this as `server->make_workers`, so that this
 * folder does not call into that one. */
typedef fw_error *fw_workers_factory(fw_server *server, fw_workers **ret_workers);

#endif
