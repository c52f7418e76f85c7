/*
 * output.h - the pipe for the standard output and standard error of a worker's tools.
 *
 * If the server has a log, this text is logged as redacted events: a tool that could
 * write to the log directly could forge lines of the server. Without a log, workers
 * inherit the server's standard error.
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
	const struct fw_offer *offer; /* offer of the worker's last call */
	struct fw_buf unlogged;       /* redacted text of an unfinished line */
	struct fw_buf tail;           /* the last bytes that the current call wrote */
	bool is_tail_cut;
};

void fw_worker_output_init(struct fw_worker_output *output);
/* Makes the pipe if there is a log. The caller owns `ret_write_end`; -1: there is none.
 * False: no memory or no descriptors. */
bool fw_worker_output_open(struct fw_worker *worker, int *ret_write_end);
/* Text from now on belongs to a call of `offer`. */
void fw_worker_output_begin(struct fw_worker *worker, const struct fw_offer *offer);
/* Continues reading after a pause of the rate limit. Returns when to call it again, in
 * loop time; 0: not needed. */
uint64_t fw_worker_output_resume(struct fw_worker *worker, uint64_t now_ms);
/* The worker has died: reads and logs what is left in the pipe. */
void fw_worker_output_drain(struct fw_worker *worker);
void fw_worker_output_close(struct fw_worker *worker);
/* The last lines that the current call wrote, redacted. Returns their length. */
size_t fw_worker_output_tail(const struct fw_worker *worker, char *text, size_t size);

#endif
