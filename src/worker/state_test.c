/*
 * state_test.c - the states of a worker against the table in state.h, and the error of
 * its call for every order of events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "worker/state.h"

enum { LETTERS = FW_WORKER_EVENTS, ORDER_LENGTH = 5 };

#define STATE(name) [FW_WORKER_##name] = #name

static const char *const names[FW_WORKER_STATES] = {
	STATE(NONE),   STATE(STARTING), STATE(ASSIGNED), STATE(IDLE),
	STATE(BUSY),   STATE(HUNG_UP),  STATE(KILLED),   [FW_WORKER_CLOSED_KILLED] = "CLOSED",
	STATE(BROKEN), STATE(FAILED),   STATE(RETIRED),
};

/* The rows of the comment in state.h, in the order of the events there. */
static const char *const table[FW_WORKER_STATES] = {
	[FW_WORKER_NONE] = ". . . . . . . . . .",
	[FW_WORKER_STARTING] = "ASSIGNED IDLE . HUNG_UP BROKEN FAILED KILLED KILLED . NONE",
	[FW_WORKER_ASSIGNED] = ". BUSY . HUNG_UP BROKEN FAILED KILLED KILLED . NONE",
	[FW_WORKER_IDLE] = "BUSY . . HUNG_UP BROKEN . KILLED KILLED RETIRED NONE",
	[FW_WORKER_BUSY] = ". . IDLE HUNG_UP BROKEN . KILLED KILLED . NONE",
	[FW_WORKER_HUNG_UP] = ". . . . BROKEN . CLOSED CLOSED . NONE",
	[FW_WORKER_KILLED] = ". . . . BROKEN . . . . NONE",
	[FW_WORKER_CLOSED_KILLED] = ". . . . BROKEN . . . . NONE",
	[FW_WORKER_BROKEN] = ". . . . . . . . . NONE",
	[FW_WORKER_FAILED] = ". . . . BROKEN . . . . NONE",
	[FW_WORKER_RETIRED] = ". . . . BROKEN . . . . NONE",
};

static void test_table__every_state_and_event(void **unused)
{
	(void)unused;
	for (int state = 0; state < FW_WORKER_STATES; state++) {
		const char *cell = table[state];

		for (int event = 0; event < FW_WORKER_EVENTS; event++) {
			size_t len = strcspn(cell, " ");
			enum fw_worker_state next = fw_worker_state_next(
				(enum fw_worker_state)state, (enum fw_worker_event)event);
			const char *expected = *cell == '.' ? names[state] : cell;
			char got[32], wanted[32];

			if (*cell == '.')
				len = strlen(expected);
			(void)snprintf(got, sizeof got, "%s + %d: %s", names[state], event,
				       names[next]);
			(void)snprintf(wanted, sizeof wanted, "%s + %d: %.*s", names[state],
				       event, (int)len, expected);
			assert_string_equal(got, wanted);
			cell += strcspn(cell, " ");
			cell += *cell == ' ';
		}
		assert_int_equal(*cell, '\0');
	}
}

/* The table is also in the comment of state.h, which people read. */
static void test_table__is_that_of_the_header_comment(void **unused)
{
	char line[256];
	int rows = 0;
	FILE *file;

	(void)unused;
	file = fopen(FW_STATE_HEADER, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		char row[256] = "";
		char *rest = NULL;
		const char *name = NULL;
		int cells = 0;

		if (strncmp(line, " * ", 3) != 0)
			continue;
		name = strtok_r(line + 3, " \n", &rest);
		if (!name)
			continue;
		for (char *word = strtok_r(NULL, " \n", &rest); word;
		     word = strtok_r(NULL, " \n", &rest), cells++)
			(void)snprintf(row + strlen(row), sizeof row - strlen(row), "%s%s",
				       *row ? " " : "", word);
		for (int state = 0; state < FW_WORKER_STATES; state++)
			if (strcmp(names[state], name) == 0 && cells == FW_WORKER_EVENTS) {
				assert_string_equal(row, table[state]);
				rows++;
			}
	}
	(void)fclose(file);
	assert_int_equal(rows, FW_WORKER_STATES);
}

