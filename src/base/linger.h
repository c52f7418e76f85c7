/*
 * linger.h - what an event loop does before it waits: it calls the writers that have
 * output, and then tries to read the answer to what was written.
 *
 * A process that waits loses its CPU and gets one back when a descriptor is ready. That
 * costs more than a gateway's own work on a message, and much more if a CPU has to be
 * woken up. Many answers come within microseconds. So code that has sent a message names
 * the reader of the answer, and the loop tries to read there for a moment before it waits
 * for all descriptors. Between two tries it yields its CPU to other processes
 * (sched_yield).
 *
 * The cost is limited. An attempt takes at most FW_LINGER_NS, and ends when another
 * descriptor is ready. After an attempt without an answer there is a pause before the
 * next one. The pause gets longer each time, up to FW_LINGER_PAUSE_MAX_NS, and shorter
 * with each answer. If FW_LINGER_ANSWERS answers take longer than FW_LINGER_LONG_NS,
 * other processes need the CPU and keep it for milliseconds after each yield; then the
 * pause grows much faster. So a server whose answers take milliseconds costs at most
 * FW_LINGER_NS of CPU time per FW_LINGER_PAUSE_MAX_NS.
 *
 * All functions must be called on the thread of the loop.
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
		1 << 20 /* of answers without a wait; then all descriptors are polled */
};

/* Embedded in an object that has output. */
struct fw_writer {
	struct fw_writer *next;
	struct fw_writer *previous;
	/* May add and remove writers, including itself. If it adds a new one, all are
	 * called again, so it must not do that every time. */
	void (*write)(struct fw_writer *writer);
	bool is_added;
};

/* Embedded in an object that reads a descriptor. */
struct fw_reader {
	/* Reads once without waiting, and handles the input. False: there was none. */
	bool (*read)(struct fw_reader *reader);
	/* In this many further attempts the CPU is yielded before the first read, because
	 * the first read of an earlier attempt found nothing. */
	unsigned yields;
};

struct fw_linger {
	uv_prepare_t prepare;
	struct fw_writer *writers;
	struct fw_writer *upcoming; /* the next writer of the round in progress */
	bool has_new;               /* a writer was added since the round began */
	struct fw_reader *expected; /* or NULL */
	unsigned answers;           /* since the last wait */
	uint64_t row_ns;            /* before the first of them */
	uint64_t checked_ns;        /* when the clock was read last */
	uint64_t resumes_ns;        /* no attempt is made before this time */
	uint64_t pause_ns;          /* pause after the next attempt without an answer */
};

void fw_linger_init(struct fw_linger *linger, uv_loop_t *loop);

/* All writers must have been removed before. */
void fw_linger_close(struct fw_linger *linger);

/* From now on `writer` is called before each wait of the loop, and keeps the loop running.
 * Adding it twice is a no-op. */
void fw_linger_add(struct fw_linger *linger, struct fw_writer *writer);

/* Removing a writer that was not added is a no-op. */
void fw_linger_remove(struct fw_linger *linger, struct fw_writer *writer);

/* Call it after writing a message whose answer `reader` will read. Replaces the reader
 * that was expected before. The loop forgets it when it waits. */
static inline void fw_linger_expect(struct fw_linger *linger, struct fw_reader *reader)
{
	linger->expected = reader;
}

/* Call it before `reader` is freed. */
static inline void fw_linger_forget(struct fw_linger *linger, const struct fw_reader *reader)
{
	if (linger->expected == reader)
		linger->expected = NULL;
}

#endif
