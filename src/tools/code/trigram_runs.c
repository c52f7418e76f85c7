/*
 * trigram_runs.c - see trigram.h. This file finds the files that may contain runs
 * (byte_runs.h).
 *
 * A window is three consecutive bytes of a run. A file must have a trigram of each
 * window, and the last two bytes of one trigram must be the first two of the next. So for
 * each pair of bytes, this computes which files have a chain of trigrams that ends with
 * the pair. For [0-9]{7,}[a-f]{2} in the sources of git, that names a third fewer files
 * than looking up each window alone. It is done for 512 files at a time, so memory does
 * not depend on the size of the repository.
 */
#include "tools/code/trigram.h"

#include <string.h>

#include "base/mem.h"
#include "tools/code/limits.h"

enum {
	WORDS = 8, /* of the bits of the files that are processed together */
	FILES = 64 * WORDS,
	/* Lists are read if they have at most this many bytes per file that they may
	 * exclude: reading then takes less time than searching the files. */
	BYTES_PER_FILE = 256,
	FILES_LEAST = 8,
	BYTES_PER_LIST = 16, /* the cost of starting to read a list, in bytes */
};

/* A trigram of a window. It leads from one pair of bytes to the next. */
struct edge {
	struct fw_trigram_list list;
	uint32_t file; /* the next file of the list */
	bool has_file;
	uint16_t from, to;
	uint64_t bits[WORDS];
};

/* The edges of a window. If the next window is the same, it shares them. */
struct step {
	size_t first, count; /* edges */
	size_t pairs;        /* pairs that the edges lead to */
	bool is_skipped;     /* too many trigrams: the window is not checked */
	bool is_again;
};

struct plan {
	const struct fw_trigram *index;
	struct edge *edges;
	size_t edge_count;
	size_t bytes; /* bytes of the lists of all edges */
	struct step steps[FW_BYTE_RUN_BYTES];
	size_t step_count;
	unsigned char bytes_of[FW_BYTE_RUN_BYTES][256];
	size_t sizes[FW_BYTE_RUN_BYTES];
	uint64_t (*before)[WORDS]; /* FW_LIMIT_CODE_RUN_TRIGRAMS pairs */
	uint64_t (*after)[WORDS];
};

/* ---- the plan ---- */

static bool add_edge(struct plan *plan, const struct fw_trigram_entry *entry, size_t from,
		     size_t to)
{
	struct edge *edge = &plan->edges[plan->edge_count];
	struct fw_trigram_span span = fw_trigram__span(plan->index, entry);

	if (plan->edge_count == FW_LIMIT_CODE_RUN_TRIGRAMS)
		return false;
	fw_trigram__begin(&edge->list, span);
	edge->has_file = fw_trigram__next(&edge->list, &edge->file);
	edge->from = (uint16_t)from;
	edge->to = (uint16_t)to;
	plan->edge_count++;
	plan->bytes += span.len;
	return true;
}

/* Adds the trigrams that begin with two bytes; `from` is the index of that pair. */
static bool add_edges(struct plan *plan, size_t at, size_t second, uint32_t prefix, size_t from)
{
	const unsigned char *bytes = plan->bytes_of[at + 2];
	size_t count = plan->sizes[at + 2], i = 0;
	struct fw_trigram_entry entry;

	fw_trigram__seek(plan->index, prefix | bytes[0], &entry);
	while (i < count && entry.trigram <= (prefix | bytes[count - 1])) {
		while (i < count && (prefix | bytes[i]) < entry.trigram)
			i++;
		if (i < count && (prefix | bytes[i]) == entry.trigram &&
		    !add_edge(plan, &entry, from, second * count + i))
			return false;
		fw_trigram__advance(plan->index, &entry);
	}
	return true;
}

static bool is_same_window(const struct fw_byte_run *run, size_t at)
{
	return at && memcmp(run->sets + at - 1, run->sets + at, 3 * sizeof *run->sets) == 0;
}

