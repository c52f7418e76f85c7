/*
 * phrase.h - a set of phrases, each a sequence of words, and a scan that finds all of
 * them in one pass over a text.
 *
 * The automaton is a tree of words: an edge leads from a node to the next by the number
 * of a word. A scan keeps the nodes that it has reached, at most one per word of the
 * longest phrase, so its time is linear in the length of any text.
 *
 * A word may be in sets; the name of a set, "@secret", in a phrase stands for any of its
 * words. "@number" is any word that begins with a digit: 30, 1.5, 30ms.
 *
 * The one rule to remember: a phrase that is written with a capital ("Not Found")
 * matches only words that begin with one.
 */
#ifndef FW_CLASSIFY_PHRASE_H
#define FW_CLASSIFY_PHRASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "classify/word.h"

enum {
	FW_PHRASE_WORDS = 12, /* of one phrase */
	FW_PHRASE_NONE = 0,   /* no word, no node */
	FW_PHRASE_ROOT = 1,   /* the node where each phrase begins */
	FW_PHRASE_ACTIVE = 64 /* nodes of a scan */
};

/* What a phrase belongs to; numbers that its owner chose. */
struct fw_phrase_end {
	uint32_t next; /* the next end of the same node; 0: none */
	uint32_t owner;
};

struct fw_phrase_word {
	uint32_t hash;
	uint32_t text; /* offset in `texts` */
	uint32_t len;  /* 0: the slot is empty */
	uint32_t id;
	uint32_t sets;    /* the first of the sets that it is in; 0: none */
	uint32_t capital; /* number of the same word with a capital; 0: no phrase has it */
};

/* That a word is in a set. */
struct fw_phrase_member {
	uint32_t next; /* the next one of the same word; 0: none */
	uint32_t set;  /* number of the word that is the name of the set */
};

struct fw_phrase_edge {
	uint32_t from; /* 0: the slot is empty */
	uint32_t word;
	uint32_t to;
};

struct fw_phrases {
	struct fw_phrase_word *words; /* hash table */
	struct fw_phrase_edge *edges; /* hash table */
	uint32_t *ends;               /* the first end of each node; 0: none */
	struct fw_phrase_end *end_list;
	struct fw_phrase_member *members;
	char *texts;
	size_t word_slots, word_count;
	size_t edge_slots, edge_count;
	size_t node_count, node_cap;
	size_t end_count, end_cap;
	size_t member_count, member_cap;
	uint32_t number_set; /* number of the word "@number"; 0: no phrase has it */
	size_t text_len, text_cap;
};

/* Zeroed memory is an empty set. */
void fw_phrases_free(struct fw_phrases *set);

/* Adds words to the phrase that ends at `*node`, which starts as FW_PHRASE_ROOT. The
 * word is in lower case, or begins with a capital. False: out of memory. */
bool fw_phrases_extend(struct fw_phrases *set, uint32_t *node, const char *word, size_t len);
/* The phrase that ends at `node` belongs to `owner`. False: out of memory. */
bool fw_phrases_end(struct fw_phrases *set, uint32_t node, uint32_t owner);
bool fw_phrases_is_end(const struct fw_phrases *set, uint32_t node, uint32_t owner);

/* Puts a word into a set, whose name begins with "@". False: out of memory. */
bool fw_phrases_join(struct fw_phrases *set, const char *name, size_t name_len,
		     const char *word, size_t len);
/* Whether there is such a word or set. */
bool fw_phrases_knows(const struct fw_phrases *set, const char *word, size_t len);

/* ---- the scan ---- */

/* A phrase that the words so far begin. */
struct fw_phrase_active {
	uint32_t node;
	uint32_t first; /* index of its first word */
};

struct fw_phrase_scan {
	const struct fw_phrases *set;
	struct fw_phrase_active active[2][FW_PHRASE_ACTIVE]; /* before a step, and after it */
	uint32_t current;                                    /* the one of the two in use */
	uint32_t count;
	uint32_t sentence;
	uint32_t index; /* of the word that was scanned last; the first is 1 */
};

/* Called for every phrase that ends with the word scanned. */
typedef void fw_phrase_fn(void *ctx, uint32_t owner, uint32_t first, uint32_t last);

/* A phrase does not continue in the next sentence. */
void fw_phrase_step(struct fw_phrase_scan *scan, const struct fw_word *word,
		    fw_phrase_fn *found, void *ctx);
/* Reports the phrase that is this one word, which is not part of the text: a fact such
 * as "http:404". */
void fw_phrase_fact(const struct fw_phrase_scan *scan, const char *word, fw_phrase_fn *found,
		    void *ctx);

#endif
