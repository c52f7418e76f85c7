/*
 * signature.c - see signature.h.
 *
 * Rows are hashed, so a row can stand for several properties; that only lets more pass.
 * A glob is ruled out by two rules:
 * - If both end in letters, these are the same as far as both have them; likewise the last
 *   component and the one before it, if both globs spell them out.
 * - A path has all letters and pairs of letters that a glob needs, each letter as often.
 * A row per kind has the globs that leave a property open, and is combined with each row
 * of that kind.
 */
#include "tools/reserve/signature.h"

#include <string.h>

#include "base/mem.h"
#include "tools/common/glob_impl.h"

enum { TAIL_1, TAIL_2, TAIL_4, LAST, PARENT };

enum {
	ROW_ANCHORS = FW_RESERVE_GRAM_ROWS,
	ROW_OPEN = ROW_ANCHORS + FW_RESERVE_ANCHOR_ROWS, /* one per kind of anchor */
	ROW_GLOBS = ROW_OPEN + FW_RESERVE_ANCHORS,       /* not paths: any letter may occur */
	ROW_EXCLUSIVE,
	ROW_USED,
	ROWS,
	LETTERS = 128,
	ABOVE_ALL_LETTERS = 0x110000,
	MOST_TIMES = 2,
	FIRST_WORDS = 4,
	SMALL_BYTES = 256
};

/* ---- traits ---- */

static uint32_t mix(uint32_t h, uint32_t value)
{
	h = (h ^ value) * 0x9e3779b1U;
	return h ^ h >> 15;
}

static uint16_t anchor_row(uint32_t h)
{
	return (uint16_t)(ROW_ANCHORS + mix(h, 0) % FW_RESERVE_ANCHOR_ROWS);
}

/* The row of these states, if all of them are letters; 0: they are not. */
static uint16_t letters_row(const struct fw_glob_state *states, size_t count, uint32_t kind)
{
	uint32_t h = mix(0, kind + 1);

	for (size_t i = 0; i < count; i++) {
		if (states[i].kind != FW_GLOB_LITERAL)
			return 0;
		h = mix(h, states[i].letter);
	}
	return count ? anchor_row(h) : 0;
}

static uint16_t agent_row(const char *agent)
{
	uint32_t h = mix(0, FW_RESERVE_ANCHORS + 1);

	for (; *agent; agent++)
		h = mix(h, (unsigned char)*agent);
	return anchor_row(h);
}

static bool is_slash(const struct fw_glob_state *state)
{
	return state->kind == FW_GLOB_LITERAL && state->letter == '/';
}

/* Where the component begins that ends before `end`. */
static size_t begin_of(const struct fw_glob_state *states, size_t end)
{
	while (end && !is_slash(&states[end - 1]) && states[end - 1].kind != FW_GLOB_INSIDE)
		end--;
	return end;
}

static void find_anchors(const struct fw_glob_pattern *p, struct fw_reserve_traits *traits)
{
	static const size_t tails[] = { [TAIL_1] = 1, [TAIL_2] = 2, [TAIL_4] = 4 };
	const struct fw_glob_state *states = p->states;
	size_t begin;

	if (states[p->count - 1].kind == FW_GLOB_ALL)
		return;
	begin = begin_of(states, p->count);
	for (uint32_t kind = TAIL_1; kind <= TAIL_4; kind++)
		if (p->count - begin >= tails[kind])
			traits->anchors[kind] =
				letters_row(states + p->count - tails[kind], tails[kind], kind);
	traits->anchors[LAST] = letters_row(states + begin, p->count - begin, LAST);
	if (begin && is_slash(&states[begin - 1])) {
		size_t end = begin - 1;

		begin = begin_of(states, end);
		traits->anchors[PARENT] = letters_row(states + begin, end - begin, PARENT);
	}
}

static void add_gram(struct fw_reserve_traits *traits, uint32_t row)
{
	if (traits->grams[row / 64] >> row % 64 & 1)
		return;
	traits->grams[row / 64] |= (uint64_t)1 << row % 64;
	if (traits->last_count < FW_RESERVE_PAIRS)
		traits->last_grams[traits->last_count++] = (uint16_t)row;
}

static uint32_t pair_row(uint32_t first, uint32_t second)
{
	return LETTERS + mix(mix(mix(0, first), second), 0) % (FW_RESERVE_GRAM_ROWS - LETTERS);
}

