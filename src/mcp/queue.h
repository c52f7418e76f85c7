/*
 * queue.h - what tests and /readyz see of a runner's queue; the rest is in
 * runner.h.
 *
 * The one rule to remember: everything here happens on the loop's thread.
 */
#ifndef FW_MCP_QUEUE_H
#define FW_MCP_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct fw_queue;

/* Monotonic nanoseconds, never 0. */
typedef uint64_t fw_queue_clock(void);
void fw_queue_set_clock(struct fw_queue *queue, fw_queue_clock *clock);

size_t fw_queue_waiting(const struct fw_queue *queue);

#endif
