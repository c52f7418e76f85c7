/*
 * real.h - rounding of doubles, without the mathematical library.
 *
 * A server that is idle has mapped what it is linked with; libm takes 330 KB for the few
 * functions that this library needs. The results are those of floor(), ceil() and
 * round(), except that a zero may lose its sign.
 */
#ifndef FW_BASE_REAL_H
#define FW_BASE_REAL_H

#include <stdbool.h>
#include <stdint.h>

/* From here on a double has no fraction, and need not fit in an int64_t. */
#define FW_REAL_WHOLE 4503599627370496.0

static inline double fw_floor(double x)
{
	double whole;

	if (!(x > -FW_REAL_WHOLE && x < FW_REAL_WHOLE)) /* also NaN */
		return x;
	whole = (double)(int64_t)x;
	return whole > x ? whole - 1 : whole;
}

static inline double fw_ceil(double x)
{
	return -fw_floor(-x);
}

/* Halves away from zero. */
static inline double fw_round(double x)
{
	double whole = x < 0 ? fw_ceil(x) : fw_floor(x);
	double rest = x - whole;

	if (rest >= 0.5)
		return whole + 1;
	return rest <= -0.5 ? whole - 1 : whole;
}

static inline bool fw_real_is_whole(double x)
{
	return x == fw_floor(x);
}

#endif
