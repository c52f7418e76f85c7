/*
 * output.h - the pipe that a worker's tools write their standard output and error to.
 *
 * If the server keeps a log, that text becomes redacted log events: a tool that wrote
 * to the log itself could forge lines of the server. Without a log, workers have the
 * server's standard error.
 */
#ifndef FW_WORKER_OUTPUT_H
#define FW_WORKER_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"

struct fw_offer;
struct fw_worker;
struct fw_worker_pipe;

struct fw_worker_output {
	struct fw_worker_pipe *pipe;  /* NULL: none */
	const struct fw_offer *offer; /* whose call the worker got last */
	struct fw_buf unlogged;       /* redacted text without its newline yet */
	struct fw_buf tail;           /* the last bytes that the current call wrote */
	bool is_tail_cut;
};

void fw_worker_output_init(struct fw_worker_output *output);
/* Makes the pipe if there is a log. `ret_write_end` is the caller's; -1: none.
 * False: no memory or no descriptors. */
bool fw_worker_output_open(struct fw_worker *worker, int *ret_write_end);
/* The text from now on belongs to a call of `offer`. */
void fw_worker_output_begin(struct fw_worker *worker, const struct fw_offer *offer);
/* Reads on after a pause of the rate limit. Returns when to be called again, in loop
 * time; 0: not needed. */
uint64_t fw_worker_output_resume(struct fw_worker *worker, uint64_t now_ms);
/* The worker has died: reads and logs what is left in the pipe. */
void fw_worker_output_drain(struct fw_worker *worker);
void fw_worker_output_close(struct fw_worker *worker);
/* The last lines that the current call wrote, redacted. Returns their length. */
size_t fw_worker_output_tail(const struct fw_worker *worker, char *text, size_t size);

#endif
