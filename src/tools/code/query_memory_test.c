/*
 * Compiling and matching a query of search_text, with each allocation failing in turn: it
 * raises internal.out_of_memory or works, and nothing is left over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"
#include "tools/code/query.h"

#include <faultwire/faultwire.h>

static struct fw_query_options options;

static bool count_match(void *ctx, const struct fw_match *match)
{
	(void)match;
	++*(unsigned *)ctx;
	return true;
}

static bool goes_on(void *ctx)
{
	(void)ctx;
	return false;
}

static void compile_and_match(void)
{
	static const char text[] = "int main(void)\n{\n\treturn Main();\n}\n";
	struct fw_query *query = NULL;
	struct fw_matcher *matcher = NULL;
	unsigned found = 0;
	const struct fw_matching matching = { .found = count_match,
					      .is_stopped = goes_on,
					      .ctx = &found };
	fw_error *err = fw_query_new(&options, &query);

	assert_true(!err == !!query);
	if (!err)
		err = fw_matcher_new(query, &matcher);
	if (!err)
		err = fw_matcher_run(matcher, &matching, text, sizeof text - 1);
	if (err)
		assert_int_equal(fw_error_code(err), FW_INTERNAL_OUT_OF_MEMORY);
	else
		assert_int_equal(found, options.is_case_sensitive ? 1 : 2);
	fw_error_free(err);
	fw_matcher_free(matcher);
	fw_query_free(query);
}

static void test_query_memory__text(void **state)
{
	(void)state;
	options = (struct fw_query_options){ "main(", 5, false, true };
	each_allocation_fails(compile_and_match);
	options.is_case_sensitive = false;
	each_allocation_fails(compile_and_match);
}

static void test_query_memory__regular_expression(void **state)
{
	(void)state;
	options = (struct fw_query_options){ "(main|other)\\(", 14, true, true };
	each_allocation_fails(compile_and_match);
	options.is_case_sensitive = false;
	each_allocation_fails(compile_and_match);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_query_memory__text),
		cmocka_unit_test(test_query_memory__regular_expression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
