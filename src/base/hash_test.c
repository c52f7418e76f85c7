/*
 * hash_test.c - the hash is the same on every machine, and depends on every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

/* Stores and files keep hashes, so the values must never change. */
static void test_hash__of_known_texts_never_changes(void **state)
{
	(void)state;
	assert_true(fw_hash_text("", 0) == 0xe28f2b2061a2b984u);
	assert_true(fw_hash_text("incident", 0) == 0xd72f0ef926e43583u);
	assert_true(fw_hash_text("a text of more than sixteen bytes", 1) ==
		    0xc8f28afc59101075u);
}

static void test_hash__depends_on_every_byte_the_length_and_the_seed(void **state)
{
	char text[40];

	(void)state;
	memset(text, 'a', sizeof text);
	for (size_t len = 1; len <= sizeof text; len++) {
		uint64_t hash = fw_hash(text, len, 0);

		assert_true(hash != fw_hash(text, len - 1, 0));
		assert_true(hash != fw_hash(text, len, 1));
		for (size_t i = 0; i < len; i++) {
			text[i] = 'b';
			assert_true(hash != fw_hash(text, len, 0));
			text[i] = 'a';
		}
	}
}

static void test_hash__of_two_texts_depends_on_where_the_first_ends(void **state)
{
	(void)state;
	assert_true(fw_hash_text("c", fw_hash_text("ab", 0)) !=
		    fw_hash_text("bc", fw_hash_text("a", 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash__of_known_texts_never_changes),
		cmocka_unit_test(test_hash__depends_on_every_byte_the_length_and_the_seed),
		cmocka_unit_test(test_hash__of_two_texts_depends_on_where_the_first_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