/* ---- all orders of events -------------------------------------------------------------- */

struct walk {
	enum fw_worker_state state;
	bool was_ready;
	bool has_call;
	bool was_killed; /* a kill order was sent before it died */
	bool was_broken;
	bool was_stopped; /* the first kill order came while the socket was open */
	bool has_ended;   /* the socket */
};

static void take(struct walk *walk, enum fw_worker_event event)
{
	bool is_kill = event == FW_WORKER_EVENT_KILL || event == FW_WORKER_EVENT_TIMER ||
		       event == FW_WORKER_EVENT_GARBLED;

	if (walk->state == FW_WORKER_NONE)
		return;
	walk->was_broken = walk->was_broken || event == FW_WORKER_EVENT_GARBLED;
	if (is_kill && !walk->was_killed)
		walk->was_stopped = !walk->has_ended;
	walk->was_killed = walk->was_killed || is_kill;
	walk->has_ended = walk->has_ended || event == FW_WORKER_EVENT_HANG_UP ||
			  walk->state == FW_WORKER_RETIRED;
	walk->was_ready = walk->was_ready || event == FW_WORKER_EVENT_READY;
	if (event == FW_WORKER_EVENT_CALL &&
	    fw_worker_state_next(walk->state, event) != walk->state)
		walk->has_call = true;
	if (event == FW_WORKER_EVENT_DONE && walk->state == FW_WORKER_BUSY)
		walk->has_call = false;
	walk->state = fw_worker_state_next(walk->state, event);
}

/* What must hold for any worker that died now. */
static void check_death(const struct walk *walk)
{
	for (unsigned bits = 0; bits < 8; bits++) {
		const struct fw_worker_death death = { .state = walk->state,
						       .was_ready = walk->was_ready,
						       .has_begun = bits & 1,
						       .has_own_error = bits & 2,
						       .was_killed =
							       walk->was_killed && bits & 4 };
		enum fw_worker_outcome outcome = fw_worker_outcome_of(&death);

		if (!walk->was_ready) {
			assert_int_equal(outcome, FW_WORKER_OUTCOME_CANNOT_START);
			continue;
		}
		assert_int_not_equal(outcome, FW_WORKER_OUTCOME_CANNOT_START);
		assert_false(fw_worker_death_is_start_failure(&death));
		assert_int_equal(outcome == FW_WORKER_OUTCOME_OWN_ERROR, death.has_own_error);
		if (death.has_own_error)
			continue;
		/* Only a call that did not begin may run a second time. */
		if (outcome == FW_WORKER_OUTCOME_PASS_ON) {
			assert_false(death.has_begun);
			assert_false(walk->was_broken);
		}
		/* Invalid data is reported whatever came before and after it. */
		if (walk->was_broken)
			assert_int_equal(outcome, FW_WORKER_OUTCOME_GARBLED);
		/* The breaker does not count what the server stopped. */
		if (outcome == FW_WORKER_OUTCOME_CANCELLED)
			assert_true(walk->was_stopped && !walk->was_broken);
		if (outcome == FW_WORKER_OUTCOME_CRASHED)
			assert_true(death.has_begun || walk->state == FW_WORKER_CLOSED_KILLED);
	}
}

static void test_orders__all_of_five_events_lead_to_a_defined_end(void **unused)
{
	size_t orders = 1;

	(void)unused;
	for (int i = 0; i < ORDER_LENGTH; i++)
		orders *= LETTERS;
	for (size_t order = 0; order < orders; order++) {
		struct walk walk = { .state = FW_WORKER_STARTING };
		size_t rest = order;

		for (int i = 0; i < ORDER_LENGTH && walk.state != FW_WORKER_NONE; i++) {
			check_death(&walk);
			take(&walk, (enum fw_worker_event)(rest % LETTERS));
			rest /= LETTERS;
		}
		/* A state that ends never goes back to work. */
		if (fw_worker_state_is_ending(walk.state)) {
			for (int event = 0; event < FW_WORKER_EVENT_DEATH; event++)
				assert_true(fw_worker_state_is_ending(fw_worker_state_next(
					walk.state, (enum fw_worker_event)event)));
		}
		/* A call is in the state, not beside it. */
		if (walk.state == FW_WORKER_BUSY || walk.state == FW_WORKER_ASSIGNED)
			assert_true(walk.has_call);
		if (walk.state == FW_WORKER_IDLE || walk.state == FW_WORKER_STARTING)
			assert_false(walk.has_call);
		take(&walk, FW_WORKER_EVENT_DEATH);
		assert_int_equal(walk.state, FW_WORKER_NONE);
	}
}

