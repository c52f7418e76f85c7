/*
 * terms.h - an index in memory: which documents contain a word, and how often.
 * One thread adds; afterwards any number of threads may search.
 */
#ifndef FW_TOOLS_CONTEXT_TERMS_H
#define FW_TOOLS_CONTEXT_TERMS_H

#include "tools/context/words.h"

struct fw_context_terms;
struct fw_context_terms *fw_context_terms_new(void);
void fw_context_terms_free(struct fw_context_terms *terms);
/* Adds the words of one document. Document numbers must ascend. False: out of
 * memory. */
bool fw_context_terms_add(struct fw_context_terms *terms, uint32_t document,
			  struct fw_context_words *words, uint32_t *ret_count);
/* Memory in use, in bytes. */
size_t fw_context_terms_bytes(const struct fw_context_terms *terms);

/* A document that contains words of the query. */
struct fw_context_match {
	uint32_t document;
	uint32_t matches;
	float score;
};
/* Start with all zero; release `items` with fw__release(). */
struct fw_context_matches {
	struct fw_context_match *items;
	size_t count;
	size_t room;
};
/* Adds every document that contains the word. False: out of memory. */
bool fw_context_terms_find(const struct fw_context_terms *terms, const char *word, size_t len,
			   struct fw_context_matches *matches);
bool fw_context_matches_add(struct fw_context_matches *matches, uint32_t document,
			    uint32_t count);

#endif
