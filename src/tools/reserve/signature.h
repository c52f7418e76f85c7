/*
 * signature.h - which of many globs may overlap with a given one, by bitmaps.
 *
 * Each glob has a number. A row is a bitmap with one bit per number, and stands for one
 * property of a glob: every path that it matches has a certain letter, once or several
 * times, or pair of letters in it, or ends in a certain way. Few rows combined leave few numbers, whose globs are
 * then compared one by one. So "**" followed by anything, which can be anywhere in a tree
 * of paths, does not need a walk through all of it.
 *
 * The one rule to remember: a filter lets too many pass, never too few.
 */
#ifndef FW_TOOLS_RESERVE_SIGNATURE_H
#define FW_TOOLS_RESERVE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FW_RESERVE_GRAM_ROWS = 512,   /* letters, repeated ones, and pairs, hashed */
	FW_RESERVE_ANCHOR_ROWS = 256, /* ends and agents, hashed */
	FW_RESERVE_ANCHORS = 5,       /* kinds of ends */
	FW_RESERVE_PAIRS = 24         /* rows that one filter combines */
};

/* What a glob, whose braces are expanded, says about the paths that it matches. */
struct fw_reserve_traits {
	uint64_t grams[FW_RESERVE_GRAM_ROWS / 64]; /* rows; every match has these */
	uint16_t last_grams[FW_RESERVE_PAIRS];     /* the last ones in the text, last first */
	size_t last_count;
	/* Rows of the last letters, the last component and the one before it; 0: several
	 * are possible. */
	uint16_t anchors[FW_RESERVE_ANCHORS];
	bool is_path; /* it matches itself only */
};

/* False: no memory, and the traits are those of "**". */
bool fw_reserve_traits_of(const char *text, size_t len, struct fw_reserve_traits *ret_traits);

/* Zeroed: empty. */
struct fw_reserve_signature {
	uint64_t *rows;
	void **members; /* by number */
	uint32_t *unused;
	size_t words; /* of a row */
	size_t used;  /* numbers below it were given away */
	size_t unused_count;
};

void fw_reserve_signature_clear(struct fw_reserve_signature *signature);

/* Adds a member and sets its number; false: no memory. */
bool fw_reserve_signature_add(struct fw_reserve_signature *signature,
			      const struct fw_reserve_traits *traits, const char *agent,
			      bool is_exclusive, void *member, uint32_t *ret_number);
/* `traits` are the same as when it was added, or NULL, which is slower. */
void fw_reserve_signature_remove(struct fw_reserve_signature *signature, uint32_t number,
				 const struct fw_reserve_traits *traits, const char *agent);

/* Which members a search is for. */
enum fw_reserve_of {
	FW_RESERVE_OF_ALL,
	FW_RESERVE_OF_AGENT,             /* of one agent */
	FW_RESERVE_OF_AGENT_OR_EXCLUSIVE /* of one agent, and exclusive ones of all */
};

struct fw_reserve_filter {
	const struct fw_reserve_signature *signature;
	/* A number passes if it is in either row of each pair. */
	struct {
		const uint64_t *row;
		const uint64_t *or_row;
	} pairs[FW_RESERVE_PAIRS];
	size_t count;
	const struct fw_reserve_traits *traits;
	size_t word; /* the next one */
	uint64_t left;
};

/* `agent` may be NULL: none. `traits` must live as long as the filter. */
void fw_reserve_filter_init(struct fw_reserve_filter *filter,
			    const struct fw_reserve_signature *signature,
			    const struct fw_reserve_traits *traits, enum fw_reserve_of of,
			    const char *agent);
/* The next member that may overlap; NULL: there are no more. */
void *fw_reserve_filter_next(struct fw_reserve_filter *filter);

#endif
