/*
 * schema_impl.h - what the files of the schema validator share; nobody else
 * includes it.
 *
 * A compiled schema is a handful of flat arrays that point at each other by
 * index: nodes (one per subschema), ops (the checks of a node, contiguous and
 * cheapest first) and pools for what an op needs more than 16 bytes for. The
 * parsed documents stay alive beside them, for `const`, `enum`, property names
 * and number texts are used in place.
 */
#ifndef FW_BASE_SCHEMA_IMPL_H
#define FW_BASE_SCHEMA_IMPL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "schema.h"

#define FW_SCHEMA__NONE UINT32_MAX

/* Types of an instance as bits; INT is only ever in a mask of allowed ones. */
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

/* Keywords, in the order of their names: the table in schema_keyword.c is
 * searched by bisection and a test holds the two together. */
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
	/* Not keywords: what a report or a pointer may name besides. */
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
	uint8_t types; /* instance types it has a say on */
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
	/* How to say where it is: parent / keyword [ / key or index ]. */
	uint32_t parent;
	uint32_t seg_index;
	const char *seg_key;
	uint32_t seg_len;
};

/* A decimal number in place: digits from `first` to `last` (a '.' may lie
 * between), value 0 when first is NULL. */
struct fw_schema__dec {
	const char *first, *last;
	int64_t top, low; /* power of ten of *first and of *last */
	bool negative;
};

/* A number of the schema. */
struct fw_schema__num {
	const char *text;
	uint32_t len;
	bool is_int; /* then `i` is the value */
	int64_t i;
	double d; /* nearest; HUGE_VAL beyond */
	struct fw_schema__dec dec;
};

struct fw_schema__prop {
	const char *key;
	uint32_t len;
	uint32_t node;     /* NONE: only required */
	uint32_t required; /* bit among the required; NONE: optional */
};

/* properties, patternProperties, additionalProperties and required are one
 * op, so that an object is walked once and each key looked up once. */
struct fw_schema__object {
	uint32_t props, n_props;   /* in props[], in order of declaration */
	uint32_t sorted, n_sorted; /* in words[]: those by (length, bytes) */
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
	struct fw_schema__chunk *chunks; /* texts made while compiling */
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
	uint64_t seed; /* for hashes that a peer must not predict */
	uint32_t root;
};

/* ---- compile (schema.c, schema_compile.c, schema_object.c, schema_ref.c) ---- */

struct fw_schema__anchor {
	uint64_t hash;
	const char *name;
	uint32_t len, resource, node;
	bool dynamic;
	uint32_t gathered, n_gathered; /* in dynamics[], once linked */
};
struct fw_schema__uri {
	uint64_t hash;
	const char *uri;
	uint32_t resource;
};
struct fw_schema__pending {
	yyjson_val *ref;
	uint32_t op, node;
	uint8_t kw;
};
struct fw_schema__slot {
	const yyjson_val *val;
	uint32_t node;
};

struct fw_schema__compiler {
	fw_schema *s;
	fw_schema_options opts;
	fw_schema_problem *problem; /* never NULL here */
	bool failed;
	size_t bytes;       /* of schema text so far */
	size_t regex_bytes; /* of patterns, compiled */
	uint32_t depth;
	FW_SCHEMA__VEC(struct fw_schema__anchor) anchors;
	FW_SCHEMA__VEC(struct fw_schema__uri) uris;
	FW_SCHEMA__VEC(struct fw_schema__pending) pending;
	struct fw_schema__slot *map; /* value -> node, open addressing */
	uint32_t map_cap, map_n;
};

/* The ops of the node being compiled: kept aside, since its children's are
 * appended meanwhile. Each keyword adds one at most. */
struct fw_schema__draft {
	uint32_t node;
	uint32_t n;
	struct fw_schema__op ops[OP_UNEVALUATED_PROPERTIES + 10];
	yyjson_val *kw[KW_COUNT];
};

/* Where a subschema sits, for its node. */
struct fw_schema__place {
	uint32_t parent;
	uint8_t kw;
	const char *key; /* NULL: no key, see index */
	uint32_t len;
	uint32_t index; /* NONE: the keyword itself */
};

