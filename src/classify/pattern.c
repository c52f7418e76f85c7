/*
 * pattern.c - compiles one pattern of a rule into the automaton.
 *
 * A pattern is read from left to right. Where it has alternatives ("denied|refused",
 * "?the"), several nodes of the tree are current, and the next word extends each of them.
 */
#include "classify/rules.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/ascii.h"
#include "base/mem.h"

enum { NODES_MAX = 256 };

struct compiler {
	fw_classifier *rules;
	uint32_t nodes[NODES_MAX];
	size_t count;
	size_t words; /* of the segment */
	struct fw_rule_segment segment;
};

static fw_error *bad(const char *reason)
{
	return fw_raise_registry_invalid_row(0, NULL, reason);
}

static bool is_fact(const char *p, size_t len)
{
	return (len > 1 && *p == '@') || (len > 5 && memcmp(p, "http:", 5) == 0) ||
	       (len > 4 && memcmp(p, "rpc:", 4) == 0) || (len == 1 && (*p == '^' || *p == '$'));
}

/* Words that word.h splits. */
static bool is_contraction(const char *p, size_t len)
{
	static const char *const known[] = { "cannot", "cant",  "dont",    "doesnt",  "didnt",
					     "isnt",   "arent", "wasnt",   "werent",  "hasnt",
					     "havent", "wont",  "couldnt", "shouldnt" };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i]) == len && memcmp(known[i], p, len) == 0)
			return true;
	return false;
}

/* A word as word.h writes them: otherwise it could never match. */
static fw_error *check_word(const char *p, size_t len)
{
	if (is_fact(p, len))
		return NULL;
	if (is_contraction(p, len))
		return bad("write \"can not\" for \"cannot\", and so on");
	if (len == 0 || len >= FW_WORD_BYTES)
		return bad("a word of the pattern is empty or too long");
	for (size_t i = 0; i < len; i++) {
		bool is_ok = fw_is_lower(p[i]) || fw_is_digit(p[i]) || (p[i] == '.' && i > 0) ||
			     (unsigned char)p[i] >= 0x80 ||
			     (i == 0 && (fw_is_upper(p[i]) || p[i] == '-'));

		if (!is_ok)
			return bad("write the pattern in small letters, digits and spaces");
	}
	return NULL;
}

static fw_error *check_set(const fw_classifier *rules, const char *p, size_t len)
{
	static const char name[] = FW_WORD_NAME;

	if (*p != '@' || (len == 7 && memcmp(p, "@number", 7) == 0) ||
	    (len == sizeof name - 1 && memcmp(p, name, len) == 0) ||
	    fw_phrases_knows(&rules->phrases, p, len))
		return NULL;
	return bad("no such set of words before this line");
}

static fw_error *out_of_memory(bool is_ok)
{
	return is_ok ? NULL : fw_raise_internal_out_of_memory();
}

/* Extends every node in `from` by the word. */
static fw_error *extend(struct compiler *c, const uint32_t *from, size_t count,
			const char *word, size_t len)
{
	FW_TRY(check_word(word, len));
	FW_TRY(check_set(c->rules, word, len));
	for (size_t i = 0; i < count; i++) {
		uint32_t node = from[i];

		if (c->count == NODES_MAX)
			return bad("the pattern has too many alternatives");
		FW_TRY(out_of_memory(fw_phrases_extend(&c->rules->phrases, &node, word, len)));
		c->nodes[c->count++] = node;
	}
	return NULL;
}

/* One place of the pattern: "word", "one|other" or "?maybe". */
static fw_error *add_place(struct compiler *c, const char *p, size_t len)
{
	uint32_t from[NODES_MAX];
	size_t count = c->count;
	const char *end = p + len;

	if (++c->words > FW_PHRASE_WORDS)
		return bad("a phrase of the pattern is too long");
	memcpy(from, c->nodes, count * sizeof *from);
	if (*p == '?')
		p++; /* the nodes before it stay current */
	else
		c->count = 0;
	for (;;) {
		const char *bar = memchr(p, '|', (size_t)(end - p));
		const char *stop = bar ? bar : end;

		FW_TRY(extend(c, from, count, p, (size_t)(stop - p)));
		if (!bar)
			return NULL;
		p = bar + 1;
	}
}

static void begin_segment(struct compiler *c, uint8_t gap)
{
	c->segment.before = c->segment.slot;
	c->segment.gap = gap;
	c->nodes[0] = FW_PHRASE_ROOT;
	c->count = 1;
	c->words = 0;
}

