/*
 * schedule.c - see schedule.h.
 *
 * Since Linux 6.12 a time slice can be asked for: a task that wakes up preempts one whose
 * slice is longer. Older kernels ignore the member.
 */
#include "worker/schedule.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A few times the usual one: long enough to let others go first, short enough not to keep
 * calls waiting for a worker on a busy machine. */
enum { SLICE_NS = 12 * 1000 * 1000 };

/* struct sched_attr of the kernel, which not every libc declares. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

void fw_worker_schedule_behind(bool is_behind)
{
	struct attributes now = { 0 };

	/* Keeps what else was set, such as the nice value. */
	if (syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0 ||
	    (now.policy != SCHED_OTHER && now.policy != SCHED_BATCH))
		return;
	now.size = sizeof now;
	now.policy = is_behind ? SCHED_BATCH : SCHED_OTHER;
	now.runtime = is_behind ? SLICE_NS : 0;
	(void)syscall(SYS_sched_setattr, 0, &now, 0);
}
