/*
 * store_suite.h - the conformance suite of stores: tests that every backend passes.
 *
 * A test program of a backend calls fw_store_suite() with a way to make empty stores;
 * store_test.c does so for SQLite.
 */
#ifndef FW_STORE_STORE_SUITE_H
#define FW_STORE_STORE_SUITE_H

#include <stddef.h>

struct fw_store_suite_backend {
	const char *name;
	/* The URL of a new, empty store, which is removed after the test. */
	void (*make)(char *ret_url, size_t size);
	void (*remove)(const char *url);
};

/* The number of failed tests. */
int fw_store_suite(const struct fw_store_suite_backend *tested);

#endif
