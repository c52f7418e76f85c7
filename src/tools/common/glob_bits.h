/*
 * glob_bits.h - one glob against many paths: the states of the glob are the bits of one
 * word, so a letter of a path costs a few instructions.
 *
 * The one rule to remember: globs of more than 62 letters, and paths with other letters
 * than those of ASCII, are left to glob.h.
 */
#ifndef FW_TOOLS_COMMON_GLOB_BITS_H
#define FW_TOOLS_COMMON_GLOB_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_glob_bits {
	uint64_t accepting[128]; /* states that take the letter */
	uint64_t advancing;      /* states that are left by a letter */
	uint64_t staying;        /* states that remain */
	uint64_t inside;         /* states that are left by a slash */
	uint64_t stars;          /* that may match nothing */
	uint64_t entering;       /* "**", which may match nothing */
	uint64_t start;
	uint64_t end;
};

/* False: the glob is too long, or not valid. */
bool fw_glob_bits_compile(struct fw_glob_bits *bits, const char *glob, size_t len);

enum fw_glob_bits_answer { FW_GLOB_BITS_NO, FW_GLOB_BITS_YES, FW_GLOB_BITS_UNKNOWN };

/* FW_GLOB_BITS_UNKNOWN: the path is not ASCII. */
enum fw_glob_bits_answer fw_glob_bits_match(const struct fw_glob_bits *bits, const char *path,
					    size_t len);

#endif