static bool add_step(struct plan *plan, const struct fw_byte_run *run, size_t at)
{
	struct step *step = &plan->steps[plan->step_count++];
	size_t first = plan->sizes[at], second = plan->sizes[at + 1],
	       third = plan->sizes[at + 2];

	*step = (struct step){ .first = plan->edge_count };
	if (first * second * third > FW_LIMIT_CODE_RUN_TRIGRAMS) {
		step->is_skipped = true;
		return true;
	}
	step->pairs = second * third;
	if (is_same_window(run, at) && !step[-1].is_skipped) {
		step->first = step[-1].first;
		step->count = step[-1].count;
		step->is_again = true;
		return true;
	}
	for (size_t i = 0; i < first; i++)
		for (size_t j = 0; j < second; j++) {
			uint32_t prefix = (uint32_t)plan->bytes_of[at][i] << 16 |
					  (uint32_t)plan->bytes_of[at + 1][j] << 8;

			if (!add_edges(plan, at, j, prefix, i * second + j))
				return false;
		}
	step->count = plan->edge_count - step->first;
	return true;
}

/* Windows that do not fit are left out, so fewer files are excluded. */
static void make_plan(struct plan *plan, const struct fw_byte_run *run)
{
	plan->edge_count = 0;
	plan->step_count = 0;
	plan->bytes = 0;
	for (size_t i = 0; i < run->len; i++)
		plan->sizes[i] = fw_byte_run_folded(&run->sets[i], plan->bytes_of[i]);
	for (size_t at = 0; at + 3 <= run->len; at++) {
		struct step *step = &plan->steps[at];

		if (add_step(plan, run, at))
			continue;
		plan->edge_count = step->first;
		*step = (struct step){ .is_skipped = true };
	}
}

/* ---- files ---- */

static void read_edge(struct edge *edge, uint64_t first)
{
	memset(edge->bits, 0, sizeof edge->bits);
	while (edge->has_file && edge->file < first + FILES) {
		if (edge->file >= first)
			edge->bits[(edge->file - first) / 64] |= UINT64_C(1)
								 << ((edge->file - first) % 64);
		edge->has_file = fw_trigram__next(&edge->list, &edge->file);
	}
}

/* Removes from `alive` the files that do not have the window. `is_linked`: only chains
 * that continue from the previous window count. */
static void take_step(struct plan *plan, const struct step *step, bool is_linked,
		      uint64_t alive[WORDS])
{
	uint64_t(*old)[WORDS] = plan->before;
	uint64_t all[WORDS] = { 0 };

	memset(plan->after, 0, step->pairs * sizeof *plan->after);
	for (size_t i = 0; i < step->count; i++) {
		const struct edge *edge = &plan->edges[step->first + i];
		const uint64_t *from = is_linked ? plan->before[edge->from] : alive;

		for (size_t j = 0; j < WORDS; j++) {
			uint64_t bits = edge->bits[j] & from[j];

			plan->after[edge->to][j] |= bits;
			all[j] |= bits;
		}
	}
	memcpy(alive, all, sizeof all);
	plan->before = plan->after;
	plan->after = old;
}

static void take_steps(struct plan *plan, uint64_t first, uint64_t alive[WORDS])
{
	bool is_linked = false;

	for (size_t i = 0; i < plan->edge_count; i++)
		read_edge(&plan->edges[i], first);
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct step *step = &plan->steps[i];

		if (!step->is_skipped)
			take_step(plan, step, is_linked, alive);
		is_linked = !step->is_skipped;
	}
}

static size_t count_bits(const struct fw_trigram *index, const uint64_t *bits)
{
	size_t count = 0;

	for (size_t i = 0; 64 * i < index->count; i++)
		count += (size_t)__builtin_popcountll(bits[i]);
	return count;
}