static bool grow_segments(fw_classifier *rules)
{
	size_t cap = rules->segment_cap ? 2 * rules->segment_cap : 256;
	struct fw_rule_segment *grown;

	if (rules->segment_count < rules->segment_cap)
		return true;
	grown = fw__reallocate(rules->segments, cap * sizeof *grown);
	if (!grown)
		return false;
	rules->segments = grown;
	rules->segment_cap = cap;
	return true;
}

/* Whether this segment ends at the same nodes as that of `owner`. */
static bool has_same_nodes(const struct compiler *c, uint32_t owner)
{
	if (c->rules->segments[owner].node_count != c->count)
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (!fw_phrases_is_end(&c->rules->phrases, c->nodes[i], owner))
			return false;
	return true;
}

/* A segment with the same phrases after the same segment, whose place serves this one as
 * well: many patterns begin with "failed .." or "not ..". NULL: there is none. */
static const struct fw_rule_segment *find_same(const struct compiler *c)
{
	const fw_classifier *rules = c->rules;
	uint32_t end = rules->phrases.ends ? rules->phrases.ends[c->nodes[0]] : 0;

	for (; end; end = rules->phrases.end_list[end].next) {
		uint32_t owner = rules->phrases.end_list[end].owner;
		const struct fw_rule_segment *other = &rules->segments[owner];

		if (!other->is_last && other->gap == c->segment.gap &&
		    (other->gap == FW_RULE_FIRST || other->before == c->segment.before) &&
		    has_same_nodes(c, owner))
			return other;
	}
	return NULL;
}

static fw_error *end_segment(struct compiler *c, bool is_last)
{
	fw_classifier *rules = c->rules;
	uint32_t owner = (uint32_t)rules->segment_count;
	const struct fw_rule_segment *same;

	if (c->words == 0)
		return bad("a pattern begins and ends with a word");
	same = is_last ? NULL : find_same(c);
	if (same) {
		c->segment.slot = same->slot;
		return NULL;
	}
	if (owner == FW_RULE_SEGMENTS_MAX ||
	    (!is_last && rules->slot_count == FW_RULE_SLOTS_MAX))
		return bad("the rules have too many patterns");
	FW_TRY(out_of_memory(grow_segments(rules)));
	c->segment.is_last = is_last;
	c->segment.node_count = (uint16_t)c->count;
	c->segment.slot = FW_RULE_SLOTS_MAX;
	if (!is_last)
		c->segment.slot = (uint16_t)rules->slot_count++;
	rules->segments[rules->segment_count++] = c->segment;
	for (size_t i = 0; i < c->count; i++)
		if (c->nodes[i] != FW_PHRASE_ROOT)
			FW_TRY(out_of_memory(
				fw_phrases_end(&rules->phrases, c->nodes[i], owner)));
	return NULL;
}

static fw_error *add_token(struct compiler *c, const char *p, size_t len)
{
	bool is_near = len == 2 && memcmp(p, "..", 2) == 0;
	bool is_far = len == 3 && memcmp(p, "...", 3) == 0;

	if (!is_near && !is_far)
		return add_place(c, p, len);
	FW_TRY(end_segment(c, false));
	begin_segment(c, is_near ? FW_RULE_NEAR : FW_RULE_FAR);
	return NULL;
}

fw_error *fw_rules_add_set(fw_classifier *rules, const char *name, size_t name_len,
			   const char *words, size_t len)
{
	char set[FW_WORD_BYTES];
	const char *p = words, *end = words + len;

	FW_TRY(check_word(name, name_len));
	set[0] = '@';
	memcpy(set + 1, name, name_len);
	for (;;) {
		const char *bar = memchr(p, '|', (size_t)(end - p));
		const char *stop = bar ? bar : end;

		FW_TRY(check_word(p, (size_t)(stop - p)));
		FW_TRY(out_of_memory(fw_phrases_join(&rules->phrases, set, name_len + 1, p,
						     (size_t)(stop - p))));
		if (!bar)
			return NULL;
		p = bar + 1;
	}
}

fw_error *fw_rules_add_pattern(fw_classifier *rules, const char *pattern, size_t len,
			       bool is_unless)
{
	struct compiler c = {
		.rules = rules,
		.segment = { .rule = (uint16_t)(rules->rule_count - 1),
			     .is_unless = is_unless },
	};
	const char *p = pattern, *end = pattern + len;

	begin_segment(&c, FW_RULE_FIRST);
	while (p < end) {
		const char *space = memchr(p, ' ', (size_t)(end - p));
		const char *stop = space ? space : end;

		if (stop > p)
			FW_TRY(add_token(&c, p, (size_t)(stop - p)));
		p = stop + 1;
	}
	return end_segment(&c, true);
}
