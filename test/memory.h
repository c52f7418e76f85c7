/*
 * memory.h - an allocator for unit tests that counts, and that can be made to
 * fail: each allocation of an operation in turn, alone and with all later ones.
 */
#ifndef FW_TEST_MEMORY_H
#define FW_TEST_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>

#include <faultwire/faultwire.h>

struct test_memory {
	long blocks;    /* handed out and not given back */
	size_t calls;   /* since the operation began */
	size_t fail_at; /* this one fails, counted from 1; 0: none */
	bool fail_on;   /* and all later ones too */
	bool failed;    /* one has */
};

static struct test_memory test_memory;

static inline bool test_memory_refuses(void)
{
	/* Other threads of the operation allocate, too. */
	size_t call = __atomic_add_fetch(&test_memory.calls, 1, __ATOMIC_RELAXED);

	if (!test_memory.fail_at || call < test_memory.fail_at ||
	    (call > test_memory.fail_at && !test_memory.fail_on))
		return false;
	test_memory.failed = true;
	return true;
}

static inline void *test_memory_allocate(void *ctx, size_t size)
{
	void *block = test_memory_refuses() ? NULL : malloc(size);

	(void)ctx;
	(void)__atomic_add_fetch(&test_memory.blocks, block != NULL, __ATOMIC_RELAXED);
	return block;
}

static inline void *test_memory_reallocate(void *ctx, void *ptr, size_t size)
{
	void *block = test_memory_refuses() ? NULL : realloc(ptr, size);

	(void)ctx;
	(void)__atomic_add_fetch(&test_memory.blocks, block && !ptr, __ATOMIC_RELAXED);
	return block;
}

static inline void test_memory_release(void *ctx, void *ptr)
{
	(void)ctx;
	(void)__atomic_sub_fetch(&test_memory.blocks, ptr != NULL, __ATOMIC_RELAXED);
	free(ptr);
}

/* `run` must leave nothing behind, whichever allocation fails. */
static inline void each_allocation_fails(void (*run)(void))
{
	const fw_allocator allocator = { test_memory_allocate, test_memory_reallocate,
					 test_memory_release, NULL };

	fw_allocator_set(&allocator);
	for (int on = 0; on < 2; on++) {
		for (size_t at = 1;; at++) {
			long live = fw_error_live();

			test_memory = (struct test_memory){ .fail_at = at, .fail_on = on };
			run();
			test_memory.fail_at = 0;
			assert_int_equal(test_memory.blocks, 0);
			assert_int_equal(fw_error_live(), live);
			if (!test_memory.failed)
				break;
			assert_true(at < 100000);
		}
	}
	fw_allocator_set(NULL);
}

#endif
