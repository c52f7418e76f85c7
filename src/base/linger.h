/*
 * linger.h - what a loop does before it waits: it lets writers write, and looks whether the
 * answer to what was written is there already.
 *
 * A process that waits is taken off its CPU and put back when a descriptor is ready. That costs
 * more than what a gateway does with a message, and much more if another CPU was asleep. Many
 * answers come within microseconds. So a part that has sent a message says where the answer is
 * expected, and the loop tries to read there for a moment, giving its CPU to other processes
 * between two tries (sched_yield), before it waits for all descriptors.
 *
 * What that may cost is limited: an attempt takes at most FW_LINGER_NS, and it ends when another
 * descriptor is ready. After an attempt without an answer the next one is made only after a pause,
 * which becomes longer each time, up to FW_LINGER_PAUSE_MAX_NS, and shorter with each answer. If
 * FW_LINGER_ANSWERS answers take longer than FW_LINGER_LONG_NS, other processes want the CPU, and
 * they keep it for milliseconds when it is given away: then the pause grows much faster. So a
 * server whose answers take milliseconds costs FW_LINGER_NS of CPU time in
 * FW_LINGER_PAUSE_MAX_NS.
 *
 * Everything here belongs to the thread of the loop.
 */
#ifndef FW_BASE_LINGER_H
#define FW_BASE_LINGER_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

enum {
	FW_LINGER_NS = 50 * 1000,
	FW_LINGER_ANSWERS = 4,
	FW_LINGER_YIELDS = 32,
	FW_LINGER_LONG_NS = 1000 * 1000,
	FW_LINGER_GROWTH_VAIN = 2,
	FW_LINGER_GROWTH_LONG = 16,
	FW_LINGER_PAUSE_MIN_NS = 1 << 20, /* 1 ms */
	FW_LINGER_PAUSE_MAX_NS = 1 << 30, /* 1 s */
	FW_LINGER_ROW_NS =
		1 << 20 /* of answers without a wait; then all descriptors are looked at */
};

/* Embedded in what has output. */
struct fw_writer {
	struct fw_writer *next;
	struct fw_writer *previous;
	/* May add and remove writers, also itself. If it adds one that was not added, all are
	 * called again, so it must not do that each time. */
	void (*write)(struct fw_writer *writer);
	bool is_added;
};

/* Embedded in what reads a descriptor. */
struct fw_reader {
	/* Reads once without waiting, and handles what it read; false: there was nothing. */
	bool (*read)(struct fw_reader *reader);
	/* In as many attempts the CPU is given away before the first read, since such a read found
	 * nothing before. */
	unsigned yields;
};

struct fw_linger {
	uv_prepare_t prepare;
	struct fw_writer *writers;
	struct fw_writer *upcoming; /* of the round of writers that is running */
	bool has_new;               /* a writer was added since the round began */
	struct fw_reader *expected; /* or NULL */
	unsigned answers;           /* since the last wait */
	uint64_t row_ns;            /* before the first of them */
	uint64_t checked_ns;        /* when the clock was read last */
	uint64_t resumes_ns;        /* no attempt is made before */
	uint64_t pause_ns;          /* after the next attempt without an answer */
};

void fw_linger_init(struct fw_linger *linger, uv_loop_t *loop);

/* Writers must have been removed before. */
void fw_linger_close(struct fw_linger *linger);

/* From now on `writer` is called before each wait of the loop, and keeps the loop running.
 * Adding it twice is a no-op. */
void fw_linger_add(struct fw_linger *linger, struct fw_writer *writer);

/* Removing a writer that was not added is a no-op. */
void fw_linger_remove(struct fw_linger *linger, struct fw_writer *writer);

/* A message was written, and `reader` reads the answer. Replaces what was expected before; the
 * loop forgets it when it waits. */
static inline void fw_linger_expect(struct fw_linger *linger, struct fw_reader *reader)
{
	linger->expected = reader;
}

/* `reader` does not read any more. */
static inline void fw_linger_forget(struct fw_linger *linger, const struct fw_reader *reader)
{
	if (linger->expected == reader)
		linger->expected = NULL;
}

#endif
