/*
 * decimal.c - see decimal.h.
 */
#include "base/decimal.h"

#include "base/ascii.h"

bool fw_decimal_take(const char **at, uint64_t *ret_number)
{
	const char *p = *at;
	uint64_t number = 0;

	for (; fw_is_digit(*p); p++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return false;
	if (p == *at)
		return false;
	*at = p;
	*ret_number = number;
	return true;
}

bool fw_decimal_read(const char *text, uint64_t least, uint64_t most, uint64_t *ret_number)
{
	uint64_t number;

	if (!fw_decimal_take(&text, &number) || *text || number < least || number > most)
		return false;
	*ret_number = number;
	return true;
}
