/*
 * program.h - a compiled schema.
 *
 * It is a set of flat arrays that refer to each other by index: nodes (one per
 * subschema), ops (the checks of a node, adjacent and cheapest first) and pools
 * for operands of more than 16 bytes. The parsed documents are kept too, because
 * `const`, `enum`, property names and the digits of numbers are used in place.
 */
#ifndef FW_SCHEMA_PROGRAM_H
#define FW_SCHEMA_PROGRAM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "schema/keyword.h"
#include "schema/number.h"
#include "schema/schema.h"

#define FW_SCHEMA__NONE UINT32_MAX

enum fw_schema__op_kind {
	OP_CONST,
	OP_ENUM,
	OP_MIN_ITEMS,
	OP_MAX_ITEMS,
	OP_MIN_PROPERTIES,
	OP_MAX_PROPERTIES,
	OP_MINIMUM,
	OP_EXCLUSIVE_MINIMUM,
	OP_MAXIMUM,
	OP_EXCLUSIVE_MAXIMUM,
	OP_MULTIPLE_OF,
	OP_MIN_LENGTH,
	OP_MAX_LENGTH,
	OP_FORMAT,
	OP_PATTERN,
	OP_OBJECT,
	OP_DEPENDENT_REQUIRED,
	OP_ARRAY,
	OP_CONTAINS,
	OP_PROPERTY_NAMES,
	OP_UNIQUE_ITEMS,
	OP_REF,
	OP_DYNAMIC_REF,
	OP_ALL_OF,
	OP_NOT,
	OP_IF,
	OP_ANY_OF,
	OP_ONE_OF,
	OP_DEPENDENT_SCHEMAS,
	OP_UNEVALUATED_ITEMS,
	OP_UNEVALUATED_PROPERTIES,
};

struct fw_schema__op {
	uint8_t kind;
	uint8_t types; /* instance types it applies to */
	uint8_t kw;
	uint8_t flag;
	uint32_t a;
	union {
		uint64_t limit;
		struct {
			uint32_t b, c;
		} u;
	} v;
};

enum { NODE_BOOLEAN = 1, NODE_FALSE = 2, NODE_UNEVALUATED = 4 };

struct fw_schema__node {
	uint32_t ops, n_ops;
	uint32_t resource;
	uint8_t types; /* allowed by `type`; T_ANY without one */
	uint8_t flags;
	uint8_t seg_kw; /* keyword of the parent that holds this node */
	uint8_t unused;
	/* Location: parent / keyword [ / key or index ]. */
	uint32_t parent;
	uint32_t seg_index;
	const char *seg_key;
	uint32_t seg_len;
};

struct fw_schema__prop {
	const char *key;
	uint32_t len;
	uint32_t node;     /* NONE: named by `required` only */
	uint32_t required; /* bit number among the required ones; NONE: optional */
};

/* properties, patternProperties, additionalProperties and required are one
 * op, so that an object is walked once and each key looked up once. */
struct fw_schema__object {
	uint32_t props, n_props;   /* in props[], in order of declaration */
	uint32_t sorted, n_sorted; /* in words[]: the same, sorted by (length, bytes) */
	uint32_t n_required;
	uint32_t patterns, n_patterns; /* in words[]: regex, node, regex, ... */
	uint32_t additional;
};

struct fw_schema__enum {
	uint32_t hashed, n_hashed; /* in hashes[], sorted by hash */
	uint32_t rest, n_rest;     /* in vals[] */
	yyjson_val *array;         /* for reports */
};

struct fw_schema__hashed {
	uint64_t hash;
	yyjson_val *val;
};

struct fw_schema__resource {
	const char *uri;
	yyjson_val *root;
	uint32_t node;
	uint32_t doc;
	uint8_t dialect;
	uint8_t vocab;
};

struct fw_schema__dynamic {
	uint32_t resource, node;
};

struct fw_schema__chunk {
	struct fw_schema__chunk *next;
	size_t used, cap;
};

/* Growable array; `n` and `cap` count elements. */
#define FW_SCHEMA__VEC(T)        \
	struct {                 \
		T *at;           \
		uint32_t n, cap; \
	}

struct fw_schema {
	yyjson_alc alc;
	struct fw_schema__chunk *chunks; /* strings made while compiling */
	FW_SCHEMA__VEC(yyjson_doc *) docs;
	FW_SCHEMA__VEC(struct fw_schema__node) nodes;
	FW_SCHEMA__VEC(struct fw_schema__op) ops;
	FW_SCHEMA__VEC(uint32_t) words;
	FW_SCHEMA__VEC(yyjson_val *) vals;
	FW_SCHEMA__VEC(struct fw_schema__num) nums;
	FW_SCHEMA__VEC(struct fw_schema__prop) props;
	FW_SCHEMA__VEC(struct fw_schema__object) objects;
	FW_SCHEMA__VEC(struct fw_schema__enum) enums;
	FW_SCHEMA__VEC(struct fw_schema__hashed) hashes;
	FW_SCHEMA__VEC(struct fw_schema__resource) resources;
	FW_SCHEMA__VEC(struct fw_schema__dynamic) dynamics;
	FW_SCHEMA__VEC(pcre2_code *) regexes;
	pcre2_general_context *pcre_general;
	pcre2_compile_context *pcre_compile;
	pcre2_match_context *pcre_match;
	uint64_t seed; /* of hashes; a peer must not be able to predict them */
	uint32_t root;
};

/** Types that a node allows, by its own `type` or through $ref. */
unsigned fw_schema__types_of(const fw_schema *s, uint32_t node);

#endif
