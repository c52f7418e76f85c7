/*
 * byte_runs.h - runs of bytes of which every match of a regular expression contains one, each byte
 * out of a small set: `[0-9]{7,}[a-f]{2}` requires seven digits and two letters of six.
 *
 * They are for expressions without a text that every match has (literal.h). The index names
 * the files that have the trigrams of a run, and lines without a run are skipped. So a run must
 * never be required that a match can do without; if in doubt, there is none. search_test.c
 * checks that with random expressions.
 */
#ifndef FW_TOOLS_CODE_RUNS_H
#define FW_TOOLS_CODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FW_BYTE_RUN_BYTES = 24,
	FW_BYTE_RUN_BRANCHES = 8, /* alternatives of an expression */
	FW_BYTE_RUN_MOST = 2,     /* runs of each of them: the best */
};

struct fw_byte_run_set {
	uint64_t bits[4]; /* of 256 bytes; never a line feed */
};

struct fw_byte_run {
	struct fw_byte_run_set sets[FW_BYTE_RUN_BYTES];
	size_t len;
	/* A byte may be a character beyond ASCII instead: a decimal digit of Unicode (\d); the
	 * Kelvin sign or the long s (k and s, if case is ignored). */
	bool has_digits;
	bool has_folds;
};

struct fw_byte_run_branch {
	struct fw_byte_run
		runs[FW_BYTE_RUN_MOST]; /* every match has all of them; the best is first */
	size_t count;
};

/* Every match has all runs of at least one branch. */
struct fw_byte_runs {
	struct fw_byte_run_branch branches[FW_BYTE_RUN_BRANCHES];
	size_t count; /* 0: nothing is known */
};

/* Of a regular expression of PCRE2 in UTF-8 with UCP, valid or not. */
void fw_byte_runs_of_regex(const char *pattern, size_t len, bool ignores_case,
			   struct fw_byte_runs *ret_runs);

/* Bytes of the set, in ascending order and with letters of ASCII in lower case, as the index
 * has them. Returns how many there are. */
size_t fw_byte_run_folded(const struct fw_byte_run_set *set, unsigned char ret_bytes[256]);

static inline bool fw_byte_run_set_has(const struct fw_byte_run_set *set, unsigned char c)
{
	return set->bits[c / 64] >> (c % 64) & 1;
}

/* ---- looking for one ---- */

enum { FW_BYTE_RUN_LOOKS = 12 };

/* Prepared for fw_byte_run_find(). */
struct fw_byte_run_scan {
	const struct fw_byte_run *run; /* kept, not copied */
	size_t count;                  /* bytes that are looked at, the rarest first */
	struct {
		size_t at;
		unsigned char low[16]; /* for each low half of a byte, the high halves: bits */
	} looks[FW_BYTE_RUN_LOOKS];
};

void fw_byte_run_scan_init(struct fw_byte_run_scan *scan, const struct fw_byte_run *run);

/* Where the run may be; NULL: nowhere. Characters beyond ASCII in place of a byte are not
 * found: see fw_byte_run_is_exact(). */
const char *fw_byte_run_find(const struct fw_byte_run_scan *scan, const char *text, size_t len);

/* Can fw_byte_run_find() be relied on? False if the run can have characters beyond ASCII in
 * place of a byte and the text has some. */
bool fw_byte_run_is_exact(const struct fw_byte_run *run, const char *text, size_t len);

#endif
