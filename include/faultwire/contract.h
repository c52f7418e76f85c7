/*
 * contract.h - errors as text: the five public contracts and our own.
 *
 * Encoding projects an error into a contract; decoding reads one back. What a
 * contract cannot hold is dropped; what it demands and the error lacks comes
 * from the code's registry row; nothing is made up.
 *
 * The one rule to remember: encode, decode and encode again give the same
 * bytes.
 */
#ifndef FAULTWIRE_CONTRACT_H
#define FAULTWIRE_CONTRACT_H

#include <faultwire/error.h>

FW_EXTERN_C_BEGIN

/** How to write. All zero is the default; pass NULL for that. */
typedef struct fw_encode_options {
	/** FW_TOOLERROR: as Go's encoding/json writes it (escapes < > & U+2028
	 *  U+2029, sorts the keys of `data`). */
	bool go_escape;
	/** FW_KAIZA and FW_CANONICAL: show where the error was raised and wrapped. */
	bool stack;
	/** FW_OWLCLAW_API: base of the problem type, "https://owlclaw.dev/problems/". */
	const char *problem_base;
} fw_encode_options;

/**
 * Write `err` as `contract` says, compact, one object, no final newline (but
 * FW_CONTEXT_V0, whose contract ends in one).
 *
 * Writes at most `cap` bytes including a final NUL and returns the length of
 * the whole text without it, as snprintf does: a return >= cap means that the
 * text was cut. Allocates nothing and cannot fail. `err` NULL writes
 * internal.unexpected: an error was promised.
 */
FW_API size_t fw_error_encode(const fw_error *err, fw_contract contract,
			      const fw_encode_options *options, char *buf, size_t cap);

/**
 * The same into memory of its own, NUL-terminated: yours, for fw_free().
 * Raises internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_error_to_text(const fw_error *err, fw_contract contract,
					       const fw_encode_options *options,
					       char **ret_text, size_t *ret_len);

/** How to read. All zero is the default; pass NULL for that. */
typedef struct fw_decode_options {
	const fw_registry *registry; /**< NULL: built-in */
	bool keep_secrets;           /**< do not redact what is read */
} fw_decode_options;

/**
 * Read an error from `text`. FW_AUTO finds the contract out, and looks into an
 * MCP message (a JSON-RPC response, a tool's result with isError) for the
 * error in it; FW_ANY_JSON and FW_PLAIN_TEXT take any JSON value, any text, as
 * what a tool threw.
 *
 * Unknown members are passed over; use fw_validate() to be strict. On success
 * the error in *ret_error is yours.
 *
 * Raises contract.not_json, contract.malformed (with the JSON Pointer),
 * input.too_large, input.too_deep, input.invalid_encoding,
 * registry.code_unregistered (in the contracts whose set of codes is closed),
 * internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_error_decode(const char *text, size_t len,
					      fw_contract contract,
					      const fw_decode_options *options,
					      fw_error **ret_error);

/**
 * Which contract `text` is in: one of the contracts, FW_ANY_JSON or
 * FW_PLAIN_TEXT. Never fails. Text over the size limit is FW_PLAIN_TEXT.
 */
FW_API fw_contract fw_sniff(const char *text, size_t len);

/** One way in which a text breaks a contract; strings borrowed for the call. */
typedef struct fw_violation_info {
	const char *pointer;  /**< JSON Pointer to what is wrong; "" is the whole */
	const char *rule;     /**< "required", "type", "enum", "registry"... */
	const char *expected; /**< "string", "property \"message\"" */
	const char *found;    /**< "number 5", "missing" */
} fw_violation_info;

typedef void fw_violation_fn(void *ctx, const fw_violation_info *violation);

/**
 * Is `text` lawful in `contract`? Checks the published JSON Schema and what a
 * schema cannot say (a code's category, status and retry class agree with the
 * registry). Tells each violation to `on_violation` (may be NULL), at most
 * FW_VIOLATIONS_MAX of them; `*ret_count` is how many were told.
 *
 * Returns an error only where the text could not be judged at all: not JSON,
 * too large, out of memory.
 */
#define FW_VIOLATIONS_MAX 64
FW_API FW_NODISCARD fw_error *fw_validate(const char *text, size_t len, fw_contract contract,
					  const fw_decode_options *options,
					  fw_violation_fn *on_violation, void *ctx,
					  size_t *ret_count);

/** The same for many texts: the schema is prepared once. One thread at a time. */
typedef struct fw_validator fw_validator;

/** `contract` FW_AUTO finds each text's own. `options` as for fw_validate(). Yours. */
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
