/*
 * scratch.h - a directory for each unit test, and the path or URL of a database in it:
 *
 *   #define SCRATCH_FORM "sqlite:%s/tokens.db"
 *   #include "test/scratch.h"
 *   ... cmocka_unit_test_setup_teardown(test, set_up, tear_down)
 *
 * Include it after cmocka.h.
 */
#ifndef FW_TEST_SCRATCH_H
#define FW_TEST_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>

#include <faultwire/error.h>

static char directory[64];
static char path[128];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof directory, "/tmp/faultwire-test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	(void)snprintf(path, sizeof path, SCRATCH_FORM, directory);
	return 0;
}

/* Fails if the test has left an error behind. */
static int tear_down(void **state)
{
	char command[160];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
	return fw_error_live() == 0 ? 0 : -1;
}

#endif
