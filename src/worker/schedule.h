/*
 * schedule.h - how the kernel schedules processes of a pool.
 *
 * A new worker needs part of a millisecond of processor time before it is ready. Calls run
 * meanwhile, so it is scheduled as SCHED_BATCH: it does not preempt the processes that serve
 * them, and they preempt it. The death of a worker is reported without delay.
 */
#ifndef FW_WORKER_SCHEDULE_H
#define FW_WORKER_SCHEDULE_H

#include <stdbool.h>

/* For the calling thread; children inherit it. Async-signal-safe. Without effect if the
 * kernel refuses, or if another policy than these two was chosen for the program. */
void fw_worker_schedule_behind(bool is_behind);

#endif
