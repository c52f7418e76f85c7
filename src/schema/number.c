/*
 * number.c - compares numbers by their decimal value.
 *
 * JSON numbers have no size limit. An instance may be given as digits (yyjson RAW),
 * or as int64, uint64 or double. Two numbers given as digits are compared exactly:
 * signs, power of the first digit, then digit by digit, in linear time and without
 * allocation. There is a fast path for integers that fit. A double has already lost
 * precision, so it is compared with the nearest double of the other number: 0.1 read
 * as a double equals 0.1 in the schema. For multipleOf a double is taken as its
 * shortest decimal number, so that 0.3 is a multiple of 0.1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "base/real.h"
#include "schema/number.h"

#define EXP_MAX 1000000000000000    /* exponents saturate here */
#define INT_END 1000000000000000000 /* the fast path: 18 digits */

__extension__ typedef unsigned __int128 u128;

bool fw_schema__dec_read(const char *text, size_t len, struct fw_schema__dec *ret)
{
	const char *p = text, *end = text + len, *first = NULL, *last = NULL;
	struct fw_schema__dec d = { 0 };
	int64_t int_digits = 0, digits = 0, first_at = 0, last_at = 0, e = 0;
	bool dot = false, e_negative = false;

	if (p < end && *p == '-') {
		d.negative = true;
		p++;
	}
	if (p == end || !fw_is_digit(*p))
		return false; /* NaN, Infinity, ... */
	for (; p < end && (fw_is_digit(*p) || (*p == '.' && !dot)); p++) {
		if (*p == '.') {
			dot = true;
			continue;
		}
		if (*p != '0') {
			if (!first) {
				first = p;
				first_at = digits;
			}
			last = p;
			last_at = digits;
		}
		digits++;
		if (!dot)
			int_digits++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			e_negative = *p++ == '-';
		for (; p < end && fw_is_digit(*p); p++)
			if (e < EXP_MAX)
				e = e * 10 + (*p - '0');
		if (e_negative)
			e = -e;
	}
	if (p != end)
		return false;
	if (first) {
		d.first = first;
		d.last = last;
		d.top = int_digits - 1 - first_at + e;
		d.low = int_digits - 1 - last_at + e;
	} else {
		d.negative = false; /* -0 is 0 */
	}
	*ret = d;
	return true;
}

int fw_schema__dec_compare(const struct fw_schema__dec *a, const struct fw_schema__dec *b)
{
	int sa = !a->first ? 0 : a->negative ? -1 : 1;
	int sb = !b->first ? 0 : b->negative ? -1 : 1;
	const char *p, *q;

	if (sa != sb)
		return sa < sb ? -1 : 1;
	if (sa == 0)
		return 0;
	if (a->top != b->top)
		return a->top < b->top ? -sa : sa;
	for (p = a->first, q = b->first; p <= a->last && q <= b->last; p++, q++) {
		if (*p == '.')
			p++;
		if (*q == '.')
			q++;
		if (*p != *q)
			return *p < *q ? -sa : sa;
	}
	/* Both end in a digit other than 0, so the longer one is greater. */
	if (p <= a->last)
		return sa;
	return q <= b->last ? -sa : 0;
}

bool fw_schema__dec_to_int(const struct fw_schema__dec *d, int64_t *ret)
{
	int64_t v = 0, i;
	const char *p;

	if (!d->first) {
		*ret = 0;
		return true;
	}
	if (d->low < 0 || d->top >= 18)
		return false;
	for (p = d->first; p <= d->last; p++)
		if (*p != '.')
			v = v * 10 + (*p - '0');
	for (i = 0; i < d->low; i++)
		v *= 10;
	*ret = d->negative ? -v : v;
	return true;
}

