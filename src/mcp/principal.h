/*
 * principal.h - who is calling, as the server keeps it.
 *
 * The one rule to remember: principals belong to the loop's thread. They are shared by
 * reference, so that revoking or reloading a token does not affect calls in progress.
 */
#ifndef FW_MCP_PRINCIPAL_H
#define FW_MCP_PRINCIPAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/principal.h>

/* Everything is copied. Yours, for fw_principal_unref(). Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_principal_new(fw_proof proof, const char *name,
					const char *const *scopes, size_t scope_count,
					fw_principal **ret_principal);
/* Whether both are the same client: proven in the same way, with the same name. */
bool fw_principal_is_same(const fw_principal *principal, const fw_principal *other);
/* The Unix time at which its token expires; 0: never. */
void fw_principal_set_expiry(fw_principal *principal, int64_t expires_ms);
/* Its token was revoked or removed. */
void fw_principal_withdraw(fw_principal *principal);
/* Whether its token is still valid. Calls that have begun continue; streams end. */
bool fw_principal_is_valid(const fw_principal *principal, int64_t now_ms);
/* Whether both have the same scopes in the same order. */
bool fw_principal_may_same(const fw_principal *principal, const fw_principal *other);
/* NULL is a no-op for both. */
fw_principal *fw_principal_ref(fw_principal *principal);
void fw_principal_unref(fw_principal *principal);

/* A caller that has proven nothing; the process that started a server on stdio. */
const fw_principal *fw_principal_anonymous(void);
const fw_principal *fw_principal_process(void);

#endif
