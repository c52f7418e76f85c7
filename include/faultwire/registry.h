/*
 * registry.h - every error code there is, as data.
 *
 * A row is what is always true of a code, whoever raises it: its class, what
 * a caller should do, and what it is called in each contract. The built-in
 * rows are generated from registry/; a user's own rows come from a JSON file.
 *
 * The one rule to remember: rows are borrowed from their registry. Errors that
 * carry a row of a loaded registry must not outlive it. The built-in registry
 * lives for ever.
 */
#ifndef FAULTWIRE_REGISTRY_H
#define FAULTWIRE_REGISTRY_H

#include <faultwire/base.h>

FW_EXTERN_C_BEGIN

typedef struct fw_error fw_error;
typedef struct fw_registry fw_registry;

/** Whose business a failure is. */
typedef enum fw_category {
	FW_VALIDATION,
	FW_COMPATIBILITY,
	FW_GOVERNANCE,
	FW_AUTH,
	FW_RUNTIME,
	FW_DEPENDENCY,
	FW_INTERNAL,
	FW_CATEGORY_COUNT
} fw_category;

/** What an agent branches on. */
typedef enum fw_type {
	FW_TYPE_NOT_FOUND,
	FW_TYPE_CONFLICT,
	FW_TYPE_VALIDATION,
	FW_TYPE_PERMISSION,
	FW_TYPE_TRANSIENT,
	FW_TYPE_INTERNAL,
	FW_TYPE_COUNT
} fw_type;

/** Whether the same call may be made again. */
typedef enum fw_retry {
	FW_RETRY_NEVER,     /**< it will fail again */
	FW_RETRY_AFTER_FIX, /**< once the caller has changed something */
	FW_RETRY_BACKOFF,   /**< unchanged, after a delay */
	FW_RETRY_COUNT
} fw_retry;

typedef enum fw_severity { FW_WARNING, FW_CRITICAL, FW_SEVERITY_COUNT } fw_severity;

/** Which side failed. */
typedef enum fw_origin {
	FW_ORIGIN_CLIENT,
	FW_ORIGIN_POLICY,
	FW_ORIGIN_TOOL,
	FW_ORIGIN_SERVER,
	FW_ORIGIN_GATEWAY,
	FW_ORIGIN_TRANSPORT,
	FW_ORIGIN_UPSTREAM,
	FW_ORIGIN_COUNT
} fw_origin;

/** The contracts that an error can be written in and read from. */
typedef enum fw_contract {
	FW_CANONICAL,   /**< faultwire's own object: everything, nothing lost */
	FW_KAIZA,       /**< the 11-field SystemError envelope */
	FW_CONTEXT_V0,  /**< {"error":{"code","message"}} of Context Resolve v0 */
	FW_CODEINTEL,   /**< empty result + error + RFC 9457 problem */
	FW_TOOLERROR,   /**< {"type","message","recoverable","data"} */
	FW_OWLCLAW,     /**< OwlClaw's error, as it travels in MCP */
	FW_OWLCLAW_API, /**< the same as HTTP problem+json */
	FW_CONTRACT_COUNT,
	FW_ANY_JSON = FW_CONTRACT_COUNT, /**< JSON in none of the contracts */
	FW_PLAIN_TEXT,                   /**< not JSON at all */
	FW_AUTO                          /**< to a reader: find out yourself */
} fw_contract;

typedef enum fw_param_type {
	FW_PARAM_STRING,
	FW_PARAM_I64,
	FW_PARAM_U64,
	FW_PARAM_F64,
	FW_PARAM_BOOL,
	FW_PARAM_JSON
} fw_param_type;

/** One argument of a code's constructor. */
typedef struct fw_param {
	const char *name;
	fw_param_type type;
	bool optional;     /**< may be left out */
	bool message_only; /**< shown in the message, not kept as context */
} fw_param;