/* With yyjson rather than strtod, which depends on the locale. */
static bool to_double(const char *text, size_t len, double *ret)
{
	char copy[128];
	yyjson_val v;

	if (len >= sizeof copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (!yyjson_read_number(copy, &v, 0, NULL, NULL))
		return false;
	*ret = yyjson_get_num(&v);
	return true;
}

bool fw_schema__num_read(const char *text, size_t len, struct fw_schema__num *ret)
{
	struct fw_schema__num n = { .text = text, .len = (uint32_t)len };

	if (!fw_schema__dec_read(text, len, &n.dec))
		return false;
	n.is_int = fw_schema__dec_to_int(&n.dec, &n.i);
	if (!to_double(text, len, &n.d)) {
		/* Out of the range of double, or too long. */
		n.d = !n.dec.first || n.dec.top < 0 ? 0 : HUGE_VAL;
		if (n.dec.first && n.dec.top >= 0 && n.dec.top < 300) {
			/* Its first digits, and the power of ten: they are in range. */
			char head[40];
			size_t k = 0;
			const char *p;

			for (p = n.dec.first; p <= n.dec.last && k < 18; p++)
				if (*p != '.')
					head[k++] = *p;
			k += (size_t)snprintf(head + k, sizeof head - k, "e%d",
					      (int)n.dec.top - (int)k + 1);
			(void)to_double(head, k, &n.d);
		}
		if (n.dec.negative)
			n.d = -n.d;
	}
	*ret = n;
	return true;
}

/* Room for the shortest text of any double or 64-bit integer, and for the overhead
 * of yyjson's pool allocator. */
struct text_room {
	char pool[512];
};

/* The digits of a number; false for NaN and infinity. */
static bool as_dec(yyjson_val *v, struct text_room *room, struct fw_schema__dec *ret)
{
	yyjson_alc alc;
	char *text;
	size_t len;

	if (yyjson_is_raw(v))
		return fw_schema__dec_read(yyjson_get_raw(v), yyjson_get_len(v), ret);
	if (!yyjson_alc_pool_init(&alc, room->pool, sizeof room->pool))
		return false;
	text = yyjson_val_write_opts(v, 0, &alc, &len, NULL);
	return text && fw_schema__dec_read(text, len, ret);
}

bool fw_schema__as_int(yyjson_val *v, int64_t *ret)
{
	struct fw_schema__dec d;
	double x;

	switch (unsafe_yyjson_get_tag(v) & 0x1f) {
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT:
		if (unsafe_yyjson_get_uint(v) >= INT_END)
			return false;
		*ret = (int64_t)unsafe_yyjson_get_uint(v);
		return true;
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT:
		*ret = unsafe_yyjson_get_sint(v);
		return *ret > -INT_END;
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL:
		x = unsafe_yyjson_get_real(v);
		if (!(x > -1e18 && x < 1e18) || !fw_real_is_whole(x))
			return false;
		*ret = (int64_t)x;
		return true;
	default:
		return fw_schema__dec_read(yyjson_get_raw(v), yyjson_get_len(v), &d) &&
		       fw_schema__dec_to_int(&d, ret);
	}
}

bool fw_schema__is_integer(yyjson_val *v)
{
	struct fw_schema__dec d;
	double x;

	if (yyjson_is_int(v))
		return true;
	if (yyjson_is_real(v)) {
		x = unsafe_yyjson_get_real(v);
		return isfinite(x) && fw_real_is_whole(x);
	}
	return fw_schema__dec_read(yyjson_get_raw(v), yyjson_get_len(v), &d) &&
	       (!d.first || d.low >= 0);
}

int fw_schema__num_compare(yyjson_val *v, const struct fw_schema__num *n)
{
	struct text_room room;
	struct fw_schema__dec d;
	int64_t i;

	if (yyjson_is_real(v)) {
		double x = unsafe_yyjson_get_real(v);

		if (!isfinite(x))
			return 2;
		return x < n->d ? -1 : x > n->d;
	}
	if (n->is_int && fw_schema__as_int(v, &i))
		return i < n->i ? -1 : i > n->i;
	if (!as_dec(v, &room, &d))
		return 2;
	return fw_schema__dec_compare(&d, &n->dec);
}

/* Whether fmod() would give 0; each step is exact. */
static bool is_multiple_of(double x, double of)
{
	double rest = fabs(x), unit = fabs(of), part = unit;

	if (!isfinite(rest) || !(unit > 0))
		return false;
	while (part <= rest / 2)
		part *= 2;
	while (part >= unit) {
		if (rest >= part)
			rest -= part;
		part /= 2;
	}
	return rest == 0;
}

static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t m)
{
	return (uint64_t)((u128)a * b % m);
}

