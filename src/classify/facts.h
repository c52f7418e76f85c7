/*
 * facts.h - numbers that a text states: an HTTP status, a delay before the next attempt,
 * a JSON-RPC code.
 *
 * A number alone says nothing: 404 is a status after "HTTP" or before "Not Found", and 30
 * is a delay after "retry in" and before "seconds". So each number waits for the next word.
 */
#ifndef FW_CLASSIFY_FACTS_H
#define FW_CLASSIFY_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "classify/word.h"

enum { FW_FACTS_WORDS = 6 };

struct fw_facts {
	int http_status;    /* the first one; 0: none */
	double retry_after; /* seconds; negative: none */
	int jsonrpc_code;   /* of the word seen last; 0: none */
	bool forbids_retry; /* the text says not to repeat the call */
	struct fw_word last[FW_FACTS_WORDS];
	uint32_t count;          /* words seen */
	uint32_t delay_end;      /* words up to the end of the delay; 0: none */
	uint32_t delay_sentence; /* where the delay is */
};

void fw_facts_init(struct fw_facts *facts);
/* Looks at the next word; NULL at the end of the text. */
void fw_facts_see(struct fw_facts *facts, const struct fw_word *word);

#endif
