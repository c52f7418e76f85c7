/*
 * glob_overlap.c - whether two globs have a path in common; see glob.h.
 *
 * Both globs are lists of states (glob_impl.h). A pair of states is reachable if some
 * text takes both globs there; they overlap if the pair of both ends is reachable.
 * Each pair is visited once, so the time is proportional to the product of the lengths.
 */
#include "tools/common/glob.h"

#include <string.h>

#include "base/mem.h"
#include "tools/common/glob_impl.h"

enum { SMALL_BYTES = 64, SMALL_PAIRS = (SMALL_BYTES + 5) * (SMALL_BYTES + 5) };

struct search {
	struct fw_glob_pattern a;
	struct fw_glob_pattern b;
	unsigned char *seen; /* one byte per pair */
	uint32_t *stack;     /* pairs to visit */
	size_t depth;
};

/* ---- letters ---- */

static bool both_accept(const struct fw_glob_state *a, const struct fw_glob_state *b,
			uint32_t letter)
{
	return letter && fw_glob_accepts(a, letter) && fw_glob_accepts(b, letter);
}

/* If two classes have a letter in common, they have one that begins a range of one of
 * them, or follows one: then it begins a range of the opposite. */
static bool ranges_meet(const struct fw_glob_state *class, const struct fw_glob_state *other)
{
	for (size_t at = 0; at < class->set_len;) {
		uint32_t letter = fw_glob_letter(class->set, class->set_len, &at);

		if (both_accept(class, other, letter) || both_accept(class, other, letter + 1))
			return true;
	}
	return false;
}

/* Is there a letter other than a slash that both accept? */
static bool have_letter(const struct fw_glob_state *a, const struct fw_glob_state *b)
{
	if (a->kind == FW_GLOB_LITERAL)
		return a->letter != '/' && fw_glob_accepts(b, a->letter);
	if (b->kind == FW_GLOB_LITERAL)
		return b->letter != '/' && fw_glob_accepts(a, b->letter);
	/* The lowest letters on both sides of the slash. */
	if (both_accept(a, b, 1) || both_accept(a, b, '/' + 1))
		return true;
	return (a->kind == FW_GLOB_CLASS && ranges_meet(a, b)) ||
	       (b->kind == FW_GLOB_CLASS && ranges_meet(b, a));
}

/* ---- pairs ---- */

static void push(struct search *s, size_t i, size_t j)
{
	size_t pair = i * (s->b.count + 1) + j;

	if (s->seen[pair])
		return;
	s->seen[pair] = 1;
	s->stack[s->depth++] = (uint32_t)pair;
}

/* Where a state may be after it has read a letter: at most two places. */
static size_t next_of(const struct fw_glob_state *state, size_t i, bool is_slash, size_t to[2])
{
	switch (state->kind) {
	case FW_GLOB_LITERAL:
	case FW_GLOB_ONE:
	case FW_GLOB_CLASS: to[0] = i + 1; return 1;
	case FW_GLOB_STAR: to[0] = i; return 1;
	case FW_GLOB_ENTER: return 0;
	case FW_GLOB_INSIDE:
		to[0] = i;
		to[1] = i + 1;
		return is_slash ? 2 : 1;
	case FW_GLOB_ALL:
		to[0] = i;
		to[1] = i + 1;
		return 2;
	}
	return 0;
}

static void step(struct search *s, size_t i, size_t j, bool is_slash)
{
	size_t from_a[2], from_b[2];
	size_t count_a = next_of(&s->a.states[i], i, is_slash, from_a);
	size_t count_b = next_of(&s->b.states[j], j, is_slash, from_b);

	for (size_t m = 0; m < count_a; m++)
		for (size_t n = 0; n < count_b; n++)
			push(s, from_a[m], from_b[n]);
}

/* Goes on without reading: over a star, or into or over "**". */
static void skip(struct search *s, size_t i, size_t j)
{
	if (i < s->a.count && s->a.states[i].kind == FW_GLOB_STAR)
		push(s, i + 1, j);
	if (j < s->b.count && s->b.states[j].kind == FW_GLOB_STAR)
		push(s, i, j + 1);
	if (i < s->a.count && s->a.states[i].kind == FW_GLOB_ENTER) {
		push(s, i + 1, j);
		push(s, i + 2, j);
	}
	if (j < s->b.count && s->b.states[j].kind == FW_GLOB_ENTER) {
		push(s, i, j + 1);
		push(s, i, j + 2);
	}
}

