/*
 * number.h - numbers compared by their decimal value, not as doubles.
 */
#ifndef FW_SCHEMA_NUMBER_H
#define FW_SCHEMA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

/* A decimal number within a text: digits from `first` to `last`, possibly with a
 * '.' between them. The value is 0 if `first` is NULL. */
struct fw_schema__dec {
	const char *first, *last;
	int64_t top, low; /* power of ten of *first and of *last */
	bool negative;
};

/* A number of the schema. */
struct fw_schema__num {
	const char *text;
	uint32_t len;
	bool is_int; /* then `i` is the value */
	int64_t i;
	double d; /* nearest; HUGE_VAL if out of range */
	struct fw_schema__dec dec;
};

bool fw_schema__dec_read(const char *text, size_t len, struct fw_schema__dec *ret);
int fw_schema__dec_compare(const struct fw_schema__dec *a, const struct fw_schema__dec *b);
bool fw_schema__dec_to_int(const struct fw_schema__dec *d, int64_t *ret);
bool fw_schema__num_read(const char *text, size_t len, struct fw_schema__num *ret);
bool fw_schema__is_integer(yyjson_val *v);
/** -1, 0 or 1: the instance is less than, equal to or greater than `n`; 2 if it
 * cannot be compared (NaN, infinity). */
int fw_schema__num_compare(yyjson_val *v, const struct fw_schema__num *n);
bool fw_schema__num_multiple(yyjson_val *v, const struct fw_schema__num *n);
bool fw_schema__num_equal(yyjson_val *a, yyjson_val *b);
uint64_t fw_schema__num_hash(yyjson_val *v, uint64_t seed);
/** Read an integer of at most 18 digits, in any notation (1e2, 100.0). */
bool fw_schema__as_int(yyjson_val *v, int64_t *ret);

#endif
