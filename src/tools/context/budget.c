/*
 * budget.c - the budget of a request, read from JSON text.
 */
#include "tools/context/context.h"

/* A decimal number: 0.digits times ten to the power of `point`. */
struct decimal {
	char digits[32]; /* without leading zeros */
	size_t count;
	long point;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits before or after the decimal point. False if there are none, or
 * too many. */
static bool read_digits(const char *text, size_t len, size_t *at, bool is_fraction,
			struct decimal *number)
{
	size_t start = *at;

	for (; *at < len && is_digit(text[*at]); (*at)++) {
		if (number->count == 0 && text[*at] == '0') {
			/* A leading zero of the fraction moves the point. */
			number->point -= is_fraction;
			continue;
		}
		if (number->count == sizeof number->digits)
			return false;
		number->digits[number->count++] = text[*at];
		number->point += !is_fraction;
	}
	return *at > start;
}

/* Reads what follows the "e". */
static bool read_exponent(const char *text, size_t len, size_t *at, struct decimal *number)
{
	bool is_negative = false;
	long value = 0;
	size_t start;

	if (*at < len && (text[*at] == '+' || text[*at] == '-'))
		is_negative = text[(*at)++] == '-';
	for (start = *at; *at < len && is_digit(text[*at]); (*at)++)
		value = value < 1000 ? value * 10 + (text[*at] - '0') : value;
	number->point += is_negative ? -value : value;
	return *at > start;
}

/* False if it has a fraction or exceeds INT64_MAX. */
static bool to_integer(const struct decimal *number, int64_t *ret_value)
{
	uint64_t value = 0;

	if (number->point < (long)number->count || number->point > 19)
		return false;
	for (long i = 0; i < number->point; i++) {
		unsigned digit =
			i < (long)number->count ? (unsigned)(number->digits[i] - '0') : 0;

		if (value > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret_value = (int64_t)value;
	return true;
}

/* The grammar of JSON: [-] digits [. digits] [e [sign] digits]. */
bool fw_context_budget_read(const char *text, size_t len, int64_t *ret_budget)
{
	struct decimal number = { .count = 0 };
	bool is_negative = len > 0 && text[0] == '-';
	size_t at = is_negative;

	if (at + 1 < len && text[at] == '0' && is_digit(text[at + 1]))
		return false;
	if (!read_digits(text, len, &at, false, &number))
		return false;
	if (at < len && text[at] == '.') {
		at++;
		if (!read_digits(text, len, &at, true, &number))
			return false;
	}
	if (at < len && (text[at] == 'e' || text[at] == 'E')) {
		at++;
		if (!read_exponent(text, len, &at, &number))
			return false;
	}
	if (at != len)
		return false;
	while (number.count > 0 && number.digits[number.count - 1] == '0')
		number.count--;
	if (number.count == 0) {
		*ret_budget = 0;
		return true;
	}
	return !is_negative && to_integer(&number, ret_budget);
}
