/*
 * registry.h - the error codes as data.
 *
 * A row has what is true of a code regardless of who raises it: its class, what a
 * caller should do, and its name in each contract. The built-in rows are generated
 * from registry/; your own rows come from a JSON file.
 *
 * The one rule to remember: rows are borrowed from their registry. An error with a
 * row of a loaded registry must not outlive that registry. The built-in registry is
 * never freed.
 */
#ifndef FAULTWIRE_REGISTRY_H
#define FAULTWIRE_REGISTRY_H

#include <faultwire/base.h>

FW_EXTERN_C_BEGIN

typedef struct fw_error fw_error;
typedef struct fw_registry fw_registry;

/** The area that a failure belongs to. */
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

/** May the same call be made again? */
typedef enum fw_retry {
	FW_RETRY_NEVER,     /**< it will fail again */
	FW_RETRY_AFTER_FIX, /**< after the caller has changed something */
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
	FW_CANONICAL,   /**< faultwire's own format, which loses nothing */
	FW_KAIZA,       /**< the 11-field SystemError envelope */
	FW_CONTEXT_V0,  /**< {"error":{"code","message"}} of Context Resolve v0 */
	FW_CODEINTEL,   /**< empty result + error + RFC 9457 problem */
	FW_TOOLERROR,   /**< {"type","message","recoverable","data"} */
	FW_OWLCLAW,     /**< OwlClaw's error, as sent in MCP */
	FW_OWLCLAW_API, /**< the same as HTTP problem+json */
	FW_CONTRACT_COUNT,
	FW_ANY_JSON = FW_CONTRACT_COUNT, /**< JSON in none of the contracts */
	FW_PLAIN_TEXT,                   /**< not JSON at all */
	FW_AUTO                          /**< for readers: detect it */
} fw_contract;

typedef enum fw_param_type {
	FW_PARAM_STRING,
	FW_PARAM_I64,
	FW_PARAM_U64,
	FW_PARAM_F64,
	FW_PARAM_BOOL,
	FW_PARAM_JSON
} fw_param_type;

/** One parameter of a code's constructor. */
typedef struct fw_param {
	const char *name;
	fw_param_type type;
	bool optional;     /**< may be omitted */
	bool message_only; /**< used in the message, not stored as context */
} fw_param;

/** One code. Read-only; new members are only appended. No pointer is NULL. */
typedef struct fw_row {
	int number;       /**< permanent; your own rows start at 100000 */
	const char *code; /**< "file.not_found" */
	const char *title;
	fw_category category;
	fw_type type;
	fw_retry retry;
	bool recoverable;
	int status; /**< HTTP */
	fw_severity severity;
	int jsonrpc;
	fw_origin origin; /**< default; the raising code may override it */
	const char *kaiza;
	const char *context_v0;
	const char *codeintel;
	unsigned reads; /**< bit 1u << contract: that contract's code is read as this row */
	const fw_param *params;
	size_t param_count;
	const char *message; /**< template: "File not found: {path}" */
	const char *hint;
	const char *explanation; /**< prose; lines end in \n */
	const char *since;
	const char *example; /**< JSON object with a value for each parameter */
	/* Lengths of the texts that every encoder writes. */
	uint16_t code_len;
	uint16_t title_len;
	uint16_t kaiza_len;
	uint16_t context_v0_len;
	uint16_t codeintel_len;
	uint16_t hint_len;
	/** Reported as a JSON-RPC error, never as the result of a tool. */
	bool is_protocol_error;
	/** Retry class of an error that is read as this row, two bits per contract; see
	 * fw_row_retry_in(). */
	unsigned read_retry;
} fw_row;

/** An example error of that code, as in the documentation. You own it; never NULL. */
FW_API FW_NODISCARD fw_error *fw_row_example(const fw_row *row);

/** The same values, but without the scope, time and incident of the documentation,
 * so that it gets those of the call that fails with it. You own it; never NULL. */
FW_API FW_NODISCARD fw_error *fw_row_raise_example(const fw_row *row);

/** The built-in rows. Never NULL; never freed. */
FW_API const fw_registry *fw_registry_builtin(void);

/**
 * Called once for every fault. `problem` (registry.invalid_row) is borrowed during
 * the call.
 */
typedef void fw_registry_problem_fn(void *ctx, const fw_error *problem);

/**
 * Create a registry of the built-in rows and those in a JSON array
 * (docs/registry.md).
 *
 * All rows are checked, and `on_problem` (may be NULL) is called for each fault. If
 * there is any, nothing is loaded and the first one is returned. Release with
 * fw_registry_free().
 *
 * Raises registry.invalid_row, contract.not_json, input.too_large,
 * internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_registry_load(const char *json, size_t len,
					       fw_registry_problem_fn *on_problem, void *ctx,
					       fw_registry **ret_registry);

/** NULL and the built-in registry are no-ops. */
FW_API void fw_registry_free(fw_registry *registry);

/* In all functions below a NULL registry means the built-in one. */

FW_API size_t fw_registry_count(const fw_registry *registry);

/** The row at `index`, sorted by number; NULL after the last. */
FW_API const fw_row *fw_registry_at(const fw_registry *registry, size_t index);

/** The row of a canonical code; NULL if there is none. */
FW_API const fw_row *fw_registry_find(const fw_registry *registry, const char *code);

/** The row with that number; NULL if there is none. */
FW_API const fw_row *fw_registry_number(const fw_registry *registry, int number);

/**
 * The row that `code` of `contract` is read as (for FW_TOOLERROR: a type); NULL if
 * the contract has no such code.
 */
FW_API const fw_row *fw_registry_read(const fw_registry *registry, fw_contract contract,
				      const char *code);

/** The name of `row` in `contract`. Borrowed from the row; never NULL. */
FW_API const char *fw_row_code_in(const fw_row *row, fw_contract contract);

/**
 * The retry class of an error that is read as `row` from its code in `contract` alone.
 *
 * Several rows may have the same code there, and the reader cannot tell which of them was
 * written. So it is the least retryable class of all of them: reading never makes an
 * error more retryable. Other contracts and codes: the class of the row.
 */
FW_API fw_retry fw_row_retry_in(const fw_row *row, fw_contract contract);

/* Names as written on the wire; NULL for a value out of range. */
FW_API const char *fw_category_name(fw_category category);
FW_API const char *fw_type_name(fw_type type);
FW_API const char *fw_retry_name(fw_retry retry);
FW_API const char *fw_severity_name(fw_severity severity);
FW_API const char *fw_origin_name(fw_origin origin);
FW_API const char *fw_contract_name(fw_contract contract);

/** The contract of that name ("kaiza", "owlclaw-api", "auto"...); false if there is
 * none. */
FW_API bool fw_contract_from_name(const char *name, fw_contract *ret_contract);

FW_EXTERN_C_END

#endif