bool fw_schema__num_multiple(yyjson_val *v, const struct fw_schema__num *n)
{
	struct text_room room;
	struct fw_schema__dec d;
	uint64_t m = 0, rest = 0, ten, e;
	const char *p;
	int64_t i;

	if (n->is_int && fw_schema__as_int(v, &i))
		return i % n->i == 0; /* no overflow: both are far from INT64_MIN */
	if (!as_dec(v, &room, &d))
		return false;
	if (!d.first)
		return true;
	/* v = A * 10^p, n = M * 10^q, and neither A nor M ends in 0. If p < q, v is
	 * not a multiple, since A would have to end in 0. Otherwise v is a multiple
	 * if A * 10^(p-q) mod M is 0. */
	if (n->dec.top - n->dec.low >= 18) {
		double x = yyjson_is_raw(v) ? 0 : yyjson_get_num(v);

		/* With a divisor of more than 18 digits the answer is approximate. */
		if (yyjson_is_raw(v) && !to_double(yyjson_get_raw(v), yyjson_get_len(v), &x))
			return false;
		return is_multiple_of(x, n->d);
	}
	for (p = n->dec.first; p <= n->dec.last; p++)
		if (*p != '.')
			m = m * 10 + (uint64_t)(*p - '0');
	if (d.low < n->dec.low)
		return false;
	for (p = d.first; p <= d.last; p++)
		if (*p != '.')
			rest = (mul_mod(rest, 10, m) + (uint64_t)(*p - '0') % m) % m;
	ten = 10 % m;
	for (e = (uint64_t)(d.low - n->dec.low); e && rest; e >>= 1) {
		if (e & 1)
			rest = mul_mod(rest, ten, m);
		ten = mul_mod(ten, ten, m);
	}
	return rest == 0;
}

bool fw_schema__num_equal(yyjson_val *a, yyjson_val *b)
{
	struct text_room room_a, room_b;
	struct fw_schema__dec da, db;
	int64_t ia, ib;
	bool int_a, int_b;
	double x;

	if (yyjson_is_real(a) && yyjson_is_real(b))
		return unsafe_yyjson_get_real(a) == unsafe_yyjson_get_real(b);
	int_a = fw_schema__as_int(a, &ia);
	int_b = fw_schema__as_int(b, &ib);
	if (int_a && int_b)
		return ia == ib;
	if (!as_dec(a, &room_a, &da) || !as_dec(b, &room_b, &db))
		return false;
	if (fw_schema__dec_compare(&da, &db) == 0)
		return true;
	/* One is a double, the other has more digits than a double can hold. */
	if (yyjson_is_real(a) && yyjson_is_raw(b) && db.top - db.low >= 17)
		return to_double(yyjson_get_raw(b), yyjson_get_len(b), &x) &&
		       x == unsafe_yyjson_get_real(a);
	if (yyjson_is_real(b) && yyjson_is_raw(a) && da.top - da.low >= 17)
		return to_double(yyjson_get_raw(a), yyjson_get_len(a), &x) &&
		       x == unsafe_yyjson_get_real(b);
	return false;
}

/* Equal numbers have equal hashes if they were read in the same mode; integers in
 * any mode. */
uint64_t fw_schema__num_hash(yyjson_val *v, uint64_t seed)
{
	struct text_room room;
	struct fw_schema__dec d;
	uint64_t h = seed;
	const char *p;
	int64_t i;

	if (fw_schema__as_int(v, &i))
		return fw_hash(&i, sizeof i, seed + 1);
	if (!as_dec(v, &room, &d))
		return seed;
	i = d.negative ? -d.top : d.top;
	h = fw_hash(&i, sizeof i, seed + 2);
	for (p = d.first; p <= d.last;) { /* in runs without the dot */
		const char *dot = memchr(p, '.', (size_t)(d.last - p) + 1);
		size_t n = dot ? (size_t)(dot - p) : (size_t)(d.last - p) + 1;

		/* Byte by byte, so that the position of the dot does not matter. */
		for (size_t k = 0; k < n; k++)
			h = (h ^ (uint8_t)p[k]) * 0x9e3779b97f4a7c15u;
		p += n + 1;
	}
	return h ^ h >> 29;
}