/* Removes from `bits` the files that do not have the run. False: no file can be excluded. */
static bool select_run(struct plan *plan, const struct fw_byte_run *run, uint64_t *bits)
{
	const struct fw_trigram *index = plan->index;
	size_t words = (index->count + 63) / 64;

	if (count_bits(index, bits) < FILES_LEAST)
		return false;
	make_plan(plan, run);
	if (plan->bytes + plan->edge_count * BYTES_PER_LIST >
	    count_bits(index, bits) * BYTES_PER_FILE)
		return false;
	for (size_t word = 0; word < words; word += WORDS) {
		size_t count = words - word < WORDS ? words - word : WORDS;
		uint64_t alive[WORDS] = { 0 };

		memcpy(alive, bits + word, count * sizeof *bits);
		take_steps(plan, 64 * (uint64_t)word, alive);
		memcpy(bits + word, alive, count * sizeof *bits);
	}
	return true;
}

/* ---- characters beyond ASCII ---- */

struct range {
	uint32_t from, to;
};

/* The first bytes of the decimal digits of Unicode. Above U+FFFF, these are all
 * characters of the planes to which digits are added. */
static const struct range digits[] = {
	{ 0xd9a000, 0xd9a9ff }, { 0xdbb000, 0xdbb9ff }, { 0xdf8000, 0xdf89ff },
	{ 0xe0a5a6, 0xe0a5af }, { 0xe0a7a6, 0xe0a7af }, { 0xe0a9a6, 0xe0a9af },
	{ 0xe0aba6, 0xe0abaf }, { 0xe0ada6, 0xe0adaf }, { 0xe0afa6, 0xe0afaf },
	{ 0xe0b1a6, 0xe0b1af }, { 0xe0b3a6, 0xe0b3af }, { 0xe0b5a6, 0xe0b5af },
	{ 0xe0b7a6, 0xe0b7af }, { 0xe0b990, 0xe0b999 }, { 0xe0bb90, 0xe0bb99 },
	{ 0xe0bca0, 0xe0bca9 }, { 0xe18180, 0xe18189 }, { 0xe18290, 0xe18299 },
	{ 0xe19fa0, 0xe19fa9 }, { 0xe1a090, 0xe1a099 }, { 0xe1a586, 0xe1a58f },
	{ 0xe1a790, 0xe1a799 }, { 0xe1aa80, 0xe1aa89 }, { 0xe1aa90, 0xe1aa99 },
	{ 0xe1ad90, 0xe1ad99 }, { 0xe1aeb0, 0xe1aeb9 }, { 0xe1b180, 0xe1b189 },
	{ 0xe1b190, 0xe1b199 }, { 0xea98a0, 0xea98a9 }, { 0xeaa390, 0xeaa399 },
	{ 0xeaa480, 0xeaa489 }, { 0xeaa790, 0xeaa799 }, { 0xeaa7b0, 0xeaa7b9 },
	{ 0xeaa990, 0xeaa999 }, { 0xeaafb0, 0xeaafb9 }, { 0xefbc90, 0xefbc99 },
	{ 0xf09080, 0xf09ebf }, { 0xf09faf, 0xf09faf },
};
static const struct range folds[] = { { 0xc5bf00, 0xc5bfff }, { 0xe284aa, 0xe284aa } };

static void select_range(const struct fw_trigram *index, struct range range, uint64_t *bits)
{
	struct fw_trigram_entry entry;

	fw_trigram__seek(index, range.from, &entry);
	for (; entry.trigram <= range.to; fw_trigram__advance(index, &entry)) {
		struct fw_trigram_list list;
		uint32_t file;

		fw_trigram__begin(&list, fw_trigram__span(index, &entry));
		while (fw_trigram__next(&list, &file))
			if (file < index->count)
				bits[file / 64] |= UINT64_C(1) << (file % 64);
	}
}

/* If a two-byte character ends a line, no trigram begins with it. Then look for trigrams
 * with another byte of the run before it. */
