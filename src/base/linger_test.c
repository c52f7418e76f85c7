/*
 * linger_test.c - answers that are read before the loop waits, and the limits of that.
 */
#include "base/linger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

enum { SHORT_MS = 10, FOREVER_MS = 60 * 1000 };

struct world {
	uv_loop_t loop;
	uv_timer_t end;
	uv_poll_t other;
	int pipe[2];
	struct fw_linger linger;
	struct fw_reader reader;
	struct fw_writer writer;
	struct fw_writer second;
	unsigned reads;
	unsigned late;    /* reads without an answer before each answer */
	unsigned left;    /* answers that are still to come */
	unsigned answers; /* that were read */
	unsigned written; /* answers that had been read when the writer was called last */
	bool is_served;   /* the other descriptor had its turn */
};

static struct world *world;

static bool read_answer(struct fw_reader *reader)
{
	assert_ptr_equal(reader, &world->reader);
	world->reads++;
	if (!world->left || world->reads % (world->late + 1))
		return false;
	world->left--;
	world->answers++;
	return true;
}

/* Each answer is followed by a message, to which the next answer is expected. */
static void write_message(struct fw_writer *writer)
{
	assert_ptr_equal(writer, &world->writer);
	if (world->answers > world->written)
		fw_linger_expect(&world->linger, &world->reader);
	world->written = world->answers;
}

static void on_end(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

static void on_other(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	world->is_served = true;
	(void)uv_poll_stop(poll);
	uv_stop(poll->loop);
}

/* The first iteration tells the kernel about descriptors, and looks for no answers. */
static void enter_descriptors(struct world *w)
{
	(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void begin(struct world *w)
{
	*w = (struct world){ .reader.read = read_answer, .writer.write = write_message };
	world = w;
	assert_int_equal(uv_loop_init(&w->loop), 0);
	fw_linger_init(&w->linger, &w->loop);
	(void)uv_timer_init(&w->loop, &w->end);
	assert_int_equal(pipe(w->pipe), 0);
	(void)uv_poll_init(&w->loop, &w->other, w->pipe[0]);
	fw_linger_add(&w->linger, &w->writer);
	enter_descriptors(w);
}

static void finish(struct world *w)
{
	fw_linger_remove(&w->linger, &w->writer);
	fw_linger_close(&w->linger);
	uv_close((uv_handle_t *)&w->end, NULL);
	uv_close((uv_handle_t *)&w->other, NULL);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&w->loop), 0);
	(void)close(w->pipe[0]);
	(void)close(w->pipe[1]);
}

/* The loop would wait for `wait_ms`: so it has looked for answers before. */
static void run_for(struct world *w, uint64_t wait_ms)
{
	uv_update_time(&w->loop);
	(void)uv_timer_start(&w->end, on_end, wait_ms, 0);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
}

static void make_ready(struct world *w)
{
	(void)uv_poll_start(&w->other, UV_READABLE, on_other);
	enter_descriptors(w);
	assert_int_equal(write(w->pipe[1], "x", 1), 1);
}

static void test_linger__answer_is_read_and_passed_on_without_a_wait(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.left = 1;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.answers, 1);
	/* The writer ran again after the answer. */
	assert_int_equal(w.written, 1);
	finish(&w);
}

static void test_linger__answer_that_is_late_by_a_few_reads_is_found(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.left = 1;
	w.late = 4;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	/* Under valgrind the moment may be over before. */
	assert_true(w.answers == 1 || w.linger.resumes_ns > 0);
	finish(&w);
}

static void write_nothing(struct fw_writer *writer)
{
	(void)writer;
}

static void test_linger__read_that_found_nothing_is_left_out_for_a_while(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.writer.write = write_nothing;
	w.left = 1;
	w.late = 1;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, 2);
	assert_int_equal(w.reader.yields, FW_LINGER_YIELDS);
	w.left = 1;
	w.late = 0;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, 3);
	assert_int_equal(w.reader.yields, FW_LINGER_YIELDS - 1);
	finish(&w);
}

static void test_linger__attempts_pause_if_no_answer_comes(void **state)
{
	struct world w;
	unsigned reads;

	(void)state;
	begin(&w);
	w.linger.pause_ns = FW_LINGER_PAUSE_MAX_NS;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	reads = w.reads;
	assert_true(reads >= 2);
	assert_true(w.linger.resumes_ns > 0);
	/* Far longer than this takes, also under valgrind. */
	w.linger.resumes_ns += UINT64_C(60) * FW_LINGER_PAUSE_MAX_NS;
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, reads);
	/* It is forgotten, not postponed. */
	w.linger.resumes_ns = 0;
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, reads);
	finish(&w);
}