static bool find_end(struct search *s)
{
	push(s, 0, 0);
	while (s->depth) {
		size_t pair = s->stack[--s->depth];
		size_t i = pair / (s->b.count + 1);
		size_t j = pair % (s->b.count + 1);

		if (i == s->a.count && j == s->b.count)
			return true;
		skip(s, i, j);
		if (i == s->a.count || j == s->b.count)
			continue;
		if (both_accept(&s->a.states[i], &s->b.states[j], '/'))
			step(s, i, j, true);
		if (have_letter(&s->a.states[i], &s->b.states[j]))
			step(s, i, j, false);
	}
	return false;
}

/* ---- quick answers ---- */

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[' || c == ']' || c == '{' || c == '}';
}

/* True if the beginnings or the ends of the texts, up to the first special character,
 * differ. */
static bool differ(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t least = a_len < b_len ? a_len : b_len;

	for (size_t i = 0; i < least && !is_special(a[i]) && !is_special(b[i]); i++)
		if (a[i] != b[i])
			return true;
	/* A slash at the end stands for everything below it. */
	if (!a_len || !b_len || a[a_len - 1] == '/' || b[b_len - 1] == '/')
		return false;
	for (size_t i = 1; i <= least; i++) {
		char x = a[a_len - i], y = b[b_len - i];

		if (is_special(x) || is_special(y))
			return false;
		if (x != y)
			return true;
	}
	return false;
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_special(text[i]))
			return false;
	return len && text[len - 1] != '/';
}

static bool search(struct search *s, const char *a, size_t a_len, const char *b, size_t b_len)
{
	if (fw_glob_compile(a, a_len, &s->a) || fw_glob_compile(b, b_len, &s->b))
		return false;
	memset(s->seen, 0, (s->a.count + 1) * (s->b.count + 1));
	return find_end(s);
}

/* For texts of any length. Without memory the answer is yes, which is the safe one. */
static bool search_large(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t a_states = FW_GLOB_STATES(a_len), b_states = FW_GLOB_STATES(b_len);
	size_t pairs = (a_states + 1) * (b_states + 1);
	struct fw_glob_state *states =
		fw__allocate((a_states + b_states) * sizeof *states + pairs * 5);
	struct search s = { .a = { .most = a_len }, .b = { .most = b_len } };
	bool is_found;

	if (!states)
		return true;
	s.a.states = states;
	s.b.states = states + a_states;
	s.stack = (uint32_t *)(void *)(states + a_states + b_states);
	s.seen = (unsigned char *)(s.stack + pairs);
	is_found = search(&s, a, a_len, b, b_len);
	fw__release(states);
	return is_found;
}

/* Apart from the quick answers, which need no room on the stack. */
static __attribute__((noinline)) bool search_small(const char *a, size_t a_len, const char *b,
						   size_t b_len)
{
	struct fw_glob_state a_states[FW_GLOB_STATES(SMALL_BYTES)];
	struct fw_glob_state b_states[FW_GLOB_STATES(SMALL_BYTES)];
	unsigned char seen[SMALL_PAIRS];
	uint32_t stack[SMALL_PAIRS];
	struct search s = { .a = { .states = a_states, .most = SMALL_BYTES },
			    .b = { .states = b_states, .most = SMALL_BYTES },
			    .seen = seen,
			    .stack = stack };

	return search(&s, a, a_len, b, b_len);
}

/* How many bytes of directories both begin with, as plain text. */
static size_t shared_directories(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t least = a_len < b_len ? a_len : b_len;
	size_t shared = 0;

	/* Something must be left of both. */
	for (size_t i = 0; i + 1 < least && a[i] == b[i] && !is_special(a[i]); i++)
		if (a[i] == '/')
			shared = i + 1;
	return shared;
}

bool fw_glob_overlap(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t shared;

	if (differ(a, a_len, b, b_len))
		return false;
	shared = shared_directories(a, a_len, b, b_len);
	a += shared;
	b += shared;
	a_len -= shared;
	b_len -= shared;
	if (is_plain(a, a_len) && is_plain(b, b_len))
		return a_len == b_len && memcmp(a, b, a_len) == 0;
	if (a_len > SMALL_BYTES || b_len > SMALL_BYTES)
		return search_large(a, a_len, b, b_len);
	return search_small(a, a_len, b, b_len);
}