/* A letter for the second and for the third time: numbered names differ in little else. */
static void add_repeated(struct fw_reserve_traits *traits, uint32_t letter, unsigned char *seen)
{
	if (*seen && *seen <= MOST_TIMES)
		add_gram(traits, pair_row(letter, ABOVE_ALL_LETTERS + *seen));
	if (*seen <= MOST_TIMES)
		++*seen;
}

/* From the end, since the beginnings are those of the directory and mostly the same. */
static void find_grams(const struct fw_glob_pattern *p, struct fw_reserve_traits *traits)
{
	const struct fw_glob_state *after = NULL;
	unsigned char seen[LETTERS] = { 0 };

	for (size_t i = p->count; i-- > 0;) {
		const struct fw_glob_state *state = &p->states[i];

		if (state->kind != FW_GLOB_LITERAL) {
			traits->is_path = false;
			after = NULL;
			continue;
		}
		if (after)
			add_gram(traits, pair_row(state->letter, after->letter));
		/* Letters of ASCII have rows of their own. */
		add_gram(traits,
			 state->letter < LETTERS ? state->letter : pair_row(state->letter, 0));
		if (state->letter < LETTERS && state->letter != '/')
			add_repeated(traits, state->letter, &seen[state->letter]);
		after = state;
	}
}

static void find_all(const char *text, size_t len, struct fw_glob_pattern *p,
		     struct fw_reserve_traits *traits)
{
	if (fw_glob_compile(text, len, p))
		return;
	traits->is_path = true;
	find_anchors(p, traits);
	find_grams(p, traits);
}

bool fw_reserve_traits_of(const char *text, size_t len, struct fw_reserve_traits *ret_traits)
{
	struct fw_glob_state small[FW_GLOB_STATES(SMALL_BYTES)];
	struct fw_glob_pattern p = { .states = small, .most = len };

	memset(ret_traits, 0, sizeof *ret_traits);
	if (len > SMALL_BYTES)
		p.states = fw__allocate(FW_GLOB_STATES(len) * sizeof *p.states);
	if (!p.states)
		return false;
	find_all(text, len, &p, ret_traits);
	if (p.states != small)
		fw__release(p.states);
	return true;
}

/* ---- members ---- */

static uint64_t *row_of(const struct fw_reserve_signature *signature, size_t row)
{
	return signature->rows + row * signature->words;
}

static void set_bit(const struct fw_reserve_signature *signature, size_t row, uint32_t number,
		    bool value)
{
	uint64_t *word = row_of(signature, row) + number / 64;
	uint64_t bit = (uint64_t)1 << number % 64;

	*word = value ? *word | bit : *word & ~bit;
}

static void set_bits(const struct fw_reserve_signature *signature, uint32_t number,
		     const struct fw_reserve_traits *traits, const char *agent, bool value)
{
	for (size_t i = 0; i < FW_RESERVE_GRAM_ROWS / 64; i++)
		for (uint64_t left = traits->grams[i]; left; left &= left - 1)
			set_bit(signature, 64 * i + (size_t)__builtin_ctzll(left), number,
				value);
	for (size_t i = 0; i < FW_RESERVE_ANCHORS; i++)
		set_bit(signature, traits->anchors[i] ? traits->anchors[i] : ROW_OPEN + i,
			number, value);
	if (!traits->is_path)
		set_bit(signature, ROW_GLOBS, number, value);
	set_bit(signature, agent_row(agent), number, value);
	set_bit(signature, ROW_USED, number, value);
}

/* Twice as many numbers; false: no memory. */
static bool grow(struct fw_reserve_signature *signature)
{
	size_t words = signature->words ? 2 * signature->words : FIRST_WORDS;
	uint64_t *rows = fw__allocate(words * ROWS * sizeof *rows);
	void **members = fw__allocate(words * 64 * sizeof *members);
	uint32_t *unused = fw__allocate(words * 64 * sizeof *unused);

	if (!rows || !members || !unused) {
		fw__release(rows);
		fw__release(members);
		fw__release(unused);
		return false;
	}
	memset(rows, 0, words * ROWS * sizeof *rows);
	for (size_t i = 0; signature->words && i < ROWS; i++)
		memcpy(rows + i * words, row_of(signature, i), signature->words * sizeof *rows);
	if (signature->used)
		memcpy(members, signature->members, signature->used * sizeof *members);
	/* It grows when all numbers are in use, so there is no unused one to copy. */
	fw_reserve_signature_clear(
		&(struct fw_reserve_signature){ .rows = signature->rows,
						.members = signature->members,
						.unused = signature->unused });
	signature->rows = rows;
	signature->members = members;
	signature->unused = unused;
	signature->words = words;
	return true;
}

