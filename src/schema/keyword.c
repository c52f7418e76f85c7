/*
 * keyword.c - the keywords, sorted by name for bisection, with the vocabulary and the
 * drafts that each belongs to.
 *
 * Keywords of a later draft have no meaning in a schema that declares an earlier one,
 * and vice versa, with two exceptions. `definitions` and `dependencies` also work in
 * 2020-12, whose own metaschema keeps them. And `additionalItems` works next to an
 * array-valued `items` in any draft, because tools without `$schema` still send it.
 */
#include <string.h>

#include "base/distance.h"
#include "schema/keyword.h"

#define CORE VOCAB_CORE
#define APPL VOCAB_APPLICATOR
#define VALI VOCAB_VALIDATION
#define ANY_DRAFT DIALECT_4, DIALECT_2020
#define FROM(d) DIALECT_##d, DIALECT_2020

const struct fw_schema__keyword fw_schema__keywords[KW_NONE + 1] = {
	[KW_ANCHOR] = { "$anchor", CORE, FROM(2019) },
	[KW_DEFS] = { "$defs", CORE, ANY_DRAFT },
	[KW_DYNAMIC_ANCHOR] = { "$dynamicAnchor", CORE, FROM(2020) },
	[KW_DYNAMIC_REF] = { "$dynamicRef", CORE, FROM(2020) },
	[KW_ID] = { "$id", CORE, ANY_DRAFT },
	[KW_RECURSIVE_REF] = { "$recursiveRef", CORE, DIALECT_2019, DIALECT_2019 },
	[KW_REF] = { "$ref", CORE, ANY_DRAFT },
	[KW_SCHEMA] = { "$schema", CORE, ANY_DRAFT },
	[KW_ADDITIONAL_ITEMS] = { "additionalItems", APPL, ANY_DRAFT },
	[KW_ADDITIONAL_PROPERTIES] = { "additionalProperties", APPL, ANY_DRAFT },
	[KW_ALL_OF] = { "allOf", APPL, ANY_DRAFT },
	[KW_ANY_OF] = { "anyOf", APPL, ANY_DRAFT },
	[KW_CONST] = { "const", VALI, FROM(7) },
	[KW_CONTAINS] = { "contains", APPL, FROM(7) },
	[KW_CONTENT_SCHEMA] = { "contentSchema", VOCAB_CONTENT, FROM(2019) },
	[KW_DEFINITIONS] = { "definitions", CORE, ANY_DRAFT },
	[KW_DEPENDENCIES] = { "dependencies", APPL, ANY_DRAFT },
	[KW_DEPENDENT_REQUIRED] = { "dependentRequired", VALI, FROM(2019) },
	[KW_DEPENDENT_SCHEMAS] = { "dependentSchemas", APPL, FROM(2019) },
	[KW_ELSE] = { "else", APPL, FROM(7) },
	[KW_ENUM] = { "enum", VALI, ANY_DRAFT },
	[KW_EXCLUSIVE_MAXIMUM] = { "exclusiveMaximum", VALI, ANY_DRAFT },
	[KW_EXCLUSIVE_MINIMUM] = { "exclusiveMinimum", VALI, ANY_DRAFT },
	[KW_FORMAT] = { "format", VOCAB_FORMAT | VOCAB_FORMAT_ASSERT, ANY_DRAFT },
	[KW_IF] = { "if", APPL, FROM(7) },
	[KW_ITEMS] = { "items", APPL, ANY_DRAFT },
	[KW_MAX_CONTAINS] = { "maxContains", VALI, FROM(2019) },
	[KW_MAX_ITEMS] = { "maxItems", VALI, ANY_DRAFT },
	[KW_MAX_LENGTH] = { "maxLength", VALI, ANY_DRAFT },
	[KW_MAX_PROPERTIES] = { "maxProperties", VALI, ANY_DRAFT },
	[KW_MAXIMUM] = { "maximum", VALI, ANY_DRAFT },
	[KW_MIN_CONTAINS] = { "minContains", VALI, FROM(2019) },
	[KW_MIN_ITEMS] = { "minItems", VALI, ANY_DRAFT },
	[KW_MIN_LENGTH] = { "minLength", VALI, ANY_DRAFT },
	[KW_MIN_PROPERTIES] = { "minProperties", VALI, ANY_DRAFT },
	[KW_MINIMUM] = { "minimum", VALI, ANY_DRAFT },
	[KW_MULTIPLE_OF] = { "multipleOf", VALI, ANY_DRAFT },
	[KW_NOT] = { "not", APPL, ANY_DRAFT },
	[KW_ONE_OF] = { "oneOf", APPL, ANY_DRAFT },
	[KW_PATTERN] = { "pattern", VALI, ANY_DRAFT },
	[KW_PATTERN_PROPERTIES] = { "patternProperties", APPL, ANY_DRAFT },
	[KW_PREFIX_ITEMS] = { "prefixItems", APPL, FROM(2020) },
	[KW_PROPERTIES] = { "properties", APPL, ANY_DRAFT },
	[KW_PROPERTY_NAMES] = { "propertyNames", APPL, FROM(7) },
	[KW_REQUIRED] = { "required", VALI, ANY_DRAFT },
	[KW_THEN] = { "then", APPL, FROM(7) },
	[KW_TYPE] = { "type", VALI, ANY_DRAFT },
	[KW_UNEVALUATED_ITEMS] = { "unevaluatedItems", VOCAB_UNEVALUATED, FROM(2019) },
	[KW_UNEVALUATED_PROPERTIES] = { "unevaluatedProperties", VOCAB_UNEVALUATED,
					FROM(2019) },
	[KW_UNIQUE_ITEMS] = { "uniqueItems", VALI, ANY_DRAFT },
	[KW_LIMIT] = { "limit", 0, ANY_DRAFT },
	[KW_FALSE] = { "false", 0, ANY_DRAFT },
	[KW_POINTER] = { "", 0, ANY_DRAFT },
	[KW_NONE] = { "", 0, ANY_DRAFT },
};

