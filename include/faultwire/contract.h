/*
 * contract.h - errors as text: the five public contracts and the canonical format.
 *
 * Encoding writes an error in a contract; decoding reads it back. What a contract
 * cannot represent is dropped. What it requires and the error does not have is taken
 * from the registry row of the code.
 *
 * The one rule to remember: encoding, decoding and encoding again gives the same
 * bytes.
 */
#ifndef FAULTWIRE_CONTRACT_H
#define FAULTWIRE_CONTRACT_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

/** Options for encoding; NULL: the defaults. Begin with FW_ENCODE_OPTIONS_INIT. */
typedef struct fw_encode_options {
	size_t struct_size;
	/** FW_TOOLERROR: as Go's encoding/json writes it (escapes < > & U+2028
	 * U+2029, sorts the keys of `data`). */
	bool go_escape;
	/** FW_KAIZA and FW_CANONICAL: include where the error was raised and
	 * wrapped. */
	bool stack;
	/** FW_OWLCLAW_API: base of the problem type,
	 * "https://owlclaw.dev/problems/". */
	const char *problem_base;
} fw_encode_options;

#define FW_ENCODE_OPTIONS_INIT FW_INIT(fw_encode_options)

/**
 * Write `err` in `contract`: one compact object without a final newline
 * (FW_CONTEXT_V0 has one, as its contract requires).
 *
 * Writes at most `cap` bytes including the NUL and returns the complete length
 * without it, as snprintf does: a return >= cap means that the text was cut.
 * Allocates nothing and cannot fail. If `err` is NULL, writes internal.unexpected;
 * if `options` has an invalid struct_size, internal.api_misuse.
 */
FW_API size_t fw_error_encode(const fw_error *err, fw_contract contract,
			      const fw_encode_options *options, char *buf, size_t cap);

/**
 * The same into new memory, NUL-terminated, to be released with fw_free(). Raises
 * internal.out_of_memory, internal.api_misuse (struct_size).
 */
FW_API FW_NODISCARD fw_error *fw_error_to_text(const fw_error *err, fw_contract contract,
					       const fw_encode_options *options,
					       char **ret_text, size_t *ret_len);

/** Options for decoding; NULL: the defaults. Begin with FW_DECODE_OPTIONS_INIT. */
typedef struct fw_decode_options {
	size_t struct_size;
	const fw_registry *registry; /**< NULL: built-in */
	bool keep_secrets;           /**< do not redact */
	/** Set to the contract of the text, or of what the MCP message contained:
	 * FW_ANY_JSON and FW_PLAIN_TEXT if it is in none. NULL: not wanted. */
	fw_contract *ret_contract;
} fw_decode_options;

#define FW_DECODE_OPTIONS_INIT FW_INIT(fw_decode_options)

/**
 * Read an error from `text`. FW_AUTO detects the contract, and looks inside MCP
 * messages (a JSON-RPC response, a tool result with isError). FW_ANY_JSON and
 * FW_PLAIN_TEXT accept any JSON value or any text, as something that a tool threw.
 *
 * Unknown members are ignored; use fw_validate() to be strict. On success you own the
 * error in *ret_error.
 *
 * Raises contract.not_json, contract.malformed (with the JSON Pointer),
 * input.too_large, input.too_deep, input.invalid_encoding, registry.code_unregistered
 * (in contracts with a closed set of codes), internal.out_of_memory,
 * internal.api_misuse (struct_size).
 */
FW_API FW_NODISCARD fw_error *fw_error_decode(const char *text, size_t len,
					      fw_contract contract,
					      const fw_decode_options *options,
					      fw_error **ret_error);

/**
 * Detect the contract of `text`: one of the contracts, FW_ANY_JSON or FW_PLAIN_TEXT.
 * Never fails. Text over the size limit is FW_PLAIN_TEXT.
 */
FW_API fw_contract fw_sniff(const char *text, size_t len);

/** A violation of a contract. The strings are borrowed during the call. */
typedef struct fw_violation_info {
	const char *pointer;  /**< JSON Pointer to the offending value; "" is the root */
	const char *rule;     /**< "required", "type", "enum", "registry"... */
	const char *expected; /**< "string", "property \"message\"" */
	const char *found;    /**< "number 5", "missing" */
} fw_violation_info;

typedef void fw_violation_fn(void *ctx, const fw_violation_info *violation);

/**
 * Is `text` valid in `contract`? Checks the published JSON Schema, and what a schema
 * cannot express: that category, status and retry class of a code agree with the
 * registry. Calls `on_violation` (may be NULL) for each violation, at most
 * FW_VIOLATIONS_MAX times; `*ret_count` is the number of calls.
 *
 * Returns an error only if the text cannot be checked: not JSON, too large, out of
 * memory.
 */
#define FW_VIOLATIONS_MAX 64
FW_API FW_NODISCARD fw_error *fw_validate(const char *text, size_t len, fw_contract contract,
					  const fw_decode_options *options,
					  fw_violation_fn *on_violation, void *ctx,
					  size_t *ret_count);

/** The same for many texts: the schema is compiled once. One thread at a time. */
typedef struct fw_validator fw_validator;

/** FW_AUTO as `contract` detects that of each text. `options` as for fw_validate().
 * You own the validator. */
FW_API FW_NODISCARD fw_error *fw_validator_new(fw_contract contract,
					       const fw_decode_options *options,
					       fw_validator **ret_validator);

FW_API FW_NODISCARD fw_error *fw_validator_check(fw_validator *validator, const char *text,
						 size_t len, fw_violation_fn *on_violation,
						 void *ctx, size_t *ret_count);

/** NULL is a no-op. */
FW_API void fw_validator_free(fw_validator *validator);

/** The JSON Schema (draft 2020-12) of `contract`. Static; never NULL for a contract. */
FW_API const char *fw_contract_schema(fw_contract contract);

FW_EXTERN_C_END

#endif
