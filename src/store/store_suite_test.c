/*
 * store_suite_test.c - the conformance suite on SQLite.
 */
#include "store/store_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char directory[64];

static void make(char *ret_url, size_t size)
{
	(void)snprintf(directory, sizeof directory, "/tmp/fw-store-XXXXXX");
	assert_non_null(mkdtemp(directory));
	(void)snprintf(ret_url, size, "sqlite:%s/store.db", directory);
}

static void remove_all(const char *url)
{
	char command[128];

	(void)url;
	(void)snprintf(command, sizeof command, "rm -rf %s", directory);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

int main(void)
{
	const struct fw_store_suite_backend sqlite = { .name = "sqlite",
						       .make = make,
						       .remove = remove_all };

	return fw_store_suite(&sqlite);
}
