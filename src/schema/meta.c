/*
 * meta.c - the built-in metaschemas: draft 2020-12 with its vocabularies, and
 * draft-07. The texts are those of the JSON Schema organisation (as shipped by ajv
 * 8.20), without white space. `format-assertion` equals `format-annotation` except
 * for its name, as published.
 *
 * They are compiled on demand like any other referenced document.
 */
#include <string.h>

#include "schema/compiler.h"

static const struct {
	const char *uri;
	const char *text;
} metaschemas[] = {
	{ "https://json-schema.org/draft/2020-12/schema",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/schema\",\"$vocabulary\":{\"h"
	  "ttps://json-schema.org/draft/2020-12/vocab/core\":true,\"https://j"
	  "son-schema.org/draft/2020-12/vocab/applicator\":true,\"https://jso"
	  "n-schema.org/draft/2020-12/vocab/unevaluated\":true,\"https://json"
	  "-schema.org/draft/2020-12/vocab/validation\":true,\"https://json-s"
	  "chema.org/draft/2020-12/vocab/meta-data\":true,\"https://json-sche"
	  "ma.org/draft/2020-12/vocab/format-annotation\":true,\"https://json"
	  "-schema.org/draft/2020-12/vocab/content\":true},\"$dynamicAnchor\":"
	  "\"meta\",\"title\":\"Core and Validation specifications meta-schema\","
	  "\"allOf\":[{\"$ref\":\"meta/core\"},{\"$ref\":\"meta/applicator\"},{\"$ref\""
	  ":\"meta/unevaluated\"},{\"$ref\":\"meta/validation\"},{\"$ref\":\"meta/me"
	  "ta-data\"},{\"$ref\":\"meta/format-annotation\"},{\"$ref\":\"meta/conten"
	  "t\"}],\"type\":[\"object\",\"boolean\"],\"$comment\":\"This meta-schema al"
	  "so defines keywords that have appeared in previous drafts in ord"
	  "er to prevent incompatible extensions as they remain in common u"
	  "se.\",\"properties\":{\"definitions\":{\"$comment\":\"\\\"definitions\\\" ha"
	  "s been replaced by \\\"$defs\\\".\",\"type\":\"object\",\"additionalProper"
	  "ties\":{\"$dynamicRef\":\"#meta\"},\"deprecated\":true,\"default\":{}},\"d"
	  "ependencies\":{\"$comment\":\"\\\"dependencies\\\" has been split and re"
	  "placed by \\\"dependentSchemas\\\" and \\\"dependentRequired\\\" in orde"
	  "r to serve their differing semantics.\",\"type\":\"object\",\"addition"
	  "alProperties\":{\"anyOf\":[{\"$dynamicRef\":\"#meta\"},{\"$ref\":\"meta/va"
	  "lidation#/$defs/stringArray\"}]},\"deprecated\":true,\"default\":{}},"
	  "\"$recursiveAnchor\":{\"$comment\":\"\\\"$recursiveAnchor\\\" has been re"
	  "placed by \\\"$dynamicAnchor\\\".\",\"$ref\":\"meta/core#/$defs/anchorSt"
	  "ring\",\"deprecated\":true},\"$recursiveRef\":{\"$comment\":\"\\\"$recursi"
	  "veRef\\\" has been replaced by \\\"$dynamicRef\\\".\",\"$ref\":\"meta/core"
	  "#/$defs/uriReferenceString\",\"deprecated\":true}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/core",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/core\",\"$vocabulary\":"
	  "{\"https://json-schema.org/draft/2020-12/vocab/core\":true},\"$dyna"
	  "micAnchor\":\"meta\",\"title\":\"Core vocabulary meta-schema\",\"type\":["
	  "\"object\",\"boolean\"],\"properties\":{\"$id\":{\"$ref\":\"#/$defs/uriRefe"
	  "renceString\",\"$comment\":\"Non-empty fragments not allowed.\",\"patt"
	  "ern\":\"^[^#]*#?$\"},\"$schema\":{\"$ref\":\"#/$defs/uriString\"},\"$ref\":"
	  "{\"$ref\":\"#/$defs/uriReferenceString\"},\"$anchor\":{\"$ref\":\"#/$defs"
	  "/anchorString\"},\"$dynamicRef\":{\"$ref\":\"#/$defs/uriReferenceStrin"
	  "g\"},\"$dynamicAnchor\":{\"$ref\":\"#/$defs/anchorString\"},\"$vocabular"
	  "y\":{\"type\":\"object\",\"propertyNames\":{\"$ref\":\"#/$defs/uriString\"}"
	  ",\"additionalProperties\":{\"type\":\"boolean\"}},\"$comment\":{\"type\":\""
	  "string\"},\"$defs\":{\"type\":\"object\",\"additionalProperties\":{\"$dyna"
	  "micRef\":\"#meta\"}}},\"$defs\":{\"anchorString\":{\"type\":\"string\",\"pat"
	  "tern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},\"uriString\":{\"type\":\"string\""
	  ",\"format\":\"uri\"},\"uriReferenceString\":{\"type\":\"string\",\"format\":"
	  "\"uri-reference\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/applicator",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/applicator\",\"$vocabu"
	  "lary\":{\"https://json-schema.org/draft/2020-12/vocab/applicator\":"
	  "true},\"$dynamicAnchor\":\"meta\",\"title\":\"Applicator vocabulary met"
	  "a-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"prefixItems"
	  "\":{\"$ref\":\"#/$defs/schemaArray\"},\"items\":{\"$dynamicRef\":\"#meta\"}"
	  ",\"contains\":{\"$dynamicRef\":\"#meta\"},\"additionalProperties\":{\"$dy"
	  "namicRef\":\"#meta\"},\"properties\":{\"type\":\"object\",\"additionalProp"
	  "erties\":{\"$dynamicRef\":\"#meta\"},\"default\":{}},\"patternProperties"
	  "\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\""
	  "},\"propertyNames\":{\"format\":\"regex\"},\"default\":{}},\"dependentSch"
	  "emas\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#m"
	  "eta\"},\"default\":{}},\"propertyNames\":{\"$dynamicRef\":\"#meta\"},\"if\""
	  ":{\"$dynamicRef\":\"#meta\"},\"then\":{\"$dynamicRef\":\"#meta\"},\"else\":{"
	  "\"$dynamicRef\":\"#meta\"},\"allOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"a"
	  "nyOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"oneOf\":{\"$ref\":\"#/$defs/sc"
	  "hemaArray\"},\"not\":{\"$dynamicRef\":\"#meta\"}},\"$defs\":{\"schemaArray"
	  "\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$dynamicRef\":\"#meta\"}}}"
	  "}" },
	{ "https://json-schema.org/draft/2020-12/meta/unevaluated",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/unevaluated\",\"$vocab"
	  "ulary\":{\"https://json-schema.org/draft/2020-12/vocab/unevaluated"
	  "\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Unevaluated applicator "
	  "vocabulary meta-schema\",\"type\":[\"object\",\"boolean\"],\"properties\""
	  ":{\"unevaluatedItems\":{\"$dynamicRef\":\"#meta\"},\"unevaluatedPropert"
	  "ies\":{\"$dynamicRef\":\"#meta\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/validation",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/validation\",\"$vocabu"
	  "lary\":{\"https://json-schema.org/draft/2020-12/vocab/validation\":"
	  "true},\"$dynamicAnchor\":\"meta\",\"title\":\"Validation vocabulary met"
	  "a-schema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"type\":{\"any"
	  "Of\":[{\"$ref\":\"#/$defs/simpleTypes\"},{\"type\":\"array\",\"items\":{\"$r"
	  "ef\":\"#/$defs/simpleTypes\"},\"minItems\":1,\"uniqueItems\":true}]},\"c"
	  "onst\":true,\"enum\":{\"type\":\"array\",\"items\":true},\"multipleOf\":{\"t"
	  "ype\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"number\"},"
	  "\"exclusiveMaximum\":{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"}"
	  ",\"exclusiveMinimum\":{\"type\":\"number\"},\"maxLength\":{\"$ref\":\"#/$de"
	  "fs/nonNegativeInteger\"},\"minLength\":{\"$ref\":\"#/$defs/nonNegative"
	  "IntegerDefault0\"},\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\""
	  "maxItems\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minItems\":{\"$re"
	  "f\":\"#/$defs/nonNegativeIntegerDefault0\"},\"uniqueItems\":{\"type\":\""
	  "boolean\",\"default\":false},\"maxContains\":{\"$ref\":\"#/$defs/nonNega"
	  "tiveInteger\"},\"minContains\":{\"$ref\":\"#/$defs/nonNegativeInteger\""
	  ",\"default\":1},\"maxProperties\":{\"$ref\":\"#/$defs/nonNegativeIntege"
	  "r\"},\"minProperties\":{\"$ref\":\"#/$defs/nonNegativeIntegerDefault0\""
	  "},\"required\":{\"$ref\":\"#/$defs/stringArray\"},\"dependentRequired\":"
	  "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#/$defs/stringA"
	  "rray\"}}},\"$defs\":{\"nonNegativeInteger\":{\"type\":\"integer\",\"minimu"
	  "m\":0},\"nonNegativeIntegerDefault0\":{\"$ref\":\"#/$defs/nonNegativeI"
	  "nteger\",\"default\":0},\"simpleTypes\":{\"enum\":[\"array\",\"boolean\",\"i"
	  "nteger\",\"null\",\"number\",\"object\",\"string\"]},\"stringArray\":{\"type"
	  "\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,\"default\""
	  ":[]}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/meta-data",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/meta-data\",\"$vocabul"
	  "ary\":{\"https://json-schema.org/draft/2020-12/vocab/meta-data\":tr"
	  "ue},\"$dynamicAnchor\":\"meta\",\"title\":\"Meta-data vocabulary meta-s"
	  "chema\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"title\":{\"type\""
	  ":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true,\"depre"
	  "cated\":{\"type\":\"boolean\",\"default\":false},\"readOnly\":{\"type\":\"bo"
	  "olean\",\"default\":false},\"writeOnly\":{\"type\":\"boolean\",\"default\":"
	  "false},\"examples\":{\"type\":\"array\",\"items\":true}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/format-annotation",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/format-annotation\",\""
	  "$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/forma"
	  "t-annotation\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Format voca"
	  "bulary meta-schema for annotation results\",\"type\":[\"object\",\"boo"
	  "lean\"],\"properties\":{\"format\":{\"type\":\"string\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/format-assertion",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/format-assertion\",\"$"
	  "vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/format"
	  "-assertion\":true},\"$dynamicAnchor\":\"meta\",\"title\":\"Format vocabu"
	  "lary meta-schema for assertion results\",\"type\":[\"object\",\"boolea"
	  "n\"],\"properties\":{\"format\":{\"type\":\"string\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/content",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":"
	  "\"https://json-schema.org/draft/2020-12/meta/content\",\"$vocabular"
	  "y\":{\"https://json-schema.org/draft/2020-12/vocab/content\":true},"
	  "\"$dynamicAnchor\":\"meta\",\"title\":\"Content vocabulary meta-schema\""
	  ",\"type\":[\"object\",\"boolean\"],\"properties\":{\"contentEncoding\":{\"t"
	  "ype\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},\"contentSche"
	  "ma\":{\"$dynamicRef\":\"#meta\"}}}" },
	{ "http://json-schema.org/draft-07/schema",
	  "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$id\":\"http"
	  "://json-schema.org/draft-07/schema#\",\"title\":\"Core schema meta-s"
	  "chema\",\"definitions\":{\"schemaArray\":{\"type\":\"array\",\"minItems\":1"
	  ",\"items\":{\"$ref\":\"#\"}},\"nonNegativeInteger\":{\"type\":\"integer\",\"m"
	  "inimum\":0},\"nonNegativeIntegerDefault0\":{\"allOf\":[{\"$ref\":\"#/def"
	  "initions/nonNegativeInteger\"},{\"default\":0}]},\"simpleTypes\":{\"en"
	  "um\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"strin"
	  "g\"]},\"stringArray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"un"
	  "iqueItems\":true,\"default\":[]}},\"type\":[\"object\",\"boolean\"],\"prop"
	  "erties\":{\"$id\":{\"type\":\"string\",\"format\":\"uri-reference\"},\"$sche"
	  "ma\":{\"type\":\"string\",\"format\":\"uri\"},\"$ref\":{\"type\":\"string\",\"fo"
	  "rmat\":\"uri-reference\"},\"$comment\":{\"type\":\"string\"},\"title\":{\"ty"
	  "pe\":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true,\"re"
	  "adOnly\":{\"type\":\"boolean\",\"default\":false},\"examples\":{\"type\":\"a"
	  "rray\",\"items\":true},\"multipleOf\":{\"type\":\"number\",\"exclusiveMini"
	  "mum\":0},\"maximum\":{\"type\":\"number\"},\"exclusiveMaximum\":{\"type\":\""
	  "number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":{\"type\":"
	  "\"number\"},\"maxLength\":{\"$ref\":\"#/definitions/nonNegativeInteger\""
	  "},\"minLength\":{\"$ref\":\"#/definitions/nonNegativeIntegerDefault0\""
	  "},\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"additionalItems\""
	  ":{\"$ref\":\"#\"},\"items\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definiti"
	  "ons/schemaArray\"}],\"default\":true},\"maxItems\":{\"$ref\":\"#/definit"
	  "ions/nonNegativeInteger\"},\"minItems\":{\"$ref\":\"#/definitions/nonN"
	  "egativeIntegerDefault0\"},\"uniqueItems\":{\"type\":\"boolean\",\"defaul"
	  "t\":false},\"contains\":{\"$ref\":\"#\"},\"maxProperties\":{\"$ref\":\"#/def"
	  "initions/nonNegativeInteger\"},\"minProperties\":{\"$ref\":\"#/definit"
	  "ions/nonNegativeIntegerDefault0\"},\"required\":{\"$ref\":\"#/definiti"
	  "ons/stringArray\"},\"additionalProperties\":{\"$ref\":\"#\"},\"definitio"
	  "ns\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"},\"defaul"
	  "t\":{}},\"properties\":{\"type\":\"object\",\"additionalProperties\":{\"$r"
	  "ef\":\"#\"},\"default\":{}},\"patternProperties\":{\"type\":\"object\",\"add"
	  "itionalProperties\":{\"$ref\":\"#\"},\"propertyNames\":{\"format\":\"regex"
	  "\"},\"default\":{}},\"dependencies\":{\"type\":\"object\",\"additionalProp"
	  "erties\":{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#/definitions/stringArra"
	  "y\"}]}},\"propertyNames\":{\"$ref\":\"#\"},\"const\":true,\"enum\":{\"type\":"
	  "\"array\",\"items\":true,\"minItems\":1,\"uniqueItems\":true},\"type\":{\"a"
	  "nyOf\":[{\"$ref\":\"#/definitions/simpleTypes\"},{\"type\":\"array\",\"ite"
	  "ms\":{\"$ref\":\"#/definitions/simpleTypes\"},\"minItems\":1,\"uniqueIte"
	  "ms\":true}]},\"format\":{\"type\":\"string\"},\"contentMediaType\":{\"type"
	  "\":\"string\"},\"contentEncoding\":{\"type\":\"string\"},\"if\":{\"$ref\":\"#\""
	  "},\"then\":{\"$ref\":\"#\"},\"else\":{\"$ref\":\"#\"},\"allOf\":{\"$ref\":\"#/def"
	  "initions/schemaArray\"},\"anyOf\":{\"$ref\":\"#/definitions/schemaArra"
	  "y\"},\"oneOf\":{\"$ref\":\"#/definitions/schemaArray\"},\"not\":{\"$ref\":\""
	  "#\"}},\"default\":true}" },
};

const char *fw_schema__builtin(const char *uri, size_t *ret_len)
{
	for (size_t i = 0; i < sizeof metaschemas / sizeof *metaschemas; i++) {
		if (strcmp(metaschemas[i].uri, uri) == 0) {
			*ret_len = strlen(metaschemas[i].text);
			return metaschemas[i].text;
		}
	}
	return NULL;
}
