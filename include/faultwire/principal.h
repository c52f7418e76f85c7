/*
 * principal.h - who is calling: a name, what the caller may do, and how that was proven.
 *
 * The one rule to remember: the name that a client gives itself is never a principal. A
 * caller that has proven nothing is "anonymous".
 */
#ifndef FAULTWIRE_PRINCIPAL_H
#define FAULTWIRE_PRINCIPAL_H

#include <faultwire/base.h>

FW_EXTERN_C_BEGIN

/** Opaque; borrowed from the page, call or outcome that it was read from. */
typedef struct fw_principal fw_principal;

/** How the caller has proven who it is. */
typedef enum fw_proof {
	FW_PROOF_NONE,    /**< not at all */
	FW_PROOF_PROCESS, /**< it holds the pipes of a server on standard input and output */
	FW_PROOF_TOKEN,   /**< by a bearer token */
	FW_PROOF_COUNT
} fw_proof;

/** "anonymous", "process", "token". */
FW_API const char *fw_proof_name(fw_proof proof);

/** "anonymous" if nothing is proven. Never NULL. */
FW_API const char *fw_principal_name(const fw_principal *principal);
FW_API fw_proof fw_principal_proof(const fw_principal *principal);

/** The scope with this index, such as "tool:read_file"; NULL: there are no more. */
FW_API const char *fw_principal_scope_at(const fw_principal *principal, size_t index);

/** True if it has the scope, or "admin", which includes every scope. */
FW_API bool fw_principal_has_scope(const fw_principal *principal, const char *scope);

FW_EXTERN_C_END

#endif