bool fw_schema__fail(struct fw_schema__compiler *c, const char *reason, uint32_t node,
		     unsigned kw, const char *detail, size_t len);
bool fw_schema__grow(struct fw_schema__compiler *c, void *vec, size_t elem, uint32_t more);
#define fw_schema__push(c, vec, value)                        \
	(fw_schema__grow((c), &(vec), sizeof *(vec).at, 1) && \
	 ((vec).at[(vec).n++] = (value), true))
char *fw_schema__keep(struct fw_schema__compiler *c, const char *text, size_t len);
struct fw_schema__op *fw_schema__emit(struct fw_schema__draft *d, unsigned kind, unsigned types,
				      unsigned kw);
uint32_t fw_schema__compile_node(struct fw_schema__compiler *c, yyjson_val *val,
				 const struct fw_schema__place *at, uint32_t resource);
uint32_t fw_schema__compile_child(struct fw_schema__compiler *c, struct fw_schema__draft *d,
				  unsigned kw, yyjson_val *val, yyjson_val *key,
				  uint32_t index);
bool fw_schema__compile_object(struct fw_schema__compiler *c, struct fw_schema__draft *d);
bool fw_schema__compile_enum(struct fw_schema__compiler *c, struct fw_schema__draft *d);
uint32_t fw_schema__map_get(const struct fw_schema__compiler *c, const yyjson_val *val);
bool fw_schema__add_id(struct fw_schema__compiler *c, struct fw_schema__draft *d,
		       yyjson_val *obj, uint32_t *resource);
bool fw_schema__add_anchors(struct fw_schema__compiler *c, struct fw_schema__draft *d,
			    uint32_t resource);
uint32_t fw_schema__load(struct fw_schema__compiler *c, const char *json, size_t len,
			 const char *uri);
bool fw_schema__link(struct fw_schema__compiler *c);
const char *fw_schema__builtin(const char *uri, size_t *ret_len);

/* ---- bounded text (schema_text.c) ---- */

/* Text in a buffer that it may overrun: then it is cut at a character. Always
 * ends in NUL once something was put. */
struct fw_schema__text {
	char *p;
	size_t n, cap;
	bool cut;
};
void fw_schema__text_put(struct fw_schema__text *t, const char *s);
/** The same for bytes of a peer: control bytes and broken UTF-8 become '?'. */
void fw_schema__text_safe(struct fw_schema__text *t, const char *s, size_t len);
void fw_schema__text_number(struct fw_schema__text *t, uint64_t v);

/** "uri#/..." or "/..." of a keyword of a node, cut to fit, made safe. */
void fw_schema__pointer(const fw_schema *s, uint32_t node, unsigned kw, char *buf, size_t cap);

/* ---- keywords (schema_keyword.c) ---- */

struct fw_schema__keyword {
	const char *name;
	uint8_t vocab;
	uint8_t since, until; /* enum fw_schema__dialect */
};
extern const struct fw_schema__keyword fw_schema__keywords[KW_NONE + 1];
/** KW_COUNT when it is none. */
unsigned fw_schema__keyword_find(const char *name, size_t len);

/* ---- characters: ASCII, whatever the locale ---- */

