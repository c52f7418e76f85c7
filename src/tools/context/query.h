/*
 * query.h - a query: its text and the set of its words.
 */
#ifndef FW_TOOLS_CONTEXT_QUERY_H
#define FW_TOOLS_CONTEXT_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

struct fw_context_term {
	const char *text;
	size_t len;
};

struct fw_context_query {
	const char *raw; /* borrowed from the caller */
	size_t raw_len;
	struct fw_context_term *terms; /* distinct, in order of first appearance */
	size_t term_count;
	char *text;      /* holds the bytes of the terms */
	uint32_t *slots; /* hash table of terms: index + 1, 0 if empty */
	size_t slot_count;
};

/* Raises input.invalid_query, internal.out_of_memory. */
FW_NODISCARD fw_error *fw_context_query_read(const char *text, size_t len,
					     struct fw_context_query *ret_query);
void fw_context_query_clear(struct fw_context_query *query);
bool fw_context_query_has(const struct fw_context_query *query, const char *word, size_t len);

#endif
