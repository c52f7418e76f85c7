/*
 * sandbox_filter_test.c - the filters in the library are those that libseccomp compiles.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/sandbox_filter.h"
#include "worker/sandbox_impl.h"

static void test_filters__equal_what_libseccomp_compiles_now(void **state)
{
	static struct sock_filter code[BPF_MAXINSNS];

	(void)state;
	for (unsigned i = 0; i < FW_SANDBOX_FILTERS; i++) {
		const struct fw_sandbox_filter_kind kind = fw_sandbox_filter_kind_at(i);
		struct fw_sandbox_plan plan = { .is_server = kind.is_server,
						.may_connect = kind.may_connect,
						.may_execute = kind.may_execute,
						.may_watch = kind.may_watch };
		int count = fw_sandbox_filter_compile(&kind, code, BPF_MAXINSNS);

		fw_sandbox_seccomp_prepare(&plan);
		assert_true(count > 0);
		assert_int_equal(plan.call_count, count);
		assert_memory_equal(plan.calls, code, (size_t)count * sizeof *code);
	}
}

static void test_filters__differ_for_each_kind_of_process(void **state)
{
	struct fw_sandbox_plan worker = { 0 }, server = { .is_server = true };

	(void)state;
	fw_sandbox_seccomp_prepare(&worker);
	fw_sandbox_seccomp_prepare(&server);
	assert_ptr_not_equal(worker.calls, server.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters__equal_what_libseccomp_compiles_now),
		cmocka_unit_test(test_filters__differ_for_each_kind_of_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
