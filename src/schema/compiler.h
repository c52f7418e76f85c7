/*
 * compiler.h - compiling a schema (compile.c, object.c, ref.c).
 *
 * The first failure is recorded by fw_schema__fail() and ends the compilation:
 * every function here then returns at once with false or NONE.
 */
#ifndef FW_SCHEMA_COMPILER_H
#define FW_SCHEMA_COMPILER_H

#include "schema/program.h"

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
	size_t regex_bytes; /* of compiled patterns */
	uint32_t depth;
	FW_SCHEMA__VEC(struct fw_schema__anchor) anchors;
	FW_SCHEMA__VEC(struct fw_schema__uri) uris;
	FW_SCHEMA__VEC(struct fw_schema__pending) pending;
	struct fw_schema__slot *map; /* value -> node, open addressing */
	uint32_t map_cap, map_n;
};

/* The ops of the node being compiled. They are kept apart until the node is done,
 * because its children append theirs meanwhile. A keyword adds at most one. */
struct fw_schema__draft {
	uint32_t node;
	uint32_t n;
	struct fw_schema__op ops[OP_UNEVALUATED_PROPERTIES + 10];
	yyjson_val *kw[KW_COUNT];
};

/* Location of a subschema, to be stored in its node. */
struct fw_schema__place {
	uint32_t parent;
	uint8_t kw;
	const char *key; /* NULL: no key, see index */
	uint32_t len;
	uint32_t index; /* NONE: the keyword itself */
};

/** Record the first problem; always returns false. */
bool fw_schema__fail(struct fw_schema__compiler *c, const char *reason, uint32_t node,
		     unsigned kw, const char *detail, size_t len);
/** Make room for `more` elements in a FW_SCHEMA__VEC. */
bool fw_schema__grow(struct fw_schema__compiler *c, void *vec, size_t elem, uint32_t more);
#define fw_schema__push(c, vec, value)                        \
	(fw_schema__grow((c), &(vec), sizeof *(vec).at, 1) && \
	 ((vec).at[(vec).n++] = (value), true))
/** Copy a string into memory of the schema; NULL after fw_schema__fail(). */
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
/** Parse and compile a document; returns its root node. */
uint32_t fw_schema__load(struct fw_schema__compiler *c, const char *json, size_t len,
			 const char *uri);
/** Resolve all references. */
bool fw_schema__link(struct fw_schema__compiler *c);
/** Text of a built-in metaschema; NULL if it does not exist. */
const char *fw_schema__builtin(const char *uri, size_t *ret_len);

#endif