static void select_ranges(const struct fw_trigram *index, const struct fw_byte_run *run,
			  const struct range *ranges, size_t count, uint64_t *bits)
{
	struct fw_byte_run_set all = { { 0 } };
	unsigned char bytes[256];
	size_t byte_count;

	for (size_t i = 0; i < run->len; i++)
		for (size_t j = 0; j < 4; j++)
			all.bits[j] |= run->sets[i].bits[j];
	byte_count = fw_byte_run_folded(&all, bytes);
	for (size_t i = 0; i < count; i++) {
		select_range(index, ranges[i], bits);
		for (size_t j = 0; j < byte_count && ranges[i].from < 0xe00000; j++) {
			uint32_t first = (uint32_t)bytes[j] << 16;

			select_range(index,
				     (struct range){ first | ranges[i].from >> 8,
						     first | ranges[i].to >> 8 },
				     bits);
		}
	}
}

/* Sets the bits of files in which a character beyond ASCII may take the place of a byte. */
static void select_others(const struct fw_trigram *index, const struct fw_byte_run *run,
			  uint64_t *bits)
{
	if (run->has_digits)
		select_ranges(index, run, digits, sizeof digits / sizeof *digits, bits);
	if (run->has_folds)
		select_ranges(index, run, folds, sizeof folds / sizeof *folds, bits);
}

/* ---- expressions ---- */

static void copy_bits(uint64_t *to, const uint64_t *from, size_t words)
{
	memcpy(to, from, words * sizeof *to);
}

/* Removes from `bits` the files that cannot have all runs of a branch. */
static void select_branch(struct plan *plan, const struct fw_byte_run_branch *branch,
			  uint64_t *bits, uint64_t *kept, uint64_t *others)
{
	size_t words = plan->index->count / 64 + 1;

	for (size_t i = 0; i < branch->count; i++) {
		copy_bits(kept, bits, words);
		if (!select_run(plan, &branch->runs[i], kept))
			continue;
		memset(others, 0, words * sizeof *others);
		select_others(plan->index, &branch->runs[i], others);
		for (size_t j = 0; j < words; j++)
			bits[j] &= kept[j] | others[j];
	}
}

static void narrow(struct plan *plan, const struct fw_byte_runs *runs, uint64_t *bits,
		   uint64_t *memory)
{
	size_t words = plan->index->count / 64 + 1;
	uint64_t *all = memory, *branch = all + words;

	memset(all, 0, words * sizeof *all);
	for (size_t i = 0; i < runs->count; i++) {
		copy_bits(branch, bits, words);
		select_branch(plan, &runs->branches[i], branch, branch + words,
			      branch + 2 * words);
		for (size_t j = 0; j < words; j++)
			all[j] |= branch[j];
	}
	copy_bits(bits, all, words);
}

void fw_trigram_narrow(const struct fw_trigram *index, const struct fw_byte_runs *runs,
		       uint64_t *bits)
{
	struct plan *plan = fw__allocate(sizeof *plan);
	uint64_t *memory = fw__allocate(4 * (index->count / 64 + 1) * sizeof *memory);
	struct edge *edges = fw__allocate(FW_LIMIT_CODE_RUN_TRIGRAMS * sizeof *edges);
	uint64_t(*pairs)[WORDS] =
		fw__allocate(2 * (size_t)FW_LIMIT_CODE_RUN_TRIGRAMS * sizeof *pairs);

	if (plan && memory && edges && pairs) {
		plan->index = index;
		plan->edges = edges;
		plan->before = pairs;
		plan->after = pairs + FW_LIMIT_CODE_RUN_TRIGRAMS;
		narrow(plan, runs, bits, memory);
	}
	select_range(index, (struct range){ FW_TRIGRAM_KEY_ALWAYS, FW_TRIGRAM_KEY_ALWAYS },
		     bits);
	fw__release(plan);
	fw__release(memory);
	fw__release(edges);
	fw__release(pairs);
}