static void test_linger__pause_grows_to_its_limit_and_answers_shorten_it(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	for (int i = 0; i < 20; i++) {
		w.linger.resumes_ns = 0;
		fw_linger_expect(&w.linger, &w.reader);
		run_for(&w, SHORT_MS);
	}
	assert_int_equal(w.linger.pause_ns, FW_LINGER_PAUSE_MAX_NS);
	/* Several times, since attempts pause on a busy machine. */
	while (w.answers < 2 * FW_LINGER_ANSWERS) {
		w.linger.resumes_ns = 0;
		w.left = 2 * FW_LINGER_ANSWERS;
		fw_linger_expect(&w.linger, &w.reader);
		run_for(&w, SHORT_MS);
	}
	/* Unless they took long. */
	assert_true(w.linger.pause_ns < FW_LINGER_PAUSE_MAX_NS || w.linger.resumes_ns > 0);
	finish(&w);
}

static void test_linger__other_descriptor_that_is_ready_ends_the_attempt(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	make_ready(&w);
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, FOREVER_MS);
	assert_true(w.is_served);
	assert_int_equal(w.reads, 2);
	finish(&w);
}

/* A peer that answers everything at once does not keep the loop from its other work. */
static void test_linger__endless_answers_starve_other_descriptors(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.left = UINT32_MAX;
	make_ready(&w);
	fw_linger_expect(&w.linger, &w.reader);
	run_for(&w, FOREVER_MS);
	assert_true(w.is_served);
	assert_true(w.answers > 0);
	finish(&w);
}

static void test_linger__reader_that_is_forgotten_is_not_called(void **state)
{
	struct world w;
	struct fw_reader another = { .read = read_answer };

	(void)state;
	begin(&w);
	fw_linger_expect(&w.linger, &w.reader);
	fw_linger_forget(&w.linger, &another);
	fw_linger_forget(&w.linger, &w.reader);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, 0);
	finish(&w);
}

static void remove_both(struct fw_writer *writer)
{
	(void)writer;
	world->reads++;
	fw_linger_remove(&world->linger, &world->second);
	fw_linger_remove(&world->linger, &world->writer);
}

static void test_linger__writer_removes_itself_and_the_next_one(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.writer.write = remove_both;
	w.second.write = remove_both;
	fw_linger_add(&w.linger, &w.second);
	fw_linger_add(&w.linger, &w.second);
	run_for(&w, SHORT_MS);
	assert_int_equal(w.reads, 1);
	assert_null(w.linger.writers);
	finish(&w);
}

static void write_once(struct fw_writer *writer)
{
	fw_linger_remove(&world->linger, writer);
	world->written++;
}

static void add_second(struct fw_writer *writer)
{
	(void)writer;
	if (!world->written)
		fw_linger_add(&world->linger, &world->second);
}

/* Lines that a greeting held back were written at the next event only, often a deadline. */
static void test_linger__writer_that_is_added_by_another_waits_for_the_next_event(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.writer.write = add_second;
	w.second.write = write_once;
	w.left = 1;
	fw_linger_expect(&w.linger, &w.reader);
	(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	assert_int_equal(w.written, 1);
	finish(&w);
}

static void stop_adding(struct fw_writer *writer)
{
	fw_linger_remove(&world->linger, writer);
}

/* A writer keeps the loop running, and the lingering itself does not. */
static void test_linger__loop_ends_when_its_last_writer_is_removed(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(uv_loop_alive(&w.loop), 1);
	w.writer.write = stop_adding;
	make_ready(&w);
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_alive(&w.loop), 0);
	finish(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linger__answer_is_read_and_passed_on_without_a_wait),
		cmocka_unit_test(test_linger__answer_that_is_late_by_a_few_reads_is_found),
		cmocka_unit_test(test_linger__read_that_found_nothing_is_left_out_for_a_while),
		cmocka_unit_test(test_linger__attempts_pause_if_no_answer_comes),
		cmocka_unit_test(test_linger__pause_grows_to_its_limit_and_answers_shorten_it),
		cmocka_unit_test(test_linger__other_descriptor_that_is_ready_ends_the_attempt),
		cmocka_unit_test(test_linger__endless_answers_starve_other_descriptors),
		cmocka_unit_test(test_linger__reader_that_is_forgotten_is_not_called),
		cmocka_unit_test(test_linger__writer_removes_itself_and_the_next_one),
		cmocka_unit_test(
			test_linger__writer_that_is_added_by_another_waits_for_the_next_event),
		cmocka_unit_test(test_linger__loop_ends_when_its_last_writer_is_removed),
	};

	return cmocka_run_group_tests_name("linger", tests, NULL, NULL);
}