unsigned fw_schema__keyword_find(const char *name, size_t len)
{
	unsigned lo = 0, hi = KW_COUNT;

	if (len == 0 || len > 24) /* longer than any keyword */
		return KW_COUNT;
	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		const char *is = fw_schema__keywords[mid].name;
		size_t is_len = strlen(is);
		int d = memcmp(name, is, len < is_len ? len : is_len);

		if (d == 0)
			d = len < is_len ? -1 : len > is_len;
		if (d == 0)
			return mid;
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return KW_COUNT;
}

/* Annotations; and keywords of earlier drafts and of OpenAPI, which many schemas have. */
static const char *const others[] = {
	"$comment",     "$vocabulary", "title",    "description",     "default",
	"examples",     "deprecated",  "readOnly", "writeOnly",       "contentMediaType",
	"example",      "nullable",    "id",       "contentEncoding", "discriminator",
	"externalDocs", "xml",
};

static bool is_similar(const char *name, size_t len, const char *known)
{
	size_t known_len = strlen(known);

	/* Too many words resemble "if" and "not". */
	return len > 2 && known_len > 3 &&
	       fw_distance(name, len, known, known_len) <= (len < 6 ? 1 : 2);
}

const char *fw_schema__keyword_meant(const char *name, size_t len)
{
	const char *meant = NULL;

	/* "x-..." is how extensions are named. */
	if (len > 1 && name[0] == 'x' && name[1] == '-')
		return NULL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return NULL;
		if (!meant && is_similar(name, len, others[i]))
			meant = others[i];
	}
	for (unsigned k = 0; k < KW_COUNT; k++)
		if (is_similar(name, len, fw_schema__keywords[k].name))
			return fw_schema__keywords[k].name;
	return meant;
}
