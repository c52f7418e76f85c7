/*
 * byte_runs.h - finds runs of bytes that every match of a regular expression must
 * contain, where each byte is one of a small set: `[0-9]{7,}[a-f]{2}` requires seven
 * digits followed by two of the letters a to f.
 *
 * They are used for expressions that do not require a fixed text (literal.h). The index
 * names the files that have the trigrams of a run, and lines without a run are skipped.
 * So a run must never be required if a match without it is possible. If in doubt, no run
 * is returned. search_test.c checks that with random expressions.
 */
#ifndef FW_TOOLS_CODE_RUNS_H
#define FW_TOOLS_CODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FW_BYTE_RUN_BYTES = 24,
	FW_BYTE_RUN_BRANCHES = 8, /* alternatives of an expression */
	FW_BYTE_RUN_MOST = 2,     /* the best runs of each alternative */
};

struct fw_byte_run_set {
	uint64_t bits[4]; /* one bit per byte value; never a line feed */
};

struct fw_byte_run {
	struct fw_byte_run_set sets[FW_BYTE_RUN_BYTES];
	size_t len;
	/* In place of a byte a match may have a non-ASCII character: a decimal digit of
	 * Unicode (\d), or the Kelvin sign or the long s (k and s, if case is ignored). */
	bool has_digits;
	bool has_folds;
};

struct fw_byte_run_branch {
	struct fw_byte_run
		runs[FW_BYTE_RUN_MOST]; /* a match has all of them; the best is first */
	size_t count;
};

/* Every match has all runs of at least one branch. */
struct fw_byte_runs {
	struct fw_byte_run_branch branches[FW_BYTE_RUN_BRANCHES];
	size_t count; /* 0: nothing is known */
};

/* Finds the runs of a PCRE2 regular expression (UTF-8, UCP). It may be invalid. */
void fw_byte_runs_of_regex(const char *pattern, size_t len, bool ignores_case,
			   struct fw_byte_runs *ret_runs);

/* Copies the bytes of the set in ascending order, with ASCII letters in lower case as in
 * the index. Returns their number. */
size_t fw_byte_run_folded(const struct fw_byte_run_set *set, unsigned char ret_bytes[256]);

static inline bool fw_byte_run_set_has(const struct fw_byte_run_set *set, unsigned char c)
{
	return set->bits[c / 64] >> (c % 64) & 1;
}

/* ---- looking for one ---- */

enum { FW_BYTE_RUN_LOOKS = 12 };

/* Prepared for fw_byte_run_find(). */
struct fw_byte_run_scan {
	const struct fw_byte_run *run; /* not copied */
	size_t count;                  /* bytes that are compared first, the rarest first */
	struct {
		size_t at;
		unsigned char low[16]; /* per low half of a byte, a bit for each high half */
	} looks[FW_BYTE_RUN_LOOKS];
};

void fw_byte_run_scan_init(struct fw_byte_run_scan *scan, const struct fw_byte_run *run);

/* Finds the first place where the run may be. NULL: none. It does not find runs with
 * non-ASCII characters in place of a byte, see fw_byte_run_is_exact(). */
const char *fw_byte_run_find(const struct fw_byte_run_scan *scan, const char *text, size_t len);

/* True: fw_byte_run_find() finds every run in this text. False: the run may have
 * non-ASCII characters in place of a byte, and the text has some. */
bool fw_byte_run_is_exact(const struct fw_byte_run *run, const char *text, size_t len);

#endif