/* ---- the ends that docs/isolation.md names ------------------------------------------------- */

static enum fw_worker_outcome outcome_after(const char *events, bool has_begun, bool was_killed)
{
	static const char letters[] = "crdhgfktx"; /* in the order of the events */
	struct walk walk = { .state = FW_WORKER_STARTING };
	struct fw_worker_death death;

	for (; *events; events++)
		take(&walk, (enum fw_worker_event)(strchr(letters, *events) - letters));
	death = (struct fw_worker_death){ .state = walk.state,
					  .was_ready = walk.was_ready,
					  .has_begun = has_begun,
					  .was_killed = was_killed };
	return fw_worker_outcome_of(&death);
}

static void test_ends__each_named_case(void **unused)
{
	(void)unused;
	/* A crash: the report comes first, or the socket ends first. */
	assert_int_equal(outcome_after("rc", true, false), FW_WORKER_OUTCOME_CRASHED);
	assert_int_equal(outcome_after("rch", true, false), FW_WORKER_OUTCOME_CRASHED);
	/* An idle worker dies before it saw the request. */
	assert_int_equal(outcome_after("rch", false, false), FW_WORKER_OUTCOME_PASS_ON);
	assert_int_equal(outcome_after("rc", false, false), FW_WORKER_OUTCOME_PASS_ON);
	/* It closed its socket and lived on; it did so, but died by itself in time. */
	assert_int_equal(outcome_after("rcht", true, true), FW_WORKER_OUTCOME_GARBLED);
	assert_int_equal(outcome_after("rcht", true, false), FW_WORKER_OUTCOME_CRASHED);
	/* Deadline; cancellation without an end in time; the socket ends after that. */
	assert_int_equal(outcome_after("rck", true, true), FW_WORKER_OUTCOME_CANCELLED);
	assert_int_equal(outcome_after("rct", true, true), FW_WORKER_OUTCOME_CANCELLED);
	assert_int_equal(outcome_after("rckh", true, true), FW_WORKER_OUTCOME_CANCELLED);
	/* Invalid data, before and after a kill. */
	assert_int_equal(outcome_after("rcg", true, true), FW_WORKER_OUTCOME_GARBLED);
	assert_int_equal(outcome_after("rckg", true, true), FW_WORKER_OUTCOME_GARBLED);
	/* The fork server dies: with a call that began, with one that did not. */
	assert_int_equal(outcome_after("rc", true, false), FW_WORKER_OUTCOME_CRASHED);
	assert_int_equal(outcome_after("c", false, false), FW_WORKER_OUTCOME_CANNOT_START);
	/* It cannot start, and says so or not. */
	assert_int_equal(outcome_after("cf", false, false), FW_WORKER_OUTCOME_CANNOT_START);
	assert_int_equal(outcome_after("ch", false, false), FW_WORKER_OUTCOME_CANNOT_START);
}

static void test_start_failures__are_counted_unless_the_server_ended_it(void **unused)
{
	(void)unused;
	for (int state = FW_WORKER_STARTING; state < FW_WORKER_STATES; state++) {
		const struct fw_worker_death death = { .state = (enum fw_worker_state)state };

		assert_int_equal(fw_worker_death_is_start_failure(&death),
				 state != FW_WORKER_KILLED && state != FW_WORKER_RETIRED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table__every_state_and_event),
		cmocka_unit_test(test_table__is_that_of_the_header_comment),
		cmocka_unit_test(test_orders__all_of_five_events_lead_to_a_defined_end),
		cmocka_unit_test(test_ends__each_named_case),
		cmocka_unit_test(test_start_failures__are_counted_unless_the_server_ended_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
