/*
 * distance.h - how much two words differ, to find what a misspelt one means.
 */
#ifndef FW_BASE_DISTANCE_H
#define FW_BASE_DISTANCE_H

#include <stddef.h>

enum { FW_DISTANCE_WORD_MAX = 64 };

/*
 * The edit distance of `a` and `b`: letters inserted, removed, replaced, or swapped with
 * their neighbour. Ignores case, and treats the separators . _ - as equal. For words over
 * FW_DISTANCE_WORD_MAX it is the longer length.
 */
size_t fw_distance(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
