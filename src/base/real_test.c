/* Tests of real.h: the results are those of the mathematical library. */
#include "base/real.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Equal, or both NaN. */
static void check_same(double ours, double theirs)
{
	if (isnan(theirs))
		assert_true(isnan(ours));
	else
		assert_true(ours == theirs);
}

static void check(double x)
{
	check_same(fw_floor(x), floor(x));
	check_same(fw_ceil(x), ceil(x));
	check_same(fw_round(x), round(x));
	assert_int_equal(fw_real_is_whole(x), x == floor(x));
}

static void test_real__rounds_as_libm_does(void **state)
{
	static const double edges[] = {
		0,
		0.5,
		1,
		1.5,
		2.5,
		0.49999999999999994,
		0.1,
		4503599627370495.5,
		1e9,
		1e18,
		1e19,
		1e300,
		5e-324,
		4503599627370496.0,
		INFINITY,
		NAN,
		9007199254740991.0,
		9007199254740993.0,
	};
	uint64_t bits = 1;

	(void)state;
	for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
		check(edges[i]);
		check(-edges[i]);
	}
	for (int i = 0; i < 200000; i++) {
		double x;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&x, &bits, sizeof x);
		check(x);
		/* Most of those are far from 1; these are not. */
		check((double)(int64_t)bits / 1e15);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real__rounds_as_libm_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