bool fw_reserve_signature_add(struct fw_reserve_signature *signature,
			      const struct fw_reserve_traits *traits, const char *agent,
			      bool is_exclusive, void *member, uint32_t *ret_number)
{
	uint32_t number;

	if (!signature->unused_count && signature->used == signature->words * 64 &&
	    !grow(signature))
		return false;
	number = signature->unused_count ? signature->unused[--signature->unused_count]
					 : (uint32_t)signature->used++;
	signature->members[number] = member;
	set_bits(signature, number, traits, agent, true);
	set_bit(signature, ROW_EXCLUSIVE, number, is_exclusive);
	*ret_number = number;
	return true;
}

void fw_reserve_signature_remove(struct fw_reserve_signature *signature, uint32_t number,
				 const struct fw_reserve_traits *traits, const char *agent)
{
	if (traits)
		set_bits(signature, number, traits, agent, false);
	for (size_t i = 0; !traits && i < ROWS; i++)
		set_bit(signature, i, number, false);
	signature->unused[signature->unused_count++] = number;
}

void fw_reserve_signature_clear(struct fw_reserve_signature *signature)
{
	fw__release(signature->rows);
	fw__release(signature->members);
	fw__release(signature->unused);
	*signature = (struct fw_reserve_signature){ 0 };
}

/* ---- filters ---- */

static void add_pair(struct fw_reserve_filter *filter, size_t row, size_t or_row)
{
	if (filter->count == FW_RESERVE_PAIRS)
		return;
	filter->pairs[filter->count].row = row_of(filter->signature, row);
	filter->pairs[filter->count++].or_row = row_of(filter->signature, or_row);
}

void fw_reserve_filter_init(struct fw_reserve_filter *filter,
			    const struct fw_reserve_signature *signature,
			    const struct fw_reserve_traits *traits, enum fw_reserve_of of,
			    const char *agent)
{
	*filter = (struct fw_reserve_filter){ .signature = signature, .traits = traits };
	if (of == FW_RESERVE_OF_AGENT && !agent)
		filter->word = signature->words;
	else if (of == FW_RESERVE_OF_AGENT)
		add_pair(filter, agent_row(agent), agent_row(agent));
	else if (of == FW_RESERVE_OF_AGENT_OR_EXCLUSIVE)
		add_pair(filter, agent ? agent_row(agent) : ROW_EXCLUSIVE, ROW_EXCLUSIVE);
	for (size_t i = 0; i < FW_RESERVE_ANCHORS; i++)
		if (traits->anchors[i])
			add_pair(filter, traits->anchors[i], ROW_OPEN + i);
	for (size_t i = 0; i < traits->last_count; i++)
		add_pair(filter, traits->last_grams[i], ROW_GLOBS);
}

/* Those of the word that need a letter or pair which the path does not have. */
static uint64_t strangers(const struct fw_reserve_filter *filter, size_t word, uint64_t among)
{
	const uint64_t *at = filter->signature->rows + word;
	uint64_t found = 0;

	for (size_t i = 0; i < FW_RESERVE_GRAM_ROWS; i++, at += filter->signature->words)
		if (!(filter->traits->grams[i / 64] >> i % 64 & 1))
			found |= *at;
	return found & among;
}

static uint64_t passing(const struct fw_reserve_filter *filter, size_t word)
{
	uint64_t left = row_of(filter->signature, ROW_USED)[word];

	for (size_t i = 0; left && i < filter->count; i++)
		left &= filter->pairs[i].row[word] | filter->pairs[i].or_row[word];
	if (left && filter->traits->is_path)
		left &= ~strangers(filter, word, left);
	return left;
}

void *fw_reserve_filter_next(struct fw_reserve_filter *filter)
{
	uint32_t number;

	while (!filter->left) {
		if (filter->word * 64 >= filter->signature->used)
			return NULL;
		filter->left = passing(filter, filter->word++);
	}
	number = (uint32_t)((filter->word - 1) * 64) + (uint32_t)__builtin_ctzll(filter->left);
	filter->left &= filter->left - 1;
	return filter->signature->members[number];
}
