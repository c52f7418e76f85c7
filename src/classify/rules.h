/*
 * rules.h - the rules of the classifier: their file format and their compiled form.
 *
 *   rule: refused  code: transport.connection_refused  rank: 85
 *   when: connection refused
 *   when: connect|connecting .. refused
 *   unless: refused by policy
 *   example: connect ECONNREFUSED 127.0.0.1:5432
 *
 * docs/classify.md describes the format. A pattern becomes segments, the phrases between
 * its gaps; each segment is an owner of phrases in the automaton.
 *
 * The one rule to remember: compiled rules are read-only. What a scan finds is in its own
 * memory, so one set of rules serves all threads.
 */
#ifndef FW_CLASSIFY_RULES_H
#define FW_CLASSIFY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/classify.h>

#include "classify/phrase.h"

enum {
	FW_RULES_MAX = 1024,
	FW_RULE_SEGMENTS_MAX = 16384,
	/* Segments whose place a scan must remember, because another follows. */
	FW_RULE_SLOTS_MAX = 2048,
	FW_RULE_FILE_BYTES = 1024 * 1024,
	FW_RULE_LINE_BYTES = 1024,
	FW_RULE_NAME_BYTES = 64,
	FW_RULE_SET_BYTES = 32, /* name of a set */
	/* Words that ".." may stand for. */
	FW_RULE_GAP_WORDS = 8,
};

struct fw_rule {
	const char *name;
	const fw_row *row;
	int rank;        /* 1 to 99; the highest wins */
	int http_status; /* the status that the text states by matching; 0: none */
	bool sets_retry;
	fw_retry retry; /* instead of that of the row */
	uint32_t line;  /* in its file */
	bool has_when, has_example;
};

enum fw_rule_gap {
	FW_RULE_FIRST, /* nothing before it */
	FW_RULE_NEAR,  /* "..": a few words of the same sentence before it */
	FW_RULE_FAR,   /* "...": anything before it */
};

struct fw_rule_segment {
	uint16_t rule;
	uint16_t slot;       /* where a scan keeps its place; FW_RULE_SLOTS_MAX: nowhere */
	uint16_t before;     /* the slot of the segment before */
	uint16_t node_count; /* of the automaton, that it ends at */
	uint8_t gap;
	bool is_last;
	bool is_unless;
};

struct fw_classifier {
	struct fw_rule *rules;
	struct fw_rule_segment *segments;
	struct fw_phrases phrases;
	char **texts; /* names of rules */
	size_t rule_count, rule_cap;
	size_t segment_count, segment_cap;
	size_t slot_count;
};

/* Calls `found` for every example of a rules text: what a check needs. */
typedef void fw_rule_example_fn(void *ctx, const char *rule, const char *text, size_t len);
void fw_rules_examples(const char *rules, size_t len, fw_rule_example_fn *found, void *ctx);

/* Adds one pattern of the rule that was added last. Raises registry.invalid_row without a
 * row number, and internal.out_of_memory. */
FW_NODISCARD fw_error *fw_rules_add_pattern(fw_classifier *rules, const char *pattern,
					    size_t len, bool is_unless);

/* Adds the words "a|b|c" to a set: what "@name" in a pattern stands for. Raises as above. */
FW_NODISCARD fw_error *fw_rules_add_set(fw_classifier *rules, const char *name, size_t name_len,
					const char *words, size_t len);

/* The built-in rules, embedded by the build. */
extern const char fw_rules_builtin[];
extern const size_t fw_rules_builtin_len;

#endif
