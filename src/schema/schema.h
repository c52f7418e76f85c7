/*
 * schema.h - a JSON Schema validator: draft 2020-12, and draft-07, which is still
 * common. A schema is compiled once and checked many times.
 *
 * The one rule to remember: neither the schema nor the instance is trusted, since
 * both may come from a peer. Every size has a limit, recursion is counted, and
 * regular expressions have a match limit. Reaching a limit is a violation with the
 * keyword "limit"; the instance is never accepted.
 *
 * This folder uses base, yyjson and PCRE2, and does not know fw_error. Compile
 * reports through fw_schema_problem (a static reason and bounded texts, no
 * allocation); check reports through a callback.
 *
 * Threads: an fw_schema does not change after compile. Any number of threads may
 * check against it at once, provided that the allocator passed to compile is
 * thread-safe (libc's is). Compile and free are for one thread.
 */
#ifndef FW_SCHEMA_SCHEMA_H
#define FW_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

typedef struct fw_schema fw_schema;

/* Defaults, used if an option is 0. */
#define FW_SCHEMA_DEPTH_MAX 256            /* nesting of the schema itself */
#define FW_SCHEMA_NODES_MAX 65536          /* subschemas, all documents together */
#define FW_SCHEMA_BYTES_MAX (4u << 20)     /* schema text, all documents together */
#define FW_SCHEMA_DOCUMENTS_MAX 64         /* documents loaded through $ref (fixed) */
#define FW_SCHEMA_MATCH_MAX 1000000        /* PCRE2 match limit, per match */
#define FW_SCHEMA_RUN_DEPTH_MAX 512        /* schema applications inside another */
#define FW_SCHEMA_RUN_STEPS_MAX (1u << 24) /* units of work in one check */
#define FW_SCHEMA_VIOLATIONS_MAX 16
/* Depths cannot be set higher than this, because each level uses C stack: less than
 * 2 KiB in compile, less than 1 KiB in check (gcc -O2). */
#define FW_SCHEMA_DEPTH_CEILING 1024
#define FW_SCHEMA_RUN_DEPTH_CEILING 2048

/**
 * Find the text of the document that a `$ref` or a custom `$schema` names.
 *
 * @param uri       absolute if the base URI is; without fragment
 * @param ret_json  borrowed by compile until it returns
 * @return false if there is no such document
 */
typedef bool fw_schema_resolver(void *ctx, const char *uri, const char **ret_json,
				size_t *ret_len);

typedef struct fw_schema_options {
	uint32_t max_depth;   /* 0: FW_SCHEMA_DEPTH_MAX */
	uint32_t max_nodes;   /* 0: FW_SCHEMA_NODES_MAX */
	size_t max_bytes;     /* 0: FW_SCHEMA_BYTES_MAX */
	uint32_t match_limit; /* 0: FW_SCHEMA_MATCH_MAX */
	/* Make `format` an assertion for the formats known here; others stay
	 * annotations. A metaschema that names the format-assertion vocabulary
	 * turns it on for its schemas regardless of this option. */
	bool assert_format;
	/* A keyword that does not exist and resembles one that does is a problem. Others
	 * are ignored, as the standard says. */
	bool check_spelling;
	/* Schemas that have no `$schema` are draft-07, not 2020-12. */
	bool draft7_default;
	/* Base URI of the schema, used if there is no `$id`. NULL: "". */
	const char *base_uri;
	/* NULL: only the built-in metaschemas (2020-12, draft-07) resolve. */
	fw_schema_resolver *resolve;
	void *resolve_ctx;
	/* NULL: libc. Kept (by value) for the life of the schema. */
	const yyjson_alc *alc;
} fw_schema_options;

/** Why a schema did not compile. All texts end in NUL, are cut to fit and
 * are free of control bytes. */
typedef struct fw_schema_problem {
	const char *reason; /* static, such as "unresolvable reference" */
	char pointer[256];  /* where: JSON Pointer into the schema, as "uri#/..."
				 * if it is in another document */
	char detail[128];   /* the offending part, such as the reference; or "" */
	size_t offset;      /* byte position, for "text is not JSON" only */
} fw_schema_problem;

/**
 * Compile `json` (not NUL-terminated, not kept). `opts` and `ret_problem` may
 * be NULL. Returns a schema for fw_schema_free(), or NULL with *ret_problem
 * filled; on success *ret_problem is untouched.
 */
fw_schema *fw_schema_compile(const char *json, size_t len, const fw_schema_options *opts,
			     fw_schema_problem *ret_problem);

/** The same for a parsed value, read with any number flags. It is copied, so its
 * document may be freed. */
fw_schema *fw_schema_compile_val(yyjson_val *val, const fw_schema_options *opts,
				 fw_schema_problem *ret_problem);

/** Release. NULL is a no-op. */
void fw_schema_free(fw_schema *schema);

/** A violation. The strings belong to the checker and are valid until the callback
 * returns. Each is bounded, valid UTF-8 if the instance is, and free of control
 * bytes. */
struct fw_violation {
	const char *instance_pointer; /* JSON Pointer, "" is the root */
	const char *schema_pointer;   /* ends in the keyword; prefixed with "uri#"
					 * outside the document compiled */
	const char *keyword;          /* "type", "required", ...; "limit" if a limit
				       * was reached; static */
	const char *expected;         /* string | one of "a", "b" | >= 1 |
					 * property "path" | ... */
	const char *found;            /* number 5 | missing | string "x" | ... */
	const char *nearest;          /* for a property that is not allowed: the most similar
				       * one that is; NULL: none */
};

/** Return false to end the check; the instance is then refused. */
typedef bool fw_schema_on_violation(void *ctx, const struct fw_violation *v);

typedef struct fw_schema_run {
	fw_schema_on_violation *on_violation; /* NULL: stop at the first */
	void *ctx;
	uint32_t max_violations; /* 0: FW_SCHEMA_VIOLATIONS_MAX */
	uint32_t max_depth;      /* 0: FW_SCHEMA_RUN_DEPTH_MAX */
	uint64_t max_steps;      /* 0: FW_SCHEMA_RUN_STEPS_MAX */
	/* Leave values out of `found` ("string", not "string \"hunter2\""). */
	bool hide_values;
	/* Working memory: bitsets for unevaluated*, hashes for uniqueItems, the
	 * PCRE2 match block. NULL: 2 KiB of the stack. If it is too small, the
	 * allocator of the schema is used; if that fails, the check ends with a
	 * "limit" violation. */
	void *scratch;
	size_t scratch_len;
} fw_schema_run;

/**
 * Is `instance` valid?
 *
 * A valid instance needs no allocation if the scratch memory suffices. `run` may be
 * NULL. The answer does not depend on whether there is a callback. Numbers may have
 * been read in any yyjson mode: raw, big as raw, or neither (then a number beyond the
 * range of double has already lost digits). A NULL instance is refused.
 */
bool fw_schema_check(const fw_schema *schema, yyjson_val *instance, const fw_schema_run *run);

#endif
