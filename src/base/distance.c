/*
 * distance.c - see distance.h. Words are short, so the table is on the stack.
 */
#include "base/distance.h"

#include <ctype.h>

static int folded(char c)
{
	if (c == '-' || c == '.')
		return '_';
	return tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t fw_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	/* Rows i - 2, i - 1 and i of the table, by i modulo 3. */
	size_t rows[3][FW_DISTANCE_WORD_MAX + 1];

	if (a_len > FW_DISTANCE_WORD_MAX || b_len > FW_DISTANCE_WORD_MAX)
		return a_len > b_len ? a_len : b_len;

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		const size_t *above = rows[(i - 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differs = folded(a[i - 1]) != folded(b[j - 1]);

			row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + differs);
			if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
			    folded(a[i - 2]) == folded(b[j - 1]))
				row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}
