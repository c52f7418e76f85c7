/*
 * token.h - the terms of a text: words of prose and parts of identifiers.
 *
 * An identifier is split where its writer joined words: parseHTTPHeader, parse_http_header and
 * "parse http headers" have the same parts. Parts lose their common English endings. An
 * identifier of several parts is a term as a whole, too. A term is known by a 32-bit hash:
 * an index has no dictionary of texts, so files can be read by several threads and kept
 * apart. Two terms with one hash cost a little precision and nothing else.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_TOKEN_H
#define FW_TOOLS_CODE_SEMANTIC_TOKEN_H

#include <stddef.h>
#include <stdint.h>

enum { FW_SEMANTIC_TERM_BYTES = 64 };

/* Writes the terms of a text in their order, at most `len` of them, and returns how many. */
size_t fw_semantic_terms(const char *text, size_t len, uint32_t *ret_terms);

/* A term of a query, and the word that it comes from. */
struct fw_semantic_term {
	uint32_t hash;
	uint32_t count;
	char text[FW_SEMANTIC_TERM_BYTES]; /* in lower case; cut if it is longer */
};

/* The distinct terms of a query, in their order, without the most common English words unless
 * there are no others. At most `most`; returns how many. */
size_t fw_semantic_query_terms(const char *text, size_t len, struct fw_semantic_term *ret_terms,
			       size_t most);

#endif
