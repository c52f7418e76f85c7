/*
 * similar.h - how similar two words are, for "did you mean".
 */
#ifndef FW_BASE_SIMILAR_H
#define FW_BASE_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_SIMILAR_WORD_MAX = 64 };

/*
 * The edit distance of `a` and `b`: letters inserted, removed, replaced, or swapped with
 * their neighbour. Ignores case, and treats the separators . _ - as equal. For words over
 * FW_SIMILAR_WORD_MAX it is the longer length.
 */
size_t fw_similar_distance(const char *a, size_t a_len, const char *b, size_t b_len);

/* Is a word of `len` bytes at this distance similar enough to be meant? A third of the
 * letters of the wanted word may differ; in short words one or two. */
bool fw_similar_is_meant(size_t distance, size_t wanted_len, size_t len);

#endif
