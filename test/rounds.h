/*
 * rounds.h - how often a test repeats something, or with how much data.
 *
 * Under valgrind, which is 40 times slower, a twentieth: it is there to find reads of
 * uninitialized memory, and the repetitions run in the ordinary build and with the
 * sanitizers. test/run sets FW_VALGRIND.
 */
#ifndef FW_TEST_ROUNDS_H
#define FW_TEST_ROUNDS_H

#include <stdlib.h>

static inline int test_rounds(int rounds)
{
	return getenv("FW_VALGRIND") ? rounds / 20 : rounds;
}

#endif
