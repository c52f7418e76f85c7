/*
 * glob_bits.c - see glob_bits.h. The states are those of glob_impl.h; the one after the
 * last is the end.
 */
#include "tools/common/glob_bits.h"

#include <string.h>

#include "tools/common/glob_impl.h"

enum { STATES = 62 };

static void add(struct fw_glob_bits *bits, const struct fw_glob_state *state, uint64_t bit)
{
	switch (state->kind) {
	case FW_GLOB_LITERAL:
	case FW_GLOB_ONE:
	case FW_GLOB_CLASS: bits->advancing |= bit; break;
	case FW_GLOB_STAR:
		bits->staying |= bit;
		bits->stars |= bit;
		break;
	case FW_GLOB_ENTER: bits->entering |= bit; break;
	case FW_GLOB_INSIDE:
		bits->staying |= bit;
		bits->inside |= bit;
		break;
	case FW_GLOB_ALL:
		bits->staying |= bit;
		bits->advancing |= bit;
		break;
	}
	for (uint32_t letter = 1; letter < 128; letter++)
		if (fw_glob_accepts(state, letter))
			bits->accepting[letter] |= bit;
}

/* With the states that are reached without a letter. A star never follows a star, and
 * "**" never follows a star. */
static uint64_t reach(const struct fw_glob_bits *bits, uint64_t set)
{
	for (uint64_t left = set & bits->entering; left;) {
		uint64_t more = (left << 1 | left << 2) & ~set;

		set |= more;
		left = more & bits->entering;
	}
	return set | (set & bits->stars) << 1;
}

bool fw_glob_bits_compile(struct fw_glob_bits *bits, const char *glob, size_t len)
{
	struct fw_glob_state states[FW_GLOB_STATES(STATES)];
	struct fw_glob_pattern p = { .states = states, .most = STATES };

	if (len > STATES || fw_glob_compile(glob, len, &p) || p.count > STATES)
		return false;
	memset(bits, 0, sizeof *bits);
	for (size_t i = 0; i < p.count; i++)
		add(bits, &states[i], (uint64_t)1 << i);
	bits->start = reach(bits, 1);
	bits->end = (uint64_t)1 << p.count;
	return true;
}

enum fw_glob_bits_answer fw_glob_bits_match(const struct fw_glob_bits *bits, const char *path,
					    size_t len)
{
	uint64_t set = bits->start;

	for (size_t i = 0; i < len && set; i++) {
		unsigned char letter = (unsigned char)path[i];
		uint64_t moving, left;

		if (letter >= 128)
			return FW_GLOB_BITS_UNKNOWN;
		moving = set & bits->accepting[letter];
		left = moving &
		       (letter == '/' ? bits->advancing | bits->inside : bits->advancing);
		set = left << 1 | (moving & bits->staying);
		set = reach(bits, set);
	}
	return set & bits->end ? FW_GLOB_BITS_YES : FW_GLOB_BITS_NO;
}