/** One code. Read-only; members are only ever appended. No pointer is NULL. */
typedef struct fw_row {
	int number;       /**< for ever; users' own rows start at 100000 */
	const char *code; /**< "file.not_found" */
	const char *title;
	fw_category category;
	fw_type type;
	fw_retry retry;
	bool recoverable;
	int status; /**< HTTP */
	fw_severity severity;
	int jsonrpc;
	fw_origin origin; /**< unless the raiser knows better */
	const char *kaiza;
	const char *context_v0;
	const char *codeintel;
	unsigned reads; /**< bit 1u << contract: that contract's code is read as this row */
	const fw_param *params;
	size_t param_count;
	const char *message; /**< template: "File not found: {path}" */
	const char *hint;
	const char *explanation; /**< prose, lines ended by \n */
	const char *since;
	const char *example; /**< JSON object with a value for each parameter */
	/* How long the texts are that every encoder writes. */
	uint16_t code_len;
	uint16_t title_len;
	uint16_t kaiza_len;
	uint16_t context_v0_len;
	uint16_t codeintel_len;
	uint16_t hint_len;
} fw_row;

/** An error of that code as its documentation shows it. Yours; never NULL. */
FW_API FW_NODISCARD fw_error *fw_row_example(const fw_row *row);

/** The same values, raised here and now: without the scope, time and incident of
 *  the documentation, so that it gets those of the call that fails with it. Yours;
 *  never NULL. */
FW_API FW_NODISCARD fw_error *fw_row_raise_example(const fw_row *row);

/** The rows that the library was built with. Never NULL; never freed. */
FW_API const fw_registry *fw_registry_builtin(void);

/**
 * Told once for every row that cannot be taken. Borrows `problem`
 * (registry.invalid_row) for the time of the call.
 */
typedef void fw_registry_problem_fn(void *ctx, const fw_error *problem);

/**
 * The built-in rows and those of a JSON array of rows (docs/registry.md).
 *
 * All rows are looked at, and each fault is told to `on_problem` (may be
 * NULL); with any fault nothing is loaded and the first one is returned.
 * Yours to release with fw_registry_free().
 *
 * Raises registry.invalid_row, contract.not_json, input.too_large,
 * internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_registry_load(const char *json, size_t len,
					       fw_registry_problem_fn *on_problem, void *ctx,
					       fw_registry **ret_registry);

/** NULL and the built-in registry are no-ops. */
FW_API void fw_registry_free(fw_registry *registry);

/* In all that follows a NULL registry means the built-in one. */

FW_API size_t fw_registry_count(const fw_registry *registry);

/** The row at `index`, ordered by number; NULL past the end. */
FW_API const fw_row *fw_registry_at(const fw_registry *registry, size_t index);

/** The row of a canonical code; NULL where there is none. */
FW_API const fw_row *fw_registry_find(const fw_registry *registry, const char *code);

/** The row with that number; NULL where there is none. */
FW_API const fw_row *fw_registry_number(const fw_registry *registry, int number);

/**
 * The row that `code` of `contract` is read as (for FW_TOOLERROR: a type);
 * NULL where that contract has no such code.
 */
FW_API const fw_row *fw_registry_read(const fw_registry *registry, fw_contract contract,
				      const char *code);

/** What `row` is called in `contract`. Borrowed from the row; never NULL. */
FW_API const char *fw_row_code_in(const fw_row *row, fw_contract contract);

/* Names as they are written on the wire; NULL for a value out of range. */
FW_API const char *fw_category_name(fw_category category);
FW_API const char *fw_type_name(fw_type type);
FW_API const char *fw_retry_name(fw_retry retry);
FW_API const char *fw_severity_name(fw_severity severity);
FW_API const char *fw_origin_name(fw_origin origin);
FW_API const char *fw_contract_name(fw_contract contract);

/** The contract of that name ("kaiza", "owlclaw-api", "auto"...): false if none. */
FW_API bool fw_contract_from_name(const char *name, fw_contract *ret_contract);

FW_EXTERN_C_END

#endif
