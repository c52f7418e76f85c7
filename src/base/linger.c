/*
 * linger.c - see linger.h.
 */
#include "base/linger.h"

#include <poll.h>
#include <sched.h>

static void run_round(struct fw_linger *linger)
{
	struct fw_writer *writer = linger->writers;

	while (writer) {
		linger->upcoming = writer->next;
		writer->write(writer);
		writer = linger->upcoming;
	}
}

/* Writers that are added meanwhile are called, too, because the loop may wait for a long
 * time after this. */
static void run_writers(struct fw_linger *linger)
{
	do {
		linger->has_new = false;
		run_round(linger);
	} while (linger->has_new);
}

/* True: another descriptor is ready. */
static bool is_wanted(const struct fw_linger *linger)
{
	struct pollfd all = { .fd = uv_backend_fd(linger->prepare.loop), .events = POLLIN };

	return poll(&all, 1, 0) != 0;
}

static void take_pause(struct fw_linger *linger, uint64_t now, uint64_t growth)
{
	uint64_t longer_ns = linger->pause_ns * growth;

	linger->resumes_ns = now + linger->pause_ns;
	linger->pause_ns =
		longer_ns < FW_LINGER_PAUSE_MAX_NS ? longer_ns : FW_LINGER_PAUSE_MAX_NS;
}

static void shorten_pause(struct fw_linger *linger)
{
	uint64_t shorter_ns = linger->pause_ns - linger->pause_ns / 8;

	linger->pause_ns =
		shorter_ns > FW_LINGER_PAUSE_MIN_NS ? shorter_ns : FW_LINGER_PAUSE_MIN_NS;
}

/* Often the kernel runs the other process during our write(), so its answer is already
 * there. Whether it does so is mostly the same as the last time, so a first read that
 * would probably find nothing is skipped. */
static bool read_first(struct fw_reader *reader)
{
	if (reader->yields) {
		reader->yields--;
		return false;
	}
	if (reader->read(reader))
		return true;
	reader->yields = FW_LINGER_YIELDS;
	return false;
}

/* Tries to read the answer for at most FW_LINGER_NS. True: something was read. */
static bool attempt(struct fw_linger *linger, struct fw_reader *reader)
{
	uint64_t begun = 0;

	if (read_first(reader))
		return true;
	for (;;) {
		uint64_t now;

		/* Let the other process run. */
		(void)sched_yield();
		if (reader->read(reader))
			return true;
		now = uv_hrtime();
		if (!begun)
			begun = now;
		if (now - begun >= FW_LINGER_NS) {
			take_pause(linger, now, FW_LINGER_GROWTH_VAIN);
			return false;
		}
		if (is_wanted(linger))
			return false;
	}
}

/* True: an attempt may be made now. Reading the clock takes a hundredth of the time of a
 * call, so it is read only once per FW_LINGER_ANSWERS answers. While attempts pause, it
 * is read each time. */
static bool is_timely(struct fw_linger *linger)
{
	uint64_t now;

	if (linger->answers % FW_LINGER_ANSWERS && linger->pause_ns == FW_LINGER_PAUSE_MIN_NS)
		return true;
	now = uv_hrtime();
	if (!linger->answers)
		linger->row_ns = now;
	else if (now - linger->checked_ns > FW_LINGER_LONG_NS)
		take_pause(linger, now, FW_LINGER_GROWTH_LONG);
	else
		shorten_pause(linger);
	linger->checked_ns = now;
	return now >= linger->resumes_ns && now - linger->row_ns < FW_LINGER_ROW_NS;
}

/* Makes one attempt, unless the loop has something else to do or attempts pause. */
static bool find_answer(struct fw_linger *linger)
{
	struct fw_reader *reader = linger->expected;

	linger->expected = NULL;
	if (!reader || uv_backend_timeout(linger->prepare.loop) == 0 || !is_timely(linger) ||
	    !attempt(linger, reader))
		return false;
	linger->answers++;
	return true;
}

static void on_prepare(uv_prepare_t *prepare)
{
	struct fw_linger *linger = prepare->data;

	do
		run_writers(linger);
	while (find_answer(linger));
	linger->answers = 0;
}

void fw_linger_init(struct fw_linger *linger, uv_loop_t *loop)
{
	*linger = (struct fw_linger){ .pause_ns = FW_LINGER_PAUSE_MIN_NS };
	(void)uv_prepare_init(loop, &linger->prepare);
	linger->prepare.data = linger;
	(void)uv_prepare_start(&linger->prepare, on_prepare);
	uv_unref((uv_handle_t *)&linger->prepare);
}

void fw_linger_close(struct fw_linger *linger)
{
	uv_close((uv_handle_t *)&linger->prepare, NULL);
}

void fw_linger_add(struct fw_linger *linger, struct fw_writer *writer)
{
	if (writer->is_added)
		return;
	writer->is_added = true;
	linger->has_new = true;
	writer->previous = NULL;
	writer->next = linger->writers;
	if (writer->next)
		writer->next->previous = writer;
	linger->writers = writer;
	uv_ref((uv_handle_t *)&linger->prepare);
}

void fw_linger_remove(struct fw_linger *linger, struct fw_writer *writer)
{
	if (!writer->is_added)
		return;
	writer->is_added = false;
	if (linger->upcoming == writer)
		linger->upcoming = writer->next;
	if (writer->next)
		writer->next->previous = writer->previous;
	if (writer->previous)
		writer->previous->next = writer->next;
	else
		linger->writers = writer->next;
	if (!linger->writers)
		uv_unref((uv_handle_t *)&linger->prepare);
}
