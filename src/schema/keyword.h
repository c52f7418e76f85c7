/*
 * keyword.h - the keywords of JSON Schema, their vocabularies and drafts, and the
 * types of an instance.
 */
#ifndef FW_SCHEMA_KEYWORD_H
#define FW_SCHEMA_KEYWORD_H

#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

/* Types of an instance as bits; T_INT is used only in masks of allowed types. */
enum {
	T_NULL = 1,
	T_BOOL = 2,
	T_NUM = 4,
	T_STR = 8,
	T_ARR = 16,
	T_OBJ = 32,
	T_INT = 64,
	T_ANY = T_NULL | T_BOOL | T_NUM | T_STR | T_ARR | T_OBJ,
};

/** T_* of a value. */
static inline unsigned fw_schema__type_of(yyjson_val *v)
{
	static const uint8_t types[8] = {
		0, T_NUM, T_NULL, T_BOOL, T_NUM, T_STR, T_ARR, T_OBJ
	};

	return types[unsafe_yyjson_get_type(v) & 7];
}

/* Keywords, sorted by name: the table in keyword.c is searched by bisection. A
 * test checks that the enum and the table agree. */
enum fw_schema__kw {
	KW_ANCHOR,
	KW_DEFS,
	KW_DYNAMIC_ANCHOR,
	KW_DYNAMIC_REF,
	KW_ID,
	KW_RECURSIVE_REF,
	KW_REF,
	KW_SCHEMA,
	KW_ADDITIONAL_ITEMS,
	KW_ADDITIONAL_PROPERTIES,
	KW_ALL_OF,
	KW_ANY_OF,
	KW_CONST,
	KW_CONTAINS,
	KW_CONTENT_SCHEMA,
	KW_DEFINITIONS,
	KW_DEPENDENCIES,
	KW_DEPENDENT_REQUIRED,
	KW_DEPENDENT_SCHEMAS,
	KW_ELSE,
	KW_ENUM,
	KW_EXCLUSIVE_MAXIMUM,
	KW_EXCLUSIVE_MINIMUM,
	KW_FORMAT,
	KW_IF,
	KW_ITEMS,
	KW_MAX_CONTAINS,
	KW_MAX_ITEMS,
	KW_MAX_LENGTH,
	KW_MAX_PROPERTIES,
	KW_MAXIMUM,
	KW_MIN_CONTAINS,
	KW_MIN_ITEMS,
	KW_MIN_LENGTH,
	KW_MIN_PROPERTIES,
	KW_MINIMUM,
	KW_MULTIPLE_OF,
	KW_NOT,
	KW_ONE_OF,
	KW_PATTERN,
	KW_PATTERN_PROPERTIES,
	KW_PREFIX_ITEMS,
	KW_PROPERTIES,
	KW_PROPERTY_NAMES,
	KW_REQUIRED,
	KW_THEN,
	KW_TYPE,
	KW_UNEVALUATED_ITEMS,
	KW_UNEVALUATED_PROPERTIES,
	KW_UNIQUE_ITEMS,
	KW_COUNT,
	/* Not keywords, but a report or a pointer may name them. */
	KW_LIMIT = KW_COUNT,
	KW_FALSE,
	KW_POINTER,
	KW_NONE
};

enum fw_schema__dialect { DIALECT_4, DIALECT_7, DIALECT_2019, DIALECT_2020 };

enum {
	VOCAB_CORE = 1,
	VOCAB_APPLICATOR = 2,
	VOCAB_VALIDATION = 4,
	VOCAB_UNEVALUATED = 8,
	VOCAB_FORMAT = 16,
	VOCAB_CONTENT = 32,
	VOCAB_METADATA = 64,
	VOCAB_FORMAT_ASSERT = 128,
	VOCAB_DEFAULT = VOCAB_CORE | VOCAB_APPLICATOR | VOCAB_VALIDATION | VOCAB_UNEVALUATED |
			VOCAB_FORMAT | VOCAB_CONTENT | VOCAB_METADATA,
};

struct fw_schema__keyword {
	const char *name;
	uint8_t vocab;
	uint8_t since, until; /* enum fw_schema__dialect */
};
extern const struct fw_schema__keyword fw_schema__keywords[KW_NONE + 1];
/** KW_COUNT if there is no such keyword. */
unsigned fw_schema__keyword_find(const char *name, size_t len);
/** The keyword that `name`, which is none, was probably meant to be; NULL: none. Also
 *  knows keywords without effect on the check, such as `description`. */
const char *fw_schema__keyword_meant(const char *name, size_t len);

#endif