static inline bool fw_schema__is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static inline bool fw_schema__is_alpha(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/** Value of a hexadecimal digit, or -1. */
static inline int fw_schema__hex(char ch)
{
	if (fw_schema__is_digit(ch))
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/* ---- URIs (schema_uri.c) ---- */

/** Resolve `ref` against `base` (RFC 3986, 5.2). Writes at most `cap` bytes
 * with NUL into `out` and returns the length, or SIZE_MAX when it is short. */
size_t fw_schema__uri_resolve(const char *base, const char *ref, size_t len, char *out,
			      size_t cap);
/** Undo %XX in place; the new length, or SIZE_MAX when malformed. */
size_t fw_schema__uri_unescape(char *text, size_t len);

/* ---- numbers and values (schema_number.c, schema_value.c) ---- */

bool fw_schema__dec_read(const char *text, size_t len, struct fw_schema__dec *ret);
int fw_schema__dec_compare(const struct fw_schema__dec *a, const struct fw_schema__dec *b);
bool fw_schema__dec_to_int(const struct fw_schema__dec *d, int64_t *ret);
bool fw_schema__num_read(const char *text, size_t len, struct fw_schema__num *ret);
bool fw_schema__is_integer(yyjson_val *v);
/** -1, 0, 1 as instance is below, at, above `n`; 2 when it is no number that
 * can be compared (NaN, infinity). */
int fw_schema__num_compare(yyjson_val *v, const struct fw_schema__num *n);
bool fw_schema__num_multiple(yyjson_val *v, const struct fw_schema__num *n);
bool fw_schema__num_equal(yyjson_val *a, yyjson_val *b);
uint64_t fw_schema__num_hash(yyjson_val *v, uint64_t seed);
/** An integer of at most 18 digits, however it is written. */
bool fw_schema__as_int(yyjson_val *v, int64_t *ret);
uint64_t fw_schema__hash_bytes(const void *p, size_t len, uint64_t seed);

/* ---- a check under way (schema_check.c, schema_apply.c, ...) ---- */

/* Path from the root of the instance, newest first; on the C stack. */
struct fw_schema__frame {
	const struct fw_schema__frame *up;
	yyjson_val *key; /* NULL: an array item */
	size_t index;
};

/* Resources entered, newest first: the dynamic scope of $dynamicRef. */
struct fw_schema__scope {
	const struct fw_schema__scope *up;
	uint32_t resource;
};

/* Which properties or items of the current instance were evaluated. */
struct fw_schema__seen {
	uint64_t *bits;
	size_t n_words;
};

struct fw_schema__spill {
	struct fw_schema__spill *next;
};

struct fw_schema__mark {
	size_t used;
	struct fw_schema__spill *spill;
};

struct fw_schema__run {
	const fw_schema *s;
	fw_schema_on_violation *on_violation;
	void *ctx;
	uint32_t violations, max_violations;
	uint32_t depth, max_depth;
	uint64_t steps_left;
	uint32_t quiet; /* > 0 inside a branch that may fail */
	bool stop;      /* end the check: refused whatever follows */
	bool hide_values;
	char *scratch;
	size_t scratch_len, scratch_used;
	struct fw_schema__spill *spill;
	pcre2_match_data *match;
	char text_instance[512], text_schema[512];
	char text_expected[192], text_found[112];
};

/* What eval is called with; bundled since every handler passes it on. */
struct fw_schema__at {
	yyjson_val *v;
	const struct fw_schema__frame *frame;
	const struct fw_schema__scope *scope;
	struct fw_schema__seen *seen; /* NULL: nobody asks */
};

bool fw_schema__eval(struct fw_schema__run *r, uint32_t node, const struct fw_schema__at *at);
bool fw_schema__apply(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		      const struct fw_schema__at *at);
bool fw_schema__apply_object(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__op *op, const struct fw_schema__at *at);
bool fw_schema__apply_array(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__op *op, const struct fw_schema__at *at);
bool fw_schema__apply_unevaluated(struct fw_schema__run *r, const struct fw_schema__op *op,
				  const struct fw_schema__at *at);

/** T_* of a value. */
static inline unsigned fw_schema__type_of(yyjson_val *v)
{
	static const uint8_t types[8] = {
		0, T_NUM, T_NULL, T_BOOL, T_NUM, T_STR, T_ARR, T_OBJ
	};

	return types[unsafe_yyjson_get_type(v) & 7];
}

/** JSON Pointer of a place in the instance, cut to fit, made safe. */
void fw_schema__path(const struct fw_schema__frame *f, char *buf, size_t cap);

/** Does this run go on to collect more violations after one? */
static inline bool fw_schema__collects(const struct fw_schema__run *r)
{
	return r->on_violation && r->quiet == 0 && !r->stop;
}

static inline void fw_schema__see(struct fw_schema__seen *seen, size_t i)
{
	if (seen)
		seen->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

/** Take `n` units of work; false (after a "limit" report) when none is left. */
bool fw_schema__spend(struct fw_schema__run *r, uint64_t n, const struct fw_schema__at *at);

/** Zeroed memory until fw_schema__release; NULL after a "limit" report. */
void *fw_schema__scratch(struct fw_schema__run *r, size_t size, const struct fw_schema__at *at);
static inline struct fw_schema__mark fw_schema__mark(const struct fw_schema__run *r)
{
	return (struct fw_schema__mark){ r->scratch_used, r->spill };
}
void fw_schema__release(struct fw_schema__run *r, struct fw_schema__mark m);

/** The types a node lets through, as far as it says itself or by $ref. */
unsigned fw_schema__types_of(const fw_schema *s, uint32_t node);

/* All of these report (when asked to) and return false. */
bool fw_schema__refuse(struct fw_schema__run *r, uint32_t node, const struct fw_schema__op *op,
		       const struct fw_schema__at *at);
bool fw_schema__refuse_type(struct fw_schema__run *r, uint32_t node,
			    const struct fw_schema__at *at);
bool fw_schema__refuse_false(struct fw_schema__run *r, uint32_t node,
			     const struct fw_schema__at *at);
bool fw_schema__refuse_missing(struct fw_schema__run *r, uint32_t node, unsigned kw,
			       const char *key, size_t len, const struct fw_schema__at *at);
bool fw_schema__refuse_count(struct fw_schema__run *r, uint32_t node, unsigned kw,
			     const char *word, uint64_t limit, size_t count,
			     const struct fw_schema__at *at);
bool fw_schema__refuse_same(struct fw_schema__run *r, uint32_t node, size_t first,
			    size_t second, const struct fw_schema__at *at);
bool fw_schema__refuse_limit(struct fw_schema__run *r, const char *what,
			     const struct fw_schema__at *at);

/* Equality as JSON Schema has it. Both end the run by "limit" when the values
 * are too deep, and then say false. */
bool fw_schema__equal(struct fw_schema__run *r, yyjson_val *a, yyjson_val *b,
		      const struct fw_schema__at *at);
bool fw_schema__in_enum(struct fw_schema__run *r, const struct fw_schema__enum *e,
			const struct fw_schema__at *at);
bool fw_schema__unique(struct fw_schema__run *r, const struct fw_schema__at *at,
		       size_t *ret_first, size_t *ret_second);

/* ---- regular expressions (schema_ecma.c, schema_regex.c) ---- */

/** Translate for PCRE2. With `out` NULL only says how long the result is; false
 * when it is not a regular expression of ECMA-262 (as far as can be told). */
bool fw_schema__ecma(const char *text, size_t len, char *out, size_t *ret_len);

/** Index of the compiled pattern, or NONE after fw_schema__fail. */
uint32_t fw_schema__regex_add(struct fw_schema__compiler *c, const char *text, size_t len,
			      uint32_t node, unsigned kw);
bool fw_schema__regex_init(struct fw_schema__compiler *c);
/** 1 match, 0 none, -1 given up (the run has ended with a "limit"). */
int fw_schema__regex_match(struct fw_schema__run *r, uint32_t regex, const char *text,
			   size_t len, const struct fw_schema__at *at);
/** Is it a regular expression of ECMA-262 (`format: regex`)? 1, 0; -1 for want
 * of memory. */
int fw_schema__regex_valid(const fw_schema *s, const char *text, size_t len);

/* ---- formats (schema_format.c, schema_format_net.c) ---- */

typedef bool fw_schema__format_fn(const char *s, size_t n);
struct fw_schema__format {
	const char *name;
	fw_schema__format_fn *check; /* NULL: regex, which needs the schema */
};
extern const struct fw_schema__format fw_schema__formats[];
/** NONE when it is not one of ours. */
uint32_t fw_schema__format_find(const char *name, size_t len);
fw_schema__format_fn fw_schema__is_email, fw_schema__is_idn_email, fw_schema__is_hostname,
	fw_schema__is_ipv4, fw_schema__is_ipv6, fw_schema__is_uri, fw_schema__is_uri_reference,
	fw_schema__is_iri, fw_schema__is_iri_reference, fw_schema__is_uri_template;

#endif
