/*
 * runner.h - the interface between the protocol core and the parts that run handlers off
 * the loop: the pool of threads (pool.c), a pool of processes (src/worker/). A runner has
 * slots; calls wait for one in its queue (queue.c), which decides whose turn it is.
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

/* A call's place in a queue; owned by the queue. */
struct fw_wait {
	fw_call *next; /* of the same client and tool, in a ring */
	fw_call *previous;
	fw_call *next_head; /* the first call of the client's next tool */
	fw_call *previous_head;
	uint64_t taken_ns; /* when it got its slot; 0: it has none */
	bool is_waiting;
	bool is_head;
};

struct fw_runner_ops {
	/* fw_server_prepare(): fork what must be forked while the process has no
	 * threads. A second call does nothing. NULL member: nothing to do. */
	fw_error *(*prepare)(struct fw_runner *runner);
	/* fw_server_run() begins, before any transport starts. NULL member: nothing to do. */
	fw_error *(*start)(struct fw_runner *runner);
	/*
	 * Run the call on a free slot, which it holds until fw_runner_freed(). False: no
	 * slot is free now. `beyond`: the waiting client has nothing running at all, so a
	 * slot may be added if the runner has room to grow. An error that prevents the
	 * call from running ends it with fw_call_complete(), and counts as taken. Sets
	 * `call->runner`.
	 */
	bool (*take)(struct fw_runner *runner, fw_call *call, bool beyond);
	/* The result is not needed any more (deadline, cancellation, client
	 * disconnected): stop the call if possible. It keeps its slot until
	 * fw_runner_freed(). NULL member: it continues. */
	void (*abandon)(struct fw_runner *runner, fw_call *call);
	/* Its run is over, and its slot is about to be freed. NULL member: not needed. */
	void (*ended)(struct fw_runner *runner, fw_call *call);
	/* The server has stopped: end everything. Closes its handles on the loop,
	 * which is run until they are closed. */
	void (*close)(struct fw_runner *runner);
	/* After close(), or without it if the server never ran. Frees the runner. */
	void (*free)(struct fw_runner *runner);
	/* For /readyz: writes one short line without a newline ("sandbox: no network
	 * rules (kernel)"); false: it cannot take calls. NULL member: always ready. */
	bool (*is_ready)(const struct fw_runner *runner, char *text, size_t size);
	/* For metrics: adds its processes, how many of them run a call, and how many
	 * were started so far. NULL member: it has none. */
	void (*count)(const struct fw_runner *runner, size_t *processes, size_t *busy,
		      uint64_t *started);
};

struct fw_runner {
	const struct fw_runner_ops *ops;
	struct fw_runner *next; /* next runner of the server */
	fw_server *server;
	struct fw_queue *queue; /* made by fw_runner_attach() */
};

/* The server owns it from now on, unless this raises internal.out_of_memory. */
fw_error *fw_runner_attach(struct fw_runner *runner, fw_server *server);

/* The call (a reference to it is held by its run) waits for a slot. */
void fw_queue_enter(struct fw_runner *runner, fw_call *call);
/* It was answered before its turn. False: it was not waiting. */
bool fw_queue_leave(struct fw_runner *runner, fw_call *call);
/* A slot has become free: that of `call`, or (NULL) one without a call. Takes the next. */
void fw_runner_freed(struct fw_runner *runner, fw_call *call);
void fw_queue_free(struct fw_queue *queue);

/* A pool of processes as this folder sees it: a runner. The implementation
 * (src/worker/) keeps the rest behind it. */
struct fw_workers {
	struct fw_runner runner;
};

/* Creates the pool for process tools that name none, and attaches it. The implementation
 * registers it as `server->make_workers`, so that this folder does not call into that
 * one. */
typedef fw_error *fw_workers_factory(fw_server *server, fw_workers **ret_workers);

#endif
